package program_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/cli"
	"github.com/clewdev/clew/internal/gittest"
	"github.com/clewdev/clew/internal/timelimit"
)

// programVariable makes the test binary the program.
const programVariable = "REALTEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programVariable) != "" {
		timelimit.Lift()
		os.Exit(cli.Main(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
	}
	os.Exit(gittest.Main(m))
}

// A stage is a directory in which the program runs, with the real agent and a model.
type stage struct {
	model *clewtest.Model
	agent string
	dir   string
	pids  string // the file with the process of the agent of a chat, or ""
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{model: clewtest.NewModel(t), agent: clewtest.RealAgent(t), dir: t.TempDir()}
}

// command returns "clew ARGS", not yet started.
func (s *stage) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, detached()
	cmd.Env = append(s.model.Env(), programVariable+"=1", "CLEW_AGENT="+s.agent, "TERM=xterm")
	return cmd
}

// run runs "clew ARGS".
func (s *stage) run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return s.runWith(t, nil, args...)
}

// runWith runs "clew ARGS" with an input.
func (s *stage) runWith(t *testing.T, in io.Reader, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := s.command(t, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &out, &errs
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// The text of the turn is on stdout, the use of tools on stderr. The allowed tool ran, and the one
// that needed an answer did not.
func TestRealRunText(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.Text("I'll write."), clewtest.ToolUse("Write", map[string]string{
		"file_path": filepath.Join(s.dir, "allowed"), "content": "x",
	})).Once()
	s.model.OnToolResult("allowed").Reply(clewtest.ToolUse("Bash", map[string]string{
		"command": "touch denied", "description": "Make a file",
	})).Once()
	s.model.OnToolResult("no terminal").Reply(clewtest.Text("That's it.")).Once()
	stdout, stderr, code := s.run(t, "run", "--allowedTools", "Write", "--permission-mode", "default", "Hi")
	if code != 0 || stdout != "I'll write.\nThat's it.\n" {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for _, want := range []string{"* Write: ", "* Bash: ", "! Bash denied: "} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q on stderr:\n%s", want, stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(s.dir, "allowed")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "denied")); err == nil {
		t.Error("the command has run")
	}
}

// Each line of stdout is an object, the last one is the result, and its session can be gone on
// with.
func TestRealRunStreamJSON(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Reply("Hello.")
	stdout, stderr, code := s.run(t, "run", "--output-format", "stream-json", "Hi")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, stderr %q", code, stderr)
	}
	var last struct {
		Type      string
		Result    string
		SessionID string `json:"session_id"`
	}
	for line := range strings.Lines(stdout) {
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			t.Errorf("%q: %v", line, err)
		}
	}
	if last.Type != "result" || last.Result != "Hello." {
		t.Errorf("the last line is %+v", last)
	}
	stdout, stderr, code = s.run(t, "run", "--resume", last.SessionID, "--output-format", "json", "Again")
	if code != 0 || !strings.Contains(stdout, `"session_id":"`+last.SessionID+`"`) {
		t.Errorf("resumed: exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}
