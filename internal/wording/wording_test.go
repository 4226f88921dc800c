package wording

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clewdev/clew/usage"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		-123456: "-123,456", -1234: "-1,234", -123: "-123", 0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 2147483648: "2,147,483,648",
	} {
		if got := Number(n); got != want {
			t.Errorf("Number(%d) = %s, want %s", n, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 turns", 1: "1 turn", 2: "2 turns", 1200: "1,200 turns"} {
		if got := Count(n, "turn"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestRounded(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "0", 7: "7", 950: "950", 999: "999", 1000: "1k", 1234: "1.2k", 21400: "21.4k", 99949: "99.9k", 99960: "100k", 155000: "155k",
		999400: "999k", 999600: "1M", 1_240_000: "1.2M", 31_000_000: "31M", 2_000_000_000: "2G", 5_000_000_000_000_000: "5000T",
	} {
		if got := Rounded(n); got != want {
			t.Errorf("Rounded(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	for percent, want := range map[float64]string{0: "0 %", 0.1: "<1 %", 0.5: "<1 %", 0.7: "1 %", 99.4: "99 %", 100: "100 %", 1234: "1234 %"} {
		if got := Percent(percent); got != want {
			t.Errorf("Percent(%v) = %q, want %q", percent, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 tokens", 1: "1 token", 950: "950 tokens", 21400: "21.4k tokens"} {
		if got := Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 9_949: "9.9 kB", 9_951: "10 kB", 999_499: "999 kB",
		999_500: "1.0 MB", 2_147_483_648: "2.1 GB", 5e15: "5000 TB",
	} {
		if got := Size(size); got != want {
			t.Errorf("Size(%d) = %q, want %q", size, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0.0 s", -time.Hour: "0.0 s", 420 * time.Millisecond: "0.4 s", 9960 * time.Millisecond: "10 s", 48 * time.Second: "48 s",
		59600 * time.Millisecond: "1 min", 90 * time.Second: "2 min", 59*time.Minute + 40*time.Second: "1 h",
		3*time.Hour + 5*time.Minute: "3 h 5 min", 24 * time.Hour: "1 d", 52 * time.Hour: "2 d 4 h",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestMilliseconds(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64]string{0: "0.0 s", 420: "0.4 s", 3 * 60 * 60 * 1000: "3 h", math.MaxInt64: "106752 d", math.MinInt64: "0.0 s"} {
		if got := Milliseconds(ms); got != want {
			t.Errorf("Milliseconds(%d) = %q, want %q", ms, got, want)
		}
	}
}

func TestShortDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", -time.Hour: "0s", 4 * time.Second: "4s", 48 * time.Second: "48s", 59600 * time.Millisecond: "1m", 48 * time.Minute: "48m",
		2 * time.Hour: "2h", 2*time.Hour + 14*time.Minute: "2h14m", 23*time.Hour + 59*time.Minute: "23h59m", 76 * time.Hour: "3d4h", 48 * time.Hour: "2d",
		1000 * 24 * time.Hour: ">999d", math.MaxInt64: ">999d",
	} {
		if got := ShortDuration(d); got != want {
			t.Errorf("ShortDuration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{-time.Second: "0 s", 0: "0 s", 999 * time.Millisecond: "0 s", 73 * time.Second: "73 s"} {
		if got := Seconds(d); got != want {
			t.Errorf("Seconds(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.FixedZone("", 3600))
	for age, want := range map[time.Duration]string{
		-time.Hour: "now", 59 * time.Second: "now", time.Minute: "1m ago", 59 * time.Minute: "59m ago", 2 * time.Hour: "2h ago",
		23*time.Hour + 59*time.Minute: "23h ago", 24 * time.Hour: "1d ago", 6 * 24 * time.Hour: "6d ago",
		7 * 24 * time.Hour: "10 Nov", 400 * 24 * time.Hour: "2025-10-13",
	} {
		if got := Age(now.Add(-age), now); got != want {
			t.Errorf("%v: %q, want %q", age, got, want)
		}
	}
}

func TestClock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 17, 12, 0, 0, 0, time.FixedZone("", 3600))
	for want, at := range map[string]time.Time{
		"00:00": time.Date(2026, 11, 16, 23, 0, 0, 0, time.UTC), "23:59": time.Date(2026, 11, 17, 22, 59, 0, 0, time.UTC),
		"2026-11-16 23:59": time.Date(2026, 11, 16, 22, 59, 0, 0, time.UTC), "2025-11-17 12:00": now.AddDate(-1, 0, 0),
	} {
		if got := Clock(at, now); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 7, 23, 30, 0, 0, time.FixedZone("", 3600))
	for want, to := range map[string]time.Time{
		"7 November 2026, 23:30": from.Add(59 * time.Second), "7 November 2026, 23:30–23:59": from.Add(29 * time.Minute).UTC(),
		"7 November 2026, 23:30 – 8 November 2026, 00:30": from.Add(time.Hour).UTC(),
	} {
		if got := Span(from, to); got != want {
			t.Errorf("to %v: %q, want %q", to, got, want)
		}
	}
	if got := Span(from, time.Time{}); got != "7 November 2026, 23:30" {
		t.Errorf("without an end: %q", got)
	}
	if got := Span(time.Time{}, from); got != "" {
		t.Errorf("without a beginning: %q", got)
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	const cent = usage.Dollar / 100
	for _, tt := range []struct {
		cost                                   Cost
		long, known, short, note, cents, fixed string
	}{
		{Cost{}, "$0.00", "", "$0.00", "", "$0.00", "$0.0000"},
		{Cost{Amount: 123 * cent}, "$1.23", "$1.23", "$1.23", "$1.23", "$1.23", "$1.2300"},
		{Cost{Amount: cent / 4}, "$0.0025", "$0.0025", "$0.0025", "$0.0025", "<$0.01", "$0.0025"},
		{Cost{Amount: 1}, "<$0.0001", "<$0.0001", "<$0.0001", "<$0.0001", "<$0.01", "<$0.0001"},
		{Cost{Partial: true}, "unknown", "", "?", "?", "?", "?"},
		{Cost{Amount: 123 * cent, Partial: true}, "at least $1.23", "at least $1.23", "≥ $1.23", "≥ $1.23", "≥ $1.23", "≥ $1.2300"},
		{Cost{Amount: cent / 4, Partial: true}, "at least $0.0025", "at least $0.0025", "≥ $0.0025", "≥ $0.0025", "≥ $0.00", "≥ $0.0025"},
		{Cost{Amount: cent / 4, Estimated: true}, "about $0.0025", "about $0.0025", "~$0.0025", "~$0.0025", "<$0.01", "~$0.0025"},
		{Cost{Estimated: true}, "about $0.00", "", "~$0.00", "", "~$0.00", "~$0.0000"},
		{Cost{Amount: 123 * cent, Estimated: true}, "about $1.23", "about $1.23", "~$1.23", "~$1.23", "~$1.23", "~$1.2300"},
		{Cost{Partial: true, Estimated: true}, "unknown", "", "?", "?", "?", "?"},
		{Cost{Amount: 123 * cent, Partial: true, Estimated: true}, "at least about $1.23", "at least about $1.23", "≥ ~$1.23", "≥ ~$1.23", "≥ ~$1.23", "≥ ~$1.2300"},
	} {
		c := tt.cost
		got := []string{c.Long(), c.Known(), c.Short(), c.Note(), c.Cents(), c.Fixed()}
		want := []string{tt.long, tt.known, tt.short, tt.note, tt.cents, tt.fixed}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: got %q, want %q", c, got, want)
		}
	}
}

func TestDollars(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]string{
		0: "$0.00", 0.001: "$0.0010", 0.006: "$0.0060", 12.345: "$12.35", 1e300: "$9,000,000.00", math.Inf(1): "$9,000,000.00",
		-1: "unknown", math.Inf(-1): "unknown",
	} {
		if got := Dollars(usd).Long(); got != want {
			t.Errorf("%g: got %s, want %s", usd, got, want)
		}
	}
	if got := Dollars(math.NaN()).Long(); got != "unknown" {
		t.Errorf("NaN: got %s", got)
	}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	const cent = usage.Dollar / 100
	for want, m := range map[string]usage.Money{
		"$0.00": 0, "<$0.0001": 1, "$0.0001": cent / 200, "$0.0012": cent * 12 / 100, "$0.01": cent, "$0.11": cent * 1096 / 100, "$0.12": cent * 115 / 10, "$1.00": cent * 996 / 10,
		"$999.99": 99999 * cent, "$1,234.50": 123450 * cent, "$1,000,000.00": 1_000_000 * usage.Dollar, "-$1.23": -12345 * cent / 100,
		"-$0.0025": -cent / 4, "-<$0.0001": -1, "$9,223,372.04": math.MaxInt64, "-$9,223,372.04": math.MinInt64,
	} {
		if got := Money(m); got != want {
			t.Errorf("%d: got %s, want %s", m, got, want)
		}
	}
}

// The sum of calls and of totals is written alike.
func TestCostOf(t *testing.T) {
	t.Parallel()
	totals := usage.Totals{Cost: usage.Dollar, UnknownCost: true}
	costs := usage.Costs{Total: usage.Dollar, Unknown: []usage.ModelCost{{Model: "new"}}}
	for _, c := range []Cost{CostOf(&totals), CostOfCalls(costs)} {
		if got := c.Short(); got != "≥ $1.00" {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
