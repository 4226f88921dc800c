package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/tools"
	"github.com/clewdev/clew/wire"
)

type callerKey struct{}

// A traceLog records trace calls, each with the name in its context.
type traceLog struct {
	mu    sync.Mutex
	lines []string
	names map[string]string // of the prompts, which have random IDs
}

func (l *traceLog) add(ctx context.Context, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf("%v: ", ctx.Value(callerKey{}))+fmt.Sprintf(format, args...))
}

func (l *traceLog) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(want, l.lines); diff != "" {
		t.Errorf("the trace (-want +got):\n%s", diff)
	}
}

// trace returns a trace that writes to the log. Its Start returns another one.
func (l *traceLog) trace() *clew.Trace {
	return &clew.Trace{Start: func(ctx context.Context, opts *clew.Options) *clew.Trace {
		l.add(ctx, "start")
		opts.Env = append(opts.Env, "TRACED=yes")
		return &clew.Trace{
			Prompt: func(ctx context.Context, prompt *clew.UserMessage) {
				l.add(ctx, "prompt %s", prompt.Content.Text())
				l.name(prompt.UUID, prompt.Content.Text())
			},
			Message: func(ctx context.Context, msg clew.Message) { l.add(ctx, "message %s", textOf(msg)) },
			Settled: func(ctx context.Context, id string, err error) {
				l.add(ctx, "settled %s: %v", l.name(id, ""), kindOf(err))
			},
			Asked:    l.asked,
			Answered: l.answered,
			End:      func(ctx context.Context, err error) { l.add(ctx, "end %v", kindOf(err)) },
		}
	}}
}

func (l *traceLog) asked(ctx context.Context, req *clew.TraceRequest) context.Context {
	l.add(ctx, "asked %s %s %s %s", req.Subtype, req.Method, req.ToolName, req.ToolUseID)
	return context.WithValue(ctx, callerKey{}, "asked "+req.ToolUseID)
}

func (l *traceLog) answered(ctx context.Context, req *clew.TraceRequest, answer wire.JSON, err error) {
	l.add(ctx, "answered %s %s %v", req.Subtype, answer, err)
}

// name returns the name of a prompt, and sets it unless it is empty.
func (l *traceLog) name(id, name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = make(map[string]string)
	}
	if name != "" {
		l.names[id] = name
	}
	return l.names[id]
}

// kindOf returns the type of an error, or the error itself if it is not one of clew's types.
func kindOf(err error) any {
	if name := fmt.Sprintf("%T", err); strings.HasPrefix(name, "*clew.") {
		return name
	}
	return err
}

func named(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, callerKey{}, name)
}

// A session calls the functions in order, each with the context that it belongs to.
func TestTrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := new(traceLog)
		agents := startSequence(t, connected().
			Expect(promptFrame("p", "Hi")).Send(assistantFrame("Well,")).
			Send(controlRequest("q", `{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t1"}`)).
			Expect(controlSuccess("q", `{"behavior":"allow"}`)).
			Send(`{"type":"result","subtype":"error_max_turns","is_error":true,"user_message_uuids":["p"]}`))
		opts := &clew.Options{Transport: agents, Trace: log.trace()}
		opts.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Result, error) {
			log.add(ctx, "callback")
			return permission.Allow(), nil
		}
		s, err := clew.Connect(named(t.Context(), "connect"), opts)
		if err != nil {
			t.Fatal(err)
		}
		_, err = textsOf(s.Turn(named(t.Context(), "turn"), clew.Text("Hi")))
		if _, ok := errors.AsType[*clew.ResultError](err); !ok {
			t.Errorf("error %v, want a ResultError", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		log.want(t,
			"connect: start",
			"turn: prompt Hi",
			"connect: message Well,",
			"<nil>: asked can_use_tool  Bash t1",
			"asked t1: callback",
			`asked t1: answered can_use_tool {"behavior":"allow","updatedInput":{},"toolUseID":"t1"} <nil>`,
			"connect: message result: ",
			"connect: settled Hi: *clew.ResultError",
			"connect: end <nil>",
		)
		if env := agents.launches[0].Env; !slices.Contains(env, "TRACED=yes") {
			t.Errorf("the agent has no variable of the trace: %q", env)
		}
	})
}

