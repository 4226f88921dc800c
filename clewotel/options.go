package clewotel

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// Options configure what [Instrument] makes. The zero value means the defaults.
type Options struct {
	// TracerProvider makes the spans. Nil means the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the metrics. Nil means the global one.
	MeterProvider metric.MeterProvider
	// Content reports whether spans have texts. The default is that they have none.
	Content Content
	// MaxTextBytes is the length of the longest text of a span. Longer ones are cut. 0 means 4096.
	MaxTextBytes int
	// Semconv selects the names for tokens.
	Semconv Semconv
	// AgentExport makes the agent export its own spans, as children of the session's. Then there
	// are no chat, tool and subagent spans from here, so that nothing is there twice; the metrics
	// stay. The agent's exporter has the usual variables, such as OTEL_EXPORTER_OTLP_ENDPOINT, which
	// it has to inherit or get by [clew.Options.Env]. AgentExport sets CLAUDE_CODE_ENABLE_TELEMETRY,
	// CLAUDE_CODE_ENHANCED_TELEMETRY_BETA and OTEL_TRACES_EXPORTER unless they are set already.
	AgentExport bool
}

// Content selects the texts of a conversation that are in spans.
type Content int

// The texts of the conversation that spans may have.
const (
	// NoTexts leaves out all texts: prompts, answers, inputs and tool results.
	NoTexts Content = iota
	// Texts includes them, cut to [Options.MaxTextBytes], without what looks like a secret.
	Texts
)

// Instrument returns a copy of opts whose sessions are traced and measured. Both arguments may be
// nil. A [clew.Options.Trace] that is set in opts still gets all calls.
func Instrument(opts *clew.Options, o *Options) *clew.Options {
	var traced clew.Options
	if opts != nil {
		traced = *opts
	}
	t := newTelemetry(o)
	traced.Trace = both(traced.Trace, &clew.Trace{Start: t.start})
	return &traced
}

// telemetry is the state that all sessions of instrumented options share. It does not change.
type telemetry struct {
	Options
	tracer trace.Tracer // of sessions and turns
	inner  trace.Tracer // of everything within turns
	*instruments
}

func newTelemetry(o *Options) *telemetry {
	t := new(telemetry)
	if o != nil {
		t.Options = *o
	}
	if t.TracerProvider == nil {
		t.TracerProvider = otel.GetTracerProvider()
	}
	if t.MeterProvider == nil {
		t.MeterProvider = otel.GetMeterProvider()
	}
	t.MaxTextBytes = cmp.Or(t.MaxTextBytes, 4096)
	t.tracer = t.TracerProvider.Tracer(scope)
	t.inner = t.tracer
	if t.AgentExport {
		t.inner = noop.NewTracerProvider().Tracer(scope)
	}
	t.instruments = newInstruments(t.MeterProvider, t.Semconv.latest())
	return t
}

// start starts the trace of a session.
func (t *telemetry) start(ctx context.Context, opts *clew.Options) *clew.Trace {
	s := newSession(ctx, t, opts)
	if t.AgentExport {
		for _, variable := range []string{
			"CLAUDE_CODE_ENABLE_TELEMETRY=1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1", "OTEL_TRACES_EXPORTER=otlp",
		} {
			if name, _, _ := strings.Cut(variable, "="); variableOf(opts, name) == "" {
				opts.Env = append(opts.Env, variable)
			}
		}
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpan(ctx, s.span), carrier)
	if parent := carrier["traceparent"]; parent != "" { // an empty state hides that of this process
		opts.Env = append(opts.Env, "TRACEPARENT="+parent, "TRACESTATE="+carrier["tracestate"])
	}
	return &clew.Trace{
		Prompt: s.prompt, Message: s.message, Settled: s.settled, Asked: s.asked, Answered: s.answered, End: s.end,
	}
}

