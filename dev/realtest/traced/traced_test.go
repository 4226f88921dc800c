package traced_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/tools"
	"github.com/clewdev/clew/wire"
)

// A foreignSpan is a span that the agent has exported.
type foreignSpan struct {
	TraceID      string `json:"traceId"`
	SpanID       string `json:"spanId"`
	ParentSpanID string `json:"parentSpanId"`
	Name         string `json:"name"`
}

// A listener takes spans as OTLP over HTTP, in JSON.
type listener struct {
	*httptest.Server
	mu    sync.Mutex
	spans []foreignSpan
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := new(listener)
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []foreignSpan `json:"spans"`
				} `json:"scopeSpans"`
			} `json:"resourceSpans"`
		}
		if r.URL.Path == "/v1/traces" {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Errorf("the agent's export: %v", err)
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, resource := range body.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				l.spans = append(l.spans, scope.Spans...)
			}
		}
		_, _ = w.Write([]byte("{}"))
	}))
	t.Cleanup(l.Close)
	return l
}

// named returns the exported spans of a name.
func (l *listener) named(name string) []foreignSpan {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.spans), func(span foreignSpan) bool { return span.Name != name })
}

// The agent exports its own spans as children of the session's.
func TestRealAgentExport(t *testing.T) {
	t.Parallel()
	model, own, foreign := clewtest.NewModel(t), tracetest.NewInMemoryExporter(), listen(t)
	model.On("Look around").Reply(scene.Bash("echo here"))
	model.OnToolResult("here").Reply(clewtest.Text("Seen."))
	model.On("Again").Reply(clewtest.Text("Still there."))
	opts := scene.Options(t, model, &clew.Options{
		PermissionMode: clew.PermissionModeBypassPermissions,
		Env: []string{
			"OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_EXPORTER_OTLP_ENDPOINT=" + foreign.URL, "OTEL_BSP_SCHEDULE_DELAY=100",
		},
	})
	s := scene.Connect(t, clewotel.Instrument(opts, &clewotel.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(own)), AgentExport: true,
	}))
	scene.Ask(t, s, "Look around")
	scene.Ask(t, s, "Again")
	if err := s.Close(); err != nil { // the agent exports the rest
		t.Error(err)
	}
	scene.Eventually(t, "two interactions", func() bool { return len(foreign.named("claude_code.interaction")) >= 2 })
	session := spanNamed(t, own, "clew.session")
	for _, span := range foreign.named("claude_code.interaction") {
		if span.TraceID != session.SpanContext.TraceID().String() || span.ParentSpanID != session.SpanContext.SpanID().String() {
			t.Errorf("the interaction %+v is not a child of the session %v", span, session.SpanContext)
		}
	}
	var names []string
	for _, span := range own.GetSpans() {
		names = append(names, span.Name)
	}
	want := []string{"invoke_agent claude-code", "invoke_agent claude-code", "clew.session"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("our spans (-want +got):\n%s", diff)
	}
}

func spanNamed(t *testing.T, spans *tracetest.InMemoryExporter, name string) tracetest.SpanStub {
	t.Helper()
	for _, span := range spans.GetSpans() {
		if span.Name == name {
			return span
		}
	}
	t.Fatalf("no span %q", name)
	return tracetest.SpanStub{}
}

