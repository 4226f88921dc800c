package clew

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// ContextUsage returns how full the context window is, and with what. The agent has the API count the tokens of each
// category, which takes a moment: see [Session.ContextSummary].
func (s *Session) ContextUsage(ctx context.Context) (*ContextReport, error) {
	return call[ContextReport](ctx, s, "get_context_usage", contextRequest{"full"})
}

// ContextSummary returns what [Session.ContextUsage] does, from estimates and the usage that the API has reported last.
func (s *Session) ContextSummary(ctx context.Context) (*ContextReport, error) {
	return call[ContextReport](ctx, s, "get_context_usage", contextRequest{"summary"})
}

type contextRequest struct {
	Detail string `json:"detail"`
}

// A ContextReport tells how full the context window is, and with what.
type ContextReport struct {
	Model       string `json:"model"`
	TotalTokens int    `json:"totalTokens"`
	// MaxTokens is how many tokens the session may use, RawMaxTokens how many the model has.
	MaxTokens    int     `json:"maxTokens"`
	RawMaxTokens int     `json:"rawMaxTokens"`
	Percentage   float64 `json:"percentage"`

	AutoCompactEnabled bool `json:"isAutoCompactEnabled"`
	// AutoCompactThreshold is how many tokens start a compaction, or 0 if it is not known.
	AutoCompactThreshold int    `json:"autoCompactThreshold"`
	AutoCompactSource    string `json:"autocompactSource"`

	// Categories divide the window. The lists below say what some of them consist of.
	Categories           []ContextCategory        `json:"categories"`
	SystemPromptSections []ContextItem            `json:"systemPromptSections"`
	SystemTools          []ContextItem            `json:"systemTools"`
	DeferredBuiltinTools []ContextTool            `json:"deferredBuiltinTools"`
	MCPTools             []ContextTool            `json:"mcpTools"`
	MCPInstructions      []ContextMCPServer       `json:"mcpInstructions"`
	MemoryFiles          []wire.ContextMemoryFile `json:"memoryFiles"`
	Agents               []ContextAgent           `json:"agents"`
	SlashCommands        *ContextCommands         `json:"slashCommands"`
	Skills               *ContextSkills           `json:"skills"`
	Messages             *ContextMessages         `json:"messageBreakdown"`

	// APIUsage is the usage of the last call of the API, or nil before it.
	APIUsage *wire.Usage `json:"apiUsage"`
	// Grid is the window as rows of squares, as the agent's own screen draws it.
	Grid [][]ContextSquare `json:"gridRows"`
}

// A ContextCategory is one part of the context window.
type ContextCategory struct {
	// ID names the category, such as system_prompt or free_space, and Name does so for people.
	ID     string `json:"id"`
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	// Kind is used, free, buffer for what is kept for a compaction, or deferred for what is outside of the window.
	Kind string `json:"kind"`
	// Color is a colour of the agent's own theme.
	Color string `json:"color"`
}

// A ContextItem is what one thing takes of the context.
type ContextItem struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
}

// A ContextTool is what a tool takes of the context.
type ContextTool struct {
	Name string `json:"name"`
	// ServerName is empty for a tool of the agent itself. It may differ from the configured name in its punctuation.
	ServerName string `json:"serverName"`
	Tokens     int    `json:"tokens"`
	// Loaded is false for a tool that the model has to look up first. Nil means that it need not.
	Loaded *bool `json:"isLoaded"`
}

// A ContextMCPServer is what the instructions of an MCP server take of the context.
type ContextMCPServer struct {
	ServerName string `json:"serverName"`
	Tokens     int    `json:"tokens"`
}

// A ContextAgent is what the description of a subagent takes of the context.
type ContextAgent struct {
	AgentType string `json:"agentType"`
	Source    string `json:"source"`
	PluginID  string `json:"pluginId"`
	// Path is the file of the subagent, if it has one.
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
}

// ContextCommands is what the slash commands take of the context.
type ContextCommands struct {
	Total    int `json:"totalCommands"`
	Included int `json:"includedCommands"`
	Tokens   int `json:"tokens"`
}

// ContextSkills is what the descriptions of the skills take of the context.
type ContextSkills struct {
	Total    int            `json:"totalSkills"`
	Included int            `json:"includedSkills"`
	Tokens   int            `json:"tokens"`
	Skills   []ContextSkill `json:"skillFrontmatter"`
}

// A ContextSkill is what the description of one skill takes of the context.
type ContextSkill struct {
	Name       string `json:"name"`
	Source     string `json:"source"`
	PluginName string `json:"pluginName"`
	PluginID   string `json:"pluginId"`
	// Path is the file of the skill, if it has one.
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
}

// ContextMessages is what the conversation takes of the context.
type ContextMessages struct {
	UserTokens              int `json:"userMessageTokens"`
	AssistantTokens         int `json:"assistantMessageTokens"`
	ToolCallTokens          int `json:"toolCallTokens"`
	ToolResultTokens        int `json:"toolResultTokens"`
	AttachmentTokens        int `json:"attachmentTokens"`
	RedirectedContextTokens int `json:"redirectedContextTokens"`
	UnattributedTokens      int `json:"unattributedTokens"`

	Tools       []ContextToolCalls `json:"toolCallsByType"`
	Attachments []ContextItem      `json:"attachmentsByType"`
}

// ContextToolCalls is what the calls of one tool take of the context, and their results.
type ContextToolCalls struct {
	Name         string `json:"name"`
	CallTokens   int    `json:"callTokens"`
	ResultTokens int    `json:"resultTokens"`
}

// A ContextSquare is one square of a [ContextReport.Grid]: a share of the window.
type ContextSquare struct {
	Category string `json:"categoryName"`
	Color    string `json:"color"`
	Filled   bool   `json:"isFilled"`
	// Fullness is how much of the square is used, from 0 to 1.
	Fullness float64 `json:"squareFullness"`
	// Tokens and Percentage are those of the whole category.
	Tokens     int     `json:"tokens"`
	Percentage float64 `json:"percentage"`
}
