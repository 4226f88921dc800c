package render

import (
	"bytes"
	"encoding/json"
	"math"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
)

// A TabName is a way to show a row.
type TabName string

// The ways to show a row.
const (
	TabShown  TabName = "Shown"  // as in the list, but all of it
	TabInput  TabName = "Input"  // what a call was given
	TabResult TabName = "Result" // its result
	TabDiff   TabName = "Diff"   // its changes
	TabRaw    TabName = "Raw"    // the entries as they were written
)

// A Tab is a way to show a row, with its text.
type Tab struct {
	Name TabName
	// Text is nil for TabRaw: the caller reads the entries, and calls [Options.RawText].
	Text *Text
}

// RowTabs returns the ways to show a row. The first one is TabShown. Nothing is laid out yet.
func (o Options) RowTabs(r *rows.Row) []Tab {
	o.indent = 0
	tabs := []Tab{{TabShown, o.shownText(r)}}
	if i := r.Item; r.IsCall() {
		tabs = append(tabs, Tab{TabInput, newText(func(t *Text) { o.wholeInput(i, t) })})
		if i.HasResult {
			tabs = append(tabs, Tab{TabResult, newText(func(t *Text) { o.wholeResult(i, t) })})
		}
		if changesFiles(i) {
			tabs = append(tabs, Tab{TabDiff, o.CallDiff(r, false)})
		}
	}
	if r.At().Line > 0 {
		tabs = append(tabs, Tab{Name: TabRaw})
	}
	return tabs
}

// changesFiles reports whether a call may have changed files.
func changesFiles(i *transcript.DisplayItem) bool {
	if !i.HasResult || i.ToolError {
		return false
	}
	switch i.ToolName {
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return true
	}
	return i.IsCommand() && len(rowDiffs(i)) > 0
}

// shownText returns the text of a row as in the list, with its line.
func (o Options) shownText(r *rows.Row) *Text {
	return newText(func(t *Text) {
		if !isProse(r.Kind) {
			t.add(o, o.fitPainted(o.rowContent(r)))
		}
		o.rowBody(r, t)
	})
}

// wholeInput gives a call's input to a sink.
func (o Options) wholeInput(i *transcript.DisplayItem, to sink) {
	for _, f := range inputFields(string(i.ToolInput)) {
		o.inputField(i, f, to)
	}
}

// wholeResult gives a call's result to a sink. The result of a tool that reads a file is
// highlighted.
func (o Options) wholeResult(i *transcript.DisplayItem, to sink) {
	if i.Type == transcript.ItemSubagent && !i.ToolError {
		to.prose(o, i.ShownResult())
	} else {
		to.text(o, tty.Plain, i.ShownResult())
	}
	o.pictures(i, to)
}

// CallDiff returns the changes of a call: as a unified diff, or side by side if split is set and
// the window is wide enough.
func (o Options) CallDiff(r *rows.Row, split bool) *Text {
	return newText(func(t *Text) { o.addDiffs(r.Item.Diffs(), split, t) })
}

// DiffText returns changes of files: as a unified diff, or side by side if split is set and the window
// is wide enough.
func (o Options) DiffText(diffs []transcript.FileDiff, split bool) *Text {
	return newText(func(t *Text) { o.addDiffs(diffs, split, t) })
}

// addDiffs adds diffs to a text, each after a line that names its file.
func (o Options) addDiffs(diffs []transcript.FileDiff, split bool, t *Text) {
	split = split && o.columns() >= minSplit
	for i := range diffs {
		d := &diffs[i]
		t.addPart(textPart{stop: StopFile, lines: func() []string { return []string{o.fitPainted(o.DiffHead(d))} }})
		if d.Unknown {
			t.text(o, tty.Dim, "what was changed is not in the transcript")
		}
		for k := range d.Hunks {
			t.addPart(textPart{stop: StopHunk, about: o.estimateAll(d.Hunks[k].Lines), lines: func() []string {
				lines := o.hunkLines(d, k, split)
				if k > 0 {
					lines = append([]string{tty.Dim.Paint(o.fit("…"), o.Color)}, lines...)
				}
				return lines
			}})
		}
		if i < len(diffs)-1 {
			t.add(o, "")
		}
	}
}

