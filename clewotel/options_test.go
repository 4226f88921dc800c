package clewotel_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
	"github.com/clewdev/clew/wire"
)

// The variables of a cloud provider mean to us what they mean to the agent.
func TestProvider(t *testing.T) {
	t.Parallel()
	for want, variables := range map[string][]string{
		"anthropic":     {"", "CLAUDE_CODE_USE_BEDROCK=0", "CLAUDE_CODE_USE_BEDROCK=false", "CLAUDE_CODE_USE_VERTEX=", "CLAUDE_CODE_USE_VERTEX=off"},
		"aws.bedrock":   {"CLAUDE_CODE_USE_BEDROCK=1", "CLAUDE_CODE_USE_BEDROCK= True "},
		"gcp.vertex_ai": {"CLAUDE_CODE_USE_VERTEX=yes"},
	} {
		for _, variable := range variables {
			s := newScene(t)
			opts := clewotel.Instrument(&clew.Options{Env: []string{variable}, InheritEnv: []string{}}, s.telemetry(clewotel.Options{}))
			opts.Trace.Start(t.Context(), opts).End(t.Context(), nil)
			for _, attr := range s.find("clew.session").Attributes {
				if attr.Key == "gen_ai.provider.name" && attr.Value.AsString() != want {
					t.Errorf("%q is %s, want %s", variable, attr.Value.AsString(), want)
				}
			}
		}
	}
}

// The agent gets a TRACESTATE with its TRACEPARENT, an empty one if the trace has none, so that it
// does not inherit another trace's.
func TestTraceState(t *testing.T) {
	t.Parallel()
	state, err := trace.ParseTraceState("vendor=1")
	if err != nil {
		t.Fatal(err)
	}
	for want, state := range map[string]trace.TraceState{"TRACESTATE=": {}, "TRACESTATE=vendor=1": state} {
		ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state,
		}))
		s := newScene(t)
		opts := clewotel.Instrument(nil, s.telemetry(clewotel.Options{}))
		opts.Trace.Start(ctx, opts).End(ctx, nil)
		if !slices.Contains(opts.Env, want) {
			t.Errorf("no %q in %q", want, opts.Env)
		}
	}
}

// A trace of the caller that panics in all functions costs the spans nothing, and its panics are
// logged.
func TestTraceThatPanics(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	log := new(bytes.Buffer)
	opts := clewotel.Instrument(&clew.Options{
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		Trace: &clew.Trace{
			Start:   func(context.Context, *clew.Options) *clew.Trace { panic("no start") },
			Prompt:  func(context.Context, *clew.UserMessage) { panic("no prompt") },
			Message: func(context.Context, clew.Message) { panic("no message") },
			Settled: func(context.Context, string, error) { panic("not settled") },
			Asked:   func(context.Context, *clew.TraceRequest) context.Context { panic("not asked") },
			Answered: func(context.Context, *clew.TraceRequest, wire.JSON, error) {
				panic("not answered")
			},
			End: func(context.Context, error) { panic("no end") },
		},
	}, s.telemetry(clewotel.Options{}))
	ctx, traced := t.Context(), opts.Trace.Start(t.Context(), opts)
	for _, step := range []step{
		prompt("p"), frames(text("", "m1", "one")), question(clew.TraceRequest{Subtype: "elicitation"}),
		frames(result("p", 10, 10)), settled("p"),
	} {
		step(ctx, traced)
	}
	traced.End(ctx, nil)
	s.wantNoneOpen()
	if got, want := s.shape(), "clew.session\n  invoke_agent claude-code\n    ! clew.asked\n    ! clew.answered\n    chat m\n"; got != want {
		t.Errorf("spans (-want +got):\n%s", cmp.Diff(want, got))
	}
	for _, want := range []string{"no start", "no prompt", "no message", "not settled", "not asked", "not answered", "no end"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in the log:\n%s", want, log)
		}
	}
}
