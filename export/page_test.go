package export

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/clewdev/clew/internal/highlight"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/transcript"
)

// pageTags are the elements that a page may have, with their attributes.
var pageTags = map[string]string{
	"html": "lang", "head": "", "meta": "charset http-equiv content name", "title": "", "style": "", "body": "",
	"a": "href rel class aria-label", "div": "class", "nav": "class aria-label", "p": "class", "ol": "start", "ul": "class", "li": "class",
	"span": "class title", "main": "id", "header": "class", "h1": "", "h2": "class", "h3": "class", "h4": "", "h5": "", "h6": "",
	"dl": "class", "dt": "", "dd": "class", "details": "class open", "summary": "", "table": "", "thead": "", "tbody": "",
	"tr": "class", "th": "class align", "td": "class align", "article": "class id", "aside": "class", "section": "class",
	"time": "datetime", "pre": "class", "code": "", "footer": "", "img": "alt src", "em": "", "strong": "", "del": "",
	"blockquote": "", "hr": "", "br": "", "input": "checked disabled type",
}

var voidTags = []string{"meta", "img", "hr", "br", "input"}

var attribute = regexp.MustCompile(`^\s+([a-z-]+)(?:="([^"<>]*)")?`)

// checkPage fails unless a page has only known and nested tags, harmless attributes, and text. It
// returns the text.
func checkPage(t *testing.T, page string) string {
	t.Helper()
	page, ok := strings.CutPrefix(page, "<!DOCTYPE html>\n")
	if !ok {
		t.Fatalf("no page: %.80q", page)
	}
	style := page[strings.Index(page, "<style>") : strings.Index(page, "</style>")+len("</style>")]
	page, ok = strings.CutSuffix(page, "<script>"+pageScript+"</script></body></html>\n")
	if !ok {
		t.Fatalf("the page does not end in its script: %q", page[max(len(page)-80, 0):])
	}
	return checkMarkup(t, strings.Replace(page, style, "", 1)+"</body></html>\n", "")
}

// checkMarkup is like checkPage for a part of a page. If tags is not empty, no others may be in it.
func checkMarkup(t *testing.T, page, tags string) string {
	t.Helper()
	var text strings.Builder
	var open []string
	for page != "" {
		before, rest, found := strings.Cut(page, "<")
		if strings.Contains(before, ">") {
			t.Fatalf("an unescaped > in %q", before)
		}
		text.WriteString(html.UnescapeString(before))
		if !found {
			break
		}
		tag, behind, closed := strings.Cut(rest, ">")
		if !closed {
			t.Fatalf("a tag without an end: %.80q", rest)
		}
		page = behind
		if name, ends := strings.CutPrefix(tag, "/"); ends {
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("</%s> inside of %v", name, open)
			}
			open = open[:len(open)-1]
			continue
		}
		name := checkTag(t, tag)
		if tags != "" && !slices.Contains(strings.Fields(tags), name) {
			t.Fatalf("<%s>", tag)
		}
		if !slices.Contains(voidTags, name) {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v are not closed", open)
	}
	checkText(t, text.String())
	return text.String()
}

// checkTag checks the inside of a tag, and returns its name.
func checkTag(t *testing.T, tag string) string {
	t.Helper()
	name := tag
	if i := strings.IndexAny(tag, " \n"); i >= 0 {
		name = tag[:i]
	}
	allowed, ok := pageTags[name]
	if !ok {
		t.Fatalf("an element <%s>", tag)
	}
	for rest := strings.TrimSuffix(tag[len(name):], "/"); strings.TrimSpace(rest) != ""; {
		match := attribute.FindStringSubmatch(rest)
		if len(match) < 3 || !slices.Contains(strings.Fields(allowed), match[1]) {
			t.Fatalf("an attribute of <%.200s>", tag)
		}
		checkAttribute(t, name, match[1], html.UnescapeString(match[2]))
		rest = rest[len(match[0]):]
	}
	return name
}

func checkAttribute(t *testing.T, tag, name, value string) {
	t.Helper()
	checkText(t, value)
	switch name {
	case "href":
		lower := strings.ToLower(value)
		if !slices.ContainsFunc([]string{"#", "http://", "https://", "mailto:"}, func(p string) bool { return strings.HasPrefix(lower, p) }) {
			t.Errorf("a link to %q", value)
		}
	case "src":
		data, ok := strings.CutPrefix(value, "data:image/")
		kind, _, _ := strings.Cut(data, ";base64,")
		if !ok || !slices.Contains([]string{"png", "jpeg", "gif", "webp"}, kind) {
			t.Errorf("a picture %.60q", value)
		}
	case "type":
		if tag == "input" && value != "checkbox" {
			t.Errorf("an input of type %q", value)
		}
	}
}

