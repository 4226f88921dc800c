package markdown

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
)

// answer is a text with all that Markdown has.
func answer(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/answer.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pieces are parts of which random texts are made.
var pieces = []string{
	"word", "two words", "*emphasis*", "**strong", "`code`", "~~struck~~", "[link](https://a.example)", "https://b.example/c",
	"[a]", "[a]: https://c.example 'title'", "[a][b]", "# ", "## Heading", "===", "---", "***", "- - -", "- ", "* item", "+ item",
	"1. one", "2) two", "10. ten", "- [x] done", "- [ ] open", "> ", "> quote", "```", "```go", "````", "~~~", "~~~~ sh", "func f() {",
	"| a | b |", "|---|:-:|", "| 1 | `x|y` |", "<div>", "</div>", "<b>", "<!-- ", "-->", "<script>", "</script>", "<br>", "<?", "?>",
	"  ", "    ", "\t", " ", "   ", "\\", "&amp;", "&#27;", "日本語", "👩‍👧", "e\u0301", "\x1b[31m", "\r", "/* ", "*/", "\"string", "'",
}

// line ends are more frequent than other pieces.
var ends = []string{"\n", "\n", "\n", "\n\n", "\n\n", " ", "", "\r\n", "\n    ", "\n  ", "\n- ", "\n> ", "\n\n\n"}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(24) {
		b.WriteString(pieces[r.IntN(len(pieces))] + ends[r.IntN(len(ends))])
	}
	return b.String()
}

// checkStream compares a text that comes in pieces with the whole text, after each piece.
func checkStream(t *testing.T, text string, opts Options, cut func(rest int) int) {
	t.Helper()
	s := NewStream(opts)
	var final []string
	for at := 0; at < len(text); {
		n := cut(len(text) - at)
		final = append(final, s.Add(text[at:at+n])...)
		at += n
		if diff := cmp.Diff(Render(text[:at], opts), slices.Concat(final, s.Open())); diff != "" {
			t.Fatalf("%+v: %q after %d bytes (-whole +pieces):\n%s", opts, text, at, diff)
		}
	}
	if diff := cmp.Diff(Render(text, opts), append(final, s.End()...)); diff != "" {
		t.Fatalf("%+v: %q (-whole +pieces):\n%s", opts, text, diff)
	}
}

// The lines of a text are the same however it is cut, and final lines stay.
func TestStreamEqualsRender(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range soak.Size(120, 15_000) {
		text := randomText(r)
		opts := Options{Width: r.IntN(60), Color: r.IntN(2) == 0, Links: r.IntN(2) == 0}
		checkStream(t, text, opts, func(rest int) int { return 1 + r.IntN(min(rest, 9)) })
	}
	checkStream(t, answer(t), Options{Width: 80, Color: true}, func(rest int) int { return min(rest, 7) })
}

// wholeBlocks are blocks as people and models write them.
var wholeBlocks = []string{
	"A paragraph\nof *two* lines.", "Setext\n======", "Another\n---", "# One", "### Three", "***", "- - -", "[a]: https://c.example\n[b]: <d>",
	"- tight\n- list\n  - nested\n    deeper\n- end", "- loose\n\n- list\n\n  with a paragraph\n\n  ```go\n  x := 1\n\n  y := `\n  ```\n- end",
	"1. one\n2. two\n   ~~~\n   code\n\n   more\n   ~~~\n10. ten", "3) three\n\n    indented more\n4) four", "* a\nlazy\n* b", "* \n  a",
	"> quote\nlazy\n> - item\n>\n> end", "> ```\n> code\n>\n> more\n> ```", ">> deep\n> less", "> # heading\n> text",
	"```go\nfunc f() {\n\n\t/* x\n\n*/ }\n```", "````markdown\n```\n# no heading\n```\n\n- a\n````", "~~~\n\n```\n\n~~~", " ```\n  a\n\nb\n  ```",
	"| a | b |\n|---|--:|\n| 1 | 2 |\n| `x\\|y` |", "    code\n\n\n      more", "\ttab", "<div>\n*no emphasis*\n</div>", "<!-- a\n\nb -->",
	"<pre>\na\n\n# b\n</pre>", "<b>bold</b> text", "<details>\n<summary>x</summary>", "text with <b>\n<i>", "- [x] done\n- [ ] open", "日本語\n日本語",
}

