package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/tty"
)

// prompted returns a scenario whose agent started, got a prompt and wrote a word.
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

// useAgent makes "clew run" find a simulated agent.
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

// writerFunc is a function that is called with the written bytes.
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
	if code != clikit.ExitInterrupted || out.String() != "Well\n" || errs.String() != "interrupting\nclew run: interrupted\n" {
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
	if code := cmd.ProcessState.ExitCode(); code != clikit.ExitInterrupted {
		t.Errorf("the program ended with %v", cmd.ProcessState)
	}
}

// A reader that closes the pipe is not a failure. It ends the turn.
func TestRunIntoAClosedPipe(t *testing.T) {
	useAgent(t, interrupted(prompted()))
	closed := writerFunc(func([]byte) (int, error) { return 0, syscall.EPIPE })
	var errs bytes.Buffer
	code := execute(t.Context(), []string{"run", "Hi"}, Streams{In: strings.NewReader(""), Out: closed, Err: &errs})
	if code != clikit.ExitDone || errs.Len() > 0 {
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
	if code != clikit.ExitDone {
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
	in := io.LimitReader(endless("x"), 16<<20+1)
	code := execute(t.Context(), []string{"run"}, Streams{In: in, Out: io.Discard, Err: &errs})
	if code != clikit.ExitInput || !strings.HasPrefix(errs.String(), "clew run: the prompt is longer than 16 MiB\n") {
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
		"\u00a0é\u200d\U0001F469": "\u00a0é\\u200d\U0001F469",
		"می\u200cخواهم a\u200cb":  "می\u200cخواهم a\\u200cb",
		"\u2028\U000E0041":        `\u2028\U000e0041`,
		"back\\slash":             "back\\slash",
	} {
		if got := tty.CleanExactly(text); got != want {
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
		if got := clikit.FitLine(tt.line, tt.width); got != tt.want {
			t.Errorf("fitLine(%q, %d) = %q, want %q", tt.line, tt.width, got, tt.want)
		}
	}
}

// testKey is the key of the test that a script belongs to.
type testKey struct{}

// scripted starts the names of the variables that make the program claude a simulated agent. Under
// their own names they would also turn clew, which is the same binary, into an agent.
const scripted = "SCRIPTED_"

// scriptAgent runs "agent [-lenient] DIALOGUE": from here on the program claude plays it, a lenient
// one as far as it gets.
func scriptAgent(ts *testscript.TestScript, neg bool, args []string) {
	t, ok := ts.Value(testKey{}).(testing.TB)
	if !ok {
		ts.Fatalf("the script belongs to no test")
	}
	if len(args) > 1 && args[0] == "-lenient" {
		t, args = lenient{t}, args[1:]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: agent [-lenient] DIALOGUE")
	}
	agent := clewtest.NewAgent(t, clewtest.LoadDialogue(t, ts.MkAbs(args[0])))
	for _, variable := range agent.Env() {
		name, value, _ := strings.Cut(variable, "=")
		setScriptEnv(ts, scripted+name, value)
	}
	agents, _ := ts.Value(agentKey{}).(*scriptedAgent)
	agents.Agent = agent
}

// A lenient test lets an agent be interrupted or left at any time.
type lenient struct{ testing.TB }

func (l lenient) Errorf(format string, args ...any) { l.Logf(format, args...) }

func (l lenient) Error(args ...any) { l.Log(args...) }

// agentKey is the key for a script's current scriptedAgent.
type agentKey struct{}

type scriptedAgent struct{ *clewtest.Agent }

var initialized = regexp.MustCompile(`(?m)^> (.*"subtype":"initialize".*)$`)

// scriptLaunch runs "launch": it writes the arguments that the agent was last started with to the
// file argv, one per line, and the initialize request that it got to the file initialize.
func scriptLaunch(ts *testscript.TestScript, neg bool, args []string) {
	agent, _ := ts.Value(agentKey{}).(*scriptedAgent)
	if neg || len(args) > 0 || agent.Agent == nil {
		ts.Fatalf("usage: launch, behind agent")
	}
	request := initialized.FindStringSubmatch(agent.Dialogue())
	if request == nil {
		ts.Fatalf("the agent got no initialize request")
	}
	argv := strings.Join(agent.Args(), "\n") + "\n"
	ts.Check(os.WriteFile(ts.MkAbs("argv"), []byte(argv), 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("initialize"), []byte(request[1]+"\n"), 0o600))
}

// playScriptedAgent is the program claude.
func playScriptedAgent() {
	path, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cmd := exec.Command(path, os.Args[1:]...) //nolint:noctx // it ends with its input
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	for _, variable := range os.Environ() {
		if own, ok := strings.CutPrefix(variable, scripted); ok {
			cmd.Env = append(cmd.Env, own)
		}
	}
	if len(cmd.Env) == 0 {
		fmt.Fprintln(os.Stderr, "the script has no agent")
		os.Exit(1)
	}
	cmd.Env = append(os.Environ(), cmd.Env...)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(exit.ExitCode())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
