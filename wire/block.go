package wire

import (
	"encoding/json"
	"strings"
)

// A Block is one element of a message's content. Its variants are
//
//   - [*TextBlock], [*ThinkingBlock], [*RedactedThinkingBlock]
//   - [*ToolUseBlock], [*ToolResultBlock]
//   - [*ServerToolUseBlock], and the results of such tools:
//     [*WebSearchToolResultBlock], [*WebFetchToolResultBlock],
//     [*CodeExecutionToolResultBlock], [*BashCodeExecutionToolResultBlock],
//     [*TextEditorCodeExecutionToolResultBlock], [*ToolSearchToolResultBlock],
//     [*AdvisorToolResultBlock]
//   - [*MCPToolUseBlock], [*MCPToolResultBlock]
//   - [*ImageBlock], [*DocumentBlock], [*SearchResultBlock],
//     [*ContainerUploadBlock], [*ToolReferenceBlock]
//   - [*CompactionBlock], [*FallbackBlock]
//   - [*UnknownBlock], for a type that this package does not know
//   - [*InvalidBlock], for a block that does not fit its type
type Block interface {
	// BlockType returns the block's type on the wire, such as "tool_use".
	BlockType() string
	// Raw returns the text that the block was read from, or "".
	Raw() string
	json.Marshaler

	encode(*encoder)
}

// Content is the list of blocks of a message. Where the wire has a plain string
// instead of a list, it is one [*TextBlock], and is written as a string again.
type Content []Block

// Text returns the text of all text blocks, in order.
func (c Content) Text() string {
	if len(c) == 1 {
		if b, ok := c[0].(*TextBlock); ok {
			return b.Text
		}
	}
	var text strings.Builder
	for _, b := range c {
		if b, ok := b.(*TextBlock); ok {
			text.WriteString(b.Text)
		}
	}
	return text.String()
}

// ToolUses returns the calls of tools, in order.
func (c Content) ToolUses() []*ToolUseBlock { return blocksOf[*ToolUseBlock](c) }

// ToolResults returns the results of tools, in order.
func (c Content) ToolResults() []*ToolResultBlock { return blocksOf[*ToolResultBlock](c) }

func blocksOf[T Block](c Content) []T {
	var list []T
	for _, b := range c {
		if b, ok := b.(T); ok {
			list = append(list, b)
		}
	}
	return list
}

// An UnknownBlock is a block of a type that this package does not know.
type UnknownBlock struct {
	raw  string
	kind string
}

// BlockType returns the unknown type.
func (b *UnknownBlock) BlockType() string { return b.kind }

// Raw returns the whole block.
func (b *UnknownBlock) Raw() string { return b.raw }

// MarshalJSON returns the block as it was read.
func (b *UnknownBlock) MarshalJSON() ([]byte, error) { return []byte(b.raw), nil }

func (b *UnknownBlock) encode(e *encoder) { e.verbatim(b.raw) }

// An InvalidBlock is a block that is not an object, has no type, or does not fit
// its type. It costs the message nothing but itself.
type InvalidBlock struct {
	raw    string
	kind   string
	faults *faults // of all invalid blocks of the frame
	fault  int     // the one of this block
}

// BlockType returns the type that the block claims, or "".
func (b *InvalidBlock) BlockType() string { return b.kind }

// Raw returns the whole block.
func (b *InvalidBlock) Raw() string { return b.raw }

// Err returns what is wrong with the block: a [*FieldError] with a JSON pointer
// into the frame, or, with [ReaderOptions.DiscardRaw], into the block.
func (b *InvalidBlock) Err() error { return b.faults.err(b.fault) }

// MarshalJSON returns the block as it was read.
func (b *InvalidBlock) MarshalJSON() ([]byte, error) { return []byte(b.raw), nil }

func (b *InvalidBlock) encode(e *encoder) { e.verbatim(b.raw) }
