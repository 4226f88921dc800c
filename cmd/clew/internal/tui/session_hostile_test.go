package tui

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// screensOf returns the screens for a recorded session, by name.
func screensOf(t *testing.T, path string) map[string]screen {
	t.Helper()
	tr := readSession(t, path)
	open := func(mode foldMode) *sessionScreen {
		s := openTranscript(t, tr)
		s.info.Summary = sessions.Summary{CustomTitle: firstPrompt(tr)}
		s.list.setMode(mode)
		return s
	}
	found := open(foldUsual)
	runAll(found, found.findWords("e"))
	waits := open(foldUsual)
	waits.takeRunning(&sessions.RunningSession{Status: "waiting", WaitingFor: "\x1b]0;x\a\u202e" + strings.Repeat("long ", 50)})
	waits.list.begin()
	for i := range waits.list.items {
		waits.list.items[i].fresh = true
	}
	waits.list.countFresh(0)
	failed := open(foldUsual)
	failed.err = errFake
	failed.snapshot.Loading, failed.snapshot.Done, failed.snapshot.Total = true, 1<<30, 2<<30
	screens := map[string]screen{
		"usual": open(foldUsual), "folded": open(foldAll), "unfolded": open(foldNone), "found": found, "waits": waits, "failed": failed,
	}
	s := open(foldUsual)
	s.width, s.height = 80, 24
	for kind := range panelCount {
		p := newPanel(s, kind)
		runAll(p, p.start())
		screens[panelNames[kind]] = p
	}
	d := newDiff(s, "", 0)
	runAll(d, d.start())
	screens["diff"] = d
	for i := range s.layout.rows.Len() {
		r := s.layout.rows.At(i)
		for _, tab := range s.layout.options(80).RowTabs(r) {
			row := newRow(s, r.ID, tab.Name).(*rowScreen) //nolint:forcetypeassert // it is one
			row.update(filledMsg{tab: render.TabRaw, entries: [][]byte{[]byte(wire.JSON(`{"a":"\u001b[31m\u202e` + "\x1b[2J" + `"}`))}})
			screens[string(r.ID)+string(tab.Name)] = row
		}
	}
	return screens
}

// runAll runs a screen's command, and the commands that follow.
func runAll(s screen, cmd tea.Cmd) {
	for cmd != nil {
		msg, ok := cmd().(answer)
		if !ok {
			return
		}
		cmd = s.update(msg.msg)
	}
}

// checkFits draws a screen, and checks that it fits and that a terminal obeys nothing of it but
// styles and links.
func checkFits(t *testing.T, name string, s screen, width, height int) {
	t.Helper()
	f := s.draw(width, height)
	if len(f.Lines) > height {
		t.Fatalf("%s: %d lines in a height of %d", name, len(f.Lines), height)
	}
	for _, line := range f.Lines {
		if n := tty.PaintedWidth(line); n > width {
			t.Fatalf("%s: %d columns in a width of %d: %q", name, n, width, line)
		}
		plain, inks := unpaint(line)
		for _, r := range plain {
			if !tty.IsVisible(r) && r != '\u200d' && r != '\ufe0f' {
				t.Fatalf("%s: %q has %q", name, line, r)
			}
		}
		for _, ink := range inks {
			if !strings.HasPrefix(ink.sequence, "\x1b]8;;") && strings.Trim(ink.sequence, "\x1b[0123456789;m") != "" {
				t.Fatalf("%s: %q has the sequence %q", name, line, ink.sequence)
			}
		}
	}
	if c := f.Cursor; c != nil && (c.X < 0 || c.X >= width || c.Y < 0 || c.Y >= height) {
		t.Fatalf("%s: the cursor is at %+v of %d, %d", name, *c, width, height)
	}
}

// Every screen fits every terminal, and nothing in a transcript reaches it as a command.
func TestSessionFits(t *testing.T) {
	t.Parallel()
	paths := []string{"../cli/testdata/hostile/transcript.jsonl", "../demo/recording/past/uploader/transcript.jsonl"}
	recorded, _ := filepath.Glob("../../../../transcript/testdata/recorded/*/transcript.jsonl")
	if len(recorded) == 0 {
		t.Fatal("no recorded transcripts")
	}
	for n, path := range append(paths, recorded...) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Parallel()
			screens := screensOf(t, path)
			for i, name := range slices.Sorted(maps.Keys(screens)) {
				s, step := screens[name], 1
				if _, isRow := s.(*rowScreen); isRow {
					step = soak.Size(10, 1) // there are many, which share the widths
				}
				if n >= len(paths) {
					step = soak.Size(23, 7) // the others have nothing special
				}
				for width := 1 + i%step; width <= 200; width += step {
					checkFits(t, name, s, width, 1+(width*7)%60)
				}
				for height := 1 + i%step; height <= 60; height += step {
					checkFits(t, name, s, 80, height)
				}
			}
		})
	}
}

// Whatever is done in a session, nothing panics and every frame fits.
func TestSessionRandomly(t *testing.T) {
	t.Parallel()
	var actions []keymap.Action
	for _, b := range keymap.Bindings {
		switch b.Action {
		case keymap.Help, keymap.Palette, keymap.Suspend, keymap.Quit, keymap.Repaint, keymap.SearchAll, keymap.SearchThis, keymap.Resume, keymap.Continue:
		default:
			actions = append(actions, b.Action)
		}
	}
	for seed := range soak.Size(10, 200) {
		random := rand.New(rand.NewPCG(uint64(seed), 5)) //nolint:gosec // a test
		path := []string{"../cli/testdata/hostile/transcript.jsonl", "../demo/recording/past/uploader/transcript.jsonl"}[seed%2]
		s := openTranscript(t, readSession(t, path))
		s.width, s.height = 80, 24
		for range 300 {
			top := s.top()
			switch random.IntN(8) {
			case 0:
				s.width, s.height = 1+random.IntN(200), 1+random.IntN(60)
			case 1:
				runAll(top, top.click(random.IntN(s.width), random.IntN(s.height)))
			case 2:
				runAll(top, top.wheel(random.IntN(20)-10))
			case 3:
				cmd, _ := top.typed(tea.KeyPressMsg{Text: "e", Code: 'e'})
				runAll(top, cmd)
			default:
				cmd := top.do(actions[random.IntN(len(actions))])
				if len(s.stack) == 0 { // it was left
					s.stack = []screen{s}
				} else if s.top() == top {
					runAll(top, cmd)
				} else {
					runAll(s.top(), cmd)
				}
			}
			checkFits(t, fmt.Sprintf("seed %d", seed), s.top(), s.width, s.height)
		}
	}
}
