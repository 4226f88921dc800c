package render

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

// A PanelLine is a line of a panel over a session. One that points to nothing is a heading.
type PanelLine struct {
	// Text is the painted line.
	Text string
	// Row is the row that the line is about, or "".
	Row rows.ID
	// Path is the file that it is about, as in [transcript.FileDiff], or "".
	Path string
	// Agent is the ID of the subagent that it is about, or "".
	Agent string
	// Turn is the number of the turn that it is about, or 0.
	Turn int
}

// A PanelEntry is a line of a panel that is not laid out yet.
type PanelEntry struct {
	PanelLine // without its text
	Depth     int
	Style     tty.Style
	Words     string // clean
	Cells     []Note // at the right, in columns
	Parts     []Note // of the first cell, if it has several styles
}

// minPanelText is the least width of the text of a line beside its cells. Columns that leave less are
// left out.
const minPanelText = 20

// panel lays out entries. Their cells are in columns, aligned at the right. order has the columns
// from the most important to the least important, which is left out first.
func (o Options) panel(entries []PanelEntry, order ...int) []PanelLine {
	var widths []int
	for i := range entries {
		for k, cell := range entries[i].Cells {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], tty.Width(cell.Text))
		}
	}
	shown := make([]bool, len(widths))
	used := 0
	for _, k := range order {
		if k < len(widths) && widths[k] > 0 && (o.Width <= 0 || used+2+widths[k]+minPanelText <= o.Width) {
			shown[k] = true
			used += 2 + widths[k]
		}
	}
	lines := make([]PanelLine, len(entries))
	for i := range entries {
		lines[i] = entries[i].PanelLine
		lines[i].Text = o.panelText(&entries[i], widths, shown, used)
	}
	return lines
}

// panelText returns the line of an entry, whose cells have so many columns.
func (o Options) panelText(e *PanelEntry, widths []int, shown []bool, used int) string {
	indent := 2 * e.Depth
	if o.Width > 0 {
		indent = min(indent, max(o.Width-used-minPanelText/2, 0))
	}
	text := e.Words
	if len(e.Cells) == 0 {
		used = 0
	}
	if o.Width > 0 {
		text = tty.Fit(text, max(o.Width-used-indent, 1))
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", indent) + e.Style.Paint(text, o.Color))
	space := 0 // before the next cell
	if o.Width > 0 {
		space = max(o.Width-used-indent-tty.Width(text), 0)
	}
	for k, cell := range e.Cells {
		if !shown[k] {
			continue
		}
		space += 2 + widths[k] - tty.Width(cell.Text)
		if cell.Text != "" {
			b.WriteString(strings.Repeat(" ", space))
			parts := []Note{cell}
			if k == 0 && e.Parts != nil {
				parts = e.Parts
			}
			for _, p := range parts {
				b.WriteString(p.Style.Paint(p.Text, o.Color))
			}
			space = 0
		}
	}
	return b.String()
}

// heading returns an entry that points to nothing.
func heading(text string, cells ...Note) PanelEntry {
	return PanelEntry{Style: tty.Title, Words: text, Cells: cells}
}

// remark returns an entry for an empty panel.
func remark(text string) PanelEntry { return PanelEntry{Style: tty.Dim, Words: text} }

// remark returns a line for an empty panel.
func (o Options) remark(text string) []PanelLine {
	return o.panel([]PanelEntry{{Style: tty.Dim, Words: text}})
}

// AgentsPanel returns the subagents of a session as a tree, with the work and cost of each, below a
// line about the session itself. l are the rows of t.
func (o Options) AgentsPanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	return o.panel(o.AgentEntries(t, l), 3, 4, 0, 1, 2, 5)
}

