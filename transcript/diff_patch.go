package transcript

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/entrylex"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// A reportedChange is all that is known about the change of a file. The patch is for display: two
// spaces stand for each tab at the beginning of a line. The other fields are exact, except that the
// tool may write other quotation marks than an edit asks for.
type reportedChange struct {
	before *string // the file before, or nil if it is not known
	after  *string // the file after, or nil if it is not known
	edits  []tooluse.StringEdit
	patch  []tooluse.Hunk
	exact  bool // the patch has the tabs of the file
}

// hunks returns the change, or false if nothing is known. It compares the file before and after if
// the patch, where there is one, agrees with both. Otherwise it returns the patch with its tabs
// restored as far as the other fields have them.
func (c *reportedChange) hunks() ([]tooluse.Hunk, bool) {
	if c.before != nil {
		applicable := len(c.patch) > 0 && fits(c.patch, *c.before, '-')
		for _, after := range c.results() {
			if !applicable || fits(c.patch, after, '+') && lineDifference(*c.before, after) == growth(c.patch) {
				return diffText(*c.before, after), true
			}
		}
	}
	return c.restored(), len(c.patch) > 0
}

// results returns what the file may be after the change, the likeliest first.
func (c *reportedChange) results() []string {
	if c.after != nil {
		return []string{*c.after}
	}
	if len(c.edits) == 0 {
		return nil
	}
	var texts []string
	if text, ok := edited(*c.before, c.edits, replaceString); ok {
		texts = append(texts, text)
	}
	if slices.ContainsFunc(c.edits, func(e tooluse.StringEdit) bool { return e.NewString == "" }) {
		if text, ok := edited(*c.before, c.edits, replaceOnly); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// edited returns a text after edits. It returns false if one of them does not fit.
func edited(text string, edits []tooluse.StringEdit, replace func(string, tooluse.StringEdit) (string, bool)) (string, bool) {
	for _, e := range edits {
		next, ok := replace(text, e)
		if !ok {
			return "", false
		}
		text = next
	}
	return text, true
}

// replaceString returns the text after an edit. It returns false if the edit does not fit. An edit
// without an old string writes a new file. An edit that deletes whole lines deletes their ends as
// well, even if the old string does not have the last one.
func replaceString(text string, e tooluse.StringEdit) (string, bool) {
	if line := e.OldString + "\n"; e.NewString == "" && !strings.HasSuffix(e.OldString, "\n") && strings.Contains(text, line) {
		e.OldString = line
	}
	return replaceOnly(text, e)
}

// replaceOnly is like replaceString, and deletes nothing but the old string.
func replaceOnly(text string, e tooluse.StringEdit) (string, bool) {
	switch {
	case e.OldString == "":
		return e.NewString, text == ""
	case !strings.Contains(text, e.OldString):
		return "", false
	case e.ReplaceAll:
		return strings.ReplaceAll(text, e.OldString, e.NewString), true
	}
	return strings.Replace(text, e.OldString, e.NewString, 1), true
}

// displayed returns how a line looks in a patch.
func displayed(line string) string {
	rest := strings.TrimLeft(line, "\t")
	return strings.Repeat("  ", len(line)-len(rest)) + rest
}

// fits reports whether the lines of a patch on one side, '-' or '+', match a text.
func fits(patch []tooluse.Hunk, text string, side byte) bool {
	line := 0 // where text begins
	for i := range patch {
		start, _ := sideOf(&patch[i], side)
		var ok bool
		if text, ok = skipLines(text, start-line); !ok {
			return false
		}
		line = start
		for j, shown := range patch[i].Lines {
			if !isOn(shown, side) {
				continue
			}
			exact, rest := cutLine(text)
			if exact == "" || displayed(exact) != shown[1:]+lineEnd(patch[i].Lines, j) {
				return false
			}
			text = rest
			line++
		}
	}
	return true
}

// sideOf returns where a hunk starts on one side, counted from 0, and how many lines it has there.
func sideOf(h *tooluse.Hunk, side byte) (start, lines int) {
	start, lines = h.OldStart, h.OldLines
	if side == '+' {
		start, lines = h.NewStart, h.NewLines
	}
	if lines > 0 {
		start--
	}
	return start, lines
}

// isOn reports whether a line of a hunk is on one side of it.
func isOn(line string, side byte) bool { return line != "" && (line[0] == ' ' || line[0] == side) }

// lineEnd returns the end of a line of a hunk: nothing if the next line marks it as missing.
func lineEnd(lines []string, i int) string {
	if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
		return ""
	}
	return "\n"
}

// cutLine cuts a text after its first line.
func cutLine(text string) (line, rest string) {
	end := strings.IndexByte(text, '\n') + 1
	if end == 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// skipLines returns the text after its first n lines, or false if it has fewer.
func skipLines(text string, n int) (string, bool) {
	for range n {
		if text == "" {
			return "", false
		}
		_, text = cutLine(text)
	}
	return text, n >= 0
}

// lineDifference returns how many lines a text has more than another.
func lineDifference(before, after string) int { return lineCount(after) - lineCount(before) }

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// growth returns the number of lines a patch adds, less the number it removes.
func growth(patch []tooluse.Hunk) (n int) {
	for i := range patch {
		n += patch[i].NewLines - patch[i].OldLines
	}
	return n
}

// restored returns the patch with tabs. A line that the file before or after has is exact. Other
// lines get the indentation of a line that looks the same, or else tabs if the known lines are
// indented with tabs only.
func (c *reportedChange) restored() []tooluse.Hunk {
	if c.exact || hasAllTabs(c.patch) {
		return c.patch
	}
	var known []string // lines of the file, as far as they are known
	sides := map[byte][][]string{}
	for side, text := range map[byte]*string{'-': c.before, '+': c.after} {
		if text != nil && fits(c.patch, *text, side) {
			sides[side] = patchLines(c.patch, *text, side)
		}
	}
	for _, hunks := range [][][]string{sides['-'], sides['+']} {
		for _, lines := range hunks {
			known = append(known, lines...)
		}
	}
	for _, e := range c.edits {
		known = append(append(known, splitLines(e.OldString)...), splitLines(e.NewString)...)
	}
	if c.after != nil {
		known = append(known, splitLines(*c.after)...)
	}
	indents := newIndents(known)
	exact := make([]tooluse.Hunk, len(c.patch))
	for i, h := range c.patch {
		h.Lines = append([]string(nil), h.Lines...)
		next := map[byte]int{} // the next line on each side
		for j, line := range h.Lines {
			text := ""
			for _, side := range []byte("-+") {
				if isOn(line, side) {
					if lines := sides[side]; lines != nil {
						text = strings.TrimSuffix(lines[i][next[side]], "\n")
					}
					next[side]++
				}
			}
			switch {
			case text != "":
				h.Lines[j] = line[:1] + text
			case isOn(line, '-') || isOn(line, '+'):
				h.Lines[j] = line[:1] + indents.restore(line[1:])
			}
		}
		exact[i] = h
	}
	return exact
}

// patchLines returns the lines of a text that a patch has on one side, hunk by hunk. The patch fits.
func patchLines(patch []tooluse.Hunk, text string, side byte) [][]string {
	var all [][]string
	lines := splitLines(text)
	for i := range patch {
		start, _ := sideOf(&patch[i], side)
		n := 0
		for _, line := range patch[i].Lines {
			if isOn(line, side) {
				n++
			}
		}
		all = append(all, lines[start:start+n])
	}
	return all
}

// hasAllTabs reports whether a patch cannot lack tabs: it has one at the beginning of a line, or no
// line starts with two spaces.
func hasAllTabs(patch []tooluse.Hunk) bool {
	exact := true
	for i := range patch {
		for _, line := range patch[i].Lines {
			switch {
			case len(line) > 1 && line[1] == '\t':
				return true
			case len(line) > 2 && line[1:3] == "  ":
				exact = false
			}
		}
	}
	return exact
}

// indents are the indentations of known lines.
type indents struct {
	shown        map[string]string // by how they look
	tabs, spaces bool              // whether a line begins with a tab, or with two spaces
}

func newIndents(lines []string) *indents {
	in := &indents{shown: map[string]string{}}
	for _, line := range lines {
		indent := indentOf(line)
		in.tabs = in.tabs || strings.HasPrefix(indent, "\t")
		in.spaces = in.spaces || strings.HasPrefix(indent, "  ")
		if shown := displayed(indent); in.shown[shown] == "" {
			in.shown[shown] = indent
		}
	}
	return in
}

// indentOf returns the blanks at the beginning of a line.
func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// restore returns the line that looks like this.
func (in *indents) restore(shown string) string {
	indent := indentOf(shown)
	rest := shown[len(indent):]
	switch exact := in.shown[indent]; {
	case exact != "":
		return exact + rest
	case in.tabs && !in.spaces:
		spaces := len(indent) - len(strings.TrimLeft(indent, " "))
		return strings.Repeat("\t", spaces/2) + indent[spaces/2*2:] + rest
	}
	return shown
}

// An exactHunk is a hunk in the patch of a result that was too long to keep. Its lines match the
// file.
type exactHunk struct {
	Exact bool `json:"exact"`
	tooluse.Hunk
}

// isExact reports whether a patch is a list of exactHunks.
func isExact(patch wire.JSON) bool { return strings.HasPrefix(string(patch), `[{"exact":true,`) }

// exactPatch returns the patch of a structured result that is not kept, with the tabs of the file if
// the result has the file.
func exactPatch(result, patch []byte) wire.JSON {
	if !mayLackTabs(patch) || !bytes.Contains(result, []byte(`\t`)) {
		return wire.JSON(patch)
	}
	c := readChange(result)
	c.patch = decodeHunks(wire.JSON(patch))
	if c.before == nil {
		return wire.JSON(patch)
	}
	var hunks []exactHunk
	exact, _ := c.hunks()
	for _, h := range exact {
		hunks = append(hunks, exactHunk{true, h})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if len(hunks) == 0 || e.Encode(hunks) != nil {
		return wire.JSON(patch)
	}
	return wire.JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// mayLackTabs reports whether a line of a patch, as JSON, starts with two spaces.
func mayLackTabs(patch []byte) bool {
	return bytes.Contains(patch, []byte(`"   `)) || bytes.Contains(patch, []byte(`"-  `)) || bytes.Contains(patch, []byte(`"+  `))
}

// readChange reads the structured result of an Edit, a MultiEdit or a Write, except its patch.
func readChange(result []byte) *reportedChange {
	var r entrylex.Reader
	r.Reset(result)
	c := new(reportedChange)
	var single tooluse.StringEdit
	for key, ok := r.FirstKey(); ok; key, ok = r.NextKey() {
		switch string(key) {
		case "oldString":
			single.OldString = r.Text()
		case "newString":
			single.NewString = r.Text()
		case "replaceAll":
			single.ReplaceAll = r.Flag()
		case "edits":
			_ = entrylex.DecodeLoosely(wire.JSON(r.Skip()), &c.edits) // another value is no list of edits
		case "content":
			c.after = textOrNil(&r)
		case "originalFile", "originalFileContents":
			if text := textOrNil(&r); text != nil {
				c.before = text
			}
		default:
			r.Skip()
		}
	}
	if c.after == nil && len(c.edits) == 0 {
		c.edits = []tooluse.StringEdit{single}
	}
	return c
}

// textOrNil reads a string, or returns nil for another value.
func textOrNil(r *entrylex.Reader) *string {
	if r.Peek() != '"' {
		r.Skip()
		return nil
	}
	text := r.Text()
	return &text
}
