package export

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/clewdev/clew/transcript"
)

// conversation writes chunks, and behind each of them the branches that hang on
// it. Those that hang on none are at the end.
func (p *page) conversation(chunks []Chunk, branches []Branch) {
	written := make([]bool, len(branches))
	for i := range chunks {
		c := &chunks[i]
		p.chunk(c)
		for j := range branches {
			if from := branches[j].FromLine; !written[j] && from > 0 && from >= c.FirstLine && from <= c.LastLine {
				written[j] = true
				p.branch(&branches[j], j)
			}
		}
	}
	for j := range branches {
		if !written[j] {
			p.branch(&branches[j], j)
		}
	}
}

func (p *page) branch(b *Branch, number int) {
	if p.full() {
		return
	}
	p.raw(`<details class="branch"` + p.open() + `><summary>Left behind by a rewind: `)
	p.text(plural(len(b.Chunks), "part"))
	p.raw("</summary>")
	inside := *p
	inside.place = fmt.Sprintf("%sb%d-", p.place, number+1)
	inside.conversation(b.Chunks, nil)
	p.raw("</details>\n")
}

func (p *page) chunk(c *Chunk) {
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

// byline writes who says something, and when.
func (p *page) byline(who string, c *Chunk, notes ...string) {
	p.raw(`<header class="by">`)
	p.element("span", `class="who"`, who)
	for _, note := range notes {
		if note != "" {
			p.element("span", `class="note"`, note)
		}
	}
	if !c.Time.IsZero() {
		p.raw(`<time datetime="` + c.Time.UTC().Format("2006-01-02T15:04:05Z") + `">`)
		p.text(p.time(c.Time, "15:04:05"))
		p.raw("</time>")
	}
	p.raw("</header>")
}

func (p *page) prompt(c *Chunk) {
	p.rawf(`<article class="chunk user" id="`+p.place+`%d"><a class="anchor" href="#`+p.place+`%d">%d</a>`, c.Turn, c.Turn, c.Turn)
	who := "You"
	if p.depth > 0 {
		who = "Prompt"
	}
	p.byline(who, c, attached(c), queued(c))
	p.part(`class="said"`, c.Text)
	p.injected(c.Injected)
	p.ending(c)
	p.raw("</article>\n")
}

func attached(c *Chunk) string {
	var parts []string
	if c.Images > 0 {
		parts = append(parts, plural(c.Images, "picture"))
	}
	if c.Documents > 0 {
		parts = append(parts, plural(c.Documents, "document"))
	}
	return strings.Join(parts, ", ")
}

func queued(c *Chunk) string {
	if c.Queued {
		return "typed while the agent worked"
	}
	return ""
}

func (p *page) answer(c *Chunk) {
	p.raw(`<article class="chunk ai">`)
	duration, context := "", ""
	if c.DurationMS > 0 {
		duration = formatDuration(c.DurationMS)
	}
	if u := c.Usage; u != nil {
		context = formatCount(u.InputTokens+u.CacheReadTokens+u.CacheCreationTokens) + " tokens of context"
	}
	p.byline(cmp.Or(oneLine(strings.TrimPrefix(c.Model, "claude-"), 40), "Agent"), c, duration, context)
	for i := range c.Items {
		p.item(&c.Items[i])
	}
	if len(c.Items) == 0 {
		p.prose(c.Text)
	}
	p.injected(c.Injected)
	p.ending(c)
	p.raw("</article>\n")
}

func (p *page) ending(c *Chunk) {
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

func (p *page) notice(c *Chunk) {
	class := "notice"
	if c.IsError {
		class += " bad"
	}
	p.raw(`<aside class="chunk ` + class + `">`)
	p.part(`class="said"`, c.Text)
	p.ending(c)
	p.raw("</aside>\n")
}

func (p *page) compaction(c *Chunk) {
	p.raw(`<section class="chunk compact"><p class="rule"><span>`)
	text := "The conversation was compacted"
	if k := c.Compaction; k != nil && k.PreTokens > 0 {
		text += ": " + formatCount(k.PreTokens)
		if k.PostTokens > 0 {
			text += " to " + formatCount(k.PostTokens)
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

// injected writes what was put in for the model.
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

// open returns the attribute of an open part, if parts are to be open.
func (p *page) open() string {
	if p.Expand {
		return " open"
	}
	return ""
}

// part writes a text of people, cut if it is too long.
func (p *page) part(attributes, text string) { p.pre(attributes, text, p.limit()) }

// output writes a text of a tool or for the model.
func (p *page) output(attributes, text string) { p.pre(attributes, text, p.most) }

func (p *page) pre(attributes, text string, limit int) {
	head, missing := shorten(text, limit)
	p.element("pre", attributes, head)
	p.missing(missing)
}

func (p *page) missing(n int) {
	if n > 0 {
		p.element("p", `class="missing"`, formatSize(n)+" more are not shown; --full shows all")
	}
}
