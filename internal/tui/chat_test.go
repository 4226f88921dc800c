package tui

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/compose"
	"github.com/clewdev/clew/internal/termtest"
	"github.com/clewdev/clew/internal/tty"
)

// A testChat is a chat whose driver is the test. Time is that of a synctest bubble.
type testChat struct {
	*chat
	t    *testing.T
	msgs chan tea.Msg
	open []*Question

	// What the chat has done.
	sent       []string
	answers    map[int]Answer
	interrupts int
	modes      int
	ended      []bool
}

func newTestChat(t *testing.T) *testChat {
	t.Helper()
	c := &testChat{t: t, msgs: make(chan tea.Msg, 1000), answers: map[int]Answer{}}
	ctx, cancel := context.WithCancel(t.Context())
	mail := NewMailbox()
	t.Cleanup(func() {
		cancel()
		mail.Close()
	})
	a := &app{ctx: ctx, opts: Options{Keys: &Keymap{bindings: Bindings}, Now: time.Now}, width: 80, height: 24}
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

// settle handles the messages that have come.
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
func (c *testChat) asks(q *Question) {
	c.open = append(c.open, q)
	c.postQuestions()
}

func (c *testChat) withdraws(q *Question) {
	c.open = slices.DeleteFunc(c.open, func(o *Question) bool { return o == q })
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
		"space": {Code: ' ', Text: " "}, "right": {Code: tea.KeyRight}, "pgdown": {Code: tea.KeyPgDown}, "alt+enter": {Code: tea.KeyEnter, Mod: tea.ModAlt},
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

// types types a text, with a pause before each key.
func (c *testChat) types(text string, pause time.Duration) {
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
func (c *testChat) Interrupt()              { c.interrupts++ }
func (c *testChat) NextMode()               { c.modes++ }
func (c *testChat) Answer(id int, a Answer) { c.answers[id] = a }
func (c *testChat) Resize(int, int)         {}
func (c *testChat) Acted()                  {}
func (c *testChat) End(force bool)          { c.ended = append(c.ended, force) }
func (c *testChat) Complete(_ context.Context, q compose.Query) []compose.Choice {
	if q.Kind == compose.FileQuery {
		return []compose.Choice{{Text: "upload/server.go"}, {Text: "upload/client.go"}}
	}
	return []compose.Choice{{Text: "/mode", Note: "show or change the permission mode"}, {Text: "/model"}}
}

func (c *testChat) Edit(context.Context, string) (*exec.Cmd, func() (string, error), error) {
	return nil, nil, io.EOF
}

// inBubble runs a test in a synctest bubble.
func inBubble(t *testing.T, test func(t *testing.T, c *testChat)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newTestChat(t)) })
}

// boxed returns a sheet of lines.
func boxed(title string, lines ...string) func(int, bool) Sheet {
	return func(columns int, color bool) Sheet {
		width := max(columns-1, 1)
		rule := func(left, right string) string {
			left, right = "+- "+left+" ", " "+right+" -+"
			return tty.Waiting.Paint(tty.Cut(left+strings.Repeat("-", max(width-len(left)-len(right), 0))+right, width), color)
		}
		var rows []string
		for _, line := range lines {
			for _, row := range tty.Break(tty.CleanLine(line), max(width-4, 1)) {
				rows = append(rows, tty.CutPainted("| "+row, width))
			}
		}
		return Sheet{
			Rows: rows, Top: func(aside string) string { return rule(title, aside) },
			Bottom: func(count string) string { return rule("", count) },
		}
	}
}

// bashQuestion is a question about a command, for which there is a rule.
func bashQuestion(id int) *Question {
	return &Question{
		ID: id, Sheet: boxed("Bash", "command: go test ./upload"),
		Always: []Change{
			{"adds Bash(go test:*) to .claude/settings.local.json", true}, {"sets permission mode acceptEdits for this session", false},
		}, Rule: "Bash(go test:*)",
		Narrow: func(rule string) string {
			if !strings.HasPrefix(rule, "Bash(go test") {
				return "the rule has to begin with Bash(go test"
			}
			return ""
		},
	}
}

func colorQuestion(id int) *Question {
	return &Question{ID: id, Choices: []Choice{
		{Sheet: boxed("Question: Color", "Which color?"), Options: []Option{{"Red", "warm"}, {"Blue", "cold"}}},
		{Sheet: boxed("Question: Size", "Which sizes?"), Options: []Option{{"S", ""}, {"M", ""}, {"L", ""}}, Multiple: true},
	}}
}

