package simtest_test

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// aFailure is the result of a failed turn.
const aFailure = `{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached 3 turns"],` +
	`"session_id":"s","uuid":"f"}`

func TestRunEndsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := `{"type":"system","subtype":"status","status":null,"session_id":"s","uuid":"late"}`
		agent := clewtest.NewAgent(t, asked().Send(aWord, aResult, late))
		msgs, err := readOut(t, clew.Query(t.Context(), "Hi", overMemory(agent)))
		if len(msgs) != 3 || err != nil {
			t.Errorf("messages %v, error %v", msgs, err)
		}
	})
}

// A failed result comes first, and then an error with all its details.
func TestRunFails(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		code int
		exit *clew.ExitError
	}{
		"and the agent too":       {1, &clew.ExitError{Code: 1, Stderr: "bye\n"}},
		"and the agent ends well": {0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := clewtest.NewAgent(t, asked().Send(aFailure).Stderr("bye\n").Exit(test.code))
			result, err := clew.Run(t.Context(), "Hi", asProcess(agent))
			if result == nil || result.Subtype != wire.ResultErrorMaxTurns {
				t.Fatalf("result %v", result)
			}
			failed, ok := errors.AsType[*clew.ResultError](err)
			if !ok || failed.Result != result || failed.Error() != "clew: the turn failed: Reached 3 turns" {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(test.exit, failed.Exit); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if _, ok := errors.AsType[*clew.ExitError](err); ok != (test.exit != nil) {
				t.Errorf("an ExitError in it: %v", ok)
			}
		})
	}
}

