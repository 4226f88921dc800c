package transcript

import (
	"fmt"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// An AgentMeta is what the agent wrote down beside the transcript of a subagent, in agent-<id>.meta.json. Older
// versions write fewer fields, and the oldest none at all.
type AgentMeta struct {
	AgentType   string
	Description string
	// Name is what other agents call it, if it has a name.
	Name string

	// ToolUseID is the call that started the agent, and ParentAgentID the agent that made the call; "" is the session
	// itself.
	ToolUseID     string
	ParentAgentID string
	// ParentSessionID is the session that a fork was made of.
	ParentSessionID string
	// SpawnDepth is 1 for an agent that the session itself has started.
	SpawnDepth int

	Model string
	// PickedEffortModel is the model that the effort was picked for.
	PickedEffortModel string
	// RequestShape is background or foreground.
	RequestShape string
	// TaskKind is a word such as in_process_teammate.
	TaskKind       string
	TeamName       string
	Color          string
	PermissionMode string

	CWD            string
	WorktreePath   string
	WorktreeBranch string

	IsFork                bool
	IsBuiltIn             bool
	LaunchedWithDefaults  bool
	RequestNonInteractive bool
	// Finished says that the agent has come to its end.
	Finished bool

	// Raw is the whole text, with the fields that this package does not know.
	Raw wire.JSON
}

// DecodeAgentMeta decodes the text of an agent-<id>.meta.json. Fields that are not of the type that the agent gives
// them count as absent. The error says why data is no JSON object.
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
