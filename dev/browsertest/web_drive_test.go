package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/drive/drivetest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// newDrivenSite returns a web viewer that drives agents in memory, which write no transcripts.
func newDrivenSite(t *testing.T, mode string) (*viewerSite, *drivetest.Agent) {
	t.Helper()
	sim := new(drivetest.Agent)
	agents := drive.New(drive.Options{
		Connect: sim.Connect, Roots: []string{t.TempDir()}, Mode: wire.PermissionMode(mode),
		Names:   func(context.Context, string) ([]sessions.SessionInfo, error) { return nil, nil },
		Running: func(context.Context) ([]sessions.RunningSession, error) { return nil, nil },
	})
	t.Cleanup(func() { agents.Close() })
	return viewerOf(t, agents, nil), sim
}

// startIn starts an agent with the form, and waits for its session page.
func startIn(p *tab, prompt string) {
	p.Helper()
	p.click(".start summary")
	p.run(`document.querySelector(".start textarea").focus()`)
	p.write(prompt)
	p.press("enter")
	p.until(`location.pathname.startsWith("/s/")`)
}

// A question that comes before there is a transcript can be answered, but not at once: a click may
// have been meant for the content before it.
func TestQuestionSettles(t *testing.T) {
	t.Parallel()
	s, sim := newDrivenSite(t, "plan")
	p := s.enter("/")
	p.run(`window.inert = 0; new MutationObserver(() => {
		const form = document.querySelector(".question .answers");
		if (form && form !== window.form) { window.form = form; if (form.inert) window.inert++; }
	}).observe(document.body, {childList: true, subtree: true})`)
	startIn(p, "ask make")
	p.until(`window.form && !window.form.inert`)
	if n := value[int](p, "window.inert"); n != 1 {
		t.Errorf("%d questions settled", n)
	}
	p.click(".question [data-key=y]")
	p.until(`document.querySelector(".question").hidden`)
	if answers := sim.Answers(); len(answers) != 1 || !strings.Contains(answers[0], "allow") {
		t.Errorf("answers %q", answers)
	}
	if starts := sim.Starts(); len(starts) != 1 || starts[0].PermissionMode != "plan" {
		t.Errorf("starts %+v", starts)
	}
}

// pasteImage pastes an image into the editor.
const pasteImage = `
	const image = new OffscreenCanvas(2, 2);
	image.getContext("2d");
	const data = new DataTransfer();
	data.items.add(new File([await image.convertToBlob()], "a.png", {type: "image/png"}));
	const area = document.querySelector(".editor textarea");
	area.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
	area.focus()`

// A prompt that is refused comes back with its images.
func TestPromptComesBack(t *testing.T) {
	t.Parallel()
	s, _ := newDrivenSite(t, "")
	p := s.enter("/")
	startIn(p, "ask make")
	p.until(`document.querySelector(".question .answers")`)
	p.run(`
		const real = window.fetch;
		window.fetch = (url, init) => String(url).endsWith("/prompts") ? Promise.resolve(new Response('{"error":"too many"}', {status: 429})) : real(url, init);` +
		pasteImage)
	p.until(`document.querySelector(".thumb img")?.naturalWidth === 2`)
	p.write("look")
	p.press("enter")
	p.see("too many")
	p.until(`document.querySelector(".editor textarea").value === "look" && document.querySelector(".thumb img")?.naturalWidth === 2`)
}

// A link that was used before leads a browser that is logged in to the page.
func TestUsedLink(t *testing.T) {
	t.Parallel()
	s := newViewerSite(t)
	link := s.URL + "/#" + s.web.NewCode()
	p := newTab(t, s.URL)
	for range 2 {
		p.open(link)
		p.until(`document.querySelector(".bar nav")`)
		p.open("about:blank")
	}
}

// twoTabs starts an agent, and returns two tabs of one browser that show its session. They note what
// they say to the user.
func twoTabs(s *viewerSite, prompt string) [2]*tab {
	s.Helper()
	one := s.enter("/")
	startIn(one, prompt)
	tabs := [2]*tab{one, one.another()}
	tabs[1].open(s.URL + value[string](one, "location.pathname"))
	for _, p := range tabs {
		p.until(`document.querySelector(".toast") && document.querySelector(".composer .state")?.textContent`)
		p.run(`window.said = []; new MutationObserver(() => said.push(document.querySelector(".toast").textContent))
			.observe(document.querySelector(".toast"), {childList: true})`)
	}
	return tabs
}

