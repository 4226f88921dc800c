package transcript

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/wire"
)

// A liveState turns the messages of a running session into the entries that the agent writes to its transcript, so that
// both give the same chunks. The zero value is ready.
type liveState struct {
	session, cwd, version, mode string

	threads map[string]*liveThread
	agents  map[string]string // what subagents are for, by their ids
	awaited map[string]string // calls that wait for a task, by the task's id
	made    int               // UUIDs made so far
	held    *liveLine         // a prompt that waits, see hold
	skills  map[string]bool   // calls of skills
	sent    []sentPrompt
	open    []byte // the text so far of a block that is being streamed

	turn       liveTurn
	asked      *liveLine // the last prompt that somebody typed
	queue      []*liveLine
	tellsQueue bool // the agent says when it takes a prompt up
}

// A liveThread is one conversation: that of the session itself or of a subagent.
type liveThread struct {
	last      string // UUID of its last entry
	compacted bool   // the last entry is the boundary of a compaction
	prompt    uint64 // what a subagent was asked, if that was told apart from its messages
	// launched are calls of skills whose texts have not come yet.
	launched []string
}

// A liveEntry is an entry and the conversation that it belongs to: thread is the call of the tool that has started the
// subagent, or "".
type liveEntry struct {
	thread string
	Entry
}

// entries returns what the agent writes for msg: usually one entry, or none. Messages that don't tell their time are of
// the time at. Prompts that the host has sent are messages like others.
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

// learn notes what messages tell that are no entries.
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

// hold keeps back a prompt that asks for a compaction or for a new conversation, and reports whether it did: the agent
// writes it behind the summary, or into the new transcript.
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

// link puts a line behind the last one of its conversation.
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

func (s *liveState) thread(call string) *liveThread {
	if s.threads == nil {
		s.threads = map[string]*liveThread{}
	}
	if s.threads[call] == nil {
		s.threads[call] = new(liveThread)
	}
	return s.threads[call]
}
