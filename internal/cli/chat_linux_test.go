package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

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

const (
	chatStatusLine = "claude-opus-5 · default · context 7%\n"
	chatAfterTurn  = "\n\nclaude-opus-5 · default · $0.25 · context 7%\n"
)

func TestChatTypes(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, chatStatusLine+"> |")
	c.press(t, "one\\\rtwo\x1b\rthree\nfour 世界\x1b[D\x1b[D!")
	c.see(t, "> one\n  two\n  three\n  four !|世界")
	c.press(t, "\r")
	c.see(t, "> one\n  two\n  three\n  four !世界\n\nYou said one two three four !世界"+chatAfterTurn+"> |")
	c.press(t, "\x1b[200~a\rb\x1b[31m\x1b[201~")
	c.see(t, "> a\n  b\\x1b[31m|")
	c.press(t, "\x03")
	c.see(t, "context 7%\n> |")
	c.press(t, "\x1b[A\x1b[A\x1b[A\x1b[A")
	c.see(t, "> one|\n  two\n  three\n  four !世界")
	c.press(t, "\x03/m\t")
	c.see(t, "> /mode|\n/mode   show or change the permission mode\n/model  show or change the model")
	c.press(t, "l s\t\r")
	c.see(t, "> /model sonnet\nthe model is now claude-sonnet-5\n\nclaude-sonnet-5 · default · $0.25 · context 7%\n> |")
	c.press(t, "/r\t")
	c.see(t, "> /review |")
	c.press(t, "\x15\x04")
	c.see(t, "Session "+chatSession+"\nResume with: clew chat --resume "+chatSession+"\n|")
	c.end(t, exitDone)
	// Another chat knows what was typed in this one.
	history, err := os.ReadFile(filepath.Join(c.dir, "clew", "history"))
	if err != nil || string(history) != "\"one\\ntwo\\nthree\\nfour !世界\"\n\"/model sonnet\"\n" {
		t.Errorf("the history is %q, %v", history, err)
	}
	next := startChat(t, 70, "XDG_STATE_HOME="+c.dir)
	next.see(t, chatStatusLine+"> |")
	next.press(t, "\x1b[A")
	next.see(t, "> /model sonnet|")
	next.press(t, "\x03\x03")
	next.see(t, "> |\nCtrl-C once more, or Ctrl-D, ends the chat.")
	next.press(t, "\x03")
	next.end(t, exitDone)
}

func TestChatAsks(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "may I\r")
	said := "\nLet me see.\n\n"
	question := "+- Bash ------------------------------------------------------------+\n" +
		"| command: make \\x1b[2J                                             |\n" +
		"+-------------------------------------------------------------------+\n" + choices
	c.see(t, "> may I\n"+said+question+"|")
	c.press(t, "nx\x7f\x7fy\r")
	c.see(t, question+"y\n  Bash   make [2J\n\nbehavior is allow"+chatAfterTurn+"> |")
	// Input typed before a question does not answer it.
	c.press(t, "may I\ryes\r")
	c.see(t, question+"|")
	c.press(t, "n\r")
	c.see(t, "You said yes"+chatAfterTurn+"> |")
	if row := "\n  Bash   make [2J" + strings.Repeat(" ", 46) + "denied\n"; !strings.Contains(c.paper.all(), row) {
		t.Errorf("the screen:\n%s", c.paper.all())
	}
	if !strings.Contains(c.paper.all(), "behavior is deny") {
		t.Errorf("the screen:\n%s", c.paper.all())
	}
	c.press(t, "may I\r")
	c.see(t, question+"|")
	c.press(t, "\x03")
	c.see(t, "interrupted"+chatAfterTurn+"> |")
	c.press(t, "\x04")
	c.end(t, exitDone)
}

func TestChatChooses(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "which one\r")
	question := "+- Question: W -----------------------------------------------------+\n" +
		"| Which?                                                            |\n" +
		"|   1. Red \\x1b[2J: warm                                            |\n" +
		"|   2. Blue                                                         |\n" +
		"|      # blue                                                       |\n" +
		"+-------------------------------------------------------------------+\n" +
		"Number, your own words, or nothing to skip: "
	c.see(t, "Let me see.\n\n"+question+"|")
	c.press(t, "3\r")
	c.see(t, question+"3\nNumber, your own words, or nothing to skip: |")
	c.press(t, "2\r")
	c.see(t, "behavior is allow Blue"+chatAfterTurn+"> |")
	c.press(t, "which one\r")
	c.see(t, question+"|")
	c.press(t, "\x03")
	c.see(t, "interrupting\n  AskUserQuestion  Which?"+strings.Repeat(" ", 35)+"no result\ninterrupted"+chatAfterTurn+"> |")
	c.press(t, "\x04")
	c.end(t, exitDone)
}

