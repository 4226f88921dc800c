package usage

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Each call of the recorded sessions had 100, 42, 300 and 20 tokens, and costs 0.0014 dollars.
func TestReconcileRecordings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name            string
		calls           int
		computed, agent string
		reason          Reason
	}{
		{"compact", 1, "0.0014", "0.0028", ReasonUnwritten}, // the summary
		{"control_requests", 1, "0.0014", "0.0014", ""},
		{"error_400", 0, "0", "0", ""},
		{"hello_partial", 1, "0.0014", "0.0014", ""},
		{"hook_pre_tool", 2, "0.0028", "0.0028", ""},
		{"interrupt", 1, "0.00058", "0", ReasonUncounted}, // the answer that was cut off
		{"mcp_in_process", 2, "0.0028", "0.0028", ""},
		{"structured_output", 1, "0.0014", "0.0014", ""},
		{"subagent_background", 5, "0.007", "0.007", ""},
		{"thinking", 1, "0.0014", "0.0014", ""},
		{"tool_allowed_edit", 3, "0.0042", "0.0042", ""},
		{"tool_bash", 2, "0.0028", "0.0028", ""},
		{"tool_denied", 2, "0.0028", "0.0028", ""},
		{"two_turns", 2, "0.0028", "0.0028", ""},
	}
	for _, tt := range tests {
		r := readRecording(t, tt.name)
		got := Reconcile(r.calls, r.states, DefaultPrices())
		computed, agent := usd(t, tt.computed), usd(t, tt.agent)
		if len(r.calls) != tt.calls || got.Computed != computed || got.Agent != agent || got.Difference != agent-computed {
			t.Errorf("%s: %d calls, %+v", tt.name, len(r.calls), got)
		}
		var reason Reason
		for _, m := range got.Models {
			reason = m.Reason
		}
		if reason != tt.reason || got.UnknownCost || got.AgentGuessed {
			t.Errorf("%s: reason %q of %+v", tt.name, reason, got)
		}
	}
}

