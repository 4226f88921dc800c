package export

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/transcript"
)

//go:embed page.css
var pageStyle string

// pageScript finds, expands and copies. It makes its own elements, so that a page whose scripts do
// not run has none that do nothing.
//
//go:embed page.js
var pageScript string

// A page writes a document as HTML.
type page struct {
	*markup
	*View
	*bounds
	*proseCache
	stopped func() error // returns the error of the context
	doc     *Document
	counts  counts
	depth   int    // how deep the current subagent is nested
	prefix  string // of the IDs of turns in the current conversation
}

// firstPrefix is the prefix of the IDs of turns in the session.
const firstPrefix = "t"

func newPage(ctx context.Context, w io.Writer, d *Document, view *View) *page {
	return &page{
		markup: newMarkup(w), View: view, bounds: new(bounds), proseCache: new(proseCache), stopped: ctx.Err,
		doc: d, counts: d.count(), prefix: firstPrefix,
	}
}

func (p *page) write() error {
	p.head()
	p.raw(`<body><a class="skip" href="#conversation">Skip to the conversation</a><div class="page">`)
	p.contents()
	p.raw(`<div class="main">`)
	p.summary()
	p.raw(`<main id="conversation">`)
	p.conversation(p.doc.Chunks, p.doc.Branches)
	p.unlinked()
	p.endNote()
	p.raw("</main>")
	p.foot()
	p.raw("</div></div><script>" + pageScript + "</script></body></html>\n")
	p.full() // records an error if the page is too long
	return p.flush()
}

