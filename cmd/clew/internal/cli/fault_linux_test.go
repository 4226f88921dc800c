package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
)

// Memory does not grow with a transcript of 2 GiB, nor with an endless stream. The program is the
// real one: the race detector would take most of the memory, and minutes.
func TestFaultHuge(t *testing.T) {
	soak.Rest(t)
	program := filepath.Join(t.TempDir(), "clew")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/clewdev/clew/cmd/clew")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p := newFaultPlace(t)
	makeHole(t, p.file, int64(soak.Size(512<<20, 2<<30)), faultTranscript(2))
	for name, test := range map[string]struct {
		line  string
		stdin io.Reader
		most  int
	}{
		"ls":            {"ls --all", nil, 100 << 20},
		"show":          {"show ID", nil, 100 << 20},
		"stats":         {"stats", nil, 100 << 20},
		"show stdin":    {"show -", noisySession(128 << 20), 100 << 20},
		"inspect stdin": {"inspect -", noisySession(128 << 20), 60 << 20},
		"long frames":   {"inspect -", repeat(longResult(10_000_000), 24), 180 << 20}, // of 240 MB
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := p.command(t, faultUse{line: test.line})
			cmd.Path = program
			if test.stdin != nil {
				cmd.Stdin = test.stdin
			}
			o, peak := p.measured(t, cmd)
			if o.code != clikit.ExitDone || o.out == "" {
				t.Errorf("exit code %d, stderr %q", o.code, o.errs)
			}
			if t.Logf("%d MB", peak>>20); peak > test.most {
				t.Errorf("%d MB of memory, want at most %d", peak>>20, test.most>>20)
			}
		})
	}
}

// makeHole makes a file with text, then nothing up to the size, then text again.
func makeHole(t *testing.T, path string, size int64, text string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	_, err = io.WriteString(file, text)
	if err == nil {
		_, err = file.Seek(size, io.SeekStart)
	}
	if err == nil {
		_, err = io.WriteString(file, "\n"+text)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// noisySession returns a session with size bytes of noise in its middle.
func noisySession(size int) io.Reader {
	text := faultTranscript(1)
	noise := fmt.Sprintf(`{"type":"progress","sessionId":%q,"uuid":"x","data":{"type":"hook_progress","text":%q}}`+"\n",
		faultID, strings.Repeat("noise ", 20_000))
	return io.MultiReader(strings.NewReader(text), repeat(noise, size/len(noise)), strings.NewReader(text))
}

// longResult returns a frame with a tool result of about size bytes.
func longResult(size int) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":%q}]}}`+"\n",
		strings.Repeat("word ", size/5))
}

// measured runs a command, and returns its peak memory. It polls, because the system's final figure
// includes the process that started the command.
func (p faultPlace) measured(t *testing.T, cmd *exec.Cmd) (o faultOutcome, peak int) {
	t.Helper()
	wait := p.start(t, cmd)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, peakMemory(cmd.Process.Pid))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	o = wait()
	close(stop)
	<-stopped
	return o, peak
}

// peakMemory returns the peak memory of a process so far, in bytes.
func peakMemory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kilobytes, _ := strconv.Atoi(number) // a process that ended has no such line
	return kilobytes << 10
}

