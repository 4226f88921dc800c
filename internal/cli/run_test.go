package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

// prompted returns a scenario whose agent has come up, got a prompt and said a word.
func prompted() *clewtest.Scenario {
	return new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}`).
		Send(`{"type":"control_response","response":{"request_id":"hello","subtype":"success","response":{}}}`).
		Expect(`{"type":"user","message":{"role":"user"}}`).
		Send(`{"type":"assistant","message":{"content":[{"type":"text","text":"Well"}]},"session_id":"s","uuid":"w"}`)
}

// interrupted adds that the agent is interrupted.
func interrupted(s *clewtest.Scenario) *clewtest.Scenario {
	return s.Expect(`{"type":"control_request","request_id":"stop","request":{"subtype":"interrupt"}}`).
		Send(`{"type":"control_response","response":{"request_id":"stop","subtype":"success","response":{}}}`).
		Send(`{"type":"result","subtype":"error_during_execution","is_error":true,` +
			`"terminal_reason":"aborted_streaming","session_id":"s","uuid":"f"}`)
}

// useAgent makes a simulated agent the one that "clew run" finds.
func useAgent(t *testing.T, s *clewtest.Scenario) *clewtest.Agent {
	t.Helper()
	agent := clewtest.NewAgent(t, s)
	t.Setenv("CLEW_AGENT", agent.Path())
	for _, variable := range agent.Env() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return agent
}

// writerFunc is a function that is called with what is written.
type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRunInterrupted(t *testing.T) {
	useAgent(t, interrupted(prompted()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out, errs bytes.Buffer
	stdout := writerFunc(func(p []byte) (int, error) {
		cancel() // as soon as there is a word
		return out.Write(p)
	})
	code := execute(ctx, []string{"run", "Hi"}, Streams{In: strings.NewReader(""), Out: stdout, Err: &errs})
	if code != exitInterrupted || out.String() != "Well\n" || errs.String() != "interrupting\nclew run: interrupted\n" {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out.String(), errs.String())
	}
}

// The second interrupt ends the program, whatever the agent does.
func TestRunInterruptedTwice(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals cannot be sent to another process")
	}
	agent := clewtest.NewAgent(t, prompted().Do(clewtest.Hang()))
	cmd := exec.CommandContext(t.Context(), "clew", "run", "Hi")
	cmd.Env = append(os.Environ(), "CLEW_AGENT=claude")
	for _, variable := range agent.Env() {
		cmd.Env = append(cmd.Env, scripted+variable)
	}
	stdout, outErr := cmd.StdoutPipe()
	stderr, errErr := cmd.StderrPipe()
	if err := errors.Join(outErr, errErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	for _, heard := range []struct {
		from io.Reader
		word string
	}{{stdout, "Well"}, {stderr, "interrupting\n"}} {
		word := make([]byte, len(heard.word))
		if _, err := io.ReadFull(heard.from, word); err != nil || string(word) != heard.word {
			t.Fatalf("%q, %v; want %q", word, err, heard.word)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
	}
	_ = cmd.Wait() // the code says it
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("the program ended with %v", cmd.ProcessState)
	}
}

// A reader that has seen enough is no failure, and ends the turn.
func TestRunIntoAClosedPipe(t *testing.T) {
	useAgent(t, interrupted(prompted()))
	closed := writerFunc(func([]byte) (int, error) { return 0, syscall.EPIPE })
	var errs bytes.Buffer
	code := execute(t.Context(), []string{"run", "Hi"}, Streams{In: strings.NewReader(""), Out: closed, Err: &errs})
	if code != exitDone || errs.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}

func TestRunFlags(t *testing.T) {
	agent := useAgent(t, new(clewtest.Scenario).
		Expect(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize",`+
			`"systemPrompt":["Be."],"appendSystemPrompt":"Short."}}`).
		Send(`{"type":"control_response","response":{"request_id":"hello","subtype":"success","response":{}}}`).
		Expect(`{"type":"user","message":{"role":"user"}}`).
		Send(`{"type":"result","subtype":"success","result":"Hello","session_id":"s","uuid":"r"}`))
	const id = "5e7b0a4c-1d2f-4e3a-8b9c-0d1e2f3a4b5c"
	args := []string{
		"run", "--resume=" + id, "--fork-session", "--session-id=" + id, "--model=opus", "--fallback-model=sonnet,haiku",
		"--effort=high", "--agent=lead", "--max-turns=3", "--max-budget-usd=0.5", "--permission-mode=plan",
		"--tools=Read,Bash", "--allowedTools=Bash(git log:*)", "--allowedTools=Read", "--disallowedTools=Edit",
		"--strict-mcp-config", "--setting-sources=user,local", "--no-session-persistence", "--include-partial-messages",
		"--system-prompt=Be.", "--append-system-prompt=Short.", "--output-format=stream-json", "Hi",
	}
	var errs bytes.Buffer
	code := execute(t.Context(), args, Streams{In: strings.NewReader(""), Out: io.Discard, Err: &errs})
	if code != exitDone {
		t.Fatalf("exit code %d, stderr %q", code, errs.String())
	}
	got := strings.Join(agent.Args(), " ")
	for _, want := range []string{
		"--resume=" + id, "--fork-session", "--session-id=" + id, "--model=opus", "--fallback-model=sonnet,haiku",
		"--effort=high", "--agent=lead", "--max-turns=3", "--max-budget-usd=0.5", "--permission-mode=plan",
		"--tools=Read,Bash", "--allowedTools=Bash(git log:*),Read", "--disallowedTools=Edit", "--strict-mcp-config",
		"--setting-sources=user,local", "--no-session-persistence", "--include-partial-messages",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the agent does not get %s: %s", want, got)
		}
	}
}

func TestRunPromptTooLong(t *testing.T) {
	var errs bytes.Buffer
	in := io.LimitReader(endless("x"), maxPrompt+1)
	code := execute(t.Context(), []string{"run"}, Streams{In: in, Out: io.Discard, Err: &errs})
	if code != exitInput || !strings.HasPrefix(errs.String(), "clew run: the prompt is longer than 16 MiB\n") {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
}

// endless is a reader of a letter, over and over.
type endless string

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e[0]
	}
	return len(p), nil
}

func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\nc":                 "a\tb\nc",
		"\x1b[2J\r\x07\x7f\u009b": `\x1b[2J\r\a\x7f\u009b`,
		"a\u202eb\u2066\u200f":    `a\u202eb\u2066\u200f`,
		"\u00a0é\u200d\U0001F469": "\u00a0é\u200d\U0001F469",
		"\u2028\U000E0041":        `\u2028\U000e0041`,
		"back\\slash":             "back\\slash",
	} {
		if got := harmless(text); got != want {
			t.Errorf("harmless(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestFitLine(t *testing.T) {
	for _, tt := range []struct {
		line  string
		width int
		want  string
	}{
		{"abcdef", 0, "abcdef"}, {"abcdef", 7, "abcdef"}, {"abcdef", 6, "abcde"}, {"世界世界", 6, "世界"}, {"abc", 1, ""},
	} {
		if got := fitLine(tt.line, tt.width); got != tt.want {
			t.Errorf("fitLine(%q, %d) = %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}