// AgentEntries returns the entries of [Options.AgentsPanel]. Their cells are state, calls, tokens,
// cost, duration and model.
func (o Options) AgentEntries(t *transcript.Transcript, l *rows.List) []PanelEntry {
	took := int64(0)
	if !t.Created.IsZero() {
		took = t.Modified.Sub(t.Created).Milliseconds()
	}
	entries := []PanelEntry{heading("session", agentCells(Note{}, ShortModel(t.Model), rows.WorkOf(t), o.took(took))...)}
	depths := map[int]int{} // of the rows of subagents
	for i := range l.Len() {
		r := l.At(i)
		if r.Kind != rows.Subagent && r.Kind != rows.Agent && r.Kind != rows.Unlinked {
			continue
		}
		depths[i] = 1
		for p := r.Parent; p >= 0; p = l.At(p).Parent {
			if depth, ok := depths[p]; ok {
				depths[i] = depth + 1
				break
			}
		}
		entries = append(entries, o.agentEntry(r, depths[i]))
	}
	entries = append(entries, helpers(t.Unlinked)...)
	if len(entries) == 1 {
		entries = append(entries, PanelEntry{Style: tty.Dim, Words: "no subagents", Depth: 1})
	}
	return entries
}

// agentEntry returns the entry for a subagent's row.
func (o Options) agentEntry(r *rows.Row, depth int) PanelEntry {
	e := PanelEntry{PanelLine: PanelLine{Row: r.ID, Turn: r.Turn}, Depth: depth}
	model := ""
	if a := r.AgentRef; a != nil {
		e.Agent, e.Words = a.ID, agentWhat(a)
		if a.Transcript != nil {
			model = ShortModel(cmp.Or(a.Transcript.Model, a.Meta.Model))
		}
	} else {
		e.Words = o.callSummary(r.Item, nil)
	}
	e.Cells = agentCells(stateNote(r.State), model, r.Work, o.took(r.Duration.Milliseconds()))
	return e
}

// agentCells returns the cells of a subagent: state, calls, tokens, cost, duration, model.
func agentCells(state Note, model string, w *rows.Work, took string) []Note {
	cells := []Note{state, {}, {}, {}, {tty.Dim, took}, {tty.Dim, model}}
	if w == nil {
		return cells
	}
	if w.Calls > 0 {
		cells[1] = Note{tty.Dim, wording.Count(w.Calls, "call")}
	}
	if w.Tokens > 0 {
		cells[2] = Note{tty.Dim, wording.Tokens(w.Tokens)}
	}
	cells[3] = Note{tty.Cost, workCost(w).Note()}
	return cells
}

// helpers returns the subagents that the agent made for itself, by kind.
func helpers(agents []*transcript.Agent) (entries []PanelEntry) {
	for _, a := range agents {
		if a != nil && a.Kind() != transcript.AgentWork {
			entries = append(entries, PanelEntry{
				PanelLine: PanelLine{Agent: a.ID}, Style: tty.Dim, Depth: 1,
				Words: tty.Line(string(a.Kind())) + ": " + tty.Line(a.ID),
			})
		}
	}
	return entries
}

// BranchesPanel returns the parts of a session that rewinds removed.
func (o Options) BranchesPanel(l *rows.List) []PanelLine { return o.panel(o.BranchEntries(l), 0, 1) }

// BranchEntries returns the entries of [Options.BranchesPanel]. Their cells are the number of rows, and
// the time.
func (o Options) BranchEntries(l *rows.List) []PanelEntry {
	var entries []PanelEntry
	for i := range l.Len() {
		r := l.At(i)
		if r.Kind != rows.Branch {
			continue
		}
		e := PanelEntry{PanelLine: PanelLine{Row: r.ID, Agent: r.Agent, Turn: r.Turn}, Words: tty.Line(head(r.Text, o.headBytes()))}
		e.Cells = []Note{{tty.Dim, wording.Count(r.Below, "row")}, {tty.Dim, o.time(r.Time)}}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		entries = append(entries, remark("no branches: the conversation was never rewound"))
	}
	return entries
}

// Outline returns the prompts, compactions, commits and failures of a session, for a narrow column.
// Failures between two other lines are one line.
func (o Options) Outline(l *rows.List) []PanelLine { return o.panel(o.OutlineEntries(l), 0) }

// OutlineEntries returns the entries of [Options.Outline]. Those of prompts have a cell with the time.
func (o Options) OutlineEntries(l *rows.List) []PanelEntry { return o.outlineEntries(l, 0) }

