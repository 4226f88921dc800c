package export

import (
	"bufio"
	"fmt"
	"html"
	"io"
)

// markup writes a page. Whatever comes from a transcript goes through text or
// attr, which clean and escape it; raw is for what is ours. It keeps the first
// error, and writes nothing behind that.
type markup struct {
	w interface {
		io.StringWriter
		Flush() error
	}
	err  error
	size int // bytes that were written
}

func newMarkup(w io.Writer) *markup { return &markup{w: bufio.NewWriterSize(w, 64<<10)} }

func (m *markup) raw(text string) {
	if m.err == nil {
		_, m.err = m.w.WriteString(text)
		m.size += len(text)
	}
}

// rawf is raw, with numbers.
func (m *markup) rawf(format string, numbers ...int) {
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = n
	}
	m.raw(fmt.Sprintf(format, args...))
}

// text writes a text as such.
func (m *markup) text(text string) { m.raw(html.EscapeString(clean(text))) }

// element writes an element that has only a text. The tag is ours, and may have
// attributes.
func (m *markup) element(tag, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	m.raw("<" + tag + attributes + ">")
	m.text(text)
	m.raw("</" + tag + ">")
}

// attr returns a value for an attribute, quotes included. What is long is cut.
func attr(value string) string { return `"` + html.EscapeString(oneLine(value, 500)) + `"` }

func (m *markup) flush() error {
	if m.err == nil {
		m.err = m.w.Flush()
	}
	return m.err
}
