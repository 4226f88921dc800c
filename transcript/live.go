package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// A liveState turns the messages of a running session into the entries that the agent writes to its
// transcript, so that both give the same chunks. The zero value is ready.
type liveState struct {
	session, cwd, version, mode string

	// threads are the conversations, by the call that started them; "" is the session itself.
	threads map[string]*liveThread
	agents  map[string]string // what subagents are for, by their ids
	awaited map[string]string // calls that wait for a task, by the task's id
	made    int               // UUIDs made so far
	held    *liveLine         // a prompt that waits, see hold
	skills  map[string]bool   // calls of skills
	// sent are prompts that were added and that the agent may repeat.
	sent []sentPrompt
	open []byte // the text so far of a block that is being streamed

	turn  liveTurn
	asked *liveLine // the last prompt that somebody typed
	// queue are prompts that came while the agent was working, and that it has not taken up yet.
	queue      []*liveLine
	tellsQueue bool // the agent says when it takes a prompt up
}

// A liveThread is one conversation: the session's own or a subagent's.
type liveThread struct {
	last      string // UUID of its last entry
	compacted bool   // the last entry is the boundary of a compaction
	prompt    uint64 // what a subagent was asked, if that was told apart from its messages
	// launched are skill calls whose texts have not come yet.
	launched []string
}

// A liveEntry is an entry and the conversation that it belongs to: thread is the call of the tool
// that started the subagent, or "".
type liveEntry struct {
	thread string
	Entry
}

// entries returns the entries that the agent writes for msg: usually one or none. A message without
// a time gets the time at. Prompts that the host sent are messages like others. A prompt that was
// held back comes before the entry of msg, and prompts from the queue after it.
func (s *liveState) entries(msg wire.Message, at time.Time) []liveEntry {
	s.learn(msg)
	s.stream(msg)
	s.follow(msg)
	line := s.line(msg)
	if line != nil && line.Timestamp == "" && !at.IsZero() {
		line.Timestamp = at.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if line != nil && (s.enqueue(line) || s.take(line)) {
		return nil
	}
	var entries []liveEntry
	if s.release(msg, line) {
		entries = s.emit(entries, s.held)
		s.held = nil
	}
	entries = s.emit(entries, line)
	for _, line := range s.dequeue(msg) {
		if !s.take(line) {
			entries = s.emit(entries, line)
		}
	}
	return entries
}

// learn records facts from messages that don't become entries.
func (s *liveState) learn(msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.InitMessage:
		s.session, s.cwd, s.version, s.mode = msg.SessionID, msg.CWD, msg.Version, string(msg.PermissionMode)
	case *wire.StatusMessage:
		if msg.PermissionMode != "" {
			s.mode = string(msg.PermissionMode)
		}
	case *wire.TaskStartedMessage:
		s.learnAgent(msg)
		s.await(msg)
	case *wire.TaskUpdatedMessage:
		if moved := msg.Patch.Backgrounded; moved != nil && *moved {
			delete(s.awaited, msg.TaskID)
		}
	case *wire.ConversationResetMessage:
		s.session = msg.NewConversationID
		s.thread("").last = ""
	}
}

// hold keeps back a prompt that asks for a compaction or for a new conversation, and reports
// whether it did: the agent writes it after the summary, or into the new transcript.
func (s *liveState) hold(line *liveLine) bool {
	command, _, _ := strings.Cut(line.prompt, " ")
	if command != "/compact" && command != "/clear" || s.held != nil {
		return false
	}
	s.held = line
	return true
}

// release reports whether the prompt that waits comes now, before line.
func (s *liveState) release(msg wire.Message, line *liveLine) bool {
	if s.held == nil {
		return false
	}
	if _, ended := msg.(*wire.ResultMessage); ended {
		return true
	}
	return line != nil && line.thread == "" && line.Subtype != "compact_boundary" && !line.IsCompactSummary
}

