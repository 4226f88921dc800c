package main

import (
	"fmt"
	"html"
	"slices"
	"strings"
)

// Sizes of the picture, in pixels.
const (
	charWidth  = 8.4
	lineHeight = 18
	margin     = 16
	headHeight = 34
	fontSize   = 14
	width      = columns*charWidth + 2*margin
	height     = rows*lineHeight + headHeight + margin
)

// The looks of styles, by class.
const styleSheet = `text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;` +
	`fill:#d6deeb;white-space:pre}.b{font-weight:700}.d{opacity:.6}` +
	`.c31,.c91{fill:#ff6b6b}.c32,.c92{fill:#7bd88f}.c33,.c93{fill:#ffd866}.c34,.c94{fill:#82aaff}` +
	`.c35,.c95{fill:#c792ea}.c36,.c96{fill:#5fd7d7}.c30,.c90{fill:#7f8c98}` +
	`.s{opacity:0}.p{opacity:1}` +
	`@media (prefers-reduced-motion:reduce){.s{animation:none!important}}`

// A span is the time in which lines are seen: from one frame to before another.
type span struct{ from, to int }

// drawFilm returns the frames as an animated SVG picture. Lines that are seen at the same time are one group, which an
// animation shows and hides. Where there are no animations, the poster is seen.
func drawFilm(frames []frame) string {
	groups := map[span]string{}
	for row := range rows {
		begin := 0
		for i := 1; i <= len(frames); i++ {
			if i < len(frames) && slices.Equal(frames[i].lines[row], frames[begin].lines[row]) {
				continue
			}
			groups[span{begin, i}] += drawLine(frames[begin].lines[row], row)
			begin = i
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %d" width="%g" height="%d" role="img">`+
		"\n<title>clew demo</title>\n<style>%s", width, height, width, height, styleSheet)
	spans := sortedSpans(groups)
	total := frames[len(frames)-1].at + lastHold
	percent := func(i int) float64 { return 100 * frames[i].at.Seconds() / total.Seconds() }
	for n, s := range spans {
		fmt.Fprintf(&b, "\n#g%d{animation:k%d %.1fs step-end infinite}@keyframes k%d{", n, n, total.Seconds(), n)
		if s.from > 0 {
			fmt.Fprintf(&b, "0%%{opacity:0}")
		}
		fmt.Fprintf(&b, "%.2f%%{opacity:1}", percent(s.from))
		if s.to < len(frames) {
			fmt.Fprintf(&b, "%.2f%%{opacity:0}", percent(s.to))
		}
		b.WriteString("}")
	}
	fmt.Fprintf(&b, "</style>\n"+`<rect width="%g" height="%d" rx="10" fill="#011627"/>`+"\n", width, height)
	for i, colour := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Fprintf(&b, `<circle cx="%d" cy="18" r="6" fill="%s"/>`, 20+20*i, colour)
	}
	seen := poster(frames)
	for n, s := range spans {
		class := "s"
		if s.from <= seen && seen < s.to {
			class = "s p"
		}
		fmt.Fprintf(&b, "\n"+`<g id="g%d" class="%s">%s</g>`, n, class, groups[s])
	}
	b.WriteString("\n</svg>\n")
	return b.String()
}

// sortedSpans returns the spans in which something is seen, in the order of time.
func sortedSpans(groups map[span]string) []span {
	var spans []span
	for s, drawn := range groups {
		if drawn != "" {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	return spans
}

// drawLine returns a line as a text of pieces that look alike, or "" for a blank one.
func drawLine(line []cell, row int) string {
	length := len([]rune(text(line)))
	if length == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.1f" xml:space="preserve">`,
		margin, headHeight+fontSize+row*lineHeight, float64(length)*charWidth)
	for begin := 0; begin < length; {
		end := begin + 1
		for end < length && line[end].style == line[begin].style {
			end++
		}
		b.WriteString(drawPiece(line[begin:end]))
		begin = end
	}
	return b.String() + "</text>"
}

func drawPiece(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		if c.char == 0 {
			c.char = ' '
		}
		b.WriteRune(c.char)
	}
	shown := html.EscapeString(b.String())
	var classes []string
	look := cells[0].style
	if look.bold {
		classes = append(classes, "b")
	}
	if look.dim {
		classes = append(classes, "d")
	}
	if look.colour != 0 {
		classes = append(classes, fmt.Sprintf("c%d", look.colour))
	}
	if len(classes) == 0 {
		return shown
	}
	return `<tspan class="` + strings.Join(classes, " ") + `">` + shown + "</tspan>"
}
