package web

import (
	"fmt"
	"strconv"
)

// maxBars is the maximum number of bars in a plot.
const maxBars = 400

// A plot is a bar chart. Each bar has a title that describes it, and the table beside the plot has
// the same figures, so that nobody has to see it.
type plot struct {
	title string
	bars  []bar
}

// A bar is a bar of a plot. Parts are drawn above each other, and have classes by number.
type bar struct {
	label string
	value int64
	text  string // the value for people
	parts []barPart
}

// A barPart is a part of a bar.
type barPart struct {
	class int
	value int64
	text  string
}

const (
	plotHeight = 160
	plotWidth  = 800
	labelSpace = 18 // below the bars
)

// write writes the plot as SVG. All colors come from classes.
func (p *plot) write(m *markup) {
	if len(p.bars) == 0 {
		return
	}
	most := int64(1)
	for i := range p.bars {
		most = max(most, p.bars[i].value)
	}
	m.raw(`<figure class="plot"><svg role="img" viewBox="0 0 `, strconv.Itoa(plotWidth), " ", strconv.Itoa(plotHeight+labelSpace), `"`)
	m.attr("aria-label", p.title+"; the table has the figures")
	m.raw(">")
	width := float64(plotWidth) / float64(len(p.bars))
	every := 1 + len(p.bars)*60/plotWidth // labels that fit
	for i := range p.bars {
		p.bar(m, &p.bars[i], float64(i)*width, width, most)
		if i%every == 0 {
			m.raw(`<text class="label" x="`, coordinate(float64(i)*width), `" y="`, strconv.Itoa(plotHeight+labelSpace-4), `">`)
			m.text(p.bars[i].label)
			m.raw("</text>")
		}
	}
	m.raw("</svg></figure>")
}

// bar writes a bar, and its parts from the bottom up.
func (p *plot) bar(m *markup, b *bar, x, width float64, most int64) {
	m.raw("<g><title>")
	m.text(b.label + ": " + b.text)
	m.raw("</title>")
	parts := b.parts
	if len(parts) == 0 {
		parts = []barPart{{class: -1, value: b.value}}
	}
	y := float64(plotHeight)
	for _, part := range parts {
		height := float64(plotHeight) * float64(max(part.value, 0)) / float64(most)
		y -= height
		class := "bar"
		if part.class >= 0 {
			class += " k" + strconv.Itoa(part.class)
		}
		m.raw(`<rect class="`, class, `" x="`, coordinate(x+width*0.08), `" y="`, coordinate(y), `" width="`, coordinate(width*0.84),
			`" height="`, coordinate(height), `">`)
		if part.text != "" {
			m.raw("<title>")
			m.text(b.label + ": " + part.text)
			m.raw("</title>")
		}
		m.raw("</rect>")
	}
	m.raw("</g>")
}

func coordinate(n float64) string { return fmt.Sprintf("%.1f", n) }