func TestReconcileShowsDifference(t *testing.T) {
	t.Parallel()
	r := readRecording(t, "compact")
	one := Sum{InputTokens: 100, OutputTokens: 42, CacheReadTokens: 300, CacheCreationTokens: 20}
	want := Reconciliation{
		Models: []ModelReconciliation{{
			Computed: ModelCost{Model: "claude-opus-5-5", Calls: 1, Usage: one, Cost: usd(t, "0.0014")},
			Agent:    ModelState{one.plus(one, 1), usd(t, "0.0028")},
			Usage:    one, Cost: usd(t, "0.0014"), Reason: ReasonUnwritten,
		}},
		Computed: usd(t, "0.0014"), Agent: usd(t, "0.0028"), Difference: usd(t, "0.0014"),
	}
	if diff := cmp.Diff(want, Reconcile(r.calls, r.states, DefaultPrices())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// oneModelState returns an account of input and output tokens of one model, at the price of
// claude-opus-5-5.
func oneModelState(model string, input, output int) CostState {
	cost := 4*Dollar.perMillion(input) + 20*Dollar.perMillion(output)
	return CostState{TotalCost: cost, Models: map[string]ModelState{
		model: {Sum{InputTokens: input, OutputTokens: output}, cost},
	}}
}

func TestReconcileReasons(t *testing.T) {
	t.Parallel()
	call := func(model string, u Usage) []Call { return []Call{{Model: model, Usage: u}} }
	dear := oneModelState("claude-opus-5-5", 1000, 0)
	dear.Models["claude-opus-5-5"] = ModelState{Sum{InputTokens: 1000}, Dollar}
	tests := []struct {
		name   string
		calls  []Call
		state  CostState
		model  string
		reason Reason
	}{
		{
			"agree by another name", call("claude-opus-5-5-20260601", Usage{InputTokens: 1000}),
			oneModelState("claude-opus-5-5[1m]", 1000, 0), "claude-opus-5-5", "",
		},
		{"unwritten", nil, oneModelState("claude-opus-5-5", 1, 1), "claude-opus-5-5", ReasonUnwritten},
		{"uncounted", call("claude-opus-5-5", Usage{InputTokens: 1}), CostState{}, "claude-opus-5-5", ReasonUncounted},
		{
			"both", call("claude-opus-5-5", Usage{InputTokens: 1000}), oneModelState("claude-opus-5-5", 900, 10),
			"claude-opus-5-5", ReasonBoth,
		},
		{"price", call("claude-opus-5-5", Usage{InputTokens: 1000}), dear, "claude-opus-5-5", ReasonPrice},
		{
			"unknown price", call("new", Usage{InputTokens: 1000}),
			oneModelState("new[1m]", 1000, 0), "new", ReasonUnknownPrice,
		},
		{
			"parts and fetches are not compared", call("claude-opus-5-5", Usage{
				InputTokens: 1000, OutputTokens: 10, ThinkingTokens: 5, WebFetches: 1,
			}), oneModelState("claude-opus-5-5", 1000, 10), "claude-opus-5-5", "",
		},
	}
	for _, tt := range tests {
		got := Reconcile(tt.calls, []CostState{tt.state}, DefaultPrices()).Models
		if len(got) != 1 || got[0].Computed.Model != tt.model || got[0].Reason != tt.reason {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
}

func TestReconcileUnknownModel(t *testing.T) {
	t.Parallel()
	s := oneModelState("new", 1000, 0)
	s.HasUnknownModelCost = true
	got := Reconcile([]Call{{Model: "new", Usage: Usage{InputTokens: 1000}}}, []CostState{s}, DefaultPrices())
	if !got.UnknownCost || !got.AgentGuessed || got.Computed != 0 || got.Difference != got.Agent {
		t.Errorf("got %+v", got)
	}
}

// Accounts are sums of tokens here: of one account that continues, only what each adds counts.
func TestSumStates(t *testing.T) {
	t.Parallel()
	account := func(session string, start, seconds, tokens int) CostState {
		s := oneModelState("m", tokens, 0)
		s.SessionID, s.Duration = session, time.Duration(seconds)*time.Second
		if start > 0 {
			s.Start = time.Unix(int64(start), 0).UTC()
		}
		return s
	}
	tests := []struct {
		name   string
		states []CostState
		want   int
	}{
		{"none", nil, 0},
		{"one", []CostState{account("a", 1, 1, 10)}, 10},
		{"resumed", []CostState{account("a", 1, 1, 10), account("a", 1, 2, 15), account("a", 1, 3, 15)}, 15},
		{"other sessions", []CostState{account("a", 1, 1, 10), account("b", 2, 1, 7)}, 17},
		{"began anew", []CostState{account("a", 1, 5, 10), account("a", 9, 1, 3)}, 13},
		{"forked", []CostState{account("a", 1, 1, 10), account("b", 1, 2, 15)}, 15},
		{"forked, given first", []CostState{account("b", 1, 2, 15), account("a", 1, 1, 10)}, 15},
		{
			"forked, and both went on",
			[]CostState{account("a", 1, 1, 10), account("a", 1, 4, 40), account("b", 1, 2, 15), account("b", 1, 3, 18)},
			10 + 30 + 5 + 3,
		},
		{"a fork alone", []CostState{account("b", 1, 2, 15)}, 15},
		{
			"accounts that a fork has copied",
			[]CostState{
				account("a", 1, 1, 10), account("a", 1, 2, 15),
				account("b", 1, 1, 10), account("b", 1, 2, 15), account("b", 1, 3, 16),
			}, 16,
		},
		{"without a start", []CostState{account("a", 0, 1, 10), account("a", 0, 2, 12), account("b", 0, 2, 3)}, 15},
		{"less than before", []CostState{account("a", 1, 1, 10), account("a", 1, 2, 4)}, 14},
	}
	for _, tt := range tests {
		got := sumStates(tt.states)
		want := oneModelState("m", tt.want, 0)
		if got.Models["m"] != want.Models["m"] || got.TotalCost != want.TotalCost {
			t.Errorf("%s: %+v, want %+v", tt.name, got, want)
		}
	}
}

// A recording holds the costs of a recorded session, according to its transcripts.
type recording struct {
	calls  []Call
	states []CostState
}

func readRecording(t *testing.T, name string) recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "transcript", "testdata", "recorded", name, "subagents", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	var tally Tally
	for _, path := range append(paths, filepath.Join("..", "transcript", "testdata", "recorded", name, "transcript.jsonl")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			var d CallDecoder
			c, ok, err := d.Decode(bytes.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				tally.Add(c)
			}
			if d.EntryType() != "cost-state" {
				continue
			}
			s, err := DecodeCostState(line)
			if err != nil {
				t.Fatal(err)
			}
			r.states = append(r.states, s)
		}
	}
	r.calls = tally.Calls()
	return r
}

func TestCostStateOfRecording(t *testing.T) {
	t.Parallel()
	want := []CostState{{
		SessionID: "fe0b5e52-371c-42e2-8907-aa73e2762bd3",
		TotalCost: usd(t, "0.0042"),
		Models: map[string]ModelState{"claude-opus-5-5": {
			Usage: Sum{InputTokens: 300, OutputTokens: 126, CacheReadTokens: 900, CacheCreationTokens: 60},
			Cost:  usd(t, "0.0042"),
		}},
		Start:       time.Date(2026, 11, 15, 0, 44, 45, 539e6, time.UTC),
		Duration:    963 * time.Millisecond,
		APIDuration: 81 * time.Millisecond, APIDurationWithoutRetries: 76 * time.Millisecond,
		ToolDuration: 32 * time.Millisecond,
		LinesAdded:   4, LinesRemoved: 1,
	}}
	if diff := cmp.Diff(want, readRecording(t, "tool_allowed_edit").states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCostStateJSON(t *testing.T) {
	t.Parallel()
	want := readRecording(t, "tool_allowed_edit").states[0]
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got CostState
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as JSON (-want +got):\n%s", diff)
	}
}
