package export

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // for the style
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"strings"
	"time"

	"github.com/clewdev/clew/transcript"
)

//go:embed page.css
var pageStyle string

// A page is a document on its way to HTML.
type page struct {
	*markup
	*View
	*bounds
	doc   *Document
	depth int    // of subagents
	place string // what IDs of turns begin with, in the conversation that is written
}

func newPage(w io.Writer, d *Document, view *View, b bounds) *page {
	return &page{markup: newMarkup(w), View: view, bounds: &b, doc: d, place: "t"}
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
	p.raw("</div></div></body></html>\n")
	p.full() // by the last part
	return p.flush()
}

// head writes the head of the page. The policy allows the one style that is in
// it, and pictures that are in the page itself; nothing else is loaded or run.
func (p *page) head() {
	sum := sha256.Sum256([]byte(pageStyle))
	policy := "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
	p.raw("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">")
	p.raw(`<meta http-equiv="Content-Security-Policy" content="` + policy + `">`)
	p.raw(`<meta name="viewport" content="width=device-width, initial-scale=1">`)
	p.raw(`<meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark">`)
	p.raw(`<meta name="generator" content="clew">`)
	p.element("title", "", p.doc.heading())
	p.raw("<style>" + pageStyle + "</style></head>\n")
}

// heading returns the name of the document: its title, or the first prompt.
func (d *Document) heading() string {
	if title := oneLine(d.Title, 120); title != "" {
		return title
	}
	for i := range d.Chunks {
		if text := oneLine(firstLine(d.Chunks[i].Text), 80); text != "" && d.Chunks[i].Type == transcript.UserChunk {
			return text
		}
	}
	return "Session"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// contents writes the list of turns, which stays beside the conversation where
// there is room for it.
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

// summary writes what there is to know of the whole.
func (p *page) summary() {
	d := p.doc
	p.raw(`<header class="summary">`)
	p.raw(`<p class="kicker">Claude Code session</p>`)
	p.element("h1", "", d.heading())
	p.raw(`<p class="facts">`)
	p.fact("project", d.CWD, path.Base(strings.ReplaceAll(d.CWD, `\`, "/")))
	p.fact("branch", d.GitBranch, d.GitBranch)
	p.fact("tag", d.Tag, d.Tag)
	p.fact("when", "", p.span(d.Created, d.Modified))
	p.fact("agent", "", d.Version)
	p.raw("</p>")
	p.figures()
	p.models()
	p.cutNote()
	p.raw("</header>\n")
}

func (p *page) fact(name, title, text string) {
	if text == "" || text == "." {
		return
	}
	p.raw(`<span class="fact" title=` + attr(title) + `><span class="label">` + name + "</span> ")
	p.text(oneLine(text, 80))
	p.raw("</span> ")
}

// span returns the times between which something was.
func (p *page) span(from, to time.Time) string {
	if from.IsZero() {
		return ""
	}
	text := p.time(from, "2 January 2006, 15:04")
	switch {
	case to.IsZero() || to.Sub(from) < time.Minute:
		return text
	case p.time(from, "2006-01-02") == p.time(to, "2006-01-02"):
		return text + "–" + p.time(to, "15:04")
	}
	return text + " – " + p.time(to, "2 January 2006, 15:04")
}

// figures writes the numbers at the head of the page.
func (p *page) figures() {
	t, n := &p.doc.Totals, p.doc.count()
	p.raw(`<dl class="figures">`)
	p.figure("turns", fmt.Sprint(n.turns), "")
	p.figure("tool calls", fmt.Sprint(n.calls), failedCalls(n.failed))
	if n.agents > 0 {
		p.figure("subagents", fmt.Sprint(n.agents), "")
	}
	if n.files > 0 {
		p.figure("files changed", fmt.Sprint(n.files), fmt.Sprintf("+%d −%d", n.added, n.removed))
	}
	p.figure("tokens in", formatCount(t.Usage.InputTokens+t.Usage.CacheReadTokens+t.Usage.CacheCreationTokens),
		formatCount(t.Usage.CacheReadTokens)+" from cache")
	p.figure("tokens out", formatCount(t.Usage.OutputTokens), "")
	p.figure("cost", formatCost(t), "at list prices of "+oneLine(cmp.Or(p.doc.PricesDate, "an unknown day"), 20))
	p.raw("</dl>")
}

func failedCalls(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d failed", n)
}

// formatCost writes a cost, and a mark where it is not all.
func formatCost(t *transcript.Totals) string {
	switch {
	case t.UnknownCost && t.Cost == 0:
		return "unknown"
	case t.UnknownCost:
		return "≥ " + t.Cost.String()
	}
	return t.Cost.String()
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
		cost := transcript.Totals{Cost: m.Cost, UnknownCost: m.UnknownCost}
		p.raw("<tr>")
		p.element("td", "", oneLine(m.Model, 60))
		for _, n := range []int{
			m.Calls, m.Usage.InputTokens, m.Usage.CacheCreationTokens, m.Usage.CacheReadTokens, m.Usage.OutputTokens,
		} {
			p.element("td", `class="r"`, formatCount(n))
		}
		p.element("td", `class="r"`, formatCost(&cost))
		p.raw("</tr>")
	}
	p.raw("</tbody></table></div></details>")
}

// foot writes what the page is, and what was taken out of it.
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
