package tui

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/term"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
)

// A Terminal is the terminal that shows the interface.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	// Size returns the numbers of columns and rows.
	Size func() (columns, rows int)
	// Cuts means that the terminal cuts lines when it becomes narrower, as few do. Others wrap
	// them.
	Cuts bool
	// OnResize calls a function whenever the size changes, until stop is called.
	OnResize func(func()) (stop func())
	// Raw turns off the terminal's own handling of keys, until restore is called.
	Raw func() (restore func() error, err error)
	// Suspend stops the program until it is continued. Nil means that it can't be.
	Suspend func()
	// OnSuspend calls one function when the system asks the program to stop, and another when it was
	// continued, until stop is called. It may be nil.
	OnSuspend func(suspended, continued func()) (stop func())
}

// A display shows frames on a terminal.
type display struct {
	terminal Terminal
	mouse    bool
	send     func(tea.Msg) // to the program
	restore  func() error  // nil if the terminal is not ours
	full     paint.Full
	inline   paint.Inline
	isFull   bool // the terminal shows its other screen
	title    string
	extra    string      // to be written with the next frame
	shown    time.Time   // when the last frame was shown
	later    *time.Timer // shows the next one
	err      error       // of the first write that failed
}

// The modes that the interface needs. On terminals that support it, the keyboard protocol
// distinguishes Escape from the start of a sequence, and Shift-Enter from Enter.
const (
	setPaste   = "\x1b[?2004h"
	setModes   = setPaste + "\x1b[>1u"
	resetModes = "\x1b[<u\x1b[?2004l"
	setMouse   = "\x1b[?1002h\x1b[?1006h"
	resetMouse = "\x1b[?1006l\x1b[?1002l"
	otherPage  = "\x1b[?1049h"
	mainPage   = "\x1b[?1049l"
)

// take makes the terminal ours.
func (d *display) take() error {
	restore, err := d.terminal.Raw()
	if err != nil {
		return err
	}
	d.restore = restore
	d.write(setModes)
	return nil
}

// leave gives the terminal back as it was. An inline frame is removed, or left if keep is set.
func (d *display) leave(keep bool) error {
	if d.restore == nil {
		return d.err
	}
	if d.later != nil {
		d.later.Stop()
		d.later = nil // or the next frame would wait for it
	}
	d.shown = time.Time{}
	switch {
	case d.isFull:
		d.page(false)
	case keep:
		d.write(d.inline.Finish())
	default:
		d.write(d.clear() + "\x1b[?25h")
	}
	d.write(resetModes)
	err := errors.Join(d.err, d.restore())
	d.restore = nil
	return err
}

// page switches between the shell's screen and ours.
func (d *display) page(full bool) {
	if full == d.isFull {
		return
	}
	d.isFull = full
	d.full.Reset()
	switch {
	case full:
		d.write(d.clear() + otherPage)
		if d.mouse {
			d.write(setMouse)
		}
	default:
		if d.mouse {
			d.write(resetMouse)
		}
		d.write("\x1b[?25h" + mainPage)
	}
}

// clear returns the sequence that removes an inline frame, even if the terminal was resized since.
func (d *display) clear() string { return d.inline.Resized(d.terminal.Size()) + d.inline.Clear() }

// forget makes the next frame be drawn whole.
func (d *display) forget() {
	d.full.Reset()
	d.shown = time.Time{}
}

// frameTime is the minimum time between two frames.
const frameTime = 8 * time.Millisecond

// A frameMsg makes the program draw.
type frameMsg struct{}

// show draws a frame, unless the last one was shown just now: then the next one comes a little later.
func (d *display) show(draw func(width, height int) Frame, width, height int) {
	if d.restore == nil {
		return
	}
	if wait := frameTime - time.Since(d.shown); wait > 0 {
		if d.later == nil {
			d.later = time.AfterFunc(wait, func() { d.send(frameMsg{}) })
		}
		return
	}
	if d.later != nil {
		d.later.Stop()
		d.later = nil
	}
	if columns, rows := d.terminal.Size(); !d.isFull && columns > 0 && rows > 0 {
		// An inline frame for another size can't be removed exactly. The message about this one comes later.
		width, height = columns, rows
	}
	d.draw(draw(width, height), width, height)
	d.shown = time.Now()
}

func (d *display) draw(f Frame, width, height int) {
	d.page(!f.Inline)
	d.write(d.extra)
	d.extra = ""
	if f.Title != "" && f.Title != d.title {
		d.title = f.Title
		d.write("\x1b]2;" + tty.Line(f.Title) + "\x1b\\")
	}
	if f.Inline {
		d.write(d.inline.Resized(width, height) + d.inline.Draw(f.Above, f.Lines, f.Cursor, width))
		return
	}
	d.write(d.full.Draw(f.Lines, f.Cursor, width, height))
}

func (d *display) write(text string) {
	if text == "" || d.err != nil {
		return
	}
	if _, err := io.WriteString(d.terminal.Out, text); err != nil {
		d.err = err
	}
}

// maxCopied is the maximum number of bytes to copy. Terminals drop longer texts, some of them much
// shorter ones.
const maxCopied = 1 << 20

