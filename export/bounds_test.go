package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/transcript"
)

// repeatTo repeats a text up to about n bytes.
func repeatTo(n int, text string) string { return strings.Repeat(text, n/len(text)) }

// tableBomb has c columns and many short rows, which a table fills up with cells.
func tableBomb(c int) string {
	return strings.Repeat("|a", c) + "|\n" + strings.Repeat("|-", c) + "|\n" + strings.Repeat("|\n", 2*c)
}

// expensiveKinds are texts of about n bytes whose conversion could take n*n steps or more. They are
// shown as plain text if they are long.
var expensiveKinds = map[string]func(n int) string{
	"table":                func(n int) string { return tableBomb(n / 8) },
	"table in a list":      func(n int) string { return "- x\n\n  " + strings.ReplaceAll(tableBomb(n/12), "\n", "\n  ") },
	"table after text":     func(n int) string { return "text\n" + tableBomb(n/8) },
	"links":                func(n int) string { return repeatTo(n, "[a](") },
	"links with titles":    func(n int) string { return repeatTo(n, `[a](b "`) },
	"long reference":       func(n int) string { return "[a]: http://" + repeatTo(n/2, "b") + "\n\n" + repeatTo(n/2, "[a] ") },
	"long title":           func(n int) string { return "[a]: b '" + repeatTo(n/2, "t") + "'\n\n" + repeatTo(n/2, "[a]\n\n") },
	"long image reference": func(n int) string { return "[a]: http://" + repeatTo(n/2, "b") + "\n\n" + repeatTo(n/2, "![a] ") },
	"definitions":          func(n int) string { return repeatTo(n, "[a]: b\n") },
	"open definitions":     func(n int) string { return repeatTo(n, "[a]: b\n\"x\n") },
	"indented definitions": func(n int) string { return repeatTo(n, "[a]: <b> 'x'\n\t") },
	"brackets":             func(n int) string { return repeatTo(n, "[") },
	"closed brackets":      func(n int) string { return repeatTo(n/2, "[") + repeatTo(n/2, "]") },
	"images":               func(n int) string { return repeatTo(n, "![") },
	"image in an image":    func(n int) string { return repeatTo(n/2, "![") + repeatTo(n/2, "](b)") },
	"emphasis":             func(n int) string { return repeatTo(n, "*a **b ") },
	"closed emphasis":      func(n int) string { return repeatTo(n/2, "*a ") + repeatTo(n/2, "b* ") },
	"underscores":          func(n int) string { return repeatTo(n, "a_") },
	"tildes":               func(n int) string { return repeatTo(n, "~~a ~") },
	"heading":              func(n int) string { return "# " + repeatTo(n, "[a](") },
	"backticks": func(n int) string {
		var b strings.Builder
		for i := 1; b.Len() < n; i++ {
			b.WriteString(strings.Repeat("`", i%300+1) + " ")
		}
		return b.String()
	},
	"comments":       func(n int) string { return "a " + repeatTo(n, "<!--") },
	"declarations":   func(n int) string { return "a " + repeatTo(n, "<!A ") },
	"CDATA":          func(n int) string { return "a " + repeatTo(n, "<![CDATA[") },
	"tags":           func(n int) string { return "a " + repeatTo(n, "<a href=\"") },
	"automatic":      func(n int) string { return repeatTo(n, "(http://a") },
	"addresses":      func(n int) string { return repeatTo(n, "a@b.c_") },
	"quotes":         func(n int) string { return repeatTo(n, "> ") + "a" },
	"bullets":        func(n int) string { return repeatTo(n, "- ") + "a" },
	"numbers":        func(n int) string { return repeatTo(n, "1. ") + "a" },
	"mixed nesting":  func(n int) string { return repeatTo(n, ">1) * ") + "a" },
	"indented lists": func(n int) string { return staircase(n/2) + strings.Repeat("x\n", n/4) },
	"pipes in code":  func(n int) string { return "|a|\n|-|\n" + repeatTo(n, "|`\\|`|\n") },
}

// staircase is a list in a list in a list, by indentation.
func staircase(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	return b.String()
}

// cheapKinds are texts that are Markdown at every length.
var cheapKinds = map[string]func(n int) string{
	"paragraphs": func(n int) string {
		return repeatTo(n, "Some *words* with `code` and [a link](https://a.example).\n\n")
	},
	"lists":       func(n int) string { return repeatTo(n, "- an item\n  - with *another* in it\n") },
	"wide table":  func(n int) string { return "|a|b|c|d|\n|-|-|-|-|\n" + repeatTo(n, "|`x`|**y**|z|w|\n") },
	"code":        func(n int) string { return "```go\n" + repeatTo(n, "a[i](x) // *_`<!--\n") + "```\n" },
	"entities":    func(n int) string { return repeatTo(n, "&amp;&#35;&NotEqualTilde; ") },
	"words":       func(n int) string { return repeatTo(n, "word ") },
	"headings":    func(n int) string { return repeatTo(n, "# a\n") },
	"rules":       func(n int) string { return repeatTo(n, "---\n") },
	"HTML blocks": func(n int) string { return repeatTo(n, "<div>\n\n") },
}

// allocated returns how many bytes a function allocates.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc) //nolint:gosec // it is small
}

