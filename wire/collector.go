package wire

import (
	"slices"
	"strings"
	"time"
)

// A Collector assembles the text and the tool calls of a turn. The caller adds the messages of a
// stream in order. Text that is streamed first and then comes again as a whole counts once.
// Messages of subagents are left out.
//
// A Collector holds only the newest turn, and needs memory for its text, its tool calls and its
// result. A result ends the turn. The next turn starts with an [InitMessage], an
// [AssistantMessage], the start of a streamed answer or of a block, streamed text, or another
// result, and replaces the one before. A [TextLine] does not start a turn: a line that follows a
// result is added to the accumulated text of the ended turn, while Text still returns the text of
// the result.
//
// The zero value is ready to use. A Collector is for one goroutine at a time.
type Collector struct {
	parts   []part
	pending int    // from here on, parts that were streamed wait for their frame
	current int    // the part that is being streamed
	message string // the API message that is being streamed

	session string
	result  *ResultMessage
	done    bool
	invalid int
}

// A part is a block, or a line of text.
type part struct {
	uuid    string // of the frame that completed the block
	message string // the API message of a block that was streamed
	index   int    // of a block that was streamed
	waiting bool   // the block was streamed, and its frame has not come
	text    []byte
	tool    *ToolUseBlock
}

// Add takes the next message and returns its new text, to be shown at once: the text of a delta, of
// a block that was not streamed, or of a line that is not JSON, with a line end. If a finished
// block is longer than its streamed text, Add returns the rest; if it starts differently, Add
// returns "".
//
// Text that Add returned can become invalid later: a message replaces others, the model refuses and
// another one takes over, or the agent abandons blocks of a stream. Accumulated does not include
// such text.
func (c *Collector) Add(msg Message) string {
	switch msg := msg.(type) {
	case *StreamEventMessage:
		c.meet(msg.SessionID)
		if msg.ParentToolUseID == "" {
			return c.event(msg)
		}
	case *AssistantMessage:
		c.meet(msg.SessionID)
		if msg.ParentToolUseID == "" {
			return c.assistant(msg)
		}
	case *ResultMessage:
		c.meet(msg.SessionID)
		c.begin()
		c.result, c.done = msg, true
	case *UserMessage:
		c.meet(msg.SessionID)
	case *InitMessage:
		c.meet(msg.SessionID)
		c.begin()
	case *ModelRefusalFallbackMessage:
		c.meet(msg.SessionID)
		c.drop(msg.RetractedMessageUUIDs)
	case *TextLine:
		line := msg.Text + "\n"
		c.parts = append(c.parts, part{text: []byte(line)})
		return line
	case *InvalidFrame:
		c.invalid++
	}
	return ""
}

// meet notes the session that a message belongs to.
func (c *Collector) meet(session string) {
	if session != "" {
		c.session = session
	}
}

// begin discards the last turn if it ended.
func (c *Collector) begin() {
	if c.done {
		c.parts, c.pending, c.current, c.message, c.done = nil, 0, 0, "", false
	}
}

// event takes a piece of a streamed answer.
func (c *Collector) event(msg *StreamEventMessage) string {
	if msg.Details != nil {
		c.abandon(msg.Details.AbandonedBlocks)
	}
	switch e := msg.Event.(type) {
	case *MessageStartEvent:
		c.begin()
		c.restart(msg.APIMessageID, e.Message)
	case *ContentBlockStartEvent:
		c.begin()
		c.stream(msg.APIMessageID)
		if b, ok := e.ContentBlock.(*TextBlock); ok {
			c.open(e.Index)
			return c.extend(b.Text)
		}
	case *TextDeltaEvent:
		c.begin()
		c.stream(msg.APIMessageID)
		if !c.isOpen(e.Index) {
			c.open(e.Index)
		}
		return c.extend(e.Text)
	}
	return ""
}

// abandon empties the parts of blocks that will not be finished. Without an id, they are of the
// message that is being streamed.
func (c *Collector) abandon(blocks *AbandonedBlocks) {
	if blocks == nil {
		return
	}
	id := blocks.APIMessageID
	if id == "" {
		id = c.message
	}
	for i, p := range c.parts {
		if p.waiting && p.message == id && p.index >= blocks.FromBlockIndex {
			c.parts[i] = part{}
		}
	}
}

// restart starts another API message, even if its id is unknown.
func (c *Collector) restart(id string, msg *APIMessage) {
	if msg != nil && msg.ID != "" {
		id = msg.ID
	}
	c.message, c.pending = id, len(c.parts)
}

