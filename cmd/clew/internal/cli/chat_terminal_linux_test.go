package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/cmd/clew/internal/pty"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/tty"
)

// A typedChat is "clew chat" at a terminal.
type typedChat struct {
	*termtest.Terminal
	keys *os.File // the other end of the terminal
	cmd  *exec.Cmd
	dir  string
}

// openChat runs "clew chat" with an agent that talks.
func openChat(t *testing.T, columns, rows int, env ...string) *typedChat {
	t.Helper()
	return openProgram(t, exec.CommandContext(t.Context(), "clew", "chat"), columns, rows, env...)
}

// openProgram runs a program at a terminal.
func openProgram(t *testing.T, cmd *exec.Cmd, columns, rows int, env ...string) *typedChat {
	t.Helper()
	master, slave, err := pty.Open(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	c := &typedChat{Terminal: termtest.New(columns, rows), keys: master, cmd: cmd, dir: t.TempDir()}
	c.SetReflow(true)
	c.cmd.Env = append(os.Environ(), "CLEW_AGENT=claude", chatAgentVariable+"=1", "TERM=xterm", "XDG_STATE_HOME="+c.dir, "TEST_CLOCK=1",
		"CLEW_COLOR=never", "LC_ALL=C", "GORACE=atexit_sleep_ms=0") // the race detector waits a second at each exit
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = slave, slave, slave
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()              // the program has it
	go io.Copy(c.Terminal, master) //nolint:errcheck // it ends with the terminal
	return c
}

func (c *typedChat) resize(t *testing.T, columns, rows int) {
	t.Helper()
	c.Resize(columns, rows)
	size := &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}
	if err := unix.IoctlSetWinsize(int(c.keys.Fd()), unix.TIOCSWINSZ, size); err != nil {
		t.Fatal(err)
	}
}

func (c *typedChat) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := io.WriteString(c.keys, keys); err != nil {
		t.Fatal(err)
	}
}

// shown returns everything that the terminal shows or has shown, with the cursor as a block.
func (c *typedChat) shown() string {
	lines := c.Scrollback()
	x, y := c.Cursor()
	for i, line := range strings.Split(strings.TrimSuffix(c.Text(), "\n"), "\n") {
		if i == y && c.Modes().Cursor {
			line = markCursor(line, x)
		}
		lines = append(lines, line)
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func markCursor(line string, x int) string {
	line += strings.Repeat(" ", max(0, x+1-tty.Width(line)))
	before := tty.Cut(line, x)
	return strings.TrimRight(before+"█"+strings.TrimPrefix(line[len(before):], " "), " ")
}

// elapsed matches the time of a turn.
var elapsed = regexp.MustCompile(`\b\d+ s · `)

// see waits until a text is shown.
func (c *typedChat) see(t *testing.T, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clitest.SeeLimit)
	defer cancel()
	holds := func() bool { return strings.Contains(elapsed.ReplaceAllString(c.shown(), "N s · "), want) }
	if !c.Wait(ctx, holds) {
		t.Fatalf("the screen does not have %q:\n%s", want, c.shown())
	}
}

// end waits for the end of the program, which has to leave the terminal as it was.
func (c *typedChat) end(t *testing.T, code int) {
	t.Helper()
	_ = c.cmd.Wait() // the code says it
	c.Wait(t.Context(), func() bool { return true })
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d; the screen:\n%s", got, code, c.shown())
	}
	c.checkRestored(t)
}

// checkRestored checks the modes of the terminal, and that nothing was asked of it.
func (c *typedChat) checkRestored(t *testing.T) {
	t.Helper()
	want := termtest.Modes{Cursor: true, Wrap: true}
	if !c.Wait(t.Context(), func() bool { return c.Modes() == want }) || len(c.Unknown()) > 0 || len(c.Queries()) > 0 {
		t.Errorf("the terminal has %+v, unknown %q, queries %q", c.Modes(), c.Unknown(), c.Queries())
	}
	settings, err := unix.IoctlGetTermios(int(c.keys.Fd()), unix.TCGETS)
	if err != nil || settings.Lflag&unix.ICANON == 0 || settings.Lflag&unix.ECHO == 0 {
		t.Errorf("the terminal has %+v, %v", settings, err)
	}
}

