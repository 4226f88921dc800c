package transcript

import (
	"encoding/json"
	"math"
	"testing"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	tests := []struct {
		m             Money
		text, decimal string
	}{
		{0, "$0.0000", "0"},
		{Dollar, "$1.0000", "1"},
		{Dollar * 12345 / 10000, "$1.2345", "1.2345"},
		{Dollar*28/10000 - 1, "$0.0028", "0.002799999999"},
		{Dollar / 20000, "$0.0001", "0.00005"},
		{1, "$0.0000", "0.000000000001"},
		{-Dollar * 14 / 10000, "-$0.0014", "-0.0014"},
		{math.MaxInt64, "$9223372.0369", "9223372.036854775807"},
		{math.MinInt64, "-$9223372.0369", "-9223372.036854775808"},
	}
	for _, tt := range tests {
		if tt.m.String() != tt.text || tt.m.Decimal() != tt.decimal {
			t.Errorf("%d is %s and %s, want %s and %s", int64(tt.m), tt.m, tt.m.Decimal(), tt.text, tt.decimal)
		}
		data, err := json.Marshal(tt.m)
		var back Money
		if err != nil || string(data) != tt.decimal || json.Unmarshal(data, &back) != nil || back != tt.m {
			t.Errorf("%d is %s as JSON, error %v, and %d again", int64(tt.m), data, err, int64(back))
		}
	}
}

func TestParseMoney(t *testing.T) {
	t.Parallel()
	tests := map[string]Money{
		"0": 0, "-0": 0, "1": Dollar, "$1.25": Dollar * 5 / 4, "1e-7": Dollar / 10_000_000, "2.5E3": 2500 * Dollar,
		"0.29340000000000016": 293_400_000_000, "0.8999999999999999": 900_000_000_000, // as the agent writes them
		"0.0000000000004": 0, "0.0000000000006": 1, "1e-999999999": 0, "-0.5": -Dollar / 2,
		"9223372.036854775807": maxMoney,
	}
	for text, want := range tests {
		if got, err := ParseMoney(text); err != nil || got != want {
			t.Errorf("%s is %d, error %v, want %d", text, int64(got), err, int64(want))
		}
	}
	for _, text := range []string{
		"", "$", "one", "NaN", "Inf", "-inf", "1e999999999", "9223373", "9223372.036854775808", "1/2", "1,5",
	} {
		if got, err := ParseMoney(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}

func TestMoneyJSON(t *testing.T) {
	t.Parallel()
	m := Dollar
	if err := json.Unmarshal([]byte("null"), &m); err != nil || m != Dollar {
		t.Errorf("null makes it %s, error %v", m, err)
	}
	for _, text := range []string{`"1"`, `true`, `{}`, `1e400`} {
		if err := json.Unmarshal([]byte(text), &m); err == nil || m != Dollar {
			t.Errorf("%s makes it %s, error %v", text, m, err)
		}
	}
}

func TestMoneyOf(t *testing.T) {
	t.Parallel()
	tests := map[float64]Money{
		0.1 + 0.2: Dollar * 3 / 10, 0.056400000000000006: 56_400_000_000, -0.5: -Dollar / 2,
		math.Inf(1): maxMoney, math.Inf(-1): -maxMoney, 1e300: maxMoney,
	}
	for f, want := range tests {
		if got := moneyOf(f); got != want {
			t.Errorf("%v is %d, want %d", f, int64(got), int64(want))
		}
	}
	if got := moneyOf(math.NaN()); got != 0 {
		t.Errorf("NaN is %s", got)
	}
}

func TestMoneyEndsAtTheLargestAmount(t *testing.T) {
	t.Parallel()
	if got := maxMoney.plus(1); got != maxMoney {
		t.Errorf("one more is %s", got)
	}
	if got := (-maxMoney).plus(-Dollar); got != -maxMoney {
		t.Errorf("one less is %s", got)
	}
	if got := maxMoney.times(math.MaxInt64, 1); got != maxMoney {
		t.Errorf("many times as much is %s", got)
	}
	if got := maxMoney.times(math.MaxInt64, math.MaxInt64); got != maxMoney {
		t.Errorf("as much is %s", got)
	}
	if got := Dollar.times(1, 3); got != 333_333_333_333 {
		t.Errorf("a third of a dollar is %d", int64(got))
	}
	if got := Dollar.times(2, 3); got != 666_666_666_667 {
		t.Errorf("two thirds of a dollar are %d", int64(got))
	}
	if Dollar.times(-1, 1) != 0 || (-Dollar).times(1, 1) != 0 {
		t.Error("less than nothing counts")
	}
}
