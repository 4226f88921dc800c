package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/termio"
	"github.com/clewdev/clew/internal/tty"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// restorer returns a function that restores the terminal when the program ends at once: it leaves
// raw mode and begins a new line.
func restorer(s Streams) (restoreAll func()) {
	restore := func() {}
	if in, ok := s.In.(*os.File); ok {
		if before, err := term.GetState(int(in.Fd())); err == nil {
			restore = func() { _ = term.Restore(int(in.Fd()), before) } // there is nothing else to try
		}
	}
	return func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			restore()
			if isTerminal(s.Err) {
				modes, _ := terminalModes.Load().(string)
				_, _ = io.WriteString(s.Err, modes+"\n") // nor here
			}
		}()
		select {
		case <-done:
		case <-time.After(tidyLimit):
		}
	}
}

// terminalModes is the string that resets what the program has changed of its terminal.
var terminalModes atomic.Value

// terminalWidth returns the number of columns of a terminal.
func terminalWidth(stream any) int {
	if f, ok := stream.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// colorChoices are the values of --color and of the setting color.
var colorChoices = []string{"auto", "always", "never"}

// A colorFlag is the value of --color, or "" if it was not given.
type colorFlag string

// givenColor is the value of --color. Like the variables about color it is one of the process, so
// that an error about the other flags has its color as well.
var givenColor colorFlag

// addColorFlag adds --color to all commands.
func addColorFlag(root *cobra.Command) {
	root.PersistentFlags().Var(&givenColor, "color", "use color: auto (on a terminal), always or never")
	_ = root.RegisterFlagCompletionFunc("color", completeList(colorChoices)) // it fails only for unknown flags
}

// Type names the value in the help.
func (c *colorFlag) Type() string { return "when" }

func (c *colorFlag) String() string { return string(*c) }

// Set reads one of the choices.
func (c *colorFlag) Set(text string) error {
	if !slices.Contains(colorChoices, text) {
		return errors.New("must be auto, always or never")
	}
	*c = colorFlag(text)
	return nil
}

// colored reports whether output to a stream is colored.
func colored(stream any) bool {
	color, _ := decideColor(givenColor, os.Getenv, isTerminal(stream))
	return color
}

// decideColor reports whether output has colors, and what decided it: a flag, a setting or a
// variable, or "" for the terminal itself.
func decideColor(flag colorFlag, getenv func(string) string, terminal bool) (color bool, by string) {
	choice, by := getenv("CLEW_COLOR"), "the setting color"
	if flag != "" {
		choice, by = string(flag), "--color"
	}
	if choice == "always" || choice == "never" {
		return choice == "always", by
	}
	if getenv("NO_COLOR") != "" {
		return false, "NO_COLOR"
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if value := getenv(name); value != "" && value != "0" {
			return true, name
		}
	}
	if getenv("CLICOLOR") == "0" {
		return false, "CLICOLOR"
	}
	return terminal && getenv("TERM") != "dumb", ""
}

// textWidth returns the width for text: that of the terminal or, without one, COLUMNS or otherwise.
func textWidth(stream any, otherwise int) int {
	if isTerminal(stream) {
		return terminalWidth(stream)
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// A progress is a line on a terminal that shows how much has been read. A nil progress draws
// nothing.
type progress struct {
	w     io.Writer
	width int
	total int64 // bytes to read, or -1
	now   func() time.Time

	read    int64
	started time.Time
	drawn   time.Time // when the line was last drawn, or could have been
	visible bool
}

const (
	redrawInterval = 100 * time.Millisecond
	barCells       = 20
	clearLine      = tty.ClearLine
)

func newProgress(w io.Writer, total int64, now func() time.Time) *progress {
	started := now()
	return &progress{w: w, width: terminalWidth(w), total: total, now: now, started: started, drawn: started}
}

// set sets the number of bytes that have been read, and redraws the line if it is time.
func (p *progress) set(read int64) {
	if p == nil {
		return
	}
	p.read = read
	now := p.now()
	if now.Sub(p.drawn) < redrawInterval {
		return
	}
	p.drawn = now
	p.visible = true
	p.print(clearLine + p.fit(p.line(now.Sub(p.started))))
}

// clear removes the line from the screen.
func (p *progress) clear() {
	if p == nil || !p.visible {
		return
	}
	p.visible = false
	p.print(clearLine)
}

// print ignores errors: the work goes on even if nobody can watch it.
func (p *progress) print(text string) { _, _ = io.WriteString(p.w, text) }

// fit cuts the line so that it does not wrap: a wrapped line could not be cleared.
func (p *progress) fit(line string) string { return line[:max(0, min(len(line), p.width-1))] }

func (p *progress) line(elapsed time.Duration) string {
	rate := float64(p.read) / elapsed.Seconds()
	speed := tty.Size(int64(rate)) + "/s"
	if p.total <= 0 {
		return fmt.Sprintf("%s  %s", tty.Size(p.read), speed)
	}
	done := min(1, float64(p.read)/float64(p.total))
	cells := int(done * barCells)
	bar := strings.Repeat("#", cells) + strings.Repeat("-", barCells-cells)
	line := fmt.Sprintf("[%s] %3.0f%%", bar, done*100)
	parts := []string{tty.Size(p.read) + " of " + tty.Size(p.total), speed}
	if left := p.total - p.read; left > 0 && rate > 0 {
		parts = append(parts, fmt.Sprintf("%v left", time.Duration(float64(left)/rate*1e9).Round(time.Second)))
	}
	for _, part := range parts {
		if len(line)+2+len(part) >= p.width {
			break
		}
		line += "  " + part
	}
	return line
}

// An activity is a line on a terminal that says what takes so long. It appears after a second. A
// nil activity draws nothing.
type activity struct {
	w     io.Writer
	begun time.Time
	done  chan struct{}
	drawn sync.WaitGroup

	mu      sync.Mutex
	doing   string
	visible bool
}

// startActivity begins an activity, or returns nil if w is not a terminal that can clear a line.
func startActivity(w io.Writer, doing string) *activity {
	if !isTerminal(w) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	return newActivity(w, doing)
}

func newActivity(w io.Writer, doing string) *activity {
	a := &activity{w: w, doing: doing, begun: time.Now(), done: make(chan struct{})}
	tick := time.NewTicker(time.Second)
	a.drawn.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				a.draw()
			case <-a.done:
				return
			}
		}
	})
	return a
}

