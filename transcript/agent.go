package transcript

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// An Agent is a subagent: an agent that a tool of another one started, with its own transcript.
//
// The caller that found the agent fills in the first four fields. Only the ID is required. Then
// [Link] finds the call that started it.
type Agent struct {
	// ID is the ID in the file name agent-<ID>.jsonl, or name@team for a teammate that has a
	// separate session.
	ID string
	// Meta is the content of the metadata file, or the zero value if there is none.
	Meta AgentMeta
	// Transcript is nil if the agent has not written one yet.
	Transcript *Transcript
	// Workflow is the ID of the run that the agent belongs to, or "". It is the name of the
	// directory below subagents/workflows.
	Workflow string

	// [Link] fills in the following fields.

	// LinkedBy describes how [Link] found the call that started the agent, or is "" if it has not
	// found one.
	LinkedBy LinkedBy
	// CallID is the ID of that call, as in [DisplayItem.ToolID], or "" if LinkedBy is.
	CallID string
	// ParentID is the ID of the agent that made the call; "" is the session itself.
	ParentID string

	// Cost is the cost of the agent's model calls, including its subagents'. It is only set in a
	// document of package export, whose transcripts have no calls.
	Cost *Spending

	call callFacts
}

// callFacts are the properties of an agent that the call that started it contains.
type callFacts struct {
	kind, description, color, teammate string
}

// An AgentKind is the purpose of an agent.
type AgentKind string

// The kinds of agents. Only the first works on what the user wants: the others are made by the
// agent for itself, repeat the conversation, and are not listed under the items of a transcript.
const (
	// AgentWork is an agent that works on what the user wants.
	AgentWork AgentKind = "work"
	// AgentCompaction summarizes the conversation for a compaction.
	AgentCompaction AgentKind = "compaction"
	// AgentWarmup is an agent whose first prompt is "Warmup".
	AgentWarmup AgentKind = "warmup"
	// AgentAside answers a question that the user asked beside the conversation.
	AgentAside AgentKind = "aside"
	// AgentSuggestion guesses what the user will say next.
	AgentSuggestion AgentKind = "suggestion"
)

// Kind returns what the agent is for. It depends on the ID, the type and the first prompt. A
// transcript that is missing makes no difference except for [AgentWarmup].
func (a *Agent) Kind() AgentKind {
	switch {
	case strings.HasPrefix(a.ID, "acompact"):
		return AgentCompaction
	case strings.HasPrefix(a.ID, "aside_question"), a.Meta.AgentType == "aside_question":
		return AgentAside
	case strings.HasPrefix(a.ID, "aprompt_suggestion"):
		return AgentSuggestion
	case a.prompt() == "Warmup":
		return AgentWarmup
	}
	return AgentWork
}

// Type returns the type of the agent, such as Explore, or "" if it is not known.
func (a *Agent) Type() string { return cmp.Or(a.Meta.AgentType, a.call.kind) }

// Description returns what the agent was started for, in a few words. The metadata comes first,
// then the call that started the agent. It is "" if neither has it.
func (a *Agent) Description() string { return cmp.Or(a.Meta.Description, a.call.description) }

// Color returns the color that a teammate is shown in, or "". It comes from the metadata, the first
// message to the teammate, or the call's result.
func (a *Agent) Color() string {
	greeted := ""
	if g := a.greeting(); g != nil {
		greeted = g.TeammateColor
	}
	return cmp.Or(a.Meta.Color, greeted, a.call.color)
}

// Teammate returns name@team for a member of a team, and "" for any other agent.
func (a *Agent) Teammate() string {
	if id, ok := TeamAgent(a.Transcript); ok {
		return id
	}
	if a.Meta.Name != "" && a.Meta.TeamName != "" {
		return a.Meta.Name + "@" + a.Meta.TeamName
	}
	if strings.Contains(a.ID, "@") {
		return a.ID
	}
	return a.call.teammate
}

