package settings_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/settings"
)

// Input written by Claude Code can be read and written without loss.
func TestStatusLineRecorded(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"before_answer", "after_answer", "documented"} {
		data, err := os.ReadFile("testdata/statusline/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		s, err := settings.DecodeStatusLineInput(data)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestStatusLineMisfits(t *testing.T) {
	t.Parallel()
	const text = `{"session_id":7,"model":{"id":"m","display_name":["x"]},"cost":{"total_cost_usd":"12","total_lines_added":3},
		"context_window":{"used_percentage":true,"remaining_percentage":1e400},"effort":"high","prompt_cache":{"miss_causes":{"x":"y"},"warm":true},
		"rate_limits":[],"new":{"x":1},"exceeds_200k_tokens":null,"version":"2"}`
	got, err := settings.DecodeStatusLineInput([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := &settings.StatusLineInput{
		Model: settings.StatusModel{ID: "m"}, Cost: &settings.StatusCost{TotalLinesAdded: 3}, Version: "2",
		ContextWindow: &settings.StatusContextWindow{}, PromptCache: &settings.StatusPromptCache{Warm: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatusLineInvalid(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "null", "[]", `"x"`, "7", "{", `{"model":`, "{}{}", "\x00", strings.Repeat(`{"a":`, 20000)} {
		if s, err := settings.DecodeStatusLineInput([]byte(text)); err == nil {
			t.Errorf("%.20q: %+v", text, s)
		}
	}
	if s, err := settings.DecodeStatusLineInput([]byte(" {}")); err != nil || !cmp.Equal(s, &settings.StatusLineInput{}) {
		t.Error(s, err)
	}
}

func TestStatusLimitReset(t *testing.T) {
	t.Parallel()
	for seconds, want := range map[int64]time.Time{
		1794930522: time.Date(2026, 11, 17, 15, 48, 42, 0, time.UTC), 0: {}, -5: {}, 1 << 62: {},
	} {
		if got := (&settings.StatusLimit{ResetsAt: seconds}).Reset(); !got.Equal(want) {
			t.Errorf("%d: %v", seconds, got)
		}
	}
}

func FuzzStatusLine(f *testing.F) {
	f.Add([]byte(`{"cost":{"total_cost_usd":"12"},"model":{"id":7},"rate_limits":{"five_hour":{"resets_at":1.5}}}`))
	f.Add([]byte(`{"prompt_cache":{"miss_causes":{"a.b":"c"}},"Cost":[]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := settings.DecodeStatusLineInput(data)
		if (s == nil) != (err != nil) {
			t.Fatal(s, err)
		}
	})
}
