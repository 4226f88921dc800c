package cli

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// A textPrinter writes what the model says, as it is written.
type textPrinter struct {
	screen     *screen
	structured bool   // only the structured output is wanted
	streamed   []byte // what has been written of the block that is being written
	message    string // the message that was last seen complete
	apart      bool   // what is written next begins a line of its own
	said       bool   // anything has been written
	result     *wire.ResultMessage
}

func (p *textPrinter) print(msg wire.Message) error {
	switch m := msg.(type) {
	case *wire.StreamEventMessage:
		if m.ParentToolUseID == "" {
			return p.event(m.Event)
		}
	case *wire.AssistantMessage:
		if m.ParentToolUseID == "" && !m.APIErrorMessage {
			return p.complete(m)
		}
	case *wire.ResultMessage:
		p.result = m
	}
	return nil
}

func (p *textPrinter) event(event wire.Event) error {
	switch e := event.(type) {
	case *wire.MessageStartEvent:
		p.apart, p.streamed = true, p.streamed[:0]
	case *wire.TextDeltaEvent:
		return p.grow(e.Text)
	}
	return nil
}

// grow writes a piece of a block.
func (p *textPrinter) grow(text string) error {
	if p.structured || text == "" {
		return nil
	}
	if p.apart {
		p.apart = false
		if err := p.screen.newLine(); err != nil {
			return err
		}
	}
	p.streamed = append(p.streamed, text...)
	p.said = true
	return p.screen.write(harmless(text))
}

// complete writes what is missing of the blocks of a message, which are complete.
func (p *textPrinter) complete(m *wire.AssistantMessage) error {
	if len(p.streamed) == 0 && (m.ID == "" || m.ID != p.message) {
		p.apart = true
	}
	p.message = m.ID
	for _, block := range m.Content {
		switch b := block.(type) {
		case *wire.TextBlock:
			rest, begun := strings.CutPrefix(b.Text, string(p.streamed))
			if !begun {
				p.apart = true // it is another block
			}
			if err := p.grow(rest); err != nil {
				return err
			}
			p.streamed = p.streamed[:0]
		case *wire.ToolUseBlock:
			p.apart = true
		}
	}
	return nil
}

// finish writes the result, if nothing has been said before, and ends the line.
func (p *textPrinter) finish(err error) error {
	if errors.As(err, new(*writeError)) {
		return nil
	}
	if r := p.result; r != nil && err == nil {
		text := ""
		switch {
		case p.structured:
			text = string(escapeLine([]byte(r.StructuredOutput)))
		case !p.said:
			text = harmless(r.Result)
		}
		if err := p.screen.write(text); err != nil {
			return &writeError{err}
		}
	}
	if err := p.screen.newLine(); err != nil {
		return &writeError{err}
	}
	return nil
}

// A framePrinter writes the messages themselves, one per line. What is not JSON is
// left out.
type framePrinter struct{ screen *screen }

func (p *framePrinter) print(msg wire.Message) error {
	switch msg.(type) {
	case *wire.KeepAliveMessage, *wire.TextLine:
		return nil
	}
	line := strings.TrimSpace(msg.Raw())
	if line == "" || !json.Valid([]byte(line)) {
		return nil
	}
	return p.screen.write(string(escapeLine([]byte(line + "\n"))))
}

func (p *framePrinter) finish(error) error { return nil }

// An objectPrinter writes one object at the end.
type objectPrinter struct {
	screen *screen
	result *wire.ResultMessage
}

// A runOutcome is that object.
type runOutcome struct {
	Result           string      `json:"result"`
	StructuredOutput wire.JSON   `json:"structured_output,omitempty"`
	SessionID        string      `json:"session_id"`
	TotalCostUSD     float64     `json:"total_cost_usd"`
	Usage            *wire.Usage `json:"usage"`
	NumTurns         int         `json:"num_turns"`
	DurationMS       int64       `json:"duration_ms"`
	Error            string      `json:"error"`
}

func (p *objectPrinter) print(msg wire.Message) error {
	if result, ok := msg.(*wire.ResultMessage); ok {
		p.result = result
	}
	return nil
}

func (p *objectPrinter) finish(err error) error {
	var outcome runOutcome
	if r := p.result; r != nil {
		outcome = runOutcome{
			Result: r.Result, StructuredOutput: r.StructuredOutput, SessionID: r.SessionID, TotalCostUSD: r.TotalCostUSD,
			Usage: r.Usage, NumTurns: r.NumTurns, DurationMS: r.Duration.Duration().Milliseconds(),
		}
	}
	if err != nil {
		outcome.Error = reason(err)
		if failed, ok := errors.AsType[*clew.ResultError](err); ok && failed.Result.IsError {
			outcome.Result = "" // it is the error
		}
	}
	line, err := json.Marshal(outcome)
	if err == nil {
		err = p.screen.write(string(escapeLine(append(line, '\n'))))
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}
