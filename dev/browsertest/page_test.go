package browsertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/transcript"
)

// A site serves one page, and notes every other request: an attack that worked makes one.
type site struct {
	*httptest.Server

	mu   sync.Mutex
	page string
	hits []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := new(site)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/page":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(s.page)) // the browser may have gone
	case "/favicon.ico": // which a browser asks for by itself
	default:
		s.hits = append(s.hits, r.URL.Path)
	}
}

// show sets the page, and forgets the requests.
func (s *site) show(page string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.page, s.hits = page, nil
}

// requests returns the requests that the page made.
func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hits)
}

// open opens a page at a fragment, and waits until it is loaded.
func (s *site) open(p *tab, page, fragment string) {
	p.Helper()
	p.open("about:blank") // so that another fragment is another page
	s.show(page)
	p.open(s.URL + "/page" + fragment)
	p.until(`location.pathname === "/page" && document.readyState === "complete"`)
}

// elements returns the elements of a page.
const elements = "document.documentElement.outerHTML"

// attacks are texts that make a request to /hit/N or run a script if they reach a page as markup.
// %[1]s is the address of the site, and %[2]d the number of the attack.
var attacks = []string{
	`<script>fetch("%[1]s/hit/%[2]d")</script>`,
	`</pre></code></script></style></textarea></title><script>fetch("%[1]s/hit/%[2]d")</script>`,
	`<img src="%[1]s/hit/%[2]d">`,
	`<img src=x onerror='fetch("%[1]s/hit/%[2]d")'>`,
	`" onload="fetch('%[1]s/hit/%[2]d')" autofocus onfocus="fetch('%[1]s/hit/%[2]d')" x="`,
	`' onmouseover='fetch("%[1]s/hit/%[2]d")' style='background:url(%[1]s/hit/%[2]d)`,
	`<svg onload="fetch('%[1]s/hit/%[2]d')"><animate onbegin="fetch('%[1]s/hit/%[2]d')" attributeName=x dur=1s>`,
	`<iframe src="%[1]s/hit/%[2]d"></iframe><object data="%[1]s/hit/%[2]d"></object><embed src="%[1]s/hit/%[2]d">`,
	`<style>@import url("%[1]s/hit/%[2]d"); *{background:url("%[1]s/hit/%[2]d")}</style>`,
	`<link rel=stylesheet href="%[1]s/hit/%[2]d"><link rel=prefetch href="%[1]s/hit/%[2]d">`,
	`<meta http-equiv=refresh content="0;url=%[1]s/hit/%[2]d">`,
	`<base href="%[1]s/hit/%[2]d/">`,
	`<video poster="%[1]s/hit/%[2]d" src="%[1]s/hit/%[2]d" autoplay></video><audio src="%[1]s/hit/%[2]d" autoplay></audio>`,
	`<input autofocus onfocus="fetch('%[1]s/hit/%[2]d')"><details open ontoggle="fetch('%[1]s/hit/%[2]d')">`,
	"![picture](%[1]s/hit/%[2]d) and ![ref]\n\n[ref]: %[1]s/hit/%[2]d",
	"[link](javascript:fetch('%[1]s/hit/%[2]d')) [b](JaVaScRiPt&#58;fetch('%[1]s/hit/%[2]d')) <javascript:fetch('%[1]s/hit/%[2]d')>",
	"[c](data:text/html,<script>fetch('%[1]s/hit/%[2]d')</script>) [d](java\tscript:fetch('%[1]s/hit/%[2]d'))",
	"```html\" onload=\"fetch('%[1]s/hit/%[2]d')\n</code></pre><script>fetch('%[1]s/hit/%[2]d')</script>\n```",
	"| <img src=\"%[1]s/hit/%[2]d\"> | b |\n|:-:|--:|\n| <script>fetch('%[1]s/hit/%[2]d')</script> | y |",
	"- a\n  ```\n<script>fetch('%[1]s/hit/%[2]d')</script>\n",
	"<!--><script>fetch('%[1]s/hit/%[2]d')</script>-->",
	"<math><mtext></form><form><mglyph><style></math><img src onerror=fetch('%[1]s/hit/%[2]d')>",
	"<noscript><p title=\"</noscript><img src=x onerror=fetch('%[1]s/hit/%[2]d')>\">",
	"<a href=\"%[1]s\" ping=\"%[1]s/hit/%[2]d\" onclick=\"fetch('%[1]s/hit/%[2]d')\">a</a>",
	"\x00<scr\x00ipt>fetch('%[1]s/hit/%[2]d')</script>\xff<script\u2028>fetch('%[1]s/hit/%[2]d')</script>",
}

