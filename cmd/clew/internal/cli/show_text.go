package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/stats"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/pricelist"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/usage"
)

// A showHead writes what stands above and below the text of a session: its name and where it ran, its
// figures, and how to continue it.
type showHead struct {
	opts  render.Options
	id    string
	title string
	dir   string // the working directory
	facts []string
	begun bool
}

// headOf returns the head of a session that was not read yet.
func headOf(info *sessions.SessionInfo, opts render.Options) *showHead {
	h := &showHead{opts: opts, id: info.ID, title: view.TitleOf(&info.Summary), dir: info.CWD}
	h.setFacts(render.ProjectName(info.Directory(), info.Project), info.GitBranch, info.Model, info.Created)
	return h
}

// headOfTranscript returns the head of a transcript.
func headOfTranscript(t *transcript.Transcript, opts render.Options) *showHead {
	title := cmp.Or(render.GivenTitle(t), render.FirstPrompt(t.Chunks))
	h := &showHead{opts: opts, id: t.SessionID, title: title, dir: t.CWD}
	if t.AgentID != "" {
		h.title, h.id = "Agent "+t.AgentID, ""
	}
	h.setFacts(render.ProjectName(t.CWD, ""), t.GitBranch, t.Model, t.Created)
	return h
}

func (h *showHead) setFacts(project, branch, model string, created time.Time) {
	when := ""
	if !created.IsZero() {
		when = created.In(cmp.Or(h.opts.Zone, time.Local)).Format("2 Jan 2006 15:04")
	}
	h.facts = []string{tty.Line(project), tty.Line(render.BranchName(branch)), render.ShortModel(model), when}
}

// begin writes the title and the session's directory, once.
func (h *showHead) begin(w io.Writer) error {
	if h.begun {
		return nil
	}
	h.begun = true
	id := view.ShortID(h.id)
	room := h.width() - len(id) - 2
	if room < 10 {
		id, room = "", h.width()
	}
	title := tty.Fit(cmp.Or(tty.Line(h.title), "Session"), room)
	space := strings.Repeat(" ", max(h.width()-tty.Width(title)-len(id), 0))
	line := tty.Title.Paint(title, h.opts.Color)
	if id != "" {
		line += space + tty.Dim.Paint(id, h.opts.Color)
	}
	_, err := io.WriteString(w, line+"\n"+h.dim(render.Join(h.facts...)))
	return err
}

func (h *showHead) width() int { return cmp.Or(h.opts.Width, 80) }

// dim returns a dim text in as many lines as it needs. They are broken between facts.
func (h *showHead) dim(text string) string {
	if text == "" {
		return ""
	}
	lines := []string{""}
	for part := range strings.SplitSeq(text, " · ") {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = tty.Fit(part, h.width())
		case tty.Width(*last+" · "+part) <= h.width():
			*last += " · " + part
		default:
			lines = append(lines, tty.Fit(part, h.width()))
		}
	}
	return tty.Dim.Paint(strings.Join(lines, "\n"), h.opts.Color) + "\n"
}

func (h *showHead) rule() string {
	return tty.Dim.Paint(strings.Repeat("─", h.width()), h.opts.Color) + "\n"
}

// figures holds the usage and the results of a session.
type figures struct {
	turns          string
	took           time.Duration // the agent's working time
	span           time.Duration // from the start to the end
	in, cached     int           // tokens
	out            int
	cost           string
	files          int
	added, removed int
	context        string // how full it is
	isPart         bool   // of a session; tokens and cost are those of the whole session
}

// totalOf returns what the calls of a transcript took.
func totalOf(t *transcript.Transcript) usage.Totals {
	prices := pricelist.Current()
	return usage.NewReport(t.Calls(), &usage.ReportOptions{Prices: &prices}).Total
}

