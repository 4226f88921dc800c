package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/compose"
	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

// A testChat is a chat driven by the test. Time is the synctest bubble's.
type testChat struct {
	*chat
	t    *testing.T
	msgs chan tea.Msg
	open []*ask.Question

	// Recorded effects of the chat.
	sent       []string
	kept       []string
	answers    map[string]ask.Answer
	interrupts int
	modes      int
	ended      []bool
}

func newTestChat(t *testing.T) *testChat {
	t.Helper()
	c := &testChat{t: t, msgs: make(chan tea.Msg, 1000), answers: map[string]ask.Answer{}}
	ctx, cancel := context.WithCancel(t.Context())
	mail := NewMailbox()
	t.Cleanup(func() {
		cancel()
		mail.Close()
	})
	a := &app{ctx: ctx, opts: Options{Keys: keymap.Default(), Now: time.Now}, width: 80, height: 24}
	a.display = &display{terminal: Terminal{Out: io.Discard}}
	c.chat = newChat(a, c, ChatOptions{Mail: mail, History: compose.NewHistory([]string{"earlier prompt"})})
	a.stack = []screen{c.chat}
	c.run(c.start())
	c.post(func(n *News) {
		n.Idle = true
		n.Status = Status{Model: "opus-5-5", Mode: "default", Context: "context 61 %", Cost: "$1.84"}
	})
	return c
}

// run runs a command beside the test.
func (c *testChat) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, cmd := range msg {
				c.run(cmd)
			}
		default:
			c.msgs <- msg
		}
	}()
}

// settle handles the messages that arrived.
func (c *testChat) settle() {
	for {
		synctest.Wait()
		select {
		case msg := <-c.msgs:
			c.run(model{c.app}.handle(msg))
			c.draw(c.width, c.height)
		default:
			return
		}
	}
}

// wait lets time pass.
func (c *testChat) wait(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		time.Sleep(min(time.Until(end), 50*time.Millisecond))
		c.settle()
	}
	c.settle()
}

func (c *testChat) post(change func(*News)) {
	c.mail.Post(change)
	c.settle()
}

// asks asks a question.
func (c *testChat) asks(q *ask.Question) {
	c.open = append(c.open, q)
	c.postQuestions()
}

func (c *testChat) withdraws(q *ask.Question) {
	c.open = slices.DeleteFunc(c.open, func(o *ask.Question) bool { return o == q })
	c.postQuestions()
}

func (c *testChat) postQuestions() {
	open := slices.Clone(c.open)
	c.post(func(n *News) { n.Questions = open })
}

// keyOf returns a key by its name, or the key that types a character.
func keyOf(name string) tea.KeyPressMsg {
	special := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift}, "backspace": {Code: tea.KeyBackspace},
		"space": {Code: ' ', Text: " "}, "pgup": {Code: tea.KeyPgUp}, "right": {Code: tea.KeyRight}, "pgdown": {Code: tea.KeyPgDown}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
	}
	if key, ok := special[name]; ok {
		return key
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return tea.KeyPressMsg{Code: rune(letter[0]), Mod: tea.ModCtrl}
	}
	switch name {
	case "\r":
		return special["enter"]
	case " ":
		return special["space"]
	}
	return tea.KeyPressMsg{Code: []rune(name)[0], Text: name}
}

// press presses keys.
func (c *testChat) press(names ...string) {
	for _, name := range names {
		c.run(model{c.app}.handle(keyOf(name)))
		c.draw(c.width, c.height)
		c.settle()
	}
}

// enters types a text, with a pause before each key.
func (c *testChat) enters(text string, pause time.Duration) {
	for _, r := range text {
		if pause > 0 {
			c.wait(pause)
		}
		c.press(string(r))
	}
}

func (c *testChat) Send(prompt string) {
	c.sent = append(c.sent, prompt)
	c.mail.Post(func(n *News) {
		n.Idle = false
		n.Work = Work{Doing: "thinking", Since: time.Now()}
	})
}
func (c *testChat) Interrupt()                     { c.interrupts++ }
func (c *testChat) Keep(prompt string)             { c.kept = append(c.kept, prompt) }
func (c *testChat) NextMode()                      { c.modes++ }
func (c *testChat) Answer(id string, a ask.Answer) { c.answers[id] = a }
func (c *testChat) Resize(int, int)                {}
func (c *testChat) Acted()                         {}
func (c *testChat) End(force bool)                 { c.ended = append(c.ended, force) }
func (c *testChat) Complete(_ context.Context, q compose.Query) []compose.Choice {
	if q.Kind == compose.FileQuery {
		return []compose.Choice{{Text: "upload/server.go"}, {Text: "upload/client.go"}}
	}
	return []compose.Choice{{Text: "/mode", Note: "show or change the permission mode"}, {Text: "/model"}}
}