// No key of a typed text answers a question, whenever that comes, and no key is lost.
func TestQuestionWhileTyping(t *testing.T) {
	t.Parallel()
	const text = "yes a no, e s ? always y1 2"
	for _, pause := range []time.Duration{0, time.Millisecond, 300 * time.Millisecond, 499 * time.Millisecond} {
		for at := 0; at <= len(text); at++ {
			inBubble(t, func(t *testing.T, c *testChat) {
				c.wait(time.Minute)
				c.types(text[:at], pause)
				c.asks(bashQuestion(1))
				c.asks(colorQuestion(2))
				c.types(text[at:], pause)
				if got := c.editor.Text(); got != text || len(c.answers) > 0 || len(c.sent) > 0 {
					t.Errorf("pause %v, question at %d: the text is %q, the answers are %v, sent %q", pause, at, got, c.answers, c.sent)
				}
			})
		}
	}
}

// Nor do the keys of several prompts, between which the composer is empty.
func TestQuestionBetweenPrompts(t *testing.T) {
	t.Parallel()
	const text = "y\rno\ra\r1\ry"
	for _, pause := range []time.Duration{0, 100 * time.Millisecond, 499 * time.Millisecond} {
		for first := 0; first <= len(text); first++ {
			for second := first; second <= len(text); second++ {
				inBubble(t, func(t *testing.T, c *testChat) {
					c.types(text[:first], pause)
					q := bashQuestion(1)
					c.asks(q)
					c.types(text[first:second], pause)
					c.withdraws(q)
					c.asks(colorQuestion(2))
					c.types(text[second:], pause)
					got := strings.Join(slices.Concat(c.sent, c.queue, []string{c.editor.Text()}), "|")
					if got != "y|no|a|1|y" || len(c.answers) > 0 {
						t.Errorf("pause %v, questions at %d and %d: %q, answers %v", pause, first, second, got, c.answers)
					}
				})
			}
		}
	}
}

