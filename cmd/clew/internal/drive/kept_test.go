package drive_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/internal/files"
)

// restarted returns the agents of another server over the same files, as if the first one was killed.
func (f *fixture) restarted(t *testing.T) *drive.Agents {
	t.Helper()
	agents := drive.New(drive.Options{Keep: f.keep})
	t.Cleanup(func() { agents.Close() })
	if err := agents.Restore(); err != nil {
		t.Fatal(err)
	}
	return agents
}

var notUUID = cmpopts.IgnoreUnexported(drive.Prompt{})

// After the death of the server, the next one has every unanswered prompt, and knows the accepted
// ones.
func TestPromptsOutliveServer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		start := drive.StartRequest{ID: "start-one", Project: f.project, Prompt: "say hello"}
		begun, err := f.Start(t.Context(), start)
		if err != nil {
			t.Fatal(err)
		}
		g, err := f.Agent(begun.Agent)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, req := range []drive.PromptRequest{{ID: "prompt-two", Text: "wait"}, {ID: "prompt-three", Text: "say three"}, {ID: "prompt-four", Text: "say four"}} {
			if _, err := g.Prompt(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if _, err := g.Withdraw(t.Context(), drive.WithdrawRequest{ID: f.id(), Prompt: "prompt-three"}); err != nil {
			t.Fatal(err)
		}
		next := f.restarted(t)
		status, ok := next.Restored("start-one")
		if !ok || status.State != drive.Ended || status.Session != begun.Session || !strings.Contains(status.Why, "server") {
			t.Errorf("restored: %v %+v", ok, status)
		}
		want := []drive.Prompt{{ID: "prompt-two", Text: "wait", State: "lost"}, {ID: "prompt-four", Text: "say four", State: "unsent"}}
		if diff := cmp.Diff(want, status.Returned, notUUID); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
		old, err := next.Agent(begun.Agent)
		if err != nil {
			t.Fatal(err)
		}
		for id, state := range map[string]string{"start-one": "answered", "prompt-two": "lost", "prompt-four": "unsent"} {
			if p, err := old.Prompt(t.Context(), drive.PromptRequest{ID: id, Text: "again"}); err != nil || p.State != state {
				t.Errorf("%s again: %+v %v", id, p, err)
			}
		}
		_, err = old.Prompt(t.Context(), drive.PromptRequest{ID: "prompt-five", Text: "say five"})
		wantKind(t, err, drive.Gone, "has ended")
		if got, err := old.Withdraw(t.Context(), drive.WithdrawRequest{ID: f.id(), Prompt: "prompt-four"}); err != nil || got.Text != "say four" {
			t.Errorf("withdrawn: %+v %v", got, err)
		}
		third, _ := f.restarted(t).Restored("start-one") // and the one after that
		if diff := cmp.Diff(want[:1], third.Returned, notUUID); diff != "" {
			t.Errorf("after another restart (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"say hello", "wait"}, f.sim.Prompts()); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}

// A prompt that can't be kept is refused, and a file that can't be read costs only itself.
func TestKeepFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		g := f.start(t, "say hello")
		good, err := filepath.Glob(filepath.Join(f.keep, "*.json"))
		if err != nil || len(good) != 1 {
			t.Fatal(good, err)
		}
		info, err := os.Stat(good[0])
		if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
			t.Errorf("mode %v %v", info.Mode(), err)
		}
		if err := os.WriteFile(filepath.Join(f.keep, "12345678.json"), []byte(`{"agent":"../../x`), 0o600); err != nil {
			t.Fatal(err)
		}
		next := drive.New(drive.Options{Keep: f.keep})
		t.Cleanup(func() { next.Close() })
		if err := next.Restore(); err == nil || !strings.Contains(err.Error(), "12345678.json") || len(next.List()) != 1 {
			t.Errorf("%v, %d agents", err, len(next.List()))
		}
		if err := os.RemoveAll(f.keep); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.keep, nil, 0o600); err != nil { // no directory
			t.Fatal(err)
		}
		_, err = g.Prompt(t.Context(), drive.PromptRequest{ID: f.id(), Text: "say more"})
		wantKind(t, err, drive.Failed, "can't be kept")
		_, err = f.Start(t.Context(), drive.StartRequest{ID: f.id(), Project: f.project, Prompt: "say more"})
		wantKind(t, err, drive.Failed, "can't be kept")
		synctest.Wait()
		if diff := cmp.Diff([]string{"say hello"}, f.sim.Prompts()); diff != "" {
			t.Errorf("sent (-want +got):\n%s", diff)
		}
	})
}

// keepFile writes the file of an agent of another process, with a prompt that is not answered.
func (f *fixture) keepFile(t *testing.T, agent string, pid int) {
	t.Helper()
	text := fmt.Sprintf(`{"agent":%q,"session":%q,"pid":%d,"prompts":[{"id":"prompt-one","text":"say one","state":"queued"}]}`, agent, oldSession, pid)
	if err := errors.Join(os.MkdirAll(f.keep, 0o700), os.WriteFile(filepath.Join(f.keep, agent+".json"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// A server runs if its lock is held: its process ID may belong to another program.
func TestServerOfKeptPrompts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	running := os.Getppid()
	f.keepFile(t, "agent-one", running)
	if got := f.restarted(t).List(); len(got) != 1 || len(got[0].Returned) != 1 {
		t.Errorf("of another program's process: %+v", got)
	}
	f.keepFile(t, "agent-two", running)
	lock, err := files.LockShared(filepath.Join(f.keep, fmt.Sprintf("%d.lock", running)))
	if err != nil {
		t.Fatal(err)
	}
	next := drive.New(drive.Options{Keep: f.keep})
	t.Cleanup(func() { next.Close() })
	if err := next.Restore(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", running)) || len(next.List()) != 1 {
		t.Errorf("of a server that runs: %v, %d agents", err, len(next.List()))
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if got := f.restarted(t).List(); len(got) != 2 {
		t.Errorf("%d agents after the server has ended", len(got))
	}
}

// An agent that owes nothing is forgotten before an agent with returned prompts, and has no file.
func TestForgottenAgents(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.keepFile(t, "agent-one", os.Getpid())
		if err := f.Restore(); err != nil {
			t.Fatal(err)
		}
		for range 2 * drive.MaxEnded {
			g := f.start(t, "say hello")
			if _, err := g.End(t.Context(), drive.EndRequest{ID: f.id()}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if g, err := f.Agent("agent-one"); err != nil || len(g.Status().Returned) != 1 {
			t.Errorf("the agent with a prompt was forgotten: %v", err)
		}
		files, err := filepath.Glob(filepath.Join(f.keep, "*.json"))
		if err != nil || len(files) != 1 || len(f.List()) != drive.MaxEnded {
			t.Errorf("files %q %v, %d agents", files, err, len(f.List()))
		}
	})
}
