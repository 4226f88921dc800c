package export

import (
	"bytes"
	"html"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/clewdev/clew/transcript"
)

func TestProse(t *testing.T) {
	t.Parallel()
	const rel = ` rel="noopener noreferrer nofollow"`
	for _, test := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"marks", "*a **b*** ~~c~~ `d`", "<p><em>a <strong>b</strong></em> <del>c</del> <code>d</code></p>"},
		{"marks at the ends", "**a *b* c** ***d***", "<p><strong>a <em>b</em> c</strong> <em><strong>d</strong></em></p>"},
		{"crossing marks", "*a `b`* `c`", "<p><em>a <code>b</code></em> <code>c</code></p>"},
		{"link in emphasis", "**a [b](https://c.example) d**", `<p><strong>a <a href="https://c.example"` + rel + `>b</a> d</strong></p>`},
		{"emphasis in a link", "[a **b** c](https://d.example)", `<p><a href="https://d.example"` + rel + `>a <strong>b</strong> c</a></p>`},
		{"links side by side", "[a](https://b.example)[c](https://d.example)", `<p><a href="https://b.example"` + rel +
			`>a</a><a href="https://d.example"` + rel + `>c</a></p>`},
		{"no text", "[](https://a.example)", `<p><a href="https://a.example"` + rel + `>https://a.example</a></p>`},
		{"a path", "[a](b/c.md)", `<p><span class="link" title="b/c.md">a</span></p>`},
		{"addresses", "a@b.example www.c.example <tel:1> <mailto:d@e.example>", `<p><a href="mailto:a@b.example"` + rel + `>a@b.example</a> ` +
			`<a href="http://www.c.example"` + rel + `>www.c.example</a> tel:1 <a href="mailto:d@e.example"` + rel + `>mailto:d@e.example</a></p>`},
		{"definitions", "[a][b] [b]\n\n[b]: https://c.example", `<p><a href="https://c.example"` + rel + `>a</a> <a href="https://c.example"` +
			rel + `>b</a></p>`},
		{"picture", "![a](https://b.example/c.png)", `<p><span class="link" title="https://b.example/c.png">picture: a</span></p>`},
		{"picture in a link", "[![a](b.png)](https://c.example)", `<p><a href="https://c.example"` + rel + `>picture: a</a></p>`},
		{"picture and link", "![a](https://b.example)[a](https://b.example)",
			`<p><span class="link" title="https://b.example">picture: a</span><a href="https://b.example"` + rel + `>a</a></p>`},
		{"breaks", "a\nb  \nc\\\nd<br>e", "<p>a\nb<br>c<br>d<br>e</p>"},
		{"entities", `&lt;b&gt; \*c\* &amp;amp; &#27;[31m &#x202e;`, `<p>&lt;b&gt; *c* &amp;amp; \x1b[31m \u202e</p>`},
		{"tags", "a <b>c</b>\n\n<div>\n*d*\n</div>", "<p>a &lt;b&gt;c&lt;/b&gt;</p>\n<pre class=\"plain\">&lt;div&gt;\n*d*\n&lt;/div&gt;</pre>"},
		{"headings", "# a\n\n##### b", "<h3>a</h3>\n<h6>b</h6>"},
		{"tasks", "- [x] a\n- [ ] b\n\n  c", "<ul>\n<li>\n<p><input checked=\"\" disabled=\"\" type=\"checkbox\"> a</p>\n</li>\n" +
			"<li>\n<p><input disabled=\"\" type=\"checkbox\"> b</p>\n<p>c</p>\n</li>\n</ul>"},
		{"table", "|a|b|\n|:-:|--:|\n|c|", "<table>\n<thead>\n<tr>\n<th align=\"center\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n" +
			"<tbody>\n<tr>\n<td align=\"center\">c</td>\n<td align=\"right\"></td>\n</tr>\n</tbody>\n</table>"},
		{"code", "```go\nif a < 1\n```", "<pre><code><span class=\"k\">if</span> a &lt; <span class=\"n\">1</span>\n</code></pre>"},
	} {
		got, reason := proseHTML(test.text)
		if diff := cmp.Diff(test.want, strings.TrimSuffix(got, "\n")); diff != "" || reason != "" {
			t.Errorf("%s %s (-want +got):\n%s", test.name, reason, diff)
		}
	}
}

