package transcript

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func callsAt(clocks ...string) []Call {
	var calls []Call
	for _, clock := range clocks {
		calls = append(calls, Call{Model: "claude-opus-5-5", Time: clockAt(clock), Usage: Usage{InputTokens: 1000}})
	}
	return calls
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	type span struct {
		Start, End time.Time
		Gap        bool
		Calls      int
	}
	tests := []struct {
		name  string
		calls []Call
		want  []span
	}{
		{"none", nil, nil},
		{"one, from its full hour", callsAt("10:59:59"), []span{{clockAt("10:00:00"), clockAt("15:00:00"), false, 1}}},
		{"up to five hours after the start", callsAt("10:59:59", "14:00:00", "15:00:00"), []span{
			{clockAt("10:00:00"), clockAt("15:00:00"), false, 3},
		}},
		{"more than five hours after the start", callsAt("10:30:00", "14:00:00", "15:00:01"), []span{
			{clockAt("10:00:00"), clockAt("15:00:00"), false, 2}, {clockAt("15:00:00"), clockAt("20:00:00"), false, 1},
		}},
		{"five hours without a call are no gap", callsAt("10:30:00", "15:30:00"), []span{
			{clockAt("10:00:00"), clockAt("15:00:00"), false, 1}, {clockAt("15:00:00"), clockAt("20:00:00"), false, 1},
		}},
		{"a gap", callsAt("10:30:00", "11:10:00", "18:20:00"), []span{
			{clockAt("10:00:00"), clockAt("15:00:00"), false, 2},
			{clockAt("16:10:00"), clockAt("18:20:00"), true, 0},
			{clockAt("18:00:00"), clockAt("23:00:00"), false, 1},
		}},
		{"in any order", callsAt("18:20:00", "10:30:00", "11:10:00"), []span{
			{clockAt("10:00:00"), clockAt("15:00:00"), false, 2},
			{clockAt("16:10:00"), clockAt("18:20:00"), true, 0},
			{clockAt("18:00:00"), clockAt("23:00:00"), false, 1},
		}},
		{"without a time", []Call{{Model: "claude-opus-5-5"}}, nil},
	}
	for _, tt := range tests {
		var got []span
		for _, b := range Blocks(tt.calls, nil) {
			got = append(got, span{b.Start, b.End, b.Gap, b.Calls})
			if b.Active || b.Projection != nil {
				t.Errorf("%s: a block is active at no time", tt.name)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// The hours are those of UTC, also where those of the place begin elsewhere.
func TestBlocksBeginAtHoursOfUTC(t *testing.T) {
	t.Parallel()
	calls := callsAt("10:10:00")
	calls[0].Time = calls[0].Time.In(time.FixedZone("half", 30*60))
	if got := Blocks(calls, nil)[0].Start; !got.Equal(clockAt("10:00:00")) {
		t.Errorf("it begins at %v", got)
	}
}

func TestBlockActive(t *testing.T) {
	t.Parallel()
	calls := callsAt("10:30:00", "11:30:00")
	calls = append(calls, Call{Model: "unknown", Time: clockAt("11:30:00"), Usage: Usage{InputTokens: 1000}})
	tests := map[string]bool{"11:30:00": true, "14:59:59": true, "15:00:00": false, "20:00:00": false}
	for clock, active := range tests {
		b := Blocks(calls, &BlockOptions{Now: clockAt(clock)})[0]
		if b.Active != active || (b.Projection != nil) != active {
			t.Errorf("at %s: active %v, projection %v", clock, b.Active, b.Projection)
		}
	}
	// Two calls with a price and three thousand tokens in an hour, and two hours and a half are left.
	got := Blocks(calls, &BlockOptions{Now: clockAt("12:30:00")})[0]
	want := Block{
		Active: true, First: clockAt("10:30:00"), Last: clockAt("11:30:00"),
		Burn:       &Burn{TokensPerMinute: 50, CostPerHour: Dollar * 8 / 1000},
		Projection: &Projection{Remaining: 150 * time.Minute, Tokens: 3000 + 7500, Cost: Dollar * 28 / 1000},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Block{}, "Totals", "Start", "End")); diff != "" {
		t.Errorf("block (-want +got):\n%s", diff)
	}
	if !got.UnknownCost || got.Cost != Dollar*8/1000 {
		t.Errorf("it costs %s, unknown %v", got.Cost, got.UnknownCost)
	}
}

// A block that has not begun is not active, so that at most one is.
func TestBlockBeforeItsStart(t *testing.T) {
	t.Parallel()
	active := 0
	for _, b := range Blocks(callsAt("04:30:00", "10:30:00", "18:30:00"), &BlockOptions{Now: clockAt("04:40:00")}) {
		if b.Active {
			active++
		}
	}
	if active != 1 {
		t.Errorf("%d blocks are active", active)
	}
}

// Absurd counts in no time come to no absurd sums.
func TestBlockWithoutEndOfTokens(t *testing.T) {
	t.Parallel()
	calls := callsAt("10:30:00", "10:30:00")
	calls[1].Time = calls[1].Time.Add(1)
	for i := range calls {
		calls[i].Usage = Usage{InputTokens: math.MaxInt64 / 4}
	}
	b := Blocks(calls, &BlockOptions{Now: clockAt("10:31:00")})[0]
	if p := b.Projection; p == nil || p.Tokens != math.MaxInt || p.Cost != maxMoney || b.Burn.CostPerHour != maxMoney {
		t.Errorf("got %+v, %+v", b.Burn, p)
	}
}

func TestBlockWithOneTimeHasNoSpeed(t *testing.T) {
	t.Parallel()
	b := Blocks(callsAt("10:30:00", "10:30:00"), &BlockOptions{Now: clockAt("10:40:00")})[0]
	if !b.Active || b.Burn != nil || b.Projection != nil {
		t.Errorf("got %+v", b)
	}
}

// Blocks hold all calls that have a time, don't overlap, and gaps lie between them.
func TestBlocksAddUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		calls := randomCalls(rand.New(rand.NewPCG(seed, 2)))
		var timed []Call
		for _, c := range calls {
			if !c.Time.IsZero() {
				timed = append(timed, c)
			}
		}
		var sum Totals
		var last Block
		for _, b := range Blocks(calls, nil) {
			if !last.Gap && b.Start.Before(last.End) && !b.Gap || b.First.Before(last.Last) && !b.Gap {
				t.Errorf("seed %d: %v follows %v", seed, b.Start, last.Start)
			}
			sum.Calls, sum.Cost, sum.Usage = sum.Calls+b.Calls, sum.Cost+b.Cost, sum.Usage.plus(b.Usage, 1)
			last = b
		}
		want := NewReport(timed, nil).Total
		if sum.Calls != want.Calls || sum.Cost != want.Cost || sum.Usage != want.Usage {
			t.Errorf("seed %d: %+v, want %+v", seed, sum, want)
		}
	}
}
