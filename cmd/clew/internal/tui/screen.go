package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
)

// A Frame is the drawn state of a screen.
type Frame struct {
	// Lines are painted, none wider than the screen. A full frame has at most as many as the screen.
	Lines []string
	// Cursor is the cursor's position, or nil if it is hidden.
	Cursor *paint.Cursor
	// Inline means that the lines are drawn below the terminal's output, and not on a separate
	// screen.
	Inline bool
	// Above are lines to print once above an inline frame, where they stay.
	Above []string
	// Title is the title of the window, or "" to leave it.
	Title string
}

// A screen is a part of the interface that has the whole terminal while it is on top. It is passive:
// it does no I/O, but returns commands.
type screen interface {
	// scope names the screen in the table of keys.
	scope() keymap.Scope
	// start returns the first command. It is called once, when the screen is opened.
	start() tea.Cmd
	// do runs an action of the table of keys.
	do(a keymap.Action) tea.Cmd
	// typed handles a key while the screen takes text, as in a filter. It reports false for a key that
	// it has no use for: then the table of keys counts. Screens that take no text return false.
	typed(key tea.KeyPressMsg) (cmd tea.Cmd, used bool)
	// paste handles pasted text.
	paste(text string) tea.Cmd
	// click handles a click at a place of the last frame, and wheel a turn of the wheel by a number
	// of lines, negative upwards.
	click(x, y int) tea.Cmd
	wheel(lines int) tea.Cmd
	// update handles the message that a command of this screen returned.
	update(msg tea.Msg) tea.Cmd
	// draw returns the frame for a terminal of this size.
	draw(width, height int) Frame
	// close ends everything that the screen started.
	close()
}

// A resizer is a screen that does more than redraw when the size of the terminal changes.
type resizer interface{ resized() tea.Cmd }

// A waiter is a screen that has to be waited for after it was closed. The lock is not held.
type waiter interface{ wait() }

// A base holds the parts that all screens share. Embed it, and override methods as needed.
type base struct {
	*app
	ctx    context.Context //nolint:containedctx // it ends with the screen
	cancel context.CancelFunc
}

func newBase(a *app) base {
	ctx, cancel := context.WithCancel(a.ctx)
	return base{app: a, ctx: ctx, cancel: cancel}
}

func (b *base) start() tea.Cmd                        { return nil }
func (b *base) typed(tea.KeyPressMsg) (tea.Cmd, bool) { return nil, false }
func (b *base) paste(string) tea.Cmd                  { return nil }
func (b *base) click(int, int) tea.Cmd                { return nil }
func (b *base) wheel(int) tea.Cmd                     { return nil }
func (b *base) update(tea.Msg) tea.Cmd                { return nil }
func (b *base) close()                                { b.cancel() }

// An answer is the message that a command returned, for the screen that started it.
type answer struct {
	to  screen
	msg tea.Msg
}

// background returns a command that does I/O for a screen, and returns the message for
// screen.update. A nil message is dropped, and so is everything for a screen that was closed.
func background(to screen, io func() tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if msg := io(); msg != nil {
			return answer{to, msg}
		}
		return nil
	}
}
