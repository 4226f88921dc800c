package render

import "strings"

// A style is the parameter of the escape sequence that begins it.
type style string

const (
	plain style = ""
	bold  style = "1"
	dim   style = "2"
	red   style = "31"
	green style = "32"
)

func (o Options) in(columns int) Options {
	o.indent += columns
	return o
}

// columns returns how many columns are left beside the indentation: at least a
// few, however narrow the terminal is. 0 means no limit.
func (o Options) columns() int {
	if o.Width <= 0 {
		return 0
	}
	return max(o.Width-o.indent, 10)
}

// fit cuts a clean line, unless there is no limit.
func (o Options) fit(line string) string {
	if o.Width <= 0 {
		return line
	}
	return Fit(line, o.columns())
}

// line returns a clean text, in as many lines as it needs.
func (o Options) line(s style, text string) string {
	var b strings.Builder
	for _, line := range Wrap(text, o.columns()) {
		b.WriteString(o.styled(s, line) + "\n")
	}
	return b.String()
}

// block is line for a text that comes from elsewhere, or nothing for none.
func (o Options) block(s style, text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return o.line(s, Clean(text))
}

func (o Options) styled(s style, line string) string {
	if line == "" {
		return ""
	}
	if o.Colour && s != plain {
		line = "\x1b[" + string(s) + "m" + line + "\x1b[0m"
	}
	return strings.Repeat(" ", o.indent) + line
}
