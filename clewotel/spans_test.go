package clewotel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/tools"
)

// Frames of an agent. parent is the call that started the agent that speaks, or empty.

func text(parent, id, text string) string {
	return fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":%q,"message":{"id":%q,"model":"m","role":"assistant",`+
		`"content":[{"type":"text","text":%q}],"usage":{"input_tokens":10,"output_tokens":1}},"session_id":"s"}`, parent, id, text)
}

func toolUse(parent, id, tool, call string) string {
	return fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":%q,"message":{"id":%q,"model":"m","role":"assistant",`+
		`"content":[{"type":"tool_use","id":%q,"name":%q,"input":{}}],"usage":{"input_tokens":10,"output_tokens":1}},"session_id":"s"}`,
		parent, id, call, tool)
}

func toolResult(parent, call string) string {
	return fmt.Sprintf(`{"type":"user","parent_tool_use_id":%q,"message":{"role":"user","content":[{"type":"tool_result",`+
		`"tool_use_id":%q,"content":"ok"}]},"session_id":"s"}`, parent, call)
}

func taskStarted(task, call, kind string) string {
	return fmt.Sprintf(`{"type":"system","subtype":"task_started","task_id":%q,"tool_use_id":%q,"subagent_type":%q,`+
		`"description":"d","task_type":"local_agent","session_id":"s"}`, task, call, kind)
}

// result is a result after which the agent itself used some input tokens, and all agents some.
func result(prompt string, own, all int) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","result":"done","user_message_uuids":[%q],"session_id":"s",`+
		`"usage":{"input_tokens":%d},"model_usage_since_last_result":{"m":{"inputTokens":%d,"costUSD":0.5}},"total_cost_usd":0.5}`,
		prompt, own, all)
}

const (
	initialize  = `{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}`
	initialized = `{"type":"control_response","response":{"subtype":"success","request_id":"init","response":{}}}`
)

// prompted returns a scenario in which the agent got the prompt "p".
func prompted() *clewtest.Scenario {
	return new(clewtest.Scenario).Expect(initialize).Send(initialized).Expect(`{"type":"user","uuid":"p"}`)
}

// shape returns the tree without attributes.
func (s *scene) shape() string {
	var b strings.Builder
	for line := range strings.Lines(s.tree()) {
		words := strings.SplitN(strings.TrimRight(line, "\n"), "=", 2)[0]
		if i := strings.LastIndex(words, " "); strings.Contains(line, "=") && i > 0 {
			words = words[:i]
		}
		b.WriteString(words + "\n")
	}
	return b.String()
}

// Subagents that run at once, one of which has a subagent itself, have their own answers and calls.
func TestSubagentsNest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		session := s.connect(s.options(prompted().Send(
			toolUse("", "m1", "Agent", "a"), toolUse("", "m1", "Agent", "b"),
			taskStarted("ta", "a", "first"), taskStarted("tb", "b", "second"),
			toolUse("a", "ma1", "Bash", "a1"), toolUse("b", "mb1", "Agent", "c"), taskStarted("tc", "c", "third"),
			toolUse("c", "mc1", "Read", "c1"), toolResult("a", "a1"), toolResult("c", "c1"),
			text("c", "mc2", "deep"), toolResult("b", "c"), text("a", "ma2", "one"), toolResult("", "a"),
			text("b", "mb2", "two"), toolResult("", "b"), text("", "m2", "all"), result("p", 20, 80)), clewotel.Options{}))
		for range session.Turn(t.Context(), clew.Text("Go")) {
		}
		s.close(session)
		want := `clew.session
  invoke_agent claude-code
    execute_tool Agent
      invoke_agent first
        execute_tool Bash
        chat m
        chat m
    execute_tool Agent
      invoke_agent second
        execute_tool Agent
          invoke_agent third
            execute_tool Read
            chat m
            chat m
        chat m
        chat m
    chat m
    chat m
`
		if diff := cmp.Diff(sorted(want), sorted(s.shape())); diff != "" {
			t.Errorf("spans (-want +got):\n%s%s", diff, s.tree())
		}
	})
}

// sorted returns the paths of the spans of a tree, since spans that start at once have no order.
func sorted(tree string) []string {
	var path, paths []string
	for line := range strings.Lines(tree) {
		name := strings.TrimSpace(line)
		depth := (len(line) - len(strings.TrimLeft(line, " "))) / 2
		path = append(path[:depth], name)
		paths = append(paths, strings.Join(path, "/"))
	}
	slices.Sort(paths)
	return paths
}