// emptyComposer is a composer without a text, below which is the status of a new chat.
const (
	emptyComposer = "\n+-------------------------------------------------------------------+\n" +
		"| █                                                                 |\n" +
		"+-------------------------------------------------------------------+\n"
	chatStatusLine = "  opus-5 · default · context 7 %               shift+tab mode  ? keys"
	chatAfterTurn  = "  opus-5 · default · context 7 % · $0.25       shift+tab mode  ? keys"
)

func TestChatTypes(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "one\\\rtwo\x1b\rthree\nfour 世界\x1b[D\x1b[D!")
	c.see(t, "| one                                                               |\n| two      ")
	c.see(t, "| four !█世界")
	c.press(t, "\r")
	c.see(t, "\n> one\n  two\n  three\n  four !世界\n\nYou said one two three four !世界\n"+emptyComposer+chatAfterTurn)
	c.press(t, "\x1b[200~a\rb\x1b[31m\x1b[201~")
	c.see(t, "| b█")
	c.press(t, "\x03")
	c.see(t, emptyComposer+chatAfterTurn)
	c.press(t, "\x1b[A\x1b[A\x1b[A\x1b[A")
	c.see(t, "| one█ ")
	c.press(t, "\x03/m")
	c.see(t, "\n> /mode   show or change the permission mode\n  /model  show or change the model")
	c.press(t, "\x1b[B\t")
	c.see(t, "| /model █")
	c.see(t, "\n> opus\n  sonnet  Sonnet")
	c.press(t, "s")
	c.see(t, "\n> sonnet  Sonnet")
	c.press(t, "\r")
	c.see(t, "\n> /model sonnet\n\nthe model is now claude-sonnet-5\n")
	c.see(t, "  sonnet-5 · default · context 7 % · $0.25")
	c.press(t, "\x04")
	c.see(t, "Session "+clitest.SessionID+"\nResume with: clew chat --resume "+clitest.SessionID+"\n█")
	c.end(t, clikit.ExitDone)
	// Another chat has the prompts typed in this one.
	history, err := os.ReadFile(filepath.Join(c.dir, "clew", "history"))
	if err != nil || string(history) != "\"one\\ntwo\\nthree\\nfour !世界\"\n\"/model sonnet\"\n" {
		t.Errorf("the history is %q, %v", history, err)
	}
	next := openChat(t, 70, 40, "XDG_STATE_HOME="+c.dir)
	next.see(t, emptyComposer+chatStatusLine)
	next.press(t, "\x1b[A")
	next.see(t, "| /model sonnet█")
	next.press(t, "\x03\x03")
	next.see(t, "ctrl+c once more, or ctrl+d, ends the chat")
	next.press(t, "\x03")
	next.end(t, clikit.ExitDone)
}

// A question is answered by its own keys, once it has the focus.
func TestChatAsks(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "may I\r")
	box := "+- Bash ------------------------------------------------------------+\n" +
		"| command: make \\x1b[2J                                             |\n" +
		"+-------------------------------------------------------------------+\n"
	c.see(t, "> may I\n\nLet me see.\n")
	c.see(t, "  waits for you                                      esc to interrupt\n"+box+"  ctrl+g to answer\n")
	c.press(t, "\a")
	c.see(t, box+"  y  yes, once\n  n  no         e  no, and say why     ?  help\n")
	c.press(t, "y")
	c.see(t, "  Bash   make [2J\n\nbehavior is allow\n"+emptyComposer+chatAfterTurn)
	c.press(t, "may I\r")
	c.see(t, box)
	c.press(t, "\a")
	c.see(t, "  y  yes, once")
	c.press(t, "enot now\r")
	c.see(t, "\n  Bash   make [2J"+strings.Repeat(" ", 46)+"denied\n\nbehavior is deny\n"+emptyComposer)
	c.press(t, "may I\r")
	c.see(t, box)
	c.press(t, "\x03")
	c.see(t, "denied\ninterrupted\n"+emptyComposer+chatAfterTurn)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