// A question gets the focus when nobody types, and then its keys answer it.
func TestQuestionFocus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(c *testChat)
		want string
	}{
		{"by itself", func(c *testChat) { c.wait(time.Second); c.asks(bashQuestion(1)); c.wait(time.Second); c.press("y") }, "1:{1}"},
		{"too soon", func(c *testChat) {
			c.wait(time.Second)
			c.asks(bashQuestion(1))
			c.wait(400 * time.Millisecond)
			c.press("y")
		}, "text y"},
		{"too soon, then by itself", func(c *testChat) {
			c.wait(time.Second)
			c.asks(bashQuestion(1))
			c.press("y", "backspace")
			c.wait(2 * time.Second)
			c.press("y")
		}, "1:{1}"},
		{"not while there is a text", func(c *testChat) { c.press("x"); c.asks(bashQuestion(1)); c.wait(time.Minute); c.press("y") }, "text xy"},
		{"by ctrl+g", func(c *testChat) { c.press("x"); c.asks(bashQuestion(1)); c.press("ctrl+g", "y") }, "1:{1} text x"},
		{"left by ctrl+g", func(c *testChat) {
			c.asks(bashQuestion(1))
			c.press("ctrl+g", "ctrl+g")
			c.wait(time.Minute)
			c.press("y")
		}, "text y"},
		{"left by esc", func(c *testChat) {
			c.asks(bashQuestion(1))
			c.press("ctrl+g", "esc")
			c.wait(time.Minute)
			c.press("y")
		}, "text y"},
		{"left by other keys", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "h", "n", "y") }, "text hny"},
		{"no", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "n") }, "1:{0}"},
		{"no, because", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "e", "n", "y", "enter") }, "1:{0 reason ny}"},
		{"no reason after all", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "e", "n", "esc", "y") }, "1:{1}"},
		{"always", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a", "enter") }, "1:{2 changes [0]}"},
		{"always, all of it", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a", "down", "tab", "enter") }, "1:{2 changes [0 1]}"},
		{"always, but not the rule", func(c *testChat) {
			c.asks(bashQuestion(1))
			c.press("ctrl+g", "a", "tab", "enter", "down", "x", "tab", "enter")
		}, "1:{2 changes [1]}"},
		{"always needs a second key", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a", "a", "y") }, ""},
		{"always, narrower", func(c *testChat) {
			c.asks(bashQuestion(1))
			c.press("ctrl+g", "a", "backspace", "backspace", "backspace", " ", ".", ":", "*", ")", "enter")
		}, "1:{2 changes [0] rule Bash(go test .:*)}"},
		{"always, not narrower", func(c *testChat) {
			c.asks(bashQuestion(1))
			c.press("ctrl+g", "a", "ctrl+u", "B", "a", "s", "h", "enter")
		}, ""},
		{"the next one needs a look", func(c *testChat) {
			c.asks(bashQuestion(1))
			c.asks(bashQuestion(2))
			c.press("ctrl+g", "y", "y")
		}, "1:{1} text y"},
		{"the next one", func(c *testChat) {
			c.asks(bashQuestion(1))
			c.asks(bashQuestion(2))
			c.press("ctrl+g", "s")
			c.wait(2 * time.Second)
			c.press("n")
		}, "2:{0}"},
		{"withdrawn", func(c *testChat) {
			q := bashQuestion(1)
			c.asks(q)
			c.asks(bashQuestion(2))
			c.press("ctrl+g")
			c.withdraws(q)
			c.press("y")
		}, "text y"},
		{"withdrawn, and none left", func(c *testChat) {
			q := bashQuestion(1)
			c.asks(q)
			c.press("ctrl+g")
			c.withdraws(q)
			c.press("y")
		}, "text y"},
		{"choices", func(c *testChat) {
			c.asks(colorQuestion(1))
			c.press("ctrl+g", "2")
			c.wait(2 * time.Second)
			c.press("1", "3", "enter")
		}, "1:{3 [[Blue] [S L]]}"},
		{"choices by arrows", func(c *testChat) {
			c.asks(colorQuestion(1))
			c.press("ctrl+g", "down", "enter")
			c.wait(2 * time.Second)
			c.press("down", "space", "enter")
		}, "1:{3 [[Blue] [M]]}"},
		{"own words", func(c *testChat) {
			c.asks(colorQuestion(1))
			c.press("ctrl+g", "3", "n", "o", "enter")
			c.wait(2 * time.Second)
			c.press("enter")
		}, "1:{3 [[no] [S]]}"},
		{"the next choice needs a look", func(c *testChat) { c.asks(colorQuestion(1)); c.press("ctrl+g", "2", "1") }, "text 1"},
		{"no choice", func(c *testChat) { c.asks(colorQuestion(1)); c.press("ctrl+g", "n") }, "1:{0}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, c *testChat) {
				tt.do(c)
				if got := c.outcome(); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			})
		})
	}
}

// outcome returns the answers, and the text in the composer.
func (c *testChat) outcome() string {
	var parts []string
	for id, a := range c.answers {
		text := fmt.Sprintf("%d:{%d", id, a.Kind)
		if a.Reason != "" {
			text += " reason " + a.Reason
		}
		if a.Changes != nil {
			text += fmt.Sprint(" changes ", a.Changes)
		}
		if a.Rule != "" {
			text += " rule " + a.Rule
		}
		if a.Chosen != nil {
			text += fmt.Sprint(" ", a.Chosen)
		}
		parts = append(parts, text+"}")
	}
	slices.Sort(parts)
	if text := c.editor.Text(); text != "" {
		parts = append(parts, "text "+text)
	}
	return strings.Join(parts, " ")
}

// What does not fit has to be seen before it is allowed.
func TestQuestionInPages(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *testChat) {
		q := bashQuestion(1)
		var lines []string
		for i := range 40 {
			lines = append(lines, fmt.Sprint("echo ", i))
		}
		q.Sheet = boxed("Bash", lines...)
		c.asks(q)
		c.press("ctrl+g")
		for presses := 0; ; presses++ {
			c.press("y", "a")
			if len(c.answers) > 0 || c.question().mode == narrowing {
				break
			}
			if presses > 40 {
				t.Fatal("it can't be allowed")
			}
			if c.question().seen >= 40 {
				t.Fatalf("all of it was seen, and y does nothing: %q", c.question().remark)
			}
			c.press("space")
		}
		if got := c.answers[1]; got.Kind != AllowedOnce {
			t.Errorf("%+v", got)
		}
	})
}

// A rule that there is no room for is not added.
func TestQuestionHidesNoRule(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *testChat) {
		q := bashQuestion(1)
		q.Always[0].Text = "adds Bash(" + strings.Repeat("go test ./and/more ", 100) + ") to .claude/settings.local.json"
		c.asks(q)
		c.press("ctrl+g", "a", "enter")
		if len(c.answers) > 0 {
			t.Errorf("the answer is %+v", c.answers)
		}
		c.height = 200
		c.press("right", "enter")
		if c.answers[1].Kind != AllowedAlways {
			t.Errorf("the answers are %+v", c.answers)
		}
	})
}

