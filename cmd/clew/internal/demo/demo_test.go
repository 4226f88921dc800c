package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/internal/demo"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// answer returns options for a transport, with the answer to the agent's question.
func answer(t clew.Transport, result permission.Result) *clew.Options {
	return &clew.Options{
		Transport: t,
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
			return result, nil
		},
	}
}

func TestPlayer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer permission.Result
		want   string
		played demo.Recording
	}{
		{"allowed", permission.Allow(), "Fixed: all three tests pass.", demo.AllowedRecording},
		{"denied", permission.Deny("No."), "All right, slug.sh stays as it is.", demo.DeniedRecording},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			player := &demo.Player{}
			result, err := clew.Run(t.Context(), demo.Prompt, answer(player, tt.answer))
			if err != nil || !strings.HasPrefix(result.Result, tt.want) || player.Recording() != tt.played {
				t.Errorf("played %s: %+v, %v", player.Recording(), result, err)
			}
			if err := player.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A model serves until it is closed, leaves no files, and reports requests that it could not
// answer.
func TestModelClose(t *testing.T) {
	t.Parallel()
	model, err := demo.StartModel(t.Context(), t.TempDir(), true)
	if err != nil {
		t.Fatal(err)
	}
	post := func() (*http.Response, error) {
		const body = `{"model":"m","messages":[{"role":"user","content":"Something else."}]}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, model.URL()+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		return http.DefaultClient.Do(req)
	}
	resp, err := post()
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := model.Close(); err == nil || !strings.Contains(err.Error(), "no rule for this request") {
		t.Errorf("Close returns %v after a request without a rule", err)
	}
	if _, err := os.Stat(model.Home()); !os.IsNotExist(err) {
		t.Errorf("files are left: %v", err)
	}
	if resp, err := post(); err == nil {
		_ = resp.Body.Close()
		t.Error("the model still answers")
	}
}

// With pauses, the recording takes at least 5 and at most 30 seconds.
func TestAtPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		transport := demo.AtPace(&demo.Player{})
		if _, err := clew.Run(t.Context(), demo.Prompt, answer(transport, permission.Allow())); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 5*time.Second || took > 30*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// An interrupted agent sends nothing more.
func TestInterruptAtPace(t *testing.T) {
	t.Parallel()
	player := &demo.Player{}
	session, err := clew.Connect(t.Context(), answer(demo.AtPace(player), permission.Allow()))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ended := errors.New("not ended")
	for _, err := range session.Turn(t.Context(), clew.Text(demo.Prompt)) {
		if ended = err; err == nil {
			_, _ = session.Interrupt(t.Context(), nil)
		}
	}
	if ended == nil || strings.Contains(ended.Error(), "not ended") {
		t.Errorf("the turn ended with %v", ended)
	}
	_ = session.Close() // its error is that of the turn
	if err := player.Err(); err == nil || !strings.Contains(err.Error(), "expects more of the host") {
		t.Errorf("the recording was not played to its end, and the error is %v", err)
	}
}

// The agent has the interrupt before its output ends: otherwise it may first see that the host ends its input.
func TestInterruptAtPaceOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		agent := &interruptedConnection{output: strings.NewReader(`{"type":"user","message":{"role":"user","content":"x"}}` + "\n")}
		agent.interrupted = func() {
			synctest.Wait() // the reader could end now
			if ended {
				t.Error("the output ended before the agent had the interrupt")
			}
		}
		transport := demo.AtPace(clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) { return agent, nil }))
		conn, err := transport.Connect(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = conn.Read(make([]byte, 1<<10)) // it pauses before the line
			ended = true
		}()
		synctest.Wait()
		if _, err := conn.Write([]byte(`{"type":"control_request","request":{"subtype":"interrupt"}}` + "\n")); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !ended {
			t.Error("the output goes on after the interrupt")
		}
	})
}

// An interruptedConnection calls a function when something is written to it.
type interruptedConnection struct {
	clew.Connection
	output      *strings.Reader
	interrupted func()
}

func (c *interruptedConnection) Read(p []byte) (int, error) { return c.output.Read(p) }

func (c *interruptedConnection) Write(p []byte) (int, error) {
	c.interrupted()
	return len(p), nil
}

// Lay moves the times of a session so that it ends at the given time.
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

// The sessions of other days are whole, each in its own project, the newest first.
func TestLayPasts(t *testing.T) {
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	config := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", config)
	if err := demo.LayPasts(config, now); err != nil {
		t.Fatal(err)
	}
	infos, err := sessions.List(t.Context(), nil)
	if err != nil || len(infos) != len(demo.Pasts()) {
		t.Fatalf("%d sessions, %v", len(infos), err)
	}
	for i, past := range demo.Pasts() {
		if infos[i].CWD != past.Dir() || infos[i].FirstPrompt != past.Prompts[0] || infos[i].Title() != past.Title || !infos[i].Modified.Before(now) {
			t.Errorf("session %d: %+v, want that of %s", i, infos[i], past.Name)
		}
		tr, err := sessions.Read(t.Context(), infos[i].ID, nil)
		if err != nil || len(tr.Drift.Findings()) > 0 || len(tr.Invalid) > 0 || len(tr.Unlinked) > 0 {
			t.Errorf("%s: %v, drift %v, invalid %v", past.Name, err, tr.Drift.Findings(), tr.Invalid)
		}
		if took := infos[i].LastTime.Sub(infos[i].Created); took < time.Minute || took > 2*time.Hour {
			t.Errorf("%s took %v", past.Name, took)
		}
	}
}

// subagents counts the subagents that are linked to a tool call.
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

// The project is a separate repository, also if variables name another one, and it does not need
// git.
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
		t.Error("Lay took a file for a directory")
	}
}
