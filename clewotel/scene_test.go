package clewotel_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// A scene has providers in memory.
type scene struct {
	t      *testing.T
	spans  *tracetest.InMemoryExporter
	open   openSpans
	traces *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
	meters *sdkmetric.MeterProvider
}

// openSpans counts the spans that have not ended.
type openSpans struct{ n atomic.Int64 }

func (o *openSpans) OnStart(context.Context, sdktrace.ReadWriteSpan) { o.n.Add(1) }
func (o *openSpans) OnEnd(sdktrace.ReadOnlySpan)                     { o.n.Add(-1) }
func (o *openSpans) Shutdown(context.Context) error                  { return nil }
func (o *openSpans) ForceFlush(context.Context) error                { return nil }

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, spans: tracetest.NewInMemoryExporter(), reader: sdkmetric.NewManualReader()}
	s.traces = sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans), sdktrace.WithSpanProcessor(&s.open))
	s.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(s.reader))
	return s
}

// options returns options of an agent in memory that plays the scenario.
func (s *scene) options(scenario *clewtest.Scenario, o clewotel.Options) *clew.Options {
	s.t.Helper()
	agent := clewtest.NewAgent(s.t, scenario)
	return clewotel.Instrument(&clew.Options{
		Transport: clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) { return agent.Conn(), nil }),
		CanUseTool: func(context.Context, *permission.Request) (permission.Result, error) {
			return permission.Allow(), nil
		},
	}, s.telemetry(o))
}

// telemetry returns options with the providers of the scene.
func (s *scene) telemetry(o clewotel.Options) *clewotel.Options {
	o.TracerProvider, o.MeterProvider = s.traces, s.meters
	return &o
}

// connect opens a session. Its owner closes it.
func (s *scene) connect(opts *clew.Options) *clew.Session {
	s.t.Helper()
	session, err := clew.Connect(s.t.Context(), opts)
	if err != nil {
		s.t.Fatal(err)
	}
	return session
}

// close closes a session, after which no span may be open.
func (s *scene) close(session *clew.Session) {
	s.t.Helper()
	if err := session.Close(); err != nil {
		s.t.Error(err)
	}
	s.wantNoneOpen()
}

func (s *scene) wantNoneOpen() {
	s.t.Helper()
	if n := s.open.n.Load(); n != 0 {
		s.t.Errorf("%d spans are open", n)
	}
}

// A step is something that happens in a traced session.
type step func(ctx context.Context, trace *clew.Trace)

// frames returns the step in which the agent says something.
func frames(lines ...string) step {
	return func(ctx context.Context, trace *clew.Trace) {
		for _, line := range lines {
			trace.Message(ctx, wire.Decode([]byte(line)))
		}
	}
}

// prompt returns the step in which a prompt is sent.
func prompt(id string) step {
	return func(ctx context.Context, trace *clew.Trace) {
		msg := clew.Text("Go")
		msg.UUID = id
		trace.Prompt(ctx, msg)
	}
}

// settled returns the step in which a prompt is settled.
func settled(id string) step {
	return func(ctx context.Context, trace *clew.Trace) { trace.Settled(ctx, id, nil) }
}

// follow plays a traced session, without an agent, from the prompt "p" to its end.
func (s *scene) follow(o clewotel.Options, steps ...step) {
	s.t.Helper()
	ctx, opts := s.t.Context(), clewotel.Instrument(nil, s.telemetry(o))
	trace := opts.Trace.Start(ctx, opts)
	prompt("p")(ctx, trace)
	for _, step := range steps {
		step(ctx, trace)
	}
	trace.End(ctx, nil)
	s.wantNoneOpen()
}

// quiet are attributes that say nothing new in a tree.
var quiet = []attribute.Key{
	"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.conversation.id", "gen_ai.agent.name", "gen_ai.tool.name",
	"gen_ai.tool.type", "gen_ai.request.model", "gen_ai.response.model", "gen_ai.response.id", "gen_ai.tool.call.id",
	"gen_ai.agent.id", "clew.agent.version", "error.type",
}

