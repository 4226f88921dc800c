package agentcli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A screen is stdout and stderr of a run, which may be the same terminal: it never starts a line of
// one within a line of the other. On a terminal, the last line of stderr shows the agent's activity
// and its duration. Its methods may be called from several goroutines.
type screen struct {
	out, err io.Writer
	dir      string // the working directory of the agent, or ""
	shared   bool   // both are terminals, or the same writer
	width    int    // of stderr, or 0 if lines are not cut
	color    bool   // of stderr
	animated bool   // the last line of stderr can be drawn again
	now      func() time.Time
	// window returns the size of stdout if texts are laid out on it. Otherwise it is nil.
	window      func() (columns, rows int)
	windowColor bool
	plain       bool   // nothing is drawn again, and states are words
	board       board  // shows the lines instead of the streams, or nil
	rest        string // of the last line for the board
	notices

	mu          sync.Mutex
	midLine     bool // the last line on stdout is not complete
	live        clikit.LiveRows
	spoke       bool // a line on stderr is the last one on the terminal
	answered    bool // a complete text is
	label       string
	stopped     bool      // the user interrupted this turn
	since       time.Time // when the turn started, shifted by the time that the user took
	pausedAt    time.Time
	frame       int
	visible     bool
	paused      bool
	calls       map[string]*toolCall // by tool use ID
	begun       int                  // number of calls so far
	current     *toolCall            // the last one, if it has no result yet
	misfitKinds map[wire.Kind]bool   // kinds of frames that had a field that does not fit
	changed     sync.Cond            // a tool was added, or the label was removed

	stop func() // stops drawing the last line
}

// A board shows the lines of a screen, and the agent's activity, together with other things. It is
// called one at a time.
type board interface {
	// show adds final lines, and replaces the open ones.
	show(final, open []string)
	// work sets the agent's activity, or "", and its start.
	work(doing string, since time.Time)
	// notify notifies the user with an escape sequence.
	notify(sequence string)
}

func newScreen(s clikit.Streams) *screen {
	scr := &screen{
		out: s.Out, err: s.Err, shared: s.Out == s.Err, color: clikit.Colored(s.Err), now: clikit.Now,
		calls: map[string]*toolCall{}, stop: func() {},
	}
	scr.changed.L = &scr.mu
	if out, ok := s.Out.(*os.File); ok && clikit.Redraws(out) {
		scr.window, scr.windowColor = func() (int, int) { return termio.Size(out) }, clikit.Colored(out)
	}
	if !clikit.IsTerminal(s.Err) {
		return scr
	}
	scr.shared = clikit.IsTerminal(s.Out)
	scr.width = clikit.TerminalWidth(s.Err)
	if !clikit.Dumb() {
		scr.animated, scr.wanted = true, wantsNotices()
		scr.animate()
	}
	return scr
}

// usePlain makes the screen one of lines: texts are laid out, a block at a time, and nothing is drawn
// again.
func (s *screen) usePlain() {
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.plain, s.animated = true, false
	if out, ok := s.out.(*os.File); ok && clikit.IsTerminal(out) && s.window == nil {
		s.window = func() (int, int) { return termio.Size(out) }
	}
}

// state reports the state of a turn in a word, where it is not drawn.
func (s *screen) state(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plain {
		s.sayLocked(word + "\n")
	}
}

