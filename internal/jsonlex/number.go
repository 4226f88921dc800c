package jsonlex

import (
	"math"
	"strconv"
)

// Int consumes a number that is an integer and fits into 64 bits. It may be
// written with a point or an exponent, like 3.0, if a float64 holds it exactly.
func (l *Lexer) Int() int64 {
	text := l.number()
	if len(text) == 0 {
		return 0
	}
	if n, ok := smallInt(text); ok {
		return n
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		if f, err := strconv.ParseFloat(string(text), 64); err == nil && f == float64(int64(f)) && math.Abs(f) <= 1<<53 {
			return int64(f)
		}
		l.Fail(OutOfRange, l.pos-len(text), "number "+abridge(text)+" is not an integer of 64 bits")
		return 0
	}
	return n
}

// smallInt parses an integer of at most 18 digits.
func smallInt(text []byte) (int64, bool) {
	digits := text
	if text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if len(digits) < len(text) {
		n = -n
	}
	return n, true
}

// Float consumes a number that fits into a float64.
func (l *Lexer) Float() float64 {
	text := l.number()
	if len(text) == 0 {
		return 0
	}
	if n, ok := smallInt(text); ok && n != 0 && -1<<53 <= n && n <= 1<<53 {
		return float64(n)
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		l.Fail(OutOfRange, l.pos-len(text), "number "+abridge(text)+" is too large")
		return 0
	}
	return f
}

// number consumes a number and returns its text, or nothing after an error.
func (l *Lexer) number() []byte {
	c := l.Peek()
	if c != '-' && !isDigit(c) {
		l.mismatch("number")
		return nil
	}
	end, fault := skipNumber(l.data, l.pos)
	if fault != 0 {
		l.failAt(end, fault)
		return nil
	}
	text := l.data[l.pos:end]
	l.pos = end
	return text
}

// abridge shortens a number for an error message.
func abridge(text []byte) string {
	if len(text) > 40 {
		return string(text[:40]) + "…"
	}
	return string(text)
}
