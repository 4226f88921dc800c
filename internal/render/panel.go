package render

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
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

// A panelEntry is a line of a panel that is not laid out yet.
type panelEntry struct {
	PanelLine // without its text
	depth     int
	style     tty.Style
	text      string // clean
	cells     []note // at the right, in columns
	parts     []note // of the first cell, if it has several styles
}

// leastPanelText is the least width of the text of a line beside its cells. Columns that leave less are
// left out.
const leastPanelText = 20

// panel lays out entries. Their cells are in columns, aligned at the right. order are the columns from
// the one that is most important to the one that is left out first.
func (o Options) panel(entries []panelEntry, order ...int) []PanelLine {
	var widths []int
	for i := range entries {
		for k, cell := range entries[i].cells {
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], tty.Width(cell.text))
		}
	}
	shown := make([]bool, len(widths))
	used := 0
	for _, k := range order {
		if k < len(widths) && widths[k] > 0 && (o.Width <= 0 || used+2+widths[k]+leastPanelText <= o.Width) {
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
func (o Options) panelText(e *panelEntry, widths []int, shown []bool, used int) string {
	indent := 2 * e.depth
	if o.Width > 0 {
		indent = min(indent, max(o.Width-used-leastPanelText/2, 0))
	}
	text := e.text
	if len(e.cells) == 0 {
		used = 0
	}
	if o.Width > 0 {
		text = tty.Fit(text, max(o.Width-used-indent, 1))
	}
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", indent) + e.style.Paint(text, o.Color))
	space := 0 // before the next cell
	if o.Width > 0 {
		space = max(o.Width-used-indent-tty.Width(text), 0)
	}
	for k, cell := range e.cells {
		if !shown[k] {
			continue
		}
		space += 2 + widths[k] - tty.Width(cell.text)
		if cell.text != "" {
			b.WriteString(strings.Repeat(" ", space))
			parts := []note{cell}
			if k == 0 && e.parts != nil {
				parts = e.parts
			}
			for _, p := range parts {
				b.WriteString(p.style.Paint(p.text, o.Color))
			}
			space = 0
		}
	}
	return b.String()
}

// heading returns an entry that points to nothing.
func heading(text string, cells ...note) panelEntry {
	return panelEntry{style: tty.Title, text: text, cells: cells}
}

// remark returns a line that says that there is nothing to show.
func (o Options) remark(text string) []PanelLine {
	return o.panel([]panelEntry{{style: tty.Dim, text: text}})
}

// AgentsPanel returns the subagents of a session as a tree, with what each did and cost, below a line
// about the session itself. l are the rows of t.
func (o Options) AgentsPanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	took := int64(0)
	if !t.Created.IsZero() {
		took = t.Modified.Sub(t.Created).Milliseconds()
	}
	entries := []panelEntry{heading("session", agentCells("", ShortModel(t.Model), rows.WorkOf(t), o.took(took))...)}
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
		entries = append(entries, panelEntry{style: tty.Dim, text: "no subagents", depth: 1})
	}
	return o.panel(entries, 3, 4, 0, 1, 2, 5)
}

// agentEntry returns the entry of the row of a subagent.
func (o Options) agentEntry(r *rows.Row, depth int) panelEntry {
	e := panelEntry{PanelLine: PanelLine{Row: r.ID, Turn: r.Turn}, depth: depth}
	state, model := r.State.String(), ""
	if r.State == rows.Done {
		state = ""
	}
	if a := r.AgentRef; a != nil {
		e.Agent, e.text = a.ID, agentWhat(a)
		if a.Transcript != nil {
			model = ShortModel(cmp.Or(a.Transcript.Model, a.Meta.Model))
		}
	} else {
		e.text = o.rowSummary(r.Item, nil)
	}
	e.cells = agentCells(state, model, r.Work, o.took(r.Duration.Milliseconds()))
	return e
}

// agentCells returns the cells of a subagent: state, calls, tokens, cost, duration, model.
func agentCells(state, model string, w *rows.Work, took string) []note {
	cells := []note{{stateStyle(state), state}, {}, {}, {}, {tty.Dim, took}, {tty.Dim, model}}
	if w == nil {
		return cells
	}
	if w.Calls > 0 {
		cells[1] = note{tty.Dim, Counted(w.Calls, "call")}
	}
	if w.Tokens > 0 {
		cells[2] = note{tty.Dim, Count(w.Tokens) + " tokens"}
	}
	cells[3] = note{tty.Cost, workCost(w)}
	return cells
}

