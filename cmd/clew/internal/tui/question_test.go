package tui

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// commandQuestion is a question about a command, for which there is a rule.
func commandQuestion(id int, command string) *ask.Question {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	q := ask.New(&permission.Request{ToolName: "Bash", Input: wire.JSON(input), Suggestions: []permission.Update{
		permission.AddRules("localSettings", "allow", permission.Rule{ToolName: "Bash", RuleContent: "go test:*"}),
		permission.SetMode("session", "acceptEdits"),
	}}, nil, ask.Workspace{})
	q.ID = strconv.Itoa(id)
	return q
}

func bashQuestion(id int) *ask.Question { return commandQuestion(id, "go test ./upload") }

func colorQuestion(id int) *ask.Question {
	q := ask.New(&permission.Request{ToolName: "AskUserQuestion"}, []clew.Question{
		{Header: "Color", Question: "Which color?", Options: []clew.QuestionOption{{Label: "Red", Description: "warm"}, {Label: "Blue", Description: "cold"}}},
		{Header: "Size", Question: "Which sizes?", Options: []clew.QuestionOption{{Label: "S"}, {Label: "M"}, {Label: "L"}}, MultiSelect: true},
	}, ask.Workspace{})
	q.ID = strconv.Itoa(id)
	return q
}

// No key of a typed text answers a question, whenever that comes, and no key is lost.
func TestQuestionWhileTyping(t *testing.T) {
	t.Parallel()
	const text = "yes a no, e s ? always y1 2"
	for _, pause := range []time.Duration{0, time.Millisecond, 300 * time.Millisecond, 499 * time.Millisecond} {
		for at := 0; at <= len(text); at++ {
			synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
				c.wait(time.Minute)
				c.enters(text[:at], pause)
				c.asks(bashQuestion(1))
				c.asks(colorQuestion(2))
				c.enters(text[at:], pause)
				if got := c.editor.Text(); got != text || len(c.answers) > 0 || len(c.sent) > 0 {
					t.Errorf("pause %v, question at %d: the text is %q, the answers are %v, sent %q", pause, at, got, c.answers, c.sent)
				}
			}))
		}
	}
}

// The same holds for the keys typed for several prompts, between which the composer is empty.
func TestQuestionBetweenPrompts(t *testing.T) {
	t.Parallel()
	const text = "y\rno\ra\r1\ry"
	for _, pause := range []time.Duration{0, 100 * time.Millisecond, 499 * time.Millisecond} {
		for first := 0; first <= len(text); first++ {
			for second := first; second <= len(text); second++ {
				synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
					c.enters(text[:first], pause)
					q := bashQuestion(1)
					c.asks(q)
					c.enters(text[first:second], pause)
					c.withdraws(q)
					c.asks(colorQuestion(2))
					c.enters(text[second:], pause)
					got := strings.Join(slices.Concat(c.sent, c.queue, []string{c.editor.Text()}), "|")
					if got != "y|no|a|1|y" || len(c.answers) > 0 {
						t.Errorf("pause %v, questions at %d and %d: %q, answers %v", pause, first, second, got, c.answers)
					}
				}))
			}
		}
	}
}

