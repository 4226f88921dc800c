package screens

import (
	"context"

	"github.com/clewdev/clew/wire"
)

// Context returns the use of the context window, as /context shows it. Nil options have the API
// count the tokens of each category, which takes a moment.
func Context(ctx context.Context, c Controller, opts *ContextOptions) (*ContextFill, error) {
	request := contextRequest{"full"}
	if opts != nil && opts.Estimate {
		request.Detail = "summary"
	}
	return ask[ContextFill](ctx, c, "get_context_usage", request)
}

// ContextOptions configure [Context].
type ContextOptions struct {
	// Estimate uses estimates and the usage that the API reported last, and is quick. The default
	// counts the tokens.
	Estimate bool
}

type contextRequest struct {
	Detail string `json:"detail"`
}

// A ContextFill describes the use of the context window.
type ContextFill struct {
	// Model is the model whose window it is.
	Model string `json:"model"`
	// TotalTokens is the number of tokens that are used.
	TotalTokens int `json:"totalTokens"`
	// MaxTokens is the number of tokens the session may use.
	MaxTokens int `json:"maxTokens"`
	// RawMaxTokens is the number of tokens the model has.
	RawMaxTokens int `json:"rawMaxTokens"`
	// Percentage is the used part of MaxTokens, from 0 to 100.
	Percentage float64 `json:"percentage"`

	// AutoCompactEnabled reports whether the agent compacts the conversation by itself.
	AutoCompactEnabled bool `json:"isAutoCompactEnabled"`
	// AutoCompactThreshold is the number of tokens that starts a compaction, or 0 if it is unknown.
	AutoCompactThreshold int `json:"autoCompactThreshold"`
	// AutoCompactSource is the source of the threshold, such as "model-default".
	AutoCompactSource string `json:"autocompactSource"`

	// Categories divide the window. The lists below break some of them down.
	Categories []ContextCategory `json:"categories"`
	// SystemPromptSections are the parts of the system prompt.
	SystemPromptSections []ContextItem `json:"systemPromptSections"`
	// SystemTools are the built-in tools.
	SystemTools []ContextItem `json:"systemTools"`
	// DeferredBuiltinTools are built-in tools that the model has to look up first.
	DeferredBuiltinTools []ContextTool `json:"deferredBuiltinTools"`
	// MCPTools are the tools of MCP servers.
	MCPTools []ContextTool `json:"mcpTools"`
	// MCPInstructions are the instructions of MCP servers.
	MCPInstructions []ContextServer `json:"mcpInstructions"`
	// MemoryFiles are files with instructions, such as CLAUDE.md.
	MemoryFiles []wire.ContextUsageMemoryFile `json:"memoryFiles"`
	// Agents are the descriptions of subagents.
	Agents []ContextAgent `json:"agents"`
	// SlashCommands are the slash commands, or nil if the agent does not report them.
	SlashCommands *ContextCommands `json:"slashCommands"`
	// Skills are the descriptions of skills, or nil if the agent does not report them.
	Skills *ContextSkills `json:"skills"`
	// Messages is the conversation, or nil if the agent does not report it.
	Messages *ContextMessages `json:"messageBreakdown"`

	// APIUsage is the usage of the last API call, or nil before the first one.
	APIUsage *wire.Usage `json:"apiUsage"`
	// Grid is the window as rows of squares, as the agent's screen draws it.
	Grid [][]ContextSquare `json:"gridRows"`
}

// A ContextCategory is one part of the context window.
type ContextCategory struct {
	// ID names the category, such as system_prompt or free_space.
	ID string `json:"id"`
	// Name is the name for people, such as "System prompt".
	Name string `json:"name"`
	// Tokens is the number of tokens in the category.
	Tokens int `json:"tokens"`
	// Kind is used, free, buffer for space reserved for a compaction, or deferred for content
	// outside the window.
	Kind string `json:"kind"`
	// Color is a color of the agent's theme, such as "promptBorder".
	Color string `json:"color"`
}

// A ContextItem is the context used by one thing.
type ContextItem struct {
	// Name is the name of the section, the tool or the kind of attachment.
	Name string `json:"name"`
	// Tokens is its size.
	Tokens int `json:"tokens"`
}