// policy allows the style and the script of the page, and embedded images. Nothing else is loaded or
// run, and the script can't make elements of a text.
func policy() string {
	return "default-src 'none'; img-src data:; style-src " + hash(pageStyle) + "; script-src " + hash(pageScript) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// hash names a text in a policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// head writes the head of the page.
func (p *page) head() {
	p.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
	p.raw(`<meta http-equiv="Content-Security-Policy" content="` + policy() + `">`)
	p.raw(`<meta name="viewport" content="width=device-width, initial-scale=1">`)
	p.raw(`<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">`)
	p.raw(`<meta name="generator" content="clew">`)
	p.element("title", "", p.doc.heading())
	p.raw("<style>" + pageStyle + "</style></head>\n")
}

// heading returns the title of the document, or its first prompt.
func (d *Document) heading() string {
	return cmp.Or(oneLine(d.Title, 120), oneLine(firstLine(render.FirstPrompt(d.Chunks)), 80), "Session")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// contents writes the table of contents: the turns, beside the conversation if there is room.
func (p *page) contents() {
	p.raw(`<nav class="turns" aria-label="Turns"><p class="navhead">Turns</p><ol>`)
	listed := 0
	for i := range p.doc.Chunks {
		c := &p.doc.Chunks[i]
		if listed == maxContents && p.page > 0 {
			p.raw(`<li class="cut">and more</li>`)
			break
		}
		if c.Type == transcript.UserChunk {
			listed++
			p.rawf(`<li><a href="#t%d"><span class="num">%d</span> `, c.Turn, c.Turn)
			p.element("span", "", cmp.Or(oneLine(c.Text, 70), "…"))
			p.raw("</a></li>")
		}
		if c.Type == transcript.CompactChunk {
			p.raw(`<li class="cut">compacted</li>`)
		}
	}
	p.raw("</ol></nav>\n")
}

// summary writes the facts and figures of the session.
func (p *page) summary() {
	d := p.doc
	p.raw(`<header class="summary">`)
	p.raw(`<p class="kicker">Claude Code session</p>`)
	p.element("h1", "", d.heading())
	p.raw(`<p class="facts">`)
	p.fact("project", d.CWD, render.ProjectName(d.CWD, ""))
	branch := render.BranchName(d.GitBranch)
	p.fact("branch", branch, branch)
	p.fact("tag", d.Tag, d.Tag)
	p.fact("when", "", wording.Span(p.in(d.Created), d.Modified))
	p.fact("agent", "", d.Version)
	p.raw("</p>")
	p.figures()
	p.models()
	p.cutNote()
	p.raw("</header>\n")
}

func (p *page) fact(name, title, text string) {
	if text == "" {
		return
	}
	p.raw(`<span class="fact" title=` + attr(title) + `><span class="label">` + name + "</span> ")
	p.text(oneLine(text, 80))
	p.raw("</span> ")
}

// figures writes the figures at the head of the page.
func (p *page) figures() {
	t, n := &p.doc.Totals, &p.counts
	p.raw(`<dl class="figures">`)
	p.figure("turns", wording.Number(n.turns), "")
	p.figure("tool calls", wording.Number(n.calls), failedCalls(n.failed))
	if n.agents > 0 {
		p.figure("subagents", wording.Number(n.agents), "")
	}
	if n.files > 0 {
		p.figure("files changed", wording.Number(n.files), "+"+wording.Number(n.added)+" −"+wording.Number(n.removed))
	}
	p.figure("tokens in", wording.Rounded(t.Usage.InputTokens+t.Usage.CacheReadTokens+t.Usage.CacheCreationTokens),
		wording.Rounded(t.Usage.CacheReadTokens)+" from cache")
	p.figure("tokens out", wording.Rounded(t.Usage.OutputTokens), "")
	p.figure("cost", wording.CostOf(t).Long(), "at list prices of "+oneLine(cmp.Or(p.doc.PricesDate, "an unknown date"), 20))
	p.raw("</dl>")
}

func failedCalls(n int) string {
	if n == 0 {
		return ""
	}
	return wording.Number(n) + " failed"
}

func (p *page) figure(name, value, note string) {
	p.raw("<div>")
	p.element("dt", "", name)
	p.element("dd", "", value)
	if note != "" {
		p.element("dd", `class="note"`, note)
	}
	p.raw("</div>")
}

// models writes the usage by model.
func (p *page) models() {
	if len(p.doc.Totals.Models) == 0 {
		return
	}
	p.raw(`<details class="models"><summary>Usage by model</summary><div class="scroll"><table><thead><tr><th>Model</th>`)
	p.raw(`<th class="r">Calls</th><th class="r">Input</th><th class="r">Cache written</th><th class="r">Cache read</th>`)
	p.raw(`<th class="r">Output</th><th class="r">Cost</th></tr></thead><tbody>`)
	for _, m := range p.doc.Totals.Models {
		cost := wording.Cost{Amount: m.Cost, Partial: m.UnknownCost}
		p.raw("<tr>")
		p.element("td", "", oneLine(m.Model, 60))
		for _, n := range []int{
			m.Calls, m.Usage.InputTokens, m.Usage.CacheCreationTokens, m.Usage.CacheReadTokens, m.Usage.OutputTokens,
		} {
			p.element("td", `class="r"`, wording.Rounded(n))
		}
		p.element("td", `class="r"`, cost.Short())
		p.raw("</tr>")
	}
	p.raw("</tbody></table></div></details>")
}

// foot writes the footer: the session, and the redactions.
func (p *page) foot() {
	p.raw("<footer>")
	if p.doc.SessionID != "" {
		p.element("p", "", "Session "+oneLine(p.doc.SessionID, 60))
	}
	if n := len(p.doc.Redacted); p.doc.Redacted != nil {
		p.element("p", "", "Redacted: "+redactedText(p.doc.Redacted, n))
	}
	p.raw("<p>Made by clew</p></footer>")
}

// conversation writes chunks, and after each chunk the branches that start there. Other branches
// are at the end.
func (p *page) conversation(chunks []transcript.Chunk, branches []transcript.Branch) {
	starting := branchStarts(chunks, branches)
	for i := range chunks {
		p.chunk(&chunks[i])
		for _, j := range starting[i] {
			p.branch(&branches[j], j)
		}
	}
	for _, j := range starting[len(chunks)] {
		p.branch(&branches[j], j)
	}
}

// branchStarts returns the indexes of the branches that start at each chunk, by the index of the
// chunk. A branch starts at the first chunk with its line. Those without one have the index
// len(chunks).
func branchStarts(chunks []transcript.Chunk, branches []transcript.Branch) map[int][]int {
	order := make([]int, len(branches)) // by line
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(branches[a].FromLine, branches[b].FromLine) })
	from := func(k int) int { return branches[order[k]].FromLine }
	// next leads from each position in order to the next one without a chunk, in a few steps.
	next := make([]int, len(order)+1)
	for k := range next {
		next[k] = k
	}
	find := func(k int) int {
		for next[k] != k {
			next[k] = next[next[k]]
			k = next[k]
		}
		return k
	}
	starting := map[int][]int{}
	for i := range chunks {
		first, last := chunks[i].LineRange()
		start := sort.Search(len(order), func(k int) bool { return from(k) >= max(first, 1) })
		for k := find(start); k < len(order) && from(k) <= last; k = find(k) {
			starting[i] = append(starting[i], order[k])
			next[k] = k + 1
		}
		slices.Sort(starting[i])
	}
	for k := find(0); k < len(order); k = find(k + 1) {
		starting[len(chunks)] = append(starting[len(chunks)], order[k])
	}
	slices.Sort(starting[len(chunks)])
	return starting
}

