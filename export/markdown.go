package export

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
)

// A markdownWriter writes a document as Markdown.
type markdownWriter struct {
	w io.Writer
	*View
	stopped func() error // returns the error of the context
	err     error
	dir     string // working directory of the agent
	indent  string // before each line
	depth   int
}

func writeMarkdown(ctx context.Context, w io.Writer, d *Document, view *View) error {
	out := bufio.NewWriterSize(w, 64<<10)
	s := &markdownWriter{w: out, View: view, stopped: ctx.Err, dir: d.CWD}
	s.summary(d)
	s.conversation(d.Chunks)
	for i := range d.Branches {
		s.block(fmt.Sprintf("---\n\n*Rewound, at line %d:*", d.Branches[i].FromLine))
		s.conversation(d.Branches[i].Chunks)
	}
	if len(d.Unlinked) > 0 {
		s.block("## Other subagents")
		s.agents(d.Unlinked)
	}
	if d.Redacted != nil {
		s.block("---\n\nRedacted: " + redactedText(d.Redacted, len(d.Redacted)))
	}
	if s.err == nil {
		s.err = out.Flush()
	}
	return s.err
}

// ended reports whether nothing more is written, since the context is over or a write failed.
func (s *markdownWriter) ended() bool {
	if s.err == nil {
		s.err = s.stopped()
	}
	return s.err != nil
}

// block writes lines, followed by an empty line.
func (s *markdownWriter) block(text string) {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		b.WriteString(strings.TrimRight(s.indent+line, " ") + "\n")
	}
	b.WriteString(strings.TrimRight(s.indent, " ") + "\n")
	if s.err == nil {
		_, s.err = io.WriteString(s.w, b.String())
	}
}

func (s *markdownWriter) summary(d *Document) {
	s.block("# " + inline(d.heading()))
	t, n := &d.Totals, d.count()
	lines := []string{}
	add := func(name, text string) {
		if text != "" {
			lines = append(lines, "- "+name+": "+text)
		}
	}
	add("Session", code(d.SessionID))
	add("Project", code(d.CWD))
	add("Branch", code(render.BranchName(d.GitBranch)))
	add("Model", code(d.Model))
	if !d.Created.IsZero() {
		add("Time", s.time(d.Created, wording.DateTime)+" to "+s.time(d.Modified, wording.DateTime))
	}
	add("Turns", wording.Number(n.turns))
	add("Tool calls", wording.Number(n.calls)+", "+wording.Number(n.failed)+" failed")
	if n.files > 0 {
		add("Files changed", wording.Number(n.files)+", +"+wording.Number(n.added)+" -"+wording.Number(n.removed))
	}
	add("Tokens", fmt.Sprintf("%s in, %s from cache, %s written to cache, %s out",
		wording.Rounded(t.Usage.InputTokens), wording.Rounded(t.Usage.CacheReadTokens),
		wording.Rounded(t.Usage.CacheCreationTokens), wording.Rounded(t.Usage.OutputTokens)))
	add("Cost", wording.CostOf(t).Long()+" at list prices of "+inline(oneLine(cmp.Or(d.PricesDate, "an unknown date"), 20)))
	s.block(strings.Join(lines, "\n"))
}

func (s *markdownWriter) conversation(chunks []transcript.Chunk) {
	for i := range chunks {
		s.chunk(&chunks[i])
	}
}

func (s *markdownWriter) chunk(c *transcript.Chunk) {
	if s.ended() {
		return
	}
	at := ""
	if !c.Timestamp.IsZero() {
		at = " · " + s.time(c.Timestamp, "2006-01-02 15:04:05")
	}
	switch c.Type {
	case transcript.UserChunk:
		who := "You"
		if s.depth > 0 {
			who = "Prompt"
		}
		s.block(fmt.Sprintf("## %d. %s%s", c.Turn, who, at))
		s.quote(strings.TrimSpace(attachedLine(c) + c.Text))
	case transcript.CompactChunk:
		s.block("## Compacted" + at)
		s.prose(c.Text)
	case transcript.SystemChunk:
		s.quote(c.Text)
	default:
		s.block("### " + inline(cmp.Or(oneLine(c.Model, 60), "Agent")) + at)
		s.items(c)
	}
	s.fence(c.Stderr, "")
	if c.Interrupted {
		s.block("*Interrupted by the user.*")
	}
}

func attachedLine(c *transcript.Chunk) string {
	if text := attached(c); text != "" {
		return "(" + text + ")\n"
	}
	return ""
}

func (s *markdownWriter) items(c *transcript.Chunk) {
	for i := range c.Items {
		s.item(c, &c.Items[i])
	}
	if len(c.Items) == 0 {
		s.prose(c.Text)
	}
}

func (s *markdownWriter) item(c *transcript.Chunk, i *transcript.DisplayItem) {
	if s.ended() {
		return
	}
	switch i.Type {
	case transcript.ItemThinking:
		if s.Thinking && strings.TrimSpace(i.Text) != "" {
			s.block("*Thinking:*")
			s.quote(i.Text)
		}
	case transcript.ItemToolCall, transcript.ItemSubagent:
		s.call(c, i)
	case transcript.ItemTeammateMessage:
		s.block("**" + inline(cmp.Or(oneLine(i.TeammateID, 60), "teammate")) + "**")
		s.quote(i.Text)
	default:
		s.prose(i.Text)
	}
}

