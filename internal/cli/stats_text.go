package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/transcript"
)

// A canvas is what is printed on.
type canvas struct {
	width int // 0 means any
	cell  string
}

func (o *statsOptions) canvas() canvas {
	s := canvas{cell: "█", width: textWidth(o.streams.Out, 0)}
	if os.Getenv("TERM") == "dumb" {
		s.cell = "#"
	}
	return s
}

// text is the table. Where it does not fit, kinds of tokens are not told apart.
func (r *statsReport) text(on canvas) string {
	t := r.table(true)
	if on.width > 0 && t.width() > on.width {
		t = r.table(false)
	}
	w := new(strings.Builder)
	t.print(w, on.width)
	r.remarks(w, on)
	return w.String()
}

func (r *statsReport) table(detailed bool) *table {
	headings := make([]string, 0, len(r.by)+6)
	for _, name := range r.By {
		headings = append(headings, strings.ToUpper(name))
	}
	if detailed {
		headings = append(headings, "ANSWERS>", "INPUT>", "OUTPUT>", "CACHE WRITE>", "CACHE READ>", "COST>")
	} else {
		headings = append(headings, "TOKENS>", "COST>")
	}
	if r.isBy(transcript.BySession) {
		headings = append(headings, "TITLE")
	}
	t := newTable(headings...)
	add := func(labels []string, totals *transcript.Totals, title string) {
		cells := slices.Concat(labels, statsCells(totals, detailed), []string{title})
		t.add(cells[:len(headings)]...)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		add(r.labels(row), &row.Totals, cmp.Or(shortTitle(row.Title), "-"))
	}
	add(append([]string{"total"}, make([]string, len(r.by)-1)...), &r.Total, "")
	return t
}

// shortTitle returns as much of a title as tells a session from others.
func shortTitle(title string) string { return render.Fit(render.Line(title), 40) }

func statsCells(t *transcript.Totals, detailed bool) []string {
	u := &t.Usage
	if !detailed {
		return []string{group(int64(u.TotalTokens())), shownCost(t)}
	}
	return []string{
		group(int64(t.Calls)), group(int64(u.InputTokens)), group(int64(u.OutputTokens)),
		group(int64(u.CacheCreationTokens)), group(int64(u.CacheReadTokens)), shownCost(t),
	}
}

// shownCost returns what is known of a cost: a plus says that there is more, of models without a price.
func shownCost(t *transcript.Totals) string {
	switch {
	case t.UnknownCost && t.Cost == 0:
		return "unknown"
	case t.UnknownCost:
		return t.Cost.String() + "+"
	}
	return t.Cost.String()
}

// remarks are what there is to say below the figures.
func (r *statsReport) remarks(w *strings.Builder, on canvas) {
	if r.LeftOut > 0 {
		text := "groups that are not shown, but are in the total: " + group(int64(r.LeftOut))
		w.WriteString("\n" + wrapped(text, on.width))
	}
	if models := r.unpriced(); models != "" {
		text := fmt.Sprintf("+ no price is known for %s; give one with --prices", models)
		w.WriteString("\n" + wrapped(text, on.width))
	}
	for _, b := range r.Blocks {
		if p := b.Projection; p != nil {
			text := fmt.Sprintf("The last block goes on until %s. If it goes on like this, it comes to %s tokens and %s.",
				r.clock(b.End), group(int64(p.Tokens)), p.Cost)
			w.WriteString("\n" + wrapped(text, on.width))
		}
	}
}

// plot draws a bar for each row: of its cost, or of its tokens if nothing has a
// cost.
func (r *statsReport) plot(on canvas) string {
	width := on.width
	if width == 0 {
		width = 80
	}
	bars := make([]plotLine, len(r.Rows))
	for i := range r.Rows {
		bars[i] = r.plotLine(&r.Rows[i])
	}
	w := new(strings.Builder)
	drawBars(w, bars, canvas{width: min(width, 120), cell: on.cell})
	total := fmt.Sprintf("total: %s tokens, %s", group(int64(r.Total.Usage.TotalTokens())), shownCost(&r.Total))
	w.WriteString("\n" + wrapped(total, on.width))
	r.remarks(w, on)
	return w.String()
}

// A plotLine is one bar of a plot, with what is written before it.
type plotLine struct {
	label, figure string
	value         int64
}

func (r *statsReport) plotLine(row *statsRow) plotLine {
	labels := r.labels(row)
	if row.Title != "" {
		labels = append(labels, shortTitle(row.Title))
	}
	b := plotLine{label: printable(strings.Join(labels, "  "))}
	if r.Total.Cost > 0 {
		b.value, b.figure = int64(row.Cost), shownCost(&row.Totals)
	} else {
		b.value = int64(row.Usage.TotalTokens())
		b.figure = group(b.value)
	}
	return b
}

// drawBars draws bars of which the longest fills the line. Labels get half of it
// at most.
func drawBars(w *strings.Builder, bars []plotLine, on canvas) {
	label, figure, most := 0, 0, int64(1)
	for i := range bars {
		bars[i].label = render.Fit(bars[i].label, on.width/2)
		label = max(label, render.Width(bars[i].label))
		figure = max(figure, len(bars[i].figure))
		most = max(most, bars[i].value)
	}
	room := max(on.width-label-figure-5, 1)
	for _, b := range bars {
		cells := int(float64(b.value)/float64(most)*float64(room) + 0.5)
		if b.value > 0 {
			cells = max(cells, 1)
		}
		line := pad(b.label, label, false) + "  " + pad(b.figure, figure, true) + "  "
		w.WriteString(strings.TrimRight(line+strings.Repeat(on.cell, max(cells, 0)), " ") + "\n")
	}
}
