//go:build unix

package process

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func init() {
	roles["parent"] = parent
	roles["flood"] = flood
	roles["tick"] = tick
}

// tick writes to its output now and then, until nobody can read it.
func tick([]string) int {
	writeFrames(os.Stdout, 1)
	for range time.Tick(200 * time.Millisecond) {
		writeFrames(os.Stdout, 1)
	}
	return 0
}

// parent starts another child: in its group, in a separate session, or in a separate session with
// its input. At the end of its input it writes a frame and exits.
func parent(args []string) int {
	cmd := &exec.Cmd{Path: os.Args[0], Args: os.Args[:1], Env: roleEnv(args[1]), Stdout: os.Stdout, Stderr: os.Stderr}
	if args[0] != "group" {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if args[0] == "input" {
		cmd.Stdin = os.Stdin
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	writeFrames(os.Stdout, 1)
	return 3
}

// flood writes much to its output and to its error until a write to the error fails.
func flood([]string) int {
	signal.Ignore(syscall.SIGPIPE)
	for range time.Tick(10 * time.Millisecond) { // and leaves the processor to other tests
		writeFrames(os.Stdout, 1000)
		if _, err := io.WriteString(os.Stderr, frames(1000)); err != nil {
			return 1
		}
	}
	return 0
}

// startParent returns a parent whose child hangs, and the connection of that child.
func startParent(t *testing.T, where string) (*Process, net.Conn) {
	t.Helper()
	return startParentOf(t, child(t, "parent", where, "hang"))
}

// startParentOf is startParent with another spec.
func startParentOf(t *testing.T, spec *Spec) (*Process, net.Conn) {
	t.Helper()
	line := newLifeline(t)
	spec.Env = append(spec.Env, line.env())
	p := start(t, spec)
	conn := line.connected()
	wantReady(t, p)
	return p, conn
}

func TestGrandchildGoesWithTheAgent(t *testing.T) {
	t.Parallel()
	p, conn := startParent(t, "group")
	if err := p.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(p)
	if err != nil || string(got) != frame(0) {
		t.Errorf("got %q, %v", got, err)
	}
	wantGone(t, conn)
	if diff := cmp.Diff(Exit{Code: 3}, p.Close()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A grandchild in a separate session survives if that is asked for, and holds the agent's output
// and error open.
func TestGrandchildIsKept(t *testing.T) {
	t.Parallel()
	p, conn := startParentOf(t, keeping(child(t, "parent", "session", "hang")))
	if err := p.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(p)
	if err != nil || string(got) != frame(0) {
		t.Errorf("got %q, %v", got, err)
	}
	<-p.stderr.drained
	if diff := cmp.Diff(Exit{Code: 3}, p.Close()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := conn.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the grandchild is gone, so this test shows nothing: %v", err)
	}
}

// keeping returns spec with [Spec.KeepBackground].
func keeping(spec *Spec) *Spec {
	spec.KeepBackground = true
	return spec
}

// A grandchild that writes now and then does not keep the output of a dead agent open.
func TestGrandchildTicks(t *testing.T) {
	t.Parallel()
	p := start(t, keeping(child(t, "parent", "session", "tick")))
	if _, err := p.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := p.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, p)
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(long / 2):
		t.Error("the output does not end")
	}
}

// A grandchild that never stops writing keeps Close busy for a while only.
func TestGrandchildFloods(t *testing.T) {
	t.Parallel()
	p := start(t, keeping(child(t, "parent", "session", "flood")))
	if _, err := p.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if got := p.Close(); got.Code != 3 || len(got.Stderr) < tailBytes {
		t.Errorf("code %d, %d bytes of stderr", got.Code, len(got.Stderr))
	}
}

// A grandchild may also hold the agent's input without reading it.
func TestWriteEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	p, _ := startParent(t, "input")
	written := make(chan error)
	go func() {
		// The agent reads its input until it is stopped.
		var err error
		for err == nil {
			_, err = io.WriteString(p, strings.Repeat("x", 1<<16))
		}
		written <- err
	}()
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-written; !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v", err)
	}
}

// The output of a dead agent ends, even if there is more to read every time.
func TestOutputThatIsNeverEmptyEnds(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	exited := make(chan struct{})
	close(exited)
	o := &output{file: r, exited: exited, limit: time.Unix(1, 0)}
	buf := make([]byte, 32<<10) // less than a pipe holds
	total := 0
	for {
		if _, err := w.Write(buf); err != nil {
			t.Fatal(err)
		}
		n, err := o.Read(buf)
		total += n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || total > lateBytes {
			t.Fatalf("%d bytes, error %v", total, err)
		}
	}
	if total != lateBytes {
		t.Errorf("read %d bytes, want %d", total, lateBytes)
	}
}

// A read whose deadline passed before it started must still return the data in the pipe.
func TestOutputReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	o := &output{file: r, exited: make(chan struct{})}
	if _, err := io.WriteString(w, "last words"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4)
	for _, want := range []string{"last", " wor", "ds", ""} {
		if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		n, err := o.Read(buf)
		if string(buf[:n]) != want || errors.Is(err, io.EOF) != (want == "") {
			t.Errorf("got %q, %v, want %q", buf[:n], err, want)
		}
	}
}
