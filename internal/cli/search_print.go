package cli

import (
	"bufio"
	"cmp"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/index"
	"github.com/clewdev/clew/internal/render"
)

const (
	excerptBytes   = 400 // of an excerpt in JSON
	excerptColumns = 160 // of one in text, where there is no terminal
	excerptIndent  = "    "
	markOn         = "\x1b[1;31m"
	markOff        = "\x1b[0m"
)

// A searchRecord is a result in JSON.
type searchRecord struct {
	Session string     `json:"session"`
	Project string     `json:"project"`
	Agent   string     `json:"agent,omitempty"`
	Path    string     `json:"path"`
	Line    int        `json:"line"`
	Turn    int        `json:"turn,omitempty"`
	Spill   bool       `json:"spill,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
	Role    string     `json:"role"`
	Tool    string     `json:"tool,omitempty"`
	Excerpt string     `json:"excerpt"`
	Matches []matchAt  `json:"matches"`
}

type matchAt struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

func (o *searchOptions) print(result *index.Result) error {
	out := bufio.NewWriterSize(o.streams.Out, 64<<10)
	for i := range result.Hits {
		if err := o.printHit(out, &result.Hits[i]); err != nil {
			return err
		}
	}
	return out.Flush()
}

// printHit leaves it to the end to report that the output can't be written.
func (o *searchOptions) printHit(out *bufio.Writer, h *index.Hit) error {
	if o.json {
		line, err := jsonLine(newSearchRecord(h))
		_, _ = out.Write(line)
		return err
	}
	columns := cmp.Or(textWidth(o.streams.Out, 0), excerptColumns)
	excerpt := excerptOf(h, columns-len(excerptIndent), coloured(o.streams.Out))
	_, _ = out.WriteString(render.Fit(hitPlace(h), columns) + "\n" + excerptIndent + excerpt + "\n")
	return nil
}

// hitPlace says where a result is, so that it can be found again.
func hitPlace(h *index.Hit) string {
	cells := []string{shortID(h.SessionID)}
	if !h.Time.IsZero() {
		cells = append(cells, h.Time.Local().Format(timeLayout))
	}
	cells = append(cells, cmp.Or(h.Folder, h.File.Project))
	if h.AgentID != "" {
		cells = append(cells, "agent "+h.AgentID)
	}
	switch {
	case h.File.Spill:
		cells = append(cells, filepath.Base(h.File.Path)+":"+strconv.Itoa(h.Line))
	case h.Turn > 0:
		cells = append(cells, "turn "+strconv.Itoa(h.Turn))
	default:
		cells = append(cells, "line "+strconv.Itoa(h.Line))
	}
	role := h.Role.String()
	if h.Tool != "" {
		role += " " + h.Tool
	}
	cells = append(cells, role)
	for i, cell := range cells {
		cells[i] = render.Line(cell)
	}
	return strings.Join(cells, "  ")
}

func newSearchRecord(h *index.Hit) searchRecord {
	e := h.Excerpt(excerptBytes)
	r := searchRecord{
		Session: h.SessionID, Project: h.File.Project, Agent: h.AgentID, Path: h.File.Path, Line: h.Line, Turn: h.Turn,
		Spill: h.File.Spill, Role: h.Role.String(), Tool: h.Tool,
		Excerpt: validInPlace(e.Text),
	}
	if !h.Time.IsZero() {
		at := h.Time.UTC()
		r.Time = &at
	}
	for _, m := range e.Matches {
		r.Matches = append(r.Matches, matchAt(m))
	}
	return r
}

// validInPlace puts a question mark in place of each byte that is not UTF-8. Other
// ways would move the matches.
func validInPlace(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	valid := []byte(text)
	for i := 0; i < len(valid); {
		r, size := utf8.DecodeRune(valid[i:])
		if r == utf8.RuneError && size == 1 {
			valid[i] = '?'
		}
		i += size
	}
	return string(valid)
}

// excerptOf returns what is around the matches, on one line.
func excerptOf(h *index.Hit, columns int, colour bool) string {
	columns = max(columns, 10)
	e := h.Excerpt(2 * columns)
	line := excerptLine{columns: columns, colour: colour}
	if !e.Begins {
		line.write("…", false)
	}
	at := 0
	for _, m := range e.Matches {
		line.write(e.Text[at:m.Start], false)
		line.write(e.Text[m.Start:m.End], true)
		at = m.End
	}
	line.write(e.Text[at:], false)
	line.finish(!e.Ends)
	return line.out.String()
}

// colourCodes are what programs write into their output for a terminal.
var colourCodes = regexp.MustCompile("\x1b\\[[0-9;:]*[mK]")

// An excerptLine puts pieces of a text on one line.
type excerptLine struct {
	out     strings.Builder
	columns int // that are left
	colour  bool
	space   bool // the last character is one, or there is none
	full    bool
}

func (l *excerptLine) write(text string, marked bool) {
	text = l.squeeze(render.Clean(colourCodes.ReplaceAllString(text, "")))
	if l.full || text == "" {
		return
	}
	fit := render.Cut(text, l.columns-1)
	l.full = fit != text
	l.columns -= render.Width(fit)
	if marked && l.colour && fit != "" {
		fit = markOn + fit + markOff
	}
	l.out.WriteString(fit)
}

// squeeze makes one space of white space, over the ends of pieces.
func (l *excerptLine) squeeze(text string) string {
	var b strings.Builder
	for _, r := range text {
		space := r == ' ' || r == '\n'
		if space && !l.space {
			b.WriteByte(' ')
		} else if !space {
			b.WriteRune(r)
		}
		l.space = space
	}
	return b.String()
}

func (l *excerptLine) finish(more bool) {
	if l.full || more {
		l.out.WriteString("…")
	}
}