func TestChatChooses(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "which one\r")
	c.see(t, "+- Question: W -----------------------------------------------------+\n"+
		"| Which?                                                            |\n"+
		"|   1. Red \\x1b[2J: warm                                            |\n"+
		"|   2. Blue                                                         |\n"+
		"|      # blue                                                       |\n"+
		"+-------------------------------------------------------------------+\n")
	c.press(t, "\a")
	c.see(t, "> 1  Red \\x1b[2J  warm\n  2  Blue\n  3  in your own words\n")
	c.press(t, "9")
	c.see(t, "| 9█")
	c.press(t, "\x7f\a2")
	c.see(t, "behavior is allow Blue\n"+emptyComposer+chatAfterTurn)
	c.press(t, "which one\r")
	c.see(t, "ctrl+g: 1 question")
	c.press(t, "\a3Green\r")
	c.see(t, "behavior is allow Green\n"+emptyComposer)
	c.press(t, "which one\r")
	c.see(t, "ctrl+g: 1 question")
	c.press(t, "\x03")
	c.see(t, "interrupted\n"+emptyComposer)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// A question can come while a prompt is being typed, which stays.
func TestChatAsksBetweenTurns(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "later\r")
	c.see(t, "Later.\n"+emptyComposer+chatAfterTurn)
	c.press(t, "yes, ne")
	c.letAsk(t)
	c.see(t, "ctrl+g: 1 question")
	c.press(t, "xt")
	c.see(t, "| yes, next█")
	c.press(t, "\ay")
	c.see(t, "| yes, next█")
	c.see(t, chatAfterTurn)
	c.press(t, "\r")
	c.see(t, "You said yes, next\n"+emptyComposer+chatAfterTurn)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// letAsk lets the agent ask its question after the turn.
func (c *typedChat) letAsk(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "ask"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestChatInterruptedTwice(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "hang\r")
	c.see(t, "Hanging.\n\n  N s · thinking")
	c.press(t, "\x03")
	c.see(t, "Hanging.\n\n  N s · interrupting                             ctrl+c ends the chat\n")
	c.press(t, "\x03")
	c.see(t, "--resume "+clitest.SessionID+"\nclew chat: interrupted\n█")
	c.end(t, clikit.ExitInterrupted)
}

// A chat that is killed by the second signal leaves the terminal as it was.
func TestChatTerminatedTwice(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "hang\r")
	c.see(t, "Hanging.\n")
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.see(t, "interrupting")
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.end(t, clikit.ExitInterrupted)
}

func TestChatTerminated(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.end(t, clikit.ExitInterrupted)
}

// Prompts wait while the agent works. The last one can be taken back.
func TestChatQueues(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "wait\r")
	c.see(t, "Waiting.\n")
	c.press(t, "one\rtwo\rthree\r")
	c.see(t, "  queued: one\n  queued: two\n  queued: three\n+--")
	c.press(t, "\x1b[A")
	c.see(t, "| three█")
	c.press(t, " more\r")
	c.see(t, "  queued: two\n  queued: three more\n+--")
	c.press(t, "typed ahead\x03")
	c.see(t, "Waiting.\n\ninterrupted\n\n> one\n\nYou said one\n\n> two\n\nYou said two\n\n> three more\n\nYou said three more\n")
	c.see(t, "| typed ahead█")
	c.press(t, "\x03wait\r")
	c.see(t, "> wait\n\nWaiting.\n")
	c.press(t, "four\r")
	c.see(t, "queued: four")
	c.press(t, "\x1b")
	c.see(t, "Waiting.\n\ninterrupted\n\n> four")
	c.see(t, "You said four\n"+emptyComposer)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// Prompts that wait when the chat is ended are in the history of the next one.
