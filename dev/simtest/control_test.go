package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
)

// A settings is the request of the calls in these tests.
type settings struct{ Model string }

var getSettings = controlRequest("s", `{"subtype":"get_settings"}`)

func TestControlAnswers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer, want string
		err          error
	}{
		"an object": {controlSuccess("s", `{"model":"opus","other":1}`), "opus", nil},
		"null":      {controlSuccess("s", `null`), "as before", nil},
		"nothing": {`{"type":"control_response","response":{"subtype":"success","request_id":"s"}}`,
			"as before", nil},
		"a refusal": {controlRefusal("s", "not today"), "as before",
			&clew.ControlError{Subtype: "get_settings", Message: "not today"}},
		"a refusal with a code": {`{"type":"control_response","response":{"subtype":"error","request_id":"s",` +
			`"error":"what?","error_code":"unsupported_request"}}`, "as before",
			&clew.ControlError{Subtype: "get_settings", Message: "what?", Code: "unsupported_request"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := simulate(t, connected().Expect(getSettings).Send(test.answer), nil)
				got := settings{"as before"}
				err := s.Control(t.Context(), "get_settings", nil, &got)
				if diff := cmp.Diff(test.err, err); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				if got.Model != test.want {
					t.Errorf("got %q, want %q", got.Model, test.want)
				}
			})
		})
	}
}

func TestControlAnswerOfAnotherShape(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(getSettings).Send(controlSuccess("s", `{"model":7}`)), nil)
		err := s.Control(t.Context(), "get_settings", nil, new(settings))
		if err == nil || !strings.HasPrefix(err.Error(), "clew: the agent's answer to get_settings: ") {
			t.Errorf("error %v", err)
		}
	})
}

// Answers are matched by their ids: neither the order nor those for nobody matter.
func TestControlAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			ExpectAny(controlRequest("a", `{"subtype":"a"}`), controlRequest("b", `{"subtype":"b"}`),
				controlRequest("c", `{"subtype":"c"}`)).
			Do(clewtest.RespondUnknown("nobody")).
			Send(controlSuccess("c", `{"model":"of c"}`), controlSuccess("b", `{"model":"of b"}`)).
			Do(clewtest.RespondUnknown("nobody")).
			Send(controlSuccess("c", `{"model":"again"}`), controlSuccess("a", `{"model":"of a"}`)), nil)
		var all sync.WaitGroup
		for _, subtype := range []string{"a", "b", "c"} {
			all.Go(func() {
				var got settings
				if err := s.Control(t.Context(), subtype, nil, &got); err != nil || got.Model != "of "+subtype {
					t.Errorf("%s: %v, %v", subtype, got, err)
				}
			})
		}
		all.Wait()
	})
}

// A call that is given up is withdrawn, and an answer that comes all the same is for nobody.
func TestControlCallGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(getSettings).Expect(controlCancel("s")).
			Expect(controlRequest("s2", `{"subtype":"get_settings"}`)).
			Send(controlSuccess("s", `{"model":"late"}`), controlSuccess("s2", `{"model":"in time"}`)), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := s.Control(ctx, "get_settings", nil, nil)
		wantError(t, err, context.DeadlineExceeded)
		if err == nil || !strings.HasPrefix(err.Error(), "clew: get_settings: ") {
			t.Errorf("error %v", err)
		}
		var got settings
		if err := s.Control(t.Context(), "get_settings", nil, &got); err != nil || got.Model != "in time" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// The cause of the end is in the error, and nothing is sent for a call whose context ended before
// it.
func TestControlCallCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(getSettings).Expect(controlCancel("s")), nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		bored := errors.New("bored")
		time.AfterFunc(time.Second, func() { cancel(bored) })
		wantError(t, s.Control(ctx, "get_settings", nil, nil), bored)
		wantError(t, s.Control(ctx, "get_settings", nil, nil), bored)
		synctest.Wait()
	})
}

// While a call waits for its answer, the session reads on, whatever there is unread. One that is
// over must not count, however it ended: the agent is slowed down again.
func TestControlCallsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const messages = 30_000
		s, agent := simulate(t, connected().
			Expect(controlRequest("ok", `{"subtype":"ok"}`)).Send(controlSuccess("ok", `{}`)).
			Expect(controlRequest("no", `{"subtype":"no"}`)).Send(controlRefusal("no", "no")).
			Expect(controlRequest("late", `{"subtype":"late"}`)).Expect(controlCancel("late")).
			Do(clewtest.Flood(2*messages)).Send(resultFrame("done")), &clew.Options{Limits: clew.Limits{MaxBacklogBytes: 1}})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		for _, subtype := range []string{"ok", "no", "late"} {
			err := s.Control(ctx, subtype, nil, nil)
			if (err == nil) != (subtype == "ok") {
				t.Errorf("%s: %v", subtype, err)
			}
		}
		time.Sleep(time.Hour)
		if strings.Contains(agent.Dialogue(), "done") {
			t.Error("the agent was not slowed down")
		}
		wantFlood(t, s, messages)
	})
}

