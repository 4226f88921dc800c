package transcript

import (
	"time"

	"github.com/clewdev/clew/wire"
)

// A digest is what chunks need of a message, and all that a builder keeps of it. It is never changed: chunks can be
// built from it again, and share its strings.
type digest struct {
	at          wire.Position // of its line, as far as that is known
	time        time.Time
	msg         ClassifiedMsg // unless it is an answer or an interruption
	answer      *answerDigest
	interrupted bool
}

// An answerDigest is what chunks need of an [AIMsg].
type answerDigest struct {
	message     string // the ID that the lines of one answer share
	model, stop string
	usage       Usage
	meta        bool
	parts       []part

	// What the message says of itself without having the blocks for it.

	thinking int
	text     string
	calls    []ToolCall
}

// A part is what chunks need of a block.
type part struct {
	kind    partKind
	failed  bool   // of a result
	images  int    // in a result
	id      string // of a call, of the call that a result is for, or of the one that injected a text
	text    string
	call    *callDigest
	outcome *outcome // what a result says beside its text; nil if nothing
}

type partKind uint8

const (
	partThinking partKind = iota
	partText              // of the answer
	partOther             // a block that is neither text nor known, as text
	partCall
	partResult
	partInjected
)

type callDigest struct {
	name, summary              string
	input                      wire.JSON
	subagentType, subagentDesc string
}

type outcome struct {
	structured, patch      wire.JSON
	agentID, status, spill string
}

// newDigest takes from a message what chunks need. The message's blocks are not needed afterwards. Its strings are
// taken as they are: they must not hold on to longer ones, as those of a decoder that keeps raw text do.
func newDigest(msg ClassifiedMsg, at wire.Position) *digest {
	d := &digest{at: at, time: msg.Time()}
	if m, ok := msg.(*AIMsg); ok {
		d.answer = newAnswer(m)
	} else {
		d.msg = msg
	}
	return d
}

// newInterruption returns the digest of a line that says that the user stopped the agent.
func newInterruption(at wire.Position, when time.Time) *digest {
	return &digest{at: at, time: when, interrupted: true}
}

func newAnswer(m *AIMsg) *answerDigest {
	return newAnswerOf(m, nil)
}

// newAnswerOf returns the digest of a message, with parts that stand for its blocks.
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

func (a *answerDigest) has(kind partKind) bool {
	for i := range a.parts {
		if a.parts[i].kind == kind {
			return true
		}
	}
	return false
}

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

func (a *answerDigest) takeOther(block wire.Block, from string) {
	p := part{kind: partOther, text: otherText(block)}
	if a.meta {
		p.kind, p.id = partInjected, from
	}
	a.parts = append(a.parts, p)
}

// otherText describes a block that nothing else is known of.
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

func (a *answerDigest) takeCall(id, name string, input wire.JSON) {
	c := &callDigest{name: name, input: input, summary: ToolSummary(name, input)}
	if startsSubagent(name) {
		c.subagentType, c.subagentDesc = subagentOf(input)
	}
	a.parts = append(a.parts, part{kind: partCall, id: id, call: c})
}

// takeOutcome gives what the message says of a result to the one that it is about: that of its source, else the first.
func (a *answerDigest) takeOutcome(m *AIMsg) {
	o := outcome{m.ToolUseResult, m.Patch, m.AgentID, m.ResultStatus, m.PersistedOutputPath}
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
