// Package soak keeps two kinds of tests apart. The outcome of a certain test follows from the code.
// The outcome of a search also depends on luck: random operations, interleavings and kills. "make
// test" runs certain tests, and "make soak", which sets CLEW_SOAK, runs both, the certain ones with
// more cases. Before that it sets CLEW_SEARCH, which asks for searches of the usual size. A search that
// finds something becomes a certain test.
package soak

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

const (
	// Variable is the environment variable that asks for searches and the large sizes. Any value will do.
	Variable = "CLEW_SOAK"
	// SearchVariable is the environment variable that asks for searches of the usual size. Any value will do.
	SearchVariable = "CLEW_SEARCH"
	// SeedVariable is the environment variable that has the seed of [Search] and [Rand].
	SeedVariable = "CLEW_SEED"
	// RestVariable is the environment variable that asks for the tests of "make test-rest". Any value will do.
	RestVariable = "CLEW_REST"
	// LengthVariable is the environment variable that has the length of [Length], such as "3m".
	LengthVariable = "CLEW_SOAK_LENGTH"
	// FiguresVariable is the environment variable that names a file for figures.
	FiguresVariable = "CLEW_SOAK_FIGURES"
)

const (
	// SkipReason is the reason of every test that [Search] skips.
	SkipReason = "make soak runs it: a search"
	// RestReason is the reason of every test that [Rest] skips.
	RestReason = "make test-rest runs it"
)

// Running reports whether the environment asks for a soak.
func Running() bool { return os.Getenv(Variable) != "" }

// Size returns usual, or large if the environment asks for a soak.
func Size(usual, large int) int {
	if Running() {
		return large
	}
	return usual
}

// searching reports whether the environment asks for searches.
func searching() bool { return Running() || os.Getenv(SearchVariable) != "" }

// Search marks a test as a search: it skips the test unless the environment asks for searches.
// Otherwise it returns a random source whose seed it logs. CLEW_SEED replays a seed.
func Search(tb testing.TB) *rand.Rand {
	tb.Helper()
	if !searching() {
		tb.Skip(SkipReason)
	}
	return Rand(tb)
}

// Length returns the duration of a search that has no end by itself: usual, unless CLEW_SOAK_LENGTH
// has another time.
func Length(tb testing.TB, usual time.Duration) time.Duration {
	tb.Helper()
	text := os.Getenv(LengthVariable)
	if text == "" {
		return usual
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		tb.Fatalf("%s: %v", LengthVariable, err)
	}
	return length
}

// Rest marks a test that takes too long for every test run: it skips the test unless the environment
// asks for the rest or for a soak.
func Rest(tb testing.TB) {
	tb.Helper()
	if !RestRunning() {
		tb.Skip(RestReason)
	}
}

// RestRunning reports whether the environment asks for the rest or for a soak.
func RestRunning() bool { return os.Getenv(RestVariable) != "" || Running() }

// Widths returns widths of a terminal up to 200 columns, for a test of layouts. "make test-rest" has all of them,
// other runs have those at which most layouts change.
func Widths(from int) []int {
	var widths []int
	for width := from; width <= 200; width++ {
		if RestRunning() || width <= 12 || width%20 <= 1 || width%20 == 19 || width == 132 {
			widths = append(widths, width)
		}
	}
	return widths
}

// Rand returns a random source for a test: with the same seed in every test run, so that the outcome
// is certain, and with another one in every search. It logs the seed. CLEW_SEED replays a seed.
func Rand(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := uint64(1)
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			tb.Fatalf("%s: %v", SeedVariable, err)
		}
	} else if searching() {
		seed = uint64(time.Now().UnixNano())
	}
	tb.Logf("%s=%d", SeedVariable, seed)
	name := fnv.New64a()
	_, _ = name.Write([]byte(tb.Name()))
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// Figure logs a figure that a test measured. If the environment names a file, it also appends a line
// to the file.
func Figure(tb testing.TB, format string, args ...any) {
	tb.Helper()
	text := fmt.Sprintf(format, args...)
	tb.Log(text)
	path := os.Getenv(FiguresVariable)
	if path == "" || tb.Failed() {
		return
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // the line is written, or the error below says why not
	if _, err := fmt.Fprintf(file, "%s: %s\n", tb.Name(), text); err != nil {
		tb.Error(err)
	}
}
