package costs_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/usage"
	"github.com/clewdev/clew/wire"
)

// spelled returns a name for which the agent uses exactly that model. It replaces some names by
// newer models. The suffix allows long prompts.
func spelled(model string) string {
	switch model {
	case "claude-opus-4-0":
		model = "claude-opus-4"
	case "claude-opus-4-1":
		model = "claude-opus-4-1@20250805"
	}
	return model + "[1m]"
}

// A reportedUsage is the usage that the model reports.
type reportedUsage struct {
	name  string
	read  int
	speed string
	geo   string
}

// Each usage has tokens of all kinds, in different numbers, so that any changed price shows.
var usages = []reportedUsage{
	{"as ever", 4001, "standard", ""},
	{"fast", 4001, "fast", ""},
	{"long prompt in the US", 250_007, "standard", "us"},
}

func (u reportedUsage) script(rule *clewtest.Rule) {
	rule.Reply(clewtest.Text("Yes.")).Usage(1009, 2003, u.read, 8009).
		UsageMember("cache_creation", map[string]int{"ephemeral_5m_input_tokens": 5008, "ephemeral_1h_input_tokens": 3001}).
		UsageMember("server_tool_use", map[string]int{"web_search_requests": 7}).
		UsageMember("speed", u.speed).
		UsageMember("inference_geo", u.geo)
}

// since returns the one model that a turn has used.
func since(t *testing.T, r *wire.ResultMessage) wire.ModelUsage {
	t.Helper()
	if len(r.ModelUsageSinceLastResult) != 1 {
		t.Fatalf("a turn has used %v", r.ModelUsageSinceLastResult)
	}
	for _, u := range r.ModelUsageSinceLastResult {
		return u
	}
	panic("unreachable")
}

// amount returns the cost that the agent has computed, without floating-point noise.
func amount(t *testing.T, dollars float64) usage.Money {
	t.Helper()
	m, err := usage.ParseMoney(strconv.FormatFloat(dollars, 'f', -1, 64))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The agent knows each model of the table, and computes the same costs. A failure means that
// prices, or the rules for them, have changed.
func TestRealPrices(t *testing.T) {
	t.Parallel()
	model, prices := clewtest.NewModel(t), usage.DefaultPrices()
	s := scene.Connect(t, options(t, model))
	wantKnown(t, s, prices)
	type turn struct {
		what string
		cost usage.Money
	}
	var turns []turn
	for _, name := range slices.Sorted(maps.Keys(prices.Models)) {
		if name == "claude-3-opus" || name == "claude-3-haiku" { // which this version does not know
			continue
		}
		if _, err := s.SetModel(t.Context(), spelled(name)); err != nil {
			t.Fatal(err)
		}
		for _, u := range usages {
			prompt := fmt.Sprintf("Turn %d.", len(turns))
			u.script(model.On(prompt))
			used := since(t, ask(t, s, prompt))
			if used.CanonicalModel != name || used.CostBasis != "list" {
				t.Errorf("%s is %s to the agent, its price %s", name, used.CanonicalModel, used.CostBasis)
			}
			turns = append(turns, turn{name + ", " + u.name, amount(t, used.CostUSD)})
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := sole(t, model)
	if len(r.calls) != len(turns) {
		t.Fatalf("%d calls in %d turns", len(r.calls), len(turns))
	}
	for i, turn := range turns {
		if cost, ok := prices.Cost(&r.calls[i]); !ok || cost != turn.cost {
			t.Errorf("%s: %s (%v), and %s to the agent", turn.what, cost.Decimal(), ok, turn.cost.Decimal())
		}
	}
	wantAgreement(t, usage.Reconcile(r.calls, r.states, prices))
}

// wantKnown checks that the table has the models that the agent offers.
func wantKnown(t *testing.T, s *clew.Session, prices usage.Prices) {
	t.Helper()
	models, err := s.Models(t.Context())
	if err != nil || len(models) == 0 {
		t.Fatalf("models %v, error %v", models, err)
	}
	for _, m := range models {
		if _, ok := prices.Lookup(m.ResolvedModel); !ok {
			t.Errorf("the agent offers %s as %q, which has no price", m.ResolvedModel, m.Value)
		}
	}
}

func wantAgreement(t *testing.T, r usage.Reconciliation) {
	t.Helper()
	for _, m := range r.Models {
		if m.Reason != "" {
			t.Errorf("%s: %s: tokens %+v, cost %s", m.Computed.Model, m.Reason, m.Usage, m.Cost.Decimal())
		}
	}
	if r.Computed.String() != r.Agent.String() {
		t.Errorf("%s, and %s to the agent", r.Computed.Decimal(), r.Agent.Decimal())
	}
}

// Names that the agent and the table know mean the same model.
func TestRealModelNames(t *testing.T) {
	t.Parallel()
	model, prices := clewtest.NewModel(t).Reply("Yes."), usage.DefaultPrices()
	s := scene.Connect(t, options(t, model))
	for _, name := range []string{
		"claude-sonnet-4-5-20250929", "claude-3-7-sonnet-latest", "claude-opus-4-6-20260101", "CLAUDE-OPUS-5-5",
		"us.anthropic.claude-opus-4-5-20251101-v1:0", "eu.anthropic.claude-opus-4-6-v1", "anthropic.claude-opus-5-5",
		"global.anthropic.claude-sonnet-4-6", "us.anthropic.claude-3-5-sonnet-20241022-v2:0",
		"arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1",
		"claude-opus-4-5@20251101", "claude-opus-4-5@default", "claude-3-5-sonnet-v2@20241022", "claude-sonnet-4",
		"anthropic/claude-opus-4.6", "vertex_ai/claude-opus-4-6",
	} {
		if _, err := s.SetModel(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		used := since(t, ask(t, s, name))
		if _, ok := prices.Lookup(name); !ok || prices.Name(name) != used.CanonicalModel || used.CostBasis != "list" {
			t.Errorf("%s is %s, and %s to the agent", name, prices.Name(name), used.CanonicalModel)
		}
	}
}

// For an unknown model, the agent uses the price of its main model, and reports that. The table has
// no price.
func TestRealUnknownModel(t *testing.T) {
	t.Parallel()
	model, prices := clewtest.NewModel(t), usage.DefaultPrices()
	model.On("").Reply(clewtest.Text("Yes.")).Usage(1000, 0, 0, 0)
	s := scene.Connect(t, options(t, model))
	for _, name := range []string{"claude-opus-99", "claude-2.1", "gpt-5"} {
		if _, err := s.SetModel(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if used := since(t, ask(t, s, "Go")); used.CostBasis != "unknown" || used.CostUSD != 0.004 {
			t.Errorf("%s costs %v, its price %s", name, used.CostUSD, used.CostBasis)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	r := sole(t, model)
	got := usage.Reconcile(r.calls, r.states, prices)
	if !got.AgentGuessed || !got.UnknownCost || got.Computed != 0 || got.Agent != 12*usage.Dollar/1000 {
		t.Errorf("got %+v", got)
	}
	for _, m := range got.Models {
		if m.Reason != usage.ReasonUnknownPrice {
			t.Errorf("%s: %q", m.Computed.Model, m.Reason)
		}
	}
}
