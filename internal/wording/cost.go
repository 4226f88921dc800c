package wording

import (
	"fmt"
	"math"
	"strings"

	"github.com/clewdev/clew/usage"
)

// A Cost is an amount of money, and how sure it is.
type Cost struct {
	Amount    usage.Money
	Partial   bool // calls without a known price are not in Amount
	Estimated bool // Amount is an estimate
}

// CostOf returns the cost of totals.
func CostOf(t *usage.Totals) Cost { return Cost{Amount: t.Cost, Partial: t.UnknownCost} }

// CostOfCalls returns the cost of calls.
func CostOfCalls(c usage.Costs) Cost { return Cost{Amount: c.Total, Partial: len(c.Unknown) > 0} }

// Dollars returns the cost of an amount that an agent or a record reports. It is unknown if that is
// negative or not a number, and at most a little more than nine million dollars.
func Dollars(usd float64) Cost {
	const most = 9e6 // fits into a usage.Money
	if !(usd >= 0) {
		return Cost{Partial: true}
	}
	return Cost{Amount: usage.Money(math.Round(min(usd, most) * float64(usage.Dollar)))}
}

// Long writes a cost for text, or beside a label: $1.23, about $1.23, at least $1.23, unknown.
func (c Cost) Long() string { return c.marked("at least ", "about ", "unknown", Money) }

// Known is Long, or "" if no amount is known, for lines that don't need a cost.
func (c Cost) Known() string {
	if c.Amount == 0 {
		return ""
	}
	return c.Long()
}

// Short writes a cost for columns and notes: $1.23, ~$1.23, ≥ $1.23, ?.
func (c Cost) Short() string { return c.marked("≥ ", "~", "?", Money) }

// Note is Short, or "" for a cost of nothing.
func (c Cost) Note() string {
	if c.Amount == 0 && !c.Partial {
		return ""
	}
	return c.Short()
}

// Cents is Short in whole cents, for session lists and status lines: $1.23, <$0.01.
func (c Cost) Cents() string { return c.marked("≥ ", "~", "?", cents) }

// Fixed is Short in hundredths of a cent, for columns of small amounts: $0.1230.
func (c Cost) Fixed() string { return c.marked("≥ ", "~", "?", hundredths) }

func (c Cost) marked(atLeast, about, unknown string, write func(usage.Money) string) string {
	if c.Partial && c.Amount == 0 {
		return unknown
	}
	text := write(c.Amount)
	small := strings.HasPrefix(text, "<")
	if c.Partial && small { // "at least less than" is nonsense
		text, small = write(0), false
	}
	if c.Estimated && !small {
		text = about + text
	}
	if c.Partial {
		text = atLeast + text
	}
	return text
}

// Money writes an amount in cents from a cent on, and in hundredths of a cent below it: $1,234.50,
// $0.11, $0.0012, <$0.0001, -$0.25.
func Money(m usage.Money) string {
	const cent = usage.Dollar / 100
	if m == 0 || m >= cent || m <= -cent {
		return cents(m)
	}
	return hundredths(m)
}

func cents(m usage.Money) string { return amount(m, 100, 2) }

func hundredths(m usage.Money) string { return amount(m, 10_000, 4) }

// amount writes an amount in so many parts of a dollar, which have this number of digits.
func amount(m usage.Money, parts uint64, digits int) string {
	unit := uint64(usage.Dollar) / parts
	sign, abs := "", uint64(m) //nolint:gosec // a negative amount is replaced
	if m < 0 {
		sign, abs = "-", -abs
	}
	n := (abs + unit/2) / unit
	if n == 0 && m != 0 {
		sign, n = sign+"<", 1
	}
	return fmt.Sprintf("%s$%s.%0*d", sign, Number(n/parts), digits, n%parts)
}