// maxIndented is the length of the longest entry that is indented.
const maxIndented = 16 << 20

// RawText returns entries as they were written, indented and highlighted. An entry that is very long,
// or is not JSON, is not indented.
func (o Options) RawText(entries ...[]byte) *Text {
	o.indent = 0
	return newText(func(t *Text) {
		language := highlight.Find("json")
		for i, entry := range entries {
			if i > 0 {
				t.add(o, "")
			}
			var indented bytes.Buffer
			if len(entry) <= maxIndented && json.Indent(&indented, entry, "", "  ") == nil {
				entry = indented.Bytes()
			}
			t.code(o, language, string(tty.JSON(entry)))
		}
	})
}

// A Stop is a place in a text that keys jump to.
type Stop uint8

// The stops.
const (
	NoStop   Stop = iota
	StopHunk      // the beginning of a hunk
	StopFile      // the line that names a file
)

// A Text is a text that is laid out from the top as far as it is looked at. It may be very long. It is
// for one goroutine at a time.
type Text struct {
	make  func(*Text) // adds the parts, or nil if it was called
	parts []textPart
	// places are the beginnings of some lines, at least one in placeInterval pieces, as far as the text
	// was looked at.
	places []textPlace
	end    textPlace // of the laid out text
	done   bool
}

// A textPart is a part of a text.
type textPart struct {
	stop  Stop
	first int // its first line, once it was reached
	about int // how many lines it has, about, or 0 for one
	// lines returns the lines of a short part. It is nil for a long text: then layOut returns the lines
	// of a piece of it, and count their number.
	lines  func() []string
	laid   []string
	text   string
	layOut func(piece string) []string
	count  func(piece string) int
}

// A textPlace is the beginning of a piece.
type textPlace struct{ line, part, offset int }

// newText returns a text whose parts are added when it is first looked at.
func newText(parts func(*Text)) *Text { return &Text{make: parts} }

func (t *Text) addPart(p textPart) { t.parts = append(t.parts, p) }

// add adds painted lines.
func (t *Text) add(o Options, lines ...string) {
	t.addPart(textPart{lines: func() []string {
		inset := make([]string, len(lines))
		for i, line := range lines {
			inset[i] = o.inset(line)
		}
		return inset
	}})
}

func (t *Text) text(o Options, style tty.Style, text string) {
	if text = trimBlank(text); text == "" {
		return
	}
	columns := o.columns()
	t.addPart(textPart{
		text: text, about: o.estimate(text),
		layOut: func(piece string) []string { return o.insetAll(o.wrapped(style, piece)) },
		count: func(piece string) int {
			if columns == 0 || len(piece) <= columns && isPlainASCII(piece) {
				return 1
			}
			return len(tty.Wrap(o.clean(piece), columns))
		},
	})
}

// insetAll indents lines in place.
func (o Options) insetAll(lines []string) []string {
	for i, line := range lines {
		lines[i] = o.inset(line)
	}
	return lines
}

// isPlainASCII reports whether each byte of a text is a visible character or a space.
func isPlainASCII(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

// code adds code. Each line is highlighted by itself, so that a text need not be scanned from its
// beginning.
func (t *Text) code(o Options, language *highlight.Language, text string) {
	if text = trimBlank(text); text == "" {
		return
	}
	layOut := func(piece string) []string {
		return o.insetAll(o.breakPainted(o.painted(highlight.NewScanner(language), piece)))
	}
	t.addPart(textPart{text: text, about: o.estimate(text), layOut: layOut, count: func(piece string) int {
		if columns := o.columns(); columns == 0 || len(piece) <= columns && isPlainASCII(piece) {
			return 1
		}
		return len(layOut(piece))
	}})
}

func (t *Text) prose(o Options, text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case len(text) > markdown.MaxText:
		t.text(o, tty.Plain, text)
	default:
		t.addPart(textPart{about: o.estimate(text), lines: func() []string { return o.insetAll(o.proseLines(text)) }})
	}
}

func (t *Text) diffs(o Options, diffs []transcript.FileDiff) {
	if len(diffs) > 0 {
		about := 0
		for i := range diffs {
			for k := range diffs[i].Hunks {
				about += o.estimateAll(diffs[i].Hunks[k].Lines)
			}
		}
		t.addPart(textPart{about: about, lines: func() []string {
			var c collector
			c.diffs(o, diffs)
			return c.lines
		}})
	}
}

