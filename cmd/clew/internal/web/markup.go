package web

import (
	"html"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/tty"
)

// markup makes HTML. Data from a transcript, an agent or a request goes through text or attr, which
// clean and escape it; raw is only for our own markup.
type markup struct{ strings.Builder }

func (m *markup) raw(parts ...string) {
	for _, p := range parts {
		m.WriteString(p)
	}
}

// text writes a text in one line, cleaned and escaped.
func (m *markup) text(text string) { m.WriteString(html.EscapeString(tty.Line(text))) }

// clean writes a text that is clean, with its spaces.
func (m *markup) clean(text string) { m.WriteString(html.EscapeString(text)) }

// attr writes an attribute. The name must be our own.
func (m *markup) attr(name, value string) {
	m.raw(" ", name, `="`, html.EscapeString(tty.Line(value)), `"`)
}

// element writes an element with a text. The tag and the class must be our own; a class of "" means
// none.
func (m *markup) element(tag, class, text string) {
	m.open(tag, class)
	m.text(text)
	m.raw("</", tag, ">")
}

// open writes the start tag of an element.
func (m *markup) open(tag, class string) {
	m.raw("<", tag)
	if class != "" {
		m.attr("class", class)
	}
	m.raw(">")
}

// span writes a text in a class, if there is one.
func (m *markup) span(class, text string) {
	if text != "" {
		m.element("span", class, text)
	}
}

// time writes a time as text, with the exact one for programs.
func (m *markup) time(at time.Time, text string) {
	if at.IsZero() || text == "" {
		return
	}
	m.raw(`<time datetime="`, at.UTC().Format(time.RFC3339), `">`)
	m.text(text)
	m.raw("</time>")
}

// styleClasses are the classes of the page for the styles of the terminal.
var styleClasses = map[tty.Style]string{
	tty.Title: "strong", tty.Prompt: "prompt", tty.Path: "path", tty.Failure: "flag", tty.Success: "good", tty.Addition: "plus",
	tty.Removal: "minus", tty.Waiting: "waits", tty.Cost: "note cost", tty.Dim: "note",
}

// notes writes the notes at the right of a line.
func (m *markup) notes(notes []render.Note) {
	for _, n := range notes {
		m.span(styleClasses[n.Style], n.Text)
	}
}

// A column is a column of a table.
type column struct {
	name  string
	right bool // numbers
}

// tableHead starts a table and writes its headings. The caption is for users who can't see the
// table.
func (m *markup) tableHead(caption string, columns []column) {
	m.raw(`<div class="scroll"><table>`)
	m.element("caption", "", caption)
	m.raw("<thead><tr>")
	for _, c := range columns {
		class := ""
		if c.right {
			class = ` class="r"`
		}
		m.raw(`<th scope="col"`, class, ">")
		m.text(c.name)
		m.raw("</th>")
	}
	m.raw("</tr></thead><tbody>")
}

func (m *markup) tableEnd() { m.raw("</tbody></table></div>") }

// rowLink starts a link to a row of the session, or a span if there is none. It returns the end
// tag.
func (m *markup) rowLink(row string) (end string) {
	if row == "" {
		m.raw("<span>")
		return "</span>"
	}
	m.raw("<a")
	m.attr("href", "#row="+escapeFragment(row))
	m.raw(">")
	return "</a>"
}

// escapeFragment escapes characters in row IDs that do not belong in a fragment.
func escapeFragment(id string) string {
	var b strings.Builder
	const digits = "0123456789ABCDEF"
	for i := range len(id) {
		c := id[i]
		isPlain := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte("-._/@", c) >= 0
		if isPlain {
			b.WriteByte(c)
		} else {
			b.WriteString("%" + digits[c>>4:c>>4+1] + digits[c&15:c&15+1])
		}
	}
	return b.String()
}
