package export

import (
	"strings"

	"github.com/clewdev/clew/transcript"
)

func diffLines(diffs []transcript.FileDiff) int {
	n := 0
	for i := range diffs {
		for j := range diffs[i].Hunks {
			n += len(diffs[i].Hunks[j].Lines)
		}
	}
	return n
}

// diff writes what changed in a file, as a table of lines.
func (p *page) diff(d *transcript.FileDiff) {
	p.raw(`<div class="diff"><p class="file"><span>`)
	p.text(oneLine(d.Path, 200))
	p.raw("</span>")
	switch {
	case d.Created:
		p.raw(`<span class="note">new file</span>`)
	case d.Deleted:
		p.raw(`<span class="note">deleted</span>`)
	case d.Unknown:
		p.raw(`<span class="note">changed, but not known how</span>`)
	}
	p.raw(`</p><div class="scroll"><table><tbody>`)
	left := p.lines
	if p.page == 0 {
		left = diffLines([]transcript.FileDiff{*d})
	}
	missing := 0
	for i := range d.Hunks {
		lines := d.Hunks[i].Lines
		shown := min(left, len(lines))
		missing += len(lines) - shown
		left -= shown
		if shown > 0 {
			p.hunk(&d.Hunks[i], lines[:shown], d.Relative, i > 0)
		}
	}
	p.raw("</tbody></table></div>")
	if missing > 0 {
		p.element("p", `class="missing"`, plural(missing, "line")+" more not shown; --full shows all")
	}
	p.raw("</div>")
}

// hunk writes lines with their numbers, which are not known for a piece of an
// unknown file.
func (p *page) hunk(h *transcript.Hunk, lines []string, relative, gap bool) {
	if gap {
		p.raw(`<tr class="gap"><td></td><td></td><td></td><td>⋯</td></tr>`)
	}
	before, after := h.OldStart, h.NewStart
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "+"):
			p.diffLine("add", 0, after, line[1:], relative)
			after++
		case strings.HasPrefix(line, "-"):
			p.diffLine("del", before, 0, line[1:], relative)
			before++
		case strings.HasPrefix(line, `\`):
			p.diffLine("gap", 0, 0, line, relative)
		default:
			p.diffLine("", before, after, strings.TrimPrefix(line, " "), relative)
			before++
			after++
		}
	}
}

func (p *page) diffLine(class string, before, after int, text string, relative bool) {
	sign := map[string]string{"add": "+", "del": "−"}[class]
	if class != "" {
		class = ` class="` + class + `"`
	}
	p.raw("<tr" + class + ">")
	for _, n := range []int{before, after} {
		if n > 0 && !relative {
			p.rawf(`<td class="no">%d</td>`, n)
		} else {
			p.raw(`<td class="no"></td>`)
		}
	}
	p.raw(`<td class="sign">` + sign + "</td>")
	head, missing := shorten(text, p.most)
	p.element("td", "", head)
	p.raw("</tr>")
	if missing > 0 {
		p.rawf(`<tr class="gap"><td></td><td></td><td></td><td>%d bytes more</td></tr>`, missing)
	}
}