// OutlineFrom returns the outline after rows from an index on changed. made is the outline before
// that, whose start is used again.
func (o Options) OutlineFrom(made []PanelLine, l *rows.List, from int) []PanelLine {
	from = max(l.Previous(from, rows.IsPrompt), 0) // lines before a prompt don't depend on what follows it
	kept := len(made)
	for kept > 0 {
		if i, ok := l.Index(made[kept-1].Row); ok && i < from {
			break
		}
		kept--
	}
	return append(made[:kept:kept], o.panel(o.outlineEntries(l, from), 0)...)
}

// outlineEntries returns the entries of rows from an index on.
func (o Options) outlineEntries(l *rows.List, from int) []PanelEntry {
	var entries []PanelEntry
	failures := 0 // in the last entry
	for i := from; i < l.Len(); i++ {
		r := l.At(i)
		if r.Depth > 0 {
			continue
		}
		e := PanelEntry{PanelLine: PanelLine{Row: r.ID, Turn: r.Turn}}
		switch {
		case r.State == rows.Failed && failures > 0:
			failures++
			entries[len(entries)-1].Words = wording.Count(failures, "failure")
			continue
		case !o.outlined(r, &e):
			continue
		}
		if failures = 0; r.State == rows.Failed {
			failures = 1
		}
		entries = append(entries, e)
	}
	return entries
}

// outlined fills in the entry for an outline row. It returns false for other rows.
func (o Options) outlined(r *rows.Row, e *PanelEntry) bool {
	switch {
	case r.Kind == rows.Prompt:
		e.Style, e.Words = tty.Prompt, "> "+tty.Line(head(r.Text, o.headBytes()))
		e.Cells = []Note{{tty.Dim, o.clock(r)}}
	case r.Kind == rows.Compaction:
		e.Style, e.Words = tty.Title, "compacted"
	case r.State == rows.Failed:
		e.Style, e.Depth, e.Words = tty.Failure, 1, "failed: "+o.failure(r)
	case r.Kind == rows.Call && r.Item.IsCommand():
		message, ok := commitMessage(r.Item)
		e.Style, e.Depth, e.Words = tty.Success, 1, "commit: "+tty.Line(head(message, o.headBytes()))
		return ok
	default:
		return false
	}
	return true
}

// clock returns the time of day of a row.
func (o Options) clock(r *rows.Row) string {
	if r.Time.IsZero() {
		return ""
	}
	o.Day = r.Time
	return o.time(r.Time)
}

// failure describes a failure.
func (o Options) failure(r *rows.Row) string {
	if r.IsCall() {
		return callName(r.Item) + " " + o.callSummary(r.Item, nil)
	}
	return tty.Line(head(cmp.Or(r.Text, r.Kind.String()), o.headBytes()))
}

// commitMessage returns the first line of the message of a command's commit, or the command if the
// message is not known.
func commitMessage(i *transcript.DisplayItem) (string, bool) {
	if !strings.Contains(string(i.ToolInput), "git commit") || len(i.ToolInput) > maxRowDiff || !i.HasResult {
		return "", false
	}
	fields := inputFields(string(i.ToolInput))
	at := slices.IndexFunc(fields, func(f field) bool { return f.name == "command" })
	if at < 0 {
		return "", false
	}
	_, rest, ok := strings.Cut(fields[at].text, "git commit")
	if flag := messageFlag().FindStringIndex(rest); flag != nil {
		return firstLineOf(rest[flag[1]:]), true
	}
	return "git commit" + rest, ok
}

// messageFlag is the flag of git commit that the message follows.
var messageFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\s(-[a-zA-Z]*m|--message)\s*=?`)
})

// firstLineOf returns the first line of a quoted text, or of a here-document.
func firstLineOf(message string) string {
	message = strings.TrimLeft(message, " =")
	quote := ""
	if strings.HasPrefix(message, `"`) || strings.HasPrefix(message, "'") {
		quote, message = message[:1], message[1:]
	}
	line, rest, _ := strings.Cut(message, "\n")
	if strings.Contains(line, "<<") { // "$(cat <<'EOF'
		line, _, _ = strings.Cut(strings.TrimLeft(rest, "\n"), "\n")
	}
	if quote != "" {
		line, _, _ = strings.Cut(line, quote)
	}
	return line
}
