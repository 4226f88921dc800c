package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/bench/peers/contest"
)

// A report is everything that a run has measured. Fields that were not measured are empty.
type report struct {
	Go       string          `json:"go"`
	System   string          `json:"system"`
	Versions []string        `json:"versions"`
	Rounds   int             `json:"rounds"`
	Notes    []string        `json:"notes,omitempty"`
	Events   []throughputRow `json:"events,omitempty"`
	Results  []throughputRow `json:"results,omitempty"`
	Share    []latencyRow    `json:"share,omitempty"`
	Cold     []latencyRow    `json:"cold,omitempty"`
	Warm     []warmRow       `json:"warm,omitempty"`
	Turns    []turnsRow      `json:"turns,omitempty"`
	Idle     *contest.Idle   `json:"idle,omitempty"`
	Usage    []usageRow      `json:"usage,omitempty"`
	Goals    []goal          `json:"goals"`
}

func newReport(rounds int) *report {
	return &report{
		Go:     runtime.Version(),
		System: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Rounds: rounds,
	}
}

// version adds the version of a program that took part.
func (r *report) version(format string, args ...any) { r.Versions = addOnce(r.Versions, format, args) }

// note adds something that the reader of the figures has to know.
func (r *report) note(format string, args ...any) { r.Notes = addOnce(r.Notes, format, args) }

func addOnce(list []string, format string, args []any) []string {
	text := fmt.Sprintf(format, args...)
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// A goal is a bound on one figure.
type goal struct {
	Name     string  `json:"name"`
	Bound    float64 `json:"bound"`
	Unit     string  `json:"unit,omitempty"`
	AtMost   bool    `json:"at_most"`
	Measured float64 `json:"measured"`
	Reached  bool    `json:"reached"`
}

func (r *report) atLeast(name string, bound float64, unit string, measured float64) {
	r.Goals = append(r.Goals, goal{Name: name, Bound: bound, Unit: unit, Measured: measured, Reached: measured >= bound})
}

func (r *report) atMost(name string, bound float64, unit string, measured float64) {
	r.Goals = append(r.Goals, goal{
		Name: name, Bound: bound, Unit: unit, AtMost: true, Measured: measured, Reached: measured <= bound,
	})
}

func (r *report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	programs := append([]string{r.Go, r.System}, r.Versions...)
	fmt.Fprintf(&b, "%s. %d rounds.\n\n", strings.Join(programs, ", "), r.Rounds)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "Note: %s\n\n", note)
	}
	writeThroughput(&b, "50,000 stream events", r.Events)
	writeThroughput(&b, "200 tool results of 900 KB", r.Results)
	writeLatency(&b, "query of an instant agent", r.Share)
	writeLatency(&b, "cold query of Claude Code", r.Cold)
	r.writeWarm(&b)
	r.writeTurns(&b)
	if r.Idle != nil {
		fmt.Fprintf(&b, "One of %d idle sessions takes %.1f goroutines and %.1f KB.\n\n",
			r.Idle.Sessions, r.Idle.Goroutines, r.Idle.Bytes/1024)
	}
	r.writeUsage(&b)
	r.writeGoals(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func writeThroughput(b *strings.Builder, title string, rows []throughputRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "| %s | messages/s | MB/s | peak MB | clew is × |\n|---|--:|--:|--:|--:|\n", title)
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %.0f | %.0f | %.1f | %.2f |\n",
			row.Name, row.MessagesPerSecond, row.MBPerSecond, row.PeakMB, row.Times)
	}
	b.WriteByte('\n')
}

func writeLatency(b *strings.Builder, title string, rows []latencyRow) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "| %s, ms to the | first assistant message | result | end | more than claude -p |\n", title)
	b.WriteString("|---|--:|--:|--:|--:|\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %.1f | %.1f | %.1f | %.1f |\n", row.Name, row.Assistant, row.Result, row.End, row.Share)
	}
	b.WriteByte('\n')
}

func (r *report) writeWarm(b *strings.Builder) {
	if len(r.Warm) == 0 {
		return
	}
	b.WriteString("| warm query of Claude Code, ms to the | first assistant message | result | end |\n|---|--:|--:|--:|\n")
	for _, row := range r.Warm {
		fmt.Fprintf(b, "| %s | %.1f | %.1f | %.1f |\n", row.Name, row.Assistant, row.Result, row.End)
	}
	b.WriteByte('\n')
}

func (r *report) writeTurns(b *strings.Builder) {
	if len(r.Turns) == 0 {
		return
	}
	b.WriteString("| session, ms of | connect | first turn | second turn |\n|---|--:|--:|--:|\n")
	for _, row := range r.Turns {
		fmt.Fprintf(b, "| %s | %.1f | %.1f | %.1f |\n", row.Agent, row.Connect, row.First, row.Second)
	}
	b.WriteByte('\n')
}

func (r *report) writeGoals(b *strings.Builder) {
	if len(r.Goals) == 0 {
		return
	}
	b.WriteString("| goal | bound | measured | reached |\n|---|--:|--:|---|\n")
	for _, g := range r.Goals {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", g.Name, g.bound(), g.figure(g.Measured, 2), yesNo(g.Reached))
	}
}

func (g goal) bound() string {
	if g.AtMost {
		return "≤ " + g.figure(g.Bound, -1)
	}
	return "≥ " + g.figure(g.Bound, -1)
}

// figure writes a value with its unit. A precision of -1 means as many digits as it has.
func (g goal) figure(value float64, precision int) string {
	return strings.TrimSpace(strconv.FormatFloat(value, 'f', precision, 64) + " " + g.Unit)
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}
