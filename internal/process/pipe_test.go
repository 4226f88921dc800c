package process

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/soak"
)

func TestEcho(t *testing.T) {
	t.Parallel()
	p := start(t, child(t, "echo"))
	want := frames(5000)
	go func() {
		if _, err := io.WriteString(p, want); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := p.CloseWrite(); err != nil {
				t.Error(err)
			}
		}
	}()
	got, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Exit{}, p.Close()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Everything that an agent writes right before it exits can be read, in whatever order the two are
// seen.
func TestLastFramesArrive(t *testing.T) {
	want := frames(500)
	spec := child(t, "frames", "500", "7")
	for range soak.Size(10, 400) {
		p := start(t, spec)
		got, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Exit{Code: 7}, p.Close()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestReadAfterExit(t *testing.T) {
	t.Parallel()
	p := start(t, child(t, "frames", "500", "0"))
	<-p.Done()
	got, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(frames(500), string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAgentClosesOutput(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, new(clewtest.Scenario).
		Do(clewtest.IgnoreEndOfInput()).Send(`{"type":"keep_alive"}`).Do(clewtest.CloseStdout()))
	spec := agentSpec(agent)
	spec.CloseTimeout = quick
	p := start(t, spec)
	got, err := io.ReadAll(p)
	if err != nil || string(got) != `{"type":"keep_alive"}`+"\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if isDone(p.Done()) {
		t.Error("the agent has exited")
	}
	if got := p.Close(); !got.Killed {
		t.Errorf("got %+v", got)
	}
}

func TestWriteToTheDead(t *testing.T) {
	t.Parallel()
	p := start(t, child(t, "exit", "0"))
	<-p.Done()
	// The agent's exit may close the input, or this process after it.
	for range 2 {
		if _, err := io.WriteString(p, "Hi\n"); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("got %v", err)
		}
	}
}

func TestWriteAfterCloseWrite(t *testing.T) {
	t.Parallel()
	p := start(t, child(t, "hang"))
	wantReady(t, p)
	if err := p.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p, "Hi\n"); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestCloseEndsReadAndWrite(t *testing.T) {
	t.Parallel()
	spec := child(t, "hang")
	spec.CloseTimeout = quick
	p := start(t, spec)
	wantReady(t, p)
	read, written := make(chan error), make(chan error)
	go func() {
		_, err := p.Read(make([]byte, 1))
		read <- err
	}()
	go func() {
		_, err := io.WriteString(p, strings.Repeat("x", 1<<20))
		written <- err
	}()
	p.Close()
	if err := <-read; !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		t.Errorf("read: got %v", err)
	}
	if err := <-written; !errors.Is(err, os.ErrClosed) && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("write: got %v", err)
	}
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("read after close: got %v", err)
	}
	if _, err := p.Write([]byte("x")); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("write after close: got %v", err)
	}
}
