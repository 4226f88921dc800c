package browsertest

import (
	"context"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/drive"
	"github.com/clewdev/clew/internal/drive/drivetest"
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
	return viewerOf(t, agents), sim
}

// startIn starts an agent with the form, and waits for the page of its session.
func startIn(p *tab, prompt string) {
	p.Helper()
	p.click(".start summary")
	p.run(`document.querySelector(".start textarea").focus()`)
	p.write(prompt)
	p.press("enter")
	p.until(`location.pathname.startsWith("/s/")`)
}

// A question that comes before there is a transcript can be answered, but not at once: a click may
// have been meant for what was there before.
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

// A prompt that is refused comes back with its images.
func TestPromptComesBack(t *testing.T) {
	t.Parallel()
	s, _ := newDrivenSite(t, "")
	p := s.enter("/")
	startIn(p, "ask make")
	p.until(`document.querySelector(".question .answers")`)
	p.run(`
		const real = window.fetch;
		window.fetch = (url, init) => String(url).endsWith("/prompts") ? Promise.resolve(new Response('{"error":"too many"}', {status: 429})) : real(url, init);
		const image = new OffscreenCanvas(2, 2);
		image.getContext("2d");
		const data = new DataTransfer();
		data.items.add(new File([await image.convertToBlob()], "a.png", {type: "image/png"}));
		const area = document.querySelector(".editor textarea");
		area.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
		area.focus()`)
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
	p := newTab(t)
	for range 2 {
		p.open(link)
		p.until(`document.querySelector(".bar nav")`)
		p.open("about:blank")
	}
}
