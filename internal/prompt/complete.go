package prompt

import (
	"strings"

	"github.com/clewdev/clew/internal/render"
)

// A Choice is a text that can be completed to, and what is said of it.
type Choice struct {
	Text string
	Note string
}

// maxHints is how many choices are shown at once.
const maxHints = 12

// complete types what all choices begin with, and shows them if there are several.
func (e *Editor) complete() {
	if e.Complete == nil {
		return
	}
	typed := string(e.text[:e.at])
	from, choices := e.Complete(typed)
	if len(choices) == 0 {
		return
	}
	common := choices[0].Text
	for _, c := range choices[1:] {
		common = commonPrefix(common, c.Text)
	}
	if len(choices) == 1 {
		common += " "
	} else {
		e.hints = list(choices)
	}
	if strings.HasPrefix(common, typed[from:]) {
		e.insert([]rune(common[len(typed)-from:]))
	}
}

func commonPrefix(a, b string) string {
	i := 0
	for _, r := range a {
		if !strings.HasPrefix(b[i:], string(r)) {
			break
		}
		i += len(string(r))
	}
	return a[:i]
}

func list(choices []Choice) []string {
	var lines []string
	shown := choices
	if len(choices) > maxHints {
		shown = choices[:maxHints-1]
	}
	wide := 0
	for _, c := range shown {
		wide = max(wide, render.Width(render.Line(c.Text)))
	}
	for _, c := range shown {
		name := render.Line(c.Text)
		lines = append(lines, strings.TrimRight(name+strings.Repeat(" ", wide-render.Width(name)+2)+render.Line(c.Note), " "))
	}
	if len(shown) < len(choices) {
		lines = append(lines, "…")
	}
	return lines
}
