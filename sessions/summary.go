package sessions

import (
	"cmp"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// A Summary is what a list shows of a session. The zero value is that of no entries. It has a JSON form, for stores
// that keep it; so that this stays short, texts are cut after 4,096 bytes.
type Summary struct {
	// Created is the time of the first entry that has one.
	Created time.Time `json:"created,omitzero"`
	// LastTime is the time of the last entry that has one.
	LastTime time.Time `json:"last_time,omitzero"`
	// CWD is the first working folder, GitBranch the last branch.
	CWD       string `json:"cwd,omitempty"`
	GitBranch string `json:"git_branch,omitempty"`
	// Model, PermissionMode and Version are the last ones: of the model that answered, and of the agent.
	Model          string `json:"model,omitempty"`
	PermissionMode string `json:"permission_mode,omitempty"`
	Version        string `json:"version,omitempty"`
	// FirstPrompt is the first text that the user wrote, on one line and not longer than 200 characters.
	FirstPrompt string `json:"first_prompt,omitempty"`
	// FirstCommand is the first slash command, which stands in for a prompt.
	FirstCommand string `json:"first_command,omitempty"`
	LastPrompt   string `json:"last_prompt,omitempty"`
	// CustomTitle is the last one that the user gave, AITitle the last one that the agent gave.
	CustomTitle string `json:"custom_title,omitempty"`
	AITitle     string `json:"ai_title,omitempty"`
	// Recap is the title that older agents gave.
	Recap string `json:"recap,omitempty"`
	Tag   string `json:"tag,omitempty"`
	// TeamName and AgentName are those of a member of a team, which has a session of its own. AgentName may also be that
	// of a session without a team.
	TeamName  string `json:"team_name,omitempty"`
	AgentName string `json:"agent_name,omitempty"`
	// Sidechain says that the transcript is that of a subagent, kept as a session of its own by an older agent.
	Sidechain bool `json:"sidechain,omitempty"`
	// Unfinished is what the last entries leave open, in words: turn if something should follow them, the ID of each call
	// that has no result, and, with a ~ in front, of each that has ended the turn. See [Summary.Working].
	Unfinished string `json:"unfinished,omitempty"`
}

// Title returns the best name there is for the session: its title, else a prompt, or "".
func (s Summary) Title() string {
	return cmp.Or(s.CustomTitle, s.AITitle, s.LastPrompt, s.Recap, s.FirstPrompt, s.FirstCommand)
}

// Add takes note of the next entry of the session's own transcript. What is not an entry changes nothing.
func (s *Summary) Add(entry wire.JSON) { s.add([]byte(entry)) }

func (s *Summary) add(entry []byte) {
	h, ok := readHead(entry)
	if !ok {
		return
	}
	s.addTime(&h)
	s.CWD = cmp.Or(s.CWD, short(h.cwd))
	s.GitBranch = cmp.Or(short(h.gitBranch), s.GitBranch)
	s.PermissionMode = cmp.Or(short(h.permissionMode), s.PermissionMode)
	s.Version = cmp.Or(short(h.version), s.Version)
	s.TeamName = cmp.Or(s.TeamName, short(h.team))
	s.AgentName = cmp.Or(short(h.agent), s.AgentName)
	s.follow(&h)
	switch h.kind {
	case "user":
		s.addPrompt(&h)
	case "assistant":
		s.addModel(&h)
	case "custom-title":
		s.CustomTitle = short(h.customTitle)
	case "ai-title":
		s.AITitle = short(h.aiTitle)
	case "last-prompt":
		s.LastPrompt = cmp.Or(oneLine(h.lastPrompt), s.LastPrompt)
	case "summary":
		s.Recap = cmp.Or(short(h.summary), s.Recap)
	case "tag":
		s.Tag = short(h.tag)
	}
}

func (s *Summary) addTime(h *head) {
	at := h.created()
	if s.Created.IsZero() {
		s.Created = at
		s.Sidechain = s.Sidechain || h.sidechain
	}
	if !at.IsZero() {
		s.LastTime = at
	}
}

// syntheticModel is what the agent names for an answer that it made up itself.
const syntheticModel = "<synthetic>"

func (s *Summary) addModel(h *head) {
	model := unquoted(jsonlex.Lookup(h.message, 0, "model"))
	if model != syntheticModel && (!h.sidechain || s.Sidechain) {
		s.Model = cmp.Or(short(model), s.Model)
	}
}

func (s *Summary) addPrompt(h *head) {
	if s.FirstPrompt != "" || h.meta || h.compactSummary || h.sidechain && !s.Sidechain {
		return
	}
	prompt, command := readPrompt(h.message)
	s.FirstPrompt = prompt
	s.FirstCommand = cmp.Or(s.FirstCommand, command)
}

// short cuts a text that nobody would show.
func short(text string) string {
	const most = 4096
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