// working is an agent in the middle of everything: an answer, a call and a subagent with a call.
func working() *clewtest.Scenario {
	return prompted().Send(toolUse("", "m1", "Agent", "a"), taskStarted("ta", "a", "first"), toolUse("a", "ma1", "Bash", "a1"))
}

// taskEnded returns a notice that the task of a subagent is over.
func taskEnded(task, call string) string {
	return fmt.Sprintf(`{"type":"system","subtype":"task_notification","task_id":%q,"tool_use_id":%q,"status":"completed","session_id":"s"}`,
		task, call)
}

// A call that comes after the end of its subagent ends with the next result, or with the session.
func TestLateCallEnds(t *testing.T) {
	t.Parallel()
	begun := frames(toolUse("", "m1", "Agent", "a"), taskStarted("ta", "a", "first"), taskEnded("ta", "a"))
	late := frames(toolUse("a", "ma1", "Bash", "a1"))
	s := newScene(t)
	s.follow(clewotel.Options{}, begun, late, frames(result("p", 10, 10)), func(context.Context, *clew.Trace) {
		if got := s.find("execute_tool Bash").Status.Description; got != "interrupted" {
			t.Errorf("the call failed with %q", got)
		}
	})
	s = newScene(t)
	s.follow(clewotel.Options{}, begun, settled("p"), late)
	if got := s.find("execute_tool Bash").Status.Description; got != "agent_ended" {
		t.Errorf("the call failed with %q", got)
	}
}

// The first answer to a prompt that waited starts with the end of the turn before it.
func TestWaitingPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		second := func(context.Context, *clew.Trace) { time.Sleep(time.Second) }
		s.follow(clewotel.Options{}, prompt("q"),
			second, frames(text("", "m1", "one")), second, frames(result("p", 10, 10)), settled("p"),
			second, frames(text("", "m2", "two"), result("q", 10, 10)), settled("q"))
		var chats []time.Duration
		began := s.find("clew.session").StartTime
		for _, span := range s.spans.GetSpans() {
			if span.Name == "chat m" {
				chats = append(chats, span.StartTime.Sub(began), span.EndTime.Sub(began))
			}
		}
		if diff := cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}, chats); diff != "" {
			t.Errorf("beginnings and ends (-want +got):\n%s", diff)
		}
	})
}

var errStop = errors.New("stop")

// No span is open after a run or session that ended in the middle of a turn, in whatever way.
func TestNoSpanIsLeftOpen(t *testing.T) {
	for name, run := range map[string]func(t *testing.T, s *scene){
		"the agent is killed": func(t *testing.T, s *scene) {
			_, err := clew.Run(t.Context(), "Go", s.options(working().Do(clewtest.KilledBy(syscall.SIGKILL)), clewotel.Options{}))
			if _, ok := errors.AsType[*clew.ExitError](err); !ok {
				t.Errorf("error %v", err)
			}
		},
		"the context ends": func(t *testing.T, s *scene) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			for _, err := range clew.Query(ctx, "Go", s.options(working().Do(clewtest.Hang()), clewotel.Options{})) {
				if err != nil && !errors.Is(err, errStop) {
					t.Errorf("error %v", err)
				}
				cancel(errStop)
			}
		},
		"the loop is left": func(t *testing.T, s *scene) {
			for range clew.Query(t.Context(), "Go", s.options(working().Do(clewtest.Hang()), clewotel.Options{})) {
				break
			}
		},
		"a turn is left and the session closed": func(t *testing.T, s *scene) {
			session := s.connect(s.options(working().Do(clewtest.IgnoreEndOfInput()).Do(clewtest.Hang()), clewotel.Options{}))
			for range session.Turn(t.Context(), clew.Text("Go")) {
				break
			}
			if err := session.Close(); err != nil {
				if _, ok := errors.AsType[*clew.ExitError](err); !ok {
					t.Error(err)
				}
			}
		},
		"the agent does not start": func(t *testing.T, s *scene) {
			scenario := new(clewtest.Scenario).Expect(initialize).Do(clewtest.ExitBefore(1))
			if _, err := clew.Connect(t.Context(), s.options(scenario, clewotel.Options{})); err == nil {
				t.Error("no error")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				run(t, s)
				s.wantNoneOpen()
				if !strings.HasPrefix(s.tree(), "clew.session") {
					t.Errorf("spans:\n%s", s.tree())
				}
			})
		})
	}
}

