package clewotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/clewdev/clew"
)

// instruments are the metrics. None of their attributes has a value for each session.
type instruments struct {
	chats, agents, tools      metric.Float64Histogram // durations
	inferenceCalls, toolCalls metric.Int64Histogram
	cost                      metric.Float64Counter

	latest bool // tokens are counted with the counters and not in the histogram

	tokens                               metric.Int64Histogram
	input, output, cacheRead, cacheWrite metric.Int64Counter
}

// Bounds of histograms, as the conventions recommend them.
var (
	chatSeconds  = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	agentSeconds = []float64{0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6}
	tokenCounts  = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	callCounts   = []float64{1, 2, 4, 8, 16, 32, 64, 128}
)

// A builder makes instruments. An error goes to OpenTelemetry's error handler, and the instrument
// then does nothing.
type builder struct{ metric.Meter }

func (b builder) seconds(name, description string, bounds []float64) metric.Float64Histogram {
	h, err := b.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	report(err)
	return h
}

func (b builder) counts(name, unit, description string, bounds []float64) metric.Int64Histogram {
	h, err := b.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(bounds...))
	report(err)
	return h
}

func (b builder) total(name, description string) metric.Int64Counter {
	c, err := b.Int64Counter(name, metric.WithUnit("{token}"), metric.WithDescription(description))
	report(err)
	return c
}

func report(err error) {
	if err != nil {
		otel.Handle(err)
	}
}

func newInstruments(provider metric.MeterProvider, latest bool) *instruments {
	b := builder{provider.Meter(scope)}
	in := &instruments{
		latest:         latest,
		chats:          b.seconds(metricChatDuration, "How long answers of models took.", chatSeconds),
		agents:         b.seconds(metricAgentDuration, "How long turns and subagents took.", agentSeconds),
		tools:          b.seconds(metricToolDuration, "How long calls of tools took.", agentSeconds),
		inferenceCalls: b.counts(metricInferenceCalls, "{inference_call}", "Answers of models in a turn or subagent.", callCounts),
		toolCalls:      b.counts(metricToolCalls, "{tool_call}", "Calls of tools in a turn or subagent.", callCounts),
	}
	var err error
	in.cost, err = b.Float64Counter(metricCost, metric.WithUnit("USD"),
		metric.WithDescription("What turns have cost, as the agent estimates it."))
	report(err)
	if latest {
		in.input = b.total(metricInput, "Input tokens, cached ones included.")
		in.output = b.total(metricOutput, "Output tokens.")
		in.cacheRead = b.total(metricCacheRead, "Input tokens that were read from the cache.")
		in.cacheWrite = b.total(metricCacheWrite, "Input tokens that were written to the cache.")
	} else {
		in.tokens = b.counts(metricTokens, "{token}", "Input and output tokens of an answer.", tokenCounts)
	}
	return in
}

// recordTokens counts the tokens of an answer of a model.
func (in *instruments) recordTokens(ctx context.Context, n tokens, provider, model string) {
	if in.latest && !in.input.Enabled(ctx) || !in.latest && !in.tokens.Enabled(ctx) {
		return
	}
	attrs := []attribute.KeyValue{keyOperation.String(opChat), keyProvider.String(provider), keyRequestModel.String(model)}
	if !in.latest {
		in.tokens.Record(ctx, int64(n.allInput()), metric.WithAttributes(append(attrs, keyTokenType.String("input"))...))
		in.tokens.Record(ctx, int64(n.output), metric.WithAttributes(append(attrs, keyTokenType.String("output"))...))
		return
	}
	set := metric.WithAttributes(append(attrs, keyTokenModality.String("unknown"))...)
	in.input.Add(ctx, int64(n.allInput()), set)
	in.output.Add(ctx, int64(n.output), set)
	in.cacheRead.Add(ctx, int64(n.cacheRead), set)
	in.cacheWrite.Add(ctx, int64(n.cacheWrite), set)
}

// recordDuration records how long something took, and how it failed unless that is empty. Its
// attributes take longer than everything else, so that callers ask first whether they are wanted.
func recordDuration(ctx context.Context, h metric.Float64Histogram, took time.Duration, failure string, attrs ...attribute.KeyValue) {
	if failure != "" {
		attrs = append(attrs, keyErrorType.String(failure))
	}
	h.Record(ctx, max(took, 0).Seconds(), metric.WithAttributes(attrs...))
}

// ObservePool adds gauges of a pool: clew.pool.agents, by state, and clew.pool.waiting, the callers
// that wait. provider may be nil, which means the global one. Unregister what it returns when the
// pool is closed. The name tells several pools apart, as the attribute clew.pool.name.
func ObservePool(pool *clew.Pool, name string, provider metric.MeterProvider) (metric.Registration, error) {
	if provider == nil {
		provider = otel.GetMeterProvider()
	}
	meter := provider.Meter(scope)
	agents, err := meter.Int64ObservableGauge(metricPoolAgents, metric.WithUnit("{agent}"),
		metric.WithDescription("Agents of a pool."))
	if err != nil {
		return nil, err
	}
	waiting, err := meter.Int64ObservableGauge(metricPoolWaiting, metric.WithUnit("{caller}"),
		metric.WithDescription("Callers that wait for an agent of a pool."))
	if err != nil {
		return nil, err
	}
	return meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		stats, pool := pool.Stats(), keyPoolName.String(name)
		for state, count := range map[string]int{
			"warm": stats.Warm, "starting": stats.Starting, "in_use": stats.InUse, "ending": stats.Ending,
		} {
			o.ObserveInt64(agents, int64(count), metric.WithAttributes(pool, keyPoolState.String(state)))
		}
		o.ObserveInt64(waiting, int64(stats.Waiting), metric.WithAttributes(pool))
		return nil
	}, agents, waiting)
}
