package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/wording"
)

// The printed URL logs the browser in, once, and the code does not stay in the URL.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := newViewerSite(t)
	p := newTab(t, s.URL)
	p.open(s.URL + "/")
	p.see("This browser is not logged in")
	code := s.web.NewCode()
	p.open(s.URL + "/?tab=live#" + code)
	p.until(`document.querySelector(".bar")`)
	if got, want := value[string](p, "location.href"), s.URL+"/?tab=live"; got != want {
		t.Errorf("the URL is %s, want %s", got, want)
	}
	p.open(s.URL + "/") // the token is kept
	p.until(`document.querySelector(".bar")`)
	other := newBrowser(t)
	other.open(s.URL + "/#" + code)
	other.see("This browser is not logged in")
	if value[bool](other, "location.hash !== ''") {
		t.Error("a code that was used stays in the URL")
	}
}

// The scripts of pages write numbers as the server does.
func TestNumbers(t *testing.T) {
	t.Parallel()
	s := newViewerSite(t)
	p := s.enter("/")
	p.until(`document.querySelector(".bar")`)
	for _, n := range []int{0, 1, 999, 1000, 23_045, 1_234_567} {
		got := value[string](p, fmt.Sprintf(`import(document.querySelector("script[type=module]").src.replace("app.js", "dom.js"))
			.then((dom) => dom.number(%d) + " " + dom.count(%[1]d, "image"))`, n))
		if want := wording.Number(n) + " " + wording.Count(n, "image"); got != want {
			t.Errorf("%d: the page writes %q, the server %q", n, got, want)
		}
	}
}

// Sessions are filtered, and chosen with keys alone.
func TestListKeys(t *testing.T) {
	t.Parallel()
	words := []string{"zebra", "yak", "xerus"}
	for _, word := range words {
		f := newSession(t, "animals")
		f.write(f.prompt("Feed the "+word), f.answer("Done."))
	}
	s := newViewerSite(t)
	p := s.enter("/")
	p.until(`document.querySelector(".item .title")`) // those of other tests may come first
	p.press("/")
	p.write("'feed the")
	p.until(`document.querySelectorAll(".item").length === 3`)
	p.press("down j k")
	p.until(`document.activeElement.closest(".item.selected")`)
	first := value[string](p, `document.querySelector(".item.selected .title").textContent`)
	p.press("G")
	p.until(`document.activeElement.closest(".item")?.dataset.index === "2"`)
	if last := value[string](p, `document.activeElement.querySelector(".title").textContent`); last == first {
		t.Errorf("the last session is the first one, %s", last)
	}
	if got := value[string](p, "location.search"); got != "?filter=%27feed+the" {
		t.Errorf("the URL has %s", got)
	}
	p.press("esc")
	p.until(`document.querySelectorAll(".item").length > 3 && location.search === ""`)
	p.press("/")
	p.write("yak")
	p.until(`document.querySelectorAll(".item").length === 1`)
	p.press("enter enter")
	p.until(`location.pathname.startsWith("/s/")`)
}

// A long list has few elements, wherever one scrolls.
func TestLongList(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	home := t.TempDir() // the lists of other tests are short
	const n = 800
	var f *sessionFile
	for i := range n {
		f = newSessionIn(t, filepath.Join(home, ".claude"), "long")
		f.write(f.prompt(fmt.Sprintf("Count to %d", i)))
	}
	link := serveProgram(t, home, programEnv(home))
	p := newTab(t, originOf(t, link))
	p.open(link)
	p.until(`document.querySelectorAll(".item .title").length > 50`)
	for _, script := range []string{"scrollTo(0, 1e7)", "scrollTo(0, 30000)", "scrollBy(0, 900)", "scrollTo(0, 0)"} {
		p.run(script)
		p.until(`(shown => shown.length > 8 && shown.every(e => e.querySelector(".title, h2")))(
			[...document.querySelectorAll(".item")].filter(e => {
				const r = e.getBoundingClientRect();
				return r.bottom > 0 && r.top < innerHeight;
			}))`)
		if got := value[int](p, `document.querySelectorAll(".item").length`); got > 200 {
			t.Errorf("after %s: %d rows are in the document", script, got)
		}
	}
	p.run("scrollTo(0, 20000)") // and the way back leads there
	// Rows may be made again at any time, so click a row as soon as it is found.
	p.until(`(e => e && (e.click(), true))(document.elementFromPoint(400, 400)?.closest(".item a"))`)
	p.until(`location.pathname.startsWith("/s/") && document.querySelector(".row")`)
	p.hold(`sessions\?`)
	p.press("q")
	p.until(`window.release`)
	f.write(f.prompt("Count again")) // the list is asked for again before the first answer is there
	p.until(`document.querySelector(".item") && Math.abs(scrollY - 20000) < 200`)
	p.release()
	p.until(`document.querySelector(".item") && Math.abs(scrollY - 20000) < 200`)
}

