package agents_test

import (
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/agents"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// TestLookPrices looks at an attempt whose agent did not report its cost.
func TestLookPrices(t *testing.T) {
	t.Parallel()
	store := new(sessions.Memory)
	key := wire.SessionKey{Project: agents.Project, SessionID: "3e0f2b8e-3f5c-4b3e-8a33-7f8f4c4e9a01"}
	if err := store.Append(t.Context(), key, []wire.JSON{
		wire.JSON(`{"type":"user","uuid":"p1","message":{"role":"user","content":"Work."}}`),
		wire.JSON(`{"type":"assistant","uuid":"a1","requestId":"r1","message":{"id":"m1","role":"assistant","model":"claude-opus-5-5",` +
			`"content":[{"type":"text","text":"Done."}],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":0}}}`),
	}); err != nil {
		t.Fatal(err)
	}
	job := &fleet.Job{Attempts: []fleet.Attempt{{Session: key.SessionID, Prompt: "p1"}}}
	own := usage.DefaultPrices().With(map[string]usage.Price{"claude-opus-5-5": {Rates: usage.Rates{Input: 3 * usage.Dollar}}})
	for _, tt := range []struct {
		prices *usage.Prices
		want   float64
	}{{nil, 0.004}, {&own, 0.003}} {
		r, err := agents.New(t.Context(), &agents.Options{Dir: t.TempDir(), Store: store, Prices: tt.prices})
		if err != nil {
			t.Fatal(err)
		}
		traces, err := r.Look(t.Context(), job)
		if err != nil || !traces.Stored || traces.CostUSD != tt.want {
			t.Errorf("%+v, %v, want a cost of %v", traces, err, tt.want)
		}
	}
}
