package browsertest

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// answerWith ends all connections, and has a handler answer at the address of the server from now on.
func (s *viewerSite) answerWith(handler http.Handler) {
	s.mu.Lock()
	s.handler = handler
	s.mu.Unlock()
	s.CloseClientConnections()
}

// die lets the server be gone, as it is before another program can listen at its address, until the page has noticed it.
// From then on the page must not send a token before it got a proof. Requests that it sent before get no answer.
func (s *viewerSite) die(p *tab) {
	s.Helper()
	s.answerWith(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	p.until(`!document.querySelector(".connection").hidden`)
	p.wait("no request is under way", func() bool { return s.running.Load() == 0 })
}

// An impostor is a program that listens where a server was.
type impostor struct {
	answer                  string // to a request for a proof; "" means that there is none
	proofs, others, secrets atomic.Int64
}

func (i *impostor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		i.secrets.Add(1)
	}
	if !strings.HasSuffix(r.URL.Path, "/proof") {
		i.others.Add(1)
	} else {
		i.proofs.Add(1)
	}
	if i.answer == "" {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(i.answer)) // the browser may have gone
}

// A program that listens where a server was gets neither the token nor a request for data. The page
// continues when the server is back, and logs out when another one is there.
func TestImpostorPage(t *testing.T) {
	soak.Rest(t)
	t.Parallel()
	f := story(t, "impostor")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.wait("one stream is open", func() bool { return s.streams.Load() == 1 })
	check := func(i *impostor) {
		t.Helper()
		p.wait("the impostor is asked", func() bool { return i.proofs.Load() > 0 })
		if i.secrets.Load() > 0 || i.others.Load() > 0 {
			t.Errorf("the impostor got the token %d times, and %d requests without a proof", i.secrets.Load(), i.others.Load())
		}
	}
	silent := new(impostor)
	s.die(p)
	s.answerWith(silent)
	p.run(`document.querySelector("[data-panel=files]").click()`)
	p.see("Another program answers")
	check(silent)
	s.answerWith(s.web.Handler())
	p.until(`document.querySelector(".connection").hidden`)
	f.write(f.prompt("Are you back?"))
	p.see("Are you back?")
	s.die(p)
	liar := &impostor{answer: `{"proof":"AAAA","token":"t","start":"s"}`}
	s.answerWith(liar)
	p.see("This browser is not logged in")
	check(liar)
	if value[bool](p, `localStorage.getItem("clew-token") !== null`) {
		t.Error("a token that is of no use is kept")
	}
}

// A row of the list shows everything at every width, also when its turns are counted.
func TestListRowsAreShown(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := newSession(t, "widths")
	f.write(f.prompt("Measure the width"), f.answer("Done."))
	s := newViewerSite(t)
	p := s.enter("/?filter=%27measure")
	for _, width := range []int64{390, 1000, 1280, 1700} {
		p.look(look{width, "light"})
		p.until(`document.querySelector(".item .fact-turns")`)
		p.until(`[...document.querySelectorAll(".item .title, .item .fact-turns, .item .fact-cost, .item time")].every(e => {
			const outer = e.closest(".item").getBoundingClientRect(), inner = e.getBoundingClientRect();
			return inner.height > 0 && inner.top >= outer.top && inner.bottom <= outer.bottom && inner.left >= outer.left && inner.right <= outer.right + 1;
		})`)
	}
}

// The colors can be chosen, and stay chosen.
func TestTheme(t *testing.T) {
	t.Parallel()
	s := newViewerSite(t)
	p := s.enter("/")
	p.look(look{1000, "dark"})
	const isDark = `(c => c[0] + c[1] + c[2] < 300)(getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number))`
	p.until(isDark)
	p.click(".theme")
	p.see("Colors: light")
	p.until("!" + isDark)
	p.open(s.URL + "/usage")
	p.until(`document.querySelector(".theme")`)
	p.until("!" + isDark)
	p.look(look{1000, "light"})
	p.click(".theme")
	p.until(isDark)
	p.click(".theme")
	p.until("!" + isDark)
	p.look(look{1000, "dark"})
	p.until(isDark)
}

// A session is exported from its page, redacted unless the user wants it whole.
func TestExportKey(t *testing.T) {
	t.Parallel()
	f := story(t, "export")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.run(`window.saved = []; HTMLAnchorElement.prototype.click = async function () {
		window.saved.push(this.download + " " + await (await fetch(this.href).catch(() => null))?.text?.());
	}; const make = URL.createObjectURL; URL.createObjectURL = (blob) => { blob.text().then((t) => { window.text = t; }); return make(blob); }`)
	s.statuses()
	p.press("e")
	p.until(`document.querySelector("dialog[open] select") === document.activeElement`)
	p.run(`document.activeElement.value = "markdown"`)
	p.click("dialog [type=submit]")
	p.until(`window.text?.includes("Why does it fail?") && window.saved[0]?.startsWith("clew-" + ` + "`" + `${location.pathname.slice(3, 11)}.md` + "`" + `)`)
	p.wait("the export is redacted", func() bool {
		for _, line := range s.statuses() {
			if line == "200 GET /api/v1/sessions/"+f.id+"/export?format=markdown" {
				return true
			}
		}
		return false
	})
}

