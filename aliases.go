package clew

import "github.com/clewdev/clew/wire"

// These are the names of package wire that most programs need. Package wire has all messages,
// blocks and events.
type (
	// A Message is one message of the agent, of any kind. Use a type switch to distinguish them.
	Message = wire.Message
	// A Block is one element of a message's content.
	Block = wire.Block
	// Content is the list of blocks of a message.
	Content = wire.Content
	// JSON is a JSON value that is not decoded yet.
	JSON = wire.JSON
	// An AssistantMessage is an answer of the model: text, thinking, tool calls.
	AssistantMessage = wire.AssistantMessage
	// A UserMessage is a prompt, or the tool results.
	UserMessage = wire.UserMessage
	// A ResultMessage ends a turn. It has the final text, the cost and the tokens.
	ResultMessage = wire.ResultMessage
	// A StreamEventMessage is a piece of an answer that is still being written: see
	// [Options.IncludePartialMessages].
	StreamEventMessage = wire.StreamEventMessage
	// An InitMessage starts a turn and describes the agent: its model, tools and servers.
	InitMessage = wire.InitMessage
	// An UnknownMessage is a message of a kind that this version does not know.
	UnknownMessage = wire.UnknownMessage
	// An InvalidFrame is a frame that could not be decoded.
	InvalidFrame = wire.InvalidFrame
	// A TextLine is a line of the agent's output that is not JSON.
	TextLine = wire.TextLine
	// A TextBlock is text.
	TextBlock = wire.TextBlock
	// A ThinkingBlock is the model's reasoning.
	ThinkingBlock = wire.ThinkingBlock
	// A ToolUseBlock is a tool call.
	ToolUseBlock = wire.ToolUseBlock
	// A ToolResultBlock is a tool's result.
	ToolResultBlock = wire.ToolResultBlock
	// An ImageBlock is an image.
	ImageBlock = wire.ImageBlock
	// A DocumentBlock is a document.
	DocumentBlock = wire.DocumentBlock
	// A Collector adds up the text of an answer while it is streamed.
	Collector = wire.Collector
	// Usage counts the tokens of one answer.
	Usage = wire.Usage
	// ModelUsage counts the tokens and the cost of one model.
	ModelUsage = wire.ModelUsage
)
