package export

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/clewdev/clew/internal/markdown"
	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// recorded returns the documents of all recorded transcripts.
func recorded(t *testing.T) map[string]*Document {
	t.Helper()
	paths, err := filepath.Glob("../transcript/testdata/recorded/*/transcript.jsonl")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%d transcripts, %v", len(paths), err)
	}
	docs := map[string]*Document{}
	for _, path := range paths {
		tr := readAgent(t, path).Transcript
		var agents []*transcript.Agent
		subagents, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "subagents", "*.jsonl"))
		for _, name := range subagents {
			agents = append(agents, readAgent(t, name))
		}
		tr.Unlinked = transcript.Link(tr, append(agents, transcript.InlineAgents(tr)...))
		docs[filepath.Base(filepath.Dir(path))] = New(tr, &Options{Branches: true})
	}
	return docs
}

func readAgent(t testing.TB, name string) *transcript.Agent {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := transcript.Read(bytes.NewReader(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "agent-"), ".jsonl")
	return &transcript.Agent{ID: id, Transcript: tr}
}

func written(t *testing.T, d *Document, format string, view *View) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(t.Context(), &b, d, format, view); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A document that is written as JSON and read again is the same. So is a document made from its
// transcript.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	docs := recorded(t)
	docs["hostile"], docs["full"] = filledDocument(strings.ToValidUTF8(hostileText, "?")), fullDocument()
	for name, doc := range docs {
		text := written(t, doc, JSON, nil)
		read, err := Read(strings.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(text, written(t, read, JSON, nil)); diff != "" {
			t.Errorf("%s as JSON (-want +got):\n%.2000s", name, diff)
		}
		again := read.Select(read.Transcript(), &Options{Branches: true})
		if diff := cmp.Diff(text, written(t, again, JSON, nil)); diff != "" && name != "hostile" && name != "full" {
			t.Errorf("%s through a transcript (-want +got):\n%.2000s", name, diff)
		}
		for _, format := range Formats() {
			view := &View{Thinking: true, Full: true, Zone: time.UTC}
			if diff := cmp.Diff(written(t, doc, format, view), written(t, read, format, view)); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%.2000s", name, format, diff)
			}
		}
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	for name, doc := range recorded(t) {
		text := checkPage(t, written(t, doc, HTML, &View{Thinking: true, Expand: true}))
		for i := range doc.Chunks {
			if c := &doc.Chunks[i]; c.Type == transcript.UserChunk && !strings.Contains(text, strings.TrimSpace(clean(c.Text))) {
				t.Errorf("%s: the page lacks the prompt %q", name, c.Text)
			}
		}
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[]", `{"format":"clew-session/9"}`, `{"format":"clew-session/1","chunks":7}`} {
		if _, err := Read(strings.NewReader(text)); !errors.Is(err, ErrFormat) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestIsDocument(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"format":"clew-session/1","session_id":"x"`: true,
		"{\n  \"format\": \"clew-session/2\",\n":      true,
		`{"type":"user"}`:                             false,
		"":                                            false,
	} {
		if got := IsDocument([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

const hostileText = "</pre></script><script>alert(1)</script><img src=x onerror=alert(1)>\" onload=\"alert(1)' autofocus='" +
	"\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\u009b1A\u202egnp.exe\u2066\u200b\u2028\x00\b\r\xff<!-- --> ]]> &lt;b&gt;\n\n" +
	"<div onclick=alert(1)>\n<style>*{display:none}</style>\n</div>\n\n[a](javascript:alert(1)) [b](JaVaScRiPt&#58;alert(1)) " +
	"[c](data:text/html,<script>alert(1)</script>) ![d](https://evil.example/x.png) ![e](data:image/svg+xml;base64,AAAA) " +
	"<javascript:alert(1)> [f]\n\n[f]: vbscript:msgbox(1) \"t\\\" onx=\"\n\n```html\" onload=\"x\n</code><script>alert(1)</script>\n```\n" +
	"# <b>h</b> {onclick=alert(1)}\n| <i>a</i> | b |\n|:-:|--:|\n| <u>x</u> | y |\n\nhttp://a.example/\"onx=\"1 a@b.example\n"

// fill puts a text into all strings below a value.
func fill(v reflect.Value, text string, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)))
			return
		}
		for _, field := range v.Fields() {
			if field.CanSet() {
				fill(field, text, depth)
			}
		}
		if c, ok := v.Addr().Interface().(*transcript.Chunk); ok {
			c.Turn = 1
		}
	case reflect.Slice:
		if depth == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, depth-1)
	case reflect.String:
		if v.Type() == jsonType {
			text = `{"command":` + quoteJSON(text) + `}`
		}
		v.SetString(text)
	}
}

