package transcript

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A ChunkType says what a chunk is.
type ChunkType int

// The types of chunks.
const (
	UserChunk ChunkType = iota
	AIChunk
	SystemChunk
	CompactChunk
)

// A Chunk is one visible unit of a conversation.
type Chunk struct {
	Type      ChunkType
	Timestamp time.Time
	// Text is the prompt, the answer, the output of a command, or the summary of a compaction.
	Text string

	// PermissionMode, Images, Documents and Queued are those of a user chunk's [UserMsg].
	PermissionMode string
	Images         int
	Documents      int
	Queued         bool

	// The following fields are set for AI chunks.

	Model         string
	ThinkingCount int
	ToolCalls     []ToolCall
	Items         []DisplayItem
	// Usage is that of the last answer that has one, and not a sum: it shows how full the context
	// was.
	Usage      usage.Usage
	StopReason string
	// DurationMs is the time from the first to the last message that has a time.
	DurationMs int64

	// Stderr and IsError are those of a system chunk's [SystemMsg].
	Stderr  string
	IsError bool
	// Compaction is set for compaction chunks.
	Compaction *Compaction

	// Interrupted reports whether the user stopped the agent here. The chunk has the answer up to
	// then.
	Interrupted bool
	// Injected are texts that the agent put into the conversation for the model, such as that of a
	// skill which the user called. Those that belong to a call are in its item.
	Injected []string

	// Lines are the numbers of the lines that the chunk is made of, as far as they are known. Each
	// line that means something is in one chunk.
	Lines []int
}

// A Compaction describes how the agent made the context smaller.
type Compaction struct {
	// Trigger is auto or manual.
	Trigger    string
	PreTokens  int
	PostTokens int
	Duration   time.Duration
}

// A DisplayItemType says what an item is.
type DisplayItemType int

// The types of items.
const (
	ItemThinking DisplayItemType = iota
	ItemOutput
	ItemToolCall
	ItemSubagent
	ItemTeammateMessage
)

// A DisplayItem is one element of an AI chunk. A result whose call is not there is an output, with
// the call's ToolID.
type DisplayItem struct {
	Type      DisplayItemType
	Timestamp time.Time
	// Text is that of thinking, output and a teammate's message.
	Text string

	// The following fields are set for calls of tools, including those that start subagents.

	ToolName    string
	ToolID      string
	ToolInput   wire.JSON
	ToolSummary string
	// ToolResult is the text of the result, once HasResult is set.
	ToolResult string
	HasResult  bool
	ToolError  bool
	// ResultImages counts the pictures in the result.
	ResultImages int
	// Structured is the structured result, or "" if it is longer than [ReadOptions.MaxResultBytes]:
	// then read the entry at ResultAt. Patch is the part of it that shows what changed in a file.
	// It is always kept.
	Structured wire.JSON
	Patch      wire.JSON
	// Status is the status in the structured result, such as completed or async_launched.
	Status string
	// SpillPath is the file with the whole output, if the structured result names one: see
	// [SpillPath].
	SpillPath string
	// Injected are texts that the call put into the conversation for the model, such as that of a
	// skill.
	Injected []string
	// CallAt and ResultAt are the positions of the entries with the call and with its result.
	CallAt   wire.Position
	ResultAt wire.Position

	// DurationMs is the time from the call to its result. If a subagent ran in the same turn, it is
	// 0 for other calls of more than a minute: their results are written late.
	DurationMs int64
	// TokenCount is an estimate from the length of the text.
	TokenCount int

	SubagentType string
	SubagentDesc string
	// AgentID is the ID of the subagent that the call started, if the result has it.
	AgentID string
	// Agents are the subagents that the call started, once they were linked: see [Link].
	Agents []*Agent

	TeammateID    string
	TeammateColor string
	// TeammateSummary is what the message is about, in a few words.
	TeammateSummary string
}

var (
	chunkTypes = []string{"user", "ai", "system", "compact"}
	itemTypes  = []string{"thinking", "output", "tool", "subagent", "teammate"}
)

