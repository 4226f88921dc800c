package transcript

import (
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// assistant classifies an entry of an answer. A text that the agent made up in the model's place is
// not an answer: see made.
func (c *classifier) assistant(e *Entry) (ClassifiedMsg, string) {
	m := e.Message
	if m == nil {
		return nil, noiseEmpty
	}
	msg := &AIMsg{
		Timestamp: e.Timestamp, MessageID: m.ID, RequestID: e.RequestID, Model: m.Model, StopReason: m.StopReason,
		Blocks: c.blocks(m.Content), Block: e.Block, Complete: e.Version != "",
	}
	if m.Usage != nil {
		msg.Usage = *m.Usage
	}
	msg.readBlocks()
	if m.Model == entrylex.SyntheticModel {
		return made(e, msg.Text)
	}
	return msg, ""
}

// made classifies an answer that the agent made up: the user wants to see errors, and nothing else.
func made(e *Entry, text string) (ClassifiedMsg, string) {
	if text == "" || !e.IsAPIErrorMessage && !strings.HasPrefix(text, "API Error") {
		return nil, "synthetic"
	}
	return &SystemMsg{Timestamp: e.Timestamp, Output: text, IsError: true}, ""
}

// readBlocks fills in the fields that depend on the blocks. Blocks of other kinds stay in Blocks
// alone.
func (m *AIMsg) readBlocks() {
	var texts []string
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *wire.TextBlock:
			if b.Text != "" {
				texts = append(texts, b.Text)
			}
		case *wire.ToolUseBlock:
			m.addCall(b.ID, b.Name)
		case *wire.ServerToolUseBlock:
			m.addCall(b.ID, b.Name)
		case *wire.MCPToolUseBlock:
			m.addCall(b.ID, b.Name)
		default:
			if kind := b.BlockType(); kind == "thinking" || kind == "redacted_thinking" {
				m.ThinkingCount++
			}
		}
	}
	m.Text = strings.Join(texts, "\n")
}

// addCall adds a call that can be named. One without an ID or a name stays in the blocks.
func (m *AIMsg) addCall(id, name string) {
	if id != "" && name != "" {
		m.ToolCalls = append(m.ToolCalls, ToolCall{id, name})
	}
}

// results returns the message for tool results. For a digest, it leaves them as parts, which saves
// decoding the blocks.
func (c *classifier) results(e *Entry) *AIMsg {
	if c.lean {
		if parts, ok := c.resultParts(e.Message.Content); ok {
			c.parts = parts
			return c.sentBack(e, nil)
		}
	}
	return c.sentBack(e, c.blocks(e.Message.Content))
}

// sentBack returns the message for content that went back to the model: tool results, and text that
// the agent added. It has no text, so that nobody takes it for an answer.
func (c *classifier) sentBack(e *Entry, blocks wire.Content) *AIMsg {
	msg := &AIMsg{
		Timestamp: e.Timestamp, IsMeta: true, Blocks: blocks, SourceToolUseID: e.SourceToolUseID,
		Permission: e.Permission, Sandboxed: e.Sandboxed,
	}
	msg.readResult(e, c.maxResult)
	return msg
}

// readResult fills in the fields that depend on a structured tool result. A result longer
// than limit is not kept. The few members that matter for long results are taken in any case.
func (m *AIMsg) readResult(e *Entry, limit int) {
	result := e.ToolUseResult
	if string(result) == "null" {
		return
	}
	if limit < 0 || len(result) <= limit {
		m.ToolUseResult = wire.JSON(result)
	}
	facts := e.facts
	if !facts.read {
		facts = readFacts(result)
	}
	m.AgentID, m.ResultStatus, m.PersistedOutputPath = facts.agent, facts.status, facts.spill
	switch end := facts.patchAt + len(facts.patch); {
	case len(facts.patch) == 0:
	case m.ToolUseResult != "": // whose memory it shares
		m.Patch = m.ToolUseResult[facts.patchAt:end]
	default:
		m.Patch = exactPatch(result, facts.patch)
	}
}

// readString reads the value that comes next if it is a string.
func readString(l *jsonlex.Lexer, to *string) {
	if l.Peek() == '"' {
		*to = l.String()
		return
	}
	l.Skip()
}