// Splitting a text into blocks does not change what they are.
func TestSplitEqualsWhole(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	joints := []string{"\n", "\n\n", "\n\n", "\n\n\n", "\n  \n"}
	for range soak.Size(1000, 40_000) {
		text := ""
		for range 2 + r.IntN(6) {
			block := wholeBlocks[r.IntN(len(wholeBlocks))]
			if strings.ContainsAny(block[:1], " \tSAt") {
				text += "\n" // otherwise it could continue what is before it
			}
			text += block + joints[r.IntN(len(joints))]
		}
		opts := Options{Width: 40}
		if diff := cmp.Diff(newLayout(opts).text(text), Render(text, opts)); diff != "" {
			t.Fatalf("%q (-whole +blocks):\n%s", text, diff)
		}
	}
}

// The lines of fenced code are final when they are complete, and other blocks when they can't
// continue.
func TestStreamFinal(t *testing.T) {
	t.Parallel()
	s := NewStream(Options{Width: 20})
	for _, step := range []struct{ piece, final, open string }{
		{"# Tit", "", "# Tit"},
		{"le\n", "# Title", ""},
		{"some words", "", "|some words"},
		{" and more\n", "", "|some words and more"},
		{"```go\n", "|some words and more", ""},
		{"a := 1", "", "|  a := 1"},
		{"\n", "|  a := 1", ""},
		{"\nb", "", "  b"},
		{"\n``", "  b", "  ``"},
		{"`\n", "", ""},
		{"- x\n\n", "", "|- x"},
		{"- y\n\n", "", "|- x||- y"},
		{"  z\n\n", "", "|- x||- y||  z"},
		{"a", "", "|- x||- y||  z||a"},
		{"\n\n", "|- x||- y||  z||a", ""},
		{"| a |\n|", "", "|| a | |"},
		{"--|\n", "", "|┌───┐|│ a │|└───┘"},
		{"| 1 |\n", "", "|┌───┐|│ a │|├───┤|│ 1 │|└───┘"},
		{"\n", "|┌───┐|│ a │|├───┤|│ 1 │|└───┘", ""},
	} {
		final := strings.Join(s.Add(step.piece), "|")
		if open := strings.Join(s.Open(), "|"); final != step.final || open != step.open {
			t.Errorf("%q: final %q, want %q; open %q, want %q", step.piece, final, step.final, open, step.open)
		}
	}
	if last := s.End(); len(last) > 0 {
		t.Errorf("at the end: %q", last)
	}
	if again := s.Add("# a\n"); !slices.Equal(again, []string{"# a"}) {
		t.Errorf("after the end: %q", again)
	}
}

// The work for an answer of many blocks, and for one long line, is in proportion to its length.
func TestStreamWork(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	for name, piece := range map[string]string{
		"paragraphs": "some *words* of a paragraph\n\n", "code": "a line of code\n", "one line": "word ", "items": "- an item\n",
		"quotes": "> a\n", "nested quotes": "> > > > > > > > > > > > a\n", "tags": "<!-- ", "backticks": "`",
	} {
		work := func(n int) float64 {
			return testing.AllocsPerRun(1, func() {
				s := NewStream(Options{Width: 80})
				if name == "code" {
					s.Add("```\n")
				}
				for range n {
					s.Add(piece)
				}
				s.End()
			})
		}
		if small, large := work(1000), work(4000); large > 5*small+1000 {
			t.Errorf("%s: %.0f allocations, and %.0f for four times the text", name, small, large)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add("# a\n\n- b\n\n  c\n```go\nd\n```\n| e |\n|---|\n", uint16(40), uint64(1))
	for i, block := range wholeBlocks {
		f.Add(block+"\n\n"+wholeBlocks[(i*7+3)%len(wholeBlocks)], uint16(i), uint64(i)) //nolint:gosec // it is small
	}
	f.Fuzz(func(t *testing.T, text string, width uint16, seed uint64) {
		if len(text) > 2000 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 0))
		opts := Options{Width: int(width % 201), Color: seed%2 == 0, Links: seed%3 == 0}
		checkStream(t, text, opts, func(rest int) int { return 1 + r.IntN(min(rest, 1+len(text)/8)) })
	})
}

// BenchmarkStream adds an answer in pieces of 40 bytes, and draws what is not final after each.
func BenchmarkStream(b *testing.B) {
	text := answer(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewStream(Options{Width: 80, Color: true, Links: true})
		for at := 0; at < len(text); at += 40 {
			s.Add(text[at:min(at+40, len(text))])
			s.Open()
		}
		s.End()
	}
}
