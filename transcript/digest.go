package transcript

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/entryfacts"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// A digest is the part of a message that chunks need. A builder keeps nothing else of the message.
// A digest is never changed: chunks share its strings and can be built from it again.
type digest struct {
	at wire.Position // of its line, as far as that is known
	// time is the time of the message, or the zero time if it has none.
	time time.Time
	msg  ClassifiedMsg // unless it is an answer or an interruption
	// answer is set for an answer, and for something that went back to the model.
	answer *answerDigest
	// interrupted reports whether the line only records that the user stopped the agent.
	interrupted bool
}

// An answerDigest is the part of an [AIMsg] that chunks need.
type answerDigest struct {
	message     string // the ID that the lines of one answer share
	model, stop string
	// usage is the usage of the whole answer, which each of its lines repeats.
	usage usage.Usage
	// block is the number of the first part's block in the answer, from 1, or 0 if it is not known.
	block    int
	complete bool // a later line can't continue the blocks
	// meta reports whether the message went to the model: see [AIMsg.IsMeta].
	meta bool
	// parts stand for the blocks, in their order.
	parts []part

	// Properties that the message has without blocks for them.

	thinking int
	text     string
	calls    []ToolCall
}

// A part is the content of a block that chunks need.
type part struct {
	kind   partKind
	failed bool   // of a result
	images int    // in a result
	tokens int    // of a result, as estimated
	id     string // of a call, of the call that a result is for, or of the one that injected a text
	// text is the text of thinking, of the answer or of a result, or a description of another
	// block.
	text string
	// call is set for a part of the kind partCall.
	call    *callDigest
	outcome *outcome // what a result says beside its text; nil if nothing
}

// A partKind is the kind of a part. It determines which of its fields are set.
type partKind uint8

const (
	partThinking partKind = iota
	partText              // of the answer
	partOther             // a block that is neither text nor known, as text
	partCall
	partResult
	partInjected
)

// A callDigest is the part of a call that an item needs.
type callDigest struct {
	name, summary              string
	input                      wire.JSON
	subagentType, subagentDesc string
}

// An outcome is the part of an entry with a result that an item needs, beside the text of the
// result.
type outcome struct {
	structured, patch      wire.JSON
	agentID, status, spill string
	permission             PermissionDecision
	sandboxed              *bool
}

// newDigest takes from a message what chunks need. The message's blocks are not needed afterwards.
// Its strings are taken as they are: they must not hold on to longer ones, as the strings of a
// decoder that keeps raw text do.
func newDigest(msg ClassifiedMsg, at wire.Position) *digest {
	d := &digest{at: at, time: msg.Time()}
	if m, ok := msg.(*AIMsg); ok {
		d.answer = newAnswer(m)
	} else {
		d.msg = msg
	}
	return d
}

// newInterruption returns the digest of a line that reports that the user stopped the agent.
func newInterruption(at wire.Position, when time.Time) *digest {
	return &digest{at: at, time: when, interrupted: true}
}

// newAnswer returns the digest of a message whose blocks are decoded.
func newAnswer(m *AIMsg) *answerDigest {
	return newAnswerOf(m, nil)
}

// newAnswerOf returns the digest of a message, with parts that stand for its blocks. Without blocks
// it takes the properties that the message has for them, for callers that make messages by hand.
func newAnswerOf(m *AIMsg, parts []part) *answerDigest {
	a := &answerDigest{message: m.MessageID, meta: m.IsMeta, parts: parts}
	a.takeBlocks(m)
	if m.IsMeta {
		if len(a.parts) == 0 {
			a.takeText(m.Text, m.SourceToolUseID)
		}
		a.takeOutcome(m)
		return a
	}
	a.model, a.stop, a.usage = m.Model, m.StopReason, m.Usage
	a.block, a.complete = m.Block, m.Complete || m.StopReason != ""
	if !a.has(partThinking) {
		a.thinking = m.ThinkingCount
	}
	if !a.has(partText) && !blank(m.Text) {
		a.text = m.Text
	}
	if !a.has(partCall) {
		a.calls = m.ToolCalls
	}
	return a
}