// figuresOf returns the figures of a session. A transcript that was exported has its totals in the
// document.
func figuresOf(t *transcript.Transcript, totals *usage.Totals) figures {
	f := figures{took: worked(t), span: spanOf(t.Chunks)}
	f.turns, f.isPart = turnsOf(t.Chunks)
	if totals == nil {
		sum := totalOf(t)
		totals = &sum
	}
	sum := totals.Usage
	f.in = sum.InputTokens + sum.CacheReadTokens + sum.CacheCreationTokens
	f.cached, f.out = sum.CacheReadTokens, sum.OutputTokens
	f.cost = wording.CostOf(totals).Known()
	for _, changes := range transcript.Diffs(t.Chunks) {
		f.files, f.added, f.removed = f.files+1, f.added+changes.Added, f.removed+changes.Removed
	}
	f.context = contextFill(t.Chunks)
	return f
}

// turnsOf names the turns of a conversation: their number or, if it is a part of one as in a document
// of some turns, the first and the last.
func turnsOf(chunks []transcript.Chunk) (text string, isPart bool) {
	n, first, last := 0, 0, 0
	for i := range chunks {
		if turn := chunks[i].Turn; turn > last {
			n, first, last = n+1, cmp.Or(first, turn), turn
		}
	}
	switch {
	case n == last || n < last-first+1:
		return wording.Count(n, "turn"), n < last
	case n == 1:
		return fmt.Sprintf("turn %d", last), true
	}
	return fmt.Sprintf("turns %d to %d", first, last), true
}

// spent joins the tokens and the cost.
func (f *figures) spent(tokens string) string {
	text := render.Join(tokens, f.cost)
	if f.isPart && text != "" {
		text = strings.ReplaceAll(text, " · ", ", ") + " of the whole session"
	}
	return text
}

// contextFill returns the fill of the context after the last answer, or "" if it is not known.
func contextFill(chunks []transcript.Chunk) string {
	tokens, window, ok := render.ContextFill(chunks)
	if !ok {
		return ""
	}
	return "context " + render.Percent(tokens, window)
}

