package simtest_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/permission"
)

// Whatever the agent asks, it gets one answer, whole as it is written here, and the turn continues.
func TestAnswersToTheAgent(t *testing.T) {
	t.Parallel()
	hook := `{"subtype":"hook_callback","callback_id":"hook_%d","input":{"hook_event_name":"Stop"},"tool_use_id":"t1"}`
	mcp := `{"subtype":"mcp_message","server_name":%q,"message":%s}`
	for name, test := range map[string]struct{ request, want string }{
		"allowed": {canUse("Allow"),
			controlSuccess("q", `{"behavior":"allow","updatedInput":{"command":"ls"},"toolUseID":"t1"}`)},
		"allowed with a change": {canUse("Change"),
			controlSuccess("q", `{"behavior":"allow","updatedInput":{"command":"pwd"},"toolUseID":"t1"}`)},
		"denied": {canUse("Deny"),
			controlSuccess("q", `{"behavior":"deny","message":"not now","toolUseID":"t1"}`)},
		"denied with an interrupt": {canUse("Interrupt"),
			controlSuccess("q", `{"behavior":"deny","message":"stop it","interrupt":true,"toolUseID":"t1"}`)},
		"a permission that fails":  {canUse("Fail"), controlRefusal("q", "which tool?")},
		"a permission that panics": {canUse("Panic"), controlRefusal("q", "clew: panic in CanUseTool: at the permission")},
		"a permission for nothing": {`{"subtype":"can_use_tool"}`,
			controlRefusal("q", "clew: the can_use_tool request has no tool_name or no input")},

		"a hook with nothing to say": {fmt.Sprintf(hook, 0), controlSuccess("q", `{}`)},
		"a hook that stops": {fmt.Sprintf(hook, 1),
			controlSuccess("q", `{"continue":false,"stopReason":"enough"}`)},
		"a hook that goes on by itself": {fmt.Sprintf(hook, 2),
			controlSuccess("q", `{"async":true,"asyncTimeout":1500}`)},
		"a hook that fails":  {fmt.Sprintf(hook, 3), controlRefusal("q", "no idea")},
		"a hook that panics": {fmt.Sprintf(hook, 4), controlRefusal("q", "clew: panic in a hook at Stop: at the hook")},
		"an unknown hook":    {fmt.Sprintf(hook, 99), controlRefusal("q", `clew: unknown hook "hook_99"`)},

		"a call of a server": {fmt.Sprintf(mcp, "own", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`),
			controlSuccess("q", `{"mcp_response":{"jsonrpc":"2.0","id":7,"result":{"did":"tools/list"}}}`)},
		"a notification": {fmt.Sprintf(mcp, "own", `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
			controlSuccess("q", `{"mcp_response":{"jsonrpc":"2.0","id":0,"result":{}}}`)},
		"an unknown server": {fmt.Sprintf(mcp, "other", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`),
			controlSuccess("q", `{"mcp_response":{"jsonrpc":"2.0","id":7,`+
				`"error":{"code":-32601,"message":"Server 'other' not found"}}}`)},
		"no message for a server": {`{"subtype":"mcp_message","server_name":"own"}`,
			controlRefusal("q", "clew: the mcp_message request has no server_name or no message")},

		"an elicitation that nobody answers": {`{"subtype":"elicitation","message":"Name?"}`,
			controlSuccess("q", `{"action":"decline"}`)},
		"an unknown subtype": {`{"subtype":"sing"}`, `{"type":"control_response","response":{"subtype":"error",` +
			`"request_id":"q","error":"clew: control request \"sing\" is not supported","error_code":"unsupported_request"}}`},
		"no subtype": {`{}`, controlRefusal("q", "the control request has no subtype")},
		"no object":  {`7`, controlRefusal("q", "the control request has no subtype")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent := turnWith(t, controlRequest("q", test.request), controlResponse("q"))
				want := []any{decoded[any](t, test.want)}
				if diff := cmp.Diff(want, hostAnswers(t, agent)); diff != "" {
					t.Errorf("answers (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Some requests are left to others to answer, or can't be answered. The turn continues.
func TestNoAnswerToTheAgent(t *testing.T) {
	t.Parallel()
	for name, request := range map[string]string{
		"a permission left to others": controlRequest("q", canUse("Nobody")),
		"a dialog left to others":     controlRequest("q", `{"subtype":"request_user_dialog","dialog_kind":"Nobody"}`),
		"a tool of another machine":   controlRequest("q", `{"subtype":"remote_tool_call"}`),
		"a withdrawal of nothing":     controlCancel("q"),
		"a heartbeat":                 `{"type":"keep_alive"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent := turnWith(t, request, "")
				if got := hostAnswers(t, agent); len(got) > 0 {
					t.Errorf("answers %v", got)
				}
			})
		})
	}
}