// has reports whether the digest has a part of that kind.
func (a *answerDigest) has(kind partKind) bool {
	for i := range a.parts {
		if a.parts[i].kind == kind {
			return true
		}
	}
	return false
}

// takeBlocks adds a part for each block, in the order of the message. Blank texts make none.
func (a *answerDigest) takeBlocks(m *AIMsg) {
	if len(m.Blocks) == 0 {
		return
	}
	a.parts = make([]part, 0, len(m.Blocks))
	for _, block := range m.Blocks {
		switch b := block.(type) {
		case *wire.TextBlock:
			a.takeText(b.Text, m.SourceToolUseID)
		case *wire.ThinkingBlock:
			a.parts = append(a.parts, part{kind: partThinking, text: b.Thinking})
		case *wire.RedactedThinkingBlock:
			a.parts = append(a.parts, part{kind: partThinking})
		case *wire.ToolUseBlock:
			a.takeCall(b.ID, b.Name, b.Input)
		case *wire.ServerToolUseBlock:
			a.takeCall(b.ID, b.Name, b.Input)
		case *wire.MCPToolUseBlock:
			a.takeCall(b.ID, b.Name, b.Input)
		default:
			if p, ok := resultPart(block); ok {
				a.parts = append(a.parts, p)
			} else {
				a.takeOther(block, m.SourceToolUseID)
			}
		}
	}
}

// takeText takes what the model said, or, in a meta message, what was said to it.
func (a *answerDigest) takeText(text, from string) {
	switch {
	case blank(text):
	case a.meta:
		a.parts = append(a.parts, part{kind: partInjected, id: from, text: text})
	default:
		a.parts = append(a.parts, part{kind: partText, text: text})
	}
}

// takeOther adds a part for a block of a kind that has no place in a chunk. Its text is a short
// description or its JSON.
func (a *answerDigest) takeOther(block wire.Block, from string) {
	p := part{kind: partOther, text: otherText(block)}
	if a.meta {
		p.kind, p.id = partInjected, from
	}
	a.parts = append(a.parts, p)
}

// otherText describes a block that nothing else is known of. Pictures and documents are not worth
// their encoded content.
func otherText(block wire.Block) string {
	switch b := block.(type) {
	case *wire.ImageBlock:
		return "[Image]"
	case *wire.DocumentBlock:
		return "[Document]"
	case *wire.CompactionBlock:
		return b.Content
	}
	text, err := block.MarshalJSON()
	if err != nil {
		return "[" + block.BlockType() + "]"
	}
	return string(text)
}

// takeCall adds a call. The summary is made here, once, although chunks may be built several times.
func (a *answerDigest) takeCall(id, name string, input wire.JSON) {
	c := &callDigest{name: name, input: input, summary: ToolSummary(name, input)}
	if startsSubagent(name) {
		c.subagentType, c.subagentDesc = subagentOf(input)
	}
	a.parts = append(a.parts, part{kind: partCall, id: id, call: c})
}

// takeOutcome assigns the outcome in the message to its result: the result of its source, or else
// the first.
func (a *answerDigest) takeOutcome(m *AIMsg) {
	o := outcome{
		m.ToolUseResult, m.Patch, m.AgentID, m.ResultStatus, m.PersistedOutputPath, m.Permission, m.Sandboxed,
	}
	if o == (outcome{}) {
		return
	}
	var to *part
	for i := range a.parts {
		p := &a.parts[i]
		if p.kind == partResult && (to == nil || p.id == m.SourceToolUseID) {
			to = p
		}
	}
	if to != nil {
		to.outcome = &o
	}
}

// digest classifies an entry, and returns what chunks need of it, or nil and the name under which
// it is counted as noise. Results of tools become parts without being decoded into blocks.
func (c *classifier) digest(e *Entry, at wire.Position) (d *digest, noise string) {
	c.lean, c.parts = true, nil
	msg, noise := c.classify(e)
	ai, ok := msg.(*AIMsg)
	switch {
	case ok:
		return &digest{at: at, time: msg.Time(), answer: newAnswerOf(ai, c.parts)}, ""
	case msg != nil:
		return newDigest(msg, at), ""
	case noise == entryfacts.KindInterruption:
		return newInterruption(at, e.Timestamp), ""
	}
	return nil, noise
}

