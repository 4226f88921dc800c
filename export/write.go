package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/tty"
)

// The formats that [Write] knows.
const (
	HTML     = "html"
	Markdown = "markdown"
	JSON     = "json"
)

// Formats returns the names of the formats.
func Formats() []string { return []string{HTML, Markdown, JSON} }

// A View configures a page and Markdown. Nil and the zero value mean a short form: without
// thinking, and with long results cut. JSON always has everything in the document.
type View struct {
	// Thinking shows the thinking of the agent.
	Thinking bool
	// Expand opens the folded elements of a page.
	Expand bool
	// Full shows long texts completely.
	Full bool
	// More describes how to see the rest of a cut text on a page. "" means that the flag --full
	// shows everything.
	More string
	// Zone is the time zone to show times in. Nil means the local one.
	Zone *time.Location
}

const (
	maxText      = 16 << 10 // bytes of a text, unless View.Full is set
	maxDiffLines = 600
	maxDepth     = 12 // of subagents below subagents
)

// Write writes a document in one of the formats. It returns the error of the writer or of the
// context, or an error for an unknown format. view may be nil.
func Write(ctx context.Context, w io.Writer, d *Document, format string, view *View) error {
	if view == nil {
		view = new(View)
	}
	switch format {
	case HTML:
		return writeHTML(ctx, w, d, view)
	case Markdown:
		return writeMarkdown(ctx, w, d, view)
	case JSON:
		return writeJSON(ctx, w, d)
	}
	return fmt.Errorf("export: unknown format %q", format)
}

// limit returns the longest text in bytes, or 0 for no limit.
func (v *View) limit() int {
	if v.Full {
		return 0
	}
	return maxText
}

func (v *View) time(at time.Time, layout string) string { return v.in(at).Format(layout) }

// in returns a time in the time zone of the view.
func (v *View) in(at time.Time) time.Time { return at.In(cmp.Or(v.Zone, time.Local)) }

// clean makes untrusted text visible: it removes color sequences, and escapes other control
// characters, invisible characters and characters that change the direction of text, as in a Go
// string. Line ends and tabs stay.
func clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		end := 1
		switch n := colorCode(text); {
		case n > 0:
			end = n
		case text[0] == '\t':
			b.WriteByte('\t')
		default:
			if next := strings.IndexAny(text[1:], "\t\x1b"); next >= 0 {
				end = 1 + next
			} else {
				end = len(text)
			}
			b.WriteString(tty.Clean(text[:end]))
		}
		text = text[end:]
	}
	return b.String()
}

func isClean(text string) bool {
	for _, r := range text {
		if r >= ' ' && r < 0x7f {
			continue
		}
		if r == utf8.RuneError || !isVisible(r) {
			return false
		}
	}
	return true
}

func isVisible(r rune) bool { return r == '\n' || r == '\t' || tty.IsVisible(r) }

// colorCode returns the length of the escape sequence at the beginning of a text, if it only sets a
// color, and otherwise 0.
func colorCode(text string) int {
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < min(len(text), 34); i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// oneLine joins a text into one clean line of at most most characters.
func oneLine(text string, most int) string {
	return clip.Words(clean(clip.Bytes(text, 8*most)), most)
}

// shorten cuts a text to the limit, at the end of a line if possible, and returns the number of
// bytes that are missing. 0 means no limit.
func shorten(text string, limit int) (head string, missing int) {
	if limit <= 0 || len(text) <= limit {
		return text, 0
	}
	head = clip.Bytes(text, limit)
	if end := strings.LastIndexByte(head, '\n'); end > limit/2 {
		head = head[:end]
	}
	return head, len(text) - len(head)
}

// markup writes a page. Text from a transcript must go through text or attr, which clean and escape
// it; raw is only for our own markup. It keeps the first error, and writes nothing after it.
type markup struct {
	w interface {
		io.StringWriter
		Flush() error
	}
	err  error
	size int // bytes written so far
}

func newMarkup(w io.Writer) *markup { return &markup{w: bufio.NewWriterSize(w, 64<<10)} }

func (m *markup) raw(text string) {
	if m.err == nil {
		_, m.err = m.w.WriteString(text)
		m.size += len(text)
	}
}

// rawf is like raw, with numbers to format.
func (m *markup) rawf(format string, numbers ...int) {
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = n
	}
	m.raw(fmt.Sprintf(format, args...))
}

// text writes a text, cleaned and escaped.
func (m *markup) text(text string) { m.raw(html.EscapeString(clean(text))) }

// element writes an element that contains only text. The tag and the attributes must be our own.
func (m *markup) element(tag, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	m.raw("<" + tag + attributes + ">")
	m.text(text)
	m.raw("</" + tag + ">")
}

// attr returns the value of an attribute, with quotes. A long value is cut.
func attr(value string) string { return `"` + html.EscapeString(oneLine(value, 500)) + `"` }

func (m *markup) flush() error {
	if m.err == nil {
		m.err = m.w.Flush()
	}
	return m.err
}
