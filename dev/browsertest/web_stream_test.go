package browsertest

import (
	"fmt"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// setHidden has a page believe that it is hidden, or shown again.
func (p *tab) setHidden(hidden bool) {
	p.Helper()
	p.run(fmt.Sprintf(`Object.defineProperty(document, "hidden", {value: %v, configurable: true}); document.dispatchEvent(new Event("visibilitychange"))`, hidden))
}

// A hidden tab has no stream, and shows what it has missed when it is shown again.
func TestHiddenTab(t *testing.T) {
	t.Parallel()
	f := story(t, "hidden")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	f.write(f.prompt("Seen at once."))
	p.see("Seen at once.")
	p.setHidden(true)
	p.until("true") // one more turn of the page's loop
	p.wait("no stream is open", func() bool { return s.streams.Load() == 0 })
	f.write(f.answer("Not seen."), f.prompt("Seen later."))
	s.statuses()
	p.setHidden(false)
	p.see("Seen later.")
	for _, line := range s.statuses() {
		if line == "200 GET /s/"+f.id {
			t.Error("the page was loaded again")
		}
	}
}

// A stream that is cut is begun again, and goes on where it was.
func TestCutStream(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "cut")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	for i := range 5 {
		text := fmt.Sprintf("After cut %d.", i)
		s.CloseClientConnections()
		f.write(f.prompt(text), f.answer("Yes."))
		p.see(text)
	}
	p.until(`document.querySelector(".connection").hidden`)
	if got := value[int](p, `[...document.querySelectorAll(".row.prompt")].filter(e => e.textContent.includes("After cut")).length`); got != 5 {
		t.Errorf("%d of 5 prompts are shown", got)
	}
}