func (a *activity) draw() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.visible = true
	line := fmt.Sprintf("%s, %.0f s", a.doing, time.Since(a.begun).Seconds())
	_, _ = io.WriteString(a.w, clearLine+fitLine(line, terminalWidth(a.w))) // nobody may be watching
}

// now says what is being done from now on.
func (a *activity) now(doing string) {
	if a == nil {
		return
	}
	a.mu.Lock()
	a.doing = doing
	visible := a.visible
	a.mu.Unlock()
	if visible {
		a.draw()
	}
}

// hide removes the line until it is drawn again.
func (a *activity) hide() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.visible {
		a.visible = false
		_, _ = io.WriteString(a.w, clearLine)
	}
}

// end removes the line. It may be called again.
func (a *activity) end() {
	if a == nil {
		return
	}
	select {
	case <-a.done:
		return
	default:
	}
	close(a.done)
	a.drawn.Wait()
	a.hide()
}

// A pager is the program that shows long output on a terminal, page by page. It is that of
// CLEW_PAGER, or else of PAGER, or else less. It starts with the first write, so that an error needs
// no page.
type pager struct {
	streams Streams
	cmd     *exec.Cmd
	pipe    io.WriteCloser
	failed  bool // it did not start: the output goes to the terminal itself
}

// newPager returns a pager for the output of a command, or nil if the output is not for a person
// who reads it page by page.
func newPager(s Streams) *pager {
	kind := os.Getenv("TERM")
	if !isTerminal(s.Out) || kind == "" || kind == "dumb" || pagerCommand() == "" {
		return nil
	}
	return &pager{streams: s}
}