// A session that is renamed, deleted and restored is where it belongs.
func TestListChanges(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := newSession(t, "changes")
	f.write(f.prompt("Paint the fence"), f.answer("Done."))
	s := newViewerSite(t)
	p := s.enter("/?filter=fence")
	p.see("Paint the fence")
	p.press("R")
	p.until(`document.querySelector("dialog[open] input") === document.activeElement`)
	p.write("Build the fence")
	p.press("enter")
	p.see("Build the fence")
	p.until(`!document.querySelector("dialog")`)
	p.press("D")
	p.see("Move the session to the trash?")
	p.press("enter")
	p.see("No session matches.")
	if _, err := os.Stat(f.path); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	p.click(`[data-tab=trash]`)
	p.see("Build the fence")
	p.press("R")
	p.see("No session matches.")
	if _, err := os.Stat(f.path); err != nil {
		t.Error(err)
	}
}

// A filter that is typed just before a session is opened does not lead back to the list.
func TestListFilterLate(t *testing.T) {
	t.Parallel()
	f := newSession(t, "owls")
	f.write(f.prompt("Feed the owl"), f.answer("Done."))
	s := newViewerSite(t)
	p := s.enter("/?filter='feed the owl")
	p.until(`document.querySelector(".item a")`)
	p.run(`const input = document.querySelector("input[type=search]");
		input.value = "owl";
		input.dispatchEvent(new Event("input")); // the list is filtered in a while
		document.querySelector(".item a").click();`)
	p.until(`location.pathname.startsWith("/s/")`)
	p.run("await new Promise((done) => setTimeout(done, 1000))") // timers end in the order of their times
	if path := value[string](p, "location.pathname"); !strings.HasPrefix(path, "/s/") {
		t.Errorf("the page goes back to %s", path)
	}
}

// Keys copy the ID of the selected session, also in the trash, and the command that resumes it, and nothing for
// a project.
func TestListCopies(t *testing.T) {
	t.Parallel()
	f := newSession(t, "parrots")
	f.write(f.prompt("Teach the parrot"), f.answer("Done."))
	s := newViewerSite(t)
	p := s.enter("/")
	p.until(`document.querySelector(".item .title")`)
	p.run(`window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }`)
	copies := func(path, row string, want ...string) {
		t.Helper()
		p.visit(path)
		p.until(fmt.Sprintf(`document.querySelector(".item.selected > %s")`, row))
		p.press("y") // which is over when the page has taken the key
		p.press("Y")
		p.press("r")
		if diff := cmp.Diff(want, value[[]string](p, "window.copied.splice(0)"), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("copied in %s (-want +got):\n%s", path, diff)
		}
	}
	copies("/?tab=projects", ".project")
	resume := view.ResumeCommand(f.id, "/home/dev/project", f.path)
	copies("/?filter='parrot", ".session", f.id, resume, resume)
	p.press("D")
	p.see("Move the session to the trash?")
	p.press("enter")
	p.see("No session matches.")
	copies("/?tab=trash&filter='parrot", ".deleted", f.id)
	p.press("R") // with -count, the tests run in one home
	p.see("No session matches.")
}

// All tabs of a browser share one stream, and the next one takes it when its tab goes away.
func TestOneStream(t *testing.T) {
	soak.Rest(t)
	t.Parallel()
	s := newViewerSite(t)
	const path = "/?filter=%27stream" // other tests write sessions as well
	one := s.enter(path)
	two := one.another()
	two.open(s.URL + path)
	two.until(`document.querySelector(".bar")`)
	grow := func(text string, tabs ...*tab) {
		t.Helper()
		f := newSession(t, "streams")
		f.write(f.prompt(text), f.answer("Yes."))
		for _, p := range tabs {
			p.see(text)
		}
		// The server may still be about to end the stream of a tab that went away.
		tabs[0].wait("one stream is open", func() bool { return s.streams.Load() == 1 })
	}
	grow("Is it one stream?", one, two)
	one.open("about:blank")
	grow("Is it still one stream?", two)
	one.open(s.URL + path)
	one.until(`document.querySelector(".bar")`)
	two.open("about:blank")
	grow("And this stream?", one)
}

// The keys that "?" shows are the keys of the terminal, except for keys that a browser needs.
func TestKeysDialog(t *testing.T) {
	t.Parallel()
	s := newViewerSite(t)
	p := s.enter("/")
	p.press("?")
	p.see("move the session to the trash")
	keys := value[string](p, `[...document.querySelectorAll("dialog kbd")].map(e => e.textContent).join(" ")`)
	for _, bad := range []string{"ctrl+", "tab"} {
		if strings.Contains(keys, bad) {
			t.Errorf("the keys have %s: %s", bad, keys)
		}
	}
	p.write("previous day")
	p.until(`document.querySelectorAll("dialog tr").length === 1`)
	p.press("esc")
	p.until(`!document.querySelector("dialog")`)
}
