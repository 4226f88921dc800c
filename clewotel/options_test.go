package clewotel_test

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
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
// does not inherit that of another trace.
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
