package clewtest

import (
	"encoding/json"
	"fmt"

	"github.com/clewdev/clew/wire"
)

// Text returns a block of text, for [Rule.Reply].
func Text(text string) *wire.TextBlock { return &wire.TextBlock{Text: text} }

// Thinking returns a block of reasoning with its signature, for [Rule.Reply]. The agent sends both back unchanged; the
// signature may be any text.
func Thinking(text, signature string) *wire.ThinkingBlock {
	return &wire.ThinkingBlock{Thinking: text, Signature: signature}
}

// ToolUse returns a call of a tool, for [Rule.Reply]. The input is anything that marshals to a JSON object, such as a
// map or a struct; nil, also a nil map, is an empty one. ToolUse panics when it does not marshal, and a rule fails its
// test when the input is not an object. Each reply gives the call an ID of its own.
func ToolUse(name string, input any) *wire.ToolUseBlock {
	data, err := json.Marshal(input)
	if err != nil {
		panic(fmt.Sprintf("clewtest: the input of %s: %v", name, err))
	}
	if string(data) == "null" {
		data = []byte("{}")
	}
	return &wire.ToolUseBlock{Name: name, Input: wire.JSON(data)}
}

// isObject reports whether input can be that of a tool. Blocks that others made may have none.
func isObject(input wire.JSON) bool {
	var members map[string]json.RawMessage
	return input == "" || json.Unmarshal([]byte(input), &members) == nil && members != nil
}

// withID returns block, or a copy with a new ID if it is a tool use without one. A rule's blocks are not changed: it
// may answer again, and two calls of one conversation must not share an ID.
func (m *Model) withID(block wire.Block) wire.Block {
	use, ok := block.(*wire.ToolUseBlock)
	if !ok || use.ID != "" {
		return block
	}
	named := *use
	named.ID = m.nextID("toolu")
	return &named
}
