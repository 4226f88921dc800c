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

	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A textPrinter writes the text of the model as it arrives, and lines that are not JSON.
type textPrinter struct {
	screen     *screen
	structured bool     // write only the structured output
	streamed   []byte   // the written part of an incomplete block
	message    string   // the ID of the last complete message
	apart      bool     // the next text begins a new line
	said       turnText // by the model
	result     *wire.ResultMessage
	stream     *markdown.Stream // lays the block out, on a terminal; nil before it has begun
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
		return p.endBlock()
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
	clean := tty.CleanPieceExactly(p.streamed, text)
	p.streamed = append(p.streamed, text...)
	p.said.add(text)
	if p.screen.terminal == nil {
		return p.screen.write(clean)
	}
	if p.stream == nil {
		p.stream = markdown.NewStream(p.screen.layout())
	}
	return p.screen.grow(p.stream.Add(text), p.stream.Open())
}

// endBlock ends a block that is laid out.
func (p *textPrinter) endBlock() error {
	if p.stream == nil {
		return nil
	}
	rest := p.stream.End()
	p.stream = nil
	defer p.screen.endAnswer()
	return p.screen.grow(rest, nil)
}

// complete writes the rest of the blocks of a complete message.
func (p *textPrinter) complete(m *wire.AssistantMessage) error {
	if len(p.streamed) == 0 && (m.ID == "" || m.ID != p.message) {
		p.apart = true
	}
	p.message = m.ID
	for _, block := range m.Content {
		switch b := block.(type) {
		case *wire.TextBlock:
			if err := p.completeBlock(b.Text); err != nil {
				return err
			}
		case *wire.ToolUseBlock:
			p.apart = true
		}
	}
	return nil
}

// completeBlock writes the rest of a block.
func (p *textPrinter) completeBlock(text string) error {
	rest, begun := strings.CutPrefix(text, string(p.streamed))
	if !begun { // it is another block
		p.apart = true
		if err := p.endBlock(); err != nil {
			return err
		}
	}
	if err := p.grow(rest); err != nil {
		return err
	}
	p.streamed = p.streamed[:0]
	return p.endBlock()
}

