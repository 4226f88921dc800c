package simtest_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// anAnswer is the host's answer to a request of the agent. An agent that gets it has an open input.
func anAnswer(id string) string {
	return `{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `"}}`
}

// wantQuery runs a query over an agent in memory. A host that closes the agent's input too early
// does not keep to the scenario, and a host that never does so leaves the bubble in a deadlock.
func wantQuery[P clew.Prompt](t *testing.T, prompt P, opts *clew.Options, messages int) error {
	t.Helper()
	msgs, err := readOut(t, clew.Query(t.Context(), prompt, opts))
	if len(msgs) != messages {
		t.Errorf("%d messages, want %d: %v", len(msgs), messages, msgs)
	}
	wantNoGoroutine(t)
	return err
}

// Without callbacks, the input ends right after the prompt.
func TestInputEndsBehindThePrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().CloseStdin().Send(aWord, aResult).Exit(0))
		if err := wantQuery(t, "Hi", overMemory(agent), 2); err != nil {
			t.Error(err)
		}
	})
}

// With a callback, the input stays open until the result, and no longer.
func TestInputStaysOpenForCallbacks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		request string
		set     func(*clew.Options)
	}{
		"CanUseTool": {
			`{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"toolu_1"}`,
			func(o *clew.Options) { o.CanUseTool = allows },
		},
		"OnQuestion": {
			`{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[]},"tool_use_id":"toolu_1"}`,
			func(o *clew.Options) {
				o.OnQuestion = func(context.Context, *clew.QuestionRequest) (*clew.QuestionResult, error) { return nil, nil }
			},
		},
		"Hooks": {
			`{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"Stop"}}`,
			func(o *clew.Options) {
				nop := func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }
				o.Hooks = map[hook.Event][]hook.Matcher{hook.Stop: {{Hooks: []hook.Func{nop}}}}
			},
		},
		"OnElicitation": {
			`{"subtype":"elicitation","mcp_server_name":"calc","message":"Who?"}`,
			func(o *clew.Options) {
				o.OnElicitation = func(context.Context, *clew.ElicitationRequest) (*clew.ElicitationResult, error) {
					return &clew.ElicitationResult{Action: wire.ElicitationDecline}, nil
				}
			},
		},
		"OnUserDialog": {
			`{"subtype":"request_user_dialog","dialog_kind":"k","payload":{}}`,
			func(o *clew.Options) {
				o.OnUserDialog = func(context.Context, *clew.UserDialogRequest) (*clew.UserDialogResult, error) {
					return &clew.UserDialogResult{}, nil
				}
			},
		},
		"MCPServers": {
			`{"subtype":"mcp_message","server_name":"calc","message":{"jsonrpc":"2.0","id":3,"method":"ping"}}`,
			func(o *clew.Options) {
				o.MCPServers = map[string]clew.MCPServer{"calc": &clew.MCPInProcessServer{Handler: pong{}}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent := clewtest.NewAgent(t, asked().
					Send(`{"type":"control_request","request_id":"may I","request":`+test.request+`}`).
					Expect(anAnswer("may I")).
					Send(aResult).CloseStdin().Exit(0))
				opts := overMemory(agent)
				test.set(opts)
				if err := wantQuery(t, "Hi", opts, 1); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func allows(context.Context, *permission.Request) (permission.Result, error) {
	return &permission.AllowResult{}, nil
}

// pong is an MCP server that says yes.
type pong struct{}

func (pong) HandleMCP(context.Context, wire.JSON) (wire.JSON, error) {
	return `{"jsonrpc":"2.0","id":3,"result":{}}`, nil
}

// asking returns options with a callback, which need the agent's input to stay open.
func asking(agent *clewtest.Agent) *clew.Options {
	opts := overMemory(agent)
	opts.CanUseTool = allows
	return opts
}

func taskStarted(kind string) string {
	return `{"type":"system","subtype":"task_started","task_id":"t1","description":"d","session_id":"s","uuid":"ts",` +
		`"task_type":"` + kind + `"}`
}

// A background subagent starts another turn when it ends, which may need answers.
func TestInputStaysOpenForBackgroundTasks(t *testing.T) {
	t.Parallel()
	const resultOfTask = `{"type":"result","subtype":"success","result":"Done","session_id":"s","uuid":"r2",` +
		`"origin":{"kind":"task-notification"}}`
	for name, ended := range map[string]string{
		"a notification": `{"type":"system","subtype":"task_notification","task_id":"t1","status":"completed",` +
			`"output_file":"","summary":"","session_id":"s","uuid":"tn"}`,
		"an update": `{"type":"system","subtype":"task_updated","task_id":"t1","patch":{"status":"failed"},` +
			`"session_id":"s","uuid":"tu"}`,
	} {
		for _, kind := range []string{"local_agent", "local_workflow"} {
			t.Run(kind+" ends by "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					agent := clewtest.NewAgent(t, asked().
						Send(taskStarted(kind), aResult, aQuestion).Expect(anAnswer("may I")).
						Send(ended, aQuestion).Expect(anAnswer("may I")).
						Send(resultOfTask).CloseStdin().Exit(0))
					if err := wantQuery(t, "Hi", asking(agent), 4); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// Other tasks, such as a shell, may never end: nobody waits for them.
func TestInputEndsBesidesOtherTasks(t *testing.T) {
	t.Parallel()
	for name, started := range map[string]string{
		"a shell":          taskStarted("local_bash"),
		"a teammate":       taskStarted("in_process_teammate"),
		"one without kind": `{"type":"system","subtype":"task_started","task_id":"t1","description":"d"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent := clewtest.NewAgent(t, asked().Send(started, aResult).CloseStdin().Exit(0))
				if err := wantQuery(t, "Hi", asking(agent), 2); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// The input stays open for questions in every turn, not only in the first.
func TestInputStaysOpenForAllPrompts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().Expect(aPrompt).
			Send(aResult, aQuestion).Expect(anAnswer("may I")).
			Send(aResult).CloseStdin().Exit(0))
		var twice iter.Seq[*wire.UserMessage] = func(yield func(*wire.UserMessage) bool) {
			for range 2 {
				if !yield(clew.Text("Hi")) {
					return
				}
			}
		}
		if err := wantQuery(t, twice, asking(agent), 2); err != nil {
			t.Error(err)
		}
	})
}

// An error in a prompt sequence ends the prompts, not the running turn, and is returned.
func TestPromptsFail(t *testing.T) {
	t.Parallel()
	failing := func(prompts int) iter.Seq2[*wire.UserMessage, error] {
		return func(yield func(*wire.UserMessage, error) bool) {
			for range prompts {
				if !yield(clew.Text("Hi"), nil) {
					return
				}
			}
			yield(nil, io.ErrUnexpectedEOF)
		}
	}
	for name, test := range map[string]struct {
		prompts  int
		scenario *clewtest.Scenario
		messages int
		options  func(*clewtest.Agent) *clew.Options
	}{
		"at once":                  {0, greeted().CloseStdin().Exit(0), 0, overMemory},
		"at once, with a callback": {0, greeted().CloseStdin().Exit(0), 0, asking},
		"later":                    {1, asked().CloseStdin().Send(aResult).Exit(0), 1, overMemory},
		"later, with a callback":   {1, asked().Send(aResult).CloseStdin().Exit(0), 1, asking},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				opts := test.options(clewtest.NewAgent(t, test.scenario))
				if err := wantQuery(t, failing(test.prompts), opts, test.messages); !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// stuck is a prompt, and then a sequence that waits for ever for the next one.
func stuck(stop <-chan struct{}) iter.Seq[*wire.UserMessage] {
	return func(yield func(*wire.UserMessage) bool) {
		if yield(clew.Text("Hi")) {
			<-stop
		}
	}
}

// Prompts that never end delay the end of a query for a while, once.
func TestPromptsThatNeverEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		begin := time.Now()
		opts := overMemory(clewtest.NewAgent(t, asked().Send(aResult).Exit(1)))
		_, err := readOut(t, clew.Query(t.Context(), stuck(stop), opts))
		if exit := wantExit(t, err); exit.Code != 1 {
			t.Errorf("error %v", err)
		}
		wantElapsed(t, begin, 5*time.Second)
		close(stop)
		wantNoGoroutine(t)
	})
}

// Leaving a query stops the agent at once, even while the prompts are stuck.
func TestPromptsDontHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(cancel func()) (more bool){
		"the loop is left": func(func()) bool { return false },
		"the context ends": func(cancel func()) bool { cancel(); return true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				conn := clewtest.NewAgent(t, asked().Send(aWord).Expect(aInterrupt)).Conn()
				begin := time.Now()
				go func() {
					_ = conn.Wait()
					wantElapsed(t, begin, 0)
				}()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				stop := make(chan struct{})
				defer close(stop)
				for range clew.Query(ctx, stuck(stop), overConn(conn)) {
					if !leave(cancel) {
						break
					}
				}
			})
		})
	}
}

// An agent that dies under a sequence of prompts dies once.
func TestPromptsToTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().Exit(3))
		var slow iter.Seq[*wire.UserMessage] = func(yield func(*wire.UserMessage) bool) {
			for yield(clew.Text("Hi")) {
				time.Sleep(time.Second)
			}
		}
		_, err := readOut(t, clew.Query(t.Context(), slow, overMemory(agent)))
		if err == nil || err.Error() != "clew: the agent exited with code 3" {
			t.Errorf("error %q", err)
		}
		wantNoGoroutine(t)
	})
}
