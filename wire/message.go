package wire

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
//   - [*CustomMessage], for a kind that the caller has added to a [Registry]
//   - [*UnknownMessage], for a type that this package does not know
//   - [*InvalidFrame], for a frame that does not decode
//   - [*TextLine], for a line that is not JSON
//
// A message does not change after it was decoded, unless its owner changes it,
// and may be read by several goroutines.
type Message interface {
	// Kind returns the frame's type, and its subtype if it has one.
	Kind() Kind
	// Raw returns the text that the message was read from, without the line ends
	// of a frame that was spread over lines; "" for a message made by hand, or read
	// with [ReaderOptions.DiscardRaw].
	Raw() string

	sealed()
}

// A Kind is the discriminator of a frame.
type Kind struct {
	Type    string
	Subtype string
}

// String returns the type, and behind a slash the subtype if there is one.
func (k Kind) String() string {
	if k.Subtype == "" {
		return k.Type
	}
	return k.Type + "/" + k.Subtype
}

// A SystemMessage is a frame of type system whose subtype this package does not
// know. Its fields are in Raw.
//
//wire:message system
//wire:open
type SystemMessage struct {
	raw string

	Subtype   string `json:"subtype" wire:"required,intern"`
	UUID      string `json:"uuid" wire:"lenient"`
	SessionID string `json:"session_id" wire:"lenient,intern"`
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

// A CustomMessage is a frame that a decoder of a [Registry] has read.
type CustomMessage struct {
	// Value is what the decoder returned.
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

// A TextLine is a line that is not JSON: a warning of the shell, the plain
// output of a program.
type TextLine struct {
	// Text is the line without the white space around it.
	Text string
	// Line counts from 1, Offset in bytes from 0.
	Line   int
	Offset int64

	raw string
}

// Kind returns the zero Kind.
func (m *TextLine) Kind() Kind { return Kind{} }

// Raw returns the line as it was read. It is not JSON.
func (m *TextLine) Raw() string { return m.raw }

func (m *TextLine) sealed() {}
