package cli

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A command that is told to end does so, says that it did, and leaves nothing on
// the screen.
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
				if o.code != exitInterrupted || !strings.HasPrefix(o.errs, "clew "+u.verb()+": interrupted") {
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

// What waits for a pipe that nobody writes to ends, too.
func TestFaultSignalWhileWaiting(t *testing.T) {
	for _, line := range []string{"show PIPE", "inspect PIPE", "stats --prices PIPE"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			p := newFaultPlace(t)
			pipe := filepath.Join(p.home, "pipe.jsonl")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := p.command(t, faultUse{line: strings.Replace(line, "PIPE", pipe, 1)})
			wait := p.start(t, cmd)
			opened, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once it is opened to be read
			if err != nil {
				t.Fatal(err)
			}
			defer opened.Close()
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			if o := wait(); o.code != exitInterrupted || !strings.Contains(o.errs, "interrupted") {
				t.Errorf("exit code %d, stderr %q", o.code, o.errs)
			}
		})
	}
}

// The bar of a long count is gone when it is interrupted.
func TestFaultSignalClearsBar(t *testing.T) {
	p := newFaultPlace(t)
	makeHole(t, p.file, 64<<30, "\n")
	screen, tty := openTerminal(t, 80)
	cmd := p.command(t, faultUse{line: "stats --all"})
	cmd.Stderr = tty
	wait := p.start(t, cmd)
	_ = tty.Close()
	shown := bufio.NewReader(screen)
	if _, err := shown.ReadString('%'); err != nil {
		t.Errorf("there is no bar: %v", err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	rest, _ := io.ReadAll(shown) // ends with an error when the other end is closed
	want := clearLine + "clew stats: interrupted\r\n"
	if o := wait(); o.code != exitInterrupted || !strings.HasSuffix(string(rest), want) {
		t.Errorf("exit code %d, stderr %q", o.code, rest)
	}
}
