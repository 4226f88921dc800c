package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A textPrinter writes what the model says, as it is written, and lines that are
// not JSON, each as it came.
type textPrinter struct {
	screen     *screen
	structured bool     // only the structured output is wanted
	streamed   []byte   // what has been written of the block that is being written
	message    string   // the message that was last seen complete
	apart      bool     // what is written next begins a line of its own
	said       turnText // of the model
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
	return p.screen.write(cleanText(text) + "\n")
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
	return p.screen.write(cleanText(text))
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
		text = cleanText(r.Result)
	}
	if text == "" {
		return nil
	}
	if err := p.screen.newLine(); err != nil {
		return err
	}
	return p.screen.write(text)
}

// A speech is what was said in a turn, message by message.
type turnText struct{ text []byte }

func (s *turnText) add(text string) { s.text = append(s.text, text...) }

// next says that another message begins.
func (s *turnText) next() { s.text = append(s.ended(), '\n') }

// ended is the text without white space at its end.
func (s *turnText) ended() []byte { return bytes.TrimRight(s.text, " \t\r\n") }

// String returns what was said, each message on lines of its own.
func (s *turnText) String() string { return strings.TrimSpace(string(s.text)) }

// has reports whether a text, such as that of a result, is the end of a message, or
// of a line of one: then there is no need to say it again.
func (s *turnText) has(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || bytes.HasSuffix(s.ended(), []byte(text)) || bytes.Contains(s.text, []byte(text+"\n"))
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
	Result           string    `json:"result"`
	StructuredOutput wire.JSON `json:"structured_output,omitempty"`
	SessionID        string    `json:"session_id"`
	TotalCostUSD     float64   `json:"total_cost_usd"`
	Usage            wire.JSON `json:"usage"` // all of it, unknown fields included
	NumTurns         int       `json:"num_turns"`
	DurationMS       int64     `json:"duration_ms"`
	Error            string    `json:"error"`
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
		o.StructuredOutput, o.TotalCostUSD, o.Usage = r.StructuredOutput, r.TotalCostUSD, usageOf(r)
		o.NumTurns, o.DurationMS = r.NumTurns, r.Duration.Duration().Milliseconds()
	}
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

// usageOf returns the usage of a result as the agent has written it, or "" if there is none.
func usageOf(r *wire.ResultMessage) wire.JSON {
	var members struct {
		Usage wire.JSON `json:"usage"`
	}
	if frame, err := wire.Append(nil, r); err == nil {
		_ = json.Unmarshal(frame, &members)
	}
	return members.Usage
}

// A screen is stdout and stderr of a run, which may be the same terminal: a line
// of one does not begin within a line of the other. On a terminal, stderr ends in a
// line that says what the agent is busy with, and for how long. Its methods may be
// called from several goroutines.
type screen struct {
	out, err io.Writer
	shared   bool // both are terminals, or the same
	width    int  // of stderr, or 0 where lines are not cut

	mu      sync.Mutex
	midLine bool // the last byte on stdout did not end a line
	label   string
	since   time.Time
	frame   int
	visible bool
	paused  bool
	tools   map[string]string // names by id of the call
	changed sync.Cond         // tools has grown, or the label is gone

	stop func() // has the last line not drawn any more
}

func newScreen(s Streams) *screen {
	scr := &screen{out: s.Out, err: s.Err, shared: s.Out == s.Err, tools: map[string]string{}, stop: func() {}}
	scr.changed.L = &scr.mu
	if !isTerminal(s.Err) {
		return scr
	}
	scr.shared = isTerminal(s.Out)
	scr.width = terminalWidth(s.Err)
	if os.Getenv("TERM") != "dumb" {
		scr.animate()
	}
	return scr
}

// animate draws the last line until the screen is closed.
func (s *screen) animate() {
	tick := time.NewTicker(redrawInterval)
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		for {
			select {
			case <-tick.C:
				s.draw()
			case <-done:
				return
			}
		}
	})
	s.stop = sync.OnceFunc(func() {
		tick.Stop()
		close(done)
		drawing.Wait()
	})
}

