package clewotel_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/wire"
)

// playRecording plays a recording to an instrumented session, and returns the result that has the
// accounts of the whole session.
func playRecording(t *testing.T, s *scene, recording string, o clewotel.Options) *wire.ResultMessage {
	t.Helper()
	scenario, prompts := replay(t, recording)
	opts := s.options(scenario, o)
	var last *wire.ResultMessage
	opts.Trace = &clew.Trace{Message: func(_ context.Context, msg clew.Message) {
		if m, ok := msg.(*wire.ResultMessage); ok {
			last = m
		}
	}}
	opts = clewotel.Instrument(opts, s.telemetry(o)) // it keeps the trace
	session := s.connect(opts)
	for range prompts {
		for range session.Turn(t.Context(), clew.Text("Go")) {
		}
		synctest.Wait()
	}
	s.close(session)
	if last == nil {
		t.Fatal("no result")
	}
	return last
}

// Each recorded dialogue has its tree of spans.
func TestTrees(t *testing.T) {
	for name, recording := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				playRecording(t, s, recording, clewotel.Options{})
				golden.Check(t, "trees/"+name, s.tree())
			})
		})
	}
}

// counts are tokens, as results and as spans have them.
type counts struct{ Input, CacheRead, CacheWrite, Output int64 }

func (s *scene) chatTokens() (sum counts) {
	for _, span := range s.spans.GetSpans() {
		for _, attr := range span.Attributes {
			if n := attr.Value; n.Type() == attribute.INT64 {
				switch attr.Key {
				case "gen_ai.usage.input_tokens":
					sum.Input += n.AsInt64()
				case "gen_ai.usage.cache_read.input_tokens":
					sum.CacheRead += n.AsInt64()
				case "gen_ai.usage.cache_creation.input_tokens":
					sum.CacheWrite += n.AsInt64()
				case "gen_ai.usage.output_tokens":
					sum.Output += n.AsInt64()
				}
			}
		}
	}
	return sum
}

// accounts returns the tokens of all models, as a result reports them.
func accounts(m *wire.ResultMessage) (sum counts) {
	for _, u := range m.ModelUsage {
		sum.Input += int64(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens)
		sum.CacheRead += int64(u.CacheReadInputTokens)
		sum.CacheWrite += int64(u.CacheCreationInputTokens)
		sum.Output += int64(u.OutputTokens)
	}
	return sum
}

// The tokens of all spans and of the metric equal the agent's report, to the token, and the cost
// equals the session's, up to the rounding of a sum.
func TestSumsEqualTheAccounts(t *testing.T) {
	for name, recording := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t)
				last := playRecording(t, s, recording, clewotel.Options{})
				want := accounts(last)
				if diff := cmp.Diff(want, s.chatTokens()); diff != "" {
					t.Errorf("tokens of spans (-want +got):\n%s%s", diff, s.tree())
				}
				var measured int64
				for _, sum := range s.metric("gen_ai.client.token.usage") {
					measured += int64(sum)
				}
				if measured != want.Input+want.Output {
					t.Errorf("%d tokens in the metric, want %d", measured, want.Input+want.Output)
				}
				cost := 0.0
				for _, span := range s.spans.GetSpans() {
					for _, attr := range span.Attributes {
						if attr.Key == "clew.cost_usd" {
							cost += attr.Value.AsFloat64()
						}
					}
				}
				if d := cost - last.TotalCostUSD; d > 1e-9 || d < -1e-9 {
					t.Errorf("the cost is %v, want %v", cost, last.TotalCostUSD)
				}
			})
		})
	}
}