// plainBlocks are blocks that a page shows as goldmark writes them.
var plainBlocks = []string{
	"A paragraph\nof *two* lines, **strong *and* more**.", "Setext\n======", "Another\n---", "# One", "#### Four `code`", "***", "~~struck~~",
	"- tight\n- list\n  - nested\n    deeper\n- end", "- loose\n\n- list\n\n  with a paragraph\n\n  ```\n  x\n\n  y\n  ```\n- end",
	"1. one\n2. two\n   ~~~\n   code\n   ~~~\n10. ten", "3) three\n\n    indented more\n4) four", "* a\nlazy\n* b", "* \n  a", "-\n- a", "- # a\n  b",
	"> quote\nlazy\n> - item\n>\n> end", ">> deep\n> less", "```\na < b && c > \"d\"\n```", "    code\n\n\n      more", "\ttab", "日本語\n日本語",
	"| a | b |\n|---|--:|\n| 1 | 2 |\n| `x\\|y` | 3 |", "|a|\n|-|", "- [x] done\n- [ ] open", "&amp; &copy; \\* \\& \"quotes\" 'too'", "a  \nb\\\nc",
}

// Pages have the elements that goldmark writes for blocks without tags and links.
func TestProseEqualsGoldmark(t *testing.T) {
	t.Parallel()
	like := goldmark.New(goldmark.WithExtensions(extension.Strikethrough, extension.TaskList,
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))))
	normal := strings.NewReplacer("<br>\n", "<br>", "<h4>", "<h6>", "</h4>", "</h6>", "<h1>", "<h3>", "</h1>", "</h3>", "<h2>", "<h4>", "</h2>", "</h4>")
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := ""
		for range 1 + r.IntN(5) {
			text += plainBlocks[r.IntN(len(plainBlocks))] + "\n\n"
		}
		var b bytes.Buffer
		if err := like.Convert([]byte(text), &b); err != nil {
			t.Fatal(err)
		}
		got, _ := proseHTML(text)
		want := html.UnescapeString(normal.Replace(b.String()))
		if diff := cmp.Diff(want, html.UnescapeString(got)); diff != "" {
			t.Fatalf("%q (-goldmark +page):\n%s", text, diff)
		}
	}
}

// A text gets no element, attribute or link into a page except from Markdown.
func FuzzProse(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		f.Add(hostileMarkdown(r))
	}
	f.Add(hostileText)
	f.Fuzz(func(t *testing.T, text string) {
		prose, _ := proseHTML(text)
		prompt, _ := promptHTML(text)
		for _, made := range []string{prose, prompt} {
			checkMarkup(t, made, "p h3 h4 h5 h6 ul ol li blockquote pre code table thead tbody tr th td hr br em strong del a span input")
		}
	})
}

// answer returns an answer of 2.4 KB with all that Markdown has.
func answer(b *testing.B) string {
	b.Helper()
	text, err := os.ReadFile("../internal/markdown/testdata/answer.md")
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func BenchmarkProse(b *testing.B) {
	text := answer(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		proseHTML(text)
	}
}

// BenchmarkPage writes a page of 100 turns.
func BenchmarkPage(b *testing.B) {
	doc := longDocument(100, 8000)
	eachItem(doc, func(i *transcript.DisplayItem) {
		if i.Type == transcript.ItemOutput {
			i.Text = answer(b)
		}
	})
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(b.Context(), io.Discard, doc, HTML, &View{Full: true}); err != nil {
			b.Fatal(err)
		}
	}
}
