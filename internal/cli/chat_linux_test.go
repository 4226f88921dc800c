package cli

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/internal/clikit"
	"golang.org/x/sys/unix"
)

// A chatTerminal is a terminal with a chat in it.
type chatTerminal struct {
	*paper
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
	master, slave := openTerminal(t, columns)
	c := &chatTerminal{paper: newPaper(columns), keys: master, dir: t.TempDir()}
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
	go io.Copy(c.paper, master) //nolint:errcheck // it ends with the terminal
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
	c.mu.Lock()
	c.columns = columns
	c.mu.Unlock()
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.cmd.ProcessState.ExitCode(); got != code || c.wrapped || len(c.unknown) > 0 {
		t.Errorf("exit code %d, want %d; wrapped: %v, unknown sequences: %q; the screen:\n%s",
			got, code, c.wrapped, c.unknown, c.text())
	}
}

func TestRunLeavesTheTerminal(t *testing.T) {
	t.Parallel()
	c := startTyped(t, 70, []string{"run", "hang"})
	c.see(t, "Hanging.\n|")
	c.press(t, "\x03")
	c.see(t, "\ninterrupting\n|")
	c.press(t, "\x03")
	c.see(t, "\ninterrupting\n^C\n|")
	c.end(t, clikit.ExitInterrupted)
}

func TestChatDumb(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb")
	c.see(t, "> |")
	c.press(t, "may I\\\ntoo\n")
	c.see(t, plainChoices+"|")
	c.press(t, "yes\n")
	c.see(t, "behavior is allow\n\ndone in 0.0 s\n> |")
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
	if strings.Contains(c.paper.all(), "claude-opus-5") {
		t.Errorf("the screen:\n%s", c.paper.all())
	}
}

func TestChatDumbTypedAhead(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb", "TEST_DISCARD=1")
	c.see(t, "> |")
	c.press(t, "twice\nno prompt\n")
	first := "? Bash\n  command: make \\x1b[2J\n" + plainChoices
	c.see(t, first+"|")
	c.press(t, "y\n")
	second := "? Bash\n  command: second\n" + plainChoices
	c.see(t, second+"|")
	c.press(t, "2\n")
	c.see(t, second+"2\n! Bash denied\n\nbehavior is deny\n\ndone in 0.0 s\n> |")
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

func TestChatDumbAsksBetweenTurns(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb", "TEST_DISCARD=1")
	c.see(t, "> |")
	c.press(t, "later\n")
	c.see(t, "Later.\n\ndone in 0.0 s\n> |")
	c.letAsk(t)
	c.see(t, "Press Enter to see a question from the agent: |")
	c.press(t, "y\n")
	c.see(t, "This line was ignored.\nwaits for you\n? Bash\n  command: make \\x1b[2J\n"+plainChoices+"|")
	c.press(t, "n\n")
	c.see(t, "Allow it? n\n> |")
	c.press(t, "next\n")
	c.see(t, "You said next\n\ndone in 0.0 s\n> |")
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

func (p *paper) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text()
}

// A plain chat does not redraw anything, and reports events in words.
func TestChatPlain(t *testing.T) {
	t.Parallel()
	for name, setup := range map[string]struct{ args, env []string }{
		"--plain":    {[]string{"chat", "--plain"}, nil},
		"ACCESSIBLE": {[]string{"chat"}, []string{"ACCESSIBLE=1"}},
	} {
		c := startTyped(t, 70, setup.args, append(setup.env, "CLEW_COLOR=never", "CLEW_NOTIFY=false")...)
		c.see(t, "Claude Code. Enter sends, /help lists commands, Ctrl-D ends.\n> |")
		c.press(t, "may I\n")
		c.see(t, "> may I\nworking\n\nLet me see.\n\n* Bash: make  [2J\nwaits for you\n? Bash\n  command: make \\x1b[2J\n"+plainChoices+"|")
		c.press(t, "1\n")
		c.see(t, "Allow it? 1\n\nbehavior is allow\n\ndone in 0.0 s\n> |")
		c.press(t, "which one\n")
		c.see(t, "* AskUserQuestion: Which?\nwaits for you\n? Question: W\n  Which?\n    1. Red \\x1b[2J: warm\n    2. Blue\n       # blue\nNumber, your own words, or nothing to skip: |")
		c.press(t, "2\n")
		c.see(t, "behavior is allow Blue\n\ndone in 0.0 s\n> |")
		c.press(t, "\x04")
		c.end(t, clikit.ExitDone)
		if strings.Contains(c.paper.whole(), "\x1b") {
			t.Errorf("%s: the terminal gets sequences: %q", name, c.paper.whole())
		}
	}
}