// hostileDocument returns a document with the hostile text in every field.
func hostileDocument() *Document { return filledDocument(hostileText) }

func filledDocument(text string) *Document {
	doc := new(Document)
	fill(reflect.ValueOf(doc).Elem(), text, 4)
	doc.Format = Format
	chunk := doc.Chunks[0]
	doc.Chunks = nil
	for _, kind := range []transcript.ChunkType{
		transcript.UserChunk, transcript.AIChunk, transcript.SystemChunk, transcript.CompactChunk,
	} {
		c := chunk
		c.Type, c.Items = kind, nil
		if kind == transcript.AIChunk {
			c.Items = filledItems(chunk.Items[0], text)
		}
		doc.Chunks = append(doc.Chunks, c)
	}
	return doc
}

// filledItems returns an item of each type, and a call for each tool that has its own form.
func filledItems(like transcript.DisplayItem, text string) []transcript.DisplayItem {
	var items []transcript.DisplayItem
	for kind := transcript.ItemThinking; kind <= transcript.ItemTeammateMessage; kind++ {
		item := like
		item.Type = kind
		items = append(items, item)
	}
	quoted := quoteJSON(text)
	for tool, input := range map[string]string{
		"Bash": `{"command":` + quoted + `}`, "Write": `{"file_path":"a.go","content":` + quoted + `}`,
		"Edit":      `{"file_path":` + quoted + `,"old_string":"a","new_string":` + quoted + `}`,
		"Read":      `{"file_path":"a.html"}`,
		"TodoWrite": `{"todos":[{"content":` + quoted + `,"status":` + quoted + `}]}`,
		"Task":      `{"prompt":` + quoted + `}`, "mcp__x__y": `{` + quoted + `:` + quoted + `}`,
	} {
		item := like
		item.Type, item.ToolName, item.ToolInput, item.HasResult, item.Structured, item.Patch = transcript.ItemToolCall, tool, wire.JSON(input), true, "", ""
		if tool == "Edit" {
			item.Patch = wire.JSON(`[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a",` + quoteJSON("+"+text) + `]}]`)
		}
		items = append(items, item)
	}
	return items
}

// eachItem calls f for all items of a document, including those in branches and subagents.
func eachItem(d *Document, f func(*transcript.DisplayItem)) {
	for _, item := range d.Transcript().All() {
		f(item)
	}
}

// fullDocument has a valid value in every field.
func fullDocument() *Document {
	doc := filledDocument("plain text")
	eachItem(doc, func(i *transcript.DisplayItem) {
		i.Images, i.ResultImages = []transcript.Image{{MediaType: "image/png", Data: pngData}}, 1
	})
	return doc
}

var pngData = []byte("\x89PNG\r\n\x1a\n....")

func TestHostilePage(t *testing.T) {
	t.Parallel()
	for _, view := range []*View{nil, {Thinking: true, Expand: true, Full: true}} {
		page := written(t, hostileDocument(), HTML, view)
		text := checkPage(t, page)
		if strings.Count(text, "<script>alert(1)</script>") < 20 {
			t.Error("the texts are missing")
		}
		for _, want := range []string{"Content-Security-Policy", "default-src 'none'"} {
			if !strings.Contains(page, want) {
				t.Errorf("no %s", want)
			}
		}
	}
}

