package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A ChunkType is the kind of a chunk. Its zero value is [UserChunk]. As text and JSON it is a word,
// such as "ai".
type ChunkType int

// The types of chunks.
const (
	// UserChunk is a prompt of the user, or a slash command that the user typed.
	UserChunk ChunkType = iota
	// AIChunk is one or more answers of the model, with their calls, the results of these and the
	// messages of teammates that came meanwhile.
	AIChunk
	// SystemChunk is the output of a command, or a notice of the agent such as an API error.
	SystemChunk
	// CompactChunk is a compaction: its boundary, its summary, or both.
	CompactChunk
)

// A Chunk is one visible unit of a conversation. Type determines which of the fields are set: the
// comment of each field names the types of chunks that have it, and in other chunks it is the zero
// value. In JSON, a chunk has the members of the fields with a name, its usage, and the first and
// the last of its lines.
type Chunk struct {
	// Turn is the number of the prompt that the chunk belongs to, from 1, or 0 before the first one.
	// Each conversation counts separately: a session, a branch, a subagent.
	Turn int `json:"turn"`
	// Type is the kind of the chunk. It determines which of the following fields can be set.
	Type ChunkType `json:"type"`
	// Timestamp is the time of the first message of the chunk that has a time, or the zero time if
	// none has one.
	Timestamp time.Time `json:"time,omitzero"`
	// Text is the prompt, the answer, the output of a command, or the summary of a compaction. The
	// texts of several answers are joined by line feeds. The text of an AI chunk is "" if the model
	// only called tools.
	Text string `json:"text"`

	// The following fields are set for AI chunks, as are Items.

	// Model is the model of the first answer in the chunk, such as "claude-opus-5-5". It is "" if
	// the chunk has no answer, for example only results whose calls are missing.
	Model string `json:"model,omitempty"`
	// StopReason is the reason the last answer ended, such as "end_turn", "tool_use" or
	// "max_tokens". It is "" if no entry has it: the answer was interrupted, or the messages come
	// from a running session.
	StopReason string `json:"stop_reason,omitempty"`
	// DurationMs is the time from the first to the last message that has a time, in milliseconds.
	DurationMs int64 `json:"duration_ms,omitempty"`
	// Usage is the usage of the last answer that has one, not a sum: it shows how full the context
	// was. It is the zero value if no answer has a usage. To add up tokens and cost, use
	// [Transcript.Calls].
	Usage usage.Usage `json:"-"`
	// ThinkingCount is the number of thinking blocks in the chunk, including blocks whose text the
	// API left out.
	ThinkingCount int `json:"-"`
	// ToolCalls are the calls of the chunk that have an ID and a name, in their order. Items has
	// the same calls with their inputs and results.
	ToolCalls []ToolCall `json:"-"`

	// The following fields are set for user chunks.

	// PermissionMode is the mode in which the user sent the prompt, such as "default",
	// "acceptEdits" or "plan". It is "" if the entry does not record a mode.
	PermissionMode string `json:"-"`
	// Images is the number of pictures in a prompt. The pictures themselves are in the entries at
	// Lines.
	Images int `json:"images,omitempty"`
	// Documents is the number of documents in a prompt, such as PDF files.
	Documents int `json:"documents,omitempty"`
	// Queued reports whether the user typed the prompt while the agent was working. Such a prompt
	// does not start a turn.
	Queued bool `json:"queued,omitempty"`

	// Stderr is the standard error of a command that also has standard output, in a system chunk.
	// If a command has only standard error, that is in Text.
	Stderr string `json:"stderr,omitempty"`
	// IsError reports whether a system chunk is about something that failed: a command with
	// standard error, a hook, a request to the API, or a task that was killed.
	IsError bool `json:"is_error,omitempty"`
	// Interrupted reports whether the user stopped the agent here. The chunk has the answer up to
	// then.
	Interrupted bool `json:"interrupted,omitempty"`
	// Compaction has the numbers of a compaction. It is set for compaction chunks, and nil for
	// others.
	Compaction *Compaction `json:"compaction,omitempty"`
	// Cost is the cost of the turn that the prompt starts. It is only set in a document of package
	// export, for which [Transcript.Turns] has no calls.
	Cost *Spending `json:"cost,omitempty"`
	// Items are the parts of an AI chunk in the order in which they were written: thinking, text,
	// calls, messages of teammates. A result is in the item of its call.
	Items []DisplayItem `json:"items,omitempty"`
	// Injected are texts that the agent put into the conversation for the model, such as the text
	// of a skill that the user called. Those that belong to a call are in its item. Don't show them
	// as words of the user or of the model.
	Injected []string `json:"injected,omitempty"`

	// At is the position of the entry that started the chunk: the prompt, the first part of the
	// answer, or the first entry of a compaction. It is the zero value if the position is not
	// known.
	At wire.Position `json:"-"`
	// Lines are the numbers of the lines that the chunk is made of, from 1, as far as they are
	// known. Each line that means something is in one chunk. [BuildChunks] does not know them, and a
	// chunk that was read from JSON has only the first and the last.
	Lines []int `json:"-"`
}

