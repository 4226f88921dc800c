package transcript

import (
	"time"

	"github.com/clewdev/clew/internal/jsonlex"
)

// A contextAccount keeps what the entries of a session add to the model's context. The zero value is ready.
type contextAccount struct {
	records     []contextRecord
	calls       []contextCall
	compactions []ContextCompaction
	// message is the ID of the last answer, which takes several entries.
	message string
	// classes are the classes of the results of calls, by the call's ID, where it is not that of other tools.
	classes map[string]uint8
	lexer   jsonlex.Lexer
}

// A contextRecord is something that happened to the context at a line. There are many.
type contextRecord struct {
	line  int32
	kind  recordKind
	class uint8
	// value is in tokens, or an index into calls or compactions.
	value int32
}

type recordKind uint8

const (
	contextAdded     recordKind = iota
	contextReplaced             // what there was of the class since the beginning
	contextPrompt               // a turn begins
	contextAnswered             // value: which call
	contextCompacted            // value: which compaction
)

// A contextCall is an answer of the model.
type contextCall struct {
	time   time.Time
	model  string
	tokens int
}

// note takes an entry. One that is not displayed does not count, now and later: see also report. It keeps nothing of
// the entry's raw members, and looks at most of them by their length alone.
func (c *contextAccount) note(e *Entry, displayed bool) {
	if !displayed {
		return
	}
	switch e.Type {
	case "assistant":
		c.answer(e)
	case "user":
		c.user(e)
	case "attachment":
		c.attachment(e)
	case "system":
		c.system(e)
	}
	c.lexer.Reset(nil)
}

func (c *contextAccount) record(e *Entry, kind recordKind, class uint8, value int) {
	if kind == contextAdded && value == 0 {
		return
	}
	c.records = append(c.records, contextRecord{int32(e.Position.Line), kind, class, int32(value)})
}

func (c *contextAccount) answer(e *Entry) {
	if e.Message == nil || e.Message.Model == synthetic {
		return
	}
	c.usage(e)
	l := &c.lexer
	l.Reset(e.Message.Content)
	if l.Peek() != '[' {
		c.record(e, contextAdded, inConversation, estimate(e.Message.Content))
		return
	}
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		class, size := c.answerBlock(l.Skip())
		c.record(e, contextAdded, class, size)
	}
}

// usage records the answer that the entry belongs to, with what it took in: at the first entry, before what it adds.
func (c *contextAccount) usage(e *Entry) {
	tokens := e.Message.Usage.ContextTokens()
	if tokens <= 0 {
		return
	}
	if id := e.Message.ID; id != "" && id == c.message {
		last := &c.calls[len(c.calls)-1]
		last.tokens = max(last.tokens, tokens)
		return
	}
	c.message = e.Message.ID
	c.record(e, contextAnswered, 0, len(c.calls))
	c.calls = append(c.calls, contextCall{e.Timestamp, e.Message.Model, tokens})
}

// answerBlock returns what a block of an answer adds.
func (c *contextAccount) answerBlock(block []byte) (class uint8, size int) {
	switch blockType(block) {
	case "thinking":
		return inThinking, thinkingSize(block)
	case "tool_use":
		c.called(block)
		return inToolCalls, estimate(jsonlex.Lookup(block, 0, "input"))
	case "text":
		return inConversation, estimate(jsonlex.Lookup(block, 0, "text"))
	}
	return inToolCalls, estimate(block)
}

// thinkingSize estimates a block of thinking. Where its text is left out, its signature still tells how long it was.
func thinkingSize(block []byte) int {
	if text := jsonlex.Lookup(block, 0, "thinking"); len(text) > 2 {
		return estimate(text)
	}
	for _, name := range []string{"signature", "data"} {
		if text := jsonlex.Lookup(block, 0, name); text != nil {
			return estimate(text) * 3 / 4 // it is in base64
		}
	}
	return 0
}

// called remembers a call whose result is not counted with those of other tools.
func (c *contextAccount) called(block []byte) {
	name, _ := jsonlex.Unquote(jsonlex.Lookup(block, 0, "name"))
	var class uint8
	switch string(name) {
	case "Read", "NotebookRead":
		class = inFiles
	case "Skill":
		class = inSkills
	default:
		return
	}
	if c.classes == nil {
		c.classes = map[string]uint8{}
	}
	c.classes[textMember(block, "id")] = class
}

