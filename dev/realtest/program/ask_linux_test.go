package program_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/pty"
)

// openTerminal returns both ends of a pseudo-terminal.
func openTerminal(t *testing.T) (user, program *os.File) {
	t.Helper()
	user, program, err := pty.Open(80, 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = user.Close()
		_ = program.Close()
	})
	return user, program
}

// waitFor reads until it has read a text.
func waitFor(t *testing.T, from *os.File, text string) string {
	t.Helper()
	var all bytes.Buffer
	for b := make([]byte, 1); !strings.HasSuffix(all.String(), text); {
		if _, err := from.Read(b); err != nil {
			t.Fatalf("%v after %q, want %q", err, all.String(), text)
		}
		all.Write(b)
	}
	return all.String()
}

// enter types a line.
func enter(t *testing.T, terminal *os.File, line string) {
	t.Helper()
	if _, err := terminal.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
}

// Whoever pipes a prompt in is asked on the terminal: what the agent wants to know, and whether it
// may.
func TestRealRunAsks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.ToolUse("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
		"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": []any{
			map[string]string{"label": "Red", "description": "warm"}, map[string]string{"label": "Blue", "description": "cold"},
		},
	}}})).Once()
	s.model.OnToolResult("Blue").Reply(clewtest.ToolUse("Bash", map[string]string{
		"command": "touch blue", "description": "Make a file",
	})).Once()
	s.model.OnToolResult("").Reply(clewtest.Text("It's made.")).Once()

	user, terminal := openTerminal(t)
	var out, errs strings.Builder
	cmd := s.command(t, "run", "--permission-mode", "default", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("Hi"), &out, &errs
	cmd.ExtraFiles = []*os.File{terminal}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if question := waitFor(t, user, "skip: "); !strings.Contains(question, "2. Blue: cold") {
		t.Errorf("it asks %q", question)
	}
	enter(t, user, "2")
	question := waitFor(t, user, "Allow it? ")
	for _, want := range []string{" command: touch blue ", " description: Make a file "} {
		if !strings.Contains(question, want) {
			t.Errorf("it asks %q", question)
		}
	}
	enter(t, user, "y")
	if err := cmd.Wait(); err != nil || out.String() != "It's made.\n" {
		t.Errorf("%v, stdout %q, stderr %q", err, out.String(), errs.String())
	}
	if _, err := os.Stat(filepath.Join(s.dir, "blue")); err != nil {
		t.Error(err)
	}
}

// A plan is carried out when the user says yes to it.
func TestRealRunAsksAboutAPlan(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.ToolUse("ExitPlanMode", map[string]string{"plan": "Make it blue."})).Once()
	s.model.OnToolResult("").Reply(clewtest.Text("It's blue.")).Once()
	user, terminal := openTerminal(t)
	var out, errs strings.Builder
	cmd := s.command(t, "run", "--permission-mode", "plan", "Hi")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, user, "Allow it? ")
	enter(t, user, "y")
	if err := cmd.Wait(); err != nil || out.String() != "It's blue.\n" {
		t.Errorf("%v, stdout %q, stderr %q", err, out.String(), errs.String())
	}
	requests := s.model.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "approved") {
		t.Errorf("the plan was not approved: %s", body[max(0, len(body)-2000):])
	}
}
