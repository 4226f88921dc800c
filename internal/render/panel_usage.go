package render

import (
	"fmt"
	"strings"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// Percent returns the share of a number in another one, for people.
func Percent(n, of int) string {
	percent := float64(n) * 100 / float64(max(of, 1))
	if n > 0 && percent < 0.5 {
		return "<1 %"
	}
	return fmt.Sprintf("%.0f %%", percent)
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

// ContextPanel returns what fills the context at the end, by class, and then how full it was at each
// turn, with the compactions between them.
func (o Options) ContextPanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	report := t.Context()
	if len(report.Turns) == 0 {
		return o.remark("the transcript does not say what filled the context")
	}
	last := &report.Turns[len(report.Turns)-1]
	title := "Context at the end: " + Count(last.Tokens) + " tokens"
	if last.Window > 0 {
		title += fmt.Sprintf(", %s of %s", Percent(last.Tokens, last.Window), Count(last.Window))
	}
	entries := []panelEntry{heading(title)}
	for _, c := range classLetters {
		if tokens := last.By[c.class]; tokens > 0 {
			entries = append(entries, panelEntry{
				depth: 1, text: c.letter + "  " + ClassName(c.class),
				cells: []note{{c.style, o.bar(tokens, last.Tokens)}, {tty.Dim, Count(tokens)}, {tty.Dim, Percent(tokens, last.Tokens)}},
			})
		}
	}
	lines := o.panel(entries, 2, 1, 0)
	return append(append(lines, PanelLine{}), o.panel(o.contextTurns(&report, l), 1, 2, 0)...)
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

// contextTurns returns the entries of the turns and compactions of a report, in order.
func (o Options) contextTurns(report *transcript.ContextReport, l *rows.List) []panelEntry {
	entries := []panelEntry{heading("Turns")}
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
		e := panelEntry{depth: 1, text: "#?"}
		if at = rowOfLine(l, at, turn.Line); at < l.Len() {
			r := l.At(at)
			e.Row, e.Turn = r.ID, r.Turn
			e.text = fmt.Sprintf("#%d %s", r.Turn, o.promptOf(l, at))
		}
		percent := ""
		if turn.Window > 0 {
			percent = Percent(turn.Tokens, turn.Window)
		}
		bar, parts := classBar(turn, most)
		e.cells, e.parts = []note{{tty.Plain, bar}, {tty.Plain, percent}, {tty.Dim, Count(turn.Tokens)}}, parts
		entries = append(entries, e)
	}
	for i := range compactions {
		entries = append(entries, o.compactionEntry(&compactions[i], l))
	}
	return entries
}

// classBar returns how a turn has filled the context, with a letter for each class. A whole bar stands
// for the most tokens of a turn.
func classBar(turn *transcript.ContextTurn, most int) (bar string, parts []note) {
	const columns = 24
	used, sum := 0, 0
	for _, c := range classLetters {
		sum += turn.By[c.class]
		if end := min((sum*columns+most/2)/most, columns); end > used {
			parts = append(parts, note{c.style, strings.Repeat(c.letter, end-used)})
			used = end
		}
	}
	parts = append(parts, note{tty.Dim, strings.Repeat(".", columns-used)})
	for _, p := range parts {
		bar += p.text
	}
	return bar, parts
}

// compactionEntry returns the entry of a compaction.
func (o Options) compactionEntry(c *transcript.ContextCompaction, l *rows.List) panelEntry {
	e := panelEntry{depth: 1, style: tty.Title, text: "compacted"}
	if c.Micro {
		e.text = "old results removed"
	}
	if c.Before > 0 {
		e.text += " " + Count(c.Before)
		if c.After > 0 {
			e.text += " to " + Count(c.After)
		}
		e.text += " tokens"
	}
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

// promptOf returns the prompt that a row belongs to, in one line.
func (o Options) promptOf(l *rows.List, at int) string {
	if !rows.IsPrompt(l.At(at)) {
		at = l.Previous(at, rows.IsPrompt)
	}
	if at < 0 {
		return ""
	}
	return tty.Line(head(l.At(at).Text, o.headBytes()))
}

// UsagePanel returns the tokens and costs of a session by model, and then what each turn took.
func (o Options) UsagePanel(t *transcript.Transcript, l *rows.List) []PanelLine {
	report := usage.NewReport(t.Calls(), &usage.ReportOptions{By: []usage.Dimension{usage.ByModel}})
	if report.Total.Calls == 0 {
		return o.remark("the transcript does not say what was used")
	}
	entries := []panelEntry{heading("Model", headCells("calls", "in", "out", "cache read", "cache write", "cost")...)}
	for i := range report.Rows {
		row := &report.Rows[i]
		entries = append(entries, panelEntry{text: ShortModel(row.Key.Model), cells: usageCells(&row.Totals)})
	}
	total := panelEntry{style: tty.Title, text: "total", cells: usageCells(&report.Total)}
	entries = append(entries, total)
	lines := o.panel(entries, 5, 2, 1, 3, 4, 0)
	u := &report.Total.Usage
	if in := u.InputTokens + u.CacheReadTokens + u.CacheCreationTokens; in > 0 {
		lines = append(lines, o.remark(Percent(u.CacheReadTokens, in)+" of the input was read from the cache")...)
	}
	lines = append(lines, o.account(t)...)
	return append(append(lines, PanelLine{}), o.panel(o.turnCosts(t, l), 1, 0)...)
}

// headCells returns the titles of columns.
func headCells(titles ...string) []note {
	cells := make([]note, len(titles))
	for i, title := range titles {
		cells[i] = note{tty.Title, title}
	}
	return cells
}

func usageCells(t *usage.Totals) []note {
	cost := Money(t.Cost)
	if t.UnknownCost {
		cost += "+"
	}
	u := &t.Usage
	return []note{
		{tty.Dim, fmt.Sprint(t.Calls)}, {tty.Plain, Count(u.InputTokens)}, {tty.Plain, Count(u.OutputTokens)},
		{tty.Plain, Count(u.CacheReadTokens)}, {tty.Plain, Count(u.CacheCreationTokens)}, {tty.Cost, cost},
	}
}

// account returns a line with the agent's own account of the cost, if it has written one.
func (o Options) account(t *transcript.Transcript) []PanelLine {
	if len(t.CostStates) == 0 {
		return nil
	}
	r := usage.Reconcile(t.Calls(), t.CostStates, usage.DefaultPrices())
	return o.remark("the agent's own account: " + Money(r.Agent))
}

// turnCosts returns what each turn took.
func (o Options) turnCosts(t *transcript.Transcript, l *rows.List) []panelEntry {
	entries := []panelEntry{heading("Turns")}
	turns, others := t.Turns()
	prompts := promptRows(l)
	prices := usage.DefaultPrices()
	add := func(e panelEntry, calls []usage.Call) {
		costs, tokens := usage.Cost(calls, prices), 0
		for i := range calls {
			tokens += calls[i].Usage.TotalTokens()
		}
		e.depth = 1
		w := rows.Work{Cost: costs.Total, UnknownCost: len(costs.Unknown) > 0}
		e.cells = []note{{tty.Dim, Count(tokens) + " tokens"}, {tty.Cost, workCost(&w)}}
		entries = append(entries, e)
	}
	for i := range turns {
		number := turns[i].Number
		e := panelEntry{PanelLine: PanelLine{Turn: number}, text: "before the first prompt"}
		if r := prompts[number]; r != nil {
			e.Row, e.text = r.ID, fmt.Sprintf("#%d %s", number, tty.Line(head(r.Text, o.headBytes())))
		}
		add(e, turns[i].Calls)
	}
	if len(others) > 0 {
		add(panelEntry{style: tty.Dim, text: "branches, and subagents without a call"}, others)
	}
	return entries
}