// animate draws the last line until the screen is closed.
func (s *screen) animate() {
	tick := time.NewTicker(clikit.RedrawInterval)
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
	if s.label == "" || s.paused || s.shared && (s.midLine || len(s.live.Rows) > 0) {
		return
	}
	spokes := []string{"|", "/", "-", `\`}
	s.frame++
	s.visible = true
	s.toErr(clikit.ClearLine + s.activity(spokes[s.frame%len(spokes)]))
}

// activity returns the last line: the time of the turn, the agent's activity, and the duration of
// that if it is not the whole turn.
func (s *screen) activity(spoke string) string {
	const notable = 2 * time.Second
	now := s.now()
	head := spoke + " " + wording.Seconds(now.Sub(s.since)) + " · "
	tail := ""
	if s.current != nil {
		if took := now.Sub(s.current.began); took >= notable {
			tail = " (" + wording.Seconds(took) + ")"
		}
		if others := len(s.calls) - 1; others > 0 {
			tail += fmt.Sprintf(" and %d more", others)
		}
	}
	label := s.label
	if room := s.width - 1 - tty.Width(head) - tty.Width(tail); s.width > 0 && room > 0 {
		label = tty.Fit(label, room)
	}
	return clikit.FitLine(head+label+tail, s.width)
}

// close removes the last line from the screen.
func (s *screen) close() {
	s.stop()
	s.idle()
}

// idle notes that the agent is no longer busy.
func (s *screen) idle() { s.busy("") }

// busy sets the text of the last line.
func (s *screen) busy(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.label == "" && label != "" { // a turn starts
		s.since, s.stopped = s.now(), false
		s.acted = s.since
	}
	s.label = label
	if label == "" {
		s.abandonCalls()
		s.changed.Broadcast()
	}
	s.reportWork()
}

// interruptingLabel is the agent's activity after an interrupt.
const interruptingLabel = "interrupting"

// interrupting notes that the agent was interrupted.
func (s *screen) interrupting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	if s.board == nil {
		s.sayLocked("interrupting\n")
		return
	}
	if s.label != "" {
		s.label, s.current = interruptingLabel, nil
		s.reportWork()
	}
}

// reportWork shows the agent's activity on the board.
func (s *screen) reportWork() {
	if s.board == nil {
		return
	}
	label := s.label
	if others := len(s.calls) - 1; s.current != nil && others > 0 {
		label += fmt.Sprintf(" and %d more", others)
	}
	s.board.work(label, s.since)
}

// wipe removes the last line until it is drawn again.
func (s *screen) wipe() {
	if s.visible {
		s.visible = false
		s.toErr(clikit.ClearLine)
	}
}

// toErr ignores errors: the work continues even if nobody can watch it.
func (s *screen) toErr(text string) {
	if s.board != nil {
		s.toBoard(text)
		return
	}
	_, _ = io.WriteString(s.err, text)
}

// toBoard shows the complete lines of a text, after the rest of the previous text.
func (s *screen) toBoard(text string) {
	lines := strings.Split(s.rest+text, "\n")
	s.rest = lines[len(lines)-1]
	if lines = lines[:len(lines)-1]; len(lines) > 0 {
		s.board.show(lines, s.live.Rows)
	}
}

// unlive returns what removes the rows that are not final.
func (s *screen) unlive() string {
	if s.board != nil {
		s.live.Rows = nil
		return ""
	}
	return s.live.Replace(nil)
}

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
	return s.put(s.unlive() + text)
}

// put writes to stdout. The lock is held.
func (s *screen) put(text string) error {
	if s.board != nil {
		s.toBoard(text)
		return nil
	}
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

// note writes a line to stderr. A terminal gets several if it does not fit.
func (s *screen) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	line = clikit.Printable(line)
	if s.width > 0 {
		line = strings.Join(tty.Wrap(line, max(s.width-1, 1)), "\n")
	}
	s.sayLocked(line + "\n")
}

// wrote reports a line of the agent that does not belong on stdout.
func (s *screen) wrote(line string) { s.note("the agent wrote: " + clikit.Clip(line)) }

// say writes a text to stderr unchanged, on a new line.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(text)
}

func (s *screen) sayLocked(text string) {
	s.wipe()
	if s.shared {
		gap := ""
		if s.answered && !strings.HasPrefix(text, "\n") {
			gap = "\n"
		}
		s.spoke, s.answered = true, false
		_ = s.put(s.unlive() + gap) // the next write to stdout returns the error
	}
	if s.shared && s.midLine {
		s.midLine = false
		_ = s.put("\n") // the next write to stdout returns the error
	}
	s.toErr(text)
}

// worksIn sets the agent's directory, and the session's title, or "".
func (s *screen) worksIn(dir, title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir, s.title = dir, title
	if title == "" && dir != "" {
		s.title = filepath.Base(dir)
	}
}

// elapsed returns the time of the turn, without the user's time.
func (s *screen) elapsed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now().Sub(s.since)
}

// conclude writes the last line of a run: clean parts, which take several lines in a narrow window.
func (s *screen) conclude(parts []string) {
	const between = " · "
	room := max(s.width-1, 1)
	line := ""
	for i, part := range parts {
		switch {
		case i == 0:
			line = part
		case tty.Width(line+between+part) <= room:
			line += between + part
		default:
			s.say(tty.Dim.Paint(tty.Fit(line, room), s.color) + "\n")
			line = part
		}
	}
	if line != "" {
		s.say(tty.Dim.Paint(tty.Fit(line, room), s.color) + "\n")
	}
}

// pause hides the last line during a question. The time that the user takes does not count as the
// agent's.
func (s *screen) pause(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if paused {
		s.pausedAt = s.now()
	} else {
		s.since = s.since.Add(s.now().Sub(s.pausedAt))
	}
	s.paused = paused
	s.reportWork()
}

// follow reports the agent's activity on stderr.
func (s *screen) follow(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		for _, block := range m.Content {
			if use, ok := block.(*wire.ToolUseBlock); ok {
				s.toolBegins(use, m.ParentToolUseID)
			}
		}
	case *wire.StreamEventMessage:
		if m.ParentToolUseID == "" {
			s.streams(m.Event)
		}
	case *wire.UserMessage:
		for _, block := range m.Content {
			if result, ok := block.(*wire.ToolResultBlock); ok {
				s.toolEnds(result, m.ToolUseResult)
			}
		}
	case *wire.APIRetryMessage:
		s.note(fmt.Sprintf("the API failed (%s); retrying, attempt %d of %d", m.Error, m.Attempt, m.MaxRetries))
	case *wire.InvalidFrame:
		s.note("the agent wrote an invalid frame: " + clikit.Clip(m.Err.Error()))
	}
	s.misfits(msg)
}

// streams shows the model's activity while an answer arrives.
func (s *screen) streams(event wire.Event) {
	doing := ""
	switch e := event.(type) {
	case *wire.MessageStartEvent, *wire.ThinkingDeltaEvent:
		doing = "thinking"
	case *wire.TextDeltaEvent:
		doing = "writing"
	case *wire.ContentBlockStartEvent:
		switch b := e.ContentBlock.(type) {
		case *wire.TextBlock:
			doing = "writing"
		case *wire.ThinkingBlock, *wire.RedactedThinkingBlock:
			doing = "thinking"
		case *wire.ToolUseBlock:
			doing = clikit.Printable(clikit.Clip(b.Name)) // its input is not there yet
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if doing == "" || doing == s.label || s.current != nil || s.label == "" || s.label == interruptingLabel {
		return
	}
	s.wipe()
	s.label = doing
	s.reportWork()
}

// maxMisfits is the number of frame kinds that a run reports for a field that does not fit.
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
	s.note(fmt.Sprintf("the agent wrote a frame of type %s with a field that does not fit: %s", clikit.Clip(kind.String()), clikit.Clip(fields[0].Error())))
}

// A toolCall is a tool call without a result.
type toolCall struct {
	render.RunningCall
	began  time.Time
	doing  string    // the agent's activity
	parent *toolCall // the call that started its subagent, or nil
	number int       // the position among all calls
}

// toolBegins reports a call. If the last line can be drawn again, it shows the running call, and
// the call's row comes with its outcome: a question about it comes first, and is not a second
// report.
func (s *screen) toolBegins(use *wire.ToolUseBlock, parent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier := s.calls[use.ID]; earlier != nil { // the results of the two can't be distinguished
		s.endCall(earlier)
	}
	s.begun++
	c := &toolCall{began: s.now(), number: s.begun, parent: s.calls[parent]}
	c.Type, c.ToolName, c.ToolID, c.ToolInput = transcript.ItemToolCall, use.Name, use.ID, use.Input
	c.ToolSummary = clikit.Clip(transcript.ToolSummaryIn(s.dir, use.Name, use.Input))
	c.Nested = parent != ""
	s.announceParent(c)
	summary := c.ToolSummary
	if summary == use.Name {
		summary = ""
	}
	if !s.animated {
		s.sayLocked(s.plainRow(c, summary))
	}
	c.doing = clikit.Printable(doing(use.Name, summary))
	s.calls[use.ID] = c
	s.attend(c)
	s.changed.Broadcast()
}

// announceParent writes the row of the call that started the subagent of c, unless it is already
// there, so that it is above the subagent's rows.
func (s *screen) announceParent(c *toolCall) {
	if c.parent == nil {
		return
	}
	c.parent.Calls++
	if s.animated && !c.parent.Announced {
		c.parent.Announced = true
		s.sayLocked(s.rows().Begun(&c.parent.RunningCall))
	}
}

// plainRow returns the line of a call that started, where no line is drawn again.
func (s *screen) plainRow(c *toolCall, summary string) string {
	line := "* " + c.ToolName
	if summary != "" {
		line += ": " + summary
	}
	if c.Nested {
		line = "  " + line
	}
	return clikit.FitLine(clikit.Printable(line), s.width) + "\n"
}

// rows returns the options for writing call rows.
func (s *screen) rows() render.Options {
	o := render.Options{Color: s.color, Dir: s.dir}
	if s.width > 0 {
		o.Width = max(s.width-1, 1)
	}
	return o
}

// attend makes the last line show a call. Nil means none.
func (s *screen) attend(c *toolCall) {
	s.wipe()
	s.current, s.label = c, "thinking"
	if c != nil {
		s.label = c.doing
	}
	s.reportWork()
}

// another returns one of the calls that have no result yet, the latest one if they are few, or nil.
func (s *screen) another() (latest *toolCall) {
	const few = 64
	looked := 0
	for _, c := range s.calls {
		if latest == nil || c.number > latest.number {
			latest = c
		}
		if looked++; looked == few {
			break
		}
	}
	return latest
}

// endCall removes a call, and writes its row.
func (s *screen) endCall(c *toolCall) {
	delete(s.calls, c.ToolID)
	if s.current == c && s.label != "" {
		s.attend(s.another())
	}
	if s.animated {
		c.DurationMs = s.now().Sub(c.began).Milliseconds()
		s.sayLocked(s.rows().Ended(&c.RunningCall))
	}
}

// abandonCalls ends all calls: their results won't come.
func (s *screen) abandonCalls() {
	calls := slices.SortedFunc(maps.Values(s.calls), func(a, b *toolCall) int { return a.number - b.number })
	for _, c := range calls {
		c.Interrupted = s.stopped
		s.endCall(c)
	}
	s.current = nil
}

// doing describes the agent's activity while it uses a tool. The summary may be "".
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
	ctx, cancel := context.WithTimeout(ctx, ToolLimit)
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

func (s *screen) has(call string) bool { return s.calls[call] != nil }

// decided notes that a question about a call was answered. Its time starts now.
func (s *screen) decided(id string, allowed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[id]; c != nil {
		c.began, c.Denied = s.now(), !allowed
	}
}

// refused reports that a call was denied without a question, and why. Its result adds nothing.
func (s *screen) refused(id, tool, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls[id]
	if c == nil || !s.animated {
		s.sayLocked(clikit.Printable("! "+tool+" denied: "+reason) + "\n")
	}
	if c != nil {
		c.began, c.Denied, c.Reason = s.now(), true, reason
		s.endCall(c)
	}
}

func (s *screen) toolEnds(result *wire.ToolResultBlock, structured wire.JSON) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[result.ToolUseID]; c != nil {
		c.HasResult, c.ToolError, c.Structured = true, result.Failed(), structured
		if c.ToolError {
			c.ToolResult = result.Text()
		}
		s.endCall(c)
		if c.ToolError && !s.animated {
			s.sayLocked(clikit.FitLine(clikit.Printable("! "+c.ToolName+failureOf(c)), s.width) + "\n")
		}
	}
	if len(s.calls) == 0 && s.label != "" {
		s.attend(nil)
	}
}

// failureOf describes the failure of a call in a line.
func failureOf(c *toolCall) string {
	if c.Denied {
		return " denied"
	}
	first, _, _ := strings.Cut(strings.TrimSpace(c.ToolResult), "\n")
	return " failed: " + clikit.Clip(first)
}

// layout returns how texts are laid out on the terminal.
func (s *screen) layout() markdown.Options {
	width, _ := s.window()
	return markdown.Options{Width: max(width-1, 1), Color: s.windowColor, Links: s.windowColor && termio.KnowsLinks(os.Getenv("TERM"), os.Getenv("TERM_PROGRAM"))}
}

// grow writes final lines to the terminal, and shows open rows below them. An empty line separates
// them from earlier reports.
func (s *screen) grow(final, open []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared {
		s.wipe()
	}
	width, height := s.window()
	if s.plain {
		open = nil
	}
	open = clikit.LastRows(open, width, height)
	rows := slices.Concat(final, open)
	if s.board != nil {
		s.growOnBoard(final, open)
		return nil
	}
	if len(rows) == 0 {
		return s.put(s.live.Replace(nil))
	}
	text := ""
	if len(s.live.Rows) == 0 && (s.spoke || s.answered || s.midLine) {
		text = "\n"
	}
	s.spoke, s.answered, s.midLine = false, false, false
	text += s.live.Replace(rows)
	if s.live.Rows = open; len(open) == 0 {
		text += "\n"
	}
	return s.put(text)
}

// growOnBoard is grow for a board.
func (s *screen) growOnBoard(final, open []string) {
	if len(final)+len(open) > 0 {
		if len(s.live.Rows) == 0 && (s.spoke || s.answered || s.midLine) {
			final = append([]string{""}, final...)
		}
		s.spoke, s.answered, s.midLine = false, false, false
	}
	s.live.Rows = open
	s.board.show(final, open)
}

// endAnswer notes that a text is complete: an empty line separates it from the following output.
func (s *screen) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = s.shared
}