// estimateAll returns about how many lines texts have.
func (o Options) estimateAll(texts []string) (lines int) {
	for _, text := range texts {
		lines += o.estimate(text)
	}
	return lines
}

// placeInterval is the number of pieces between two places that are kept.
const placeInterval = 256

// Lines returns n painted lines from the given one on, or fewer at the end. It lays out these
// lines, and scans earlier lines that it did not see yet.
func (t *Text) Lines(from, n int) []string {
	t.begin()
	if from < 0 || n <= 0 {
		return nil
	}
	t.reach(from)
	at := t.placeBefore(from)
	lines := make([]string, 0, min(n, 256))
	for len(lines) < n && at.part < len(t.parts) {
		piece, next := t.piece(at)
		if at.line+len(piece) > from {
			lines = append(lines, piece[max(from-at.line, 0):]...)
		}
		at = next
		t.note(at)
	}
	return lines[:min(len(lines), n)]
}

// Len returns the number of lines, and whether it is exact. It is an estimate as long as the text was
// not laid out to its end.
func (t *Text) Len() (lines int, exact bool) {
	t.begin()
	if t.done {
		return t.end.line, true
	}
	lines = t.end.line
	for i := t.end.part; i < len(t.parts); i++ {
		p := &t.parts[i]
		rest := max(p.about, 1)
		if i == t.end.part && t.end.offset > 0 {
			rest = max(int(float64(rest)*float64(len(p.text)-t.end.offset)/float64(len(p.text))), 1)
		}
		lines += rest
	}
	return lines, false
}

// Count looks at the whole text, and returns its number of lines.
func (t *Text) Count() int {
	t.begin()
	t.reach(math.MaxInt)
	return t.end.line
}

// Stop returns the line of the next stop after a line, or of the last one before it if back is set. It
// returns -1 if there is none.
func (t *Text) Stop(line int, stop Stop, back bool) int {
	t.begin()
	found := -1
	for i := range t.parts {
		if t.parts[i].stop != stop {
			continue
		}
		for t.end.part < i {
			t.step()
		}
		switch first := t.parts[i].first; {
		case back && first >= line:
			return found
		case back:
			found = first
		case first > line:
			return first
		}
	}
	return found
}

// begin adds the parts.
func (t *Text) begin() {
	if t.make != nil {
		parts := t.make
		t.make = nil
		parts(t)
		t.places = []textPlace{{}}
		t.done = len(t.parts) == 0
	}
}

// reach looks at the text until a line was seen.
func (t *Text) reach(line int) {
	for !t.done && t.end.line <= line {
		t.step()
	}
}

// step looks at the next piece.
func (t *Text) step() {
	p := &t.parts[t.end.part]
	next := t.end
	if p.text == "" {
		if p.laid == nil {
			p.laid = p.lines()
		}
		next.line += len(p.laid)
		next.part++
	} else {
		end := pieceEnd(p.text, next.offset, maxPiece)
		next.line += p.count(strings.TrimSuffix(p.text[next.offset:end], "\n"))
		if next.offset = end; end >= len(p.text) {
			next.part, next.offset = next.part+1, 0
		}
	}
	t.note(next)
}

// note records how far the text was looked at.
func (t *Text) note(at textPlace) {
	if at.part < t.end.part || at.part == t.end.part && at.offset <= t.end.offset {
		return
	}
	if at.part != t.end.part && at.part < len(t.parts) {
		t.parts[at.part].first = at.line
	}
	t.end, t.done = at, at.part >= len(t.parts)
	if last := t.places[len(t.places)-1]; at.line-last.line >= placeInterval {
		t.places = append(t.places, at)
	}
}

// placeBefore returns the last known place at or before a line.
func (t *Text) placeBefore(line int) textPlace {
	i := sort.Search(len(t.places), func(i int) bool { return t.places[i].line > line })
	return t.places[max(i-1, 0)]
}

