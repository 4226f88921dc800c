package record

import (
	"slices"

	"github.com/clewdev/clew/wire"
)

// A Scenario is one dialogue: what the model answers, what the host says, and how the agent is started.
type Scenario struct {
	// Name is the name of the dialogue file, without its ending.
	Name string
	// About says in one line what the dialogue shows, for those who read the list.
	About string

	// Args are the arguments of the agent behind those that every scenario has, see baseArgs.
	Args []string
	// Env is added to the environment of the agent.
	Env []string
	// Files are put into the work folder before the agent starts, by name.
	Files map[string]string

	// Model makes the rules of the model.
	Model func(*Stage)
	// Initialize holds the members of the initialize request behind its subtype. Empty means that there are no hooks.
	Initialize string
	// Prompts are what the host says, each after the result of the one before.
	Prompts []string
	// Play is the host, for scenarios of which Prompts cannot tell. It starts after the initialize request was
	// answered; when it returns, the host closes its end.
	Play func(*Host)

	// Tool, Hook and MCP answer the agent's requests can_use_tool, hook_callback and mcp_message: with the JSON of the
	// response. Without Tool the host allows everything, and without Hook it answers {}.
	Tool func(*Question) string
	Hook func(*Question) string
	MCP  func(*Question) string

	// Own holds texts of the scenario that appear in what the agent says, and that no host frame has. They are no
	// secret of the agent: see Redactor.Own.
	Own []string
}

// A Question is a request of the agent to its host.
type Question struct {
	// ID is the request's own, and Request the body.
	ID      string
	Request wire.JSON

	ToolName   string    `json:"tool_name"`
	ToolUseID  string    `json:"tool_use_id"`
	Input      wire.JSON `json:"input"`
	CallbackID string    `json:"callback_id"`
	ServerName string    `json:"server_name"`
	Message    *struct {
		ID     wire.JSON `json:"id"`
		Method string    `json:"method"`
	} `json:"message"`
}

// baseArgs start the agent with frames on both of its ends.
var baseArgs = []string{
	"--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--permission-prompt-tool", "stdio",
}

// Arguments that several scenarios have.
var (
	allowAll = []string{"--permission-mode", "bypassPermissions"}
	partial  = []string{"--include-partial-messages"}
)

// Scenarios returns all scenarios, in the order of their names.
func Scenarios() []*Scenario {
	all := slices.Concat(textScenarios, turnScenarios, toolScenarios, outputScenarios, hostScenarios, hookScenarios,
		mcpScenarios, agentScenarios, errorScenarios)
	slices.SortFunc(all, func(a, b *Scenario) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// arguments returns all arguments of the agent.
func (s *Scenario) arguments() []string { return slices.Concat(baseArgs, s.Args) }
