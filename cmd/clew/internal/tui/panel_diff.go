package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A diffScreen shows the file changes of a session or a job.
type diffScreen struct {
	base
	what    string                                // is shown, clean
	title   func() string                         // of the window
	load    func() ([]transcript.FileDiff, error) // reads the changes
	options func(width int) render.Options
	diffs   []transcript.FileDiff
	err     error // why they can't be shown
	ready   bool
	pager   pager
	split   bool
	width   int // for which the text is laid out
}

// newDiff returns a screen with the changes of a session: in all files or one, in all turns or one.
func newDiff(s *sessionScreen, path string, turn int) screen {
	t := s.snapshot.Transcript
	return &diffScreen{
		base: newBase(s.app), title: s.title, options: s.layout.options, split: s.width >= minForOutline,
		what: diffTitle(s.layout.dir, path, turn),
		load: func() ([]transcript.FileDiff, error) { return diffsOf(t, path, turn), nil },
	}
}

func (d *diffScreen) scope() keymap.Scope { return keymap.InRow }

// A diffsMsg has the changes that a diffScreen shows.
type diffsMsg struct {
	diffs []transcript.FileDiff
	err   error
}

func (d *diffScreen) start() tea.Cmd {
	d.pager.height = max(d.height-2, 1)
	load := d.load
	return background(d, func() tea.Msg {
		diffs, err := load()
		return diffsMsg{diffs, err}
	})
}

// diffsOf returns the changes of a file, or of all, in a turn, or in all. Those of a file are
// together.
func diffsOf(t *transcript.Transcript, path string, turn int) (diffs []transcript.FileDiff) {
	chunks := t.Chunks
	if turn > 0 {
		chunks = transcript.InTurns(chunks, turn, turn)
	}
	for _, file := range transcript.Diffs(chunks) {
		if path != "" && file.Path != path {
			continue
		}
		for i := range file.Calls {
			diffs = append(diffs, file.Calls[i].FileDiff)
		}
	}
	return diffs
}

func (d *diffScreen) update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case diffsMsg:
		d.diffs, d.err, d.ready, d.width = msg.diffs, msg.err, true, 0
		return d.resized()
	case scanMsg:
		return d.pager.scan(d, msg.started)
	case sayMsg:
		d.say(string(msg))
	}
	return nil
}

// resized lays the diffs out again, and repeats the search in them.
func (d *diffScreen) resized() tea.Cmd {
	d.lay(max(d.app.width, 1))
	return d.pager.scan(d, d.pager.finder.started)
}

// lay lays the diffs out for a width.
func (d *diffScreen) lay(width int) {
	if !d.ready || d.width == width {
		return
	}
	d.width = width
	d.pager.replace(d.options(width).DiffText(d.diffs, d.split), width)
}

func (d *diffScreen) do(a keymap.Action) tea.Cmd {
	if d.pager.move(a) {
		return nil
	}
	switch a {
	case keymap.Back, keymap.Close:
		if d.pager.finder.text != "" {
			d.pager.finder.clear()
			return nil
		}
		return d.leave(a)
	case keymap.NextHunk, keymap.PreviousHunk:
		if !d.pager.stop(render.StopHunk, a == keymap.PreviousHunk) {
			d.say("no other change")
		}
	case keymap.NextGroup, keymap.PreviousGroup:
		if !d.pager.stop(render.StopFile, a == keymap.PreviousGroup) {
			d.say("no other file")
		}
	case keymap.Preview:
		d.split, d.width = !d.split, 0
		return d.resized()
	case keymap.Find:
		d.pager.beginFind()
	case keymap.NextMatch:
		d.pager.nextMatch(1)
	case keymap.PreviousMatch:
		d.pager.nextMatch(-1)
	case keymap.Copy, keymap.CopyMore:
		d.copy(d.text(), "the diff")
	case keymap.OpenOutside:
		return d.showText(d, d.text, "changes.diff")
	}
	return nil
}

// text returns the changes as other programs read them.
func (d *diffScreen) text() string {
	var b strings.Builder
	for i := range d.diffs {
		b.WriteString(d.diffs[i].String())
	}
	return b.String()
}

func (d *diffScreen) typed(key tea.KeyPressMsg) (tea.Cmd, bool) { return d.pager.typed(d, key) }

func (d *diffScreen) paste(text string) tea.Cmd {
	if !d.pager.finder.typing {
		return nil
	}
	d.pager.finder.field.insert(strings.TrimSpace(text))
	return d.pager.retype(d)
}

func (d *diffScreen) wheel(lines int) tea.Cmd {
	d.pager.top += lines
	d.pager.clamp()
	return nil
}

// diffTitle describes the changes that are shown.
func diffTitle(dir, path string, turn int) string {
	of := "the session"
	if turn > 0 {
		of = "turn " + wording.Number(turn)
	}
	if path == "" {
		return "Changes in " + of
	}
	return tty.Line(render.RelativePath(dir, path)) + " in " + of
}

func (d *diffScreen) draw(width, height int) Frame {
	d.lay(width)
	frame := newFrame(d.title(), height)
	body := d.pager.draw(frame.room(), d.opts.Color)
	switch {
	case !d.ready:
		body = []string{tty.Dim.Paint(tty.Cut("reading …", width), d.opts.Color)}
	case d.err != nil:
		body = nil
		for _, line := range wrapLines(tty.Line(d.err.Error()), width) {
			body = append(body, tty.Failure.Paint(line, d.opts.Color))
		}
	case len(d.diffs) == 0:
		body = []string{tty.Dim.Paint(tty.Fit("nothing was changed", width), d.opts.Color)}
	}
	where := tty.Dim.Paint(d.pager.where(), d.opts.Color)
	title := tty.Title.Paint(tty.Fit(d.what, max(width-tty.PaintedWidth(where)-3, 1)), d.opts.Color)
	line, cursor := d.footer(&d.pager.finder, keymap.InRow, width)
	return frame.fill(joinColumns(" "+title, where+" ", width), body, line, cursor)
}