// A session that reconnects is one span, and ends what the dead agent was doing.
func TestReconnectIsAnEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		scenarios := []*clewtest.Scenario{
			working().Do(clewtest.ExitBefore(1)),
			prompted().Send(text("", "m2", "back"), result("p", 10, 10)),
		}
		opts := s.options(scenarios[0], clewotel.Options{})
		first := opts.Transport
		second := s.options(scenarios[1], clewotel.Options{}).Transport
		started := 0
		opts.Transport = clew.TransportFunc(func(ctx context.Context, l *clew.Launch) (clew.Connection, error) {
			if started++; started == 1 {
				return first.Connect(ctx, l)
			}
			return second.Connect(ctx, l)
		})
		opts.Reconnect = new(clew.ReconnectOptions)
		session := s.connect(opts)
		for range 2 {
			for range session.Turn(t.Context(), clew.Text("Go")) {
			}
		}
		s.close(session)
		tree := s.tree()
		for _, want := range []string{
			"! clew.reconnected clew.attempts=1 clew.downtime_ms=0 clew.lost_prompts=1", "invoke_agent claude-code FAILED: agent_lost",
			"invoke_agent first FAILED: agent_lost", "execute_tool Bash FAILED: agent_lost",
			"invoke_agent claude-code clew.cost_usd=0.5\n    chat m",
		} {
			if !strings.Contains(tree, want) {
				t.Errorf("no %q in\n%s", want, tree)
			}
		}
	})
}

// find returns the span of a name.
func (s *scene) find(name string) tracetest.SpanStub {
	s.t.Helper()
	spans := s.spans.GetSpans()
	i := slices.IndexFunc(spans, func(span tracetest.SpanStub) bool { return span.Name == name })
	if i < 0 {
		s.t.Fatalf("no span %q in\n%s", name, s.tree())
	}
	return spans[i]
}

// A turn belongs to the span in its own context and is linked with its session, the agent gets the
// session's span, and the code of an in-process tool works below the span of its call.
func TestParents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		tool := tools.New("look", "Looks", func(ctx context.Context, _ struct{}) (string, error) {
			_, span := s.traces.Tracer("mine").Start(ctx, "my work")
			span.End()
			return "seen", nil
		})
		call := `{"type":"control_request","request_id":"m","request":{"subtype":"mcp_message","server_name":"own",` +
			`"message":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","arguments":{},` +
			`"_meta":{"claudecode/toolUseId":"t1"}}}}}`
		opts := s.options(prompted().Send(toolUse("", "m1", "mcp__own__look", "t1"), call).
			Expect(`{"type":"control_response","response":{"request_id":"m"}}`).
			Send(toolResult("", "t1"), result("p", 10, 10)), clewotel.Options{})
		opts.MCPServers = map[string]clew.MCPServer{"own": tools.Server(tool)}
		var env []string
		inner := opts.Transport
		opts.Transport = clew.TransportFunc(func(ctx context.Context, l *clew.Launch) (clew.Connection, error) {
			env = l.Env
			return inner.Connect(ctx, l)
		})
		session := s.connect(opts)
		ctx, caller := s.traces.Tracer("mine").Start(t.Context(), "caller")
		for range session.Turn(ctx, clew.Text("Go")) {
		}
		caller.End()
		s.close(session)

		root, turn := s.find("clew.session"), s.find("invoke_agent claude-code")
		if turn.Parent.SpanID() != caller.SpanContext().SpanID() {
			t.Errorf("the turn is not below its caller:\n%s", s.tree())
		}
		if len(turn.Links) != 1 || turn.Links[0].SpanContext.SpanID() != root.SpanContext.SpanID() {
			t.Errorf("the turn has the links %v", turn.Links)
		}
		mine, execute := s.find("my work"), s.find("execute_tool mcp__own__look")
		if mine.Parent.SpanID() != execute.SpanContext.SpanID() {
			t.Errorf("the work of the tool is not below its call:\n%s", s.tree())
		}
		want := fmt.Sprintf("TRACEPARENT=00-%s-%s-01", root.SpanContext.TraceID(), root.SpanContext.SpanID())
		if !slices.Contains(env, want) {
			t.Errorf("the agent has no %s in %q", want, env)
		}
	})
}

// Within the span of Connect a turn is below the session.
func TestParentOfARun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		ctx, caller := s.traces.Tracer("mine").Start(t.Context(), "caller")
		opts := s.options(prompted().Send(result("p", 10, 10)), clewotel.Options{})
		if _, err := clew.Run(ctx, "Go", opts); err != nil {
			t.Error(err)
		}
		caller.End()
		want := "caller\n  clew.session\n    invoke_agent claude-code\n      chat m\n"
		if got := s.shape(); got != want {
			t.Errorf("spans:\n%s", s.tree())
		}
		s.wantNoneOpen()
	})
}

