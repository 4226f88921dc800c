package clew_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// The answer to initialize takes its time, and nothing else is written before it is there.
func TestPromptWaitsForInitialize(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		scenario := new(clewtest.Scenario).Expect(initialize).
			Do(clewtest.Trickle(controlSuccess("init", `{}`), time.Millisecond)).
			Expect(promptFrame("p", "Hi")).Send(resultFrame("Hello", "p")).CloseStdin().Exit(0)
		var record strings.Builder
		opts := inMemory(clewtest.NewAgent(t, scenario), &clew.Options{Record: &record})
		if _, err := clew.Run(t.Context(), "Hi", opts); err != nil {
			t.Fatal(err)
		}
		var order []string
		for line := range strings.Lines(record.String()) {
			for _, kind := range []string{`"control_request"`, `"control_response"`, `"user"`, `"result"`} {
				if strings.Contains(line, `"type":`+kind) {
					order = append(order, line[:2]+kind)
				}
			}
		}
		want := []string{`> "control_request"`, `< "control_response"`, `> "user"`, `< "result"`}
		if diff := cmp.Diff(want, order); diff != "" {
			t.Errorf("frames (-want +got):\n%s", diff)
		}
	})
}

func TestInitializeTellsOfHooks(t *testing.T) {
	t.Parallel()
	hook := func(context.Context, clew.HookInput) (*clew.HookOutput, error) { return nil, nil }
	for name, test := range map[string]struct {
		hooks map[clew.HookEvent][]clew.HookMatcher
		want  string
	}{
		"none": {nil, `{"subtype":"initialize","hooks":null}`},
		"two matchers": {
			map[clew.HookEvent][]clew.HookMatcher{clew.HookPreToolUse: {
				{Hooks: []clew.HookFunc{hook}},
				{Matcher: "Bash", Hooks: []clew.HookFunc{hook}, Timeout: 2 * time.Second},
			}},
			`{"subtype":"initialize","hooks":{"PreToolUse":[{"matcher":null,"hookCallbackIds":["hook_0"]},
				{"matcher":"Bash","hookCallbackIds":["hook_1"],"timeout":2}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				_, agent := simulate(t, connected(), &clew.Options{Hooks: test.hooks})
				got := decoded[struct{ Request any }](t, hostFrames(agent, "control_request")[0])
				if diff := cmp.Diff(decoded[any](t, test.want), got.Request); diff != "" {
					t.Errorf("initialize (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAgentThatDiesAtTheStart(t *testing.T) {
	t.Parallel()
	scenario := new(clewtest.Scenario).Expect(initialize).Stderr("the settings are broken\n").Do(clewtest.ExitBefore(3))
	agent := clewtest.NewAgent(t, scenario)
	_, err := clew.Connect(t.Context(), &clew.Options{AgentPath: agent.Path(), Env: agent.Env()})
	exit, ok := errors.AsType[*clew.ExitError](err)
	if !ok || exit.Code != 3 || exit.Stderr != "the settings are broken\n" {
		t.Errorf("error %#v", err)
	}
	if want := "clew: the agent exited with code 3; stderr ends with: the settings are broken"; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

// Nobody waits for the time-out of initialize when there is nothing to wait for.
func TestAgentThatDiesAtTheStartIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	for name, scenario := range map[string]*clewtest.Scenario{
		"with a code": new(clewtest.Scenario).Expect(initialize).Exit(3),
		"in order":    new(clewtest.Scenario).Expect(initialize).Exit(0),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				begin := time.Now()
				_, err := clew.Connect(t.Context(), inMemory(clewtest.NewAgent(t, scenario), nil))
				if _, ok := errors.AsType[*clew.ExitError](err); !ok {
					t.Errorf("error %v", err)
				}
				if passed := time.Since(begin); passed != 0 {
					t.Errorf("after %v", passed)
				}
			})
		})
	}
}

func TestAgentThatSaysWhyItDoesNotStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		scenario := new(clewtest.Scenario).Expect(initialize).
			Send(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No such conversation"]}`).
			Exit(1)
		_, err := clew.Connect(t.Context(), inMemory(clewtest.NewAgent(t, scenario), nil))
		failed, ok := errors.AsType[*clew.ResultError](err)
		if !ok || failed.Text() != "No such conversation" || failed.Exit == nil || failed.Exit.Code != 1 {
			t.Errorf("error %#v", err)
		}
	})
}

// A host that takes over a running agent finds its open questions in the answer to initialize.
func TestOpenQuestionsAreAnsweredAtTheStart(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		permission := controlRequest("p", canUse("Allow"))
		dialog := controlRequest("d", `{"subtype":"request_user_dialog","dialog_kind":"Done"}`)
		elicitation := controlRequest("e", `{"subtype":"elicitation","message":"Name?"}`)
		open := `{"type":"control_response","response":{"subtype":"success","request_id":"init","response":{},` +
			`"pending_permission_requests":[` + permission + `],"pending_user_dialog_requests":[` + dialog + `],` +
			`"pending_elicitation_requests":[` + elicitation + `]}}`
		scenario := new(clewtest.Scenario).Expect(initialize).Send(open).ExpectAny(
			controlSuccess("p", `{"behavior":"allow","updatedInput":{"command":"ls"}}`),
			controlSuccess("d", `{"behavior":"completed","result":1}`),
			controlSuccess("e", `{"action":"decline"}`),
		).Expect(promptFrame("p1", "Hi")).Send(resultFrame("Hello", "p1"))
		s, _ := simulate(t, scenario, obliging())
		synctest.Wait()
		wantTurn(t, s, "Hi", "result: Hello")
	})
}

func TestServersAreSetBeforeTheFirstPrompt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		servers := `{"files":{"type":"stdio","command":"serve","args":["files"]},"own":{"type":"sdk"}}`
		scenario := new(clewtest.Scenario).
			Expect(controlRequest("init", `{"subtype":"initialize","sdkMcpServers":["own"]}`)).
			Send(controlSuccess("init", `{}`)).
			Expect(controlRequest("set", `{"subtype":"mcp_set_servers","servers":`+servers+`}`)).
			Send(controlSuccess("set", `{"added":["files"],"removed":[],"errors":{}}`)).
			Expect(promptFrame("p", "Hi")).Send(resultFrame("Hello", "p"))
		opts := obliging()
		opts.MCPServers["files"] = &clew.MCPStdioServer{Command: "serve", Args: []string{"files"}}
		s, _ := simulate(t, scenario, opts)
		wantTurn(t, s, "Hi", "result: Hello")
	})
}
