package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/screens"
)

// The answer to initialize takes its time, and nothing else is written before it is there.
func TestPromptWaitsForInitialize(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scenario := new(clewtest.Scenario).Expect(initialize).
			Do(clewtest.Trickle(controlSuccess("init", `{}`), time.Millisecond)).
			Expect(promptFrame("p", "Hi")).Send(resultFrame("Hello", "p")).CloseStdin().Exit(0)
		var record strings.Builder
		opts := inMemory(clewtest.NewAgent(t, scenario), &clew.Options{Debug: clew.DebugOptions{Record: &record}})
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
	nop := func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }
	for name, test := range map[string]struct {
		hooks map[hook.Event][]hook.Matcher
		want  string
	}{
		"none": {nil, `{"subtype":"initialize","hooks":null}`},
		"two matchers": {
			map[hook.Event][]hook.Matcher{hook.PreToolUse: {
				{Hooks: []hook.Func{nop}},
				{Matcher: "Bash", Hooks: []hook.Func{nop}, Timeout: 2 * time.Second},
			}},
			`{"subtype":"initialize","hooks":{"PreToolUse":[{"matcher":null,"hookCallbackIds":["hook_0"]},
				{"matcher":"Bash","hookCallbackIds":["hook_1"],"timeout":2}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
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
		s, _ := simulate(t, scenario, withCallbacks())
		synctest.Wait()
		wantTurn(t, s, "Hi", "result: Hello")
	})
}

func TestServersAreSetBeforeTheFirstPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		servers := `{"files":{"type":"stdio","command":"serve","args":["files"]},"own":{"type":"sdk"}}`
		scenario := new(clewtest.Scenario).
			Expect(controlRequest("init", `{"subtype":"initialize","sdkMcpServers":["own"]}`)).
			Send(controlSuccess("init", `{}`)).
			Expect(controlRequest("set", `{"subtype":"mcp_set_servers","servers":`+servers+`}`)).
			Send(controlSuccess("set", `{"added":["files"],"removed":[],"errors":{}}`)).
			Expect(promptFrame("p", "Hi")).Send(resultFrame("Hello", "p"))
		opts := withCallbacks()
		opts.MCPServers["files"] = &clew.MCPStdioServer{Command: "serve", Args: []string{"files"}}
		s, _ := simulate(t, scenario, opts)
		wantTurn(t, s, "Hi", "result: Hello")
	})
}

// The agent reports the ID of a session in its first turn. Until then, it is the one of the
// options.
func TestSessionID(t *testing.T) {
	t.Parallel()
	const own, told = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-8999-000000000000"
	for name, opts := range map[string]*clew.Options{
		"by the agent":   {},
		"by the options": {Session: clew.SessionOptions{ID: own}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := simulate(t, asked().
					Send(`{"type":"system","subtype":"init","session_id":"`+told+`"}`).Send(assistantFrame("Well")).
					Expect(controlRequest("stop", `{"subtype":"interrupt"}`)).Send(controlSuccess("stop", `{}`)).
					Send(resultFrame("done")), opts)
				if s.ID() != opts.Session.ID {
					t.Errorf("id %q before the first turn", s.ID())
				}
				for msg, err := range s.Turn(t.Context(), clew.Text("Hi")) {
					if err != nil {
						t.Fatal(err)
					}
					if s.ID() != told {
						t.Errorf("id %q at %s", s.ID(), msg.Raw())
					}
					if _, ok := msg.(*clew.AssistantMessage); ok {
						if _, err := s.Interrupt(t.Context(), nil); err != nil {
							t.Fatal(err)
						}
					}
				}
				if s.ID() != told {
					t.Errorf("id %q after the turn", s.ID())
				}
			})
		})
	}
}

// An agent that does not answer the greeting is given up, after the time of the options or a
// minute.
func TestInitializeTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ limit, want time.Duration }{
		"default": {0, time.Minute},
		"own":     {3 * time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				silent := new(clewtest.Scenario).Expect(initialize).Expect(controlCancel("init")).CloseStdin().Exit(0)
				opts := inMemory(clewtest.NewAgent(t, silent), &clew.Options{Limits: clew.Limits{InitializeTimeout: test.limit}})
				begin := time.Now()
				_, err := clew.Connect(t.Context(), opts)
				wantError(t, err, context.DeadlineExceeded)
				if exit := wantExit(t, err); exit.Reason != "gave no answer" {
					t.Errorf("exit %+v", exit)
				}
				if !strings.HasPrefix(err.Error(), "clew: not ready within "+test.want.String()) {
					t.Errorf("error %q", err)
				}
				wantElapsed(t, begin, test.want)
				wantNoGoroutine(t)
			})
		})
	}
}

// A deaf connection can be read from, and takes so many frames.
type deaf struct {
	clew.Connection
	left atomic.Int32
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.left.Add(-1) < 0 {
		return 0, io.ErrClosedPipe
	}
	return d.Connection.Write(p)
}

// An agent that closes its input and lives on can be listened to, and nobody waits for its answers
// any more.
func TestAgentClosesItsInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conn := &deaf{Connection: clewtest.NewAgent(t, greeted().
			Expect(controlRequest("u", `{"subtype":"get_usage"}`)).Send(aWord)).Conn()}
		conn.left.Store(2)
		opts := overConn(conn)
		var log strings.Builder
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s := dial(t, opts)
		var calls pendingCalls
		calls.expect("Usage", func() error { return second(screens.AccountUsage(t.Context(), s, nil)) })
		synctest.Wait()
		_, err := s.Send(t.Context(), clew.Text("Hi"))
		wantError(t, err, io.ErrClosedPipe)
		calls.want(t, &clew.ExitError{Reason: "closed its input: " + io.ErrClosedPipe.Error()})
		if !strings.Contains(log.String(), "the agent has stopped reading") {
			t.Errorf("log %s", log.String())
		}
		if _, err := screens.AccountUsage(t.Context(), s, nil); err == nil {
			t.Error("a request was answered")
		}
		for msg, err := range s.Messages(t.Context()) {
			if err != nil || textOf(msg) != "Well" {
				t.Errorf("message %v, error %v", msg, err)
			}
			break
		}
	})
}

// A turn inside of the loop over another one waits until its context ends, and does the outer one
// no harm.
func TestTurnInsideOfATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), cancelledFrame("p2"), resultFrame("one", "p1")), nil)
		var got []string
		for msg, err := range s.Turn(t.Context(), clew.Text("one")) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, textOf(msg)); len(got) > 1 {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			_, err = textsOf(s.Turn(ctx, clew.Text("two")))
			cancel()
			wantError(t, err, context.DeadlineExceeded)
		}
		if diff := cmp.Diff([]string{"1", "*wire.CommandLifecycleMessage", "result: one"}, got); diff != "" {
			t.Errorf("outer turn (-want +got):\n%s", diff)
		}
	})
}

// An agent that is too old is used, with a warning, if the options allow it, or if it reports its
// version only in its first turn.
func TestOldAgentIsWarnedOf(t *testing.T) {
	t.Parallel()
	for version, warned := range map[string]bool{
		"1.0.0":               true,
		"1.99.99":             true,
		"2.1.50-beta":         false,
		clew.MinAgentVersion:  false,
		"2.1.325":             false,
		"10.0.0":              false,
		"two":                 false,
		"2.0":                 false,
		"1.99999999999999999": false,
		"":                    false,
	} {
		hello := fmt.Sprintf(`"subtype":"success","response":{"claude_code_version":%q}`, version)
		init := fmt.Sprintf(`{"type":"system","subtype":"init","claude_code_version":%q}`, version)
		t.Run("greeted by "+version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				s, _ := simulate(t, answering(hello), &clew.Options{AllowOldAgent: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				wantClosed(t, s)
				wantOldAgent(t, log.String(), version, warned)
			})
		})
		t.Run("a turn of "+version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				s, _ := simulate(t, asked().Send(init, aResult),
					&clew.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				wantTurn(t, s, "Hi", "*wire.InitMessage", "result: Hello")
				wantClosed(t, s)
				wantOldAgent(t, log.String(), version, warned)
			})
		})
	}
}

// wantOldAgent checks whether a log warns of an old agent, once.
func wantOldAgent(t *testing.T, log, version string, warned bool) {
	t.Helper()
	want := 0
	if warned {
		want = 1
	}
	warning := fmt.Sprintf("version=%s minimum=%s", version, clew.MinAgentVersion)
	if got := strings.Count(log, "level=WARN"); got != want || warned && !strings.Contains(log, warning) {
		t.Errorf("%d warnings, want %d: %s", got, want, log)
	}
}