// Markdown is written as it was, except what could be loaded or run.
func TestSafeMarkdown(t *testing.T) {
	t.Parallel()
	const same = "same"
	for text, want := range map[string]string{
		"see ![a](https://x.example/i.png)":            `see \![a](https://x.example/i.png)`,
		`\![a](b) \\![a](b)`:                           `\![a](b) \\\![a](b)`,
		"![a][r] and ![r]":                             `!\[a\][r] and !\[r\]`,
		"vec![1, 2] and x![a](https://y)":              `vec!\[1, 2\] and x\![a](https://y)`,
		"vec![x]\n\n[x]: http://evil/px.png":           "vec\\![x](http://evil/px.png)\n\n\\[x\\]: http://evil/px.png",
		"[a](\njava&#10;script:x)":                     "a `java script:x`",
		"[a](https://x.example) <b>":                   "[a](https://x.example) &lt;b>",
		"[a](<b c> \"t\\\"u\")":                        "a `b c`",
		"[a](https://x/(b) \"t\\\"u\")":                `[a](https://x/\(b\) "t\"u")`,
		"```\n![a](b) <b>\n```":                        same,
		"- a\n  ```\n<script>alert(1)</script>":        "- a\n  ```\n\n  ```\n\n```html\n<script>alert(1)</script>\n```",
		"<div>\nx\n</div>\n\nb":                        "```html\n<div>\nx\n</div>\n```\n\nb",
		"# A\n\ntext *em* **strong** `code` ~~no~~":    same,
		"- a\n- b\n  - c\n\n1. x\n2. y":                same,
		"- [x] done\n- [ ] open":                       same,
		"| a | b |\n| --- | ---: |\n| `x\\|y` | z |":   same,
		"> quoted\n> more\n\n---\n\nend":               same,
		"a\\\nb":                                       same,
		"see https://x.example/a_b?c=d&e=f and a_b[0]": same,
		`C:\dir, 2 * 3, ~/x, AT&T, C#, x > y`:          same,
		"**bold *both* x** ***all***":                  same,
		"1986\\. A\n\\# b\n\\- c\n\\=\\=":              "1986\\. A\n\\# b\n\\- c\n\\==",
		"<https://x.example/*a*>":                      same,
		"~~~go\na\n```\n~~~":                           "````go\na\n```\n````",
		"[x]: javascript:alert(1)\n\n[x]":              "\\[x\\]: javascript:alert(1)\n\nx `javascript:alert(1)`",
	} {
		if want == same {
			want = text
		}
		if got, reason := safeMarkdown(text); got != want || reason != "" {
			t.Errorf("%q becomes\n     %q, want\n     %q %s", text, got, want, reason)
		}
	}
}

// Markdown is harmless even for a reader that allows everything.
func TestHostileMarkdown(t *testing.T) {
	t.Parallel()
	text := written(t, hostileDocument(), Markdown, &View{Thinking: true, Full: true})
	checkText(t, text)
	var b bytes.Buffer
	unsafe := goldmark.New(goldmark.WithRendererOptions(html.WithUnsafe()))
	if err := unsafe.Convert([]byte(text), &b); err != nil {
		t.Fatal(err)
	}
	page := strings.ToLower(b.String())
	for _, bad := range []string{"<script", "<div", "<style", "javascript:alert(1)\"", "href=\"vbscript", "href=\"data:", "<img"} {
		if i := strings.Index(page, bad); i >= 0 {
			t.Errorf("%s in %q", bad, page[max(0, i-100):min(len(page), i+100)])
		}
	}
}

