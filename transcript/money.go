package transcript

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Money is an amount of US dollars, in units of 10⁻¹² dollars: the price of a token is a whole number of them, so
// sums are exact, whatever their order. The largest amount is a little more than nine million dollars, and sums end
// there. As JSON it is a decimal number of dollars.
type Money int64

// Dollar is one dollar.
const Dollar Money = 1_000_000_000_000

const maxMoney Money = math.MaxInt64

// ParseMoney reads a number of dollars, such as "1.25", "$0.0028" or "1e-7". What is finer than a unit is rounded.
func ParseMoney(text string) (Money, error) {
	digits := strings.TrimPrefix(text, "$")
	about, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.Abs(about) > maxMoney.Dollars() || math.IsNaN(about) {
		return 0, fmt.Errorf("transcript: %.40q is not an amount of dollars up to %d", text, maxMoney/Dollar)
	}
	if math.Abs(about) < 1e-13 { // also keeps exponents away that would make huge numbers
		return 0, nil
	}
	exact, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, fmt.Errorf("transcript: %.40q is not an amount of dollars", text)
	}
	exact.Mul(exact, new(big.Rat).SetInt64(int64(Dollar)))
	whole, ok := new(big.Int).SetString(exact.FloatString(0), 10)
	if !ok || !whole.IsInt64() {
		return 0, fmt.Errorf("transcript: %.40q is not an amount of dollars up to %d", text, maxMoney/Dollar)
	}
	return Money(whole.Int64()), nil
}

// moneyOf returns an amount that somebody has computed with floating point numbers. Anything else than an amount is 0.
func moneyOf(dollars float64) Money {
	units := math.Round(dollars * float64(Dollar))
	switch {
	case math.IsNaN(units):
		return 0
	case math.Abs(units) >= float64(maxMoney):
		return Money(math.Copysign(1, units)) * maxMoney
	}
	return Money(units)
}

// Dollars returns the amount as a number, which may be rounded.
func (m Money) Dollars() float64 { return float64(m) / float64(Dollar) }

// String returns the amount for people, rounded to a hundredth of a cent: $1.2345.
func (m Money) String() string {
	const unit = Dollar / 10_000
	sign, abs := m.split()
	parts := (abs + uint64(unit)/2) / uint64(unit)
	return fmt.Sprintf("%s$%d.%04d", sign, parts/10_000, parts%10_000)
}

// Decimal returns the exact amount, without needless zeros: 0.0028.
func (m Money) Decimal() string {
	sign, abs := m.split()
	whole, rest := abs/uint64(Dollar), abs%uint64(Dollar)
	if rest == 0 {
		return fmt.Sprintf("%s%d", sign, whole)
	}
	return fmt.Sprintf("%s%d.%s", sign, whole, strings.TrimRight(fmt.Sprintf("%012d", rest), "0"))
}

// split returns the sign and the absolute value.
func (m Money) split() (sign string, abs uint64) {
	if m < 0 {
		return "-", -uint64(m) // right for the least amount, too
	}
	return "", uint64(m)
}

// MarshalJSON writes the exact amount as a number.
func (m Money) MarshalJSON() ([]byte, error) { return []byte(m.Decimal()), nil }

// UnmarshalJSON reads a number, see [ParseMoney].
func (m *Money) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	v, err := ParseMoney(string(data))
	if err == nil {
		*m = v
	}
	return err
}

// plus adds, and ends at the largest amount.
func (m Money) plus(o Money) Money {
	switch sum := m + o; {
	case m > 0 && o > 0 && sum < 0:
		return maxMoney
	case m < 0 && o < 0 && sum >= 0:
		return -maxMoney
	default:
		return sum
	}
}

// perMillion returns what n tokens cost at the price of a million.
func (m Money) perMillion(n int) Money { return m.times(int64(n), 1_000_000) }

// times returns n/d of the amount, rounded, or the largest amount. Less than nothing counts as nothing.
func (m Money) times(n, d int64) Money {
	if m <= 0 || n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(m), uint64(n))
	lo, carry := bits.Add64(lo, uint64(d)/2, 0)
	hi += carry
	if hi >= uint64(d) {
		return maxMoney
	}
	q, _ := bits.Div64(hi, lo, uint64(d))
	return Money(min(q, uint64(maxMoney)))
}
