package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A Message is one frame of the stream. Its variants are
//
//   - the conversation: [*AssistantMessage], [*UserMessage], [*ResultMessage],
//     [*StreamEventMessage]
//   - frames of type system: [*InitMessage], [*StatusMessage],
//     [*CompactBoundaryMessage], [*APIRetryMessage],
//     [*ControlRequestProgressMessage], [*ModelRefusalFallbackMessage],
//     [*ModelRefusalNoFallbackMessage], [*LocalCommandOutputMessage],
//     [*HookStartedMessage], [*HookProgressMessage], [*HookResponseMessage],
//     [*PluginInstallMessage], [*TaskStartedMessage], [*TaskUpdatedMessage],
//     [*TaskProgressMessage], [*TaskNotificationMessage],
//     [*BackgroundTasksChangedMessage], [*ThinkingTokensMessage],
//     [*SessionStateChangedMessage], [*SessionTitleChangedMessage],
//     [*WorkerShuttingDownMessage], [*CommandsChangedMessage],
//     [*NotificationMessage], [*FilesPersistedMessage], [*MemoryRecallMessage],
//     [*ElicitationCompleteMessage], [*PermissionDeniedMessage],
//     [*MirrorErrorMessage], [*InformationalMessage],
//     [*SessionWritesLostMessage], [*SessionReconnectedMessage], and
//     [*SystemMessage] for any other subtype
//   - other notices: [*ToolProgressMessage], [*ToolUseSummaryMessage],
//     [*AuthStatusMessage], [*RateLimitMessage], [*PromptSuggestionMessage],
//     [*ConversationResetMessage], [*ActiveGoalMessage],
//     [*TranscriptMirrorMessage], [*CommandLifecycleMessage],
//     [*AutocompactStateMessage], [*KeepAliveMessage]
//   - the control protocol: [*ControlRequestMessage],
//     [*ControlResponseMessage], [*ControlCancelRequestMessage]
//   - [*CustomMessage], for a kind that the caller added to a [Registry]
//   - [*UnknownMessage], for a type that this package does not know
//   - [*InvalidFrame], for a frame that does not decode
//   - [*TextLine], for a line that is not JSON
//
// A decoded message changes only if its owner changes it. Several goroutines may read it.
type Message interface {
	// Kind returns the frame's type, and its subtype if it has one.
	Kind() Kind
	// Raw returns the text that the message was read from, without the line ends of a frame that
	// was spread over lines. It returns "" for a message that was made by hand or read with
	// [ReaderOptions.DiscardRaw].
	Raw() string

	sealed()
}

// A Kind is the discriminator of a frame.
type Kind struct {
	// Type is the member "type" of the frame, such as "assistant".
	Type string
	// Subtype is the member "subtype", which few types have.
	Subtype string
}

// String returns the type. If there is a subtype, a slash and the subtype follow.
func (k Kind) String() string {
	if k.Subtype == "" {
		return k.Type
	}
	return k.Type + "/" + k.Subtype
}

// A SystemMessage is a frame of type system whose subtype this package does not know. Its fields
// are in Raw.
//
//wire:message system
//wire:open
type SystemMessage struct {
	raw string

	// Subtype is the unknown subtype, such as "task_summary".
	Subtype   string `json:"subtype" wire:"required,intern"`
	UUID      string `json:"uuid"`                     // ID of this message
	SessionID string `json:"session_id" wire:"intern"` // session that it belongs to
}

// An UnknownMessage is a frame of a type that this package does not know.
type UnknownMessage struct {
	raw  string
	kind Kind
}

// Kind returns the unknown type.
func (m *UnknownMessage) Kind() Kind { return m.kind }

// Raw returns the whole frame.
func (m *UnknownMessage) Raw() string { return m.raw }

// MarshalJSON returns the frame as it was read.
func (m *UnknownMessage) MarshalJSON() ([]byte, error) { return []byte(m.raw), nil }

func (m *UnknownMessage) sealed() {}