// variableOf returns the value that a variable has for the agent, or "".
func variableOf(opts *clew.Options, name string) string {
	same := func(other string) bool {
		return other == name || runtime.GOOS == "windows" && strings.EqualFold(other, name)
	}
	for _, entry := range slices.Backward(opts.Env) {
		if key, value, _ := strings.Cut(entry, "="); same(key) {
			return value
		}
	}
	if opts.InheritEnv == nil || slices.ContainsFunc(opts.InheritEnv, same) {
		return os.Getenv(name)
	}
	return ""
}

// isOn reports whether the agent takes a variable for set: "0" and "false" are not.
func isOn(opts *clew.Options, name string) bool {
	value := strings.ToLower(strings.TrimSpace(variableOf(opts, name)))
	return slices.Contains([]string{"1", "true", "yes", "on"}, value)
}

// providerOf returns who serves the models of the agent.
func providerOf(opts *clew.Options) string {
	switch {
	case isOn(opts, "CLAUDE_CODE_USE_BEDROCK"):
		return "aws.bedrock"
	case isOn(opts, "CLAUDE_CODE_USE_VERTEX"):
		return "gcp.vertex_ai"
	}
	return "anthropic"
}

// both returns a trace that calls two others, of which the first may be nil.
func both(first, second *clew.Trace) *clew.Trace {
	if first == nil {
		return second
	}
	return &clew.Trace{Start: func(ctx context.Context, opts *clew.Options) *clew.Trace {
		g := guard{opts.Logger}
		return g.join(g.started(ctx, first, opts), g.started(ctx, second, opts))
	}}
}

// A guard calls functions of two traces so that a panic in one costs the other nothing.
type guard struct{ log *slog.Logger } // nil logs nothing

// recover logs a panic in the way of package clew. It is deferred.
func (g guard) recover(name string) {
	if p := recover(); p != nil && g.log != nil {
		g.log.Error("clew: panic in Trace."+name+": "+redact.Mask(fmt.Sprint(p)), "stack", string(debug.Stack()))
	}
}

func (g guard) call(name string, f func()) {
	defer g.recover(name)
	f()
}

// started returns what a trace becomes with its start.
func (g guard) started(ctx context.Context, t *clew.Trace, opts *clew.Options) *clew.Trace {
	var own *clew.Trace
	if t.Start != nil {
		g.call("Start", func() { own = t.Start(ctx, opts) })
	}
	return cmp.Or(own, t)
}

// join returns a trace of one session that calls two others. Asked gives the context of the first to
// the second.
func (g guard) join(a, b *clew.Trace) *clew.Trace {
	traces := []*clew.Trace{a, b}
	return &clew.Trace{
		Prompt:  sequence(g, "Prompt", a.Prompt, b.Prompt),
		Message: sequence(g, "Message", a.Message, b.Message),
		Settled: func(ctx context.Context, id string, err error) {
			for _, t := range traces {
				if t.Settled != nil {
					g.call("Settled", func() { t.Settled(ctx, id, err) })
				}
			}
		},
		Asked: func(ctx context.Context, req *clew.TraceRequest) context.Context {
			return g.asked(g.asked(ctx, a, req), b, req)
		},
		Answered: func(ctx context.Context, req *clew.TraceRequest, answer wire.JSON, err error) {
			for _, t := range traces {
				if t.Answered != nil {
					g.call("Answered", func() { t.Answered(ctx, req, answer, err) })
				}
			}
		},
		End: sequence(g, "End", a.End, b.End),
	}
}

// asked returns the context that a trace gives to the callback of a request.
func (g guard) asked(ctx context.Context, t *clew.Trace, req *clew.TraceRequest) (within context.Context) {
	if t.Asked == nil {
		return ctx
	}
	within = ctx
	defer g.recover("Asked")
	within = cmp.Or(t.Asked(ctx, req), ctx)
	return within
}

// sequence returns a function that calls others, which may be nil.
func sequence[T any](g guard, name string, all ...func(context.Context, T)) func(context.Context, T) {
	return func(ctx context.Context, v T) {
		for _, f := range all {
			if f != nil {
				g.call(name, func() { f(ctx, v) })
			}
		}
	}
}