func (s *markdownWriter) call(c *transcript.Chunk, i *transcript.DisplayItem) {
	diffs := i.Diffs()
	line := render.Options{Dir: s.dir}.CallLine(c, i, diffs)
	text := "**" + inline(oneLine(line.Name, 60)) + "**"
	if line.Summary != "" {
		text += " " + code(oneLine(line.Summary, 160))
	}
	if line.Outcome != "" {
		text += " (" + line.Outcome + ")"
	}
	s.block(text)
	if len(diffs) == 0 || i.IsCommand() {
		s.input(i)
	}
	for k := range diffs {
		s.fence(diffs[k].String(), "diff")
	}
	if len(diffs) == 0 || i.IsCommand() {
		s.fence(i.ShownResult(), "")
	}
	if i.ResultImages > 0 {
		s.block("*" + wording.Count(i.ResultImages, "image") + "*")
	}
	if text := render.Permission(i, false); text != "" {
		s.block("*" + text + "*")
	}
	s.agents(i.Agents)
}

func (s *markdownWriter) input(i *transcript.DisplayItem) {
	if input, err := i.Input(); err == nil {
		switch input := input.(type) {
		case *tooluse.BashInput:
			s.fence(input.Command, "sh")
			return
		case *tooluse.AgentInput:
			s.quote(input.Prompt)
			return
		}
	}
	s.fence(indent(i.ToolInput), "json")
}

// agents writes the conversations of subagents, as quotes.
func (s *markdownWriter) agents(agents []*transcript.Agent) {
	for _, a := range agents {
		title := strings.TrimSpace(oneLine(a.Type(), 40) + " " + oneLine(a.Description(), 120))
		s.block("**Subagent** " + inline(cmp.Or(title, oneLine(a.ID, 60))))
		if s.depth >= maxDepth {
			s.block("*Nested too deeply to show.*")
			continue
		}
		inside := *s
		inside.indent, inside.depth = s.indent+"> ", s.depth+1
		inside.conversation(conversationOf(a).Chunks)
		s.err = inside.err
	}
}

// quote writes a text that is not Markdown as a quote.
func (s *markdownWriter) quote(text string) {
	head, missing := shorten(text, s.limit())
	lines := strings.Split(strings.TrimRight(clean(head), "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight("> "+escapeLine(line), " ")
		if i+1 < len(lines) && line != "" && lines[i+1] != "" {
			lines[i] += "  " // a line break
		}
	}
	if text != "" {
		s.block(strings.Join(lines, "\n"))
	}
	s.missing(missing)
}

// prose writes a text that is Markdown.
func (s *markdownWriter) prose(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	head, missing := shorten(text, s.limit())
	made, reason := safeMarkdown(head)
	switch reason {
	case "":
		s.block(made)
		s.missing(missing)
		return
	case markdown.TooComplex:
		s.block("*Shown as plain text, since its Markdown is too complex.*")
	}
	s.fence(text, "")
}

// fence writes a text between lines of backticks, which are longer than any run of backticks in the
// text.
func (s *markdownWriter) fence(text, language string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	head, missing := shorten(text, s.limit())
	s.block(fenced(clean(head), language))
	s.missing(missing)
}

func (s *markdownWriter) missing(n int) {
	if n > 0 {
		s.block("*" + wording.Size(n) + " more not shown; --full shows everything.*")
	}
}

func longestRun(text string, c byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// code returns a text as inline code, or "" if it is blank.
func code(text string) string {
	text = oneLine(text, 300)
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text, '`')+1)
	if len(ticks) > 1 {
		return ticks + " " + text + " " + ticks
	}
	return ticks + text + ticks
}

// inline returns a text as one line, cleaned and escaped.
func inline(text string) string { return escapeLine(clean(strings.ReplaceAll(text, "\n", " "))) }

// markdownSigns are the characters with a meaning in Markdown.
const markdownSigns = "\\`*_[]<>#|~&!"

// escapeLine escapes a line, so that Markdown shows it as it is.
func escapeLine(line string) string {
	var b strings.Builder
	indented := strings.TrimLeft(line, " \t")
	b.WriteString(strings.Repeat("&nbsp;", min(len(line)-len(indented), 40)))
	for i := range len(indented) {
		c := indented[i]
		if strings.IndexByte(markdownSigns, c) >= 0 || c == ':' || i == 0 && (c == '-' || c == '+' || c == '=') {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return numbered().ReplaceAllString(b.String(), `$1\$2`)
}

// numbered finds the number of a list item.
var numbered = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,9})([.)])`) })

// harmlessTarget matches a page, an address, or a file beside the document.
var harmlessTarget = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:https?://|mailto:|#|[\w./~-]+(?:[#?:][\w.-]*)?$)`)
})

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// startsScript reports whether a text starts like a URL that a browser would run, or open as a
// file.
func startsScript(text string) bool {
	scheme, _, found := strings.Cut(html.UnescapeString(clip.Bytes(text, 200)), ":")
	if !found {
		return false
	}
	letters := func(r rune) rune {
		if r <= ' ' || r == '\\' || r == '<' {
			return -1 // browsers ignore it
		}
		return unicode.ToLower(r)
	}
	switch strings.Map(letters, scheme) {
	case "javascript", "vbscript", "data", "file":
		return true
	}
	return false
}
