package clew

import "context"

// SandboxStatus returns how the commands of the agent are confined, as its own dialog shows it.
func (s *Session) SandboxStatus(ctx context.Context) (*SandboxStatus, error) {
	return call[SandboxStatus](ctx, s, "get_sandbox_dialog", nil)
}

// A SandboxStatus says whether and how commands are confined.
type SandboxStatus struct {
	// Supported is false where there is no sandbox for the platform.
	Supported bool `json:"supported"`
	// Enabled says whether commands are confined. It is false also where the settings ask for it, in EnabledInSettings,
	// and something is missing.
	Enabled           bool `json:"enabled"`
	EnabledInSettings bool `json:"enabled_in_settings"`
	// Mode is disabled, or how commands in the sandbox are permitted.
	Mode string `json:"mode"`
	// Locked and OverridesLocked say what an administrator has fixed, and PolicyOrigins where.
	Locked          bool     `json:"locked"`
	OverridesLocked bool     `json:"overrides_locked"`
	PolicyOrigins   []string `json:"policy_origins"`
	// AutoAllowAvailable says whether commands in the sandbox could run without a question, NoSandboxAllowed whether
	// commands may ask to run outside, and UnsandboxedFallback whether they do when the sandbox fails.
	AutoAllowAvailable  bool `json:"auto_allow_available"`
	NoSandboxAllowed    bool `json:"no_sandbox_allowed"`
	UnsandboxedFallback bool `json:"unsandboxed_fallback"`
	// Dependencies say what is missing on this machine, in words for people.
	Dependencies SandboxDependencies `json:"dependencies"`
	// ExcludedCommands run outside.
	ExcludedCommands []string            `json:"excluded_commands"`
	Restrictions     SandboxRestrictions `json:"restrictions"`
}

// SandboxDependencies are what the sandbox lacks: errors keep it from working.
type SandboxDependencies struct {
	Errors   []string `json:"errors"`
	Warnings []string `json:"warnings"`
}

// SandboxRestrictions are what a confined command may reach.
type SandboxRestrictions struct {
	AllowRead      []string `json:"fs_allow_read"`
	DenyRead       []string `json:"fs_deny_read"`
	AllowWrite     []string `json:"fs_allow_write"`
	DenyWrite      []string `json:"fs_deny_write"`
	AllowedDomains []string `json:"network_allowed_domains"`
	DeniedDomains  []string `json:"network_denied_domains"`
	// NetworkManaged is true if an administrator alone decides about domains.
	NetworkManaged      bool     `json:"network_managed"`
	UnixSockets         []string `json:"unix_sockets"`
	AllowAllUnixSockets bool     `json:"allow_all_unix_sockets"`
	// IgnoredPatterns are those that the sandbox of this platform can't follow.
	IgnoredPatterns []string `json:"ignored_glob_patterns"`
}