// String returns user, ai, system or compact.
func (t ChunkType) String() string { return wordOf(int(t), chunkTypes, "ChunkType") }

// MarshalText returns the name of the type, see String. It returns an error for an unknown type.
func (t ChunkType) MarshalText() ([]byte, error) { return marshalWord(int(t), chunkTypes, "chunk") }

// UnmarshalText sets the type by its name. It returns an error for an unknown name.
func (t *ChunkType) UnmarshalText(text []byte) error {
	n, err := parseWord(string(text), chunkTypes, "chunk")
	if err == nil {
		*t = ChunkType(n)
	}
	return err
}

// String returns thinking, output, tool, subagent or teammate.
func (t DisplayItemType) String() string { return wordOf(int(t), itemTypes, "DisplayItemType") }

// MarshalText returns the name of the type, see String. It returns an error for an unknown type.
func (t DisplayItemType) MarshalText() ([]byte, error) { return marshalWord(int(t), itemTypes, "item") }

// UnmarshalText sets the type by its name. It returns an error for an unknown name.
func (t *DisplayItemType) UnmarshalText(text []byte) error {
	n, err := parseWord(string(text), itemTypes, "item")
	if err == nil {
		*t = DisplayItemType(n)
	}
	return err
}

func wordOf(n int, words []string, name string) string {
	if n < 0 || n >= len(words) {
		return fmt.Sprintf("%s(%d)", name, n)
	}
	return words[n]
}

func marshalWord(n int, words []string, what string) ([]byte, error) {
	if n < 0 || n >= len(words) {
		return nil, fmt.Errorf("transcript: no type %d of %s", n, what)
	}
	return []byte(words[n]), nil
}

func parseWord(text string, words []string, what string) (int, error) {
	n := slices.Index(words, text)
	if n < 0 {
		return 0, fmt.Errorf("transcript: unknown type of %s %q", what, text)
	}
	return n, nil
}

// ErrNotKept is returned if the structured result of a call is not in memory: it was too long, or
// the agent wrote none.
var ErrNotKept = errors.New("transcript: the structured result was not kept")

// ErrNoResult is returned for a call that has no result yet.
var ErrNoResult = errors.New("transcript: no result")

var errNoCall = errors.New("transcript: item is not a tool call")

// Input returns the input of the tool. It returns an error for an item that is not a call, and for
// an input that is not JSON.
func (i *DisplayItem) Input() (tooluse.Input, error) {
	if !i.isCall() {
		return nil, errNoCall
	}
	return tooluse.DecodeInput(i.ToolName, i.ToolInput)
}

// Result returns the structured result of the call. The error wraps [ErrNoResult] if the call has
// no result yet, and [ErrNotKept] if the result was too long to keep: then decode the entry at
// ResultAt.
func (i *DisplayItem) Result() (tooluse.Result, error) {
	switch {
	case !i.isCall():
		return nil, errNoCall
	case !i.HasResult:
		return nil, fmt.Errorf("%w of %s %s", ErrNoResult, i.ToolName, i.ToolID)
	case i.Structured == "":
		return nil, fmt.Errorf("%w: see line %d, at byte %d", ErrNotKept, i.ResultAt.Line, i.ResultAt.Offset)
	}
	return tooluse.DecodeResult(i.ToolName, i.Structured)
}

func (i *DisplayItem) isCall() bool { return i.Type == ItemToolCall || i.Type == ItemSubagent }

// A LastOutputType says where the last output of a turn comes from.
type LastOutputType int

// The types of last outputs.
const (
	LastOutputText LastOutputType = iota
	LastOutputToolResult
)

// A LastOutput is the outcome of a turn: the answer, or the result of a tool if the turn has no
// answer.
type LastOutput struct {
	Type LastOutputType
	Text string
	// ToolName is the tool that gave the result, and IsError reports whether it failed.
	ToolName string
	IsError  bool
}