// An interrupted command ends with a message, and leaves nothing on the screen.
func TestFaultSignals(t *testing.T) {
	long := faultTranscript(1 + 17<<20/len(faultTranscript(1)))
	for _, u := range []faultUse{
		{line: "tail ID"}, {line: "tail FILE"}, {line: "show ID"}, {line: "show FILE"}, {line: "show -", stdin: true},
		{line: "inspect --json -", stdin: true},
	} {
		for name, sig := range map[string]os.Signal{"interrupt": os.Interrupt, "terminate": syscall.SIGTERM} {
			t.Run(u.line+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newFaultPlace(t)
				if u.verb() == "show" && !u.stdin {
					p.write(t, long)
				}
				cmd := p.command(t, faultUse{line: u.line})
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				if u.stdin {
					feed(t, p, cmd.StdinPipe)
				}
				cmd.Stdout = w
				wait := p.start(t, cmd)
				_ = w.Close()
				out := bufio.NewReader(r)
				if _, err := out.ReadByte(); err != nil {
					t.Errorf("it shows nothing: %v", err)
				}
				if err := cmd.Process.Signal(sig); err != nil {
					t.Error(err)
				}
				rest, _ := io.ReadAll(out)
				o := wait()
				if o.code != clikit.ExitInterrupted || !strings.HasPrefix(o.errs, "clew "+u.verb()+": interrupted") {
					t.Errorf("exit code %d, stderr %q", o.code, o.errs)
				}
				if len(rest) > 0 && rest[len(rest)-1] != '\n' {
					t.Errorf("the last line has no end: %q", rest[max(0, len(rest)-80):])
				}
			})
		}
	}
}

// feed gives a process the transcript as stdin, which then stays open.
func feed(t *testing.T, p faultPlace, open func() (io.WriteCloser, error)) {
	t.Helper()
	in, err := open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	text, err := os.ReadFile(p.file)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = in.Write(text) }()
}

// A command that waits for an idle pipe also ends.
func TestFaultSignalWhileWaiting(t *testing.T) {
	for _, line := range []string{"show PIPE", "inspect PIPE", "stats --prices PIPE"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := newFaultPlace(t)
			pipe := filepath.Join(p.home, "pipe.jsonl")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := p.command(t, faultUse{line: line})
			cmd.Args[len(cmd.Args)-1] = pipe // its path may have a space
			wait := p.start(t, cmd)
			opened, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once it is opened to be read
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			if o := wait(); o.code != clikit.ExitInterrupted || !strings.Contains(o.errs, "interrupted") {
				t.Errorf("exit code %d, stderr %q", o.code, o.errs)
			}
		})
	}
}

// The bar of a long count is gone when it is interrupted.
func TestFaultSignalClearsBar(t *testing.T) {
	p := newFaultPlace(t)
	makeHole(t, p.file, 64<<30, "\n")
	screen, terminal := clitest.OpenTerminal(t, 80)
	cmd := p.command(t, faultUse{line: "stats"})
	cmd.Stderr = terminal
	wait := p.start(t, cmd)
	_ = terminal.Close()
	shown := bufio.NewReader(screen)
	if _, err := shown.ReadString('%'); err != nil {
		t.Errorf("there is no bar: %v", err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	rest, _ := io.ReadAll(shown) // ends with an error when the other end is closed
	want := clikit.ClearLine + tty.Failure.Paint("clew stats:", true) + " interrupted\r\n"
	if o := wait(); o.code != clikit.ExitInterrupted || !strings.HasSuffix(string(rest), want) {
		t.Errorf("exit code %d, stderr %q", o.code, rest)
	}
}

// begin starts a command whose stdout is a file, and closes the file. The command runs in this
// process unless tests start processes.
func (p faultPlace) begin(t *testing.T, cmd *exec.Cmd) (wait func() faultOutcome) {
	t.Helper()
	out, _ := cmd.Stdout.(*os.File)
	if startsProcesses() {
		wait = p.start(t, cmd)
		_ = out.Close()
		return wait
	}
	done := make(chan faultOutcome, 1)
	go func() {
		defer close(done)
		defer out.Close()
		done <- p.run(t, cmd)
	}()
	return func() faultOutcome { return <-done }
}

// onTerminal runs a command whose stdout is a terminal, and returns what that got.
func (p faultPlace) onTerminal(t *testing.T, cmd *exec.Cmd, columns int) faultOutcome {
	t.Helper()
	screen, tty := clitest.OpenTerminal(t, columns)
	cmd.Stdout = tty
	wait := p.begin(t, cmd)
	shown, _ := io.ReadAll(screen) // ends with an error when the other end is closed
	o := wait()
	o.out = strings.ReplaceAll(string(shown), "\r\n", "\n")
	o.checkTraces(t)
	return o
}

var styleSequence = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkFits fails if a line is wider than columns. A command is one line, so that it can be copied.
func checkFits(t *testing.T, text string, columns int) {
	t.Helper()
	for line := range strings.Lines(styleSequence.ReplaceAllString(text, "")) {
		if n := tty.Width(strings.TrimSuffix(line, "\n")); n > columns && !strings.HasPrefix(line, "clew ") {
			t.Errorf("%d columns: %s", n, line)
			return
		}
	}
}

func TestFaultNarrow(t *testing.T) {
	const columns = 40
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if !u.prose || u.endless {
			t.Skip("its lines are as long as they are, or it goes on")
		}
		o := p.onTerminal(t, p.command(t, u), columns)
		if o.code != clikit.ExitDone || o.out == "" {
			t.Errorf("on a terminal: exit code %d, stdout %q, stderr %q", o.code, o.out, o.errs)
		}
		checkFits(t, o.out, columns)
		cmd := p.command(t, u)
		cmd.Env = append(cmd.Env, fmt.Sprintf("COLUMNS=%d", columns))
		checkFits(t, p.run(t, cmd).out, columns)
	})
}