// user records a prompt or a result. What it is, its first block tells.
func (c *contextAccount) user(e *Entry) {
	if e.Message == nil {
		return
	}
	content := e.Message.Content
	l := &c.lexer
	l.Reset(content)
	if l.Peek() == '[' && l.FirstElem() {
		if block := content[l.Pos():]; blockType(block) == "tool_result" {
			c.record(e, contextAdded, c.resultClass(block), estimate(content))
			return
		}
	}
	class := c.promptClass(e)
	if class == inConversation && !e.IsCompactSummary {
		c.record(e, contextPrompt, 0, 0)
	}
	c.record(e, contextAdded, class, estimate(content))
}

// promptClass returns the class of what was said to the model without being a result.
func (c *contextAccount) promptClass(e *Entry) uint8 {
	if !e.IsMeta {
		return inConversation
	}
	if class, ok := c.classes[e.SourceToolUseID]; ok {
		return class
	}
	return inSystem
}

// resultClass returns the class of the result in a block, which depends on the tool.
func (c *contextAccount) resultClass(block []byte) uint8 {
	if len(c.classes) == 0 {
		return inToolCalls
	}
	id, _ := jsonlex.Unquote(jsonlex.Lookup(block, 0, "tool_use_id"))
	class, ok := c.classes[string(id)]
	if !ok {
		return inToolCalls
	}
	if class == inFiles {
		delete(c.classes, string(id)) // there are many, and one result each
	}
	return class
}

// blockType returns the type of the block that data begins with, or "" for one that is of no interest here.
func blockType(data []byte) string {
	kind, _ := jsonlex.Unquote(jsonlex.Lookup(data, 0, "type"))
	switch string(kind) {
	case "tool_result":
		return "tool_result"
	case "tool_use":
		return "tool_use"
	case "text":
		return "text"
	case "thinking", "redacted_thinking":
		return "thinking"
	}
	return ""
}

func (c *contextAccount) attachment(e *Entry) {
	if e.AttachmentType == "prompt_snapshot" {
		c.snapshot(e)
		return
	}
	c.record(e, contextAdded, attachmentClass(e.AttachmentType), estimate(attachedText(e)))
}

// snapshot records the system prompt and the definitions of tools, which are sent along with each request.
func (c *contextAccount) snapshot(e *Entry) {
	if prompt := jsonlex.Lookup(e.Attachment, 0, "systemPrompt"); prompt != nil {
		c.record(e, contextReplaced, inSystem, estimate(prompt))
	}
	tools := jsonlex.Lookup(e.Attachment, 0, "tools")
	if tools == nil {
		return
	}
	size := 0
	l := &c.lexer
	l.Reset(tools)
	if l.Peek() == '[' {
		for ok := l.FirstElem(); ok; ok = l.NextElem() {
			tool := l.Skip()
			if schema := jsonlex.Lookup(tool, 0, "schema"); schema != nil {
				tool = schema
			}
			size += estimate(tool)
		}
	}
	c.record(e, contextReplaced, inTools, size)
}

func (c *contextAccount) system(e *Entry) {
	switch e.Subtype {
	case "compact_boundary":
		c.compact(e, e.CompactMetadata, false)
	case "microcompact_boundary":
		c.compact(e, jsonlex.Lookup(e.Raw, 0, "microcompactMetadata"), true)
	}
}

func (c *contextAccount) compact(e *Entry, meta []byte, micro bool) {
	number := func(name string) int { return max(looseInt(jsonlex.Lookup(meta, 0, name)), 0) }
	compaction := ContextCompaction{
		Line: e.Position.Line, Time: e.Timestamp, Trigger: textMember(meta, "trigger"), Micro: micro,
		Before: number("preTokens"), After: number("postTokens"),
		Duration: milliseconds(float64(number("durationMs"))),
	}
	if saved := number("tokensSaved"); micro && saved > 0 {
		compaction.After = max(compaction.Before-saved, 0)
	}
	c.record(e, contextCompacted, 0, len(c.compactions))
	c.compactions = append(c.compactions, compaction)
}