// hostile returns a transcript with every attack in every kind of text that a page shows.
func hostile(t *testing.T, url string) *transcript.Transcript {
	t.Helper()
	read, err := transcript.Read(bytes.NewReader(hostileLines(t, url)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// hostileLines returns the lines of that transcript.
func hostileLines(t *testing.T, url string) []byte {
	t.Helper()
	var lines bytes.Buffer
	parent := ""
	add := func(entry map[string]any) {
		entry["uuid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", bytes.Count(lines.Bytes(), []byte("\n")))
		entry["timestamp"], entry["sessionId"], entry["version"] = "2026-11-15T10:00:00.000Z", "s", "2.1.325"
		if parent != "" {
			entry["parentUuid"] = parent
		}
		parent = entry["uuid"].(string)
		line, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	for n, attack := range attacks {
		text := fmt.Sprintf(attack, url, n)
		calls := []any{
			map[string]any{"type": "thinking", "thinking": text, "signature": "s"},
			map[string]any{"type": "text", "text": text},
		}
		var results []any
		for tool, input := range map[string]any{
			"Bash": map[string]any{"command": text, "description": text}, "Read": map[string]any{"file_path": text},
			"Edit":  map[string]any{"file_path": text, "old_string": "a", "new_string": text},
			"Write": map[string]any{"file_path": "a.html", "content": text}, text: map[string]any{text: text},
			"TodoWrite": map[string]any{"todos": []any{map[string]any{"content": text, "status": text}}},
		} {
			id := fmt.Sprintf("call-%d-%d", n, len(results))
			calls = append(calls, map[string]any{"type": "tool_use", "id": id, "name": tool, "input": input})
			results = append(results, map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": n%2 == 0})
		}
		add(map[string]any{
			"type": "user", "cwd": text, "gitBranch": text,
			"message": map[string]any{"role": "user", "content": text},
		})
		add(map[string]any{"type": "assistant", "message": map[string]any{
			"role": "assistant", "id": fmt.Sprintf("m%d", n), "model": text, "content": calls, "stop_reason": "tool_use",
			"usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
		}})
		add(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": results}})
		add(map[string]any{"type": "system", "subtype": "local_command", "content": text})
	}
	return lines.Bytes()
}

// provoke uses everything in a page that a user could touch, except links to other sites.
const provoke = `
	if (navigator.clipboard) navigator.clipboard.writeText = async () => {};
	document.body.hidden = true; // its layout would change with every click
	for (const e of document.querySelectorAll("details")) e.open = true;
	for (const e of document.querySelectorAll("*")) {
		for (const name of ["mouseover", "mouseenter", "focus", "toggle", "pointerdown"]) e.dispatchEvent(new Event(name));
		if (!(e instanceof HTMLAnchorElement) || !/^https?:/.test(e.href)) e.click();
	}
	document.body.hidden = false;` + settle

// settle gives the scripts of a page the time to make a request, and then makes a request itself,
// unless the policy forbids it.
const settle = `
	await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
	await new Promise((done) => setTimeout(done, 100));
	await fetch("/favicon.ico", {cache: "no-store"}).catch(() => {})`

var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)

// A page of a hostile transcript makes no request and runs no script, neither under its policy nor
// when that is taken out.
func TestPagesDoNothing(t *testing.T) {
	soak.Rest(t)
	t.Parallel()
	s := newSite(t)
	p := newTab(t, s.URL)
	doc := export.New(hostile(t, s.URL), nil)
	for name, view := range map[string]*export.View{"short": nil, "full": {Thinking: true, Expand: true, Full: true}} {
		var page strings.Builder
		if err := export.Write(t.Context(), &page, doc, export.HTML, view); err != nil {
			t.Fatal(err)
		}
		if !policy.MatchString(page.String()) {
			t.Fatalf("%s: the page has no policy", name)
		}
		s.open(p, page.String(), "")
		p.run(settle)
		if hits := s.requests(); len(hits) > 0 {
			t.Errorf("%s: requests %q", name, hits)
		}
		s.open(p, policy.ReplaceAllString(page.String(), ""), "")
		p.run(provoke)
		if hits := s.requests(); len(hits) > 0 {
			t.Errorf("%s, without the policy: requests %q", name, hits)
		}
		dom := value[string](p, elements)
		if n := strings.Count(dom, "fetch("); n < len(attacks) {
			t.Errorf("%s: the page shows %d attacks", name, n)
		}
		soak.Figure(t, "%s: %d attacks in %d bytes, no request", name, len(attacks), page.Len())
	}
}

// The attacks work on a page that does not escape them, so that TestPagesDoNothing can fail.
func TestAttacksWork(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := newTab(t, s.URL)
	for n, attack := range attacks[:4] {
		s.open(p, "<!doctype html><body>"+fmt.Sprintf(attack, s.URL, n), "")
		p.wait("a request by "+attack, func() bool { return len(s.requests()) > 0 })
	}
}

// The script of a page finds a text across elements, opens what hides it, and lets one copy.
func TestPageFinds(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	doc := &export.Document{Chunks: []transcript.Chunk{
		{Type: transcript.UserChunk, Turn: 1, Text: "Where is it?"},
		{Type: transcript.AIChunk, Turn: 1, Items: []transcript.DisplayItem{
			{Type: transcript.ItemToolCall, ToolName: "Read", HasResult: true, ToolResult: "a NEEDLE in the hay"},
			{Type: transcript.ItemOutput, Text: "A nee**dle**.\n\n```go\nneedle := 1\n```\n\nnee\n\ndle"},
		}},
	}}
	var page strings.Builder
	if err := export.Write(t.Context(), &page, doc, export.HTML, nil); err != nil {
		t.Fatal(err)
	}
	p := newTab(t, s.URL)
	opened := regexp.MustCompile(`<details class="tool" open`)
	for words, want := range map[string]string{"needle": ">1 of 3<", "gone": ">not found<"} {
		s.open(p, page.String(), "#find="+words)
		p.until(fmt.Sprintf("%s.includes(%q)", elements, want))
		dom := value[string](p, elements)
		if opened.MatchString(dom) != (words == "needle") {
			t.Errorf("%s: the page is %s", words, dom)
		}
		if copies := strings.Count(dom, `class="copy"`); copies != 4 {
			t.Errorf("%d buttons copy, want those of two messages, an input and a block of code", copies)
		}
	}
	s.open(p, page.String(), "")
	if dom := value[string](p, elements); strings.Contains(dom, " of 3<") || opened.MatchString(dom) {
		t.Error("a page that nobody searches shows matches")
	}
}