// With Reconnect there is one trace, whose prompts are lost with the agent.
func TestTraceOfAReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := new(traceLog)
		agents := startSequence(t,
			connected().Expect(promptFrame("p", "Hi")).Send(assistantFrame("Well,")).Do(clewtest.ExitBefore(1)),
			connected().Expect(promptFrame("p2", "Again")).Send(resultFrame("done", "p2")))
		s := agents.open(&clew.Options{Trace: log.trace()})
		_, err := textsOf(s.Turn(t.Context(), clew.Text("Hi")))
		if _, ok := errors.AsType[*clew.LostError](err); !ok {
			t.Errorf("error %v, want a LostError", err)
		}
		wantTurn(t, s, "Again", "result: done")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		log.want(t,
			"<nil>: start", "<nil>: prompt Hi", "<nil>: message Well,", "<nil>: settled Hi: *clew.LostError",
			"<nil>: message *wire.SessionReconnectedMessage",
			"<nil>: prompt Again", "<nil>: message result: done", "<nil>: settled Again: <nil>", "<nil>: end <nil>",
		)
	})
}

// A run and a session that can't start are traced as well, and a prompt that can't be sent is
// settled.
func TestTraceOfWhatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := new(traceLog)
		_, err := clew.Run(t.Context(), "Hi", &clew.Options{Transport: startSequence(t), Trace: log.trace()})
		wantError(t, err, errNoAgent)
		log.want(t, "<nil>: start", "<nil>: end there is no agent")

		log = new(traceLog)
		agents := startSequence(t, new(clewtest.Scenario).Expect(initialize).Do(clewtest.Hang()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = clew.Connect(ctx, &clew.Options{Transport: agents, Trace: log.trace()})
		wantError(t, err, context.DeadlineExceeded)
		log.want(t, "<nil>: start", fmt.Sprintf("<nil>: end %v", err))

		log = new(traceLog)
		s, _ := simulate(t, connected(), &clew.Options{Trace: log.trace()})
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_, err = s.Send(t.Context(), clew.Text("Late"))
		wantError(t, err, clew.ErrClosed)
		log.want(t, "<nil>: start", "<nil>: end <nil>", "<nil>: prompt Late", "<nil>: settled Late: "+clew.ErrClosed.Error())
	})
}

// A panic in a function of the trace costs nothing but that call.
func TestTraceThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		buffer := new(lockedBuffer)
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(resultFrame("done", "p")), &clew.Options{
			Logger: slog.New(slog.NewTextHandler(buffer, nil)),
			Trace: &clew.Trace{
				Start:   func(context.Context, *clew.Options) *clew.Trace { panic("no start") },
				Prompt:  func(context.Context, *clew.UserMessage) { panic("no prompt") },
				Message: func(context.Context, clew.Message) { panic("no message") },
				Settled: func(context.Context, string, error) { panic("not settled") },
				End:     func(context.Context, error) { panic("no end") },
			},
		})
		wantTurn(t, s, "Hi", "result: done")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, want := range []string{"no start", "no prompt", "no message", "not settled", "no end"} {
			if !strings.Contains(buffer.String(), want) {
				t.Errorf("the log has no %q: %s", want, buffer)
			}
		}
	})
}

// A panic about one prompt does not hide the other prompts that a result settles.
func TestTraceThatPanicsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		settled := 0
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Expect(promptFrame("q", "Ho")).Send(resultFrame("done", "p", "q")),
			&clew.Options{Trace: &clew.Trace{Settled: func(context.Context, string, error) {
				settled++
				panic("not settled")
			}}})
		for _, text := range []string{"Hi", "Ho"} {
			if _, err := s.Send(t.Context(), clew.Text(text)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if settled != 2 {
			t.Errorf("Settled was called %d times, want 2", settled)
		}
	})
}

// A tool of package tools gets the values of the context that Asked returns.
func TestTraceReachesTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := make(chan any, 1)
		tool := tools.New("look", "Looks", func(ctx context.Context, _ struct{}) (string, error) {
			got <- ctx.Value(callerKey{})
			return "seen", nil
		})
		log := new(traceLog)
		opts := &clew.Options{
			Trace:      log.trace(),
			MCPServers: map[string]clew.MCPServer{"own": tools.Server(tool)},
		}
		call := `{"subtype":"mcp_message","server_name":"own","message":{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
			`"params":{"name":"look","arguments":{},"_meta":{"claudecode/toolUseId":"t7"}}}}`
		simulate(t, connected().Send(controlRequest("m", call)).Expect(controlSuccess("m", `{}`)), opts)
		synctest.Wait()
		if value := <-got; value != "asked t7" {
			t.Errorf("the tool got the value %v", value)
		}
		if !slices.Contains(log.lines, "<nil>: asked mcp_message tools/call look t7") {
			t.Errorf("the trace: %q", log.lines)
		}
	})
}