// pagerCommand returns the command of the pager, or "" for none. The value "cat" means none, as it
// does to other programs.
func pagerCommand() string {
	for _, name := range []string{"CLEW_PAGER", "PAGER"} {
		if command, ok := os.LookupEnv(name); ok {
			if command = strings.TrimSpace(command); command == "cat" {
				return ""
			}
			return command
		}
	}
	if runtime.GOOS == "windows" {
		return ""
	}
	return "less"
}

// Write writes to the pager, or to the terminal if there is none.
func (p *pager) Write(text []byte) (int, error) {
	if p.pipe == nil && !p.failed {
		p.start()
	}
	if p.failed {
		return p.streams.Out.Write(text)
	}
	return p.pipe.Write(text)
}

// start starts the pager. Once it runs, an interrupt is for the pager alone: it ends when the reader
// says so.
func (p *pager) start() {
	p.failed = true
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	// It ends when its reader leaves it, and not with the command.
	cmd := exec.CommandContext(context.Background(), shell[0], shell[1], pagerCommand()) //nolint:gosec // the user's own variable
	cmd.Stdout, cmd.Stderr = p.streams.Out, p.streams.Err
	cmd.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX"), "LV="+cmp.Or(os.Getenv("LV"), "-c"))
	pipe, err := cmd.StdinPipe()
	if err != nil || missing(pagerCommand()) || cmd.Start() != nil {
		return
	}
	signal.Ignore(os.Interrupt)
	p.cmd, p.pipe, p.failed = cmd, pipe, false
}

// missing reports whether the program of a command can't be found.
func missing(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	_, err := exec.LookPath(program)
	return err != nil
}

// close waits until the reader has left the pager.
func (p *pager) close() {
	if p == nil || p.pipe == nil {
		return
	}
	_ = p.pipe.Close() // the pager may be gone
	_ = p.cmd.Wait()   // its exit code says nothing about the output
}

// liveRows are the last rows on a terminal, which are not final: the block of an answer that is being
// written. They are drawn again when the block grows, and removed before anything else is written.
type liveRows struct {
	rows []string
}

// replace returns what turns the rows on the screen into others. It leaves the rows that stay as
// they are alone, and only adds to one that goes on. The cursor is at the end of the last row before
// and after.
func (l *liveRows) replace(rows []string) string {
	same := 0
	for same < len(rows) && same < len(l.rows) && rows[same] == l.rows[same] {
		same++
	}
	old := l.rows
	l.rows = rows
	if same == len(old) { // nothing is to be removed
		return below(same, rows[same:])
	}
	if same == len(old)-1 && same < len(rows) {
		if more, grows := strings.CutPrefix(rows[same], old[same]); grows {
			return more + below(same+1, rows[same+1:])
		}
	}
	var b strings.Builder
	for range len(old) - same - 1 {
		b.WriteString(clearLine + tty.Up(1))
	}
	b.WriteString(clearLine)
	switch {
	case same < len(rows):
		b.WriteString(strings.Join(rows[same:], "\n"))
	case same > 0: // the last row that stays is drawn again, to get to its end
		b.WriteString(tty.Up(1) + clearLine + rows[same-1])
	}
	return b.String()
}

// below returns rows that follow others, if there are any.
func below(above int, rows []string) string {
	if above == 0 || len(rows) == 0 {
		return strings.Join(rows, "\n")
	}
	return "\n" + strings.Join(rows, "\n")
}

// lastRows returns as many of the last rows as a terminal can redraw, cut to its width.
func lastRows(rows []string, width, height int) []string {
	rows = rows[max(0, len(rows)-max(height-2, 1)):]
	fitted := make([]string, len(rows))
	for i, row := range rows {
		fitted[i] = row
		if tty.PaintedWidth(row) >= width {
			fitted[i] = tty.CutPainted(row, max(width-1, 1))
		}
	}
	return fitted
}

// layout returns how texts are laid out on the terminal.
func (s *screen) layout() markdown.Options {
	width, _ := s.window()
	return markdown.Options{Width: max(width-1, 1), Color: s.windowColor, Links: s.windowColor && knowsLinks(os.Getenv("TERM"), os.Getenv("TERM_PROGRAM"))}
}