// A turn whose context ends is interrupted, and the next one starts where it ended.
func TestTurnWhoseContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), assistantFrame("1 to the end"), resultFrame("interrupted", "p1")).
			Expect(promptFrame("p2", "two")).Send(assistantFrame("2"), resultFrame("two", "p2")), nil)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		inBackground(ctx, s, clew.Text("one")).want(t, context.DeadlineExceeded, "1")
		wantTurn(t, s, "two", "2", "result: two")
	})
}

// A waiting turn that is given up leaves the turn that is being read alone.
func TestWaitingTurnGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":false}`)).
			Send(assistantFrame("1"), resultFrame("one", "p1"), assistantFrame("2"), resultFrame("two", "p2")).
			Expect(promptFrame("p3", "three")).Send(assistantFrame("3"), resultFrame("three", "p3")), nil)
		first := inBackground(t.Context(), s, clew.Text("one"))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		inBackground(ctx, s, clew.Text("two")).want(t, context.DeadlineExceeded)
		first.want(t, nil, "1", "result: one")
		wantTurn(t, s, "three", "3", "result: three")
	})
}

// A prompt whose context ended before it is not sent.
func TestPromptOfAnEndedContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			_, err := textsOf(s.Turn(ctx, clew.Text("Hi")))
			wantError(t, err, context.Canceled)
			_, err = s.Send(ctx, clew.Text("Hi"))
			wantError(t, err, context.Canceled)
		}
	})
}

// A prompt that is given up while the agent is getting it is a turn all the same: it is
// interrupted, and skipped.
func TestPromptGivenUpHalfway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Do(clewtest.Trickle(`{"type":"keep_alive"}`, time.Second)).
			Expect(promptFrame("p1", longText)).Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), assistantFrame("1"), resultFrame("one", "p1")).
			Expect(promptFrame("p2", "two")).Send(assistantFrame("2"), resultFrame("two", "p2")), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := textsOf(s.Turn(ctx, clew.Text(longText)))
		wantError(t, err, context.DeadlineExceeded)
		wantTurn(t, s, "two", "2", "result: two")
	})
}

// longText does not fit into a pipe.
var longText = strings.Repeat("long ", 40_000)

// A turn that is given up while the agent still works on an abandoned one is removed from the
// queue.
func TestTurnGivenUpBehindALeftOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), cancelledFrame("p2")).
			Send(assistantFrame("1 again"), resultFrame("one", "p1")).
			Expect(promptFrame("p3", "three")).Send(assistantFrame("3"), resultFrame("three", "p3")), nil)
		for range s.Turn(t.Context(), clew.Text("one")) {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		prompt := clew.Text("two")
		prompt.UUID = "an odd \x7f id"
		inBackground(ctx, s, prompt).want(t, context.DeadlineExceeded)
		wantTurn(t, s, "three", "3", "result: three")
	})
}

// reports returns a scenario whose agent answers initialize with that.
func reports(info string) *clewtest.Scenario {
	return answering(`"subtype":"success","response":` + info)
}

// A newer agent may say the same in another form.
func TestMisfitsInAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const info = `{"pid":"12","commands":[{"name":5}],"claude_code_version":"9.9.9","output_style":"default"}`
		log := new(lockedBuffer)
		s, _ := simulate(t, reports(info).
			Expect(controlRequest("m", `{"subtype":"file_suggestions","query":"a"}`)).
			Send(controlSuccess("m", `{"suggestions":[{"path":"a.go","score":"high"}],"cwd":7}`)).
			Expect(controlRequest("v", `{"subtype":"file_suggestions","query":"a"}`)).
			Send(controlSuccess("v", `["no object"]`)),
			&clew.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
		if got := s.Info(); got.Version != "9.9.9" || got.OutputStyle != "default" || got.PID != 0 || got.Raw() != info {
			t.Errorf("info %+v", got)
		}
		if found, err := screens.SuggestFiles(t.Context(), s, "a"); err != nil || len(found.Suggestions) != 1 || found.Suggestions[0].Path != "a.go" {
			t.Errorf("suggestions %+v, error %v", found, err)
		}
		if found, err := screens.SuggestFiles(t.Context(), s, "a"); err == nil {
			t.Errorf("a list became the suggestions %+v", found)
		}
		for _, field := range []string{"pid", "commands", "cwd"} {
			if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "field="+field) {
				t.Errorf("%s is not in the log: %s", field, log.String())
			}
		}
	})
}