// A CustomMessage is a frame that a decoder of a [Registry] read.
type CustomMessage struct {
	// Value is the result of the decoder.
	Value any

	raw  string
	kind Kind
}

// Kind returns the type, and subtype, that the decoder was added for.
func (m *CustomMessage) Kind() Kind { return m.kind }

// Raw returns the whole frame.
func (m *CustomMessage) Raw() string { return m.raw }

// MarshalJSON returns the frame as it was read.
func (m *CustomMessage) MarshalJSON() ([]byte, error) { return []byte(m.raw), nil }

func (m *CustomMessage) sealed() {}

// A TextLine is a line that is not JSON: a warning of the shell, the plain output of a program.
type TextLine struct {
	// Text is the line without the white space around it.
	Text string
	// Line is the number of the line, counted from 1.
	Line int
	// Offset is the place of its first byte in the stream, counted from 0.
	Offset int64

	raw string
}

// Kind returns the zero Kind.
func (m *TextLine) Kind() Kind { return Kind{} }

// Raw returns the line as it was read. It is not JSON.
func (m *TextLine) Raw() string { return m.raw }

func (m *TextLine) sealed() {}

// UnknownFields returns the fields that msg was read with and that this package does not know, each
// as its path: names joined by dots, with [] after the name of a list. Each path appears once.
// UnknownFields takes as long as decoding the message.
func UnknownFields(msg Message) []string {
	unknown, _ := Survey(msg)
	return unknown
}

// Survey returns what [UnknownFields] and [Misfits] return, in the time of one of them.
func Survey(msg Message) (unknown []string, misfits []*FieldError) {
	switch msg.(type) {
	case *UnknownMessage, *CustomMessage, *InvalidFrame, *TextLine:
		return nil, nil
	}
	raw := msg.Raw()
	if raw == "" {
		return nil, nil
	}
	d := surveyors.Get().(*decoder)
	defer surveyors.Put(d)
	defer d.unload()
	d.unknown, d.misfits = d.unknown[:0], nil
	d.load([]byte(raw))
	d.message()
	if len(d.unknown) > 0 {
		unknown = jsonlex.Paths(d.text, d.unknown)
		slices.Sort(unknown)
	}
	return slices.Compact(unknown), d.misfitErrors()
}

var surveyors = sync.Pool{New: func() any { return &decoder{survey: true} }}

// unknownMember skips a member that has no field. The member type is never unknown: it selected the
// struct.
func (d *decoder) unknownMember(key []byte) {
	if d.survey && string(key) != "type" {
		d.Peek()
		d.unknown = append(d.unknown, d.Pos())
	}
	d.Skip()
}

// An Origin is the origin of a prompt. Which fields are set depends on its kind.
type Origin struct {
	raw string

	// Kind is the kind of sender.
	Kind OriginKind `json:"kind" wire:"required,intern"`

	// Server is the server of an OriginChannel.
	Server string `json:"server,omitzero" wire:"intern"`
	// From is the address of the sender, with OriginPeer and OriginObserver.
	From string `json:"from,omitzero" wire:"intern"`
	// FromMode is "bypass" for a peer that runs tools without asking, and "prompting" for others.
	// It is empty if the sender did not say.
	FromMode string `json:"fromMode,omitzero" wire:"intern"`
	// Name is a peer's name for people. The peer chose it: do not trust it.
	Name string `json:"name,omitzero" wire:"intern"`
	// FromSession is a peer's session, for a link to it. The peer chose it: do not trust it.
	FromSession string `json:"fromSession,omitzero" wire:"intern"`
	// SenderTaskID is the task of the sender, with OriginPeer and OriginObserver.
	SenderTaskID string `json:"senderTaskId,omitzero" wire:"intern"`
	// Body is the body of a peer's message.
	Body string `json:"body,omitzero"`
	// VerifiedPeerPID is the process id of a peer, if it was verified.
	VerifiedPeerPID int `json:"verifiedPeerPid,omitzero"`
	// Subkind is a word such as "scheduled-trigger". It and the next three fields come with
	// OriginTaskNotification.
	Subkind string `json:"subkind,omitzero" wire:"intern"`
	// FireReason explains why a scheduled-trigger fired, such as "scheduled" or "retry".
	FireReason string `json:"fireReason,omitzero" wire:"intern"`
	// RunID is the run of the task, as in [TaskStartedMessage].
	RunID string `json:"runId,omitzero" wire:"intern"`
	// Producer is a word such as "session-task".
	Producer string `json:"producer,omitzero" wire:"intern"`
}

