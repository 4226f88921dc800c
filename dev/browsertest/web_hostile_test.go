package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/clewdev/clew/cmd/clew/internal/demo"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/soak"
)

// A witness notes what a page must not do.
type witness struct {
	mu      sync.Mutex
	foreign []string // requests to other origins
	issues  []string // what the policy stopped
}

// watchTab notes what a tab does from now on.
func watchTab(p *tab, origin string) *witness {
	p.Helper()
	w := new(witness)
	call(p, audits.Enable, cdp.Empty{})
	call(p, network.Enable, network.EnableParams{})
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `window.violations = []; addEventListener("securitypolicyviolation", e => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sample));
			window.alert = window.confirm = window.prompt = () => violations.push("a script ran");`,
	})
	requests := chromedp.Events(p.ctx, network.RequestWillBeSent)
	go func() {
		for e, err := range requests {
			if err != nil {
				return
			}
			url := e.Request.URL
			if !strings.HasPrefix(url, origin+"/") && !strings.HasPrefix(url, "blob:"+origin) && !strings.HasPrefix(url, "data:") && url != "about:blank" {
				w.note(&w.foreign, url)
			}
		}
	}()
	issues := chromedp.Events(p.ctx, audits.IssueAdded)
	go func() {
		for e, err := range issues {
			if err != nil {
				return
			}
			if details := e.Issue.Details.ContentSecurityPolicyIssueDetails; details != nil {
				w.note(&w.issues, fmt.Sprintf("%+v", details))
			}
		}
	}()
	return w
}

func (w *witness) note(list *[]string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, text)
}

// check fails the test if the page did something.
func (w *witness) check(p *tab, what string) {
	p.Helper()
	for _, v := range value[[]string](p, "window.violations") {
		p.Errorf("%s: the policy stopped %s", what, v)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, url := range w.foreign {
		p.Errorf("%s: a request to %s", what, url)
	}
	for _, issue := range w.issues {
		p.Errorf("%s: the policy stopped %s", what, issue)
	}
	w.foreign, w.issues = nil, nil
}

// use acts on new elements of a page as a user could, except that it follows no link to another site.
const use = `
window.used ??= new WeakSet();
for (const e of document.querySelectorAll("main details, aside details")) e.open = true;
for (const e of document.querySelectorAll("main *, aside *")) {
	if (used.has(e)) continue;
	used.add(e);
	for (const name of ["mouseover", "mouseenter", "focus", "toggle", "pointerdown"]) e.dispatchEvent(new Event(name));
	if (!e.closest("a") && !e.closest("button, label, input, .line")) e.click?.();
}
await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
`

// A hostile transcript runs no script, makes no request and violates no policy, on any page.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	collector := newSite(t)
	f := newSession(t, "hostile")
	f.write(hostileLines(t, collector.URL))
	s := newViewerSite(t)
	p := s.enterIn(newBrowser(t), "/")
	w := watchTab(p, s.URL)
	for _, path := range []string{"/?filter=%27fetch", "/?tab=projects", "/live", "/search?q=fetch", "/usage", "/usage?by=project", "/usage?by=tool", "/usage?by=model"} {
		p.open(s.URL + path)
		p.until(`document.querySelector("main > *") && !document.querySelector("main [aria-busy=true]")`)
		p.run(use)
		w.check(p, path)
	}
	p.open(s.URL + "/s/" + f.id)
	p.until(`document.querySelectorAll(".row").length >= 25`)
	p.press("Z Z") // unfold all
	p.until(`document.querySelectorAll(".row.open").length >= 25`)
	for end := false; !end; {
		p.until(`![...document.querySelectorAll(".segment:empty")].some(e => e.getBoundingClientRect().top < innerHeight && e.getBoundingClientRect().bottom > 0)`)
		p.run(use + `scrollBy(0, innerHeight * 0.9); await new Promise(done => requestAnimationFrame(() => setTimeout(done)))`)
		end = value[bool](p, `scrollY + innerHeight >= document.documentElement.scrollHeight - 60`)
	}
	w.check(p, "the rows")
	for _, panel := range []string{"files", "agents", "context", "usage", "branches", "outline"} {
		p.open(s.URL + "/s/" + f.id + "?panel=" + panel)
		p.until(fmt.Sprintf("location.search === %q && ", "?panel="+panel) + `document.querySelector(".panel .content")?.getAttribute("aria-busy") === "false"`)
		p.run(use)
		w.check(p, panel)
	}
	p.press("q i")
	p.until(`document.querySelector("dialog .part")?.textContent`)
	w.check(p, "the entry")
	if shown := value[bool](p, `document.body.textContent.includes("fetch(")`); !shown {
		t.Error("the attacks are not shown")
	}
	collector.mu.Lock()
	defer collector.mu.Unlock()
	if len(collector.hits) > 0 {
		t.Errorf("requests of scripts: %q", collector.hits)
	}
}