func (p *page) branch(b *transcript.Branch, number int) {
	if p.full() {
		return
	}
	p.raw(`<details class="branch"` + p.open() + `><summary>Rewound: `)
	p.text(wording.Count(len(b.Chunks), "message"))
	p.raw("</summary>")
	inside := *p
	inside.prefix = fmt.Sprintf("%sb%d-", p.prefix, number+1)
	inside.conversation(b.Chunks, nil)
	p.raw("</details>\n")
}

func (p *page) chunk(c *transcript.Chunk) {
	if p.full() {
		return
	}
	switch c.Type {
	case transcript.UserChunk:
		p.prompt(c)
	case transcript.CompactChunk:
		p.compaction(c)
	case transcript.SystemChunk:
		p.notice(c)
	default:
		p.answer(c)
	}
}

// byline writes the author and the time of an answer.
func (p *page) byline(who string, c *transcript.Chunk, notes ...string) {
	p.raw(`<header class="by">`)
	p.element("span", `class="who"`, who)
	p.notes(c, notes)
	p.raw("</header>")
}

// notes writes the notes beside an author, and the time.
func (p *page) notes(c *transcript.Chunk, notes []string) {
	for _, note := range notes {
		if note != "" {
			p.element("span", `class="note"`, note)
		}
	}
	if !c.Timestamp.IsZero() {
		p.raw(`<time datetime="` + c.Timestamp.UTC().Format("2006-01-02T15:04:05Z") + `">`)
		p.text(p.time(c.Timestamp, "15:04:05"))
		p.raw("</time>")
	}
}

// prompt writes a prompt below a heading, and with a link to it.
func (p *page) prompt(c *transcript.Chunk) {
	who, tag := "You", "h2"
	if p.depth > 0 {
		who = "Prompt"
	}
	if p.prefix != firstPrefix {
		tag = "h3" // in a subagent or a branch
	}
	id := p.prefix + strconv.Itoa(c.Turn)
	p.raw(`<article class="chunk user" id="` + id + `"><header class="by"><` + tag + ` class="who">`)
	p.rawf(`<span class="turn">%d</span> `, c.Turn)
	p.raw(who + "</" + tag + ">")
	p.notes(c, []string{attached(c), queued(c), costText(c.Cost)})
	p.rawf(`<a class="anchor" href="#`+id+`" aria-label="Link to turn %d">¶</a></header>`, c.Turn)
	p.said(c.Text)
	p.injected(c.Injected)
	p.ending(c)
	p.raw("</article>\n")
}