// Two subagents at once and an in-process tool: each span is below its own parent, and the tokens
// add up to the accounts of the agent.
func TestRealSpans(t *testing.T) {
	t.Parallel()
	for name, partial := range map[string]bool{"whole messages": false, "partial messages": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, own := clewtest.NewModel(t), tracetest.NewInMemoryExporter()
			model.On("Delegate").Reply(subagent("INNER one", "opus"), subagent("INNER two", "opus"), clewtest.ToolUse("mcp__own__look", nil)).Usage(11, 31, 7, 3)
			model.On("INNER one").Reply(scene.Bash("echo first")).Usage(13, 37, 5, 2)
			model.On("INNER two").Reply(scene.Bash("echo second")).Usage(17, 41, 3, 1)
			model.OnToolResult("first").Reply(clewtest.Text("One.")).Usage(19, 43, 2, 4)
			model.OnToolResult("second").Reply(clewtest.Text("Two.")).Usage(23, 47, 1, 6)
			model.Reply("All done.")
			provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(own))
			look := tools.New("look", "", func(ctx context.Context, _ any) (string, error) {
				_, span := provider.Tracer("mine").Start(ctx, "my work")
				defer span.End()
				return "seen", nil
			})
			s := scene.Connect(t, clewotel.Instrument(scene.Options(t, model, &clew.Options{
				PermissionMode: clew.PermissionModeBypassPermissions, IncludePartialMessages: partial,
				MCPServers: map[string]clew.MCPServer{"own": tools.Server(look)},
			}), &clewotel.Options{TracerProvider: provider}))
			results := scene.Of[*wire.ResultMessage](scene.Ask(t, s, "Delegate"))
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			wantBelow(t, own, map[string]int{
				" > clew.session":                                        1,
				"clew.session > invoke_agent claude-code":                1,
				"invoke_agent claude-code > execute_tool Agent":          2,
				"invoke_agent claude-code > execute_tool mcp__own__look": 1,
				"execute_tool mcp__own__look > my work":                  1,
				"execute_tool Agent > invoke_agent general-purpose":      2,
				"invoke_agent general-purpose > execute_tool Bash":       2,
			})
			wantTokens(t, own, results[len(results)-1])
		})
	}
}

// subagent returns a call that starts a subagent.
func subagent(prompt, model string) wire.Block {
	return clewtest.ToolUse("Agent", map[string]any{
		"description": prompt, "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": false, "model": model,
	})
}

// delegate runs a turn of a traced session, and returns its spans and its result.
func delegate(t *testing.T, model *clewtest.Model, opts *clew.Options) (*tracetest.InMemoryExporter, *wire.ResultMessage) {
	t.Helper()
	own := tracetest.NewInMemoryExporter()
	opts.PermissionMode = clew.PermissionModeBypassPermissions
	s := scene.Connect(t, clewotel.Instrument(scene.Options(t, model, opts), &clewotel.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(own)),
	}))
	results := scene.Of[*wire.ResultMessage](scene.Ask(t, s, "Delegate"))
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return own, results[len(results)-1]
}

// With ForwardSubagentText, the calls of a subagent of a subagent are below it.
func TestRealNestingForwarded(t *testing.T) {
	t.Parallel()
	model := nested(t)
	spans, result := delegate(t, model, &clew.Options{ForwardSubagentText: true})
	wantBelow(t, spans, map[string]int{
		" > clew.session":                                   1,
		"clew.session > invoke_agent claude-code":           1,
		"invoke_agent claude-code > execute_tool Agent":     1,
		"execute_tool Agent > invoke_agent general-purpose": 2,
		"invoke_agent general-purpose > execute_tool Agent": 1,
		"invoke_agent general-purpose > execute_tool Bash":  1,
	})
	wantTokens(t, spans, result)
}

// nested returns a model for a subagent that starts another one, which runs a command.
func nested(t *testing.T) *clewtest.Model {
	t.Helper()
	model := clewtest.NewModel(t)
	model.On("Delegate").Reply(subagent("INNER one", "opus")).Usage(11, 31, 7, 3)
	model.On("INNER one").Reply(subagent("DEEP two", "opus")).Usage(13, 37, 5, 2)
	model.On("DEEP two").Reply(scene.Bash("echo second")).Usage(17, 41, 3, 1)
	model.OnToolResult("second").Reply(clewtest.Text("Two.")).Usage(19, 43, 2, 4)
	model.OnToolResult("Two.").Reply(clewtest.Text("One."))
	model.Reply("All done.")
	return model
}

