package transcript

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// A liveLine is a line as the agent writes it, as far as a stream tells what is in it.
type liveLine struct {
	thread string
	typed  bool   // somebody typed it, in the session's own conversation
	prompt string // its text

	ParentUUID        *string         `json:"parentUuid"`
	LogicalParentUUID string          `json:"logicalParentUuid,omitempty"`
	IsSidechain       bool            `json:"isSidechain"`
	AgentID           string          `json:"agentId,omitempty"`
	Type              string          `json:"type"`
	Subtype           string          `json:"subtype,omitempty"`
	Message           json.RawMessage `json:"message,omitempty"`
	ToolUseResult     json.RawMessage `json:"toolUseResult,omitempty"`
	RequestID         string          `json:"requestId,omitempty"`
	SourceToolUseID   string          `json:"sourceToolUseID,omitempty"`
	Attachment        *liveAttachment `json:"attachment,omitempty"`

	IsMeta             bool     `json:"isMeta,omitempty"`
	IsCompactSummary   bool     `json:"isCompactSummary,omitempty"`
	IsAPIErrorMessage  bool     `json:"isApiErrorMessage,omitempty"`
	APIErrorStatus     int      `json:"apiErrorStatus,omitempty"`
	APIErrorType       string   `json:"apiErrorType,omitempty"`
	IsAbortedMidStream bool     `json:"isAbortedMidStream,omitempty"`
	PermissionMode     string   `json:"permissionMode,omitempty"`
	Supersedes         []string `json:"supersedesUuids,omitempty"`

	Content         string          `json:"content,omitempty"`
	Level           string          `json:"level,omitempty"`
	ToolUseID       string          `json:"toolUseID,omitempty"`
	CompactMetadata *liveCompaction `json:"compactMetadata,omitempty"`
	Error           *liveError      `json:"error,omitempty"`
	RetryInMs       wire.Millis     `json:"retryInMs,omitempty"`
	RetryAttempt    int             `json:"retryAttempt,omitempty"`
	MaxRetries      int             `json:"maxRetries,omitempty"`
	OriginalModel   string          `json:"originalModel,omitempty"`
	FallbackModel   string          `json:"fallbackModel,omitempty"`
	RefusedUserUUID string          `json:"refusedUserMessageUuid,omitempty"`
	CustomTitle     string          `json:"customTitle,omitempty"`

	UUID      string `json:"uuid,omitempty"`
	Timestamp string `json:"timestamp,omitempty"`
	CWD       string `json:"cwd,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	Version   string `json:"version,omitempty"`
}

type liveCompaction struct {
	Trigger    wire.CompactTrigger `json:"trigger,omitempty"`
	PreTokens  int                 `json:"preTokens"`
	PostTokens int                 `json:"postTokens,omitempty"`
	DurationMs wire.Millis         `json:"durationMs,omitempty"`
	Dropped    int                 `json:"cumulativeDroppedTokens,omitempty"`
}

// A liveError has the shape of an answer of the API that is an error.
type liveError struct {
	Status int `json:"status,omitempty"`
	Error  struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	} `json:"error"`
}

// line returns what the agent writes for msg, or nil if that is nothing.
func (s *liveState) line(msg wire.Message) *liveLine {
	switch msg := msg.(type) {
	case *wire.UserMessage:
		return s.user(msg)
	case *wire.AssistantMessage:
		return s.assistant(msg)
	case *wire.CompactBoundaryMessage:
		return compactLine(msg)
	case *wire.TaskStartedMessage:
		return s.subagentPrompt(msg)
	case *wire.TaskNotificationMessage:
		return s.notification(msg)
	case *wire.LocalCommandOutputMessage:
		return printedLine(msg.Content, msg.UUID, msg.SessionID)
	case *wire.InformationalMessage:
		return s.information(msg)
	case *wire.APIRetryMessage:
		return retryLine(msg)
	case *wire.ModelRefusalFallbackMessage:
		return &liveLine{
			Type: "system", Subtype: "model_refusal_fallback", Content: msg.Content, OriginalModel: msg.OriginalModel,
			FallbackModel: msg.FallbackModel, Supersedes: msg.RetractedMessageUUIDs,
			RefusedUserUUID: msg.RefusedUserMessageUUID, UUID: msg.UUID, SessionID: msg.SessionID,
		}
	case *wire.SessionTitleChangedMessage:
		return &liveLine{Type: "custom-title", CustomTitle: msg.Title, SessionID: msg.SessionID}
	}
	return nil
}

// user returns the line of a prompt, of results of tools, or of what the agent tells the model.
func (s *liveState) user(msg *wire.UserMessage) *liveLine {
	message, err := msg.APIMessage.MarshalJSON()
	if err != nil {
		return nil
	}
	line := &liveLine{
		thread: msg.ParentToolUseID, Type: "user", Message: message, ToolUseResult: json.RawMessage(msg.ToolUseResult),
		AgentID: msg.AgentID, UUID: msg.UUID, Timestamp: msg.Timestamp,
	}
	if msg.UUID != "" { // a host that has none yet writes a placeholder
		line.SessionID = msg.SessionID
	}
	t := s.thread(line.thread)
	switch sum := contentSum(msg.Content); {
	case len(msg.Content.ToolResults()) > 0:
		s.returned(t, msg.Content.ToolResults())
	case msg.Synthetic:
		line.IsCompactSummary = t.compacted
		line.IsMeta = !t.compacted
		if len(t.launched) > 0 {
			line.SourceToolUseID, t.launched = t.launched[0], t.launched[1:]
		}
	case msg.Replay && s.repeated(msg, sum), t.prompt != 0 && t.prompt == sum:
		t.prompt = 0
		return nil
	default:
		s.prompted(line, msg, sum)
	}
	return line
}

// prompted completes the line of a prompt.
func (s *liveState) prompted(line *liveLine, msg *wire.UserMessage, sum uint64) {
	line.PermissionMode = s.mode
	if line.thread != "" || msg.Replay {
		return
	}
	line.typed = msg.Timestamp == "" // the agent tells the times of its own
	line.prompt = strings.TrimSpace(msg.Content.Text())
	s.remember(msg, sum)
}

// assistant returns the line of an answer, or of what a command has printed: the agent tells that as an answer.
func (s *liveState) assistant(msg *wire.AssistantMessage) *liveLine {
	command := s.asked != nil && strings.HasPrefix(s.asked.prompt, "/") && msg.ParentToolUseID == ""
	if command && msg.Model == synthetic && !msg.APIErrorMessage && !msg.Aborted {
		return printedLine(msg.Content.Text(), msg.UUID, msg.SessionID)
	}
	s.thread(msg.ParentToolUseID).launched = nil
	for _, use := range msg.Content.ToolUses() {
		if use.Name == "Skill" {
			if s.skills == nil {
				s.skills = map[string]bool{}
			}
			s.skills[use.ID] = true
		}
	}
	return assistantLine(msg)
}

// returned notes which skills have begun, whose texts follow and don't say whose they are, and which calls wait no
// more: an older agent does not say that a task is in the background.
func (s *liveState) returned(t *liveThread, results []*wire.ToolResultBlock) {
	for _, r := range results {
		maps.DeleteFunc(s.awaited, func(_, call string) bool { return call == r.ToolUseID })
		if s.skills[r.ToolUseID] && !r.Failed() {
			t.launched = append(t.launched, r.ToolUseID)
		}
		delete(s.skills, r.ToolUseID)
	}
}

// printedLine returns the line of what a command has printed.
func printedLine(text, uuid, session string) *liveLine {
	content := "<local-command-stdout>" + text + "</local-command-stdout>"
	return &liveLine{Type: "system", Subtype: "local_command", Content: content, UUID: uuid, SessionID: session}
}

// information returns the line of a notice. One that says that a prompt was refused takes the prompt back: the agent
// does not write it down.
func (s *liveState) information(msg *wire.InformationalMessage) *liveLine {
	line := &liveLine{
		Type: "system", Subtype: "informational", Content: msg.Content, Level: string(msg.Level), ToolUseID: msg.ToolUseID,
		UUID: msg.UUID, SessionID: msg.SessionID,
	}
	outcome := jsonlex.Lookup([]byte(msg.Raw()), 0, "prompt_submit_outcome")
	if string(jsonlex.Lookup(outcome, 0, "prompt_kept")) == "false" && s.asked != nil {
		line.Supersedes = []string{s.asked.UUID}
	}
	return line
}

func assistantLine(msg *wire.AssistantMessage) *liveLine {
	message, err := msg.APIMessage.MarshalJSON()
	if err != nil {
		return nil
	}
	return &liveLine{
		thread: msg.ParentToolUseID, Type: "assistant", Message: message, AgentID: msg.AgentID, RequestID: msg.RequestID,
		IsAPIErrorMessage: msg.APIErrorMessage, APIErrorStatus: msg.APIErrorStatus, APIErrorType: msg.APIErrorType,
		IsAbortedMidStream: msg.Aborted, Supersedes: msg.Supersedes, UUID: msg.UUID, Timestamp: msg.Timestamp,
		SessionID: msg.SessionID,
	}
}

func compactLine(msg *wire.CompactBoundaryMessage) *liveLine {
	m := msg.Metadata
	return &liveLine{
		Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted", Level: "info",
		CompactMetadata: &liveCompaction{m.Trigger, m.PreTokens, m.PostTokens, m.Duration, m.CumulativeDroppedTokens},
		UUID:            msg.UUID, SessionID: msg.SessionID,
	}
}

func retryLine(msg *wire.APIRetryMessage) *liveLine {
	failure := &liveError{Status: msg.ErrorStatus}
	failure.Error.Error.Type = string(msg.Error)
	failure.Error.Error.Message = string(msg.Error)
	return &liveLine{
		Type: "system", Subtype: "api_error", Level: "error", Error: failure, RetryInMs: msg.RetryDelay,
		RetryAttempt: msg.Attempt, MaxRetries: msg.MaxRetries, UUID: msg.UUID, SessionID: msg.SessionID,
	}
}
