package export

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/transcript"
)

// hostileParts are the parts of random hostile texts.
var hostileParts = []string{
	"<script>alert(1)</script>", "<img src=x>", "<div>", "</div>", "<!--", "-->", "<?php", "<![CDATA[", "<a href=\"x\">", "<b>",
	"![x](http://evil/a.png)", "![x]", "![x][x]", "[x]: http://evil/px.png\n", "[x]:\nhttp://evil\n'title'\n", "[x]", "[x][]",
	"vec![x]", "[a](javascript:x)", "[a](<b>)", "](http://evil)", "![", "](", "]:", "[", "]", "(", ")", "!", "<", ">", "`", "``",
	"```", "````", "~~~", "~~~~", "```html\n", "~~~a`b\n", "\n", "\n", "\n", "\n\n", "\n\n", " ", "  ", "    ", "\t", "- ", "* ", "+ ", "1. ", "9) ",
	"> ", ">", "# ", "#", " #", "---", "===", "***", "___", "*", "**", "_", "__", "~", "~~", "|", "|a|b|\n|-|-|\n", "\\|", "|-|", ":-:",
	"\\", "\\\n", "  \n", "&lt;", "&#60;", "&#33;", "&#91;", "&#10;", "&#32;&#32;&#32;&#32;", "&nbsp;", "&amp;lt;", "&Tab;",
	"http://a/b_c*d", "<http://a>", "<javascript:x>", "www.a.example", "a@b.example", "a", "b", "word", "é", "[ ] ", "[x] ", "\x1b[31m", "\u2028", "\r\n",
}

func hostileMarkdown(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(24) {
		b.WriteString(hostileParts[r.IntN(len(hostileParts))])
	}
	return b.String()
}

// hostileSession has a text in all places that have Markdown, and elements of the export between
// them.
func hostileSession(prose string) *Document {
	said := func(text string) transcript.DisplayItem {
		return transcript.DisplayItem{Type: transcript.ItemOutput, Text: text}
	}
	call := func(name string) transcript.DisplayItem {
		return transcript.DisplayItem{Type: transcript.ItemToolCall, ToolName: name, HasResult: true}
	}
	inside := []transcript.Chunk{{Type: transcript.AIChunk, Items: []transcript.DisplayItem{said(prose), call("Inner"), said(prose)}}}
	start := call("Start")
	start.Agents = []*transcript.Agent{{
		ID: "a1", Meta: transcript.AgentMeta{Description: "The subagent"}, Transcript: &transcript.Transcript{Chunks: inside},
	}}
	return &Document{Title: prose, Chunks: []transcript.Chunk{
		{Type: transcript.UserChunk, Turn: 1, Text: prose},
		{Type: transcript.AIChunk, Items: []transcript.DisplayItem{said(prose), start, call("End"), said(prose)}},
		{Type: transcript.CompactChunk, Text: prose},
		{Type: transcript.UserChunk, Turn: 2, Text: "the end"},
	}}
}

// checkMarkdown fails if exported Markdown has an element that could be loaded or run, or if a text
// changed the blocks of the export.
func checkMarkdown(t *testing.T, prose string) {
	t.Helper()
	source := []byte(written(t, hostileSession(prose), Markdown, &View{Full: true}))
	root := markdown.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, _ bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.RawHTML, *ast.HTMLBlock, *ast.Image, *ast.LinkReferenceDefinition:
			t.Errorf("%q has %s in\n%s", prose, n.Kind(), source)
		case *ast.Link:
			if target := markdown.Unescape(string(n.Destination)); startsScript(target) || !harmlessTarget().MatchString(target) {
				t.Errorf("%q has a link to %q in\n%s", prose, target, source)
			}
		}
		return ast.WalkContinue, nil
	})
	var blocks []string // the export's, and the blocks between the subagent and the next call
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		switch content := strings.TrimSpace(string(n.Lines().Value(source))); content {
		case "**Start**", "**Subagent** The subagent", "**End**", "Compacted", "2. You":
			blocks = append(blocks, content)
		default:
			if k := len(blocks); k > 0 && strings.HasPrefix(blocks[k-1], "**Subagent") {
				blocks = append(blocks, n.Kind().String())
			}
		}
	}
	want := "**Start**, **Subagent** The subagent, Blockquote, **End**, Compacted, 2. You"
	if got := strings.Join(blocks, ", "); got != want {
		t.Errorf("%q becomes blocks %s in\n%s", prose, got, source)
	}
}

// No text gets tags, images or definitions into exported Markdown, or out of its place.
func TestHostileProse(t *testing.T) {
	t.Parallel()
	for _, prose := range []string{
		"- a\n  ```\n<script>alert(1)</script>\n  ```\n",
		"vec![x]\n\n[x]: http://evil/px.png",
		"````]:   ```<img src=x>>\n\n````\n\n> <script>alert(1)</script>",
		hostileText,
	} {
		checkMarkdown(t, prose)
	}
	r := rand.New(rand.NewPCG(1, 2))
	texts := soak.Size(500, 50_000)
	for range texts {
		if checkMarkdown(t, hostileMarkdown(r)); t.Failed() {
			return
		}
	}
	soak.Figure(t, "%d hostile texts in Markdown, all in their place", texts)
}

func FuzzSafeMarkdown(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		f.Add(hostileMarkdown(r))
	}
	f.Fuzz(func(t *testing.T, prose string) {
		if len(prose) < 4000 {
			checkMarkdown(t, prose)
		}
	})
}

// Almost all texts are written as Markdown, and not as plain text.
func TestFewTextsArePlain(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	plain, all := 0, soak.Size(1000, 20_000)
	for range all {
		prose := hostileMarkdown(r)
		if _, reason := safeMarkdown(prose); reason != "" {
			t.Logf("plain: %q", prose)
			plain++
		}
	}
	if plain > all/100 {
		t.Errorf("%d of %d hostile texts are plain", plain, all)
	}
	for name, doc := range recorded(t) {
		if page := written(t, doc, Markdown, nil); bytes.Contains([]byte(page), []byte("too complex")) {
			t.Errorf("%s has a text that is too complex", name)
		}
	}
}