// InTurns returns the chunks of the turns from first to last. Turn 0 is what is before the first
// prompt. The chunks belong to one conversation, in its order.
func InTurns(chunks []Chunk, first, last int) []Chunk {
	from := sort.Search(len(chunks), func(i int) bool { return chunks[i].Turn >= first })
	end := sort.Search(len(chunks), func(i int) bool { return chunks[i].Turn > last })
	return chunks[from:max(from, end)]
}

// Number numbers the turns of a conversation without numbers, such as a conversation that a program made.
// If a chunk has a turn, it changes nothing.
func Number(chunks []Chunk) {
	for i := range chunks {
		if chunks[i].Turn != 0 {
			return
		}
	}
	turn := 0
	for i := range chunks {
		if chunks[i].Type == UserChunk {
			turn++
		}
		chunks[i].Turn = turn
	}
}

// LastTurn returns the turn of the last chunk, or 0. In a whole conversation it is the number of
// prompts.
func LastTurn(chunks []Chunk) int {
	if len(chunks) == 0 {
		return 0
	}
	return chunks[len(chunks)-1].Turn
}

// LineRange returns the smallest and the largest of the chunk's lines, or 0 if they are not known.
func (c *Chunk) LineRange() (first, last int) {
	if len(c.Lines) == 0 {
		return 0, 0
	}
	return slices.Min(c.Lines), slices.Max(c.Lines)
}

// A Spending is the number, the size and the cost of some model calls.
type Spending struct {
	Calls  int         `json:"calls"`  // number of calls of the model
	Tokens int         `json:"tokens"` // of all kinds, in and out
	Cost   usage.Money `json:"cost"`   // at list prices
	// UnknownCost reports that Cost is incomplete: the price of a model is not known.
	UnknownCost bool `json:"unknown_cost,omitempty"`
}

// A Compaction describes how the agent made the context smaller. All fields are copied from the
// member compactMetadata of the entry.
type Compaction struct {
	// Trigger is "auto" if the agent decided to compact, and "manual" if the user asked for it. It
	// is "" if the transcript only has the summary.
	Trigger string `json:"trigger"`
	// PreTokens is the size of the context before the compaction, in tokens, or 0 if the agent did
	// not write it down.
	PreTokens int `json:"pre_tokens"`
	// PostTokens is the size of the context after it, in tokens. Older agents did not write it
	// down: then it is 0, and [ContextCompaction.After] has the input of the next answer.
	PostTokens int `json:"post_tokens"`
	// DurationMs is the time the compaction took, in milliseconds, or 0 if the agent did not write
	// it down.
	DurationMs int64 `json:"duration_ms,omitempty"`
}

// A DisplayItemType is the kind of an item. As text and JSON it is a word, such as "tool".
type DisplayItemType int

// The types of items.
const (
	// ItemThinking is a block of thinking. Its text is "" if the API left it out.
	ItemThinking DisplayItemType = iota
	// ItemOutput is text of an answer, a block of another kind, or a result whose call is missing.
	ItemOutput
	// ItemToolCall is a tool call, with its result once there is one.
	ItemToolCall
	// ItemSubagent is a call of Agent, or of Task in older versions, which starts a subagent.
	ItemSubagent
	// ItemTeammateMessage is a message of another agent of the team.
	ItemTeammateMessage
)