func checkText(t *testing.T, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && r != '\t' && r != '\u200d' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || r == '\u2028') {
			t.Errorf("%U in the text", r)
			return
		}
	}
}

// longDocument has turns of a prompt, an answer and a call with a long result.
func longDocument(turns, result int) *Document {
	doc := &Document{Format: Format}
	text := strings.Repeat("a line of a result\n", result/19) + "END OF RESULT"
	for n := 1; n <= turns; n++ {
		call := transcript.DisplayItem{Type: transcript.ItemToolCall, ToolName: "Grep", HasResult: true, ToolResult: text}
		answer := transcript.DisplayItem{Type: transcript.ItemOutput, Text: fmt.Sprintf("Answer %d.", n)}
		doc.Chunks = append(doc.Chunks,
			transcript.Chunk{Turn: n, Type: transcript.UserChunk, Text: fmt.Sprintf("Prompt %d.", n)},
			transcript.Chunk{Turn: n, Type: transcript.AIChunk, Items: []transcript.DisplayItem{call, answer}})
	}
	return doc
}

func bounded(t *testing.T, d *Document, size int) string {
	t.Helper()
	var b bytes.Buffer
	if err := newPage(t.Context(), &b, d, new(View)).writeBounded(&b, size); err != nil {
		t.Fatal(err)
	}
	if b.Len() > size {
		t.Errorf("a page of %d bytes, want %d at most", b.Len(), size)
	}
	checkPage(t, b.String())
	return b.String()
}

// In a long session only tool results are cut.
func TestPageBounds(t *testing.T) {
	t.Parallel()
	doc := longDocument(40, 8000)
	page := bounded(t, doc, 100_000)
	for n := 1; n <= 40; n++ {
		if !strings.Contains(page, fmt.Sprintf("Prompt %d.</p>", n)) || !strings.Contains(page, fmt.Sprintf("Answer %d.", n)) {
			t.Errorf("turn %d is missing", n)
		}
	}
	if strings.Contains(page, "END OF RESULT") || !strings.Contains(page, "This session is long") {
		t.Error("results are not cut, or the note is missing")
	}
	if page := bounded(t, doc, 1_000_000); strings.Count(page, "END OF RESULT") != 40 || strings.Contains(page, "is long") {
		t.Error("a page that fits is cut")
	}
	if page := written(t, doc, HTML, &View{Full: true}); strings.Count(page, "END OF RESULT") != 40 {
		t.Error("a full page is cut")
	}
}

// A page that is still too long ends early, with a note.
func TestPageEnds(t *testing.T) {
	t.Parallel()
	page := bounded(t, longDocument(1000, 2000), 300_000)
	if !strings.Contains(page, "The page is full: ") || !strings.Contains(page, "Prompt 1.</p>") {
		t.Error("no note, or no beginning")
	}
	if strings.Contains(page, "Answer 1000.") {
		t.Error("it does not end early")
	}
}