// worked returns the agent's working time, without the time in which it waited for prompts.
func worked(t *transcript.Transcript) time.Duration {
	var ms int64
	for i := range t.Chunks {
		ms += t.Chunks[i].DurationMs
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

// spanOf returns the time from the start of the first chunk to the end of the last one.
func spanOf(chunks []transcript.Chunk) time.Duration {
	var first, last time.Time
	for i := range chunks {
		at := chunks[i].Timestamp
		if at.IsZero() {
			continue
		}
		if first.IsZero() {
			first = at
		}
		last = at.Add(time.Duration(chunks[i].DurationMs) * time.Millisecond)
	}
	return max(last.Sub(first), 0)
}

// workTime formats the agent's working time, or returns "" if it is not known.
func workTime(took time.Duration) string {
	if took <= 0 {
		return ""
	}
	return wording.Duration(took)
}

// times returns the agent's working time and, if it waited for long, the total time.
func (f *figures) times() string {
	work := workTime(f.took)
	if work == "" || f.span < 2*f.took || f.span-f.took < 10*time.Minute {
		return work
	}
	return work + " of work in " + wording.Duration(f.span)
}

// figures writes the second part of the head.
func (h *showHead) figures(w io.Writer, f figures) error {
	tokens, files := "", ""
	if f.in > 0 {
		tokens = fmt.Sprintf("%s tokens in (%s cached), %s out", wording.Rounded(f.in), render.Percent(f.cached, f.in), wording.Rounded(f.out))
	}
	if f.files > 0 {
		files = fmt.Sprintf("%s, +%s -%s", wording.Count(f.files, "file"), wording.Number(f.added), wording.Number(f.removed))
	}
	text := h.dim(render.Join(f.turns, f.times(), f.spent(tokens), files))
	_, err := io.WriteString(w, text+h.rule()+"\n")
	return err
}

// end writes the totals once more, and how to continue.
func (h *showHead) end(w io.Writer, f figures) error {
	left := render.Join(f.turns, workTime(f.took), f.spent(""), f.context)
	resume := ""
	if h.id != "" {
		resume = "clew run --resume " + view.ShortID(h.id)
	}
	text := h.rule()
	if space := h.width() - tty.Width(left) - len(resume); resume != "" && space >= 2 {
		text += tty.Dim.Paint(left, h.opts.Color) + strings.Repeat(" ", space) + tty.Path.Paint(resume, h.opts.Color) + "\n"
	} else {
		text += h.dim(left)
		if resume != "" && len(resume) <= h.width() {
			text += tty.Path.Paint(resume, h.opts.Color) + "\n"
		}
	}
	_, err := io.WriteString(w, text)
	return err
}

// printContext writes the growth of the context, turn by turn, and the shares of turns, tools, MCP
// servers and subagents.
func (o *showOptions) printContext(out io.Writer, chosen *selected) error {
	opts := o.style.options(o.streams)
	opts.Day = chosen.Created
	c := &contextPrinter{opts: opts, report: chosen.Context()}
	head := headOfTranscript(chosen.Transcript, opts)
	if err := head.begin(out); err != nil {
		return err
	}
	c.turns(chosen.Transcript)
	c.filling()
	c.tools(chosen.chunks)
	c.agents(chosen.Transcript)
	_, err := io.WriteString(out, c.text.String())
	return err
}

// A contextPrinter writes tables about the context.
type contextPrinter struct {
	opts   render.Options
	report transcript.ContextReport
	byLine map[int]*transcript.ContextTurn // the turns of the report by their lines
	text   strings.Builder
}

// heading starts a part.
func (c *contextPrinter) heading(text string) {
	rows := tty.Wrap(text, c.opts.Width)
	c.text.WriteString("\n" + tty.Title.Paint(strings.Join(rows, "\n"), c.opts.Color) + "\n")
}

// table writes a table, or its rows as lists if it does not fit.
func (c *contextPrinter) table(t *clikit.Table) {
	t.Color = c.opts.Color
	t.Print(&c.text, c.opts.Width)
}

// turns writes the fill of the context at each turn, its growth, and the cost of the turn.
func (c *contextPrinter) turns(t *transcript.Transcript) {
	c.heading("Turns")
	turns, _ := t.Turns()
	rows := clikit.NewTable("TURN>", "TOKENS>", "FULL>", "COST>", "GREW BY", "PROMPT")
	before := map[transcript.ContextClass]int{}
	for _, turn := range turns {
		full := c.at(turn.Chunks)
		cost := usage.Cost(turn.Calls, pricelist.Current())
		tokens, percent, grew := "-", "-", ""
		if full != nil {
			tokens, grew = wording.Rounded(full.Tokens), growth(before, full.By)
			before = full.By
			if full.Window > 0 {
				percent = render.Percent(full.Tokens, full.Window)
			}
		}
		rows.AddClean(fmt.Sprint(turn.Number), tokens, percent, cmp.Or(wording.CostOfCalls(cost).Note(), "-"),
			grew, tty.Fit(tty.Line(promptOfTurn(&turn)), 40))
		rows.Style(tty.Dim, tty.Plain, tty.Plain, tty.Cost, tty.Plain, tty.Prompt)
	}
	c.table(rows)
	for _, compaction := range c.report.Compactions {
		lines := tty.Wrap(compactionText(&compaction), c.opts.Width)
		c.text.WriteString(tty.Dim.Paint(strings.Join(lines, "\n"), c.opts.Color) + "\n")
	}
}

// at returns how full the context was at the end of some chunks, or nil if that is not known.
func (c *contextPrinter) at(chunks []transcript.Chunk) *transcript.ContextTurn {
	if c.byLine == nil {
		c.byLine = map[int]*transcript.ContextTurn{}
		for i := range c.report.Turns {
			c.byLine[c.report.Turns[i].Line] = &c.report.Turns[i]
		}
	}
	var found *transcript.ContextTurn
	for i := range chunks {
		for _, line := range chunks[i].Lines {
			if turn := c.byLine[line]; turn != nil {
				found = turn
			}
		}
	}
	return found
}

func promptOfTurn(turn *transcript.Turn) string {
	for i := range turn.Chunks {
		if turn.Chunks[i].Type == transcript.UserChunk {
			return turn.Chunks[i].Text
		}
	}
	return ""
}

// growth names the classes that grew most, at most three.
func growth(before, after map[transcript.ContextClass]int) string {
	type part struct {
		class  transcript.ContextClass
		tokens int
	}
	var parts []part
	for class, tokens := range after {
		if more := tokens - before[class]; more > 0 {
			parts = append(parts, part{class, more})
		}
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.tokens, a.tokens), cmp.Compare(a.class, b.class))
	})
	var words []string
	for _, p := range parts[:min(3, len(parts))] {
		words = append(words, render.ClassName(p.class)+" "+wording.Rounded(p.tokens))
	}
	return strings.Join(words, ", ")
}