// A caller that decodes an answer into its own type gets an error if it does not fit.
func TestMisfitsInAnswersToTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(controlRequest("n", `{"subtype":"newer"}`)).Send(controlSuccess("n", `{"count":"two"}`)), nil)
		var answer struct{ Count int }
		if err := s.Control(t.Context(), "newer", nil, &answer); err == nil {
			t.Errorf("answer %+v", answer)
		}
	})
}

// A session whose hooks would not work does not start.
func TestHooksThatAreNotApplied(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer string
		reason string // a part of it; "" means that nothing is wrong
	}{
		"applied":         {`{"hooks_applied":true,"hook_on_failure_supported":true}`, ""},
		"nothing is said": {`{"hook_on_failure_supported":true}`, ""},
		"not applied":     {`{"hooks_applied":false,"hook_on_failure_supported":true}`, "did not apply"},
		"not applied, and a misfit before": {
			`{"commands":["x"],"hooks_applied":false,"hook_on_failure_supported":true}`, "did not apply",
		},
		"too old":               {`{"hooks_applied":true,"claude_code_version":"2.1.300"}`, "Claude Code 2.1.300 may ignore OnFailure: use version 2.1.317"},
		"of an unknown version": {`{"hooks_applied":true}`, "use version 2.1.317 or newer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent := clewtest.NewAgent(t, reports(test.answer))
				s, err := clew.Connect(t.Context(), inMemory(agent, &clew.Options{
					Hooks: map[hook.Event][]hook.Matcher{hook.PreToolUse: {
						{Hooks: []hook.Func{hookSays(nil)}, OnFailure: hook.FailureBlock},
					}},
				}))
				if err == nil {
					defer s.Close() //nolint:errcheck // only its begin matters
				}
				wrong, ok := errors.AsType[*clew.OptionsError](err)
				if ok != (test.reason != "") || ok && (wrong.Option != "Hooks" || !strings.Contains(wrong.Reason, test.reason)) {
					t.Errorf("error %v, want one with %q", err, test.reason)
				}
			})
		})
	}
}

// An agent that reports no applied hooks is accepted if there are none.
func TestHooksThatAreNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		simulate(t, reports(`{"hooks_applied":false}`), nil)
	})
}

// canUse is the agent's question whether it may use a tool. An [obliging] host acts by the name of
// the tool.
func canUse(tool string) string {
	return fmt.Sprintf(`{"subtype":"can_use_tool","tool_name":%q,"input":{"command":"ls"},"tool_use_id":"t1"}`, tool)
}

// withCallbacks returns options whose callbacks do what the request names: a tool, a kind of
// dialog, the callback of a hook or a method of the server "own".
func withCallbacks() *clew.Options {
	return &clew.Options{
		CanUseTool:   decide,
		OnUserDialog: showDialog,
		Hooks: map[hook.Event][]hook.Matcher{hook.Stop: {{Hooks: []hook.Func{
			hookSays(nil),
			hookSays(&hook.Output{Stop: true, StopReason: "enough"}),
			hookSays(&hook.Output{Async: true, AsyncTimeout: 1500e6}),
			func(context.Context, hook.Input) (*hook.Output, error) { return nil, errors.New("no idea") },
			func(context.Context, hook.Input) (*hook.Output, error) { panic("at the hook") },
		}}}},
		MCPServers: map[string]clew.MCPServer{"own": &clew.MCPInProcessServer{Handler: ownServer{}}},
	}
}

func decide(_ context.Context, req *permission.Request) (permission.Result, error) {
	switch req.ToolName {
	case "Allow":
		return permission.Allow(), nil
	case "Change":
		return permission.AllowWith(map[string]string{"command": "pwd"}), nil
	case "Echo":
		return &permission.AllowResult{UpdatedPermissions: req.Suggestions}, nil
	case "Deny":
		return permission.Deny("not now"), nil
	case "Interrupt":
		return &permission.DenyResult{Message: "stop it", Interrupt: true}, nil
	case "Panic":
		panic("at the permission")
	case "Nobody":
		return nil, nil
	}
	return nil, errors.New("which tool?")
}

func showDialog(_ context.Context, req *clew.UserDialogRequest) (*clew.UserDialogResult, error) {
	if req.Kind == "Done" {
		return &clew.UserDialogResult{Result: 1}, nil
	}
	return nil, nil
}

func hookSays(out *hook.Output) hook.Func {
	return func(context.Context, hook.Input) (*hook.Output, error) { return out, nil }
}

// ownServer answers requests with their own name.
type ownServer struct{}

func (ownServer) HandleMCP(_ context.Context, message clew.JSON) (clew.JSON, error) {
	var call struct {
		ID     clew.JSON
		Method string
	}
	if err := message.Decode(&call); err != nil || call.ID == "" {
		return "", err
	}
	return clew.JSON(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"did":%q}}`, call.ID, call.Method)), nil
}