// stream notes which API message is being streamed. It keeps the text that an earlier one streamed.
func (c *Collector) stream(id string) {
	if id != "" && id != c.message {
		c.message = id
		c.pending = len(c.parts)
	}
}

func (c *Collector) isOpen(index int) bool {
	return c.current >= c.pending && c.current < len(c.parts) &&
		c.parts[c.current].waiting && c.parts[c.current].index == index
}

func (c *Collector) open(index int) {
	c.current = len(c.parts)
	c.parts = append(c.parts, part{message: c.message, index: index, waiting: true})
}

func (c *Collector) extend(text string) string {
	p := &c.parts[c.current]
	p.text = append(p.text, text...)
	return text
}

// assistant takes finished blocks.
func (c *Collector) assistant(msg *AssistantMessage) string {
	c.begin()
	c.drop(msg.Supersedes)
	streamed := msg.ID == "" || c.message == "" || msg.ID == c.message
	var fresh strings.Builder
	for _, b := range msg.Content {
		switch b := b.(type) {
		case *TextBlock:
			fresh.WriteString(c.finish(streamed, msg.UUID, b.Text))
		case *ToolUseBlock:
			c.parts = append(c.parts, part{uuid: msg.UUID, tool: b})
		}
	}
	return fresh.String()
}

// drop empties the parts of frames that another one replaces.
func (c *Collector) drop(uuids []string) {
	if len(uuids) == 0 {
		return
	}
	for i, p := range c.parts {
		if p.uuid != "" && slices.Contains(uuids, p.uuid) {
			c.parts[i] = part{uuid: p.uuid}
		}
	}
}

// finish replaces the streamed text of a block by the whole one, and returns the new part of it.
func (c *Collector) finish(streamed bool, uuid, text string) string {
	var p *part
	if streamed {
		p = c.firstPending()
	}
	if p == nil {
		c.parts = append(c.parts, part{uuid: uuid, text: []byte(text)})
		return text
	}
	fresh, ok := strings.CutPrefix(text, string(p.text))
	if !ok {
		fresh = ""
	}
	p.uuid, p.waiting, p.text = uuid, false, append(p.text[:0], text...)
	return fresh
}

// firstPending returns the first streamed part whose frame has not come yet, or nil. The next call
// starts after that part.
func (c *Collector) firstPending() *part {
	for c.pending < len(c.parts) {
		p := &c.parts[c.pending]
		c.pending++
		if p.waiting {
			return p
		}
	}
	return nil
}

// Text returns the outcome of the turn. After the turn ends, that is the text of its result, or the
// errors of a failed result without text. Before that, or if the result has neither, Text returns
// the same as Accumulated.
func (c *Collector) Text() string {
	if c.done && c.result.Result != "" {
		return c.result.Result
	}
	if c.IsError() && len(c.result.Errors) > 0 {
		return strings.Join(c.result.Errors, "\n")
	}
	return c.Accumulated()
}

// Accumulated returns the text of the turn so far: the text blocks of its messages, in order, and
// the lines that are not JSON, each with a line end.
func (c *Collector) Accumulated() string {
	var text strings.Builder
	for _, p := range c.parts {
		text.Write(p.text)
	}
	return text.String()
}

// ToolUses returns the tool calls of the turn, in order.
func (c *Collector) ToolUses() []*ToolUseBlock {
	var calls []*ToolUseBlock
	for _, p := range c.parts {
		if p.tool != nil {
			calls = append(calls, p.tool)
		}
	}
	return calls
}

// SessionID returns the id of the session, as the newest message has it.
func (c *Collector) SessionID() string { return c.session }

// Done reports whether the turn ended with its result.
func (c *Collector) Done() bool { return c.done }

// IsError reports whether the turn ended with a result that is [ResultMessage.Failed].
func (c *Collector) IsError() bool { return c.done && c.result.Failed() }

// Result returns the newest result, or nil. While Done is false, it is the result of the previous
// turn.
func (c *Collector) Result() *ResultMessage { return c.result }

// Duration returns how long the turn of the newest result took.
func (c *Collector) Duration() time.Duration {
	if c.result == nil {
		return 0
	}
	return c.result.Duration.Duration()
}

// CostUSD returns the estimated cost of the session up to the newest result.
func (c *Collector) CostUSD() float64 {
	if c.result == nil {
		return 0
	}
	return c.result.TotalCostUSD
}

// Invalid returns how many frames did not decode since the last Reset.
func (c *Collector) Invalid() int { return c.invalid }

// Reset returns c to its zero state.
func (c *Collector) Reset() { *c = Collector{} }
