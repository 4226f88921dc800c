package export

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/transcript"
)

// longDocument has turns of a prompt, an answer and a call with a long result.
func longDocument(turns, result int) *Document {
	doc := &Document{Format: Format}
	text := strings.Repeat("a line of a result\n", result/19) + "END OF RESULT"
	for n := 1; n <= turns; n++ {
		call := Item{Type: transcript.ItemToolCall, Tool: "Grep", HasResult: true, Result: text}
		answer := Item{Type: transcript.ItemOutput, Text: fmt.Sprintf("Answer %d.", n)}
		doc.Chunks = append(doc.Chunks,
			Chunk{Turn: n, Type: transcript.UserChunk, Text: fmt.Sprintf("Prompt %d.", n)},
			Chunk{Turn: n, Type: transcript.AIChunk, Items: []Item{call, answer}})
	}
	return doc
}

func bounded(t *testing.T, d *Document, size int) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeBounded(&b, d, new(View), size); err != nil {
		t.Fatal(err)
	}
	if b.Len() > size {
		t.Errorf("a page of %d bytes, want %d at most", b.Len(), size)
	}
	checkPage(t, b.String())
	return b.String()
}

// A long session is cut in what tools returned, and in nothing else.
func TestPageBounds(t *testing.T) {
	t.Parallel()
	doc := longDocument(40, 8000)
	page := bounded(t, doc, 100_000)
	for n := 1; n <= 40; n++ {
		if !strings.Contains(page, fmt.Sprintf("Prompt %d.</pre>", n)) || !strings.Contains(page, fmt.Sprintf("Answer %d.", n)) {
			t.Errorf("turn %d is missing", n)
		}
	}
	if strings.Contains(page, "END OF RESULT") || !strings.Contains(page, "This session is long") {
		t.Error("results are not cut, or it does not say so")
	}
	if page := bounded(t, doc, 1_000_000); strings.Count(page, "END OF RESULT") != 40 || strings.Contains(page, "is long") {
		t.Error("a page that fits is cut")
	}
	if page := written(t, doc, HTML, &View{Full: true}); strings.Count(page, "END OF RESULT") != 40 {
		t.Error("a full page is cut")
	}
}

// A session that is too long even so ends early, with a note.
func TestPageEnds(t *testing.T) {
	t.Parallel()
	page := bounded(t, longDocument(1000, 2000), 300_000)
	if !strings.Contains(page, "The page is full, ") || !strings.Contains(page, "Prompt 1.</pre>") {
		t.Error("no note, or no beginning")
	}
	if strings.Contains(page, "Answer 1000.") {
		t.Error("it does not end early")
	}
}

// Pictures have no more than half of a page.
func TestPagePictures(t *testing.T) {
	t.Parallel()
	doc := longDocument(10, 10)
	picture := Image{"image/png", append(bytes.Clone(pngData), make([]byte, 20_000)...)}
	doc.eachItem(func(i *Item) {
		if i.Tool != "" {
			i.Images, i.ImageCount = []Image{picture}, 1
		}
	})
	page := bounded(t, doc, 200_000)
	if shown, left := strings.Count(page, "<img"), strings.Count(page, "1 picture not shown"); shown != 3 || left != 7 {
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
		doc := &Document{Format: Format, Chunks: []Chunk{{Type: transcript.AIChunk, Text: text}}}
		if page := written(t, doc, HTML, nil); !strings.Contains(page, want) {
			t.Errorf("%s is not %s", text, want)
		}
		checkPage(t, written(t, doc, HTML, nil))
	}
}