// piece returns the lines of the piece at a place, and the place after it.
func (t *Text) piece(at textPlace) ([]string, textPlace) {
	p := &t.parts[at.part]
	next := at
	var lines []string
	if p.text == "" {
		if p.laid == nil {
			p.laid = p.lines()
		}
		lines = p.laid
		next.part++
	} else {
		end := pieceEnd(p.text, at.offset, maxPiece)
		lines = p.layOut(strings.TrimSuffix(p.text[at.offset:end], "\n"))
		if next.offset = end; end >= len(p.text) {
			next.part, next.offset = next.part+1, 0
		}
	}
	next.line += len(lines)
	return lines, next
}

// A Place is a place in a text. It can be found in another layout of the text.
type Place struct {
	part, after int    // the number of its part, and of those after it
	text        string // of the part, unless it is a short one
	offset      int    // of its piece in that
	ink, of     int    // visible characters of the piece before the place, and all of them
	blank       int    // lines without any at the place
}

// PlaceOf returns the place of a line.
func (t *Text) PlaceOf(line int) Place {
	t.begin()
	t.reach(line)
	at := t.placeBefore(line)
	for at.part < len(t.parts) {
		lines, next := t.piece(at)
		if next.line <= line {
			at = next
			continue
		}
		p := Place{part: at.part, after: len(t.parts) - at.part, text: t.parts[at.part].text, offset: at.offset}
		in := line - at.line
		for i := range lines {
			n := ink(lines[i])
			if p.of += n; i < in {
				p.ink += n
			} else if n == 0 && p.of == p.ink {
				p.blank++
			}
		}
		return p
	}
	return Place{}
}

// LineOf returns the line that has a place of another layout.
func (t *Text) LineOf(p Place) int {
	t.begin()
	part := t.partOf(p)
	if part < 0 || p == (Place{}) {
		return 0
	}
	text, offset := t.parts[part].text, p.offset
	if strings.HasSuffix(text, p.text) || strings.HasSuffix(p.text, text) {
		offset += len(text) - len(p.text) // its first line is a separate part
	}
	at := t.pieceAt(part, offset)
	lines, _ := t.piece(at)
	all := 0
	for i := range lines {
		all += ink(lines[i])
	}
	before := p.ink
	switch {
	case text == "" && p.of > 0:
		before = p.ink * all / p.of
	case text != "" && offset > at.offset:
		before += ink(text[at.offset:min(offset, len(text))])
	case text != "":
		before -= at.offset - offset
	}
	return at.line + lineAfter(lines, before, p.blank)
}

// partOf returns the part that has a place of another layout, or -1 if there are none. A call's
// input may have another number of parts.
func (t *Text) partOf(p Place) int {
	if len(t.parts) == 0 || len(t.parts) == p.part+p.after {
		return min(p.part, len(t.parts)-1)
	}
	for i := range t.parts {
		if p.text != "" && t.parts[i].text == p.text {
			return i
		}
	}
	return min(max(len(t.parts)-p.after, 0), len(t.parts)-1)
}

// pieceAt returns the beginning of the piece that has an offset of a part.
func (t *Text) pieceAt(part, offset int) textPlace {
	isAfter := func(at textPlace) bool { return at.part > part || at.part == part && at.offset > offset }
	for !t.done && !isAfter(t.end) {
		t.step()
	}
	i := sort.Search(len(t.places), func(i int) bool { return isAfter(t.places[i]) })
	at := t.places[max(i-1, 0)]
	for {
		_, next := t.piece(at)
		if next.part >= len(t.parts) || isAfter(next) && at.part == part {
			return at
		}
		at = next
	}
}

// lineAfter returns the line with the first visible character after so many of them, or one of the
// blank lines before it.
func lineAfter(lines []string, before, blank int) int {
	if len(lines) == 0 {
		return 0
	}
	at := 0
	for n := ink(lines[0]); n <= before && at < len(lines)-1; n += ink(lines[at]) {
		at++
	}
	for ; blank > 0 && at > 0 && ink(lines[at-1]) == 0; blank-- {
		at--
	}
	return at
}

// ink returns the number of visible characters of a painted line.
func ink(line string) (n int) {
	for line != "" {
		if size := tty.EscapeLength(line); size > 0 {
			line = line[size:]
			continue
		}
		r, size := utf8.DecodeRuneInString(line)
		if r > ' ' {
			n++
		}
		line = line[size:]
	}
	return n
}