// A DisplayItem is one element of an AI chunk. A result whose call is not there is an output, with
// the call's ToolID.
type DisplayItem struct {
	// Type is the kind of the item. It determines which of the following fields can be set.
	Type DisplayItemType `json:"type"`
	// Timestamp is the time of the entry that the item comes from; for a call, the time of the
	// call, not of its result. It is the zero time if the entry has none.
	Timestamp time.Time `json:"time,omitzero"`
	// Text is the text of thinking, output and a teammate's message. It is "" for calls.
	Text string `json:"text,omitempty"`
	// At is the position of the first entry that has the item; for a call, of the entry with the
	// call, not with its result. It is the zero value if the position is not known, as after
	// [BuildChunks].
	At wire.Position `json:"-"`

	// The following fields are set for tool calls, including calls that start subagents.

	// ToolName is the name of the tool, such as "Bash" or "mcp__github__list_issues".
	ToolName string `json:"tool,omitempty"`
	// ToolID is the ID of the call, such as "toolu_01A…". It is "" if the call has none: then no
	// result can be matched to it.
	ToolID string `json:"tool_id,omitempty"`
	// ToolSummary describes the call in one line, such as "project/hello.txt - 1 line". See the
	// function [ToolSummary].
	ToolSummary string `json:"summary,omitempty"`
	// ToolInput is the input as the model wrote it, usually a JSON object. [DisplayItem.Input]
	// decodes it.
	ToolInput wire.JSON `json:"input,omitempty"`
	// ToolResult is the text of the result, once HasResult is set. It is "" if the result is empty
	// or has only pictures.
	ToolResult string `json:"result,omitempty"`
	// HasResult reports whether the call's result arrived. It stays false for a call that was
	// interrupted before its result was written.
	HasResult bool `json:"has_result,omitempty"`
	// ToolError reports whether the result is marked as an error: the tool failed, or the call was
	// rejected. Then ToolResult explains why.
	ToolError bool `json:"is_error,omitempty"`
	// Permission is the decision about the call, once its result arrived. It is nil if none is
	// recorded, as before Claude Code 2.1.325.
	Permission *PermissionDecision `json:"permission,omitempty"`
	// Sandboxed reports whether a command ran in the sandbox. It is nil for other tools, and if
	// nothing is recorded.
	Sandboxed *bool `json:"sandboxed,omitempty"`
	// ResultLost reports whether the result is missing although the model continued, which it can't
	// without the result: the line was lost.
	ResultLost bool `json:"-"`
	// Structured is the structured result, which has more detail than ToolResult. It is "" if the
	// agent wrote none, or if it is longer than [ReadOptions.MaxResultBytes]: then read the entry
	// at ResultAt. [DisplayItem.Result] decodes it.
	Structured wire.JSON `json:"structured,omitempty"`
	// Patch is the part of the structured result that shows what changed in a file. It is kept even
	// if Structured is not, and may lack tabs: see [AIMsg.Patch]. [DisplayItem.Diff] decodes it.
	Patch wire.JSON `json:"patch,omitempty"`
	// Status is the status in the structured result, such as "completed" or "async_launched". Only
	// some tools have one; otherwise it is "".
	Status string `json:"status,omitempty"`
	// Output is the whole output of a call whose result was too long for the conversation. It is
	// only set in a document of package export.
	Output string `json:"output,omitempty"`
	// SpillPath is the file with the whole output, if the structured result names one: see
	// [SpillPath].
	SpillPath string `json:"output_path,omitempty"`
	// Images are the pictures in the result, without pictures that are too large or of another type.
	// They are only set in a document of package export: otherwise read the entry at ResultAt.
	Images []Image `json:"images,omitempty"`
	// ResultImages is the number of pictures in the result.
	ResultImages int `json:"image_count,omitempty"`
	// Injected are texts that the call put into the conversation for the model, such as the text of
	// a skill.
	Injected []string `json:"injected,omitempty"`
	// ResultAt is the position of the entry with the result. sessions.Session.Entry reads the
	// entry.
	ResultAt wire.Position `json:"-"`

	// DurationMs is the time from the call to its result, in milliseconds. If a subagent ran in the
	// same turn, it is 0 for other calls of more than a minute: their results are written late.
	DurationMs int64 `json:"duration_ms,omitempty"`
	// TokenCount is an estimate from the length of the text, or for a call from the length of its
	// input and result as JSON: four bytes count as one token. For a call, a picture counts as 1,600,
	// as in [usage.ToolCall].
	TokenCount int `json:"tokens,omitempty"`

	// SubagentType is the type of the subagent that the call starts, such as "Explore". It is "" if
	// neither the call nor the subagent names one.
	SubagentType string `json:"subagent_type,omitempty"`
	// SubagentDesc is the description of the subagent's work in a few words, as the call or, after
	// [Link], the metadata of the subagent gives it.
	SubagentDesc string `json:"description,omitempty"`
	// AgentID is the ID of the subagent that the call started, if the result has it. It is
	// "name@team" for a teammate.
	AgentID string `json:"agent_id,omitempty"`
	// Agents are the subagents that the call started, once they were linked: see [Link]. A workflow
	// can start several. Their conversations are in [Agent.Transcript].
	Agents []*Agent `json:"agents,omitempty"`

	// Report is the agent's report that a subagent in the background ended. It is nil while the
	// subagent runs, if the report is missing, and for all other calls. A subagent that is resumed
	// ends again: the last report counts.
	Report *TaskReport `json:"report,omitempty"`

	// TeammateID is the name of the teammate that sent a message, see [TeammateMsg.TeammateID].
	TeammateID string `json:"teammate,omitempty"`
	// TeammateColor is the color in which the agent shows the teammate, such as "blue". It is "" if
	// the message does not have it.
	TeammateColor string `json:"teammate_color,omitempty"`
	// TeammateSummary is the subject of the message in a few words, or "" if it has none.
	TeammateSummary string `json:"teammate_summary,omitempty"`
}

