package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
)

// A chatTerminal is a terminal with a chat in it.
type chatTerminal struct {
	*clitest.Paper
	keys *os.File // the other end of the terminal
	cmd  *exec.Cmd
	dir  string
}

// startChat runs "clew chat" with an agent that talks.
func startChat(t *testing.T, columns int, env ...string) *chatTerminal {
	t.Helper()
	return startTyped(t, columns, []string{"chat"}, env...)
}

// startTyped runs a command at a terminal.
func startTyped(t *testing.T, columns int, args []string, env ...string) *chatTerminal {
	t.Helper()
	master, slave := clitest.OpenTerminal(t, columns)
	c := &chatTerminal{Paper: clitest.NewPaper(columns), keys: master, dir: t.TempDir()}
	c.resize(t, columns)
	c.cmd = exec.CommandContext(t.Context(), "clew", args...)
	c.cmd.Env = append(os.Environ(), "CLEW_AGENT=claude", chatAgentVariable+"=1", "TERM=xterm", "XDG_STATE_HOME="+c.dir, "TEST_CLOCK=1",
		"GORACE=atexit_sleep_ms=0") // the race detector waits a second at each exit
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()           // the program has it
	go io.Copy(c.Paper, master) //nolint:errcheck // it ends with the terminal
	return c
}

// letAsk lets the agent ask its question after the turn.
func (c *chatTerminal) letAsk(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "ask"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *chatTerminal) resize(t *testing.T, columns int) {
	t.Helper()
	c.Paper.SetColumns(columns)
	size := &unix.Winsize{Col: uint16(columns), Row: 50}
	if err := unix.IoctlSetWinsize(int(c.keys.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
}

func (c *chatTerminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(c.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// end waits for the end of the program.
func (c *chatTerminal) end(t *testing.T, code int) {
	t.Helper()
	_ = c.cmd.Wait() // the code says it
	c.CheckOutput(t)
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d; the screen:\n%s", got, code, c.All())
	}
}

func TestRunLeavesTheTerminal(t *testing.T) {
	t.Parallel()
	c := startTyped(t, 70, []string{"run", "hang"})
	c.See(t, "Hanging.\n|")
	c.press(t, "\x03")
	c.See(t, "\ninterrupting\n|")
	c.press(t, "\x03")
	c.See(t, "\ninterrupting\n^C\n|")
	c.end(t, clikit.ExitInterrupted)
}

func TestChatDumb(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb")
	c.See(t, "> |")
	c.press(t, "may I\\\ntoo\n")
	c.See(t, clitest.PlainChoices+"|")
	c.press(t, "yes\n")
	c.See(t, "behavior is allow\n\ndone in 0.0 s\n> |")
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
	if strings.Contains(c.Paper.All(), "claude-opus-5") {
		t.Errorf("the screen:\n%s", c.Paper.All())
	}
}

func TestChatDumbTypedAhead(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb", "TEST_DISCARD=1")
	c.See(t, "> |")
	c.press(t, "twice\nno prompt\n")
	first := "? Bash\n  command: make \\x1b[2J\n" + clitest.PlainChoices
	c.See(t, first+"|")
	c.press(t, "y\n")
	second := "? Bash\n  command: second\n" + clitest.PlainChoices
	c.See(t, second+"|")
	c.press(t, "2\n")
	c.See(t, second+"2\n! Bash denied\n\nbehavior is deny\n\ndone in 0.0 s\n> |")
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

func TestChatDumbAsksBetweenTurns(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb", "TEST_DISCARD=1")
	c.See(t, "> |")
	c.press(t, "later\n")
	c.See(t, "Later.\n\ndone in 0.0 s\n> |")
	c.letAsk(t)
	c.See(t, "Press Enter to see a question from the agent: |")
	c.press(t, "y\n")
	c.See(t, "This line was ignored.\nwaits for you\n? Bash\n  command: make \\x1b[2J\n"+clitest.PlainChoices+"|")
	c.press(t, "n\n")
	c.See(t, "Allow it? n\n> |")
	c.press(t, "next\n")
	c.See(t, "You said next\n\ndone in 0.0 s\n> |")
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// A plain chat does not redraw anything, and reports events in words.
func TestChatPlain(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]struct{ args, env []string }{
		"--plain":    {[]string{"chat", "--plain"}, nil},
		"ACCESSIBLE": {[]string{"chat"}, []string{"ACCESSIBLE=1"}},
	} {
		c := startTyped(t, 70, setup.args, append(setup.env, "CLEW_COLOR=never", "CLEW_NOTIFY=false")...)
		c.See(t, "Claude Code. Enter sends, /help lists commands, Ctrl-D ends.\n> |")
		c.press(t, "may I\n")
		c.See(t, "> may I\nworking\n\nLet me see.\n\n* Bash: make  [2J\nwaits for you\n? Bash\n  command: make \\x1b[2J\n"+clitest.PlainChoices+"|")
		c.press(t, "1\n")
		c.See(t, "Allow it? 1\n\nbehavior is allow\n\ndone in 0.0 s\n> |")
		c.press(t, "which one\n")
		c.See(t, "* AskUserQuestion: Which?\nwaits for you\n? Question: W\n  Which?\n    1. Red \\x1b[2J: warm\n    2. Blue\n       # blue\nNumber, your own words, or nothing to skip: |")
		c.press(t, "2\n")
		c.See(t, "behavior is allow Blue\n\ndone in 0.0 s\n> |")
		c.press(t, "\x04")
		c.end(t, clikit.ExitDone)
		if strings.Contains(c.Paper.Whole(), "\x1b") {
			t.Errorf("%s: the terminal gets sequences: %q", name, c.Paper.Whole())
		}
	}
}
