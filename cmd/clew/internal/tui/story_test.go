package tui

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/termtest"
	"github.com/clewdev/clew/internal/polltest"
)

// A story is a user at a terminal in memory, connected to the whole interface. It reads like the
// user's actions and observations:
//
//	s := tell(t, source, 80, 24, first)
//	s.press("/").types("hyphen").see("2 of 3")
//	s.press("enter").selected("Bash")
type story struct {
	t    *testing.T
	app  *app
	term *termtest.Terminal
	keys *os.File
	done chan struct{} // closed when the program ends
	err  error         // how it ended

	mu        sync.Mutex
	resized   func()
	suspended atomic.Bool // the program was, and the screen of the shell was shown
}

// storyTime is the current time in stories.
var storyTime = time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)

// storyOptions returns the default options of stories.
func storyOptions() Options {
	return Options{
		Color: true, Lines: true, Mouse: true, Zone: time.UTC, Now: func() time.Time { return storyTime }, Dir: "/home/dev",
	}
}

// tell starts a story on a terminal of some size, with the screen that first makes.
func tell(t *testing.T, source Source, columns, rows int, first func(*app) screen) *story {
	t.Helper()
	return tellWith(t, storyOptions(), source, columns, rows, first)
}

// tellWith is like tell, with options.
func tellWith(t *testing.T, opts Options, source Source, columns, rows int, first func(*app) screen) *story {
	t.Helper()
	in, keys, err := os.Pipe() // a file, so that reading can be stopped while another program has the terminal
	if err != nil {
		t.Fatal(err)
	}
	s := &story{
		t: t, app: &app{opts: opts, src: source}, term: termtest.New(columns, rows), keys: keys, done: make(chan struct{}),
	}
	before := s.term.Modes()
	terminal := Terminal{
		In: in, Out: s.term, Size: s.term.Size,
		OnResize: func(f func()) (stop func()) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.resized = f
			return func() {}
		},
		Raw: func() (func() error, error) { return func() error { return nil }, nil },
		Suspend: func() {
			s.suspended.Store(true)
			_, _ = s.term.WriteString("suspended\r\n")
		},
	}
	go func() {
		defer close(s.done)
		s.err = run(t.Context(), terminal, s.app, first)
		_ = in.Close()
	}()
	t.Cleanup(func() {
		_ = keys.Close()
		<-s.done // the context of the test is done
		if s.err != nil && !errors.Is(s.err, context.Canceled) {
			t.Errorf("the program ended with %v", s.err)
		}
		if diff := cmp.Diff(before, s.term.Modes()); diff != "" {
			t.Errorf("the terminal was not restored (-before +after):\n%s", diff)
		}
		if unknown := s.term.Unknown(); unknown != nil {
			t.Errorf("sequences that no terminal needs to know: %q", unknown)
		}
	})
	return s
}

// keyBytes maps keys to the bytes that terminals send for them.
var keyBytes = map[string]string{
	"enter": "\r", "esc": "\x1b[27u", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"pgup": "\x1b[5~", "pgdown": "\x1b[6~", "delete": "\x1b[3~", "alt+enter": "\x1b\r", "shift+enter": "\x1b[13;2u",
}

// press presses keys by their names, such as "j", "enter" or "ctrl+f".
func (s *story) press(keys ...string) *story {
	s.t.Helper()
	for _, key := range keys {
		text, ok := keyBytes[key]
		if letter, ctrl := strings.CutPrefix(key, "ctrl+"); ctrl && len(letter) == 1 {
			text, ok = string(letter[0]&0x1f), true
		}
		if !ok && len([]rune(key)) != 1 {
			s.t.Fatalf("no key is named %q", key)
		} else if !ok {
			text = key
		}
		s.send(text)
	}
	return s
}

// types types a text.
func (s *story) types(text string) *story {
	s.t.Helper()
	s.send(text)
	return s
}

// pastes pastes a text.
func (s *story) pastes(text string) *story {
	s.t.Helper()
	s.send("\x1b[200~" + text + "\x1b[201~")
	return s
}