// A question can come while a prompt is being typed, which is there again afterwards.
func TestChatAsksBetweenTurns(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "later\r")
	c.see(t, "Later."+chatAfterTurn+"> |")
	c.letAsk(t)
	c.see(t, choices+"|")
	c.press(t, "y\r")
	c.see(t, "\nclaude-opus-5 · default · $0.25 · context 7%\n> |")
	c.press(t, "next")
	c.see(t, "> next|")
	c.press(t, "\x03\x04")
	c.end(t, exitDone)
}

func TestChatInterruptedTwice(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "hang\r")
	c.see(t, "Hanging.\n|")
	c.press(t, "\x03")
	c.see(t, "Hanging.\n\ninterrupting\n|")
	c.press(t, "\x03")
	c.see(t, "--resume "+chatSession+"\nclew chat: interrupted\n|")
	c.end(t, exitInterrupted)
}

// The second interrupt ends a run at once, and what follows begins a line.
func TestRunLeavesTheTerminal(t *testing.T) {
	t.Parallel()
	c := startTyped(t, 70, []string{"run", "hang"})
	c.see(t, "Hanging.\n|")
	c.press(t, "\x03")
	c.see(t, "\ninterrupting\n|")
	c.press(t, "\x03")
	c.see(t, "\ninterrupting\n^C\n|")
	c.end(t, exitInterrupted)
}

// A chat that is killed by the second signal leaves the terminal as it was.
func TestChatTerminatedTwice(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "hang\r")
	c.see(t, "Hanging.\n|")
	for _, seen := range []string{"\ninterrupting\n|", "\ninterrupting\n\n|"} {
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		c.see(t, seen)
	}
	c.end(t, exitInterrupted)
	settings, err := unix.IoctlGetTermios(int(c.keys.Fd()), unix.TCGETS)
	if err != nil || settings.Lflag&unix.ICANON == 0 || settings.Lflag&unix.ECHO == 0 {
		t.Errorf("the terminal has %+v, %v", settings, err)
	}
}

// A terminal that can do no more than lines.
func TestChatDumb(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb")
	c.see(t, "> |")
	c.press(t, "may I\\\ntoo\n")
	c.see(t, choices+"|")
	c.press(t, "yes\n")
	c.see(t, "behavior is allow\n> |")
	c.press(t, "\x04")
	c.end(t, exitDone)
	if strings.Contains(c.paper.all(), "claude-opus-5") {
		t.Errorf("the screen:\n%s", c.paper.all())
	}
}

// A line that was typed before does not keep the user from answering.
func TestChatDumbTypedAhead(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb", "TEST_DISCARD=1")
	c.see(t, "> |")
	c.press(t, "twice\nno prompt\n")
	first := "? Bash\n  command: make \\x1b[2J\n" + choices
	c.see(t, first+"|")
	c.press(t, "y\n")
	second := "? Bash\n  command: second\n" + choices
	c.see(t, second+"|")
	c.press(t, "n\n")
	c.see(t, second+"n\n! Bash denied\nbehavior is deny\n> |")
	c.press(t, "\x04")
	c.end(t, exitDone)
}

// A prompt that is being typed gives way to a question, and is asked for again.
func TestChatDumbAsksBetweenTurns(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70, "TERM=dumb", "TEST_DISCARD=1")
	c.see(t, "> |")
	c.press(t, "later\n")
	c.see(t, "Later.\n> |")
	c.letAsk(t)
	c.see(t, "Press Enter to see a question from the agent: |")
	c.press(t, "y\n")
	c.see(t, "This line was ignored.\n? Bash\n  command: make \\x1b[2J\n"+choices+"|")
	c.press(t, "n\n")
	c.see(t, "Allow it? n\n> |")
	c.press(t, "next\n")
	c.see(t, "You said next\n> |")
	c.press(t, "\x04")
	c.end(t, exitDone)
}

func TestChatInterrupted(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "wait\r")
	c.see(t, "Waiting.\n|")
	c.press(t, "typed ahead\x03")
	c.see(t, "Waiting.\n\ninterrupting\ninterrupted"+chatAfterTurn+"> typed ahead|")
	c.press(t, "\x03\x04")
	c.end(t, exitDone)
}

// Escape interrupts a turn, and takes no other key with it. Pressed again, it does not end the chat.
func TestChatEscape(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "wait\r")
	c.see(t, "Waiting.\n|")
	c.press(t, "\x1b")
	c.see(t, "Waiting.\n\ninterrupting\ninterrupted"+chatAfterTurn+"> |")
	c.press(t, "still here\x1b")
	c.see(t, "> still here|")
	c.press(t, "\x03may I\r")
	c.see(t, "Allow it? |")
	c.press(t, "\x1b")
	c.see(t, "interrupted"+chatAfterTurn+"> |")
	c.press(t, "hang\r")
	c.see(t, "Hanging.\n|")
	c.press(t, "\x1b\x1b\x1b")
	c.see(t, "Hanging.\n\ninterrupting\n|")
	c.press(t, "\x1b\x03")
	c.see(t, "--resume "+chatSession+"\nclew chat: interrupted\n|")
	c.end(t, exitInterrupted)
}