func compactionText(c *transcript.ContextCompaction) string {
	text, size := render.CompactionParts(c)
	text += fmt.Sprintf(" at line %d", c.Line)
	if size != "" {
		text += ": " + size
	}
	return text
}

// filling writes what fills the context at the end.
func (c *contextPrinter) filling() {
	if len(c.report.Turns) == 0 {
		return
	}
	last := &c.report.Turns[len(c.report.Turns)-1]
	c.heading(render.ContextTitle(last))
	classes := slices.SortedFunc(maps.Keys(last.By), func(a, b transcript.ContextClass) int {
		return cmp.Or(cmp.Compare(last.By[b], last.By[a]), cmp.Compare(a, b))
	})
	percentPerCell := 4
	if c.opts.Width > 0 && c.opts.Width < clikit.Narrow {
		percentPerCell = 10
	}
	cell := barCell()
	rows := clikit.NewTable("", "TOKENS>", "SHARE>", "")
	for _, class := range classes {
		tokens := last.By[class]
		bar := strings.Repeat(cell, max(tokens, 0)*100/max(last.Tokens, 1)/percentPerCell)
		rows.AddClean(render.ClassName(class), wording.Rounded(tokens), render.Percent(tokens, last.Tokens), bar)
		rows.Style(tty.Plain, tty.Plain, tty.Plain, tty.Tool)
	}
	c.table(rows)
}

// tools writes the calls by tool and by MCP server, as stats does.
func (c *contextPrinter) tools(chunks []transcript.Chunk) {
	var calls []usage.ToolCall
	for i := range chunks {
		for j := range chunks[i].Items {
			item := &chunks[i].Items[j]
			if !item.IsCall() {
				continue
			}
			input := rows.InputTokens(item)
			calls = append(calls, usage.ToolCall{
				Name: cmp.Or(item.ToolName, "tool"), Model: chunks[i].Model, InputTokens: input, ResultTokens: max(item.TokenCount-input, 0),
				Failed: item.ToolError,
			})
		}
	}
	if len(calls) == 0 {
		return
	}
	prices := pricelist.Current()
	c.heading("Tools")
	tools := c.usesTable("TOOL")
	for _, row := range stats.CountTools(calls, prices, false).Rows {
		tools.add(row.Tool, &row.ToolSums, tty.Plain, costField(row.Cost(), false))
	}
	c.table(tools.Table)
	if servers := stats.CountTools(calls, prices, true).Servers(); len(servers) > 0 {
		c.heading("MCP servers")
		table := c.usesTable("SERVER")
		for _, s := range servers {
			table.add(s.Name, &s.ToolSums, tty.Plain, costField(s.Cost(), false))
		}
		c.table(table.Table)
	}
	c.text.WriteString(tty.Dim.Paint(strings.Join(tty.Wrap(stats.ToolCostRemark, c.opts.Width), "\n"), c.opts.Color) + "\n")
}

func (c *contextPrinter) usesTable(first string) *figureTable[stats.ToolSums] {
	t := newFigureTable(first, stats.BriefToolFigures)
	t.short = true
	return t
}

// agents writes what subagents took.
func (c *contextPrinter) agents(t *transcript.Transcript) {
	rows := clikit.NewTable("AGENT", "CALLS>", "TOKENS>", "COST>", "TASK")
	for _, a := range agentsOf(t) {
		if a.Transcript == nil || a.Kind() != transcript.AgentWork {
			continue
		}
		total := totalOf(a.Transcript)
		rows.AddClean(view.ShortID(a.ID), fmt.Sprint(render.ToolCalls(a.Transcript)), wording.Rounded(total.Usage.TotalTokens()),
			cmp.Or(wording.CostOf(&total).Note(), "-"), tty.Line(cmp.Or(a.Description(), a.Type())))
		rows.Style(tty.Dim, tty.Plain, tty.Plain, tty.Cost, tty.Plain)
	}
	if rows.Height() > 0 {
		c.heading("Subagents")
		c.table(rows)
	}
}
