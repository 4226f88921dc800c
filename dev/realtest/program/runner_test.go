package program_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
)

// An object is the output of "clew run --output-format json".
type object struct {
	Result           string          `json:"result"`
	StructuredOutput json.RawMessage `json:"structured_output"`
	SessionID        string          `json:"session_id"`
	TotalCostUSD     float64         `json:"total_cost_usd"`
	Usage            struct {
		InputTokens  int `json:"input_tokens"`
		OutputTokens int `json:"output_tokens"`
	} `json:"usage"`
	NumTurns   int    `json:"num_turns"`
	DurationMS int64  `json:"duration_ms"`
	Error      string `json:"error"`
}

func (s *stage) runObject(t *testing.T, wantCode int, args ...string) object {
	t.Helper()
	stdout, stderr, code := s.run(t, append([]string{"run", "--output-format", "json"}, args...)...)
	if code != wantCode || strings.Count(stdout, "\n") != 1 {
		t.Fatalf("exit code %d, want %d; stdout %q, stderr %q", code, wantCode, stdout, stderr)
	}
	return decoded[object](t, stdout)
}

func decoded[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// The object describes the turn, and the session can be resumed in its directory.
func TestRealRunObject(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("").Usage(100, 20, 0, 0).Reply(clewtest.Text("Hello."))
	first := s.runObject(t, 0, "--model", "claude-opus-5-5", "Hi")
	if first.Result != "Hello." || first.SessionID == "" || first.TotalCostUSD <= 0 || first.Usage.InputTokens != 100 ||
		first.Usage.OutputTokens != 20 || first.NumTurns != 1 || first.DurationMS <= 0 || first.Error != "" {
		t.Errorf("%+v", first)
	}
	if second := s.runObject(t, 0, "--continue", "Again"); second.SessionID != first.SessionID {
		t.Errorf("continued %s as %s", first.SessionID, second.SessionID)
	}
	if third := s.runObject(t, 0, "--resume", first.SessionID, "--fork-session", "Once more"); third.SessionID == first.SessionID {
		t.Error("the session was not forked")
	}
	requests := s.model.Requests()
	if got := requests[len(requests)-1].Body; !strings.Contains(string(got), "Again") {
		t.Errorf("the fork does not know the second prompt: %s", got)
	}
}

// A failed turn is also one object, with the reason.
func TestRealRunFailure(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("").Fail(400).Message("no such thing")
	if got := s.runObject(t, 1, "Hi"); got.Result != "" || !strings.Contains(got.Error, "no such thing") {
		t.Errorf("%+v", got)
	}
	stdout, stderr, code := s.run(t, "run", "Hi")
	if code != 1 || stdout != "" || !strings.Contains(stderr, "clew run: the turn failed: ") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// A limit on turns and on money ends the turn, an answer that has to fit a schema does.
func TestRealRunLimits(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("forever").Reply(clewtest.ToolUse("Read", map[string]string{"file_path": filepath.Join(s.dir, "none")}))
	s.model.OnToolResult("").Reply(clewtest.ToolUse("Read", map[string]string{"file_path": filepath.Join(s.dir, "none")}))
	if got := s.runObject(t, 1, "--max-turns", "2", "forever"); !strings.Contains(got.Error, "2") || got.NumTurns < 2 {
		t.Errorf("--max-turns: %+v", got)
	}
	if got := s.runObject(t, 1, "--max-budget-usd", "0.000001", "forever"); !strings.Contains(got.Error, "budget") {
		t.Errorf("--max-budget-usd: %+v", got)
	}
	s.model.On("number").Reply(clewtest.ToolUse("StructuredOutput", map[string]int{"n": 7})).Once()
	s.model.Reply("Done.")
	schema := `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
	if err := os.WriteFile(filepath.Join(s.dir, "schema.json"), []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := s.run(t, "run", "--json-schema", "schema.json", "a number")
	if code != 0 || stdout != "{\"n\":7}\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
}

// Text appears while the model still writes, and an interrupt ends the turn there.
func TestRealRunInterrupted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to another process")
	}
	s := newStage(t)
	s.model.On("").Reply(clewtest.Text(strings.Repeat("word ", 10_000))).ChunkSize(5).Pace(20 * time.Millisecond)
	cmd := s.command(t, "run", "Hi")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	text := bufio.NewReader(out)
	if word, err := text.ReadString(' '); word != "word " {
		t.Fatalf("%q, %v, stderr %q", word, err, errs.String())
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := text.ReadString(0)
	if strings.Count(rest, "word") > 1500 || !strings.HasSuffix(rest, "\n") {
		t.Errorf("%d bytes more, %v", len(rest), err)
	}
	_ = cmd.Wait() // the code says it
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.HasSuffix(errs.String(), "clew run: interrupted\n") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}

// "claude -p --output-format stream-json | clew show -" shows the turn, while it is written if that
// is asked for, and "clew run --output-format stream-json" can take the place of the agent there.
func TestRealShowStream(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.Text("I'll read it."), clewtest.ToolUse("Read", map[string]string{
		"file_path": filepath.Join(s.dir, "none"),
	}))
	s.model.OnToolResult("").Reply(clewtest.Text("It isn't there."))
	for _, agent := range []*exec.Cmd{
		s.claude(t, "-p", "--verbose", "--output-format", "stream-json", "Hi"),
		s.claude(t, "-p", "--verbose", "--output-format", "stream-json", "--include-partial-messages", "Hi"),
		s.command(t, "run", "--output-format", "stream-json", "--include-partial-messages", "Hi"),
	} {
		out, err := agent.StdoutPipe()
		if err := errors.Join(err, agent.Start()); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, code := s.runWith(t, out, "show", "-")
		if err := agent.Wait(); err != nil {
			t.Errorf("%v: %v", agent.Args, err)
		}
		if code != 0 || stderr != "" {
			t.Errorf("%v: exit code %d, stderr %q", agent.Args, code, stderr)
		}
		_, answer, _ := strings.Cut(stdout, "opus-")
		for _, want := range []string{"\n  I'll read it.\n", "\n  Read   ", "\n  It isn't there.\n"} {
			before, after, found := strings.Cut(answer, want)
			if !found || strings.Contains(after, strings.TrimSpace(want)) {
				t.Errorf("%v: %q is not there once after %q:\n%s", agent.Args, want, before, stdout)
			}
			answer = "\n" + after
		}
	}
}

// The result is the last text, not all of them.
func TestRealRunResult(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Reply(clewtest.Text("I'll read it."), clewtest.ToolUse("Read", map[string]string{
		"file_path": filepath.Join(s.dir, "none"),
	}))
	s.model.OnToolResult("").Reply(clewtest.Text("It isn't there."))
	if got := s.runObject(t, 0, "Hi"); got.Result != "It isn't there." {
		t.Errorf("the result is %q", got.Result)
	}
}

// claude returns the agent itself.
func (s *stage) claude(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.agent, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = s.dir, s.model.Env(), detached()
	return cmd
}

// The list, the statistics and the text of a session agree with its result.
func TestRealRunIsReadBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("Hi").Usage(1000, 50, 200, 0).Reply(clewtest.Text("Hello there."))
	ran := s.runObject(t, 0, "--model", "claude-opus-5-5", "Hi")

	stdout, stderr, code := s.run(t, "stats", "--json")
	if code != 0 {
		t.Fatalf("stats: exit code %d, %s", code, stderr)
	}
	counted := decoded[struct {
		Total struct {
			Usage struct{ InputTokens, OutputTokens int }
			Cost  float64
		}
	}](t, stdout).Total
	if diff := counted.Cost - ran.TotalCostUSD; diff > 1e-9 || diff < -1e-9 {
		t.Errorf("stats counts $%v, the result said $%v: %s", counted.Cost, ran.TotalCostUSD, stdout)
	}
	if counted.Usage != struct{ InputTokens, OutputTokens int }(ran.Usage) {
		t.Errorf("stats counts %+v, the result said %+v: %s", counted.Usage, ran.Usage, stdout)
	}

	stdout, stderr, code = s.run(t, "ls", "--json")
	listed := decoded[struct{ ID, Model string }](t, stdout)
	if code != 0 || listed.ID != ran.SessionID || listed.Model != "claude-opus-5-5" {
		t.Errorf("ls: exit code %d, %+v, %s", code, listed, stderr)
	}
	stdout, stderr, code = s.run(t, "show", "last")
	if code != 0 || !strings.Contains(stdout, "\n> Hi  ") || !strings.Contains(stdout, "\n  Hello there.\n") {
		t.Errorf("show: exit code %d, %q, %q", code, stdout, stderr)
	}
}