// TestHostilePages would notice a page that loads an image from another server.
func TestWitness(t *testing.T) {
	t.Parallel()
	collector := newSite(t)
	s := newViewerSite(t)
	p := s.enterIn(newBrowser(t), "/")
	w := watchTab(p, s.URL)
	p.open(s.URL + "/usage")
	p.until(`document.querySelector("main > *")`)
	p.run(`const i = document.createElement("img"); i.src = "` + collector.URL + `/hit/1"; document.body.append(i)`)
	p.until("violations.length === 1")
	p.wait("something is noted", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.foreign)+len(w.issues) > 0
	})
}

// axe returns what "make test" installs.
func axe(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../.cache/axe/*/axe.min.js")
	if err != nil || len(files) == 0 {
		t.Fatal("axe-core is not there: make test installs it")
	}
	text, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var pasts = sync.OnceValue(func() error { return demo.LayPasts(os.Getenv("CLAUDE_CONFIG_DIR"), time.Now()) })

// layPasts writes recorded sessions with diffs, thinking and subagents.
func layPasts(t *testing.T) {
	t.Helper()
	if err := pasts(); err != nil {
		t.Fatal(err)
	}
}

// axe-core finds nothing serious on any page, in light and dark, on a phone and a desktop.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	layPasts(t)
	f := story(t, "access")
	f.write(f.answer("A [link](https://example.com), `code`, and\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc f() { return \"s\" } // c\n```"))
	s := newJobSite(t, true)
	s.put("access", "A job that asks", fleet.Lost, func(j *fleet.Job) {
		j.Cause, j.Attempts[0].Patch, j.Attempts[0].Session = fleet.ByLoss, "access/1.patch", f.id
		j.Notes = []fleet.Note{{At: time.Now(), By: "somebody", Text: "Look at it."}}
	})
	s.put("ended", "A job that has failed", fleet.Failed, func(j *fleet.Job) { j.Attempts[0].Result = &fleet.Result{Text: "It failed.", Failed: true} })
	s.ask("access", "q1", "make")
	if err := s.Put(t.Context(), "access/1.patch", strings.NewReader(testPatch)); err != nil {
		t.Fatal(err)
	}
	p := s.enter("/")
	value[any](p, axe(t)+"; 0")
	inspect := func(what string) {
		t.Helper()
		found := value[[]string](p, `axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
			.filter(v => v.impact === "serious" || v.impact === "critical")
			.flatMap(v => v.nodes.slice(0, 3).map(n => v.id + ": " + n.html.slice(0, 200) + " " + n.failureSummary.slice(0, 300))))`)
		for _, problem := range found {
			t.Errorf("%s: %s", what, problem)
		}
	}
	session := "/s/" + f.id
	paths := []string{
		"/", "/?tab=projects", "/live", "/search?q=needle", "/usage", "/usage?by=tool", session, session + "?find=needle",
		"/jobs", "/jobs/access", "/jobs/ended",
	}
	usual := len(paths) // the panels have the same styles, and one is inspected below
	for _, panel := range []string{"files", "agents", "context", "usage", "branches", "outline"} {
		paths = append(paths, session+"?panel="+panel)
	}
	inspectIn := func(path string, l look) {
		p.look(l)
		p.visit(path)
		p.until(`document.querySelector("main > *") && !document.querySelector("[aria-busy=true]")`)
		inspect(fmt.Sprintf("%s, %d pixels, %s", path, l.width, l.scheme))
	}
	looks := []look{{1200, "light"}, {360, "dark"}}
	for i, path := range paths[:usual] {
		inspectIn(path, looks[i%2])
	}
	t.Run("panels, and the other look", func(t *testing.T) {
		for i, path := range paths {
			inspectIn(path, looks[1-i%2])
			if i >= usual {
				inspectIn(path, looks[i%2])
			}
		}
	})
	p.visit("/?filter=%27flaky")
	p.until(`document.querySelector(".item a")?.textContent.includes("flaky")`)
	past := value[string](p, `document.querySelector(".item a").getAttribute("href")`)
	for _, l := range []look{{1200, "dark"}, {1200, "light"}} {
		p.look(l)
		p.visit(past)
		p.until(`document.querySelectorAll(".row").length > 10 && !document.querySelector("[aria-busy=true]")`)
		p.press("Z Z") // unfold all
		p.until(`document.querySelectorAll(".row.subagent .below .row").length > 2`)
		// Only rows near the view have their bodies: look through the page.
		p.until(`document.querySelector(".diff") || void (scrollY + innerHeight >= document.documentElement.scrollHeight - 2 ? scrollTo(0, 0) : scrollBy(0, innerHeight))`)
		inspect("unfolded rows, " + l.scheme)
		p.visit(past + "?panel=files")
		p.until(`document.querySelector(".panel .diff")`)
		inspect("files, " + l.scheme)
		p.visit("/")
	}
	p.visit(session)
	p.see("Here it is.")
	p.press("?")
	p.see("next failure")
	inspect("the keys")
	p.press("esc")
	p.until(`!document.querySelector("dialog")`)
	p.press("i")
	p.until(`document.querySelector("dialog .part")?.textContent`)
	inspect("an entry")
}
