package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
)

// A report is everything that a run has measured. Fields that were not measured are empty.
type report struct {
	benchreport.Machine
	Versions []string          `json:"versions"`
	Rounds   int               `json:"rounds"`
	Notes    []string          `json:"notes,omitempty"`
	Events   []throughputRow   `json:"events,omitempty"`
	Prose    []throughputRow   `json:"prose,omitempty"`
	Code     []throughputRow   `json:"code,omitempty"`
	Share    []latencyRow      `json:"share,omitempty"`
	Cold     []latencyRow      `json:"cold,omitempty"`
	Warm     []warmRow         `json:"warm,omitempty"`
	Turns    []turnsRow        `json:"turns,omitempty"`
	Idle     *contest.Idle     `json:"idle,omitempty"`
	Usage    []usageRow        `json:"usage,omitempty"`
	Status   []statusRow       `json:"statusline,omitempty"`
	Goals    benchreport.Goals `json:"goals"`
}

func newReport(rounds int) *report {
	return &report{Machine: benchreport.ThisMachine(), Rounds: rounds}
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

// WriteMarkdown writes the parts that were measured, and the goals.
func (r *report) WriteMarkdown(b *strings.Builder) {
	programs := append([]string{r.Go, r.System}, r.Versions...)
	fmt.Fprintf(b, "%s. %d rounds.\n\n", strings.Join(programs, ", "), r.Rounds)
	for _, note := range r.Notes {
		fmt.Fprintf(b, "Note: %s\n\n", note)
	}
	writeThroughput(b, "50,000 stream events", r.Events)
	writeThroughput(b, "200 tool results of 900 KB of prose", r.Prose)
	writeThroughput(b, "200 tool results of 900 KB of code", r.Code)
	writeLatency(b, "query of an instant agent", r.Share)
	writeLatency(b, "cold query of Claude Code", r.Cold)
	r.writeSessions(b)
	if r.Idle != nil {
		fmt.Fprintf(b, "One of %d idle sessions takes %.1f goroutines and %.1f KB.\n\n",
			r.Idle.Sessions, r.Idle.Goroutines, r.Idle.Bytes/1024)
	}
	r.writeUsage(b)
	r.writeStatus(b)
	r.Goals.Write(b)
}

func writeThroughput(b *strings.Builder, title string, rows []throughputRow) {
	benchreport.Table(b, "| "+title+" | messages/s | MB/s | peak MB | clew is × |", rows, func(row throughputRow) string {
		return fmt.Sprintf("| %s | %.0f | %.0f | %.1f | %.2f |",
			row.Name, row.MessagesPerSecond, row.MBPerSecond, row.PeakMB, row.Times)
	})
}

func writeLatency(b *strings.Builder, title string, rows []latencyRow) {
	head := "| " + title + ", ms to the | first assistant message | result | end | more than claude -p |"
	benchreport.Table(b, head, rows, func(row latencyRow) string {
		return fmt.Sprintf("| %s | %.1f | %.1f | %.1f | %.1f |", row.Name, row.Assistant, row.Result, row.End, row.Share)
	})
}

// writeSessions writes the tables about agents that are started before they are needed.
func (r *report) writeSessions(b *strings.Builder) {
	const warm = "| warm query of Claude Code, ms to the | first assistant message | result | end |"
	benchreport.Table(b, warm, r.Warm, func(row warmRow) string {
		return fmt.Sprintf("| %s | %.1f | %.1f | %.1f |", row.Name, row.Assistant, row.Result, row.End)
	})
	benchreport.Table(b, "| session, ms of | connect | first turn | second turn |", r.Turns, func(row turnsRow) string {
		return fmt.Sprintf("| %s | %.1f | %.1f | %.1f |", row.Agent, row.Connect, row.First, row.Second)
	})
}