// A ContextTool is the context used by one tool.
type ContextTool struct {
	// Name is the full name of the tool.
	Name string `json:"name"`
	// ServerName is the MCP server, or empty for a built-in tool. It may differ from the configured
	// name in its punctuation.
	ServerName string `json:"serverName"`
	// Tokens is the size of the tool.
	Tokens int `json:"tokens"`
	// Loaded is false for a tool that the model has to look up first. Nil means that it need not.
	Loaded *bool `json:"isLoaded"`
}

// A ContextServer is the context used by the instructions of one MCP server.
type ContextServer struct {
	// ServerName is the MCP server.
	ServerName string `json:"serverName"`
	// Tokens is the size of its instructions.
	Tokens int `json:"tokens"`
}

// A ContextAgent is the context used by the description of one subagent.
type ContextAgent struct {
	// AgentType is the name of the subagent.
	AgentType string `json:"agentType"`
	// Source is the origin of the subagent's definition, such as projectSettings.
	Source string `json:"source"`
	// PluginID is the plugin that defines it, or empty.
	PluginID string `json:"pluginId"`
	// Path is the file that defines it, or empty.
	Path string `json:"path"`
	// Tokens is the size of the description.
	Tokens int `json:"tokens"`
}

// ContextCommands is the context used by slash commands.
type ContextCommands struct {
	// Total is the number of commands.
	Total int `json:"totalCommands"`
	// Included is the number of them that are in the context.
	Included int `json:"includedCommands"`
	// Tokens is their size.
	Tokens int `json:"tokens"`
}

// ContextSkills is the context used by the descriptions of the skills.
type ContextSkills struct {
	// Total is the number of skills.
	Total int `json:"totalSkills"`
	// Included is the number of them that are in the context.
	Included int `json:"includedSkills"`
	// Tokens is their size.
	Tokens int `json:"tokens"`
	// Skills are the skills one by one.
	Skills []ContextSkill `json:"skillFrontmatter"`
}

// A ContextSkill is the context used by the description of one skill.
type ContextSkill struct {
	// Name is the name of the skill.
	Name string `json:"name"`
	// Source is the source of the skill, such as projectSettings or built-in.
	Source string `json:"source"`
	// PluginName is the plugin that brings the skill, or empty.
	PluginName string `json:"pluginName"`
	// PluginID is the ID of that plugin, or empty.
	PluginID string `json:"pluginId"`
	// Path is the file of the skill, or empty.
	Path string `json:"path"`
	// Tokens is the size of the description.
	Tokens int `json:"tokens"`
}

// ContextMessages is the context used by the conversation, in tokens.
type ContextMessages struct {
	// UserTokens are prompts.
	UserTokens int `json:"userMessageTokens"`
	// AssistantTokens are answers of the model.
	AssistantTokens int `json:"assistantMessageTokens"`
	// ToolCallTokens are tool calls.
	ToolCallTokens int `json:"toolCallTokens"`
	// ToolResultTokens are tool results.
	ToolResultTokens int `json:"toolResultTokens"`
	// AttachmentTokens are the agent's additions to prompts, such as the date.
	AttachmentTokens int `json:"attachmentTokens"`
	// RedirectedContextTokens are context that comes from elsewhere, as the agent counts it.
	RedirectedContextTokens int `json:"redirectedContextTokens"`
	// UnattributedTokens are tokens that the agent can't assign to any of these.
	UnattributedTokens int `json:"unattributedTokens"`

	// Tools divide calls and results by tool.
	Tools []ContextToolCalls `json:"toolCallsByType"`
	// Attachments divide the attachments by kind.
	Attachments []ContextItem `json:"attachmentsByType"`
}

// ContextToolCalls is the context used by the calls of one tool and their results.
type ContextToolCalls struct {
	// Name is the name of the tool.
	Name string `json:"name"`
	// CallTokens is the size of the calls.
	CallTokens int `json:"callTokens"`
	// ResultTokens is the size of the results.
	ResultTokens int `json:"resultTokens"`
}

// A ContextSquare is one square of [ContextFill.Grid], a share of the window.
type ContextSquare struct {
	// Category is the name of the category for people.
	Category string `json:"categoryName"`
	// Color is a color of the agent's theme.
	Color string `json:"color"`
	// Filled is true if the square is in use.
	Filled bool `json:"isFilled"`
	// Fullness is the used part of the square, from 0 to 1.
	Fullness float64 `json:"squareFullness"`
	// Tokens is the size of the whole category.
	Tokens int `json:"tokens"`
	// Percentage is the share of the whole category, from 0 to 100.
	Percentage float64 `json:"percentage"`
}