// An Image is a picture in a tool result.
type Image struct {
	// MediaType is image/png, image/jpeg, image/gif or image/webp.
	MediaType string `json:"media_type"`
	Data      []byte `json:"data"` // base64 in JSON
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

// wordOf returns the word for a number, or something like "ChunkType(9)" if there is none.
func wordOf(n int, words []string, name string) string {
	if n < 0 || n >= len(words) {
		return fmt.Sprintf("%s(%d)", name, n)
	}
	return words[n]
}

// marshalWord returns the word for a number as text. An unknown number is an error, since it could
// not be read back.
func marshalWord(n int, words []string, what string) ([]byte, error) {
	if n < 0 || n >= len(words) {
		return nil, fmt.Errorf("transcript: invalid type of %s: %d", what, n)
	}
	return []byte(words[n]), nil
}

// parseWord returns the number of a word. The error names the word.
func parseWord(text string, words []string, what string) (int, error) {
	n := slices.Index(words, text)
	if n < 0 {
		return 0, fmt.Errorf("transcript: unknown type of %s: %q", what, text)
	}
	return n, nil
}

// ErrNotKept is returned if the structured result of a call is not in memory: it was too long, or
// the agent wrote none. Read the entry at [DisplayItem.ResultAt], or set
// [ReadOptions.MaxResultBytes] before reading.
var ErrNotKept = errors.New("transcript: the structured result was not kept")

// ErrNoResult is returned for a call that has no result yet. The tool still runs, or the turn was
// interrupted.
var ErrNoResult = errors.New("transcript: no result")

var errNoCall = errors.New("transcript: item is not a tool call")

// Input returns the tool's input. It returns an error for an item that is not a call, and for an
// input that is not JSON. The dynamic type depends on the tool, such as [*tooluse.EditInput].
//
//	in, err := item.Input()
//	if edit, ok := in.(*tooluse.EditInput); ok && err == nil {
//		fmt.Println(edit.FilePath)
//	}
func (i *DisplayItem) Input() (tooluse.Input, error) {
	if !i.IsCall() {
		return nil, errNoCall
	}
	return tooluse.DecodeInput(i.ToolName, i.ToolInput)
}

// Result returns the structured result of the call. The error wraps [ErrNoResult] if the call has
// no result yet, and [ErrNotKept] if the result was too long to keep: then decode the entry at
// ResultAt.
func (i *DisplayItem) Result() (tooluse.Result, error) {
	switch {
	case !i.IsCall():
		return nil, errNoCall
	case !i.HasResult:
		return nil, fmt.Errorf("%w of %s %s", ErrNoResult, i.ToolName, i.ToolID)
	case i.Structured == "":
		return nil, fmt.Errorf("%w: see line %d, at byte %d", ErrNotKept, i.ResultAt.Line, i.ResultAt.Offset)
	}
	return tooluse.DecodeResult(i.ToolName, i.Structured)
}

// ShownResult returns the part of the result of a call that is meant for people: all of the output
// if it is known, and of a subagent the report. See [AgentReport]. The result of a call that starts
// a subagent in the background is a note for the model: instead, it returns what the subagent
// answered, or "" if that is not known yet.
func (i *DisplayItem) ShownResult() string {
	text := cmp.Or(i.Output, i.ToolResult)
	if i.InBackground() {
		return i.backgroundAnswer()
	}
	if i.Type == ItemSubagent {
		return AgentReport(text)
	}
	return text
}

// InBackground reports whether the item is a call that started a subagent in the background. Its
// result came at once, and [DisplayItem.Report] comes at the end.
func (i *DisplayItem) InBackground() bool {
	return i.Type == ItemSubagent && i.HasResult && !i.ToolError &&
		(i.Status == "async_launched" || i.Status == "" && strings.HasPrefix(i.ToolResult, "Async agent launched successfully"))
}

// backgroundAnswer returns the answer of a subagent in the background: from the report, or else from
// its transcript. If it did not complete, the summary of the report comes first.
func (i *DisplayItem) backgroundAnswer() string {
	var summary, answer string
	if r := i.Report; r != nil {
		answer = AgentReport(r.Result)
		if r.Status != taskCompleted {
			summary = r.Summary
		}
	}
	if answer == "" && len(i.Agents) == 1 && i.Agents[0] != nil && !i.Agents[0].Ongoing() {
		answer = i.Agents[0].answer()
	}
	return joinLines(summary, answer)
}

// Statuses in the reports of tasks.
const (
	taskCompleted = "completed"
	taskKilled    = "killed"
)

// IsCommand reports whether the item is a call that runs a command. Its result is more than the files
// that it changed.
func (i *DisplayItem) IsCommand() bool {
	return i.IsCall() && (i.ToolName == "Bash" || i.ToolName == "PowerShell")
}

// IsCall reports whether the item is a tool call, including a call that starts a subagent.
func (i *DisplayItem) IsCall() bool { return i.Type == ItemToolCall || i.Type == ItemSubagent }

// A LastOutputType is the origin of the last output of a turn. Its zero value is [LastOutputText].
type LastOutputType int

// The types of last outputs.
const (
	// LastOutputText is text that the model wrote.
	LastOutputText LastOutputType = iota
	// LastOutputToolResult is the result of a tool or a subagent.
	LastOutputToolResult
)

// A LastOutput is the outcome of a turn: the answer, or a tool result if the turn has no answer.
type LastOutput struct {
	// Type reports whether Text is an answer or a tool's result.
	Type LastOutputType
	// Text is the text of the answer or of the result. It is never blank.
	Text string
	// ToolName is the tool that gave the result, such as "Bash", or "" for an answer.
	ToolName string
	// IsError reports whether the tool failed. It can also be set for a text that is the result of
	// a call which is missing.
	IsError bool
}

// FindLastOutput returns the last output that has text, else the last result of a tool or a
// subagent that has text, else nil. A collapsed view of a turn can show it in place of all items.
//
//	if last := transcript.FindLastOutput(chunk.Items); last != nil {
//		fmt.Println(transcript.Truncate(last.Text, 80))
//	}
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

// blank reports whether a text has nothing but white space.
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

// ongoingTurn reports whether the chunks of a turn leave something open. The last item that means
// something decides: text ends a turn, thinking and calls don't. A call without a result leaves the
// turn open even if text follows, unless the call itself ends the turn or its result was lost.
// Without items, the stop reason decides.
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
				unfinished = unfinished || active && !item.HasResult && !item.ResultLost
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