// A command with a spelling mistake is not sent, and can be corrected.
func TestChatUnknownCommand(t *testing.T) {
	t.Parallel()
	c := startChat(t, 90)
	c.see(t, "> |")
	c.press(t, "/mdoel opus\r")
	c.see(t, "> /mdoel opus\nunknown command /mdoel; did you mean /model?\n"+
		"/help lists the commands. To send the text as a prompt, begin it with a space.\n\n"+chatStatusLine+"> /mdoel opus|")
	c.press(t, "\x01 \r")
	c.see(t, "You said /mdoel opus"+chatAfterTurn+"> |")
	c.press(t, "/review x\r")
	c.see(t, "You said /review x"+chatAfterTurn+"> |")
	c.press(t, "/usr/bin is missing\r")
	c.see(t, "You said /usr/bin is missing"+chatAfterTurn+"> |")
	c.press(t, "\x04")
	c.end(t, exitDone)
}

// The first lines say what the keys do.
func TestChatGreets(t *testing.T) {
	t.Parallel()
	for columns, want := range map[int]string{
		90: "Claude Code, claude-opus-5\n/help for commands · Esc or Ctrl-C interrupts · Ctrl-D ends\n",
		40: "Claude Code, claude-opus-5\n/help for commands · Esc or Ctrl-C\ninterrupts · Ctrl-D ends\n",
	} {
		c := startChat(t, columns)
		c.see(t, "> |")
		c.press(t, "\x04")
		c.end(t, exitDone)
		if !strings.HasPrefix(c.paper.all(), want) {
			t.Errorf("%d columns:\n%s", columns, c.paper.all())
		}
	}
}

func TestChatOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	c := startChat(t, 80)
	c.see(t, "> |")
	c.press(t, "Hi\r")
	c.see(t, chatAfterTurn+"> |")
	c.press(t, "die now\r")
	c.see(t, "the agent crashed; it may have started to act on the prompt"+chatAfterTurn+"> die now|")
	if !strings.Contains(c.paper.all(), "another agent continues") {
		t.Errorf("the screen:\n%s", c.paper.all())
	}
	c.press(t, "\x03live\r")
	c.see(t, "> live\n\nYou said live"+chatAfterTurn+"> |")
	c.press(t, "/exit\r")
	c.end(t, exitDone)
}

func TestChatResized(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	c.press(t, "0123456789 0123456789 世界 0123456789 012345")
	c.see(t, "> 0123456789 0123456789 世界 0123456789 012345|")
	c.press(t, "\x15short")
	c.see(t, "> short|")
	c.resize(t, 40)
	c.press(t, "\x150123456789 0123456789 世界 0123456789 012345")
	c.see(t, chatStatusLine+"> 0123456789 0123456789 世界 0123456789\n  012345|")
	c.resize(t, 30)
	c.press(t, "\x15")
	c.see(t, "claude-opus-5 · default · co…\n> |")
	c.mu.Lock()
	c.wrapped = false // by what was drawn before the program knew
	c.mu.Unlock()
	c.press(t, "0123456789 0123456789 世界 01")
	c.see(t, "default · co…\n> 0123456789 0123456789 世界\n  01|")
	c.press(t, "\x03\x04")
	c.end(t, exitDone)
}

// all returns everything on the screen.
func (p *paper) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text()
}

func TestChatTerminated(t *testing.T) {
	t.Parallel()
	c := startChat(t, 70)
	c.see(t, "> |")
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.end(t, exitInterrupted)
}

// A chat as it is to be read afterwards: the prompt, what was done, and how to continue.
func TestChatScreen(t *testing.T) {
	t.Parallel()
	for _, width := range screenWidths {
		status, id := " · $0.12 · context 7%\n> |", chatSession
		if width == 40 {
			status, id = " · cont…\n> |", chatSession[:8]
		}
		for name, color := range map[string]string{"": "never", "_color": "always"} {
			c := startChat(t, width, "CLEW_COLOR="+color)
			c.see(t, "> |")
			c.press(t, "work on it\r")
			c.see(t, status)
			c.press(t, "\x04")
			c.see(t, ": clew chat --resume "+id+"\n|")
			c.end(t, exitDone)
			c.painted = color == "always"
			checkGolden(t, fmt.Sprintf("screens/chat_%d%s", width, name), strings.TrimSuffix(c.paper.all(), "|\n"))
		}
	}
}
