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

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/pty"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
)

// openViewer runs the program at a terminal, with the session of the demo.
func openViewer(t *testing.T, columns, rows int, args ...string) *typedChat {
	t.Helper()
	return openViewerBy(t, columns, rows, exec.CommandContext(t.Context(), "clew", args...))
}

// openViewerBy is like openViewer, for a command that runs the program.
func openViewerBy(t *testing.T, columns, rows int, cmd *exec.Cmd) *typedChat {
	t.Helper()
	master, slave, err := pty.Open(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	c := &typedChat{Terminal: termtest.New(columns, rows), keys: master, dir: demoHome(t), cmd: cmd}
	cmd.Dir = c.dir
	cmd.Env = append(cmd.Env, "HOME="+c.dir, "PATH="+os.Getenv("PATH"), "TERM=xterm", "LC_ALL=C.UTF-8", "TZ=UTC",
		"XDG_CACHE_HOME="+filepath.Join(c.dir, "cache"), "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()              // the program has it
	go io.Copy(c.Terminal, master) //nolint:errcheck // it ends with the terminal
	return c
}

// listed is on the session list, and viewed on the session screen.
const (
	listed = "all projects "
	viewed = "find"
)

func TestViewerStarts(t *testing.T) {
	t.Parallel()
	c := openViewer(t, 100, 30)
	c.see(t, "test.sh fails") // a filter finds only what was read
	c.press(t, "/test.sh\r")
	c.see(t, viewed)
	c.press(t, "q")
	c.see(t, "/ test.sh")
	c.press(t, "\x1b")
	c.see(t, listed)
	c.press(t, "q")
	c.end(t, clikit.ExitDone)
	if text := strings.TrimSpace(c.Text()); text != "" {
		t.Errorf("it leaves on the screen of the shell:\n%s", text)
	}
}

func TestViewerOfASession(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"view"}, {"view", demoID[:4]}, {"view", "last", "--no-mouse"}} {
		c := openViewer(t, 80, 24, args...)
		c.see(t, viewed)
		if mouse := c.Modes().Mouse; mouse == (len(args) == 3) {
			t.Errorf("%v: the mouse is %t", args, mouse)
		}
		c.press(t, "q")
		c.end(t, clikit.ExitDone)
	}
	c := openViewer(t, 80, 24, "view", "nope")
	c.see(t, "no session or file matches")
	c.end(t, clikit.ExitInput)
}

// Escape is a key by itself, and the start of others.
func TestViewerEscape(t *testing.T) {
	t.Parallel()
	c := openViewer(t, 80, 24)
	c.see(t, listed)
	c.press(t, "?")
	c.see(t, "move half a page down")
	c.press(t, "\x1b[6~") // page down
	c.see(t, "continue the session")
	c.press(t, "\x1b")
	c.see(t, listed)
	c.press(t, "q")
	c.end(t, clikit.ExitDone)
}

func TestViewerPaste(t *testing.T) {
	t.Parallel()
	c := openViewer(t, 80, 24)
	c.see(t, listed)
	paste := "\x1b[200~" + strings.Repeat("q test.sh\x1b[2J\r", 64<<10) + "\x1b[201~" // 1 MB
	c.press(t, paste)
	c.press(t, "/") // it was not for the list
	c.press(t, paste)
	c.see(t, "Nothing matches")
	c.press(t, "\x1b")
	c.see(t, listed)
	c.press(t, "q")
	c.end(t, clikit.ExitDone)
}

func TestViewerResizeStorm(t *testing.T) {
	t.Parallel()
	c := openViewer(t, 80, 24)
	c.see(t, listed)
	for i := range 60 {
		c.resize(t, 1+(i*37)%160, 1+(i*11)%50)
	}
	c.resize(t, 100, 30)
	c.see(t, listed)
	c.press(t, "\r")
	c.see(t, viewed)
	for i := range 60 {
		c.resize(t, 160-(i*31)%160, 50-(i*7)%50)
	}
	c.resize(t, 80, 24)
	c.see(t, viewed)
	c.press(t, "qq")
	c.end(t, clikit.ExitDone)
}

func TestViewerSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := openViewer(t, 80, 24)
			c.see(t, listed)
			if err := c.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			c.end(t, clikit.ExitInterrupted)
		})
	}
}

// A program that is killed leaves the terminal as it is, without a trace.
func TestViewerKilled(t *testing.T) {
	t.Parallel()
	c := openViewer(t, 80, 24)
	c.see(t, listed)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	left, err := filepath.Glob(filepath.Join(c.dir, "*"))
	if err != nil || len(left) != 1 { // the sessions
		t.Errorf("it leaves %q, %v", left, err)
	}
}

// A terminal that hangs up ends the program.
func TestViewerHangUp(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "clew")
	cmd.Dir = demoHome(t)
	cmd.Env = []string{"HOME=" + cmd.Dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "GORACE=atexit_sleep_ms=0"}
	master, slave, err := pty.Open(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close() // the program has it
	seen, part := "", make([]byte, 4096)
	for !strings.Contains(seen, "Recent") {
		n, err := master.Read(part)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(part[:n])
	}
	_ = master.Close() // nobody reads from it
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != clikit.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

// A shell with job control suspends the program by its key and by a signal, and continues it.
func TestViewerSuspend(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "-i")
	cmd.Env = []string{"PS1=shell> "}
	c := openViewerBy(t, 80, 24, cmd)
	c.see(t, "shell> ")
	c.press(t, "clew\r")
	for n, suspend := range []string{"\x1a", "signal", "\x1a"} {
		c.see(t, listed)
		if suspend == "signal" {
			c.stopChild(t)
		} else {
			c.press(t, suspend)
		}
		c.see(t, "Stopped")
		c.checkModes(t)
		c.press(t, fmt.Sprintf("clear; echo back $((%d+%d))\r", n, n))
		c.see(t, fmt.Sprintf("back %d", 2*n))
		c.press(t, "fg\r")
	}
	c.see(t, listed)
	c.press(t, "?")
	c.see(t, "move half a page down")
	c.press(t, "\x1b")
	c.see(t, listed)
	c.press(t, "q")
	c.see(t, "shell> ")
	c.press(t, "exit\r")
	c.end(t, clikit.ExitDone)
}

// stopChild asks the program that the shell runs to stop.
func (c *typedChat) stopChild(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "pgrep", "-P", fmt.Sprint(c.cmd.Process.Pid)).Output()
	var pid int
	if _, scanErr := fmt.Sscan(string(out), &pid); err != nil || scanErr != nil {
		t.Fatalf("no child: %v, %v", err, scanErr)
	}
	if err := syscall.Kill(pid, syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
}

// Another program gets the terminal as a shell leaves it, and the viewer takes it back.
func TestViewerHandsOver(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "clew", "view")
	temporary := t.TempDir()
	cmd.Env = []string{"TMPDIR=" + temporary, `VISUAL=sh -c 'stty -a | grep -o " icanon"; echo "reads $(wc -c <"$0") bytes"; read line; echo "got $line"; read line'`}
	c := openViewerBy(t, 80, 24, cmd)
	c.see(t, "10/10") // a row is selected
	c.press(t, "v")
	c.see(t, " icanon")
	c.see(t, "reads ")
	c.checkModes(t)
	if c.Modes().Paste {
		t.Error("pastes are marked")
	}
	c.press(t, "a line\r")
	c.see(t, "got a line")
	c.press(t, "\r")
	c.see(t, viewed)
	c.press(t, "q")
	c.end(t, clikit.ExitDone)
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// checkModes checks that the terminal has no mode that only the viewer uses. A shell sets the paste
// mode.
func (c *typedChat) checkModes(t *testing.T) {
	t.Helper()
	if m := c.Modes(); m.AltScreen || m.Mouse || m.KeyboardDepth > 0 || !m.Cursor {
		t.Errorf("the terminal has %+v", m)
	}
}