func (c *testChat) Session(context.Context) (sessions.SessionInfo, error) {
	return sessions.SessionInfo{ID: "s"}, nil
}
func (c *testChat) Edit(_ context.Context, text string) (string, error) { return text, io.EOF }

// chatting returns a test for a synctest bubble, with a chat.
func chatting(test func(t *testing.T, c *testChat)) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		test(t, newTestChat(t))
	}
}

// Prompts are sent, queued, taken back and given up.
func TestChatQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
		c.enters("one\rtwo\rthree\r", 0)
		c.press("up")
		if c.editor.Text() != "three" || !slices.Equal(c.queue, []string{"two"}) || !slices.Equal(c.sent, []string{"one"}) {
			t.Errorf("text %q, queue %q, sent %q", c.editor.Text(), c.queue, c.sent)
		}
		c.press("enter", "esc")
		if c.interrupts != 1 || len(c.queue) != 2 {
			t.Errorf("%d interrupts, queue %q", c.interrupts, c.queue)
		}
		c.press("esc")
		if c.interrupts != 1 || len(c.queue) != 0 {
			t.Errorf("%d interrupts, queue %q", c.interrupts, c.queue)
		}
		c.enters("four\r", 0)
		c.post(func(n *News) { n.Idle, n.Work, n.Proposal = true, Work{}, &Proposal{"one"} })
		if c.editor.Text() != "one" || !slices.Equal(c.queue, []string{"four"}) {
			t.Errorf("text %q, queue %q", c.editor.Text(), c.queue)
		}
		c.press("enter")
		c.post(func(n *News) { n.Idle, n.Work = true, Work{} })
		if !slices.Equal(c.sent, []string{"one", "one", "four"}) {
			t.Errorf("sent %q", c.sent)
		}
		if !slices.Equal(c.kept, []string{"one", "two", "three", "three", "four", "one"}) {
			t.Errorf("kept %q", c.kept)
		}
	}))
}

// The conversation's rows are shown above the chat, which keeps running. A question that comes
// meanwhile is not answered by a key that was meant for the rows, nor by a key right after them.
func TestChatRows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
		c.press("alt+v")
		if len(c.stack) != 1 {
			t.Fatalf("%d screens without a source", len(c.stack))
		}
		source := newFakeSource()
		source.add("s", &follow.Snapshot{Transcript: readSession(t, "../demo/recording/past/engine/transcript.jsonl")})
		c.src = source
		c.enters("half", 0)
		c.press("alt+v")
		c.settle()
		if _, ok := c.top().(*sessionScreen); !ok || c.draw(80, 24).Inline == c.top().draw(80, 24).Inline {
			t.Fatalf("the screen is a %T", c.top())
		}
		c.asks(bashQuestion(1))
		c.wait(time.Minute)
		c.press("y", "a", "esc", "r", "c")
		if len(c.answers) != 0 || source.notes() != "" || !strings.Contains(strings.Join(c.top().draw(80, 24).Lines, "\n"), "a chat is open") {
			t.Errorf("answers %v, done %q", c.answers, source.notes())
		}
		c.press("ctrl+c")
		if c.top() != screen(c.chat) || len(c.ended) != 0 || c.editor.Text() != "half" {
			t.Fatalf("the screen is a %T, ended %v, text %q", c.top(), c.ended, c.editor.Text())
		}
		c.press("backspace", "backspace", "backspace", "backspace")
		c.wait(FocusPause / 2)
		c.press("y", "backspace")
		c.wait(time.Minute)
		c.press("y")
		if len(c.answers) != 1 {
			t.Errorf("answers %v", c.answers)
		}
	}))
}

func TestChatEnds(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		"ctrl+d":                       "[false]",
		"x ctrl+d":                     "[]",
		"ctrl+c":                       "[]",
		"ctrl+c ctrl+c":                "[false]",
		"ctrl+c x ctrl+c ctrl+c":       "[]",
		"x enter ctrl+c":               "[]",
		"x enter ctrl+c ctrl+c":        "[true]",
		"x enter esc esc esc":          "[]",
		"x enter ctrl+d":               "[]",
		"x enter ctrl+d ctrl+d":        "[true]",
		"x enter ctrl+d y ctrl+c":      "[]",
		"x enter shift+tab esc ctrl+c": "[true]",
	} {
		synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
			c.press(strings.Fields(keys)...)
			if got := fmt.Sprint(c.ended); got != want {
				t.Errorf("%s: %s, want %s", keys, got, want)
			}
		}))
	}
}

// Nothing wakes up a chat in which nothing happens or which waits for the user, and a turn does once a
// second.
func TestChatRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(c.msgs); n != 0 {
			t.Errorf("%d messages in an idle hour", n)
		}
		c.enters("x\r", 0)
		woken := 0
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			woken += len(c.msgs)
			c.settle()
		}
		if woken < 9 || woken > 11 {
			t.Errorf("%d messages in ten seconds of a turn", woken)
		}
		c.asks(bashQuestion(1))
		c.wait(2 * time.Second)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(c.msgs); n != 0 {
			t.Errorf("%d messages in an hour with a question", n)
		}
	}))
}