func TestChatKeepsTheQueue(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "wait\r")
	c.see(t, "Waiting.\n")
	c.press(t, "one\rtwo\nlines\r")
	c.see(t, "  queued: one\n  queued: two lines\n+--")
	c.press(t, "\x04\x04")
	c.end(t, clikit.ExitInterrupted)
	history, err := os.ReadFile(filepath.Join(c.dir, "clew", "history"))
	if err != nil || string(history) != "\"wait\"\n\"one\"\n\"two\\nlines\"\n" {
		t.Errorf("the history is %q, %v", history, err)
	}
}

// Escape interrupts a turn, without swallowing another key. Pressed again, it does not end the
// chat.
func TestChatEscape(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "wait\r")
	c.see(t, "Waiting.\n\n  N s · ")
	c.press(t, "\x1b")
	c.see(t, "Waiting.\n\ninterrupted\n"+emptyComposer+chatAfterTurn)
	c.press(t, "still here\x1b")
	c.see(t, "| still here█")
	c.press(t, "\x03hang\r")
	c.see(t, "Hanging.\n\n  N s · ")
	c.press(t, "\x1b\x1b\x1b")
	c.see(t, "interrupting")
	c.press(t, "\x1b\x03")
	c.see(t, "--resume "+clitest.SessionID+"\nclew chat: interrupted\n█")
	c.end(t, clikit.ExitInterrupted)
}

// A prompt does not wait for the context usage, which is shown when the agent reports it.
func TestChatContextLate(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40, chatAgentVariable+"="+chatAgentSlow)
	c.see(t, emptyComposer+"  opus-5 · default                             shift+tab mode  ? keys")
	c.press(t, "Hi\r")
	c.see(t, emptyComposer+chatAfterTurn)
	c.press(t, "\x04")
	c.end(t, 0)
}