// whole reports whether the origin has a kind. Without one it says nothing.
func (v *Origin) whole() bool { return v.Kind != "" }

// An OriginKind is a kind of sender.
type OriginKind string

// The kinds of sender. A host that passes on a person's prompt has to mark it with OriginHuman.
const (
	OriginHuman            OriginKind = "human"
	OriginChannel          OriginKind = "channel"
	OriginPeer             OriginKind = "peer"
	OriginTaskNotification OriginKind = "task-notification"
	OriginCoordinator      OriginKind = "coordinator"
	OriginUnclassified     OriginKind = "unclassified"
	OriginAutoContinuation OriginKind = "auto-continuation"
	OriginObserver         OriginKind = "observer"
	OriginObserverActivity OriginKind = "observer-activity"
	OriginVoiceCall        OriginKind = "voice-call"
)

// JSON is a JSON text that is not decoded until a caller asks for it. The empty JSON stands for a
// missing value, and is written as null.
//
// It converts to and from []byte and [json.RawMessage].
type JSON string

// Decode decodes the text into v, as encoding/json does.
func (j JSON) Decode(v any) error { return json.Unmarshal([]byte(j), v) }

// MarshalJSON returns the text.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps the text.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = JSON(data)
	return nil
}

// Millis is a duration as the wire gives it: a number of milliseconds, which may have a fraction.
type Millis float64

// Duration returns m as a time.Duration, or the longest there is if m is longer.
func (m Millis) Duration() time.Duration {
	ns := float64(m) * float64(time.Millisecond)
	switch {
	case ns >= math.MaxInt64:
		return math.MaxInt64
	case ns <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(ns)
}

// A Role is the speaker of an API message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
)

// A StopReason explains why the model stopped. It is empty on the assistant messages of a stream:
// the reason comes with the result.
type StopReason string

// The stop reasons of the API.
const (
	StopReasonEndTurn               StopReason = "end_turn"
	StopReasonMaxTokens             StopReason = "max_tokens"
	StopReasonStopSequence          StopReason = "stop_sequence"
	StopReasonToolUse               StopReason = "tool_use"
	StopReasonPauseTurn             StopReason = "pause_turn"
	StopReasonCompaction            StopReason = "compaction"
	StopReasonRefusal               StopReason = "refusal"
	StopReasonContextWindowExceeded StopReason = "model_context_window_exceeded"
)

// An AssistantError is the error when an assistant message stands for a failed API call.
type AssistantError string

// The errors that the agent reports.
const (
	AssistantErrorAuthenticationFailed AssistantError = "authentication_failed"
	AssistantErrorOAuthOrgNotAllowed   AssistantError = "oauth_org_not_allowed"
	AssistantErrorAccountOnHold        AssistantError = "account_on_hold"
	AssistantErrorVerificationRequired AssistantError = "verification_required"
	AssistantErrorBilling              AssistantError = "billing_error"
	AssistantErrorRateLimit            AssistantError = "rate_limit"
	AssistantErrorOverloaded           AssistantError = "overloaded"
	AssistantErrorInvalidRequest       AssistantError = "invalid_request"
	AssistantErrorModelNotFound        AssistantError = "model_not_found"
	AssistantErrorServer               AssistantError = "server_error"
	AssistantErrorUnknown              AssistantError = "unknown"
	AssistantErrorMaxOutputTokens      AssistantError = "max_output_tokens"
	AssistantErrorCloudCredential      AssistantError = "cloud_credential_error"
)

