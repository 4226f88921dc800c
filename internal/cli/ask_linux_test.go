package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/ask"
	"github.com/clewdev/clew/internal/clikit"
	"github.com/clewdev/clew/internal/clitest"
	"github.com/clewdev/clew/internal/termio"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// A questionedUser is a user at a terminal that questions are asked on.
type questionedUser struct {
	*clitest.Paper
	keys *os.File
	*questioner
}

// eachTerminal runs a test for each kind of terminal.
func eachTerminal(t *testing.T, test func(t *testing.T, u *questionedUser)) {
	before := termio.Discard
	termio.Discard = discardTyped
	t.Cleanup(func() { termio.Discard = before })
	for kind, questions := range map[string]func(*testing.T, context.Context, Streams, *screen) *questioner{
		"run": func(_ *testing.T, ctx context.Context, s Streams, scr *screen) *questioner {
			return newQuestioner(ctx, s, scr)
		},
		"dumb chat": func(t *testing.T, ctx context.Context, s Streams, scr *screen) *questioner {
			r, err := newLineReader(ctx, s, scr)
			if err != nil {
				t.Fatal(err)
			}
			return r.questioner
		},
	} {
		t.Run(kind, func(t *testing.T) {
			master, slave := clitest.OpenTerminal(t, 80)
			streams := Streams{In: slave, Out: io.Discard, Err: slave}
			scr := newScreen(streams)
			t.Cleanup(scr.close)
			u := &questionedUser{Paper: clitest.NewPaper(80), keys: master}
			u.questioner = questions(t, t.Context(), streams, scr)
			go io.Copy(u.Paper, master) //nolint:errcheck // it ends with the terminal
			test(t, u)
		})
	}
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

// A named pipe in place of a file does not make a question wait.
func TestReadTextOfAPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ask.ReadText(path); !errors.Is(err, ask.ErrNotRegular) {
		t.Errorf("error %v", err)
	}
	if _, err := ask.ReadText("/dev/null"); !errors.Is(err, ask.ErrNotRegular) {
		t.Errorf("a device: error %v", err)
	}
	if _, err := ask.ReadText(t.TempDir()); !errors.Is(err, ask.ErrNotRegular) {
		t.Errorf("a directory: error %v", err)
	}
}

// A question from a job's agent is shown to its end before a letter allows it, as in run and chat.
func TestApproveInPages(t *testing.T) {
	before := termio.Discard
	termio.Discard = discardTyped
	t.Cleanup(func() { termio.Discard = before })
	dir := filepath.Join(t.TempDir(), "fleet")
	f := openTestFleet(t, dir)
	j := f.make(t, "long", &fleet.Spec{Prompt: "Fix the test."})
	master, slave := clitest.OpenTerminal(t, 80)
	u := &chatTerminal{Paper: clitest.NewPaper(80), keys: master}
	go io.Copy(u.Paper, master) //nolint:errcheck // it ends with the terminal
	var out strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- execute(t.Context(), []string{"jobs", "approve", "--fleet", dir, j.ID}, Streams{In: slave, Out: &out, Err: slave})
	}()
	unread := "Enter shows more. Allow it unread? yes / no: |"
	u.See(t, "lines 1-21 of 52 -+\n"+unread)
	u.press(t, "y\r")
	u.See(t, "…\n"+unread) // the reminder
	u.press(t, "\r")
	u.See(t, "lines 22-42 of 52 -+\n"+unread)
	u.press(t, "\r")
	u.See(t, clitest.Choices+"|")
	u.press(t, "e\r")
	u.See(t, "Tell the agent why, or what to do instead: |")
	u.press(t, "use make clean\r")
	if got := <-code; got != clikit.ExitDone || !strings.HasPrefix(out.String(), "denied: "+exampleQuestion) {
		t.Errorf("exit code %d: %s", got, out.String())
	}
	end, err := f.Wait(t.Context(), j.ID)
	if err != nil {
		t.Fatal(err)
	}
	if want := `allow false, text "use make clean", answers map[]`; end.Result().Text != want {
		t.Errorf("the agent got %q", end.Result().Text)
	}
}

// A question whose terminal is closed is not answered.
func TestApproveWithoutAnswer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet")
	f := openTestFleet(t, dir)
	j := f.make(t, "question", &fleet.Spec{Prompt: "Fix the test."})
	master, slave := clitest.OpenTerminal(t, 80)
	u := &chatTerminal{Paper: clitest.NewPaper(80), keys: master}
	go io.Copy(u.Paper, master) //nolint:errcheck // it ends with the terminal
	code := make(chan int, 1)
	go func() {
		code <- execute(t.Context(), []string{"jobs", "approve", "--fleet", dir, j.ID}, Streams{In: slave, Out: io.Discard, Err: slave})
	}()
	u.See(t, "Number, your own words, or nothing to skip: |")
	u.press(t, "\x04")
	if got := <-code; got != clikit.ExitFailed {
		t.Errorf("exit code %d", got)
	}
	for q, err := range f.Questions(t.Context(), j.ID) {
		if err != nil || q.Answer != nil {
			t.Errorf("%+v, %v", q.Answer, err)
		}
	}
}