// With AgentExport the agent exports its spans, and only the spans of the session and of the turn
// come from here. Variables that are set already stay.
func TestAgentExport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		opts := s.options(working().Send(toolResult("a", "a1"), toolResult("", "a"), result("p", 10, 20)), clewotel.Options{AgentExport: true})
		opts.Env = []string{"OTEL_TRACES_EXPORTER=console"}
		opts.InheritEnv = []string{}
		var env []string
		inner := opts.Transport
		opts.Transport = clew.TransportFunc(func(ctx context.Context, l *clew.Launch) (clew.Connection, error) {
			env = l.Env
			return inner.Connect(ctx, l)
		})
		session := s.connect(opts)
		for range session.Turn(t.Context(), clew.Text("Go")) {
		}
		s.close(session)
		if got := s.shape(); got != "clew.session\n  invoke_agent claude-code\n" {
			t.Errorf("spans:\n%s", got)
		}
		for _, want := range []string{
			"CLAUDE_CODE_ENABLE_TELEMETRY=1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1", "OTEL_TRACES_EXPORTER=console",
		} {
			if !slices.Contains(env, want) {
				t.Errorf("no %s in %q", want, env)
			}
		}
		if got := s.metric("gen_ai.execute_tool.duration"); len(got) != 2 {
			t.Errorf("the metric of tools: %v", got)
		}
	})
}

// Spans have no text by default. With Texts they have all of them, cut and without secrets.
func TestContent(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	scenario := func() *clewtest.Scenario {
		return prompted().Send(
			text("", "m1", "The token is "+secret), toolUse("", "m1", "Bash", "t1"),
			strings.Replace(toolResult("", "t1"), `"ok"`, `"`+strings.Repeat("long ", 100)+`"`, 1),
			result("p", 10, 10))
	}
	spans := func(t *testing.T, o clewotel.Options) string {
		s := newScene(t)
		session := s.connect(s.options(scenario(), o))
		for range session.Turn(t.Context(), clew.Text("Say it")) {
		}
		s.close(session)
		return s.tree()
	}
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			got := spans(t, clewotel.Options{})
			for _, word := range []string{"Say it", "token is", "long"} {
				if strings.Contains(got, word) {
					t.Errorf("%q is in\n%s", word, got)
				}
			}
		})
	})
	t.Run("on", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			got := spans(t, clewotel.Options{Content: clewotel.Texts, MaxTextBytes: 40})
			for _, want := range []string{
				`gen_ai.input.messages=[{"role":"user","parts":[{"type":"text","content":"Say it"}]}]`,
				`"content":"The token is ghp_***"`, `gen_ai.tool.call.arguments={}`,
				"gen_ai.tool.call.result=" + strings.Repeat("long ", 8) + "…",
			} {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			if strings.Contains(got, secret) {
				t.Errorf("the secret is in\n%s", got)
			}
		})
	})
}