// A text of any kind takes memory, and makes output, in proportion to its length. Without
// bounds, a table of 16 KB takes gigabytes.
func TestProseGrowth(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	const perByte, madePerByte = 2500, 40
	most := soak.Size(16<<10, 64<<10)
	proseHTML("warm up")
	for _, kinds := range []map[string]func(int) string{expensiveKinds, cheapKinds} {
		for name, kind := range kinds {
			for n := 4 << 10; n <= most; n *= 4 {
				prose := kind(n)
				if len(prose) > markdown.MaxText {
					prose = prose[:markdown.MaxText]
				}
				for _, format := range []string{HTML, Markdown} {
					d := &Document{Chunks: []transcript.Chunk{{Type: transcript.AIChunk, Text: prose}}}
					counted := new(countingWriter)
					bytes := allocated(func() {
						if err := Write(t.Context(), counted, d, format, &View{Full: true}); err != nil {
							t.Error(err)
						}
					})
					if bytes > 1_000_000+perByte*n || counted.n > 30_000+madePerByte*n {
						t.Errorf("%s of %d bytes allocates %d bytes and writes %d, as %s", name, n, bytes, counted.n, format)
					}
				}
			}
		}
	}
	soak.Figure(t, "%d kinds of text, from 4 to %d KiB: in proportion", len(expensiveKinds)+len(cheapKinds), most>>10)
}

type countingWriter struct{ n int }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += len(p)
	return len(p), nil
}

// Long texts that are expensive to parse are not parsed, and others are.
func TestExpensiveTextsArePlain(t *testing.T) {
	t.Parallel()
	for name, kind := range expensiveKinds {
		prose := kind(60 << 10)
		if _, reason := proseHTML(prose); reason != markdown.TooComplex {
			t.Errorf("%s of %d bytes is parsed (%s)", name, len(prose), reason)
		}
		if _, reason := safeMarkdown(prose); reason != markdown.TooComplex {
			t.Errorf("%s of %d bytes is parsed for Markdown (%s)", name, len(prose), reason)
		}
	}
	for name, kind := range cheapKinds {
		if _, reason := proseHTML(kind(60 << 10)); reason != "" {
			t.Errorf("%s: %s", name, reason)
		}
	}
	d := &Document{Chunks: []transcript.Chunk{{Type: transcript.AIChunk, Text: tableBomb(2000)}}}
	for _, format := range []string{HTML, Markdown} {
		if text := written(t, d, format, nil); !strings.Contains(text, "too complex") || !strings.Contains(text, "|a|a|a") {
			t.Errorf("%s does not show the text, with a note", format)
		}
	}
}

// A page that is written again with smaller bounds converts each text once.
func TestProseIsConvertedOnce(t *testing.T) {
	t.Parallel()
	d := new(Document)
	for i := range 40 {
		d.Chunks = append(d.Chunks, transcript.Chunk{Type: transcript.AIChunk, Items: []transcript.DisplayItem{
			{Type: transcript.ItemOutput, Text: fmt.Sprintf("answer *%d*", i)},
			{Type: transcript.ItemToolCall, ToolName: "Read", HasResult: true, ToolResult: strings.Repeat("x\n", maxText/2)},
		}})
	}
	p := newPage(t.Context(), io.Discard, d, new(View))
	if err := p.writeBounded(io.Discard, 100_000); err != nil {
		t.Fatal(err)
	}
	if p.converted != 40 {
		t.Errorf("%d conversions of 40 texts", p.converted)
	}
}

// branchStartsSlowly is the definition of branchStarts.
func branchStartsSlowly(chunks []transcript.Chunk, branches []transcript.Branch) map[int][]int {
	starting := map[int][]int{}
	for j, b := range branches {
		at := slices.IndexFunc(chunks, func(c transcript.Chunk) bool {
			first, last := c.LineRange()
			return b.FromLine > 0 && b.FromLine >= first && b.FromLine <= last
		})
		if at < 0 {
			at = len(chunks)
		}
		starting[at] = append(starting[at], j)
	}
	return starting
}

func TestBranchStarts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range soak.Size(500, 10_000) {
		var chunks []transcript.Chunk
		for range r.IntN(12) {
			var c transcript.Chunk
			first := r.IntN(20)
			if last := first + r.IntN(8) - 1; last >= first {
				c.Lines = []int{last, first}
			}
			chunks = append(chunks, c)
		}
		var branches []transcript.Branch
		for range r.IntN(12) {
			branches = append(branches, transcript.Branch{FromLine: r.IntN(24) - 1})
		}
		got := branchStarts(chunks, branches)
		if diff := cmp.Diff(branchStartsSlowly(chunks, branches), got); diff != "" {
			t.Fatalf("%+v %+v (-want +got):\n%s", chunks, branches, diff)
		}
	}
}

// endAfter is a context that ends after a number of questions about it.
type endAfter struct {
	context.Context
	left int
}

func (c *endAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Writing ends with its context, wherever it is.
func TestWriteEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var d Document
	for range 100 {
		d.Chunks = append(d.Chunks, transcript.Chunk{Type: transcript.AIChunk, Text: "an *answer*"})
	}
	for _, format := range Formats() {
		counted := new(countingWriter)
		ctx := &endAfter{t.Context(), 50}
		if err := Write(ctx, counted, &d, format, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", format, err)
		}
		if ctx.left < -3 {
			t.Errorf("%s goes on: %d", format, ctx.left)
		}
	}
}

// A document that releases its transcript is the same, and the transcript is empty afterwards.
func TestRelease(t *testing.T) {
	t.Parallel()
	for name, doc := range recorded(t) {
		tr := doc.Transcript()
		want := New(tr, &Options{Branches: true})
		released := New(tr, &Options{Branches: true, Release: true})
		if diff := cmp.Diff(written(t, want, JSON, nil), written(t, released, JSON, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%.2000s", name, diff)
		}
		for i := range tr.Chunks {
			if tr.Chunks[i].Text != "" || tr.Chunks[i].Items != nil {
				t.Errorf("%s: chunk %d is still there", name, i)
			}
		}
	}
}
