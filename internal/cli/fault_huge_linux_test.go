package cli

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Memory does not grow with a transcript of 2 GiB, nor with a stream that goes on
// and on. The program is the real one: the race detector would take most of the
// memory, and minutes.
func TestFaultHuge(t *testing.T) {
	const most = 100 << 20
	program := filepath.Join(t.TempDir(), "clew")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/clewdev/clew/cmd/clew")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	p := newFaultPlace(t)
	makeHole(t, p.file, 2<<30, faultTranscript(2))
	for _, u := range []faultUse{
		{line: "ls --all"}, {line: "show ID"}, {line: "stats --all"},
		{line: "show -", stdin: true}, {line: "inspect -", stdin: true},
	} {
		t.Run(u.line, func(t *testing.T) {
			t.Parallel()
			cmd := p.command(t, faultUse{line: u.line})
			cmd.Path = program
			if u.stdin {
				cmd.Stdin = noisySession(128 << 20)
			}
			o, peak := p.measured(t, cmd)
			if o.code != exitDone || o.out == "" {
				t.Errorf("exit code %d, stderr %q", o.code, o.errs)
			}
			if t.Logf("%d MB", peak>>20); peak > most {
				t.Errorf("%d MB of memory, want at most %d", peak>>20, most>>20)
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

// noisySession is a session with so many bytes of noise in its middle.
func noisySession(size int) io.Reader {
	text := faultTranscript(1)
	noise := fmt.Sprintf(`{"type":"progress","sessionId":%q,"uuid":"x","data":{"type":"hook_progress","text":%q}}`+"\n",
		faultID, strings.Repeat("noise ", 20_000))
	return io.MultiReader(strings.NewReader(text), repeat(noise, size/len(noise)), strings.NewReader(text))
}

// measured runs a command, and returns how much of it was in memory at most. It
// asks again and again: what the system counts in the end includes the process that
// has started the command.
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

// peakMemory returns how many bytes of a process were in memory at most so far.
func peakMemory(pid int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kilobytes, _ := strconv.Atoi(number) // a process that has ended has no such line
	return kilobytes << 10
}