// A subagent of a subagent is below the call that started it. Without ForwardSubagentText, the agent
// shows none of its answers and calls, but counts its tokens, and asks hooks about its calls.
func TestRealNesting(t *testing.T) {
	t.Parallel()
	model := nested(t)
	allow := func(context.Context, hook.Input) (*hook.Output, error) { return nil, nil }
	spans, result := delegate(t, model, &clew.Options{Hooks: map[hook.Event][]hook.Matcher{
		hook.PreToolUse: {{Matcher: "Bash", Hooks: []hook.Func{allow}}},
	}})
	wantBelow(t, spans, map[string]int{
		" > clew.session":                                   1,
		"clew.session > invoke_agent claude-code":           1,
		"invoke_agent claude-code > execute_tool Agent":     1,
		"execute_tool Agent > invoke_agent general-purpose": 2,
		"invoke_agent general-purpose > execute_tool Agent": 1,
	})
	wantTokens(t, spans, result)
	if stats := result.SubagentStats; stats == nil || stats.MaxDepth != 2 {
		t.Errorf("statistics %+v", stats)
	}
	var events []string
	for _, event := range spanNamed(t, spans, "invoke_agent claude-code").Events {
		events = append(events, event.Name)
	}
	if diff := cmp.Diff([]string{"clew.asked", "clew.answered"}, events); diff != "" {
		t.Errorf("events of the turn (-want +got):\n%s", diff)
	}
}

// The agent counts under the name of a model that it was given, which is not the name in its
// answers.
func TestRealModelNames(t *testing.T) {
	t.Parallel()
	const name = "claude-sonnet-4-5[1m]"
	model := clewtest.NewModel(t)
	model.On("Delegate").Reply(subagent("INNER one", "haiku")).Usage(11, 31, 7, 3)
	model.On("INNER one").Reply(scene.Bash("echo second")).Usage(13, 37, 5, 2)
	model.OnToolResult("second").Reply(clewtest.Text("Two.")).Usage(19, 43, 2, 4)
	model.Reply("All done.")
	spans, result := delegate(t, model, &clew.Options{Model: name})
	if _, ok := result.ModelUsage[name]; !ok || len(result.ModelUsage) != 2 {
		t.Errorf("accounts %v", result.ModelUsage)
	}
	wantTokens(t, spans, result)
}

// wantBelow checks the parents of the spans.
func wantBelow(t *testing.T, spans *tracetest.InMemoryExporter, want map[string]int) {
	t.Helper()
	names := make(map[string]string)
	for _, span := range spans.GetSpans() {
		names[span.SpanContext.SpanID().String()] = span.Name
	}
	got := make(map[string]int)
	for _, span := range spans.GetSpans() {
		if !isChat(&span) {
			got[names[span.Parent.SpanID().String()]+" > "+span.Name]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func isChat(span *tracetest.SpanStub) bool {
	return len(span.Name) >= 4 && span.Name[:4] == "chat"
}

// wantTokens compares the tokens of all spans with the accounts of the agent.
func wantTokens(t *testing.T, spans *tracetest.InMemoryExporter, last *wire.ResultMessage) {
	t.Helper()
	want, got := make(map[string]int64), make(map[string]int64)
	for _, u := range last.ModelUsage {
		want["gen_ai.usage.input_tokens"] += int64(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens)
		want["gen_ai.usage.cache_read.input_tokens"] += int64(u.CacheReadInputTokens)
		want["gen_ai.usage.cache_creation.input_tokens"] += int64(u.CacheCreationInputTokens)
		want["gen_ai.usage.output_tokens"] += int64(u.OutputTokens)
	}
	for _, span := range spans.GetSpans() {
		for _, attr := range span.Attributes {
			if _, ok := want[string(attr.Key)]; ok {
				got[string(attr.Key)] += attr.Value.AsInt64()
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tokens (-want +got):\n%s", diff)
	}
}