func (s *screen) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.label == "" || s.paused || s.shared && s.midLine {
		return
	}
	spokes := []string{"|", "/", "-", `\`}
	s.frame++
	elapsed := time.Since(s.since).Truncate(time.Second)
	line := fmt.Sprintf("%s %v %s", spokes[s.frame%len(spokes)], elapsed, s.label)
	s.visible = true
	s.toErr(clearLine + fitLine(line, s.width))
}

// close takes the last line off the screen.
func (s *screen) close() {
	s.stop()
	s.rest()
}

// rest says that the agent is not busy any more.
func (s *screen) rest() { s.busy("") }

// busy sets what the agent is busy with.
func (s *screen) busy(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.label, s.since = label, time.Now()
	if label == "" {
		clear(s.tools) // the results of those that are left won't come
		s.changed.Broadcast()
	}
}

// wipe takes the last line away until it is drawn again.
func (s *screen) wipe() {
	if s.visible {
		s.visible = false
		s.toErr(clearLine)
	}
}

// toErr ignores errors: work does not stop because nobody can watch it.
func (s *screen) toErr(text string) { _, _ = io.WriteString(s.err, text) }

// write writes to stdout.
func (s *screen) write(text string) error {
	if text == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared {
		s.wipe()
	}
	s.midLine = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(s.out, text)
	return err
}

// newLine ends the line on stdout, if there is one.
func (s *screen) newLine() error {
	s.mu.Lock()
	open := s.midLine
	s.mu.Unlock()
	if open {
		return s.write("\n")
	}
	return nil
}

// note writes a line to stderr.
func (s *screen) note(line string) { s.say(printable(line) + "\n") }

// wrote tells of a line of the agent that has no place on stdout.
func (s *screen) wrote(line string) { s.note("the agent wrote: " + clip(line)) }

// brief is note for a line that may be cut.
func (s *screen) brief(line string) { s.say(fitLine(printable(line), s.width) + "\n") }

// say writes to stderr as it is, below what is on stdout.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.shared && s.midLine {
		s.midLine = false
		_, _ = io.WriteString(s.out, "\n") // the next write to stdout tells of an error
	}
	s.toErr(text)
}

// pause keeps the last line away, for a question. How long the user thinks does not
// count as time that the agent takes.
func (s *screen) pause(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.paused, s.since = paused, time.Now()
}

// follow tells on stderr what the agent does.
func (s *screen) follow(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		for _, block := range m.Content {
			if use, ok := block.(*wire.ToolUseBlock); ok {
				s.toolBegins(use, m.ParentToolUseID != "")
			}
		}
	case *wire.UserMessage:
		for _, block := range m.Content {
			if result, ok := block.(*wire.ToolResultBlock); ok {
				s.toolEnds(result)
			}
		}
	case *wire.APIRetryMessage:
		s.note(fmt.Sprintf("the API failed (%s); attempt %d of %d follows", m.Error, m.Attempt, m.MaxRetries))
	case *wire.InvalidFrame:
		s.note("the agent wrote a broken frame: " + clip(m.Err.Error()))
	}
}

func (s *screen) toolBegins(use *wire.ToolUseBlock, inSubagent bool) {
	line := use.Name
	if summary := transcript.ToolSummary(use.Name, use.Input); summary != use.Name {
		line += ": " + clip(summary)
	}
	indent := ""
	if inSubagent {
		indent = "  "
	}
	s.brief(indent + "* " + line)
	s.busy(printable(line))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools[use.ID] = use.Name
	s.changed.Broadcast()
}

// awaitTool waits until the call with this id is on the screen: agents tell of a call
// right before they ask about it, and questions overtake messages. It does not wait for
// one that is not told of while the agent is not busy, or within the limit.
func (s *screen) waitForTool(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.has(id) && s.label != "" && ctx.Err() == nil {
		s.changed.Wait()
	}
}

func (s *screen) has(call string) bool {
	_, known := s.tools[call]
	return known
}

func (s *screen) toolEnds(result *wire.ToolResultBlock) {
	s.mu.Lock()
	name, known := s.tools[result.ToolUseID]
	delete(s.tools, result.ToolUseID)
	left := len(s.tools)
	s.mu.Unlock()
	if known && result.Failed() {
		first, _, _ := strings.Cut(strings.TrimSpace(result.Text()), "\n")
		s.brief("! " + name + " failed: " + clip(first))
	}
	if left == 0 {
		s.busy("thinking")
	}
}

// fitLine keeps a line from wrapping. A width of 0 leaves it as it is.
func fitLine(line string, width int) string {
	if width <= 0 {
		return line
	}
	return render.Cut(line, width-1)
}