// Colours are for terminals that have them and people who want them.
func TestFaultColours(t *testing.T) {
	everyUse(t, func(t *testing.T, p faultPlace, u faultUse) {
		if u.endless {
			t.Skip("it goes on")
		}
		if verb := u.verb(); (verb == "ls" || verb == "show") && u.prose {
			o := p.onTerminal(t, p.command(t, u), 80)
			if !styleSequence.MatchString(o.out) {
				t.Errorf("no colours on a terminal:\n%s", o.out)
			}
		}
		for _, without := range []string{"NO_COLOR=1", "TERM=dumb", "CLICOLOR=0"} {
			cmd := p.command(t, u)
			cmd.Env = append(cmd.Env, without)
			if o := p.onTerminal(t, cmd, 80); o.code != clikit.ExitDone || styleSequence.MatchString(o.out) || strings.Contains(o.out, "\x1b]") {
				t.Errorf("%s: exit code %d, stdout %q, stderr %q", without, o.code, o.out, o.errs)
			}
		}
		if o := p.run(t, p.command(t, u)); strings.Contains(o.out, "\x1b") != u.painted {
			t.Errorf("no terminal: %q", o.out)
		}
	})
}

// Input typed before a question appears does not answer it.
func TestAskForgetsWhatWasTyped(t *testing.T) {
	before := termio.Discard
	termio.Discard = discardTyped
	t.Cleanup(func() { termio.Discard = before })
	user, tty := clitest.OpenTerminal(t, 80)
	defer tty.Close()
	useAgent(t, prompted().
		Send(`{"type":"control_request","request_id":"may","request":{"subtype":"can_use_tool","tool_name":"Bash",`+
			`"input":{"command":"make"},"tool_use_id":"t"}}`).
		Expect(`{"type":"control_response","response":{"request_id":"may","subtype":"success","response":{"behavior":"deny"}}}`).
		Send(`{"type":"result","subtype":"success","result":"Well","session_id":"s","uuid":"r"}`))
	if _, err := io.WriteString(user, "yes\n"); err != nil {
		t.Fatal(err)
	}
	code := make(chan int, 1)
	go func() {
		code <- execute(t.Context(), []string{"run", "Hi"}, Streams{In: tty, Out: io.Discard, Err: tty})
		_ = tty.Close()
	}()
	shown := bufio.NewReader(user)
	for seen := ""; !strings.HasSuffix(seen, "Allow it? "); {
		b, err := shown.ReadByte()
		if err != nil {
			t.Fatalf("%v behind %q", err, seen)
		}
		seen += string(b)
	}
	if _, err := io.WriteString(user, "no\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-code; got != clikit.ExitDone {
		t.Errorf("exit code %d", got)
	}
}