// copy puts an untrusted text into the user's clipboard, through the terminal (OSC 52), and names
// it in a notice.
func (a *app) copy(text, what string) {
	if len(text) > maxCopied {
		a.say(what + " is too long to be copied")
		return
	}
	a.display.extra += "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(tty.CleanExactly(text))) + "\x1b\\"
	a.say("copied " + what)
}

type runner = view.Runner

// A handover is a tea.ExecCommand: it gives the terminal to another program, and takes it back.
type handover struct {
	display *display
	program func() (runner, error)
}

// SetStdin does nothing: the program has its own files.
func (h *handover) SetStdin(io.Reader) {}

// SetStdout does nothing.
func (h *handover) SetStdout(io.Writer) {}

// SetStderr does nothing.
func (h *handover) SetStderr(io.Writer) {}

// Run runs the program at the terminal.
func (h *handover) Run() error {
	program, err := h.program()
	if err != nil {
		return err
	}
	if err := h.display.leave(false); err != nil {
		return err
	}
	h.display.isFull = false
	err = program.Run()
	// A program that is stopped does not hear of a new size.
	columns, rows := h.display.terminal.Size()
	go h.display.send(tea.WindowSizeMsg{Width: columns, Height: rows}) // this is the program's loop
	return errors.Join(err, h.display.take())
}

// A runnerFunc is a function that has the terminal.
type runnerFunc func()

// Run calls the function.
func (f runnerFunc) Run() error { f(); return nil }

// Messages about the program itself.
type (
	suspendMsg  struct{} // it is asked to stop
	continueMsg struct{} // it was stopped and continues, perhaps with a terminal that others changed
)

// retake makes the terminal ours again after the program was stopped without a chance to leave it.
func (d *display) retake() {
	if d.restore == nil {
		return
	}
	if _, err := d.terminal.Raw(); err != nil && d.err == nil {
		d.err = err
	}
	d.write(setPaste)
	if full := d.isFull; full {
		d.isFull = false
		d.page(true)
	}
	d.forget()
}

// suspend stops the program until the shell continues it.
func (a *app) suspend() tea.Cmd {
	stop := a.display.terminal.Suspend
	if stop == nil {
		return nil
	}
	return tea.Exec(&handover{display: a.display, program: func() (runner, error) { return runnerFunc(stop), nil }},
		func(error) tea.Msg { return frameMsg{} })
}

// run shows the screen that first returns until the user leaves it.
func run(ctx context.Context, t Terminal, a *app, first func(*app) screen) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if a.opts.Keys == nil {
		a.opts.Keys = keymap.Default()
	}
	if a.opts.Now == nil {
		a.opts.Now = time.Now
	}
	a.ctx = ctx
	a.width, a.height = t.Size()
	a.display = &display{terminal: t, mouse: a.opts.Mouse, inline: paint.Inline{Cuts: t.Cuts}}
	root := first(a) // the only one that may be a waiter
	a.stack = []screen{root}
	p := tea.NewProgram(model{a}, tea.WithInput(inputOf(t.In)), tea.WithOutput(io.Discard),
		tea.WithWindowSize(a.width, a.height), tea.WithoutRenderer(), tea.WithFPS(1), tea.WithoutSignalHandler())
	a.display.send = p.Send
	if err := a.display.take(); err != nil {
		return err
	}
	// A program with a context does not wait for the key reader, which would keep reading.
	defer context.AfterFunc(ctx, p.Quit)()
	stop := t.OnResize(func() {
		columns, rows := t.Size()
		p.Send(tea.WindowSizeMsg{Width: columns, Height: rows})
	})
	stopJobs := func() {}
	if t.OnSuspend != nil {
		stopJobs = t.OnSuspend(func() { p.Send(suspendMsg{}) }, func() { p.Send(continueMsg{}) })
	}
	_, err := p.Run()
	stop()
	stopJobs()
	for _, s := range a.stack {
		s.close()
	}
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	err = errors.Join(err, a.display.leave(true))
	if w, ok := root.(waiter); ok { // its readers may hang, and a terminal that was left can interrupt the program
		w.wait()
	}
	return err
}

// joinColumns returns a line with a text at each end.
func joinColumns(left, right string, width int) string {
	gap := width - tty.PaintedWidth(left) - tty.PaintedWidth(right)
	if gap < 1 {
		return tty.CutPainted(left, width)
	}
	return left + strings.Repeat(" ", gap) + right
}

// TerminalOf returns the terminal of two of its files.
func TerminalOf(in, out *os.File) Terminal {
	return Terminal{
		In: in, Out: out, OnResize: termio.OnResize, Suspend: termio.Suspend, OnSuspend: termio.OnSuspend, Cuts: termio.CutsLines(os.Getenv),
		Size: func() (columns, rows int) { return termio.Size(out) },
		Raw: func() (func() error, error) {
			fd := int(in.Fd())
			before, err := term.MakeRaw(fd)
			if err != nil {
				return nil, err
			}
			return func() error {
				termio.Discard(in) // unread keys and mouse reports
				return term.Restore(fd, before)
			}, nil
		},
	}
}
