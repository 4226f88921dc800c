package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A textPrinter writes what the model says, as it is written, and lines that are
// not JSON, each as it came.
type textPrinter struct {
	screen     *screen
	structured bool   // only the structured output is wanted
	streamed   []byte // what has been written of the block that is being written
	message    string // the message that was last seen complete
	apart      bool   // what is written next begins a line of its own
	said       speech // of the model
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
	case *wire.TextLine:
		return p.line(m.Text)
	case *wire.ResultMessage:
		p.result = m
	}
	return nil
}

// line writes a line that is not JSON.
func (p *textPrinter) line(text string) error {
	if p.structured {
		p.screen.wrote(text)
		return nil
	}
	if err := p.screen.newLine(); err != nil {
		return err
	}
	return p.screen.write(harmless(text) + "\n")
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
		p.said.next()
	}
	p.streamed = append(p.streamed, text...)
	p.said.add(text)
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

// finish writes the result, unless it was said before, and ends the line.
func (p *textPrinter) finish(err error) error {
	if errors.As(err, new(*writeError)) {
		return nil
	}
	if p.result != nil && err == nil {
		if err := p.conclude(p.result); err != nil {
			return &writeError{err}
		}
	}
	if err := p.screen.newLine(); err != nil {
		return &writeError{err}
	}
	return nil
}

func (p *textPrinter) conclude(r *wire.ResultMessage) error {
	text := ""
	switch {
	case p.structured:
		text = string(escapeLine([]byte(r.StructuredOutput)))
	case !p.said.has(r.Result):
		text = harmless(r.Result)
	}
	if text == "" {
		return nil
	}
	if err := p.screen.newLine(); err != nil {
		return err
	}
	return p.screen.write(text)
}

// A framePrinter writes the messages themselves, one per line. What is not JSON is
// left out.
type framePrinter struct{ screen *screen }

func (p *framePrinter) print(msg wire.Message) error {
	switch m := msg.(type) {
	case *wire.KeepAliveMessage:
		return nil
	case *wire.TextLine:
		p.screen.wrote(m.Text)
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
	turn   wire.Collector
	text   textPrinter // writes nowhere
}

func newObjectPrinter(scr *screen) *objectPrinter {
	return &objectPrinter{screen: scr, text: textPrinter{screen: newScreen(Streams{Out: io.Discard, Err: io.Discard})}}
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
	if line, ok := msg.(*wire.TextLine); ok {
		p.screen.wrote(line.Text)
		return nil
	}
	p.turn.Add(msg)
	return p.text.print(msg)
}

func (p *objectPrinter) finish(err error) error {
	line, err := json.Marshal(p.outcome(err))
	if err == nil {
		err = p.screen.write(string(escapeLine(append(line, '\n'))))
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// outcome returns what the result says. Without one, or where it is that of a failure,
// there is what was said until then.
func (p *objectPrinter) outcome(err error) runOutcome {
	o := runOutcome{Result: p.text.said.String(), SessionID: p.turn.SessionID()}
	if r := p.turn.Result(); r != nil && p.turn.Done() {
		if !r.Failed() {
			o.Result = cmp.Or(r.Result, o.Result)
		}
		o.StructuredOutput, o.TotalCostUSD, o.Usage = r.StructuredOutput, r.TotalCostUSD, r.Usage
		o.NumTurns, o.DurationMS = r.NumTurns, r.Duration.Duration().Milliseconds()
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}
