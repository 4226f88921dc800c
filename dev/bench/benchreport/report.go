// Package benchreport writes the reports of the benchmarks. A report is Markdown with tables, the
// goals and whether they are reached, or one JSON object.
package benchreport

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// A Machine describes the Go version and the system that a benchmark used.
type Machine struct {
	Go     string `json:"go"`
	System string `json:"system"`
}

// ThisMachine returns the Machine of this process.
func ThisMachine() Machine {
	return Machine{
		Go:     runtime.Version(),
		System: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
}

// A Report is everything that a run measured.
type Report interface {
	// WriteMarkdown writes the report for docs/benchmarks.md.
	WriteMarkdown(b *strings.Builder)
}

// Write writes a report as Markdown, or as one JSON object.
func Write(w io.Writer, r Report, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(r)
	}
	var b strings.Builder
	r.WriteMarkdown(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// Table writes a table and a blank line, or nothing if there are no rows. The head has the names of
// the columns, such as "| decoder | MB/s |". The first column is aligned to the left, the others to
// the right.
func Table[T any](b *strings.Builder, head string, rows []T, line func(T) string) {
	if len(rows) == 0 {
		return
	}
	columns := strings.Count(head, "|") - 1
	b.WriteString(head + "\n|---" + strings.Repeat("|--:", columns-1) + "|\n")
	for _, row := range rows {
		b.WriteString(line(row) + "\n")
	}
	b.WriteByte('\n')
}

// A Goal is a bound on one figure.
type Goal struct {
	Name     string  `json:"name"`
	Bound    float64 `json:"bound"`
	Unit     string  `json:"unit,omitempty"`
	AtMost   bool    `json:"at_most"`
	Measured float64 `json:"measured"`
	Reached  bool    `json:"reached"`
}

// Goals are the goals of a report.
type Goals []Goal

// AtLeast adds a goal that is reached if measured is not below bound.
func (g *Goals) AtLeast(name string, bound float64, unit string, measured float64) {
	*g = append(*g, Goal{Name: name, Bound: bound, Unit: unit, Measured: measured, Reached: measured >= bound})
}

// AtMost adds a goal that is reached if measured is not above bound.
func (g *Goals) AtMost(name string, bound float64, unit string, measured float64) {
	*g = append(*g, Goal{
		Name: name, Bound: bound, Unit: unit, AtMost: true, Measured: measured, Reached: measured <= bound,
	})
}

// Write writes the goals as a table, which ends the report.
func (g Goals) Write(b *strings.Builder) {
	if len(g) == 0 {
		return
	}
	b.WriteString("| goal | bound | measured | reached |\n|---|--:|--:|---|\n")
	for _, goal := range g {
		reached := "no"
		if goal.Reached {
			reached = "yes"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", goal.Name, goal.bound(), goal.figure(goal.Measured, 2), reached)
	}
}

func (g Goal) bound() string {
	if g.AtMost {
		return "≤ " + g.figure(g.Bound, -1)
	}
	return "≥ " + g.figure(g.Bound, -1)
}

// figure writes a value with its unit. A precision of -1 means as many digits as the value has.
func (g Goal) figure(value float64, precision int) string {
	return strings.TrimSpace(strconv.FormatFloat(value, 'f', precision, 64) + " " + g.Unit)
}

// Median returns the value in the middle, or the mean of the two in the middle. There must be one.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
