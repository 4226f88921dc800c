package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// Percent returns the share of a number in another one, for people.
func Percent(n, of int) string {
	return wording.Percent(float64(n) * 100 / float64(max(of, 1)))
}

// ContextFill returns the size of the context after the last answer, and of the window of its model. It
// returns false if they are not known.
func ContextFill(chunks []transcript.Chunk) (tokens, window int, ok bool) {
	for i := range slices.Backward(chunks) {
		c := &chunks[i]
		if tokens = c.Usage.ContextTokens(); tokens > 0 {
			window, ok = transcript.ContextWindow(c.Model)
			return tokens, window, ok && tokens <= window
		}
	}
	return 0, 0, false
}

// ClassName returns the name of a class of the context for people.
func ClassName(class transcript.ContextClass) string {
	return strings.ReplaceAll(string(class), "_", " ")
}

// classLetters are the classes of the context in the order in which bars show them, each with the
// letter that stands for it.
var classLetters = []struct {
	class  transcript.ContextClass
	letter string
	style  tty.Style
}{
	{transcript.ContextSystem, "s", tty.Dim}, {transcript.ContextTools, "t", tty.Comment},
	{transcript.ContextMemory, "m", tty.Number}, {transcript.ContextSkills, "k", tty.Cost},
	{transcript.ContextHooks, "h", tty.Removal}, {transcript.ContextFiles, "f", tty.Path},
	{transcript.ContextToolCalls, "c", tty.Keyword}, {transcript.ContextThinking, "i", tty.Plain},
	{transcript.ContextConversation, "w", tty.Addition},
}

// ContextClasses returns the classes of the context in the order in which bars show them.
func ContextClasses() []transcript.ContextClass {
	classes := make([]transcript.ContextClass, len(classLetters))
	for i, c := range classLetters {
		classes[i] = c.class
	}
	return classes
}

// ContextPanel returns what fills the context at the end, by class, and then how full it was at each
// turn, with the compactions between them.
func (o Options) ContextPanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	report := t.Context()
	if len(report.Turns) == 0 {
		return o.remark("the transcript does not say what filled the context")
	}
	last := &report.Turns[len(report.Turns)-1]
	entries := []PanelEntry{heading(ContextTitle(last))}
	for _, c := range classLetters {
		if tokens := last.By[c.class]; tokens > 0 {
			entries = append(entries, PanelEntry{
				Depth: 1, Words: c.letter + "  " + ClassName(c.class),
				Cells: []Note{{c.style, o.bar(tokens, last.Tokens)}, {tty.Dim, wording.Rounded(tokens)}, {tty.Dim, Percent(tokens, last.Tokens)}},
			})
		}
	}
	lines := o.panel(entries, 2, 1, 0)
	return append(append(lines, PanelLine{}), o.panel(o.ContextTurns(&report, l), 1, 2, 0)...)
}

// ContextTitle is the title of a table with the context of the last turn.
func ContextTitle(last *transcript.ContextTurn) string {
	title := "Context at the end: " + wording.Tokens(last.Tokens)
	if last.Window > 0 {
		title += fmt.Sprintf(", %s of %s", Percent(last.Tokens, last.Window), wording.Rounded(last.Window))
	}
	return title
}

// bar returns a bar of at most 20 columns.
func (o Options) bar(n, of int) string {
	const columns = 20
	cell := "█"
	if o.ASCII {
		cell = "#"
	}
	filled := min(max((n*columns+of/2)/max(of, 1), 0), columns) // numbers of a transcript may be absurd
	return strings.Repeat(cell, filled) + strings.Repeat(" ", columns-filled)
}