func attached(c *transcript.Chunk) string {
	var counts []string
	if c.Images > 0 {
		counts = append(counts, wording.Count(c.Images, "image"))
	}
	if c.Documents > 0 {
		counts = append(counts, wording.Count(c.Documents, "document"))
	}
	return strings.Join(counts, ", ")
}

func queued(c *transcript.Chunk) string {
	if c.Queued {
		return "typed while the agent worked"
	}
	return ""
}

func (p *page) answer(c *transcript.Chunk) {
	p.raw(`<article class="chunk ai">`)
	duration, context := "", ""
	if c.DurationMs > 0 {
		duration = wording.Milliseconds(c.DurationMs)
	}
	if c.Usage.TotalTokens() > 0 {
		context = wording.Tokens(c.Usage.ContextTokens()) + " of context"
	}
	p.byline(cmp.Or(oneLine(render.ShortModel(c.Model), 40), "Agent"), c, duration, context)
	for i := range c.Items {
		p.item(c, &c.Items[i])
	}
	if len(c.Items) == 0 {
		p.prose(c.Text)
	}
	p.injected(c.Injected)
	p.ending(c)
	p.raw("</article>\n")
}

func (p *page) ending(c *transcript.Chunk) {
	if c.Stderr != "" {
		p.output(`class="out err"`, c.Stderr)
	}
	if c.Interrupted {
		p.raw(`<p class="stop">Interrupted by the user</p>`)
	}
	switch c.StopReason {
	case "max_tokens", "refusal":
		p.element("p", `class="stop"`, "Ended by "+c.StopReason)
	}
}

func (p *page) notice(c *transcript.Chunk) {
	class := "notice"
	if c.IsError {
		class += " bad"
	}
	p.raw(`<aside class="chunk ` + class + `">`)
	p.textBlock(`class="said"`, c.Text)
	p.ending(c)
	p.raw("</aside>\n")
}

func (p *page) compaction(c *transcript.Chunk) {
	p.raw(`<section class="chunk compact"><p class="rule"><span>`)
	text := "The conversation was compacted"
	if k := c.Compaction; k != nil && k.PreTokens > 0 {
		text += ": " + wording.Rounded(k.PreTokens)
		if k.PostTokens > 0 {
			text += " to " + wording.Rounded(k.PostTokens)
		}
		text += " tokens"
		if k.Trigger != "" {
			text += ", " + oneLine(k.Trigger, 20)
		}
	}
	p.text(text)
	p.raw("</span></p>")
	if c.Text != "" {
		p.raw(`<details` + p.open() + `><summary>Summary</summary>`)
		p.prose(c.Text)
		p.raw("</details>")
	}
	p.raw("</section>\n")
}

// injected writes the texts that the agent added for the model.
func (p *page) injected(texts []string) {
	for _, text := range texts {
		if p.full() {
			continue
		}
		p.raw(`<details class="quiet"` + p.open() + `><summary>Added for the model</summary>`)
		p.output(`class="out"`, text)
		p.raw("</details>")
	}
}

// open returns the attribute of an open element, if View.Expand is set.
func (p *page) open() string {
	if p.Expand {
		return " open"
	}
	return ""
}

// textBlock writes a text that is not Markdown, cut if it is too long.
func (p *page) textBlock(attributes, text string) { p.pre(attributes, text, p.limit()) }

// output writes a text of a tool or for the model, cut if it is too long.
func (p *page) output(attributes, text string) { p.pre(attributes, text, p.most) }

func (p *page) pre(attributes, text string, limit int) {
	head, missing := shorten(text, limit)
	p.element("pre", attributes, head)
	p.missing(missing)
}

func (p *page) missing(n int) {
	if n > 0 {
		p.element("p", `class="missing"`, wording.Size(n)+" more not shown"+p.hint())
	}
}

// hint describes how to see missing parts.
func (p *page) hint() string {
	switch {
	case p.More != "":
		return "; " + p.More
	case p.Full:
		return ""
	}
	return "; --full shows everything"
}