// Start returns the time of the agent's first entry, or the zero time.
func (a *Agent) Start() time.Time {
	if a.Transcript == nil {
		return time.Time{}
	}
	if !a.Transcript.Created.IsZero() {
		return a.Transcript.Created
	}
	for i := range a.Transcript.Chunks {
		if at := a.Transcript.Chunks[i].Timestamp; !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// Ongoing reports whether the last turn of the agent has not ended, by its transcript. It also
// returns true for an agent that was killed.
func (a *Agent) Ongoing() bool {
	return a.started() && !a.Meta.Finished && Ongoing(a.Transcript.Chunks)
}

// started reports whether the transcript of the agent started.
func (a *Agent) started() bool { return a.Transcript != nil && len(a.Transcript.Chunks) > 0 }

// prompt returns the first prompt of the agent.
func (a *Agent) prompt() string {
	if !a.started() {
		return ""
	}
	for i := range a.Transcript.Chunks {
		if c := &a.Transcript.Chunks[i]; c.Type == UserChunk {
			return c.Text
		}
	}
	return ""
}

// answer returns the last text that the agent wrote, if its last turn ended with one.
func (a *Agent) answer() string {
	if !a.started() {
		return ""
	}
	chunks := a.Transcript.Chunks
	if out := FindLastOutput(chunks[len(chunks)-1].Items); out != nil && out.Type == LastOutputText {
		return out.Text
	}
	return ""
}

// greeting returns the message of another agent that a teammate starts with, or nil.
func (a *Agent) greeting() *DisplayItem {
	if !a.started() {
		return nil
	}
	items := a.Transcript.Chunks[0].Items
	if len(items) == 0 || items[0].Type != ItemTeammateMessage {
		return nil
	}
	return &items[0]
}

// compareStarts orders agents by their start, those without one last, and then by ID.
func compareStarts(a, b *Agent) int {
	at, bt := a.Start(), b.Start()
	if at.IsZero() != bt.IsZero() {
		if at.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(at.Compare(bt), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Workflow, b.Workflow))
}

// InlineAgents returns the agents whose conversations older versions wrote into the transcript of
// the session. They are new values at each call: link them together with the others.
func InlineAgents(t *Transcript) []*Agent {
	agents := make([]*Agent, len(t.Sidechains))
	for i, chain := range t.Sidechains {
		agents[i] = &Agent{ID: cmp.Or(chain.AgentID, "inline-"+strconv.Itoa(i+1)), Transcript: chain}
		agents[i].Meta.ToolUseID = chain.ToolUseID
	}
	return agents
}

// An AgentMeta is the metadata that the agent wrote beside the transcript of a subagent, in
// agent-<id>.meta.json. Older versions write fewer fields, and the oldest none at all.
type AgentMeta struct {
	// AgentType is the type of the agent, such as "general-purpose" or "Explore".
	AgentType string
	// Description is the work of the agent in a few words, from the call that started it.
	Description string
	// Name is the name by which other agents call it, or "" if it has none.
	Name string

	// ToolUseID is the ID of the call that started the agent. It is "" in older versions: then
	// [Link] looks for the call.
	ToolUseID string
	// ParentAgentID is the ID of the agent that made the call; "" is the session itself.
	ParentAgentID string
	// ParentSessionID is the ID of the session that a fork was made of, or "" if the agent is not a
	// fork.
	ParentSessionID string
	// SpawnDepth is 1 for an agent that the session itself started, and 2 for an agent started by
	// such an agent. It is 0 if it is not known.
	SpawnDepth int

	// Model is the model of the agent, copied from the member model. Many files don't have it: then
	// [Info.Model] of the transcript is the model that answered.
	Model string
	// PickedEffortModel is the model that the effort was picked for.
	PickedEffortModel string
	// RequestShape is "background" or "foreground".
	RequestShape string
	// TaskKind is a word such as "in_process_teammate". It is "" for most agents.
	TaskKind string
	// TeamName is the name of the team of a teammate, or "".
	TeamName string
	// Color is the color in which the agent shows a teammate, such as "blue", or "".
	Color string
	// PermissionMode is the permission mode of the agent, such as "plan", or "" if the file has
	// none.
	PermissionMode string

	// CWD is the working directory of the agent, if it is recorded, as for an agent with its own
	// worktree.
	CWD string
	// WorktreePath is the path of the git worktree that was made for the agent, or "".
	WorktreePath string
	// WorktreeBranch is the branch of that worktree, or "".
	WorktreeBranch string

	// IsFork reports whether the agent is a fork of a session: see ParentSessionID.
	IsFork bool
	// IsBuiltIn reports whether the type of the agent comes with Claude Code. It is copied from the
	// member isBuiltIn.
	IsBuiltIn bool
	// LaunchedWithDefaults is copied from the member launchedWithDefaults.
	LaunchedWithDefaults bool
	// RequestNonInteractive is copied from the member requestNonInteractive.
	RequestNonInteractive bool
	// Finished reports whether the agent ended. It is false in older versions.
	Finished bool

	// Raw is the whole text, with the fields that this package does not know.
	Raw wire.JSON
}

// DecodeAgentMeta decodes the text of an agent-<id>.meta.json. Fields that are not of the type that
// the agent gives them count as absent. It returns an error if data is not a JSON object. The
// caller passes the whole file and sets [Agent.Meta].
//
//	data, err := os.ReadFile("agent-a1.meta.json")
//	if err != nil {
//		return err
//	}
//	agent.Meta, err = transcript.DecodeAgentMeta(data)
func DecodeAgentMeta(data []byte) (AgentMeta, error) {
	m := AgentMeta{Raw: wire.JSON(data)}
	var l jsonlex.Lexer
	l.Reset(data)
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		m.member(string(key), &l)
	}
	l.End()
	if err := l.Err(); err != nil {
		return AgentMeta{}, fmt.Errorf("transcript: agent meta: %w", err)
	}
	return m, nil
}

// member reads the value that comes next, if it is of the type that the field has. Otherwise it
// passes over the value, so that one odd member costs nothing else.
func (m *AgentMeta) member(key string, l *jsonlex.Lexer) {
	first := l.Peek()
	text, flag := m.text(key), m.flag(key)
	switch {
	case text != nil && first == '"':
		*text = l.String()
	case flag != nil && (first == 't' || first == 'f'):
		*flag = l.Bool()
	case key == "spawnDepth":
		m.SpawnDepth = looseInt(l.Skip())
	default:
		l.Skip()
	}
}

// looseInt returns the integer that value is, or 0.
func looseInt(value []byte) int {
	var l jsonlex.Lexer
	l.Reset(value)
	return int(l.Int())
}

// text returns the field for a member that is a string, or nil if there is none.
func (m *AgentMeta) text(key string) *string {
	switch key {
	case "agentType":
		return &m.AgentType
	case "description":
		return &m.Description
	case "name":
		return &m.Name
	case "toolUseId":
		return &m.ToolUseID
	case "parentAgentId":
		return &m.ParentAgentID
	case "parentSessionId":
		return &m.ParentSessionID
	case "model":
		return &m.Model
	case "pickedEffortModel":
		return &m.PickedEffortModel
	case "requestShape":
		return &m.RequestShape
	case "taskKind":
		return &m.TaskKind
	case "teamName":
		return &m.TeamName
	case "color":
		return &m.Color
	case "permissionMode":
		return &m.PermissionMode
	case "cwd":
		return &m.CWD
	case "worktreePath":
		return &m.WorktreePath
	case "worktreeBranch":
		return &m.WorktreeBranch
	}
	return nil
}

// flag returns the field for a member that is a boolean, or nil if there is none.
func (m *AgentMeta) flag(key string) *bool {
	switch key {
	case "isFork":
		return &m.IsFork
	case "isBuiltIn":
		return &m.IsBuiltIn
	case "launchedWithDefaults":
		return &m.LaunchedWithDefaults
	case "requestNonInteractive":
		return &m.RequestNonInteractive
	case "finished":
		return &m.Finished
	}
	return nil
}

// taskCall returns the task and the call that started it, if the entry is about the progress of a
// subagent, or a notice of a task in the background that names both. Such notices come as prompts,
// and are put into the queue of prompts before.
func taskCall(e *Entry) (task, call string, ok bool) {
	switch {
	case e.Type == "progress" && e.DataType == "agent_progress":
		agent := textAt(e.Data, "agentId")
		return agent, e.ParentToolUseID, agent != "" && e.ParentToolUseID != ""
	case e.Type == "queue-operation":
		return readNotice(e.Content)
	case e.Type == "user" && e.Message != nil && bytes.HasPrefix(e.Message.Content, []byte(`"<task-notification`)):
		return readNotice(e.Message.Content)
	}
	return "", "", false
}

// readNotice reads a notice, which is a JSON string that holds tags, or another JSON text.
func readNotice(content []byte) (task, call string, ok bool) {
	if !bytes.Contains(content, []byte("task")) {
		return "", "", false
	}
	text, isText := jsonlex.Unquote(content)
	if !isText {
		text = content
	}
	task = cmp.Or(between(text, "<task-id>", "<"), textMember(text, "task_id"))
	call = cmp.Or(between(text, "<tool-use-id>", "<"), textMember(text, "tool_use_id"))
	return task, call, task != "" && call != ""
}

// between returns the part of text after open and before the next end, or "".
func between(text []byte, open, end string) string {
	_, rest, found := bytes.Cut(text, []byte(open))
	if !found {
		return ""
	}
	inner, _, found := bytes.Cut(rest, []byte(end))
	if !found {
		return ""
	}
	return string(bytes.TrimSpace(inner))
}

// textMember returns the string of that name in the object that text is, if it is one.
func textMember(text []byte, name string) string {
	value, _ := jsonlex.Unquote(jsonlex.Lookup(text, 0, name))
	return string(value)
}