// ContextTurns returns the entries of the turns and compactions of a report, in order, below a heading.
// The cells of a turn are a bar, the share of the window that is full, and the tokens.
func (o Options) ContextTurns(report *transcript.ContextReport, l *rows.List) []PanelEntry {
	entries := []PanelEntry{heading("Turns")}
	most := 1 // the bar of the fullest turn is a whole one
	for i := range report.Turns {
		most = max(most, report.Turns[i].Tokens)
	}
	at, compactions := 0, report.Compactions
	for i := range report.Turns {
		turn := &report.Turns[i]
		for len(compactions) > 0 && compactions[0].Line < turn.Line {
			entries = append(entries, o.compactionEntry(&compactions[0], l))
			compactions = compactions[1:]
		}
		e := PanelEntry{Depth: 1, Words: "#?"}
		if at = rowOfLine(l, at, turn.Line); at < l.Len() {
			r := promptOf(l, at)
			e.Row, e.Turn = r.ID, r.Turn
			if e.Words = fmt.Sprintf("#%d", r.Turn); rows.IsPrompt(r) {
				e.Words += " " + tty.Line(head(r.Text, o.headBytes()))
			}
		}
		percent := ""
		if turn.Window > 0 {
			percent = Percent(turn.Tokens, turn.Window)
		}
		bar, parts := classBar(turn, most)
		e.Cells, e.Parts = []Note{{tty.Plain, bar}, {tty.Plain, percent}, {tty.Dim, wording.Rounded(turn.Tokens)}}, parts
		entries = append(entries, e)
	}
	for i := range compactions {
		entries = append(entries, o.compactionEntry(&compactions[i], l))
	}
	return entries
}

// classBar returns a bar of the context that a turn filled, with a letter for each class. A full
// bar stands for the largest turn.
func classBar(turn *transcript.ContextTurn, most int) (bar string, parts []Note) {
	const columns = 24
	used, sum := 0, 0
	for _, c := range classLetters {
		sum += turn.By[c.class]
		if end := min((sum*columns+most/2)/most, columns); end > used {
			parts = append(parts, Note{c.style, strings.Repeat(c.letter, end-used)})
			used = end
		}
	}
	parts = append(parts, Note{tty.Dim, strings.Repeat(".", columns-used)})
	for _, p := range parts {
		bar += p.Text
	}
	return bar, parts
}

// CompactionParts returns what a compaction did, and the tokens before and after it, or "" if they are not known.
func CompactionParts(c *transcript.ContextCompaction) (what, size string) {
	what = "compacted"
	if c.Micro {
		what = "old results removed"
	}
	if c.Before > 0 {
		size = wording.Rounded(c.Before)
		if c.After > 0 {
			size += " to " + wording.Rounded(c.After)
		}
		size += " tokens"
	}
	return what, size
}

// compactionEntry returns the entry of a compaction.
func (o Options) compactionEntry(c *transcript.ContextCompaction, l *rows.List) PanelEntry {
	what, size := CompactionParts(c)
	e := PanelEntry{Depth: 1, Style: tty.Title, Words: strings.TrimSpace(what + " " + size)}
	if at := rowOfLine(l, 0, c.Line); at < l.Len() {
		e.Row, e.Turn = l.At(at).ID, l.At(at).Turn
	}
	return e
}

// rowOfLine returns the index of the last row of the session itself, from one on, whose entry is not
// after a line.
func rowOfLine(l *rows.List, from, line int) int {
	found := from
	for i := from; i < l.Len(); i += 1 + l.At(i).Below {
		at := l.At(i).At().Line
		if at > line {
			break
		}
		if at > 0 {
			found = i
		}
	}
	return found
}

// promptOf returns the prompt that a row belongs to, or the row itself if there is none.
func promptOf(l *rows.List, at int) *rows.Row {
	if prompt := l.Previous(at+1, rows.IsPrompt); prompt >= 0 {
		at = prompt
	}
	return l.At(at)
}