// A long outline comes in parts.
func TestLongOutline(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := longSession(t, "outline", 1200)
	s := newViewerSite(t)
	p := newTab(t, s.URL)
	p.look(look{1280, "light"})
	p.open(s.URL + "/s/" + f.id + "#" + s.web.NewCode())
	p.until(`document.querySelectorAll(".turns li").length === 1000`)
	p.until(`(choice => choice && (choice.value = "1000", choice.dispatchEvent(new Event("change")), true))(document.querySelector(".turns select"))`)
	p.until(`document.querySelector(".turns li")?.innerText.includes("Prompt 1000")`)
	p.click(".turns li:last-child a")
	p.until(`document.activeElement.matches(".row.prompt") && document.activeElement.innerText.includes("Prompt 1199")`)
}

// A part of the outline that was asked for before another one was chosen does not replace it, even if
// its answer comes later.
func TestOutlineChoiceStays(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := longSession(t, "choice", 1200)
	s := newViewerSite(t)
	p := newTab(t, s.URL)
	p.look(look{1280, "light"})
	p.open(s.URL + "/s/" + f.id + "#" + s.web.NewCode())
	p.until(`document.querySelectorAll(".turns li").length === 1000`)
	p.run(`const real = fetch; window.held = []; window.answered = 0
		window.fetch = async (url, options) => {
			const first = String(url).includes("/outline") && !String(url).includes("from=1000")
			if (first) await new Promise(release => held.push(release))
			const answer = await real(url, options)
			if (first) answered++
			return answer
		}`)
	f.write(f.prompt("One more."))
	p.until(`held.length > 0`)
	p.until(`(choice => choice && (choice.value = "1000", choice.dispatchEvent(new Event("change")), true))(document.querySelector(".turns select"))`)
	p.until(`document.querySelector(".turns li")?.innerText.includes("Prompt 1000")`)
	p.run(`held.forEach(release => release())`)
	p.until(`answered > 0`)
	p.run(`for (let i = 0; i < 20; i++) await new Promise(done => requestAnimationFrame(() => setTimeout(done)))`)
	p.until(`document.querySelector(".turns li")?.innerText.includes("Prompt 1000")`)
}

// A folded prompt shows its first line, in which matches are marked.
func TestFoldedPrompt(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "folded")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.press("Z")
	p.until(`(e => !e.classList.contains("open") && e.innerText.includes("Why does it fail?"))(document.querySelector(".row.prompt"))`)
	p.press("/")
	p.write("it")
	p.until(`[...CSS.highlights.get("find") ?? []].some(r => r.startContainer.parentElement.matches(".row.prompt:not(.open) > .line .what"))`)
	p.until(`[...CSS.highlights.get("find")].every(r => r.startContainer.parentElement.checkVisibility())`)
}

// The dialog of a row has the old lines of a change beside the new ones, unless it is narrow.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := newSession(t, "beside")
	f.write(f.prompt("Change it."), f.entry("assistant", map[string]any{
		"id": "m", "role": "assistant", "model": "claude-opus-5-5", "stop_reason": "tool_use", "content": []any{map[string]any{
			"type": "tool_use", "id": "t", "name": "Edit", "input": map[string]any{
				"file_path": "/p/a.go", "old_string": "one\ntwo\nthree\nfour", "new_string": "one\n2\nfour\nfive",
			},
		}},
	}), f.entry("user", map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result", "tool_use_id": "t", "content": "done"}}}))
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.until(`document.querySelector(".row.call")`)
	const lines = `[...document.querySelectorAll("dialog .diff tr")].map(r => [...r.cells].filter(c => !c.matches(".no")).map(c => c.textContent).join("|")).join(" / ")`
	for width, want := range map[int64]string{
		1280: "|one||one / −|two|+|2 / −|three| / |four||four / |+|five", 700: "|one / −|two / −|three / +|2 / |four / +|five",
	} {
		p.look(look{width, "light"})
		p.run(`document.querySelector(".row.call").focus()`)
		p.press("i")
		p.click("dialog [data-part=diff]")
		p.until(`document.querySelector("dialog .diff tr")`)
		if got := value[string](p, lines); got != want {
			t.Errorf("at %d: %s, want %s", width, got, want)
		}
		p.press("esc")
		p.until(`!document.querySelector("dialog")`)
	}
}
