package agentcli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// A questionedUser is a user at a terminal that questions are asked on.
type questionedUser struct {
	*clitest.Paper
	keys *os.File
	*questioner
}

func (u *questionedUser) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(u.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// asks asks about a command. The channel gets the behavior of the answer, or the error.
func (u *questionedUser) asks(ctx context.Context, command string) <-chan string {
	behavior := make(chan string, 1)
	go func() {
		req := &permission.Request{ToolName: "Bash", Input: wire.JSON(`{"command":"` + command + `"}`)}
		switch result, err := u.decide(ctx, req); result.(type) {
		case *permission.AllowResult:
			behavior <- "allow"
		case *permission.DenyResult:
			behavior <- "deny"
		default:
			behavior <- err.Error()
		}
	}()
	return behavior
}

func (u *questionedUser) promptAbout(command string) string {
	if u.screen.plain {
		return "waits for you\n? Bash\n  command: " + command + "\n" + clitest.PlainChoices + "|"
	}
	rule := "+" + strings.Repeat("-", 77) + "+\n"
	return fmt.Sprintf("+- Bash ----%s| %-75s |\n%s%s|", rule[12:], "command: "+command, rule, clitest.Choices)
}

// eachTerminal runs a test for each kind of terminal.
func eachTerminal(t *testing.T, test func(t *testing.T, u *questionedUser)) {
	for kind, questions := range map[string]func(*testing.T, context.Context, clikit.Streams, *screen) *questioner{
		"run": func(_ *testing.T, ctx context.Context, s clikit.Streams, scr *screen) *questioner {
			return newQuestioner(ctx, s, scr)
		},
		"dumb chat": func(t *testing.T, ctx context.Context, s clikit.Streams, scr *screen) *questioner {
			r, err := newLineReader(ctx, s, scr)
			if err != nil {
				t.Fatal(err)
			}
			return r.questioner
		},
	} {
		t.Run(kind, func(t *testing.T) {
			master, slave := clitest.OpenTerminal(t, 80)
			streams := clikit.Streams{In: slave, Out: io.Discard, Err: slave}
			scr := newScreen(streams)
			t.Cleanup(scr.close)
			u := &questionedUser{Paper: clitest.NewPaper(80), keys: master}
			u.questioner = questions(t, t.Context(), streams, scr)
			go io.Copy(u.Paper, master) //nolint:errcheck // it ends with the terminal
			test(t, u)
		})
	}
}

// An answer to a withdrawn question does not answer another one.
func TestAskWithdrawn(t *testing.T) {
	eachTerminal(t, func(t *testing.T, u *questionedUser) {
		ctx, withdraw := context.WithCancel(t.Context())
		first := u.asks(ctx, "first")
		u.See(t, u.promptAbout("first"))
		second := u.asks(t.Context(), "second")
		withdraw()
		u.See(t, "The agent has withdrawn the question.\nPress Enter to see a question from the agent: |")
		u.press(t, "y\r")
		u.See(t, "This line was ignored.\n"+u.promptAbout("second"))
		u.press(t, "n\r")
		if one, two := <-first, <-second; one != context.Canceled.Error() || two != "deny" {
			t.Errorf("the answers are %s and %s", one, two)
		}
	})
}

// Several lines at one question do not answer the next one.
func TestAskTakesOneLine(t *testing.T) {
	eachTerminal(t, func(t *testing.T, u *questionedUser) {
		first := u.asks(t.Context(), "first")
		u.See(t, u.promptAbout("first"))
		u.press(t, "y\ry\ry\r")
		u.See(t, "Allow it? y\ny\ny\n|") // the terminal has all of it, and shows it
		if got := <-first; got != "allow" {
			t.Errorf("the first answer is %s", got)
		}
		second := u.asks(t.Context(), "second")
		u.See(t, u.promptAbout("second"))
		u.press(t, "n\r")
		if got := <-second; got != "deny" {
			t.Errorf("the second answer is %s", got)
		}
	})
}