// emit appends the entry of a line, which may be nil, and links it to the one before.
func (s *liveState) emit(entries []liveEntry, line *liveLine) []liveEntry {
	if line == nil {
		return entries
	}
	if line.Type != "custom-title" {
		s.link(line)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // raw members stay as they are
	if err := encoder.Encode(line); err != nil {
		return entries
	}
	e, err := DecodeEntry(bytes.TrimSpace(text.Bytes()))
	if err != nil {
		return entries
	}
	return append(entries, liveEntry{line.thread, e})
}

// link makes a line follow the last one of its conversation.
func (s *liveState) link(line *liveLine) {
	t := s.thread(line.thread)
	if line.UUID == "" {
		s.made++
		line.UUID = "live-" + strconv.Itoa(s.made)
	}
	parent := t.last
	t.last = line.UUID
	t.compacted = line.Subtype == "compact_boundary"
	switch {
	case t.compacted:
		line.LogicalParentUUID = parent
	case parent != "":
		line.ParentUUID = &parent
	}
	line.CWD, line.Version, line.IsSidechain = s.cwd, s.version, line.thread != ""
	if line.SessionID == "" {
		line.SessionID = s.session
	}
}

// thread returns the conversation of the subagent that a call started, or with "" the session's
// own.
func (s *liveState) thread(call string) *liveThread {
	if s.threads == nil {
		s.threads = map[string]*liveThread{}
	}
	if s.threads[call] == nil {
		s.threads[call] = new(liveThread)
	}
	return s.threads[call]
}

// A liveLine is a line as the agent writes it, with the members that a stream contains.
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

// A liveCompaction is the metadata of a compaction, as the agent writes them.
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

// user returns the line of a prompt, of tool results, or of a text that the agent sends to the
// model.
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

// assistant returns the line of an answer, or of the output of a command, which the agent reports
// as an answer.
func (s *liveState) assistant(msg *wire.AssistantMessage) *liveLine {
	command := s.asked != nil && strings.HasPrefix(s.asked.prompt, "/") && msg.ParentToolUseID == ""
	if command && msg.Model == entrylex.SyntheticModel && !msg.APIErrorMessage && !msg.Aborted {
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

// returned notes which skills started, whose texts follow and don't say whose they are, and which
// calls wait no more: an older agent does not report a task in the background.
func (s *liveState) returned(t *liveThread, results []*wire.ToolResultBlock) {
	for _, r := range results {
		maps.DeleteFunc(s.awaited, func(_, call string) bool { return call == r.ToolUseID })
		if s.skills[r.ToolUseID] && !r.Failed() {
			t.launched = append(t.launched, r.ToolUseID)
		}
		delete(s.skills, r.ToolUseID)
	}
}

// printedLine returns the line for the output of a command.
func printedLine(text, uuid, session string) *liveLine {
	content := "<local-command-stdout>" + text + "</local-command-stdout>"
	return &liveLine{Type: "system", Subtype: "local_command", Content: content, UUID: uuid, SessionID: session}
}

// information returns the line of a notice. One that reports that a prompt was refused takes the
// prompt back: the agent does not write it down.
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

// assistantLine returns the line of an answer, or nil if the message cannot be encoded.
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

// compactLine returns the line of the boundary of a compaction. Its summary comes as a separate
// message.
func compactLine(msg *wire.CompactBoundaryMessage) *liveLine {
	m := msg.Metadata
	return &liveLine{
		Type: "system", Subtype: "compact_boundary", Content: "Conversation compacted", Level: "info",
		CompactMetadata: &liveCompaction{m.Trigger, m.PreTokens, m.PostTokens, m.Duration, m.CumulativeDroppedTokens},
		UUID:            msg.UUID, SessionID: msg.SessionID,
	}
}

// retryLine returns the line of a request to the API that failed and is repeated.
func retryLine(msg *wire.APIRetryMessage) *liveLine {
	failure := &liveError{Status: msg.ErrorStatus}
	failure.Error.Error.Type = string(msg.Error)
	failure.Error.Error.Message = string(msg.Error)
	return &liveLine{
		Type: "system", Subtype: "api_error", Level: "error", Error: failure, RetryInMs: msg.RetryDelay,
		RetryAttempt: msg.Attempt, MaxRetries: msg.MaxRetries, UUID: msg.UUID, SessionID: msg.SessionID,
	}
}

// stream follows the text of a block that is being streamed.
func (s *liveState) stream(msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.AssistantMessage:
		if msg.ParentToolUseID == "" {
			s.open = s.open[:0]
		}
	case *wire.ResultMessage:
		s.open = s.open[:0]
	case *wire.StreamEventMessage:
		if msg.ParentToolUseID == "" {
			s.event(msg.Event)
		}
	}
}

// event follows the events of one answer. Only text counts: thinking and inputs are not shown
// before they are complete.
func (s *liveState) event(event wire.Event) {
	switch event := event.(type) {
	case *wire.MessageStartEvent:
		s.open = s.open[:0]
	case *wire.ContentBlockStartEvent:
		s.open = s.open[:0]
		if block, ok := event.ContentBlock.(*wire.TextBlock); ok {
			s.open = append(s.open, block.Text...)
		}
	case *wire.TextDeltaEvent:
		s.open = append(s.open, event.Text...)
	}
}

// A liveTurn is the agent's progress with a turn.
type liveTurn uint8

const (
	turnOver liveTurn = iota
	turnAsked
	turnAnswered // the model has said something
)

// follow notes how far the turn is.
func (s *liveState) follow(msg wire.Message) {
	switch msg := msg.(type) {
	case *wire.AssistantMessage:
		if msg.ParentToolUseID == "" {
			s.turn = turnAnswered
		}
	case *wire.ResultMessage:
		s.turn = turnOver
	}
}

// take notes that a prompt starts a turn, or joins one, and reports whether it has to wait
// nevertheless: see hold.
func (s *liveState) take(line *liveLine) (waits bool) {
	if line.typed {
		s.turn, s.asked = max(s.turn, turnAsked), line
	}
	return s.hold(line)
}

// enqueue keeps back a prompt that comes while the agent is at work, and reports whether it did:
// the agent writes it down when it takes it up.
func (s *liveState) enqueue(line *liveLine) bool {
	if !line.typed || line.UUID == "" || s.turn == turnOver {
		return false
	}
	s.queue = append(s.queue, line)
	return true
}

// dequeue returns the prompts that the agent takes up with msg. An older agent does not report
// that, and takes them up after the turn.
func (s *liveState) dequeue(msg wire.Message) []*liveLine {
	switch msg := msg.(type) {
	case *wire.ResultMessage:
		if !s.tellsQueue {
			queue := s.queue
			s.queue = nil
			return queue
		}
	case *wire.UserMessage:
		if msg.Replay {
			return s.takeUp(msg.UUID)
		}
	case *wire.CommandLifecycleMessage:
		s.tellsQueue = true
		switch msg.State {
		case wire.CommandStateStarted, wire.CommandStateCompleted:
			return s.takeUp(msg.CommandUUID)
		case wire.CommandStateCanceled:
			s.takeUp(msg.CommandUUID)
		}
	}
	return nil
}

// takeUp takes a prompt out of the queue, if it is there.
func (s *liveState) takeUp(uuid string) []*liveLine {
	i := slices.IndexFunc(s.queue, func(l *liveLine) bool { return l.UUID == uuid })
	if i < 0 {
		return nil
	}
	line := s.queue[i]
	s.queue = slices.Delete(s.queue, i, i+1)
	if s.turn == turnAnswered {
		line.join()
	}
	return []*liveLine{line}
}

// A liveAttachment is a prompt that the model gets in the middle of a turn.
type liveAttachment struct {
	Type        string          `json:"type"`
	Prompt      json.RawMessage `json:"prompt"`
	CommandMode string          `json:"commandMode"`
}

// join turns the line into a prompt in the middle of a turn.
func (l *liveLine) join() {
	l.Attachment = &liveAttachment{"queued_command", jsonlex.Lookup(l.Message, 0, "content"), "prompt"}
	l.Type, l.Message, l.PermissionMode = "attachment", nil, ""
}

// A sentPrompt is a prompt that the agent may repeat.
type sentPrompt struct {
	uuid string
	sum  uint64
}

const maxSent = 32

// repeated reports whether msg repeats a prompt that has been here already.
func (s *liveState) repeated(msg *wire.UserMessage, sum uint64) bool {
	i := slices.IndexFunc(s.sent, func(p sentPrompt) bool {
		return p.uuid != "" && p.uuid == msg.UUID || p.uuid == "" && p.sum == sum
	})
	if i < 0 {
		return false
	}
	s.sent = slices.Delete(s.sent, i, i+1)
	return true
}

// remember keeps a prompt that the agent may repeat. Of many, the oldest is forgotten.
func (s *liveState) remember(msg *wire.UserMessage, sum uint64) {
	if len(s.sent) == maxSent {
		s.sent = slices.Delete(s.sent, 0, 1)
	}
	s.sent = append(s.sent, sentPrompt{msg.UUID, sum})
}

// contentSum returns a hash of the content.
func contentSum(content wire.Content) uint64 {
	h := fnv.New64a()
	for _, block := range content {
		text := block.BlockType()
		if b, ok := block.(*wire.TextBlock); ok {
			text = b.Text
		}
		h.Write([]byte(text))
	}
	return h.Sum64()
}

// learnAgent keeps the description of a subagent, which the notice of its end has.
func (s *liveState) learnAgent(msg *wire.TaskStartedMessage) {
	if msg.TaskType != wire.TaskTypeLocalAgent {
		return
	}
	if s.agents == nil {
		s.agents = map[string]string{}
	}
	s.agents[msg.TaskID] = msg.Description
}

// await records that a call waits for a task. Then the call's result reports the end, and
// there is no notice.
func (s *liveState) await(msg *wire.TaskStartedMessage) {
	if msg.Backgrounded {
		return
	}
	if s.awaited == nil {
		s.awaited = map[string]string{}
	}
	s.awaited[msg.TaskID] = msg.ToolUseID
}

// subagentPrompt returns what a subagent was asked: its transcript starts with it.
func (s *liveState) subagentPrompt(msg *wire.TaskStartedMessage) *liveLine {
	if msg.TaskType != wire.TaskTypeLocalAgent || msg.ToolUseID == "" || msg.Prompt == "" {
		return nil
	}
	t := s.thread(msg.ToolUseID)
	if t.last != "" {
		return nil
	}
	t.prompt = contentSum(wire.Content{&wire.TextBlock{Text: msg.Prompt}})
	return &liveLine{
		thread: msg.ToolUseID, Type: "user", AgentID: msg.TaskID, SessionID: msg.SessionID, Message: userMessage(msg.Prompt),
	}
}

// notification returns the prompt that reports the end of a task to the model.
func (s *liveState) notification(msg *wire.TaskNotificationMessage) *liveLine {
	_, awaited := s.awaited[msg.TaskID]
	delete(s.awaited, msg.TaskID)
	if msg.SkipTranscript || msg.Ambient || awaited {
		return nil
	}
	summary, result, spent := msg.Summary, "", ""
	if description, ok := s.agents[msg.TaskID]; ok {
		summary, result = agentEnd(description, msg.Status), msg.Summary
	}
	if msg.Usage != nil {
		spent = fmt.Sprintf("<duration_ms>%d</duration_ms>", msg.Usage.Duration.Duration().Milliseconds())
	}
	var text strings.Builder
	text.WriteString("<task-notification>\n")
	for _, part := range [][2]string{
		{"task-id", msg.TaskID},
		{"tool-use-id", msg.ToolUseID},
		{"output-file", msg.OutputFile},
		{"status", string(msg.Status)},
		{"summary", summary},
		{"result", result},
		{"usage", spent},
	} {
		if part[1] != "" {
			fmt.Fprintf(&text, "<%s>%s</%s>\n", part[0], part[1], part[0])
		}
	}
	text.WriteString("</task-notification>")
	return &liveLine{
		Type: "user", Message: userMessage(text.String()), PermissionMode: s.mode, UUID: msg.UUID, SessionID: msg.SessionID,
	}
}

// agentEnd returns the agent's sentence about the end of a subagent.
func agentEnd(description string, status wire.TaskStatus) string {
	how := string(status)
	if status == wire.TaskStatusCompleted {
		how = "finished"
	}
	return fmt.Sprintf("Agent \"%s\" %s", description, how)
}

// userMessage returns the message of a prompt as JSON.
func userMessage(text string) json.RawMessage {
	message, err := json.Marshal(struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}{"user", text})
	if err != nil {
		return nil
	}
	return message
}