// UsagePanel returns the tokens and costs of a session by model, and then what each turn took.
func (o Options) UsagePanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	prices := pricelist.Current()
	report := usage.NewReport(t.Calls(), &usage.ReportOptions{By: []usage.Dimension{usage.ByModel}, Prices: &prices})
	if report.Total.Calls == 0 {
		return o.remark("the transcript does not say what was used")
	}
	entries := ModelEntries(report)
	lines := o.panel(entries, 5, 2, 1, 3, 4, 0)
	for _, text := range UsageRemarks(t, report) {
		lines = append(lines, o.remark(text)...)
	}
	return append(append(lines, PanelLine{}), o.panel(o.TurnCosts(t, l), 1, 0)...)
}

// ModelEntries returns the tokens and costs of a report by model, with a heading and a total. The cells
// are answers, input, output, cache read, cache write and cost.
func ModelEntries(report *usage.Report) []PanelEntry {
	entries := []PanelEntry{heading("Model", headCells("answers", "in", "out", "cache read", "cache write", "cost")...)}
	for i := range report.Rows {
		row := &report.Rows[i]
		entries = append(entries, PanelEntry{Words: ShortModel(row.Key.Model), Cells: usageCells(&row.Totals)})
	}
	total := PanelEntry{Style: tty.Title, Words: "total", Cells: usageCells(&report.Total)}
	return append(entries, total)
}

// headCells returns the titles of columns.
func headCells(titles ...string) []Note {
	cells := make([]Note, len(titles))
	for i, title := range titles {
		cells[i] = Note{tty.Title, title}
	}
	return cells
}

func usageCells(t *usage.Totals) []Note {
	u := &t.Usage
	return []Note{
		{tty.Dim, fmt.Sprint(t.Calls)}, {tty.Plain, wording.Rounded(u.InputTokens)}, {tty.Plain, wording.Rounded(u.OutputTokens)},
		{tty.Plain, wording.Rounded(u.CacheReadTokens)}, {tty.Plain, wording.Rounded(u.CacheCreationTokens)}, {tty.Cost, wording.CostOf(t).Short()},
	}
}

// UsageRemarks returns the share of the input that was read from the cache, and the agent's own account of the
// cost, as far as they are known.
func UsageRemarks(t *transcript.Transcript, report *usage.Report) (remarks []string) {
	u := &report.Total.Usage
	if in := u.InputTokens + u.CacheReadTokens + u.CacheCreationTokens; in > 0 {
		remarks = append(remarks, Percent(u.CacheReadTokens, in)+" of the input was read from the cache")
	}
	if len(t.CostStates) > 0 {
		r := usage.Reconcile(t.Calls(), t.CostStates, pricelist.Current())
		remarks = append(remarks, "the agent's own account: "+wording.Money(r.Agent))
	}
	return remarks
}

// TurnCosts returns what each turn took, below a heading. The cells are tokens and cost.
func (o Options) TurnCosts(t *transcript.Transcript, l *rows.List) []PanelEntry {
	entries := []PanelEntry{heading("Turns")}
	turns, others := t.Turns()
	prompts := promptRows(l)
	prices := pricelist.Current()
	add := func(e PanelEntry, calls []usage.Call) {
		costs, tokens := usage.Cost(calls, prices), 0
		for i := range calls {
			tokens += calls[i].Usage.TotalTokens()
		}
		e.Depth = 1
		e.Cells = []Note{{tty.Dim, wording.Tokens(tokens)}, {tty.Cost, wording.CostOfCalls(costs).Note()}}
		entries = append(entries, e)
	}
	for i := range turns {
		number := turns[i].Number
		e := PanelEntry{PanelLine: PanelLine{Turn: number}, Words: "before the first prompt"}
		if r := prompts[number]; r != nil {
			e.Row, e.Words = r.ID, fmt.Sprintf("#%d %s", number, tty.Line(head(r.Text, o.headBytes())))
		}
		add(e, turns[i].Calls)
	}
	if len(others) > 0 {
		add(PanelEntry{Style: tty.Dim, Words: "branches, and subagents without a call"}, others)
	}
	return entries
}