// finish writes the result, unless it was written before, and ends the line.
func (p *textPrinter) finish(err error) error {
	if errors.As(err, new(*writeError)) {
		return nil
	}
	if err := p.endBlock(); err != nil {
		return &writeError{err}
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
	if !p.structured && p.screen.terminal != nil {
		return p.screen.grow(markdown.Render(r.Result, p.screen.layout()), nil)
	}
	if err := p.screen.newLine(); err != nil {
		return err
	}
	return p.screen.write(text)
}

// A turnText collects the text of a turn, message by message.
type turnText struct{ text []byte }

func (s *turnText) add(text string) { s.text = append(s.text, text...) }

// next begins another message.
func (s *turnText) next() { s.text = append(s.ended(), '\n') }

// ended returns the text without trailing white space.
func (s *turnText) ended() []byte { return bytes.TrimRight(s.text, " \t\r\n") }

// String returns the text. Each message begins a new line.
func (s *turnText) String() string { return strings.TrimSpace(string(s.text)) }

// has reports whether a text, such as that of a result, is the end of a message or of one of its
// lines, so that it need not be shown again.
func (s *turnText) has(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || bytes.HasSuffix(s.ended(), []byte(text)) || bytes.Contains(s.text, []byte(text+"\n"))
}

// A framePrinter writes the messages as JSON, one per line. It leaves out other lines.
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

// An objectPrinter writes one JSON object at the end.
type objectPrinter struct {
	screen *screen
	turn   wire.Collector
	text   textPrinter // collects the text, and writes nothing
}

func newObjectPrinter(scr *screen) *objectPrinter {
	return &objectPrinter{screen: scr, text: textPrinter{screen: newScreen(Streams{Out: io.Discard, Err: io.Discard})}}
}

// A runOutcome is the object that an objectPrinter writes.
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

// outcome returns the outcome of the result. Without a result, or if the turn failed, it has the
// text up to then.
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

// A screen is stdout and stderr of a run, which may be the same terminal: it never begins a line of
// one within a line of the other. On a terminal, the last line of stderr shows what the agent is
// doing, and for how long. Its methods may be called from several goroutines.
type screen struct {
	out, err io.Writer
	dir      string   // the working directory of the agent, or ""
	shared   bool     // both are terminals, or the same writer
	width    int      // of stderr, or 0 if lines are not cut
	terminal *os.File // stdout, if texts are laid out on it

	mu          sync.Mutex
	midLine     bool // the last line on stdout is not complete
	live        liveRows
	spoke       bool // a line on stderr is the last one on the terminal
	answered    bool // a complete text is
	label       string
	since       time.Time // when the turn began, later by the time that the user took
	pausedAt    time.Time
	frame       int
	visible     bool
	paused      bool
	tools       map[string]string  // names by tool use ID
	misfitKinds map[wire.Kind]bool // kinds of frames that had a field that does not fit
	changed     sync.Cond          // a tool was added, or the label was removed

	stop func() // stops drawing the last line
}

func newScreen(s Streams) *screen {
	scr := &screen{out: s.Out, err: s.Err, shared: s.Out == s.Err, tools: map[string]string{}, stop: func() {}}
	scr.changed.L = &scr.mu
	if out, ok := s.Out.(*os.File); ok && isTerminal(out) && os.Getenv("TERM") != "dumb" {
		scr.terminal = out
	}
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
	if s.label == "" || s.paused || s.shared && (s.midLine || len(s.live.rows) > 0) {
		return
	}
	spokes := []string{"|", "/", "-", `\`}
	s.frame++
	elapsed := time.Since(s.since).Truncate(time.Second)
	line := fmt.Sprintf("%s %.0f s · %s", spokes[s.frame%len(spokes)], elapsed.Seconds(), s.label)
	s.visible = true
	s.toErr(clearLine + fitLine(line, s.width))
}

// close removes the last line from the screen.
func (s *screen) close() {
	s.stop()
	s.idle()
}

// idle says that the agent is not busy any more.
func (s *screen) idle() { s.busy("") }

// busy sets the text of the last line.
func (s *screen) busy(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.label == "" {
		s.since = time.Now() // a turn begins
	}
	s.label = label
	if label == "" {
		clear(s.tools) // their results won't come
		s.changed.Broadcast()
	}
}

// wipe removes the last line until it is drawn again.
func (s *screen) wipe() {
	if s.visible {
		s.visible = false
		s.toErr(clearLine)
	}
}

// toErr ignores errors: the work goes on even if nobody can watch it.
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
	s.midLine, s.spoke, s.answered = !strings.HasSuffix(text, "\n"), false, false
	return s.put(s.live.replace(nil) + text)
}

// put writes to stdout. The lock is held.
func (s *screen) put(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// newLine ends an incomplete line on stdout.
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

// wrote reports a line of the agent that does not belong on stdout.
func (s *screen) wrote(line string) { s.note("the agent wrote: " + clip(line)) }

// brief is like note, but cuts the line to the width of the terminal.
func (s *screen) brief(line string) { s.say(fitLine(printable(line), s.width) + "\n") }

// say writes a text to stderr unchanged, on a new line.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.shared {
		gap := ""
		if s.answered && !strings.HasPrefix(text, "\n") {
			gap = "\n"
		}
		s.spoke, s.answered = true, false
		_ = s.put(s.live.replace(nil) + gap) // the next write to stdout returns the error
	}
	if s.shared && s.midLine {
		s.midLine = false
		_, _ = io.WriteString(s.out, "\n") // the next write to stdout returns the error
	}
	s.toErr(text)
}

// pause hides the last line during a question. The time that the user takes does not count as the
// agent's.
func (s *screen) pause(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if paused {
		s.pausedAt = time.Now()
	} else {
		s.since = s.since.Add(time.Since(s.pausedAt))
	}
	s.paused = paused
}

// follow reports on stderr what the agent does.
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
		s.note(fmt.Sprintf("the API failed (%s); retrying, attempt %d of %d", m.Error, m.Attempt, m.MaxRetries))
	case *wire.InvalidFrame:
		s.note("the agent wrote an invalid frame: " + clip(m.Err.Error()))
	}
	s.misfits(msg)
}

// maxMisfits is how many kinds of frames a run reports for a field that does not fit.
const maxMisfits = 20

// misfits reports the first field that does not fit, once for each kind of frame.
func (s *screen) misfits(msg wire.Message) {
	kind := msg.Kind()
	if s.misfitKinds[kind] || len(s.misfitKinds) == maxMisfits {
		return
	}
	fields := wire.Misfits(msg)
	if len(fields) == 0 {
		return
	}
	if s.misfitKinds == nil {
		s.misfitKinds = map[wire.Kind]bool{}
	}
	s.misfitKinds[kind] = true
	s.note(fmt.Sprintf("the agent wrote a frame of type %s with a field that does not fit: %s", clip(kind.String()), clip(fields[0].Error())))
}

func (s *screen) toolBegins(use *wire.ToolUseBlock, inSubagent bool) {
	line := use.Name
	if summary := transcript.ToolSummaryIn(s.dir, use.Name, use.Input); summary != use.Name {
		line += ": " + clip(summary)
	}
	indent := ""
	if inSubagent {
		indent = "  "
	}
	s.brief(indent + "* " + line)
	s.busy(printable(doing(use.Name, strings.TrimPrefix(strings.TrimPrefix(line, use.Name), ": "))))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools[use.ID] = use.Name
	s.changed.Broadcast()
}

// doing says what the agent does while it uses a tool, of which there is a summary, or "".
func doing(tool, summary string) string {
	verb := map[string]string{
		"Read": "reading", "Edit": "editing", "MultiEdit": "editing", "Write": "writing", "NotebookEdit": "editing",
		"Bash": "running", "Grep": "searching", "Glob": "searching", "WebFetch": "fetching", "WebSearch": "searching",
	}[tool]
	switch {
	case summary == "":
		return tool
	case verb == "":
		return tool + ": " + summary
	}
	return verb + " " + summary
}

// waitForTool waits until the tool use with this ID is on the screen: agents write it right before
// they ask about it, and questions overtake messages. It gives up after the limit, or when the
// agent is not busy.
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

// fitLine cuts a line so that it does not wrap. A width of 0 means no limit.
func fitLine(line string, width int) string {
	if width <= 0 {
		return line
	}
	return tty.Cut(line, width-1)
}