// knowsLinks reports whether a terminal may show links (OSC 8). Of those that surely don't, a reader
// would not see where a link leads.
func knowsLinks(terminal, program string) bool {
	for _, old := range []string{"linux", "dumb", "screen", "vt", "cons"} {
		if strings.HasPrefix(terminal, old) {
			return false
		}
	}
	return program != "Apple_Terminal"
}

// grow writes lines that are final to the terminal, and shows rows below them that are not. An empty
// line sets them apart from what was reported before.
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
	open = lastRows(open, width, height)
	rows := slices.Concat(final, open)
	if s.board != nil {
		s.growOnBoard(final, open)
		return nil
	}
	if len(rows) == 0 {
		return s.put(s.live.replace(nil))
	}
	text := ""
	if len(s.live.rows) == 0 && (s.spoke || s.answered || s.midLine) {
		text = "\n"
	}
	s.spoke, s.answered, s.midLine = false, false, false
	text += s.live.replace(rows)
	if s.live.rows = open; len(open) == 0 {
		text += "\n"
	}
	return s.put(text)
}

// growOnBoard is grow for a board.
func (s *screen) growOnBoard(final, open []string) {
	if len(final)+len(open) > 0 {
		if len(s.live.rows) == 0 && (s.spoke || s.answered || s.midLine) {
			final = append([]string{""}, final...)
		}
		s.spoke, s.answered, s.midLine = false, false, false
	}
	s.live.rows = open
	s.board.show(final, open)
}

// endAnswer says that a text is complete: an empty line sets it apart from what follows.
func (s *screen) endAnswer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered = s.shared
}

// The size of a terminal that does not tell its own.
const defaultColumns, defaultRows = 80, 24

// terminalSize returns the numbers of columns and rows of a terminal.
func terminalSize(f *os.File) (columns, rows int) {
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = defaultColumns
	}
	if err != nil || rows <= 0 {
		rows = defaultRows
	}
	return columns, rows
}

// screenSize returns the columns and rows of a terminal.
func screenSize(stream any) (columns, rows int) {
	if f, ok := stream.(*os.File); ok {
		return terminalSize(f)
	}
	return defaultColumns, defaultRows
}

// A watch is the part of a terminal that --watch draws on.
type watch struct {
	w       io.Writer
	size    func() (columns, rows int)
	resized chan struct{}
	now     func() time.Time
	after   func(time.Duration) <-chan time.Time
	panel   tty.Panel
}

func newWatch(w io.Writer) *watch {
	return &watch{
		w: w, size: func() (int, int) { return screenSize(w) }, resized: make(chan struct{}, 1),
		now: time.Now, after: time.After,
	}
}

const (
	watchInterval = 2 * time.Second
	// watchShare is how many times as long as reading takes --watch waits at least.
	watchShare = 10
)

// run calls show again and again until the context ends, draws its text, and waits in between. It
// draws the text again if the terminal has got another size.
func (s *watch) run(ctx context.Context, show func() (string, error)) error {
	defer termio.OnResize(func() {
		select {
		case s.resized <- struct{}{}:
		default: // it is known already
		}
	})()
	for {
		started := s.now()
		text, err := show()
		if err != nil {
			return err
		}
		if err := s.draw(text); err != nil {
			return outputError(err)
		}
		select {
		case <-ctx.Done():
			return errStopped()
		case <-s.after(max(watchInterval, watchShare*s.now().Sub(started))):
		case <-s.resized:
			if err := s.fit(); err != nil {
				return outputError(err)
			}
		}
	}
}

// draw replaces the last drawing.
func (s *watch) draw(text string) error {
	columns, rows := s.size()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	_, err := io.WriteString(s.w, s.panel.Draw(lines, columns, rows))
	return err
}

// fit draws what is there again, after the terminal has got another size.
func (s *watch) fit() error {
	_, err := io.WriteString(s.w, s.panel.Redraw(s.size()))
	return err
}
