package transcript

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A recording is what the transcripts of a recorded session tell of its costs.
type recording struct {
	calls  []Call
	states []CostState
}

func readRecording(t *testing.T, name string) recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "recorded", name, "subagents", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	var tally Tally
	for _, path := range append(paths, filepath.Join("testdata", "recorded", name, "transcript.jsonl")) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			e, err := DecodeEntry(bytes.TrimSpace(line))
			if err != nil {
				t.Fatal(err)
			}
			if c, ok := CallOf(&e); ok {
				tally.Add(c)
			}
			if s, ok := CostStateOf(&e); ok {
				r.states = append(r.states, s)
			}
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
			Usage: UsageSum{InputTokens: 300, OutputTokens: 126, CacheReadTokens: 900, CacheCreationTokens: 60},
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

func TestCostState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       CostState
		ok         bool
	}{
		{"another type", `{"type":"user","totalCostUSD":1}`, CostState{}, false},
		{"cost that is no number", `{"type":"cost-state","totalCostUSD":"1"}`, CostState{}, false},
		{"tokens that are no numbers", `{"type":"cost-state","modelUsage":{"m":{"inputTokens":{}}}}`, CostState{}, false},
		{"empty", `{"type":"cost-state"}`, CostState{Models: map[string]ModelState{}}, true},
		{
			"all counts", `{"type":"cost-state","modelUsage":{"m":{"inputTokens":1,"outputTokens":2,"thinkingTokens":3,
			"cacheReadInputTokens":4,"cacheCreationInputTokens":5,"cacheCreationEphemeral5mInputTokens":6,
			"cacheCreationEphemeral1hInputTokens":7,"webSearchRequests":8,"costUSD":1e-7}},"hasUnknownModelCost":true}`,
			CostState{
				Models:              map[string]ModelState{"m": {UsageSum{1, 2, 4, 5, 6, 7, 3, 8, 0}, Dollar / 10_000_000}},
				HasUnknownModelCost: true,
			}, true,
		},
		{
			"fractions of milliseconds", `{"type":"cost-state","totalDuration":1.5,"totalCostUSD":0.30000000000000004}`,
			CostState{TotalCost: Dollar * 3 / 10, Models: map[string]ModelState{}, Duration: 1500 * time.Microsecond}, true,
		},
		{
			"times that cannot be", `{"type":"cost-state","totalDuration":-1,"totalToolDuration":1e300,"startTime":1e300}`,
			CostState{Models: map[string]ModelState{}}, true,
		},
	}
	for _, tt := range tests {
		e, err := DecodeEntry([]byte(tt.line))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := CostStateOf(&e)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, ok, diff)
		}
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