// questionFocusCases are the cases of TestQuestionFocus.
var questionFocusCases = []struct {
	name string
	do   func(c *testChat)
	want string
}{
	{"by itself", func(c *testChat) { c.wait(time.Second); c.asks(bashQuestion(1)); c.wait(time.Second); c.press("y") }, "1:{once}"},
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
	}, "1:{once}"},
	{"not while there is a text", func(c *testChat) { c.press("x"); c.asks(bashQuestion(1)); c.wait(time.Minute); c.press("y") }, "text xy"},
	{"by ctrl+g", func(c *testChat) { c.press("x"); c.asks(bashQuestion(1)); c.press("ctrl+g", "y") }, "1:{once} text x"},
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
	{"another one after one that was left", func(c *testChat) {
		q := bashQuestion(1)
		c.asks(q)
		c.press("ctrl+g", "esc")
		c.withdraws(q)
		c.asks(bashQuestion(2))
		c.wait(2 * time.Second)
		c.press("y")
	}, "2:{once}"},
	{"left by other keys", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "h", "n", "y") }, "text hny"},
	{"not while earlier prompts are searched", func(c *testChat) {
		c.press("ctrl+r")
		c.asks(bashQuestion(1))
		c.wait(time.Minute)
		c.press("e", "enter", "y")
	}, "text earlier prompt" + "y"},
	{"left by a paste", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.press("ctrl+g")
		c.run(model{c.app}.handle(tea.PasteMsg{Content: "pasted "}))
		c.press("y")
	}, "text pasted y"},
	{"left by a text from another editor", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.wait(time.Minute)
		c.update(editedMsg{text: "edited "})
		c.press("y")
	}, "text edited y"},
	{"left by a prompt that was lost", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.wait(time.Minute)
		c.post(func(n *News) { n.Proposal = &Proposal{"lost "} })
		c.press("y")
	}, "text lost y"},
	{"no", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "n") }, "1:{deny}"},
	{"no, because", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "e", "n", "y", "enter") }, "1:{deny reason ny}"},
	{"no reason after all", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "e", "n", "esc", "y") }, "1:{once}"},
	{"always", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a", "enter") }, "1:{always changes [0]}"},
	{"always, all of it", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a", "down", "tab", "enter") }, "1:{always changes [0 1]}"},
	{"always, but not the rule", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.press("ctrl+g", "a", "tab", "enter", "down", "x", "tab", "enter")
	}, "1:{always changes [1]}"},
	{"always needs a second key", func(c *testChat) { c.asks(bashQuestion(1)); c.press("ctrl+g", "a", "a", "y") }, ""},
	{"always, narrower", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.press("ctrl+g", "a", "backspace", "backspace", "backspace", " ", ".", ":", "*", ")", "enter")
	}, "1:{always changes [0] rule Bash(go test .:*)}"},
	{"always, not narrower", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.press("ctrl+g", "a", "ctrl+u", "B", "a", "s", "h", "enter")
	}, ""},
	{"the next one needs a look", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.asks(bashQuestion(2))
		c.press("ctrl+g", "y", "y")
	}, "1:{once} text y"},
	{"the next one", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.asks(bashQuestion(2))
		c.press("ctrl+g", "s")
		c.wait(2 * time.Second)
		c.press("n")
	}, "2:{deny}"},
	{"answered, but still open", func(c *testChat) {
		c.asks(bashQuestion(1))
		c.press("ctrl+g", "y")
		c.postQuestions()
		c.wait(2 * time.Second)
		c.press("n")
	}, "1:{once} text n"},
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
	}, "1:{choose [[Blue] [S L]]}"},
	{"choices by arrows", func(c *testChat) {
		c.asks(colorQuestion(1))
		c.press("ctrl+g", "down", "enter")
		c.wait(2 * time.Second)
		c.press("down", "space", "enter")
	}, "1:{choose [[Blue] [M]]}"},
	{"own words", func(c *testChat) {
		c.asks(colorQuestion(1))
		c.press("ctrl+g", "3", "n", "o", "enter")
		c.wait(2 * time.Second)
		c.press("enter")
	}, "1:{choose [[no] [S]]}"},
	{"marks and own words", func(c *testChat) {
		c.asks(colorQuestion(1))
		c.press("ctrl+g", "1")
		c.wait(2 * time.Second)
		c.press("2", "4", "X", "L", "enter")
	}, "1:{choose [[Red] [M XL]]}"},
	{"the next choice needs a look", func(c *testChat) { c.asks(colorQuestion(1)); c.press("ctrl+g", "2", "1") }, "text 1"},
	{"no choice", func(c *testChat) { c.asks(colorQuestion(1)); c.press("ctrl+g", "n") }, "1:{deny}"},
}

// A question gets the focus when nobody types, and then its keys answer it.
func TestQuestionFocus(t *testing.T) {
	t.Parallel()
	for _, tt := range questionFocusCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
				tt.do(c)
				if got := c.outcome(); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
			}))
		})
	}
}

// outcome returns the answers, and the text in the composer.
func (c *testChat) outcome() string {
	var parts []string
	for id, a := range c.answers {
		text := fmt.Sprintf("%s:{%s", id, a.Kind)
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

// A text that does not fit has to be seen before it is allowed.
func TestQuestionInPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
		var lines []string
		for i := range 40 {
			lines = append(lines, fmt.Sprint("echo ", i))
		}
		c.asks(commandQuestion(1, strings.Join(lines, "\n")))
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
		if got := c.answers["1"]; got.Kind != ask.AllowOnce {
			t.Errorf("%+v", got)
		}
	}))
}