// Images take at most half of a page.
func TestPagePictures(t *testing.T) {
	t.Parallel()
	doc := longDocument(10, 10)
	picture := transcript.Image{MediaType: "image/png", Data: append(bytes.Clone(pngData), make([]byte, 20_000)...)}
	eachItem(doc, func(i *transcript.DisplayItem) {
		if i.ToolName != "" {
			i.Images, i.ResultImages = []transcript.Image{picture}, 1
		}
	})
	page := bounded(t, doc, 200_000)
	if shown, left := strings.Count(page, "<img"), strings.Count(page, "1 image not shown"); shown != 3 || left != 7 {
		t.Errorf("%d pictures are shown, %d are left out", shown, left)
	}
	if page := written(t, doc, HTML, &View{Full: true}); strings.Count(page, "<img") != 10 {
		t.Error("a full page lacks pictures")
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[a](https://x.example/?a=1&b=2)`:     `<a href="https://x.example/?a=1&amp;b=2"`,
		`[a](https://x.example/?a=1&amp;b=2)`: `<a href="https://x.example/?a=1&amp;b=2"`,
		`[a](https://x.example/a\_b)`:         `<a href="https://x.example/a_b"`,
		`[a](https:javascript:x)`:             `<span class="link"`,
		`[a](&#106;avascript:x)`:              `<span class="link"`,
		`[a](//x.example)`:                    `<span class="link"`,
		`[a](https&colon;//x.example)`:        `<a href="https://x.example"`,
	} {
		doc := &Document{Format: Format, Chunks: []transcript.Chunk{{Type: transcript.AIChunk, Text: text}}}
		if page := written(t, doc, HTML, nil); !strings.Contains(page, want) {
			t.Errorf("%s is not %s", text, want)
		}
		checkPage(t, written(t, doc, HTML, nil))
	}
}

func highlighted(t *testing.T, code, name string) string {
	t.Helper()
	var b bytes.Buffer
	m := newMarkup(&b)
	m.highlight(code, highlight.Find(name))
	if err := m.flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each case lists the colored words of some code, with their classes.
func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, code, want string }{
		{"go", "func f() { s := `a\"\nb` // c", "k:func f:f s:`a\"\nb` c:// c"},
		{"go", `x := "a\"b" + '\'' + 0x1F`, `s:"a\"b" s:'\'' n:0x1F`},
		{"python", "x = f'it\\'s' + rb\"b\" # it's", `s:'it\'s' s:"b" c:# it's`},
		{"py", "'''a\n'b''' + 'c\nreturn", "s:'''a\n'b''' s:'c k:return"},
		{"ts", "const s = `a\\`${b}\n` /* c */", "k:const s:`a\\`${b}\n` c:/* c */"},
		{"sh", `echo "a \" b" '\' # c`, `k:echo s:"a \" b" s:'\' c:# c`},
		{"bash", "echo don't $x a#b", "k:echo f:$x"},
		{"json", `{"a": "b\"c", "n": -1.5e3, "t": null}`, `s:"a" s:"b\"c" s:"n" n:1.5e3 s:"t" k:null`},
		{"yaml", "a: don't # c\nb: yes", "c:# c k:yes"},
		{"rust", `fn f<'a>(x: &'a u8) { '"'; '\''; "s" }`, `k:fn k:u8 s:'"' s:'\'' s:"s"`},
		{"c", `char c = '"'; /* a`, `k:char s:'"' c:/* a`},
		{"diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z", "c:--- a c:+++ b c:@@ -1 +1 @@ t:-x s:+y"},
		{"go", "    12→x := 3", "n:3"},
		{"go", "// a\r\nx\r\n", "c:// a"},
		{"cobol", "if 1", ""},
	} {
		var got []string
		for _, m := range coloured.FindAllStringSubmatch(highlighted(t, test.code, test.name), -1) {
			got = append(got, m[1]+":"+html.UnescapeString(m[2]))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %q\n got %q\nwant %q", test.name, test.code, text, test.want)
		}
	}
}

var coloured = regexp.MustCompile(`(?s)<span class="([a-z])">(.*?)</span>`)

// Highlighting does not change the code, in any language.
func FuzzHighlight(f *testing.F) {
	f.Add("// a\r\n\"b\\\n'c\\' `d` /* e <f> & \x1b[31mg\x00 é→\xff ''' \"\"\" <!-- </span> $x 0x1.5e+3")
	f.Add("+a\n-b\n@@\n\n--- c")
	f.Add("it's f'x' 'y \\")
	f.Fuzz(func(t *testing.T, code string) {
		for _, name := range highlight.Names() {
			page := highlighted(t, code, name)
			if got := html.UnescapeString(coloured.ReplaceAllString(page, "$2")); got != clean(code) {
				t.Fatalf("%s: %q became %q", name, code, got)
			}
		}
	})
}