func TestImagesIn(t *testing.T) {
	t.Parallel()
	png := base64.StdEncoding.EncodeToString(pngData)
	source := func(kind, data string) string {
		return `{"type":"image","source":{"type":"base64","media_type":"` + kind + `","data":"` + data + `"}}`
	}
	line := `{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[` +
		strings.Join([]string{
			source("image/png", png), source("image/svg+xml", png), source("image/jpeg", png), source("image/png", "!"),
			source("text/html", png), `{"type":"text","text":"x"}`,
		}, ",") + `]},{"type":"tool_result","tool_use_id":"t2","content":"text"}]}}`
	entry, err := transcript.DecodeEntry([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]transcript.Image{{MediaType: "image/png", Data: pngData}}, ImagesIn(&entry, "t1", 1000)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := len(ImagesIn(&entry, "t1", 3)) + len(ImagesIn(&entry, "t2", 1000)); got != 0 {
		t.Errorf("%d images", got)
	}
}

// A long text is cut, with a note, unless Full is set.
func TestLimit(t *testing.T) {
	t.Parallel()
	doc := filledDocument(strings.Repeat("a longer line of many words\n", markdown.MaxText/28+1) + "THE END")
	doc.Branches, doc.Unlinked = nil, nil
	eachItem(doc, func(i *transcript.DisplayItem) { i.Agents = nil })
	for _, format := range []string{HTML, Markdown} {
		short, full := written(t, doc, format, nil), written(t, doc, format, &View{Full: true, Thinking: true})
		if strings.Contains(short, "THE END") || !strings.Contains(short, "--full shows everything") {
			t.Errorf("%s of %d bytes is not cut", format, len(short))
		}
		if !strings.Contains(full, "THE END") || strings.Contains(full, "--full shows everything") {
			t.Errorf("%s of %d bytes is cut", format, len(full))
		}
	}
}

func quoteJSON(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// A secret in any field is in no format.
func TestRedactedDocument(t *testing.T) {
	t.Parallel()
	const secret = "key sk-ant-api03-SECRETSECRET of ann@SECRET.example in /home/SECRET/x, TOKEN=SECRETq7Zx9Lk2"
	doc := filledDocument(secret)
	eachItem(doc, func(i *transcript.DisplayItem) {
		i.Images = []transcript.Image{{MediaType: "image/png", Data: []byte("SECRET")}}
	})
	Redact(doc, new(redact.Redactor))
	for _, format := range Formats() {
		text := written(t, doc, format, &View{Thinking: true, Expand: true, Full: true})
		if i := strings.Index(text, "SECRET"); i >= 0 {
			t.Errorf("%s has %q", format, text[max(0, i-100):min(len(text), i+50)])
		}
		if !strings.Contains(text, "anthropic-key") {
			t.Errorf("%s does not report the redaction", format)
		}
	}
	for _, rule := range []string{"anthropic-key", "email", "home", "env", "picture"} {
		if doc.Redacted[rule] == 0 {
			t.Errorf("nothing was found by %s", rule)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for _, format := range Formats() {
		if err := Write(t.Context(), brokenWriter{}, hostileDocument(), format, nil); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", format, err)
		}
	}
	if Write(t.Context(), brokenWriter{}, new(Document), "pdf", nil) == nil {
		t.Error("pdf is accepted as a format")
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// costsOf returns the cost of each turn, by its number.
func costsOf(d *Document) map[int]*transcript.Spending {
	costs := map[int]*transcript.Spending{}
	for i := range d.Chunks {
		if c := &d.Chunks[i]; c.Cost != nil {
			costs[c.Turn] = c.Cost
		}
	}
	return costs
}

// Prompts have the cost of their turns and subagents the cost of their calls, even in a document
// that was read again.
func TestCosts(t *testing.T) {
	t.Parallel()
	agents := 0
	for name, doc := range recorded(t) {
		read, err := Read(strings.NewReader(written(t, doc, JSON, nil)))
		if err != nil {
			t.Fatal(err)
		}
		again := read.Select(read.Transcript(), &Options{Branches: true})
		if diff := cmp.Diff(costsOf(doc), costsOf(again)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		total := doc.Totals.Cost
		for _, c := range costsOf(doc) {
			total -= c.Cost
		}
		if total < 0 || len(doc.Branches) == 0 && len(doc.Unlinked) == 0 && total != 0 {
			t.Errorf("%s: %s of %s is in no turn", name, total, doc.Totals.Cost)
		}
		page := written(t, doc, HTML, nil)
		for _, c := range costsOf(doc) {
			if costText(c) == "" || !strings.Contains(page, `<span class="note">`+costText(c)+`</span>`) {
				t.Errorf("%s: the page lacks %s", name, costText(c))
			}
		}
		for place := range doc.Transcript().AllChunks() {
			if place.Agent == nil {
				continue
			}
			if cost := place.Agent.Cost; cost == nil || !strings.Contains(page, `<span class="note">`+costText(cost)+`</span>`) {
				t.Errorf("%s: a subagent without a cost: %+v", name, cost)
			}
			agents++
		}
	}
	if agents == 0 {
		t.Error("no subagents")
	}
}