// chatStates lists the possible looks of a chat.
var chatStates = []struct {
	name string
	set  func(c *testChat)
}{
	{"idle", func(*testChat) {}},
	{"typed", func(c *testChat) { c.enters("Now run it a hundred times, and tell me how often it fails and why", 0) }},
	{"menu", func(c *testChat) { c.enters("/m", 0) }},
	{"files", func(c *testChat) { c.enters("see @up", 0) }},
	{"search", func(c *testChat) { c.press("ctrl+r", "e", "a") }},
	{"working", func(c *testChat) {
		c.enters("x\r", 0)
		c.post(func(n *News) {
			n.Work.Doing = "reading upload/server.go"
			n.Open = []string{"The test starts server and client at once, so the", "client sometimes connects first."}
		})
		c.wait(12 * time.Second)
	}},
	{"queue", func(c *testChat) { c.enters("x\rone\rtwo\rthree\rfour\r", 0) }},
	{"question", func(c *testChat) {
		c.enters("x\r", 0)
		c.asks(bashQuestion(1))
		c.asks(colorQuestion(2))
		c.press("ctrl+g")
	}},
	{"question beside a text", func(c *testChat) { c.enters("and", 0); c.asks(bashQuestion(1)) }},
	{"explained", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "?") }},
	{"reason", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "e", "n", "o", "t") }},
	{"rule", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a") }},
	{"long question", func(c *testChat) {
		c.asks(commandQuestion(1, strings.Repeat("echo 世界 \x1b[2J and so on and on\n", 30)))
		c.press("ctrl+g", "y")
	}},
	{"choices", func(c *testChat) { c.asks(colorQuestion(1)); c.press("ctrl+g", "down") }},
	{"several choices", func(c *testChat) {
		c.asks(colorQuestion(1))
		c.press("ctrl+g", "1")
		c.wait(2 * time.Second)
		c.press("down", "space")
	}},
	{"leaving", func(c *testChat) { c.press("ctrl+c") }},
}

func TestChatGolden(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 12}, {80, 24}, {160, 50}} {
		for name, color := range map[string]bool{"": false, "_color": true} {
			var b strings.Builder
			for _, state := range chatStates {
				synctest.Test(t, chatting(func(_ *testing.T, c *testChat) {
					c.width, c.height = size[0], size[1]
					c.opts.Color, c.opts.Lines = color, true
					state.set(c)
					f := c.draw(size[0], size[1])
					fmt.Fprintf(&b, "# %s\n%s\n\n", state.name, strings.Join(f.Lines, "\n"))
				}))
			}
			golden.Check(t, fmt.Sprintf("chat_%dx%d%s", size[0], size[1], name), b.String())
		}
	}
}

// Every state fits into every terminal. The chat takes at most half of it and leaves the rest to
// the scrollback.
func TestChatSizes(t *testing.T) {
	t.Parallel()
	for _, state := range chatStates {
		synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
			state.set(c)
			for _, width := range soak.Widths(1) {
				for _, height := range []int{1, 2, 3, 5, 8, 12, 24, 50} {
					f := c.draw(width, height)
					if len(f.Lines) > max(height-1, 1) {
						t.Fatalf("%s: %d rows of %d", state.name, len(f.Lines), height)
					}
					if len(c.docks) == 0 && len(f.Lines) > max(maxLive, 3) {
						t.Fatalf("%s: %d rows are drawn again", state.name, len(f.Lines))
					}
					checkFrame(t, state.name, f, width)
				}
			}
		}))
	}
}

// checkFrame checks that lines fit, are clean, and have the cursor among them.
func checkFrame(t *testing.T, name string, f Frame, width int) {
	t.Helper()
	for _, line := range f.Lines {
		if w := tty.PaintedWidth(line); w > width {
			t.Fatalf("%s: %d of %d columns: %q", name, w, width, line)
		}
		if line != tty.Clean(line) {
			t.Fatalf("%s: %q is not clean", name, line)
		}
	}
	if f.Cursor != nil && (f.Cursor.Y < 0 || f.Cursor.Y >= len(f.Lines) || f.Cursor.X < 0 || f.Cursor.X > width) {
		t.Fatalf("%s: %d columns, the cursor is at %+v of %d lines", name, width, *f.Cursor, len(f.Lines))
	}
}

