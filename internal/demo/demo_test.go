package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/demo"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// answer returns options for a player, and what is said to the question.
func answer(t clew.Transport, result clew.PermissionResult) *clew.Options {
	return &clew.Options{
		Transport: t,
		CanUseTool: func(context.Context, *clew.PermissionRequest) (clew.PermissionResult, error) {
			return result, nil
		},
	}
}

func TestPlayer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer clew.PermissionResult
		want   string
		played demo.Recording
	}{
		{"allowed", clew.Allow(), "Fixed: all three tests pass.", demo.AllowedRecording},
		{"denied", clew.Deny("No."), "All right, slug.sh stays as it is.", demo.DeniedRecording},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := clewtest.Outside(t.Context(), func(tb testing.TB) {
				player := demo.NewPlayer(tb)
				result, err := clew.Run(t.Context(), demo.Prompt, answer(player, tt.answer))
				if err != nil || !strings.HasPrefix(result.Result, tt.want) || player.Recording() != tt.played {
					t.Errorf("played %s: %+v, %v", player.Recording(), result, err)
				}
			})
			// The agent that was left for another one has not been heard out.
			if failed := err != nil; failed != (tt.played == demo.DeniedRecording) {
				t.Error(err)
			}
		})
	}
}

// It takes less than a minute to see the agent at work, and more than a moment.
func TestAtPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		transport := demo.AtPace(demo.NewPlayer(t))
		if _, err := clew.Run(t.Context(), demo.Prompt, answer(transport, clew.Allow())); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// An interrupted agent says no more.
func TestInterruptAtPace(t *testing.T) {
	t.Parallel()
	ended := errors.New("not ended")
	_ = clewtest.Outside(t.Context(), func(tb testing.TB) { // the dialogue does not come to its end
		session, err := clew.Connect(t.Context(), answer(demo.AtPace(demo.NewPlayer(tb)), clew.Allow()))
		if err != nil {
			t.Error(err)
			return
		}
		defer session.Close()
		for _, err := range session.Turn(t.Context(), clew.Text(demo.Prompt)) {
			if ended = err; err == nil {
				_, _ = session.Interrupt(t.Context(), nil)
			}
		}
	})
	if ended == nil || strings.Contains(ended.Error(), "not ended") {
		t.Errorf("the turn ended with %v", ended)
	}
}

// The session of a recording was written just now, with all of its times.
func TestRecordingLay(t *testing.T) {
	end := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	for _, r := range []demo.Recording{demo.AllowedRecording, demo.DeniedRecording} {
		config := t.TempDir()
		t.Setenv("CLAUDE_CONFIG_DIR", config)
		if err := r.Lay(config, end); err != nil {
			t.Fatal(err)
		}
		infos, err := sessions.List(t.Context(), nil)
		if err != nil || len(infos) != 1 || !infos[0].Modified.Equal(end) || infos[0].CWD != "/home/dev/slug" {
			t.Fatalf("sessions: %+v, %v", infos, err)
		}
		checkTimes(t, infos[0].Path, end)
		tr, err := sessions.Read(t.Context(), infos[0].ID, nil)
		if err != nil || subagents(tr) != 1 || len(tr.Drift.Findings()) > 0 || len(tr.Invalid) > 0 {
			t.Errorf("%s: %v: %d subagents, drift %v, invalid %v", r, err, subagents(tr), tr.Drift.Findings(), tr.Invalid)
		}
	}
}

// subagents counts the subagents that hang at a call.
func subagents(tr *transcript.Transcript) int {
	n := 0
	for _, chunk := range tr.Chunks {
		for _, item := range chunk.Items {
			n += len(item.Agents)
		}
	}
	return n
}

func checkTimes(t *testing.T, path string, end time.Time) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for line := range strings.Lines(string(text)) {
		var entry struct{ Timestamp time.Time }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if at := entry.Timestamp; !at.IsZero() && (at.After(end) || end.Sub(at) > time.Minute) {
			t.Errorf("a line of %v", at)
		} else if !at.IsZero() {
			last = at
		}
	}
	if !last.Equal(end) {
		t.Errorf("the last line is of %v, want %v", last, end)
	}
}

// The project is a repository of its own, whatever variables say, and can do without git.
func TestLay(t *testing.T) {
	dir, other := filepath.Join(t.TempDir(), "new", "slug"), t.TempDir()
	t.Setenv("GIT_DIR", filepath.Join(other, "git"))
	if err := demo.Lay(dir); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(other); err != nil || len(files) > 0 {
		t.Errorf("elsewhere there is %v, %v", files, err)
	}
	if _, err := exec.LookPath("git"); err == nil {
		head, err := os.ReadFile(filepath.Join(dir, ".git", "HEAD"))
		if err != nil || string(head) != "ref: refs/heads/main\n" {
			t.Errorf("the branch is %q, %v", head, err)
		}
	}
	t.Setenv("PATH", other)
	if err := demo.Lay(filepath.Join(other, "slug")); err != nil {
		t.Error(err)
	}
	if err := demo.Lay(filepath.Join(dir, "slug.sh")); err == nil {
		t.Error("a file was taken for a folder")
	}
}
