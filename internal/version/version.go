// Package version compares versions of programs, such as "2.1.325" of the agent or "v18.20.4" of
// Node.js.
//
// A version is read as far as it consists of numbers with dots between them; a "v" before them is
// ignored. So "2.1.325-beta.2" and "2.1.325 (Claude Code)" both have the numbers 2, 1 and 325.
package version

import (
	"cmp"
	"strings"
)

// BlocksOnFailure is the first version of Claude Code that can block when a hook fails, which jobs need.
const BlocksOnFailure = "2.1.317"

const digits = "0123456789"

// Compare returns -1 if a is the older version, +1 if b is, and 0 if they have the same numbers.
// Numbers count by their value: 2.1.9 is older than 2.1.10. A number that is missing is 0, so 2.1
// and 2.1.0 are the same, and so are all texts without a number.
func Compare(a, b string) int {
	a, b = strings.TrimPrefix(a, "v"), strings.TrimPrefix(b, "v")
	for a != "" || b != "" {
		var x, y string
		x, a = next(a)
		y, b = next(b)
		// Numbers without leading zeros: the longer one is larger. None is too large for this.
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
	}
	return 0
}

// Valid reports whether text begins with a version of three numbers, like the agent's versions.
func Valid(text string) bool {
	rest := strings.TrimPrefix(text, "v")
	for i := range 3 {
		number := rest[:len(rest)-len(strings.TrimLeft(rest, digits))]
		rest = rest[len(number):]
		if number == "" {
			return false
		}
		if i < 2 {
			var dot bool
			if rest, dot = strings.CutPrefix(rest, "."); !dot {
				return false
			}
		}
	}
	return true
}

// next returns the number that text begins with, without leading zeros, and the text after its dot.
// The rest is empty at the end of the numbers.
func next(text string) (number, rest string) {
	rest = strings.TrimLeft(text, digits)
	number = strings.TrimLeft(text[:len(text)-len(rest)], "0")
	rest, dot := strings.CutPrefix(rest, ".")
	if !dot {
		return number, ""
	}
	return number, rest
}