// Prompts are below headings, with links to them, and are Markdown whose lines stay lines.
func TestPrompts(t *testing.T) {
	t.Parallel()
	prompt := transcript.Chunk{Type: transcript.UserChunk, Turn: 3, Text: "Fix *this*:\n- a\n\n[b]: https://c.example"}
	long := transcript.Chunk{Type: transcript.UserChunk, Turn: 4, Text: strings.Repeat("# a\n", maxText)}
	answer := transcript.Chunk{Type: transcript.AIChunk, Items: []transcript.DisplayItem{{
		Type: transcript.ItemToolCall, Agents: []*transcript.Agent{{ID: "b", Transcript: &transcript.Transcript{Chunks: []transcript.Chunk{prompt}}}},
	}}}
	page := written(t, &Document{Format: Format, Chunks: []transcript.Chunk{prompt, answer, long}}, HTML, nil)
	checkPage(t, page)
	for _, want := range []string{
		`id="t3"><header class="by"><h2 class="who"><span class="turn">3</span> You</h2>`,
		`<a class="anchor" href="#t3" aria-label="Link to turn 3">¶</a></header>`,
		"<div class=\"prose asked\"><p>Fix <em>this</em>:</p>\n<ul>\n<li>a</li>\n</ul>\n<p>[b]: <a href=\"https://c.example\"",
		`id="tab-3"><header class="by"><h3 class="who"><span class="turn">3</span> Prompt</h3>`,
		"<pre class=\"said\"># a\n# a\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// diffed returns the diff of a file as it is on a page.
func diffed(t *testing.T, path string, lines ...string) string {
	t.Helper()
	var b bytes.Buffer
	p := newPage(t.Context(), &b, &Document{Format: Format}, new(View))
	p.diff(&transcript.FileDiff{Path: path, Hunks: []tooluse.Hunk{{OldStart: 7, NewStart: 7, Lines: lines}}})
	if err := p.flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Lines of a diff have colored words, even within changed words.
func TestDiff(t *testing.T) {
	t.Parallel()
	page := diffed(t, "a.go", " /* a", "-return \"x\" // why", "+return \"y\" */ 1", "-if a < \x1b[31m1", "+if b < 1", `\ No newline at end of file`, "")
	checkMarkup(t, page, "")
	for _, want := range []string{
		`<td class="no">7</td><td class="no">7</td><td class="sign"></td><td><span class="c">/* a</span></td>`,
		`<tr class="del"><td class="no">8</td><td class="no"></td><td class="sign">−</td><td><span class="c">return &#34;</span>` +
			`<span class="w"><span class="c">x</span></span>`,
		`<span class="w"><span class="c">y</span></span><span class="c">&#34; </span>`,
		`<tr class="gap"><td class="no"></td><td class="no"></td><td class="sign"></td><td>\ No newline at end of file</td></tr>`,
		`<td class="no">10</td><td class="no">10</td><td class="sign"></td><td></td></tr>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

// A diff has all of its lines, whatever is in them.
func FuzzDiff(f *testing.F) {
	f.Add("func f(a int) // b", "func f(b string) /* c", "*/ d", uint8(0))
	f.Add("<a href=\"x\">é", "<b title='y'>\x1b[31m\u202e", "", uint8(3))
	f.Add("don't", "do not 'quote", "\\", uint8(7))
	f.Fuzz(func(t *testing.T, removed, added, kept string, language uint8) {
		names := highlight.Names()
		path := "a." + names[int(language)%len(names)]
		text := checkMarkup(t, diffed(t, path, " "+kept, "-"+removed, "+"+added, " "+kept), "div p span table tbody tr td")
		want := clean(path) + "77" + clean(kept) + "8−" + clean(removed) + "8+" + clean(added) + "99" + clean(kept)
		if text != want {
			t.Errorf("%q became %q", want, text)
		}
	})
}

// A page counts the failed calls that its viewer counts: also a subagent in the background whose
// failure is reported later.
func TestFailedCalls(t *testing.T) {
	t.Parallel()
	background := transcript.DisplayItem{
		Type: transcript.ItemSubagent, HasResult: true, Status: "async_launched", Report: &transcript.TaskReport{Status: "failed"},
	}
	refused := transcript.DisplayItem{Type: transcript.ItemToolCall, HasResult: true, ToolError: true}
	done := transcript.DisplayItem{Type: transcript.ItemToolCall, HasResult: true}
	d := &Document{Chunks: []transcript.Chunk{{Type: transcript.AIChunk, Items: []transcript.DisplayItem{background, refused, done}}}}
	if n := d.count(); n.calls != 3 || n.failed != 2 {
		t.Errorf("%d calls, %d failed", n.calls, n.failed)
	}
}

// A document has a project, a branch and models under the names that lists have for them.
func TestFacts(t *testing.T) {
	t.Parallel()
	d := &Document{
		CWD: `C:\code\app`, GitBranch: "HEAD", Chunks: []transcript.Chunk{{Type: transcript.AIChunk, Model: "claude-opus-5-5-20261001", Text: "Yes."}},
	}
	for _, format := range []string{HTML, Markdown} {
		var b strings.Builder
		if err := Write(t.Context(), &b, d, format, nil); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if strings.Contains(text, "HEAD") {
			t.Errorf("%s has a branch", format)
		}
		if format == HTML && (!strings.Contains(text, "</span> app</span>") || !strings.Contains(text, ">opus-5-5<")) {
			t.Errorf("no project or model: %s", text)
		}
	}
}