// tree returns the spans as a tree, each with its attributes and events, in the order of their
// beginnings.
func (s *scene) tree() string {
	spans := s.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	var b strings.Builder
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		for _, span := range spans {
			if span.Parent.SpanID().String() != parent {
				continue
			}
			indent := strings.Repeat("  ", depth)
			fmt.Fprintf(&b, "%s%s%s%s\n", indent, span.Name, list(span.Attributes), failed(&span))
			for _, event := range span.Events {
				fmt.Fprintf(&b, "%s  ! %s%s\n", indent, event.Name, list(event.Attributes))
			}
			write(span.SpanContext.SpanID().String(), depth+1)
		}
	}
	write("0000000000000000", 0)
	return b.String()
}

func failed(span *tracetest.SpanStub) string {
	if span.Status.Code == codes.Error {
		return " FAILED: " + span.Status.Description
	}
	return ""
}

// list returns attributes that are not quiet, in the order of their names.
func list(attrs []attribute.KeyValue) string {
	var b strings.Builder
	slices.SortFunc(attrs, func(a, b attribute.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	for _, attr := range attrs {
		if !slices.Contains(quiet, attr.Key) {
			fmt.Fprintf(&b, " %s=%s", attr.Key, attr.Value.String())
		}
	}
	return b.String()
}

// metric returns the sum of a metric for each set of attributes.
func (s *scene) metric(name string) map[string]float64 {
	s.t.Helper()
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(context.Background(), &all); err != nil {
		s.t.Fatal(err)
	}
	sums := make(map[string]float64)
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name == name {
				addPoints(sums, m.Data)
			}
		}
	}
	return sums
}

func addPoints(sums map[string]float64, data metricdata.Aggregation) {
	key := func(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }
	switch d := data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			sums[key(p.Attributes)] += float64(p.Count)
		}
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			sums[key(p.Attributes)] += float64(p.Sum)
		}
	case metricdata.Sum[int64]:
		for _, p := range d.DataPoints {
			sums[key(p.Attributes)] += float64(p.Value)
		}
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			sums[key(p.Attributes)] += p.Value
		}
	case metricdata.Gauge[int64]:
		for _, p := range d.DataPoints {
			sums[key(p.Attributes)] += float64(p.Value)
		}
	}
}

// recordings returns the recorded dialogues by name.
func recordings(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../testdata/recorded/" + clewtest.AgentVersion + "/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	texts := make(map[string]string)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[strings.TrimSuffix(filepath.Base(file), ".txt")] = string(data)
	}
	return texts
}

// replay returns a scenario in which the agent repeats its messages in a recording, to a host that
// sends only prompts and answers, and how many prompts there are.
func replay(t *testing.T, recording string) (scenario *clewtest.Scenario, prompts int) {
	t.Helper()
	scenario = new(clewtest.Scenario)
	skipped := make(map[string]bool) // requests that the host does not send
	for line := range strings.Lines(recording) {
		text := strings.TrimSpace(line)
		if len(text) < 2 || text[0] == '#' {
			continue
		}
		frame := text[2:]
		var head struct {
			Type      string `json:"type"`
			RequestID string `json:"request_id"`
			Request   struct {
				Subtype string `json:"subtype"`
			} `json:"request"`
			Response struct {
				RequestID string `json:"request_id"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(frame), &head); err != nil {
			t.Fatalf("%v in %s", err, frame)
		}
		switch fromHost := text[0] == '>'; {
		case fromHost && head.Type == "user":
			scenario.Expect(`{"type":"user"}`)
			prompts++
		case fromHost && head.Type == "control_response":
			scenario.Expect(fmt.Sprintf(`{"type":"control_response","response":{"request_id":%q}}`, head.Response.RequestID))
		case fromHost && head.Request.Subtype == "initialize":
			scenario.Expect(fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"initialize"}}`, head.RequestID))
		case fromHost:
			skipped[head.RequestID] = true
		case !skipped[head.Response.RequestID]:
			scenario.Send(frame)
		}
	}
	return scenario, prompts
}