// resultParts returns the parts for the tool results, straight from the content of a message:
// results are most of a transcript, and are not worth being decoded into blocks first. It returns
// false if there is anything else.
func (c *classifier) resultParts(content []byte) ([]part, bool) {
	s := scratches.Get().(*scratch) //nolint:forcetypeassert // nothing else is in there
	defer s.free()
	l := &c.lexer
	l.Reset(content)
	defer l.Reset(nil)
	if l.Peek() != '[' {
		return nil, false
	}
	var parts []part
	for ok := l.FirstElem(); ok; ok = l.NextElem() {
		p, ok := readResultPart(l, s)
		if !ok {
			return nil, false
		}
		parts = append(parts, p)
	}
	l.End()
	return parts, l.Err() == nil && len(parts) > 0
}

// readResultPart reads a block that must be a tool's result, and fit its type.
func readResultPart(l *jsonlex.Lexer, s *scratch) (part, bool) {
	p := part{kind: partResult}
	if l.Peek() != '{' {
		return p, false
	}
	var content []byte
	isResult := false
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		switch first := l.Peek(); {
		case string(key) == "type" && first == '"':
			isResult = string(l.Bytes()) == "tool_result"
		case string(key) == "tool_use_id" && first == '"':
			p.id = l.String()
		case string(key) == "is_error" && (first == 't' || first == 'f'):
			p.failed = l.Bool()
		case string(key) == "content":
			content = l.Skip()
		default: // of another type, or rare
			return p, false
		}
	}
	if !isResult || p.id == "" || l.Err() != nil {
		return p, false
	}
	p.text, p.images = s.text(content)
	p.tokens = estimate(content)
	return p, true
}

// resultPart returns the part for a block that is a tool's result.
func resultPart(block wire.Block) (part, bool) {
	p := part{kind: partResult}
	switch b := block.(type) {
	case *wire.ToolResultBlock:
		p.id, p.failed = b.ToolUseID, b.Failed()
		p.result(b.Content)
	case *wire.MCPToolResultBlock:
		p.id, p.failed = b.ToolUseID, b.Failed()
		p.result(b.Content)
	case *wire.WebSearchToolResultBlock:
		pages, err := b.Results()
		p.server(b.ToolUseID, b.Content, pagesText(pages), err)
	case *wire.CodeExecutionToolResultBlock:
		out, err := b.Result()
		p.server(b.ToolUseID, b.Content, out.Stdout+out.Stderr, err)
	case *wire.BashCodeExecutionToolResultBlock:
		out, err := b.Result()
		p.server(b.ToolUseID, b.Content, out.Stdout+out.Stderr, err)
	case *wire.AdvisorToolResultBlock:
		advice, err := b.Result()
		p.server(b.ToolUseID, b.Content, advice.Text, err)
	case *wire.WebFetchToolResultBlock:
		_, err := b.Result()
		p.server(b.ToolUseID, b.Content, "", err)
	case *wire.TextEditorCodeExecutionToolResultBlock:
		_, err := b.Result()
		p.server(b.ToolUseID, b.Content, "", err)
	case *wire.ToolSearchToolResultBlock:
		_, err := b.Result()
		p.server(b.ToolUseID, b.Content, "", err)
	default:
		return part{}, false
	}
	return p, true
}

// result fills in the result of a tool.
func (p *part) result(content wire.JSON) {
	p.text, p.images = resultText(content)
	p.tokens = estimate(content)
}

// server fills in the result of a tool that ran at the API: text if there is any, else its JSON. An
// error of the tool is its message, without the prefix of package wire.
func (p *part) server(id string, content wire.JSON, text string, err error) {
	p.id, p.text, p.tokens = id, text, estimate(content)
	var failure *wire.ToolError
	if errors.As(err, &failure) {
		p.failed = true
		p.text = strings.TrimPrefix(failure.Error(), "wire: ")
	}
	if p.text == "" {
		p.text = string(content)
	}
}