// On a screen that is too narrow for a question, nothing is allowed.
func TestQuestionTooWide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
		c.width = 3
		c.asks(bashQuestion(1))
		c.press("ctrl+g", "y")
		if len(c.answers) > 0 {
			t.Errorf("the answer is %+v", c.answers)
		}
		c.press("n")
		if len(c.answers) != 1 {
			t.Error("it can't be denied")
		}
	}))
}

// Whatever the size, only a question that was on the screen can be allowed, even if keys come
// faster than frames.
func TestQuestionSeen(t *testing.T) {
	t.Parallel()
	for height := 1; height <= 24; height++ {
		synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
			c.height = height
			var lines []string
			for i := range 20 {
				lines = append(lines, fmt.Sprintf("echo <%d>", i))
			}
			c.asks(commandQuestion(1, strings.Join(lines, "\n")))
			c.press("ctrl+g")
			var seen strings.Builder
			for presses := 0; presses < 100 && len(c.answers) == 0; presses++ {
				seen.WriteString(strings.Join(c.draw(c.width, height).Lines, "\n"))
				for range presses % 3 {
					model{c.app}.handle(keyOf("space"))
				}
				seen.WriteString(strings.Join(c.draw(c.width, height).Lines, "\n"))
				c.press("y")
			}
			for _, line := range lines {
				if len(c.answers) > 0 && !strings.Contains(seen.String(), line) {
					t.Errorf("height %d: %s was allowed unseen", height, line)
				}
			}
			if len(c.answers) == 0 && height >= 6 {
				t.Errorf("height %d: it can't be allowed", height)
			}
		}))
	}
}

// On a low screen, the option under the cursor is shown, and a digit only moves to an option.
func TestQuestionLow(t *testing.T) {
	t.Parallel()
	for height := 5; height <= 12; height++ {
		synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
			q := colorQuestion(1)
			q.Choices = q.Choices[:1]
			c.height = height
			c.asks(q)
			c.press("ctrl+g", "2")
			if len(c.answers) == 0 {
				if frame := strings.Join(c.draw(c.width, height).Lines, "\n"); !strings.Contains(frame, "> 2  Blue") {
					t.Errorf("height %d: the option is not shown:\n%s", height, frame)
				}
				c.press("enter")
			}
			if got := c.outcome(); got != "1:{choose [[Blue]]}" {
				t.Errorf("height %d: %q", height, got)
			}
		}))
	}
}

// A rule is not added if there is no room to show it.
func TestQuestionHidesNoRule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, chatting(func(t *testing.T, c *testChat) {
		q := bashQuestion(1)
		q.Always[0].Text = "adds Bash(" + strings.Repeat("go test ./and/more ", 100) + ") to .claude/settings.local.json"
		c.asks(q)
		c.press("ctrl+g", "a", "enter")
		if len(c.answers) > 0 {
			t.Errorf("the answer is %+v", c.answers)
		}
		c.height = 200
		c.press("right", "enter")
		if c.answers["1"].Kind != ask.AllowAlways {
			t.Errorf("the answers are %+v", c.answers)
		}
	}))
}

// The settings can't change the keys that answer a question, since the question shows them.
func TestQuestionKeysStay(t *testing.T) {
	t.Parallel()
	if _, err := keymap.New(map[string][]string{"allow": {"n"}, "deny": {"y"}}); err == nil {
		t.Error("they can be changed")
	}
	if _, err := keymap.New(map[string][]string{"page-down": {"ctrl+v"}, "send": {"ctrl+s"}}); err != nil {
		t.Error(err)
	}
}

// A question says how much of it was not shown yet.
func TestRestOfQuestion(t *testing.T) {
	t.Parallel()
	for rest, want := range map[int]string{
		1: "1 more line: press space to see it first", 1200: "1,200 more lines: press space to see them first",
	} {
		d := &dock{rows: 3 + rest, seen: 3}
		if _, event := d.allow(ask.Answer{Kind: ask.AllowOnce}); event != kept || d.remark != want {
			t.Errorf("%d: %q, want %q", rest, d.remark, want)
		}
	}
}