// A PermissionMode determines how the agent decides whether a tool may run.
type PermissionMode string

// The permission modes.
const (
	PermissionModeDefault           PermissionMode = "default"
	PermissionModeAcceptEdits       PermissionMode = "acceptEdits"
	PermissionModeBypassPermissions PermissionMode = "bypassPermissions"
	PermissionModePlan              PermissionMode = "plan"
	PermissionModeDontAsk           PermissionMode = "dontAsk"
	PermissionModeAuto              PermissionMode = "auto"
)

// A FastModeState reports whether fast mode is on.
type FastModeState string

// The states of fast mode.
const (
	FastModeStateOff      FastModeState = "off"
	FastModeStateCooldown FastModeState = "cooldown"
	FastModeStateOn       FastModeState = "on"
)

// A FastModeDisabledReason explains why fast mode cannot be turned on.
type FastModeDisabledReason string

// The reasons why fast mode is not available.
const (
	FastModeDisabledFree               FastModeDisabledReason = "free"
	FastModeDisabledPreference         FastModeDisabledReason = "preference"
	FastModeDisabledExtraUsageDisabled FastModeDisabledReason = "extra_usage_disabled"
	FastModeDisabledNetworkError       FastModeDisabledReason = "network_error"
	FastModeDisabledUnknown            FastModeDisabledReason = "unknown"
	FastModeDisabledNotFirstParty      FastModeDisabledReason = "not_first_party"
	FastModeDisabledByEnv              FastModeDisabledReason = "disabled_by_env"
	FastModeDisabledModelNotAllowed    FastModeDisabledReason = "model_not_allowed"
	FastModeDisabledSDKOptInRequired   FastModeDisabledReason = "sdk_opt_in_required"
	FastModeDisabledPending            FastModeDisabledReason = "pending"
)

// A Registry holds decoders for kinds of frames that this package does not know yet. The zero value
// is empty and ready to use. It may be used from several goroutines.
type Registry struct {
	mu       sync.RWMutex
	decoders map[Kind]func(json.RawMessage) (any, error)
}

// Add registers a decoder for frames of a kind. They come as [*CustomMessage], with the result of
// decode as its Value. If decode returns an error or panics, the frame is an [*InvalidFrame]. A
// kind is a type, or the type system with a subtype. Add returns an error for a kind that this
// package knows or that was added before.
func (r *Registry) Add(kind Kind, decode func(raw json.RawMessage) (any, error)) error {
	if kind.Type == "" || (kind.Type == "system") != (kind.Subtype != "") {
		return fmt.Errorf("wire: invalid kind %q: must be a type, or \"system\" and a subtype", kind)
	}
	if Known(kind) {
		return fmt.Errorf("wire: kind %s is already known", kind)
	}
	if decode == nil {
		return fmt.Errorf("wire: kind %s has no decoder", kind)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.decoders[kind] != nil {
		return fmt.Errorf("wire: kind %s is already registered", kind)
	}
	if r.decoders == nil {
		r.decoders = map[Kind]func(json.RawMessage) (any, error){}
	}
	r.decoders[kind] = decode
	return nil
}

func (r *Registry) lookup(kind Kind) func(json.RawMessage) (any, error) {
	if r == nil {
		return nil
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.decoders[kind]
}

// custom runs a decoder of the registry.
func (d *decoder) custom(kind Kind, raw string, decode func(json.RawMessage) (any, error)) Message {
	value, err := guarded(json.RawMessage(raw), decode)
	if err != nil {
		d.FailBecause(0, fmt.Errorf("decoder of %s: %w", kind, err))
		return nil
	}
	return &CustomMessage{Value: value, raw: raw, kind: kind}
}

func guarded(raw json.RawMessage, decode func(json.RawMessage) (any, error)) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return decode(raw)
}