// pagesText returns the title and the address of each page that a search found.
func pagesText(pages []wire.WebSearchPage) string {
	lines := make([]string, 0, len(pages))
	for i := range pages {
		lines = append(lines, strings.TrimSpace(pages[i].Title+"\n"+pages[i].URL))
	}
	return strings.Join(lines, "\n")
}

// resultText returns the text of a result's content, and how many pictures there are in it. Content
// that is not text stays JSON.
func resultText(content wire.JSON) (text string, images int) {
	raw := strings.TrimLeft(string(content), " \t\r\n")
	if plain, ok := plainText(raw); ok {
		return plain, 0
	}
	s := scratches.Get().(*scratch) //nolint:forcetypeassert // nothing else is in there
	defer s.free()
	s.buf = append(s.buf[:0], raw...)
	return s.text(s.buf)
}

// plainText returns the text of a JSON string without escapes, which it shares.
func plainText(raw string) (string, bool) {
	if raw == "" || raw[0] != '"' {
		return "", false
	}
	inner, rest, closed := strings.Cut(raw[1:], `"`)
	return inner, closed && rest == "" && strings.IndexByte(inner, '\\') < 0 && utf8.ValidString(inner)
}

// text is resultText for bytes, which it does not share.
func (s *scratch) text(content []byte) (text string, images int) {
	content = bytes.TrimLeft(content, " \t\r\n")
	switch {
	case len(content) == 0 || string(content) == "null":
		return "", 0
	case content[0] == '"':
		return s.unquote(content), 0
	case content[0] == '[':
		return s.textOfList(content)
	}
	return string(content), 0
}

// unquote returns what a JSON string stands for, or the string itself if it is none.
func (s *scratch) unquote(raw []byte) string {
	s.list.Reset(raw)
	text := s.list.String()
	s.list.End()
	if s.list.Err() != nil {
		return string(raw)
	}
	return text
}

// textOfList returns the texts of a list of blocks, each from a new line.
func (s *scratch) textOfList(raw []byte) (text string, images int) {
	s.texts = s.texts[:0]
	s.list.Reset(raw)
	for ok := s.list.FirstElem(); ok; ok = s.list.NextElem() {
		block := s.list.Skip()
		switch kind, _ := jsonlex.Unquote(jsonlex.Lookup(block, 0, "type")); string(kind) {
		case "image":
			images++
		case "document":
			s.texts = append(s.texts, "[Document]")
		case "text":
			s.take(jsonlex.Lookup(block, 0, "text"), block)
		case "tool_reference":
			s.take(jsonlex.Lookup(block, 0, "tool_name"), block)
		default:
			s.take(block, block)
		}
	}
	s.list.End()
	if s.list.Err() != nil {
		return string(raw), 0
	}
	return strings.Join(s.texts, "\n"), images
}

// A scratch is the memory for reading a result.
type scratch struct {
	buf   []byte
	texts []string
	list  jsonlex.Lexer
	value jsonlex.Lexer
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxScratch limits the memory that a scratch keeps.
const maxScratch = 1 << 20

// free gives the memory back for the next result, without references to this one. A large buffer is
// dropped.
func (s *scratch) free() {
	s.list.Reset(nil)
	s.value.Reset(nil)
	clear(s.texts)
	s.texts = s.texts[:0]
	if cap(s.buf) > maxScratch {
		s.buf = nil
	}
	scratches.Put(s)
}

// take takes the string that value is, or else the block.
func (s *scratch) take(value, block []byte) {
	s.value.Reset(value)
	if s.value.Peek() == '"' {
		if text := s.value.String(); s.value.Err() == nil {
			s.texts = append(s.texts, text)
			return
		}
	}
	s.texts = append(s.texts, string(block))
}

// startsSubagent reports whether a tool starts subagents. It was called Task in older versions.
func startsSubagent(name string) bool { return name == "Task" || name == "Agent" }

// subagentOf returns the type and the description of the subagent that a call starts.
func subagentOf(input wire.JSON) (kind, desc string) {
	data := []byte(input)
	return textAt(data, "subagent_type"), textAt(data, "description")
}