// An answer has the form of the conventions: why it ended, and a call's input as a value, or
// as a text if it was cut.
func TestOutputMessages(t *testing.T) {
	t.Parallel()
	call := func(input string) string {
		return strings.Replace(toolUse("", "m", "Bash", "t"), `"input":{}`, `"input":`+input, 1)
	}
	stop := func(reason string) string {
		return strings.Replace(result("p", 10, 10), `"result":"done"`, fmt.Sprintf(`"stop_reason":%q`, reason), 1)
	}
	const failed = `{"type":"assistant","error":"server_error","message":{"id":"m","content":[]},"session_id":"s"}`
	for want, lines := range map[string][]string{
		`[{"type":"tool_call","id":"t","name":"Bash","arguments":{"n":[1,"ghp_***"]}}],"finish_reason":"tool_call"`: {
			call(`{"n":[1,"ghp_0123456789abcdefghijABCDEFGHIJ012345"]}`), toolResult("", "t"), text("", "m2", "so"), stop("end_turn"),
		},
		`[{"type":"tool_call","id":"t","name":"Bash","arguments":"{\"n\":\"looooooooooooooooooooooooooooooooo…"}]`: {
			call(`{"n":"l` + strings.Repeat("o", 50) + `ng"}`), stop("tool_use"),
		},
		`[{"type":"text","content":"so"}],"finish_reason":"stop"`:           {text("", "m", "so"), stop("end_turn")},
		`[{"type":"text","content":"cut"}],"finish_reason":"length"`:        {text("", "m", "cut"), stop("max_tokens")},
		`[{"type":"text","content":"no"}],"finish_reason":"content_filter"`: {text("", "m", "no"), stop("refusal")},
		`[{"type":"text","content":"wait"}],"finish_reason":"pause_turn"`:   {text("", "m", "wait"), stop("pause_turn")},
		`[{"type":"text","content":"bro"}],"finish_reason":"error"`:         {text("", "m", "bro"), failed, stop("end_turn")},
		`[{"type":"text","content":"open"}],"finish_reason":"stop"`:         {text("", "m", "open")},
	} {
		s := newScene(t)
		s.follow(clewotel.Options{Content: clewotel.Texts, MaxTextBytes: 40}, frames(lines...))
		if got := s.tree(); !strings.Contains(got, `gen_ai.output.messages=[{"role":"assistant","parts":`+want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// The metrics have the values of the dialogue, under the names that are asked for, and no attribute
// has a value for each session.
func TestMetrics(t *testing.T) {
	recording := recordings(t)["subagent_background"]
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		playRecording(t, s, recording, clewotel.Options{Semconv: clewotel.SemconvLatest})
		for name, want := range map[string]map[string]float64{
			"gen_ai.client.operation.duration": {
				"gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=claude-opus-5-5": 5,
			},
			"gen_ai.invoke_agent.duration": {
				"gen_ai.agent.name=claude-code,gen_ai.operation.name=invoke_agent,gen_ai.provider.name=anthropic":     2,
				"gen_ai.agent.name=general-purpose,gen_ai.operation.name=invoke_agent,gen_ai.provider.name=anthropic": 1,
			},
			"gen_ai.invoke_agent.inference_calls": {
				"gen_ai.agent.name=claude-code,gen_ai.operation.name=invoke_agent,gen_ai.provider.name=anthropic":     3,
				"gen_ai.agent.name=general-purpose,gen_ai.operation.name=invoke_agent,gen_ai.provider.name=anthropic": 2,
			},
			"gen_ai.execute_tool.duration": {
				"gen_ai.agent.name=claude-code,gen_ai.operation.name=execute_tool,gen_ai.tool.name=Agent":    1,
				"gen_ai.agent.name=general-purpose,gen_ai.operation.name=execute_tool,gen_ai.tool.name=Bash": 1,
			},
			"gen_ai.client.token.usage": {},
			"gen_ai.client.inference.usage.input_tokens": {
				"gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=claude-opus-5-5,gen_ai.token.modality=unknown": 2100,
			},
			"gen_ai.client.inference.usage.output_tokens": {
				"gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=claude-opus-5-5,gen_ai.token.modality=unknown": 210,
			},
		} {
			if diff := cmp.Diff(want, s.metric(name)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

// An agent of a pool starts before its caller: its turn is still the caller's.
func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		scenario := new(clewtest.Scenario).Expect(initialize).Send(initialized).
			Expect(`{"type":"control_request","request_id":"h","request":{"subtype":"get_context_usage"}}`).
			Send(`{"type":"control_response","response":{"subtype":"success","request_id":"h","response":{}}}`).
			Expect(`{"type":"user","uuid":"p"}`).Send(result("p", 10, 10))
		pool, err := clew.NewPool(t.Context(), s.options(scenario, clewotel.Options{}),
			&clew.PoolOptions{Warm: 1, MaxAgents: 1})
		if err != nil {
			t.Fatal(err)
		}
		registration, err := clewotel.ObservePool(pool, "main", s.meters)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := s.metric("clew.pool.agents")["clew.pool.name=main,clew.pool.state=warm"]; got != 1 {
			t.Errorf("%v warm agents", got)
		}
		ctx, caller := s.traces.Tracer("mine").Start(t.Context(), "caller")
		if _, err := pool.Run(ctx, clew.Text("Go")); err != nil {
			t.Error(err)
		}
		caller.End()
		if err := errors.Join(registration.Unregister(), pool.Close()); err != nil {
			t.Error(err)
		}
		if turn := s.find("invoke_agent claude-code"); turn.Parent.SpanID() != caller.SpanContext().SpanID() {
			t.Errorf("the turn is not below its caller:\n%s", s.tree())
		}
		s.wantNoneOpen()
	})
}

// Without an SDK nothing is recorded, and the agent gets the trace of the caller.
func TestNoProvider(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, prompted().Send(result("p", 10, 10)))
		var env []string
		opts := clewotel.Instrument(&clew.Options{Transport: clew.TransportFunc(func(_ context.Context, l *clew.Launch) (clew.Connection, error) {
			env = l.Env
			return agent.Conn(), nil
		})}, nil)
		caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
		if _, err := clew.Run(trace.ContextWithSpanContext(t.Context(), caller), "Go", opts); err != nil {
			t.Error(err)
		}
		want := "TRACEPARENT=00-01000000000000000000000000000000-0200000000000000-00"
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	})
}
