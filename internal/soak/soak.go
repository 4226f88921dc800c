// Package soak sizes tests that find more the longer they run: kill loops, floods, random
// operations. A test run takes the usual size, and "make soak", which sets CLEW_SOAK, the large
// one. It also collects the figures of such tests.
package soak

import (
	"fmt"
	"os"
	"testing"
)

const (
	// Variable is the environment variable that asks for the large sizes. Any value will do.
	Variable = "CLEW_SOAK"
	// FiguresVariable is the environment variable that names a file for figures.
	FiguresVariable = "CLEW_SOAK_FIGURES"
)

// Size returns usual, or large if the environment asks for a soak.
func Size(usual, large int) int {
	if os.Getenv(Variable) != "" {
		return large
	}
	return usual
}

// Figure logs what a test has counted. If the environment names a file, it also appends a line to
// the file.
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