// In a session the turn fails, and the session lives on.
func TestTurnFails(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]string{
		"with the flag":  aFailure,
		"by its subtype": `{"type":"result","subtype":"error_max_turns","is_error":false,"session_id":"s","uuid":"r"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := connectTo(t, overMemory(clewtest.NewAgent(t, asked().Send(failure).Expect(aPrompt).Send(aResult))))
				msgs, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
				if failed, ok := errors.AsType[*clew.ResultError](err); !ok || len(msgs) != 1 || failed.Result != msgs[0] {
					t.Errorf("messages %v, error %v", msgs, err)
				}
				if msgs, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi"))); len(msgs) != 1 || err != nil {
					t.Errorf("messages %v, error %v", msgs, err)
				}
				wantClosed(t, s)
			})
		})
	}
}

func TestTextOfAFailure(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"subtype":"error_max_turns","errors":["one","two"],"result":"three"`:  "one; two",
		`"subtype":"error_during_execution","errors":["one"," ","\t","two"]`:   "one; two",
		`"subtype":"error_during_execution","errors":"boom"`:                   "boom",
		`"subtype":"error_during_execution","errors":42`:                       "error_during_execution",
		`"subtype":"error_during_execution","errors":[" "]`:                    "error_during_execution",
		`"subtype":"error_during_execution","errors":[]`:                       "error_during_execution",
		`"subtype":"error_during_execution"`:                                   "error_during_execution",
		`"subtype":"success","errors":[],"result":"API Error: 529 overloaded"`: "API Error: 529 overloaded",
		`"subtype":"success","result":" ","api_error_status":529`:              "API error (HTTP 529)",
		`"subtype":"success","api_error_status":529`:                           "API error (HTTP 529)",
		`"subtype":"success"`: "unknown error",
		`"subtype":"error_during_execution","terminal_reason":"aborted_streaming"`: "interrupted",
	} {
		t.Run(fields, func(t *testing.T) {
			t.Parallel()
			frame := `{"type":"result",` + fields + `,"is_error":true,"session_id":"s","uuid":"r"}`
			agent := clewtest.NewAgent(t, asked().Send(frame).Exit(1))
			_, err := clew.Run(t.Context(), "Hi", overMemory(agent))
			failed, ok := errors.AsType[*clew.ResultError](err)
			if !ok || failed.Text() != want || err.Error() != "clew: the turn failed: "+want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

// The message after a failed result decides whether the end of the agent still belongs to it.
func TestLastWordCounts(t *testing.T) {
	t.Parallel()
	const state = `{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s","uuid":"i"}`
	for name, test := range map[string]struct {
		later  []any
		failed bool
	}{
		"nothing":                    {nil, true},
		"a change of state":          {[]any{state}, true},
		"a keep-alive":               {[]any{`{"type":"keep_alive"}`, state}, true},
		"a user message":             {[]any{`{"type":"user","message":{"content":"go on"},"uuid":"u"}`}, false},
		"an answer":                  {[]any{state, aWord}, false},
		"a good result":              {[]any{aResult}, false},
		"a good result, then a word": {[]any{aResult, state}, false},
		"another failure":            {[]any{aWord, aFailure}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := clewtest.NewAgent(t, asked().Send(append([]any{aFailure}, test.later...)...).Exit(1))
			_, err := readOut(t, clew.Query(t.Context(), "Hi", overMemory(agent)))
			if exit := wantExit(t, err); exit.Code != 1 {
				t.Errorf("exit %v", exit)
			}
			if _, failed := errors.AsType[*clew.ResultError](err); failed != test.failed {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRunIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals")
	}
	agent := clewtest.NewAgent(t, asked().Send(aWord).Do(clewtest.KilledBy(syscall.SIGKILL)))
	msgs, err := readOut(t, clew.Query(t.Context(), "Hi", asProcess(agent)))
	want := &clew.ExitError{Code: -1, Signal: syscall.SIGKILL}
	if diff := cmp.Diff(want, wantExit(t, err)); diff != "" || len(msgs) != 1 {
		t.Errorf("messages %v (-want +got):\n%s", msgs, diff)
	}
	if want := "clew: the agent was ended by a signal (killed)"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// Everything that an agent writes right before it exits is read, however many messages it is.
func TestRunIsComplete(t *testing.T) {
	t.Parallel()
	const frames = 500
	for range 10 {
		agent := clewtest.NewAgent(t, asked().Do(clewtest.Flood(frames)).Do(clewtest.ExitAfter(1, aResult)))
		msgs, err := readOut(t, clew.Query(t.Context(), "Hi", asProcess(agent)))
		if exit := wantExit(t, err); exit.Code != 1 || len(msgs) != frames/2+1 { // every second one is a keep_alive
			t.Fatalf("%d messages, error %v", len(msgs), err)
		}
	}
}

// A value that looks like a flag, or has several lines, arrives as the value of its flag.
func TestValuesAreNoFlags(t *testing.T) {
	t.Parallel()
	agent := clewtest.NewAgent(t, greeted())
	opts := asProcess(agent)
	opts.Model = "--evil"
	opts.FallbackModels = []string{"-e", "--evil=1"}
	opts.Agent = "one\n--evil"
	opts.Session.Resume = "--evil"
	opts.Tools = []string{"--evil"}
	opts.AllowedTools = []string{"--evil(--more)"}
	opts.DisallowedTools = []string{"-e"}
	opts.AddDirs = []string{"--evil", "-"}
	opts.ExtraArgs = []string{"--newer=--evil"}
	wantClosed(t, connectTo(t, opts))
	want := []string{
		"--output-format=stream-json", "--verbose", "--input-format=stream-json", "--model=--evil", "--agent=one\n--evil",
		"--resume=--evil", "--allowedTools=--evil(--more)", "--disallowedTools=-e", "--tools=--evil",
		"--fallback-model=-e,--evil=1", "--add-dir=--evil", "--add-dir=-", "--newer=--evil",
	}
	if diff := cmp.Diff(want, agent.Args()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A prompt is never on the command line, and arrives as it is.
func TestPromptsAreNoArguments(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"-p", "--dangerously-skip-permissions", "a\nb", "a\x00b", "/clear", `{"type":"x"}`} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			agent := clewtest.NewAgent(t, greeted().Expect(map[string]any{
				"type":    "user",
				"message": map[string]any{"content": []any{map[string]any{"type": "text", "text": prompt}}},
			}).Send(aResult))
			if _, err := clew.Run(t.Context(), prompt, asProcess(agent)); err != nil {
				t.Fatal(err)
			}
			want := []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}
			if diff := cmp.Diff(want, agent.Args()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A value that no argument or variable can hold is refused before anything starts.
func TestValuesThatAreRefused(t *testing.T) {
	t.Parallel()
	for option, opts := range map[string]*clew.Options{
		"Session.ID":     {Session: clew.SessionOptions{ID: "--evil"}},
		"Model":          {Model: "a\x00b"},
		"Session.Resume": {Session: clew.SessionOptions{Resume: "a\x00b"}},
		"Tools":          {Tools: []string{"a\nb"}},
		"AllowedTools":   {AllowedTools: []string{"Read --evil"}},
		"AddDirs":        {AddDirs: []string{"a\x00b"}},
		"ExtraArgs":      {ExtraArgs: []string{"evil"}},
		"Env":            {Env: []string{"A=a\x00B=b"}},
		"Dir":            {Dir: "a\x00b"},
		"AgentPath":      {AgentPath: "a\x00b"},
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			agent := clewtest.NewAgent(t, nil)
			opts.Env = append(opts.Env, agent.Env()...)
			if opts.AgentPath == "" {
				opts.AgentPath = agent.Path()
			}
			_, err := clew.Connect(t.Context(), opts)
			if bad, ok := errors.AsType[*clew.OptionsError](err); !ok || bad.Option != option {
				t.Errorf("error %v", err)
			}
			if args := agent.Args(); args != nil {
				t.Errorf("an agent was started with %q", args)
			}
		})
	}
}

// An agent does not take itself for a part of an agent that this process may be a part of.
func TestAgentEnvironment(t *testing.T) {
	inherited := []string{"CLAUDECODE", "CLAUDE_CODE_SSE_PORT", "NODE_OPTIONS", "CLEW_PRIVATE", "OTHER"}
	for _, name := range inherited {
		t.Setenv(name, "inherited")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	opts := &clew.Options{
		AgentPath: path,
		Env:       append(roleEnv("environment"), "CLEW_GIVEN=a=b", "EMPTY="),
		Debug:     clew.DebugOptions{Stderr: func(line string) { lines = append(lines, line) }},
	}
	if _, err := clew.Connect(t.Context(), opts); err == nil {
		t.Fatal("the agent came up")
	}
	looked := slices.Concat(inherited, []string{"CLEW_GIVEN", "EMPTY", "CLAUDE_CODE_ENTRYPOINT"})
	got := slices.DeleteFunc(lines, func(line string) bool {
		name, _, _ := strings.Cut(line, "=")
		return !slices.Contains(looked, name)
	})
	slices.Sort(got)
	want := []string{"CLAUDE_CODE_ENTRYPOINT=sdk-cli", "CLEW_GIVEN=a=b", "EMPTY=", "OTHER=inherited"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A run without a prompt has no result.
func TestRunWithoutPrompts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := overMemory(clewtest.NewAgent(t, greeted().CloseStdin().Exit(0)))
		result, err := clew.Run(t.Context(), slices.Values([]*clew.UserMessage{}), opts)
		if exit := wantExit(t, err); result != nil || exit.Reason != "ended without a result" {
			t.Errorf("result %v, error %v", result, err)
		}
		wantNoGoroutine(t)
	})
}
