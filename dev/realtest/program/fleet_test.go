package program_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/polltest"
)

// A locked buffer can be read while a process writes to it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// checkCredit checks that the session of a job of the working directory is listed there, and that the directory is
// the only project, with the cost of the job.
func (s *stage) checkCredit(t *testing.T) {
	t.Helper()
	for args, want := range map[string]string{
		"ls --json": `"title":"Greet"`, "ls --all": " " + filepath.Base(s.dir) + " ", "search Greet --project .": "Greet", "show last --project .": "It is done.",
	} {
		if out, stderr, code := s.run(t, strings.Fields(args)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, no %q in\n%s%s", args, code, want, out, stderr)
		}
	}
	var costs []string
	for _, args := range [][]string{{"stats", "--by", "project", "--csv"}, {"stats", "--by", "project", "--csv", "--project", "."}} {
		out, stderr, code := s.run(t, args...)
		if lines := strings.Split(strings.TrimSpace(out), "\n"); code != 0 || len(lines) != 2 || !strings.HasSuffix(lines[1], s.dir) {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, stderr)
		}
		costs = append(costs, out)
	}
	if costs[0] != costs[1] {
		t.Errorf("all projects: %s\nthis one: %s", costs[0], costs[1])
	}
}

// A worker in one terminal, a submit in another one, and a patch at the end. Then the job asks, and is
// answered.
func TestRealFleet(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "first"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = s.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	s.model.On("Greet").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo Hello > greeting.txt"}))
	s.model.On("Deploy").Reply(clewtest.ToolUse("Bash", map[string]string{"command": "echo deployed | tee log.txt"}))
	s.model.OnToolResult("").Reply(clewtest.Text("It is done."))

	worker := s.command(t, "worker", "--min-free", "100MB")
	var log lockedBuffer
	worker.Stdout, worker.Stderr = &log, &log
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = worker.Process.Kill()
		_ = worker.Wait() // it was killed
		if t.Failed() {
			t.Logf("the worker:\n%s", log.String())
		}
	})
	polltest.Until(t, "no fleet", func() bool {
		_, _, code := s.run(t, "jobs")
		return code == 0
	})
	id, stderr, code := s.run(t, "submit", "--repo", ".", "--allowed-tools", "Bash", "Greet")
	id = strings.TrimSpace(id)
	if code != 0 || id == "" {
		t.Fatalf("exit code %d, %q\n%s", code, id, stderr)
	}
	polltest.Until(t, "not done", func() bool {
		out, _, _ := s.run(t, "jobs", "show", id, "--json")
		return strings.Contains(out, `"state":"done"`)
	})
	if out, stderr, code := s.run(t, "jobs", "patch", id, "--apply"); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, stderr)
	}
	if got, err := os.ReadFile(filepath.Join(s.dir, "greeting.txt")); err != nil || string(got) != "Hello\n" {
		t.Errorf("%q, %v", got, err)
	}
	if out, stderr, code := s.run(t, "jobs", "tail", id); code != 0 || !strings.Contains(out, "Greet") || !strings.Contains(out, "It is done.") {
		t.Errorf("exit code %d\n%s%s", code, out, stderr)
	}
	s.checkCredit(t)

	done := make(chan string, 1)
	go func() {
		out, stderr, _ := s.run(t, "submit", "--ask-tools", "Bash", "--wait", "Deploy")
		done <- out + stderr
	}()
	polltest.Until(t, "no question", func() bool {
		out, _, _ := s.run(t, "jobs", "--json")
		for _, line := range strings.Split(out, "\n") {
			if !strings.Contains(line, `"title":"Deploy"`) {
				continue
			}
			_, rest, _ := strings.Cut(line, `"id":"`)
			id, _, _ := strings.Cut(rest, `"`)
			shown, _, _ := s.run(t, "jobs", "show", id)
			_, command, asks := strings.Cut(shown, "\nanswer ")
			if !asks {
				return false
			}
			command, _, _ = strings.Cut(command, "\n")
			words := strings.Fields(command) // "clew jobs approve ID --question ID --allow"
			_, stderr, code := s.run(t, words[1:]...)
			if code != 0 {
				t.Errorf("%s: exit code %d\n%s", command, code, stderr)
			}
			return true
		}
		return false
	})
	if out := <-done; !strings.Contains(out, "It is done.") {
		t.Errorf("%s", out)
	}
}
