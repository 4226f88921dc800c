package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/clewdev/clew/wire"
)

// A summary is the report for people: tables of what was in the stream.
type summary struct {
	out     io.Writer
	columns int // of the screen; 0 means any

	total         stat
	kinds         tally[wire.Kind]
	unknownKinds  tally[wire.Kind]
	unknownFields tally[fieldName]
	unknownBlocks tally[string]
	unknownEvents tally[string]
	invalidFrames notes
	invalidBlocks notes
	textLines     notes
}

// A fieldName is a field of the frames of a kind.
type fieldName struct {
	path string
	kind wire.Kind
}

func (s *summary) maxErrors() int { return maxNotes }

func (s *summary) add(f finding) error {
	s.total.add(f.pos)
	switch {
	case f.isText:
		s.textLines.add(f.pos, f.text)
	case f.invalid != nil:
		s.invalidFrames.add(f.pos, f.invalid.Error())
	default:
		s.addFrame(f)
	}
	return nil
}

func (s *summary) addFrame(f finding) {
	kind := wire.Kind{Type: clip(f.kind.Type), Subtype: clip(f.kind.Subtype)}
	s.kinds.add(kind, f.pos)
	if !f.known {
		s.unknownKinds.add(kind, f.pos)
	}
	for _, path := range f.unknownFields {
		s.unknownFields.add(fieldName{clip(path), kind}, f.pos)
	}
	for _, name := range f.unknownBlocks {
		s.unknownBlocks.add(clip(name), f.pos)
	}
	if f.unknownEvent != "" {
		s.unknownEvents.add(clip(f.unknownEvent), f.pos)
	}
	for _, err := range f.blockErrors {
		s.invalidBlocks.add(f.pos, err.Error())
	}
	s.invalidBlocks.total.count += int64(f.invalidBlocks - len(f.blockErrors))
}

func (s *summary) finish() error {
	_, err := io.WriteString(s.out, s.text())
	return err
}

func (s *summary) text() string {
	if s.total.count == 0 {
		return "no frames\n"
	}
	w := &page{columns: s.columns}
	s.printKinds(w)
	printTally(w, "unknown kinds", &s.unknownKinds, compareKinds, wire.Kind.String)
	printTally(w, "unknown fields", &s.unknownFields, compareFields, fieldName.String)
	printTally(w, "unknown blocks", &s.unknownBlocks, strings.Compare, itself)
	printTally(w, "unknown events", &s.unknownEvents, strings.Compare, itself)
	printNotes(w, "invalid frames", "PROBLEM", &s.invalidFrames)
	printNotes(w, "invalid blocks", "PROBLEM", &s.invalidBlocks)
	printNotes(w, "lines that are not JSON", "TEXT", &s.textLines)
	return w.String()
}

// A page is a text in the making, and how wide it may become.
type page struct {
	strings.Builder
	columns int
}

// printKinds prints the main table.
func (s *summary) printKinds(w *page) {
	t := newTable("TYPE", "SUBTYPE", "COUNT>", "BYTES>", "LARGEST>")
	row := func(kind, subtype string, s *stat) {
		t.add(kind, subtype, group(s.count), group(s.bytes), group(s.largest))
	}
	for _, kind := range s.kinds.names(compareKinds) {
		row(kind.Type, kind.Subtype, s.kinds.stats[kind])
	}
	for _, more := range []struct {
		name string
		stat *stat
	}{
		{"(other kinds)", &s.kinds.rest},
		{"(invalid frames)", &s.invalidFrames.total},
		{"(not JSON)", &s.textLines.total},
	} {
		if more.stat.count > 0 {
			row(more.name, "", more.stat)
		}
	}
	row("total", "", &s.total)
	t.print(&w.Builder, w.columns)
}

// printTally prints how often each name was met, and where first.
func printTally[K comparable](w *page, title string, names *tally[K], compare func(a, b K) int, show func(K) string) {
	if len(names.stats) == 0 {
		return
	}
	fmt.Fprintf(&w.Builder, "\n%s:\n", title)
	t := newTable("  NAME", "COUNT>", "FIRST LINE>")
	for _, name := range names.names(compare) {
		s := names.stats[name]
		t.add("  "+show(name), group(s.count), strconv.Itoa(s.line))
	}
	t.print(&w.Builder, w.columns)
	if n := names.rest.count; n > 0 {
		w.WriteString(wrapped(fmt.Sprintf("  and %s more, under names that are not listed", group(n)), w.columns))
	}
}

// printNotes prints the first remarks of a sort.
func printNotes(w *page, title, heading string, all *notes) {
	if len(all.kept) == 0 {
		return
	}
	fmt.Fprintf(&w.Builder, "\n%s:\n", title)
	t := newTable("  LINE>", "OFFSET>", heading)
	for _, n := range all.kept {
		t.add(strconv.Itoa(n.pos.Line), strconv.FormatInt(n.pos.Offset, 10), n.text)
	}
	t.print(&w.Builder, w.columns)
	if more := all.total.count - int64(len(all.kept)); more > 0 {
		fmt.Fprintf(&w.Builder, "  and %s more\n", group(more))
	}
}

func itself(name string) string { return name }

func (n fieldName) String() string { return n.path + " in " + n.kind.String() }

func compareKinds(a, b wire.Kind) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Subtype, b.Subtype))
}

func compareFields(a, b fieldName) int {
	return cmp.Or(compareKinds(a.kind, b.kind), cmp.Compare(a.path, b.path))
}