// Prompts are sent, queued, taken back and given up.
func TestChatQueue(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *testChat) {
		c.types("one\rtwo\rthree\r", 0)
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
		c.types("four\r", 0)
		c.post(func(n *News) { n.Idle, n.Work, n.Proposal = true, Work{}, &Proposal{"one"} })
		if c.editor.Text() != "one" || !slices.Equal(c.queue, []string{"four"}) {
			t.Errorf("text %q, queue %q", c.editor.Text(), c.queue)
		}
		c.press("enter")
		c.post(func(n *News) { n.Idle, n.Work = true, Work{} })
		if !slices.Equal(c.sent, []string{"one", "one", "four"}) {
			t.Errorf("sent %q", c.sent)
		}
	})
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
		inBubble(t, func(t *testing.T, c *testChat) {
			c.press(strings.Fields(keys)...)
			if got := fmt.Sprint(c.ended); got != want {
				t.Errorf("%s: %s, want %s", keys, got, want)
			}
		})
	}
}

// Nothing wakes up a chat in which nothing happens, and a turn does once a second.
func TestChatRests(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *testChat) {
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(c.msgs); n != 0 {
			t.Errorf("%d messages in an idle hour", n)
		}
		c.types("x\r", 0)
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
	})
}

// chatStates are what a chat can look like.
var chatStates = []struct {
	name string
	set  func(c *testChat)
}{
	{"idle", func(*testChat) {}},
	{"typed", func(c *testChat) { c.types("Now run it a hundred times, and tell me how often it fails and why", 0) }},
	{"menu", func(c *testChat) { c.types("/m", 0) }},
	{"files", func(c *testChat) { c.types("see @up", 0) }},
	{"search", func(c *testChat) { c.press("ctrl+r", "e", "a") }},
	{"working", func(c *testChat) {
		c.types("x\r", 0)
		c.post(func(n *News) {
			n.Work.Doing = "reading upload/server.go"
			n.Open = []string{"The test starts server and client at once, so the", "client sometimes connects first."}
		})
		c.wait(12 * time.Second)
	}},
	{"queue", func(c *testChat) { c.types("x\rone\rtwo\rthree\rfour\r", 0) }},
	{"question", func(c *testChat) {
		c.types("x\r", 0)
		c.asks(bashQuestion(1))
		c.asks(colorQuestion(2))
		c.press("ctrl+g")
	}},
	{"question beside a text", func(c *testChat) { c.types("and", 0); c.asks(bashQuestion(1)) }},
	{"explained", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "?") }},
	{"reason", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "e", "n", "o", "t") }},
	{"rule", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a") }},
	{"long question", func(c *testChat) {
		q := bashQuestion(1)
		q.Sheet = boxed("Bash", strings.Split(strings.Repeat("echo 世界 \x1b[2J and so on and on\n", 30), "\n")...)
		c.asks(q)
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
				inBubble(t, func(_ *testing.T, c *testChat) {
					c.width, c.height = size[0], size[1]
					c.opts.Color, c.opts.Lines = color, true
					state.set(c)
					f := c.draw(size[0], size[1])
					fmt.Fprintf(&b, "# %s\n%s\n\n", state.name, strings.Join(f.Lines, "\n"))
				})
			}
			checkGolden(t, fmt.Sprintf("chat_%dx%d%s", size[0], size[1], name), b.String())
		}
	}
}

// Every state fits into every terminal, and what is not half of it is left to the scrollback.
func TestChatSizes(t *testing.T) {
	t.Parallel()
	for _, state := range chatStates {
		inBubble(t, func(t *testing.T, c *testChat) {
			state.set(c)
			for width := 1; width <= 200; width++ {
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
		})
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
		inBubble(t, func(t *testing.T, c *testChat) {
			r := rand.New(rand.NewPCG(3, seed))
			for id := range 200 {
				switch r.IntN(12) {
				case 0:
					c.asks([]*Question{bashQuestion(id + 1), colorQuestion(id + 1)}[r.IntN(2)])
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
		})
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

// A silentDriver does nothing.
type silentDriver struct{ testChat }

func (d *silentDriver) Send(string)        {}
func (d *silentDriver) Answer(int, Answer) {}