func (s *story) send(bytes string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keys, bytes); err != nil {
		s.t.Fatalf("the program reads no keys: %v\n%s", err, s.term.Text())
	}
}

// clicks clicks on a text on the screen, a number of columns after its start.
func (s *story) clicks(text string, after int) *story {
	s.t.Helper()
	s.see(text)
	_, rows := s.term.Size()
	for y := range rows {
		if before, _, ok := strings.Cut(s.term.Line(y), text); ok {
			x := len([]rune(before)) + after
			s.send("\x1b[<0;" + itoa(x+1) + ";" + itoa(y+1) + "M\x1b[<0;" + itoa(x+1) + ";" + itoa(y+1) + "m")
			return s
		}
	}
	return s
}

// turns turns the wheel by a number of steps, upwards if it is negative.
func (s *story) turns(steps int) *story {
	s.t.Helper()
	for range max(steps, -steps) {
		button := "65"
		if steps < 0 {
			button = "64"
		}
		s.send("\x1b[<" + button + ";2;3M")
	}
	return s
}

// resize changes the size of the terminal.
func (s *story) resize(columns, rows int) *story {
	s.t.Helper()
	s.term.Resize(columns, rows)
	s.mu.Lock()
	resized := s.resized
	s.mu.Unlock()
	if resized != nil {
		resized()
	}
	return s
}

// storyLimit is the time limit of waiting in a story.
const storyLimit = polltest.Limit

// waits waits for a condition, which may be about more than the screen.
func (s *story) waits(what string, holds func() bool) *story {
	s.t.Helper()
	var held bool
	polltest.Eventually(func() bool {
		select {
		case <-s.done: // nothing more comes
			held = holds()
			return true
		default:
			held = s.term.Whole() && holds()
			return held
		}
	})
	if !held {
		s.t.Fatalf("%s; the screen is:\n%s", what, s.screenshot())
	}
	return s
}

// screenshot returns the screen in a frame.
func (s *story) screenshot() string {
	columns, _ := s.term.Size()
	rule := "+" + strings.Repeat("-", columns) + "+\n"
	return rule + s.term.Text() + rule
}

// see waits until all texts are on the screen.
func (s *story) see(texts ...string) *story {
	s.t.Helper()
	for _, text := range texts {
		s.waits("the screen does not show "+text, func() bool { return strings.Contains(s.term.Text(), text) })
	}
	return s
}

// order waits until all texts are on the screen, each below the one before.
func (s *story) order(texts ...string) *story {
	s.t.Helper()
	return s.waits("not below each other: "+strings.Join(texts, ", "), func() bool {
		rest := s.term.Text()
		for _, text := range texts {
			_, below, found := strings.Cut(rest, text)
			if !found {
				return false
			}
			_, rest, _ = strings.Cut(below, "\n")
		}
		return true
	})
}

// unseen waits until none of the texts is on the screen.
func (s *story) unseen(texts ...string) *story {
	s.t.Helper()
	for _, text := range texts {
		s.waits("the screen still shows "+text, func() bool { return !strings.Contains(s.term.Text(), text) })
	}
	return s
}

// selected waits until a selected line has a text.
func (s *story) selected(text string) *story {
	s.t.Helper()
	return s.waits("not selected: "+text, func() bool {
		for line := range strings.Lines(s.term.Text()) {
			if (strings.HasPrefix(line, "▌") || strings.HasPrefix(line, ">")) && strings.Contains(line, text) {
				return true
			}
		}
		return false
	})
}

// copied waits until the last text in the clipboard has a text.
func (s *story) copied(text string) *story {
	s.t.Helper()
	return s.waits("not copied: "+text, func() bool {
		clipboard := s.term.Clipboard()
		return len(clipboard) > 0 && strings.Contains(clipboard[len(clipboard)-1], text)
	})
}

// ends waits until the program ends.
func (s *story) ends() {
	s.t.Helper()
	_ = s.keys.Close()
	select {
	case <-s.done:
	case <-time.After(storyLimit):
		s.t.Fatalf("the program does not end; the screen is:\n%s", s.screenshot())
	}
}

func itoa(n int) string { return strconv.Itoa(n) }
