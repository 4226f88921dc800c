package main

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/clewdev/clew/internal/bench/peers/contest"
)

// A report is everything a run found out. What was not measured is empty.
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
