package program_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/termtest"
)

// interactive starts Claude Code itself at a terminal, with its first questions answered.
func (s *stage) interactive(t *testing.T) *chatScreen {
	t.Helper()
	settings, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "lastOnboardingVersion": clewtest.AgentVersion, "theme": "dark", "numStartups": 20,
		"customApiKeyResponses": map[string]any{"approved": []string{"clewtest"}, "rejected": []string{}},
		"projects": map[string]any{s.dir: map[string]any{
			"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": []string{},
		}},
	})
	if err == nil {
		err = os.WriteFile(filepath.Join(s.model.ConfigDir(), ".claude.json"), settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	master, slave := openTerminal(t)
	k := &chatScreen{Terminal: termtest.New(80, 24), keys: master}
	k.SetReplies(master)
	k.cmd = exec.CommandContext(t.Context(), s.agent, "--model", "claude-opus-5-5")
	k.cmd.Dir, k.cmd.Stdin, k.cmd.Stdout, k.cmd.Stderr = s.dir, slave, slave, slave
	k.cmd.Env = append(s.model.Env(), programVariable+"=1", "TERM=xterm-256color")
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = k.cmd.Process.Kill() // it may have ended
		_ = k.cmd.Wait()
	})
	go io.Copy(k, master) //nolint:errcheck // it ends with the terminal
	return k
}

// Claude Code shows the installed line, and the day's cost once it is computed.
func TestRealStatusLine(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("").Usage(12000, 300, 5000, 2000).Reply(clewtest.Text("Hello there."))
	if err := os.MkdirAll(filepath.Join(s.dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".git", "HEAD"), []byte("ref: refs/heads/trunk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	format := "{model} | {context} | {session} | {today} | {branch} | {cache}"
	if _, stderr, code := s.run(t, "statusline", "--install", "--yes", "--format", format); code != 0 {
		t.Fatalf("%d %s", code, stderr)
	}
	k := s.interactive(t)
	k.see(t, "Opus 5.5 | $0.00 | ")
	k.see(t, " | trunk")
	k.press(t, "Hi you")
	k.see(t, "Hi you")
	k.press(t, "\r")
	k.see(t, "Hello there.")
	k.see(t, "Opus 5.5 | 2 % context | $0.07 | ")
	k.see(t, " | cache 26 %")
	// The file of the session counts for the day, as soon as the costs are computed again.
	_, stderr, code := s.run(t, "statusline", "--refresh")
	if code != 0 {
		t.Fatal(stderr)
	}
	stdout, _, _ := s.runWith(t, strings.NewReader("{}"), "statusline", "--format", "{today}")
	if !strings.Contains(stdout, "$0.07") {
		t.Errorf("%q", stdout)
	}
	if _, stderr, code := s.run(t, "statusline", "--remove", "--yes"); code != 0 {
		t.Errorf("%d %s", code, stderr)
	}
}
