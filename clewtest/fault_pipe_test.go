package clewtest_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/clewtest"
)

// The agent is gone and its output still open, until the test ends.
func TestLeaveGrandchildAsProcess(t *testing.T) {
	stdout, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	fake := &fakeTB{TB: t}
	cmd := clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.LeaveGrandchild()).Send(answer).Exit(0)).Command(t.Context())
	cmd.Stdout = w
	if err := errors.Join(cmd.Run(), w.Close()); err != nil {
		t.Fatal(err)
	}
	// An output that had ended would say so at once.
	if err := stdout.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Skip(err)
	}
	got, err := io.ReadAll(stdout)
	if string(got) != answer+"\n" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %q, %v", got, err)
	}
	if got := fake.end(); got != "" {
		t.Error(got)
	}
	if err := stdout.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(stdout); len(got) > 0 || err != nil {
		t.Errorf("the grandchild outlived the test: read %q, %v", got, err)
	}
}

func TestLeaveGrandchildInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeTB{TB: t}
		c := clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.LeaveGrandchild()).Send(answer).Exit(0)).Conn()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		read := make(chan string, 1)
		go func() {
			data, err := io.ReadAll(c.Stdout)
			read <- string(data) + errorText(err)
		}()
		synctest.Wait()
		if len(read) > 0 {
			t.Fatalf("the output has ended: %q", <-read)
		}
		if got := fake.end(); got != "" {
			t.Error(got)
		}
		if got := <-read; got != answer+"\n" {
			t.Errorf("read %q", got)
		}
	})
}

func errorText(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

func TestStderr(t *testing.T) {
	const much = 10 << 20
	s := new(clewtest.Scenario).Stderr("a warning\n").Send(alive).Do(clewtest.NoisyStderr(much)).Send(answer).Exit(1)
	inBothForms(t, s, func(h *host) {
		noise := make(chan string)
		go func() {
			data, err := io.ReadAll(h.stderr)
			noise <- string(data) + errorText(err)
		}()
		h.expect(alive, answer)
		got := <-noise
		rest, ok := strings.CutPrefix(got, "a warning\nnoise ")
		if !ok || len(got) != len("a warning\n")+much || !strings.HasSuffix(rest, "\n") {
			h.t.Errorf("%d bytes: %.40q", len(got), got)
		}
		h.ends("exit status 1")
	})
}

// What nobody reads blocks the agent, as a pipe does.
func TestStderrNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(clewtest.Scenario).Do(clewtest.NoisyStderr(10 << 20)).Send(answer)
		c := clewtest.NewAgent(t, s).Conn()
		read := make(chan string, 1)
		go func() {
			data, err := io.ReadAll(c.Stdout)
			read <- string(data) + errorText(err)
		}()
		synctest.Wait()
		if len(read) > 0 {
			t.Fatalf("the agent wrote %q", <-read)
		}
		if err := c.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := <-read; got != "" {
			t.Errorf("the agent wrote %q", got)
		}
	})
}