// A command with a spelling mistake is not sent, and can be corrected.
func TestChatUnknownCommand(t *testing.T) {
	t.Parallel()
	c := openChat(t, 90, 40)
	c.see(t, "opus-5 · default · context 7 %")
	c.press(t, "/mdoel opus\r")
	c.see(t, "> /mdoel opus\n\nunknown command /mdoel; did you mean /model?\n"+
		"/help lists the commands. To send the text as a prompt, begin it with a space.\n")
	c.see(t, "| /mdoel opus█")
	c.press(t, "\x01 \r")
	c.see(t, "You said /mdoel opus\n")
	c.see(t, "context 7 % · $0.25")
	c.press(t, "/review x\r")
	c.see(t, "You said /review x\n")
	c.press(t, "/usr/bin is missing\r")
	c.see(t, "You said /usr/bin is missing\n")
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

func TestChatOutlivesTheAgent(t *testing.T) {
	t.Parallel()
	c := openChat(t, 80, 40)
	c.see(t, "opus-5 · default · context 7 %")
	c.press(t, "Hi\r")
	c.see(t, "context 7 % · $0.25")
	c.press(t, "die now\r")
	c.see(t, "the agent crashed; it may have started to act on the prompt\n")
	c.see(t, "| die now█")
	c.see(t, "another agent continues")
	c.press(t, "\x03live\r")
	c.see(t, "> live\n\nYou said live\n")
	c.press(t, "/exit\r")
	c.end(t, clikit.ExitDone)
}

// Output from before a crash is above the report of the crash.
func TestChatCrashOrder(t *testing.T) {
	t.Parallel()
	c := openChat(t, 80, 40)
	c.see(t, "opus-5 · default · context 7 %")
	c.press(t, "Hi\r")
	c.see(t, "context 7 % · $0.25")
	c.press(t, "break it\r")
	c.see(t, "the agent crashed; it may have started to act on the prompt\n")
	text := c.shown()
	order := []string{"First.", "Broken", "another agent continues", "the agent crashed"}
	for i, part := range order[1:] {
		if before := strings.Index(text, order[i]); before < 0 || before > strings.Index(text, part) {
			t.Errorf("%q is not above %q:\n%s", order[i], part, text)
		}
	}
	c.press(t, "\x03\x04")
	c.end(t, clikit.ExitDone)
}

// The line above the text shows the agent's activity.
func TestChatSaysWhatHappens(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "stream\r")
	c.see(t, "Streamed\n\n  N s · writing ")
	c.press(t, "\x1b")
	c.see(t, "Streamed\n\ninterrupted\n"+emptyComposer)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// The user's command runs in a shell, and the agent learns of it.
func TestChatShell(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "!echo one; echo two; exit 3\r")
	c.see(t, "> !echo one; echo two; exit 3\n\none\ntwo\nexit status 3\n"+emptyComposer)
	c.press(t, "extras\r")
	c.see(t, `["text The user ran a shell command.\n$ echo one; echo two;`)
	c.press(t, "!sleep 1000\r")
	c.see(t, "  N s · running sleep 1000 ")
	c.press(t, "\x1b")
	c.see(t, "signal: killed\n"+emptyComposer)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// Images that are named are sent with the text.
func TestChatImages(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	path := filepath.Join(c.dir, "a shot.png")
	if err := os.WriteFile(path, []byte("\x89PNG\r\n\x1a\nrest"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.press(t, `extras "`+path+`" and none.png`+"\r")
	c.see(t, "\nimage:") // the path may need several lines
	c.see(t, "\n\n[\"image \"]\n"+emptyComposer)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// A chat can be suspended and resumed. Meanwhile the terminal is the shell's.
func TestChatSuspended(t *testing.T) {
	t.Parallel()
	c := openProgram(t, exec.CommandContext(t.Context(), "sh", "-i"), 70, 40, "PS1=shell: ", "ENV=")
	c.see(t, "shell: █")
	c.press(t, "clew chat\n")
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "half a \x1a")
	c.see(t, "shell: █")
	c.checkRestored(t)
	c.press(t, "echo here\n")
	c.see(t, "\nhere\nshell: █")
	c.press(t, "fg\n")
	c.see(t, "| half a █")
	c.press(t, "prompt\r")
	c.see(t, "You said half a prompt\n"+emptyComposer)
	c.press(t, "\x04")
	c.see(t, "--resume "+clitest.SessionID+"\nshell: █")
	c.press(t, "exit\n")
	c.end(t, 0)
}

// The conversation's rows can be read above the chat.
func TestChatRows(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	c := openProgram(t, exec.CommandContext(t.Context(), "clew", "chat"), 70, 24, "CLAUDE_CONFIG_DIR="+config)
	c.see(t, emptyComposer+chatStatusLine)
	if err := os.RemoveAll(filepath.Join(config, "projects")); err != nil {
		t.Fatal(err)
	}
	c.press(t, "Hi\r")
	c.see(t, "You said Hi\n")
	c.press(t, "\x1bv")
	c.see(t, "nothing of this conversation is saved")
	writeChatTranscript(t, config)
	c.press(t, "half a \x18\x16")
	c.see(t, "> Written to the file")
	if !c.Modes().AltScreen {
		t.Errorf("%+v", c.Modes())
	}
	c.press(t, "q")
	c.see(t, "| half a █")
	c.press(t, "prompt\r")
	c.see(t, "You said half a prompt\n"+emptyComposer+chatAfterTurn)
	if n := strings.Count(c.shown(), "You said Hi"); n != 1 {
		t.Errorf("the answer is there %d times:\n%s", n, c.shown())
	}
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// writeChatTranscript writes a transcript of the chat.
func writeChatTranscript(t *testing.T, config string) {
	t.Helper()
	dir := filepath.Join(config, "projects", "-srv")
	entry := `{"type":"user","uuid":"u","parentUuid":null,"sessionId":"` + clitest.SessionID + `","cwd":"/srv","timestamp":"2026-01-02T03:04:05Z",` +
		`"message":{"role":"user","content":"Written to the file"}}` + "\n"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, clitest.SessionID+".jsonl"), []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The text can be edited in another program.
func TestChatEditor(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40, `VISUAL="sed" -i 's/two /three /'`)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "one\ntwo lines\x0f")
	c.see(t, "| one                                                               |\n| three lines█")
	c.press(t, "\r")
	c.see(t, "You said one three lines\n"+emptyComposer)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// A long text that is pasted is one element, and is sent whole.
func TestChatPaste(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	go io.WriteString(c.keys, "count \x1b[200~"+strings.Repeat("0123456789abcde\r", 1<<16)+"\x1b[201~\r") //nolint:errcheck // it is seen below
	c.see(t, "You sent 1048582 bytes\n"+emptyComposer)
	c.press(t, "\x04")
	c.end(t, clikit.ExitDone)
}

// Characters and pasted texts may arrive in pieces.
func TestChatPieces(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	for _, b := range []byte("世界") {
		c.press(t, string([]byte{b}))
	}
	for _, piece := range []string{"\x1b[D", "!", "\x1b[200~", "pa", "\r", "ste", "\x1b[201~"} { // sequences have 50 ms
		c.press(t, piece)
	}
	c.see(t, "| 世!pa")
	c.see(t, "| ste█界")
	c.press(t, "\x03\x04")
	c.end(t, clikit.ExitDone)
}

// Whatever happens to the size of the terminal, in the end there is one composer.
func TestChatResized(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	c.press(t, "0123456789 0123456789 世界 0123456789 012345")
	c.see(t, "| 0123456789 0123456789 世界 0123456789 012345█")
	c.resize(t, 40, 40)
	c.see(t, "| 0123456789 0123456789 世界          |\n| 0123456789 012345█")
	for i := range 50 {
		c.resize(t, 20+i*7%80, 10+i%30)
	}
	c.resize(t, 60, 30)
	c.see(t, "| 0123456789 0123456789 世界 0123456789 012345█")
	if got := strings.Count(c.Text(), "| 0123456789"); got != 1 {
		t.Errorf("%d composers:\n%s", got, c.Text())
	}
	c.press(t, "\x03\x04")
	c.end(t, clikit.ExitDone)
}

// A chat that is killed leaves the shell's screen, on which it was.
func TestChatKilled(t *testing.T) {
	t.Parallel()
	c := openChat(t, 70, 40)
	c.see(t, emptyComposer+chatStatusLine)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait() // it was killed
	if c.Modes().AltScreen || c.Modes().Mouse || len(c.Unknown()) > 0 {
		t.Errorf("the terminal has %+v, unknown %q", c.Modes(), c.Unknown())
	}
}

// A finished chat shows the prompt, the work, and how to continue.
func TestChatScreen(t *testing.T) {
	t.Parallel()
	for _, width := range clitest.Widths {
		id := clitest.SessionID
		if width == 40 {
			id = clitest.SessionID[:8]
		}
		for name, color := range map[string]string{"": "never", "_color": "always"} {
			c := openChat(t, width, 60, "CLEW_COLOR="+color)
			c.see(t, "context 7 %")
			c.press(t, "work on it\r")
			c.see(t, "context 7 % · $0.12")
			c.press(t, "\x04")
			c.see(t, ": clew chat --resume "+id+"\n█")
			c.end(t, clikit.ExitDone)
			golden.Check(t, fmt.Sprintf("screens/chat_%d%s", width, name), c.painted(color == "always"))
		}
	}
}

// painted returns the screen, with its styles if color is set.
func (c *typedChat) painted(color bool) string {
	var b strings.Builder
	for _, row := range c.Cells() {
		line, style := "", ""
		for _, cell := range row {
			if now := cell.Style.String(); color && now != style {
				if style != "" {
					line += "\x1b[0m"
				}
				if style = now; now != "" {
					line += "\x1b[" + now + "m"
				}
			}
			line += cell.Text
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
