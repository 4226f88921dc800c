package clew

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// An AgentDefinition is a subagent that the model can start. Description and Prompt are needed; the rest is as in the
// session unless it is set.
type AgentDefinition struct {
	// Description tells the model when to use the agent.
	Description string `json:"description"`
	// Prompt is the agent's system prompt.
	Prompt string `json:"prompt"`

	// Tools are the tools that the agent has. Nil means all of the session, empty none.
	Tools []string `json:"tools,omitzero"`
	// DisallowedTools are tools that it does not have.
	DisallowedTools []string `json:"disallowedTools,omitempty"`
	// Skills are loaded before it starts.
	Skills []string `json:"skills,omitempty"`
	// MCPServers are names of servers of the session that it uses.
	MCPServers []string `json:"-"`
	// OwnMCPServers are servers by name that run for this agent alone. They cannot be in this process.
	OwnMCPServers map[string]MCPServer `json:"-"`

	// Model is an alias, the whole name of a model, or "inherit".
	Model string `json:"model,omitempty"`
	// Effort is a level, or a whole number in digits.
	Effort Effort `json:"effort,omitempty"`
	// PermissionMode is the agent's own mode.
	PermissionMode PermissionMode `json:"permissionMode,omitempty"`
	// MaxTurns ends the agent after so many answers of the model.
	MaxTurns int `json:"maxTurns,omitempty"`
	// AutoCompactWindow is how long its conversation may get before it is compacted, in tokens.
	AutoCompactWindow int `json:"autoCompactWindow,omitempty"`

	// InitialPrompt is its first prompt when it leads the session; see [Options.Agent].
	InitialPrompt string `json:"initialPrompt,omitempty"`
	// Background has it run while the session goes on.
	Background bool `json:"background,omitempty"`
	// OmitClaudeMD keeps CLAUDE.md out of its context.
	OmitClaudeMD bool `json:"omitClaudeMd,omitempty"`
	// Memory is where it keeps notes from one run to the next. Empty means that it keeps none.
	Memory SettingSource `json:"memory,omitempty"`
	// Observers are up to four agents that watch this one, and ObserverMessage is what they are told.
	Observers       []string `json:"-"`
	ObserverMessage string   `json:"observerMessage,omitempty"`
	// CriticalSystemReminder is repeated to the model during the run. It is an experiment of the agent's makers.
	CriticalSystemReminder string `json:"criticalSystemReminder_EXPERIMENTAL,omitempty"`
}

// MarshalJSON writes the definition as the agent reads it.
func (a AgentDefinition) MarshalJSON() ([]byte, error) {
	type plain AgentDefinition
	out := struct {
		plain
		MCPServers []any  `json:"mcpServers,omitempty"`
		Effort     any    `json:"effort,omitempty"`
		Observer   string `json:"observer,omitempty"`
	}{plain: plain(a), Observer: strings.Join(a.Observers, ",")}
	for _, name := range a.MCPServers {
		out.MCPServers = append(out.MCPServers, name)
	}
	for _, name := range slices.Sorted(maps.Keys(a.OwnMCPServers)) {
		out.MCPServers = append(out.MCPServers, map[string]MCPServer{name: a.OwnMCPServers[name]})
	}
	if n, err := strconv.Atoi(string(a.Effort)); err == nil {
		out.Effort = n
	} else if a.Effort != "" {
		out.Effort = a.Effort
	}
	return json.Marshal(out)
}

// check returns what is wrong with the definition, or "".
func (a *AgentDefinition) check() string {
	switch {
	case a.Description == "":
		return "has no Description"
	case a.Prompt == "":
		return "has no Prompt"
	case a.MaxTurns < 0 || a.AutoCompactWindow < 0:
		return "has a negative number"
	case len(a.Observers) > 4:
		return "has more than four Observers"
	}
	for _, name := range slices.Sorted(maps.Keys(a.OwnMCPServers)) {
		server := a.OwnMCPServers[name]
		if _, ok := server.(*MCPInProcessServer); ok {
			return "has the server " + strconv.Quote(name) + " in this process, which only the session can have"
		}
		if reason := checkMCPServer(server); reason != "" {
			return "has the server " + strconv.Quote(name) + ", which " + reason
		}
	}
	return ""
}