// FindLastOutput returns the last output that has text, else the last result of a tool or a
// subagent that has text, else nil.
func FindLastOutput(items []DisplayItem) *LastOutput {
	var result *LastOutput
	for i := len(items) - 1; i >= 0; i-- {
		switch item := &items[i]; item.Type {
		case ItemOutput:
			if !blank(item.Text) {
				return &LastOutput{Type: LastOutputText, Text: item.Text, IsError: item.ToolError}
			}
		case ItemToolCall, ItemSubagent:
			if result == nil && !blank(item.ToolResult) {
				result = &LastOutput{LastOutputToolResult, item.ToolResult, item.ToolName, item.ToolError}
			}
		}
	}
	return result
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// Ongoing reports whether the last turn has not ended: the agent has to answer a prompt, waits for
// a tool or a subagent, or was last seen thinking or using tools. A text answer, structured output,
// a plan that waits for approval, a rejected call and an interruption end a turn. Ongoing does not
// know whether the agent is still running.
func Ongoing(chunks []Chunk) bool {
	if len(chunks) == 0 {
		return false
	}
	last := &chunks[len(chunks)-1]
	if last.Interrupted || last.Type == UserChunk {
		return !last.Interrupted
	}
	return ongoingTurn(currentTurn(chunks))
}

// currentTurn returns the chunks after the last prompt or interruption. A prompt that was queued
// belongs to the turn in which it was typed.
func currentTurn(chunks []Chunk) []Chunk {
	for i := len(chunks) - 1; i >= 0; i-- {
		ch := &chunks[i]
		if ch.Interrupted || ch.Type == UserChunk && !ch.Queued {
			return chunks[i+1:]
		}
	}
	return chunks
}

func ongoingTurn(turn []Chunk) bool {
	var active, anyItem, unfinished bool
	for i := range turn {
		for j := range turn[i].Items {
			item := &turn[i].Items[j]
			anyItem = true
			switch item.Type {
			case ItemThinking:
				active = true
			case ItemOutput:
				isResult := item.ToolID != ""
				active = isResult || active && blank(item.Text)
			case ItemToolCall, ItemSubagent:
				active = !endsTurn(item)
				unfinished = unfinished || active && !item.HasResult
			}
		}
		if ch := &turn[i]; ch.Type == AIChunk && !anyItem && !onlyInjected(ch) {
			active = ch.StopReason != "end_turn"
		}
	}
	return active || unfinished
}

// onlyInjected reports whether a chunk holds nothing that the model said.
func onlyInjected(ch *Chunk) bool { return len(ch.Injected) > 0 && ch.Model == "" && ch.Text == "" }

// endsTurn reports whether the agent waits for the user after a call, or is done.
func endsTurn(item *DisplayItem) bool {
	r := entryfacts.Result{
		Tool: item.ToolName, Succeeded: item.HasResult && !item.ToolError, Structured: item.Structured, Text: item.ToolResult,
	}
	return entryfacts.CallEndsTurn(item.ToolName, func() wire.JSON { return item.ToolInput }) || r.EndsTurn()
}

// SpillPath returns the path of the file with the whole output of a call, if the result was too
// long for the conversation. It returns false if there is none. The path comes from the transcript
// and is not checked: before reading the file, check that it is in the directory of the session.
func SpillPath(item *DisplayItem) (string, bool) {
	if item.SpillPath != "" {
		return item.SpillPath, true
	}
	value := jsonlex.Lookup([]byte(item.Structured), 0, "persistedOutputPath")
	if path, ok := jsonlex.Unquote(value); ok && len(path) > 0 {
		return string(path), true
	}
	return spilledText(item.ToolResult)
}

// spilledText returns the path in a text that stands for an output.
func spilledText(text string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "<persisted-output>")
	if !ok {
		return "", false
	}
	_, rest, ok = strings.Cut(rest, "saved to: ")
	if !ok {
		return "", false
	}
	line, _, _ := strings.Cut(rest, "\n")
	line, _, _ = strings.Cut(line, "</persisted-output>")
	path := strings.TrimSpace(line)
	return path, path != ""
}