// turnWith runs a turn in which the agent asks an obliging host, and continues when the answer
// comes, if it wants one.
func turnWith(t *testing.T, request, answer string) *clewtest.Agent {
	t.Helper()
	scenario := connected().Expect(promptFrame("p1", "Hi")).Send(request)
	if answer != "" {
		scenario.Expect(answer)
	}
	scenario.Send(resultFrame("Hello", "p1")).Expect(promptFrame("p2", "Again")).Send(resultFrame("Hello again", "p2"))
	s, agent := simulate(t, scenario, withCallbacks())
	wantTurn(t, s, "Hi", "result: Hello")
	synctest.Wait() // for an answer that should not come
	wantTurn(t, s, "Again", "result: Hello again")
	return agent
}

// controlResponse is any answer to a request.
func controlResponse(id string) string {
	return fmt.Sprintf(`{"type":"control_response","response":{"request_id":%q}}`, id)
}

// hostAnswers returns the host's answers to requests of the agent.
func hostAnswers(t *testing.T, agent *clewtest.Agent) []any {
	t.Helper()
	var answers []any
	for _, frame := range hostFrames(agent, "control_response") {
		answers = append(answers, decoded[any](t, frame))
	}
	return answers
}

// Suggestions of the agent go back byte for byte.
func TestSuggestionsAreEchoed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		suggestions := `[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"a && b <c>","since":1.0}],` +
			`"behavior":"allow","destination":"session"},{"type":"brandNew","of":[1e2]}]`
		request := strings.TrimSuffix(canUse("Echo"), "}") + `,"permission_suggestions":` + suggestions + `}`
		agent := turnWith(t, controlRequest("q", request), controlResponse("q"))
		answers := hostFrames(agent, "control_response")
		if len(answers) != 1 || !strings.Contains(answers[0], `"updatedPermissions":`+suggestions) {
			t.Errorf("answers %q", answers)
		}
	})
}

// A request without an id can't be answered, and one without a body can.
func TestIncompleteRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scenario := connected().Do(clewtest.RequestWithoutID()).Do(clewtest.RequestWithoutBody("q")).
			Expect(controlRefusal("q", "the control request has no subtype"))
		var log strings.Builder
		opts := withCallbacks()
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		simulate(t, scenario, opts)
		synctest.Wait()
		if !strings.Contains(log.String(), "control request without an id") {
			t.Errorf("log %q", log.String())
		}
	})
}

// Both callbacks wait for each other, the turn is read and a call is answered meanwhile.
func TestCallbacksRunAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scenario := connected().Expect(promptFrame("p", "Hi")).
			Send(controlRequest("a", canUse("A")), controlRequest("b", canUse("B")), assistantFrame("Let me see.")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).Send(controlSuccess("i", `{}`)).
			ExpectAny(controlSuccess("a", `{"message":"not A"}`), controlSuccess("b", `{"message":"not B"}`)).
			Send(resultFrame("Done", "p"))
		together, proceed := make(chan struct{}), make(chan struct{})
		s, _ := simulate(t, scenario, &clew.Options{
			CanUseTool: func(_ context.Context, req *permission.Request) (permission.Result, error) {
				if req.ToolName == "A" {
					together <- struct{}{}
				} else {
					<-together
				}
				<-proceed
				return permission.Deny("not " + req.ToolName), nil
			},
		})
		for msg, err := range s.Turn(t.Context(), clew.Text("Hi")) {
			if err != nil {
				t.Fatal(err)
			}
			if textOf(msg) == "Let me see." {
				if _, err := s.Interrupt(t.Context(), nil); err != nil {
					t.Error(err)
				}
				close(proceed)
			}
		}
	})
}

// A question that comes again while it is being answered is the same one.
func TestRepeatedRequestIsServedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		question := controlRequest("q", canUse("Bash"))
		scenario := connected().Send(question, question).Expect(controlSuccess("q", `{"behavior":"allow"}`))
		calls, proceed := 0, make(chan struct{})
		simulate(t, scenario, &clew.Options{
			CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
				calls++
				<-proceed
				return permission.Allow(), nil
			},
		})
		synctest.Wait()
		close(proceed)
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

// A request that the agent withdraws ends the callback's context and gets no answer.
func TestWithdrawnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scenario := connected().Send(controlRequest("q", canUse("Bash"))).
			Expect(promptFrame("p1", "Hi")).Send(controlCancel("q"), controlCancel("unknown"), resultFrame("Hello", "p1")).
			Expect(promptFrame("p2", "Again")).Send(resultFrame("Hello again", "p2"))
		ended := make(chan error, 1)
		s, _ := simulate(t, scenario, &clew.Options{
			CanUseTool: func(ctx context.Context, _ *permission.Request) (permission.Result, error) {
				<-ctx.Done()
				ended <- ctx.Err()
				return permission.Allow(), nil
			},
		})
		for _, prompt := range []string{"Hi", "Again"} {
			if _, err := textsOf(s.Turn(t.Context(), clew.Text(prompt))); err != nil {
				t.Error(err)
			}
		}
		wantError(t, <-ended, context.Canceled)
	})
}