// Whatever is pressed and happens, nothing panics, and everything fits.
func TestChatRandom(t *testing.T) {
	t.Parallel()
	keys := []string{
		"a", "y", "n", "e", "s", "?", "1", "2", "/", "@", "!", "世", " ", "enter", "esc", "up", "down", "tab", "shift+tab", "backspace",
		"space", "pgdown", "alt+enter", "ctrl+g", "ctrl+c", "ctrl+d", "ctrl+r", "ctrl+u", "ctrl+x", "ctrl+_",
	}
	for seed := range uint64(30) {
		synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
			r := rand.New(rand.NewPCG(3, seed))
			for id := range 200 {
				switch r.IntN(12) {
				case 0:
					c.asks([]*ask.Question{bashQuestion(id + 1), colorQuestion(id + 1)}[r.IntN(2)])
				case 1:
					if len(c.open) > 0 {
						c.withdraws(c.open[r.IntN(len(c.open))])
					}
				case 2:
					c.post(func(n *News) { n.Idle, n.Work = true, Work{} })
				case 3:
					c.wait(time.Duration(r.IntN(2000)) * time.Millisecond)
				case 4:
					c.run(model{c.app}.handle(tea.PasteMsg{Content: strings.Repeat("pasted\r", r.IntN(20))}))
				default:
					c.press(keys[r.IntN(len(keys))])
				}
				width := 1 + r.IntN(100)
				checkFrame(t, "random", c.draw(width, 1+r.IntN(40)), width)
			}
		}))
	}
}

// Everything is printed once, in order, whatever the size of the terminal becomes.
func TestChatPrints(t *testing.T) {
	t.Parallel()
	mail := NewMailbox()
	d := &silentDriver{}
	term := termtest.New(60, 20)
	term.SetReflow(true)
	in, keys := io.Pipe()
	terminal := Terminal{
		In: in, Out: term, Size: term.Size, OnResize: func(func()) func() { return func() {} },
		Raw: func() (func() error, error) { return func() error { return nil }, nil },
	}
	done := make(chan []string)
	go func() {
		unseen, err := Chat(t.Context(), terminal, d, ChatOptions{Mail: mail})
		if err != nil {
			t.Error(err)
		}
		done <- unseen
	}()
	var want []string
	for i := range 5000 {
		line := fmt.Sprintf("line %d", i)
		want = append(want, line)
		mail.Print([]string{line}, []string{"open " + line})
	}
	mail.Post(func(n *News) { n.Ended = true })
	unseen := <-done
	_ = keys.Close()
	var got []string
	for _, line := range slices.Concat(term.Scrollback(), strings.Split(term.Text(), "\n"), unseen) {
		if strings.HasPrefix(line, "line ") {
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if text := term.Text(); strings.Contains(text, "open") || strings.Contains(text, "+--") {
		t.Errorf("the chat is still there:\n%s", text)
	}
}

// A chat on a terminal that is resized while an answer is written leaves no trace of old frames,
// even if it draws before it hears of the new size.
func TestChatResizeStorm(t *testing.T) {
	t.Parallel()
	for _, cuts := range []bool{true, false} {
		mail := NewMailbox()
		term := termtest.New(60, 50)
		term.SetReflow(!cuts)
		in, keys := io.Pipe()
		var resized func()
		terminal := Terminal{
			In: in, Out: term, Size: term.Size, Cuts: cuts,
			OnResize: func(f func()) func() { resized = f; return func() {} },
			Raw:      func() (func() error, error) { return func() error { return nil }, nil },
		}
		done := make(chan []string)
		go func() {
			unseen, err := Chat(t.Context(), terminal, &silentDriver{}, ChatOptions{Mail: mail})
			if err != nil {
				t.Error(err)
			}
			done <- unseen
		}()
		var want []string
		see := func(text string) {
			if !term.Wait(t.Context(), func() bool { return strings.Contains(term.Text(), text) }) {
				t.Fatalf("no %q:\n%s", text, term.Text())
			}
		}
		for i, size := range [][2]int{{60, 50}, {100, 60}, {40, 42}, {100, 60}, {70, 50}, {90, 45}, {20, 80}, {100, 50}} {
			term.Resize(size[0], size[1])
			for j := range 3 {
				want = append(want, fmt.Sprintf("line %d.%d", i, j))
				mail.Print(want[len(want)-1:], []string{fmt.Sprintf("open %d.%d %s", i, j, strings.Repeat("y", 70))})
				see(fmt.Sprintf("open %d.%d", i, j))
			}
			resized()
		}
		mail.Post(func(n *News) { n.Ended = true })
		unseen := <-done
		_ = keys.Close()
		var got []string
		for _, line := range slices.Concat(term.Scrollback(), strings.Split(term.Text(), "\n"), unseen) {
			if line != "" {
				got = append(got, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cuts: %t (-want +got)\n%s", cuts, diff)
		}
	}
}

// A silentDriver does nothing.
type silentDriver struct{ testChat }

func (d *silentDriver) Send(string)               {}
func (d *silentDriver) Answer(string, ask.Answer) {}