// inPairs holds requests whose path has an end back until two of them have come, and counts them.
func (s *viewerSite) inPairs(end string) *atomic.Int64 {
	n, gate := new(atomic.Int64), make(chan struct{})
	s.answerWith(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, end) {
			select {
			case gate <- struct{}{}:
			case <-gate:
			case <-r.Context().Done():
				return
			}
			n.Add(1)
		}
		s.web.Handler().ServeHTTP(w, r)
	}))
	return n
}

// Two tabs answer the same question at once. One answer counts, and the other tab shows it.
func TestTwoTabsAnswer(t *testing.T) {
	soak.Rest(t)
	t.Parallel()
	s, sim := newDrivenSite(t, "")
	sent := s.inPairs("/answers")
	tabs := twoTabs(s, "ask make")
	for round := range soak.Size(2, 4) {
		if round > 0 {
			tabs[0].run(`said.length = 0`)
			tabs[1].run(`said.length = 0`)
			tabs[0].until(editor + `.focus() ?? true`)
			tabs[0].write("ask make")
			tabs[0].press("enter")
		}
		const shown = `(b => b && !b.closest("[inert]") && !b.closest("[hidden]"))(document.querySelector(".question [data-key=y]"))`
		tabs[0].until(shown)
		tabs[1].until(shown)
		for i, key := range []string{"y", "n"} {
			tabs[i].click(".question [data-key=" + key + "]")
		}
		for _, p := range tabs {
			p.until(`document.querySelector(".question").hidden && document.querySelector(".composer .state").textContent === "idle"`)
		}
		answers := sim.Answers()
		if n := sent.Load(); len(answers) != round+1 || n != int64(2*(round+1)) {
			t.Fatalf("the agent got %q in round %d, and the server %d answers", answers, round, n)
		}
		winner, what := 0, "allowed once"
		if strings.Contains(answers[round], "deny") {
			winner, what = 1, "denied"
		}
		name := value[string](tabs[winner], `sessionStorage.getItem("clew-tab")`)
		tabs[1-winner].until(fmt.Sprintf(`said.some(text => text.toLowerCase().includes(%q))`, "answered by page "+name+": "+what))
		if said := value[string](tabs[winner], `said.join("; ")`); strings.Contains(strings.ToLower(said), "answered by") {
			t.Errorf("the tab whose answer counts says %q", said)
		}
	}
}

// Tabs share the draft of a session. The same text from two of them is two prompts, and the same ID is
// one, however often it is sent at once.
func TestTwoTabsSend(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	s, sim := newDrivenSite(t, "")
	sim.Record(filepath.Join(os.Getenv("CLAUDE_CONFIG_DIR"), "projects"), t.TempDir(), time.Now)
	tabs := twoTabs(s, "say begun")
	for i, p := range tabs {
		p.until(editor + `.focus() ?? true`)
		p.write("say same")
		tabs[1-i].until(editor + `.value === "say same"`)
		p.press("enter")
		tabs[1-i].until(editor + `.value === ""`)
		p.wait("the agent gets the prompt", func() bool { return len(sim.Prompts()) == i+2 })
	}
	agent := value[string](tabs[0], `fetch("/api/v1/driven", {headers: {Authorization: "Bearer " + localStorage.getItem("clew-token")}})
		.then(r => r.json()).then(a => a.agents[0].agent)`)
	for _, p := range tabs {
		p.run(fmt.Sprintf(`window.answers = Promise.all([1, 2, 3].map(() => fetch("/api/v1/agents/%s/prompts", {
			method: "POST", body: JSON.stringify({id: "the-same-id", text: "say once"}),
			headers: {"Content-Type": "application/json", Authorization: "Bearer " + localStorage.getItem("clew-token")},
		}).then(r => r.json().then(a => r.status + " " + a.id))))`, agent))
	}
	for _, p := range tabs {
		if got := value[string](p, `answers.then(a => a.join())`); got != "200 the-same-id,200 the-same-id,200 the-same-id" {
			t.Errorf("answers %s", got)
		}
	}
	tabs[0].until(`document.querySelector(".composer .state").textContent === "idle"`)
	if diff := cmp.Diff([]string{"say begun", "say same", "say same", "say once"}, sim.Prompts()); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}
