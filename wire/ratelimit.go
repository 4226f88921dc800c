package wire

// A RateLimitMessage says how an account stands against its usage limits. It
// comes when that changes.
//
//wire:message rate_limit_event
type RateLimitMessage struct {
	raw string

	Info      RateLimitInfo `json:"rate_limit_info" wire:"required"`
	UUID      string        `json:"uuid"`
	SessionID string        `json:"session_id" wire:"intern"`
}

// RateLimitInfo is an account's standing against one limit, and against its
// overage: paid usage beyond the plan.
type RateLimitInfo struct {
	raw string

	Status RateLimitStatus `json:"status" wire:"required,intern"`
	// ResetsAt is the Unix time at which the window starts anew.
	ResetsAt int64         `json:"resetsAt"`
	Type     RateLimitType `json:"rateLimitType" wire:"intern"`
	// Utilization is the used share of the limit.
	Utilization float64 `json:"utilization"`
	// SurpassedThreshold is the share whose passing caused a warning.
	SurpassedThreshold float64 `json:"surpassedThreshold"`

	OverageStatus         RateLimitStatus       `json:"overageStatus" wire:"intern"`
	OverageResetsAt       int64                 `json:"overageResetsAt"`
	OverageDisabledReason OverageDisabledReason `json:"overageDisabledReason" wire:"intern"`
	UsingOverage          bool                  `json:"isUsingOverage"`
	OverageInUse          bool                  `json:"overageInUse"`
	OverageEnabled        bool                  `json:"overageEnabled"`

	Scope RateLimitScope `json:"limitScope" wire:"intern"`
	// ErrorCode is "credits_required" when only credits let the account go on.
	ErrorCode                       string `json:"errorCode" wire:"intern"`
	CanUserPurchaseCredits          bool   `json:"canUserPurchaseCredits"`
	HasChargeableSavedPaymentMethod bool   `json:"hasChargeableSavedPaymentMethod"`
}

// A RateLimitStatus says whether requests still pass.
type RateLimitStatus string

// The standings against a limit.
const (
	RateLimitAllowed        RateLimitStatus = "allowed"
	RateLimitAllowedWarning RateLimitStatus = "allowed_warning"
	RateLimitRejected       RateLimitStatus = "rejected"
)

// A RateLimitType says which limit is meant.
type RateLimitType string

// The limits.
const (
	RateLimitFiveHour                RateLimitType = "five_hour"
	RateLimitSevenDay                RateLimitType = "seven_day"
	RateLimitSevenDayOpus            RateLimitType = "seven_day_opus"
	RateLimitSevenDaySonnet          RateLimitType = "seven_day_sonnet"
	RateLimitSevenDayOverageIncluded RateLimitType = "seven_day_overage_included"
	RateLimitOverage                 RateLimitType = "overage"
)

// A RateLimitScope says whom a limit is shared with.
type RateLimitScope string

// The scopes of a limit.
const (
	RateLimitScopeService   RateLimitScope = "service"
	RateLimitScopeChannel   RateLimitScope = "channel"
	RateLimitScopeGroupPool RateLimitScope = "group_pool"
)

// An OverageDisabledReason says why an account cannot go beyond its plan.
type OverageDisabledReason string

// The reasons.
const (
	OverageNotProvisioned           OverageDisabledReason = "overage_not_provisioned"
	OverageOrgLevelDisabled         OverageDisabledReason = "org_level_disabled"
	OverageOrgLevelDisabledUntil    OverageDisabledReason = "org_level_disabled_until"
	OverageOutOfCredits             OverageDisabledReason = "out_of_credits"
	OverageSeatTierLevelDisabled    OverageDisabledReason = "seat_tier_level_disabled"
	OverageMemberLevelDisabled      OverageDisabledReason = "member_level_disabled"
	OverageSeatTierZeroCreditLimit  OverageDisabledReason = "seat_tier_zero_credit_limit"
	OverageGroupZeroCreditLimit     OverageDisabledReason = "group_zero_credit_limit"
	OverageMemberZeroCreditLimit    OverageDisabledReason = "member_zero_credit_limit"
	OverageOrgServiceLevelDisabled  OverageDisabledReason = "org_service_level_disabled"
	OverageNoLimitsConfigured       OverageDisabledReason = "no_limits_configured"
	OverageDisabledByFetchError     OverageDisabledReason = "fetch_error"
	OverageDisabledForUnknownReason OverageDisabledReason = "unknown"
)