func stateStyle(state string) tty.Style {
	switch state {
	case rows.Running.String():
		return tty.Waiting
	case rows.Failed.String(), rows.Interrupted.String():
		return tty.Failure
	}
	return tty.Dim
}

// helpers returns the subagents that the agent has made for itself, by kind.
func helpers(agents []*transcript.Agent) (entries []panelEntry) {
	for _, a := range agents {
		if a != nil && a.Kind() != transcript.AgentWork {
			entries = append(entries, panelEntry{
				PanelLine: PanelLine{Agent: a.ID}, style: tty.Dim, depth: 1,
				text: tty.Line(string(a.Kind())) + ": " + tty.Line(a.ID),
			})
		}
	}
	return entries
}

// BranchesPanel returns the parts of a session that rewinds have removed.
func (o Options) BranchesPanel(l *rows.List) []PanelLine {
	var entries []panelEntry
	for i := range l.Len() {
		r := l.At(i)
		if r.Kind != rows.Branch {
			continue
		}
		e := panelEntry{PanelLine: PanelLine{Row: r.ID, Agent: r.Agent, Turn: r.Turn}, text: tty.Line(head(r.Text, o.headBytes()))}
		e.cells = []note{{tty.Dim, Counted(r.Below, "row")}, {tty.Dim, o.time(r.Time)}}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return o.remark("no branches: the conversation was never rewound")
	}
	return o.panel(entries, 0, 1)
}

// Outline returns the prompts, compactions, commits and failures of a session, for a narrow column.
// Failures between two other lines are one line.
func (o Options) Outline(l *rows.List) []PanelLine {
	var entries []panelEntry
	failures := 0 // in the last entry
	for i := range l.Len() {
		r := l.At(i)
		if r.Depth > 0 {
			continue
		}
		e := panelEntry{PanelLine: PanelLine{Row: r.ID, Turn: r.Turn}}
		switch {
		case r.State == rows.Failed && failures > 0:
			failures++
			entries[len(entries)-1].text = Counted(failures, "failure")
			continue
		case !o.outlined(r, &e):
			continue
		}
		if failures = 0; r.State == rows.Failed {
			failures = 1
		}
		entries = append(entries, e)
	}
	return o.panel(entries, 0)
}

// outlined fills in the entry of a row of the outline. It returns false for other rows.
func (o Options) outlined(r *rows.Row, e *panelEntry) bool {
	switch {
	case r.Kind == rows.Prompt:
		e.style, e.text = tty.Prompt, "> "+tty.Line(head(r.Text, o.headBytes()))
		e.cells = []note{{tty.Dim, o.clock(r)}}
	case r.Kind == rows.Compaction:
		e.style, e.text = tty.Title, "compacted"
	case r.State == rows.Failed:
		e.style, e.depth, e.text = tty.Failure, 1, "failed: "+o.failure(r)
	case r.Kind == rows.Call && isCommand(r.Item):
		message, ok := commitMessage(r.Item)
		e.style, e.depth, e.text = tty.Success, 1, "commit: "+tty.Line(head(message, o.headBytes()))
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

// failure says what has failed.
func (o Options) failure(r *rows.Row) string {
	if r.IsCall() {
		return callName(r.Item) + " " + o.rowSummary(r.Item, nil)
	}
	return tty.Line(head(cmp.Or(r.Text, r.Kind.String()), o.headBytes()))
}

// commitMessage returns the first line of the message of a commit that a command has made, or the
// command if the message is not known.
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
	if flag := messageFlag.FindStringIndex(rest); flag != nil {
		return firstLineOf(rest[flag[1]:]), true
	}
	return "git commit" + rest, ok
}

// messageFlag is the flag of git commit that the message follows.
var messageFlag = regexp.MustCompile(`\s(-[a-zA-Z]*m|--message)\s*=?`)

// firstLineOf returns the first line of a quoted text, or of one that the shell reads from the lines
// after it.
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
