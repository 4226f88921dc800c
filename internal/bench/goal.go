package main

import "time"

// A goal is a bound on one figure.
type goal struct {
	Name     string  `json:"name"`
	Bound    float64 `json:"bound"`
	Unit     string  `json:"unit,omitempty"`
	AtMost   bool    `json:"at_most"`
	Measured float64 `json:"measured"`
	Reached  bool    `json:"reached"`
}

// judge fills in the goals from the figures.
func (r *report) judge() {
	r.speedGoals("wire, raw kept", r.Rows[wireRaw], [4]float64{7, 5, 1.8, 5.5})
	r.speedGoals("wire, raw off", r.Rows[wireBare], [4]float64{8, 6, 2, 4.5})
	r.atMost("framing adds", 10, "%", r.Framing)
	r.atMost("10 MB in 4 KB pieces, against 1 MB", 12, "×", r.hugeRatio(tenPieces, megabytePieces))
	r.atMost("10 MB in 4 KB pieces", 40, "ms", milliseconds(r.Huge[tenPieces].Best))
	r.atMost("10 MB in 4 KB pieces, against one piece", 2, "×", r.hugeRatio(tenPieces, tenWhole))
	r.atMost("10 MB wrapped into 250,000 lines, against one line", 2, "×", r.hugeRatio(tenWrapped, tenWhole))
	r.atMost("10 MB wrapped into 250,000 lines, 4 KB pieces, against one line", 2, "×", r.hugeRatio(tenWrappedPieces, tenWhole))
	r.atMost("10 MB list over 230,000 lines, against one line", 2, "×", r.hugeRatio(listingLines, listingWhole))
}

// speedGoals takes the bounds on the ratios to structs, map and json.Valid, and
// on allocations per frame.
func (r *report) speedGoals(name string, got row, bounds [4]float64) {
	r.atLeast(name+", against structs", bounds[0], got.TimesStructs)
	r.atLeast(name+", against map[string]any", bounds[1], got.TimesMap)
	r.atLeast(name+", against json.Valid", bounds[2], got.TimesValid)
	r.atMost(name+", allocations per frame", bounds[3], "", got.AllocsPer)
}

func (r *report) atLeast(name string, bound, measured float64) {
	r.Goals = append(r.Goals, goal{Name: name, Bound: bound, Unit: "×", Measured: measured, Reached: measured >= bound})
}

func (r *report) atMost(name string, bound float64, unit string, measured float64) {
	r.Goals = append(r.Goals, goal{
		Name: name, Bound: bound, Unit: unit, AtMost: true, Measured: measured, Reached: measured <= bound,
	})
}

// hugeRatio is how many times as long as base a case takes.
func (r *report) hugeRatio(slow, base int) float64 {
	return float64(r.Huge[slow].Best) / float64(r.Huge[base].Best)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
