package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

// story is a session with a prompt, an answer, a call that failed, and another turn.
func story(t *testing.T, project string) *sessionFile {
	t.Helper()
	f := newSession(t, project)
	f.write(
		f.prompt("Why does it fail?"), f.answer("I run the **tests**."), f.call("go test ./...", "FAIL: the needle is lost", true),
		f.answer("It is lost."), f.prompt("Then find it."), f.call("grep -r needle .", "hay.txt: needle", false), f.answer("Here it is."),
	)
	return f
}

// A session is opened, unfolded, searched and read with keys alone.
func TestSessionKeys(t *testing.T) {
	t.Parallel()
	f := story(t, "keys")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("I run the tests.")
	p.until(`document.querySelector(".row.call.failed")`)
	p.press("}")
	p.until(`document.activeElement.matches(".row.call.failed.selected")`)
	p.press("enter")
	p.see("FAIL: the needle is lost")
	p.press("h")
	p.until(`!document.activeElement.classList.contains("open")`)
	p.press("]")
	p.until(`document.activeElement.matches(".row.prompt") && document.activeElement.innerText.includes("Then find it.")`)
	p.press("j j k")
	p.until(`document.activeElement.matches(".row.call") && document.activeElement.innerText.includes("grep")`)
	p.press("i")
	p.until(`document.querySelector("dialog[open]")?.innerText.includes("tool_use")`)
	p.press("esc")
	p.until(`document.activeElement.matches(".row.call")`) // the focus goes back
	p.press("g")
	p.until(`document.activeElement.innerText.includes("Why does it fail?")`)
	p.press("q")
	p.until(`location.pathname === "/" && document.querySelector(".item")`)
}

// Find counts the matches, goes to each, and unfolds the row that has it.
func TestSessionFind(t *testing.T) {
	t.Parallel()
	f := story(t, "find")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("It is lost.")
	p.press("/")
	p.write("needle")
	p.until(`document.querySelector(".find .count").textContent === "1 of 2 rows, 3 matches"`)
	p.see("FAIL: the needle is lost")
	p.until(`CSS.highlights.get("found")?.size === 1`)
	p.press("enter")
	p.until(`document.querySelector(".find .count").textContent === "2 of 2 rows, 3 matches"`)
	p.see("hay.txt: needle")
	p.press("esc")
	p.until(`document.querySelector(".find").hidden && document.activeElement.matches(".row.call")`)
	p.press("/")
	p.write("/need[a-z]+ is/")
	p.until(`document.querySelector(".find .count").textContent === "1 of 1"`)
	p.press("esc /")
	p.write("/need[/")
	p.until(`document.querySelector(".find .count").textContent.includes("missing closing")`)
	p.press("esc /")
	p.write("nowhere")
	p.until(`document.querySelector(".find .count").textContent === "no match"`)
	f.write(f.answer("It is nowhere.")) // what comes later is found as well, and the page stays where it is
	p.until(`document.querySelector(".find .count").textContent === "0 of 1"`)
	p.press("enter")
	p.until(`document.querySelector(".find .count").textContent === "1 of 1"`)
}

// A link leads to its row, in a session with more rows than one page of them.
func TestSessionLink(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := longSession(t, "links", 700)
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Prompt 0")
	p.press("G")
	p.see("Prompt 695")
	row := value[string](p, `[...document.querySelectorAll(".row.prompt")].find(e => e.textContent.includes("Prompt 695")).dataset.row`)
	p.open(s.URL + "/")
	p.until(`document.querySelector(".item")`)
	p.open(s.URL + "/s/" + f.id + "#row=" + row)
	p.until(`document.activeElement.matches(".row.selected") && document.activeElement.innerText.includes("Prompt 695")`)
	inView := value[bool](p, `(r => r.top > 0 && r.bottom < innerHeight)(document.activeElement.getBoundingClientRect())`)
	if !inView {
		t.Error("the row of the link is not in view")
	}
	if n := value[int](p, `document.querySelectorAll(".row").length`); n > 1000 {
		t.Errorf("%d rows are in the document", n)
	}
}

// However many rows are in the document, a far one is reached at once.
func TestSessionJumps(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := longSession(t, "jumps", 700)
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Prompt 0")
	selected := `document.activeElement.matches(".row.selected") && document.activeElement.innerText.includes(%q)`
	for pages := 15; pages < 30; pages += soak.Size(7, 1) {
		for range pages {
			p.press("space")
			p.until(`![...document.querySelectorAll(".segment:empty")].some(e => e.getBoundingClientRect().top < 2 * innerHeight && e.getBoundingClientRect().bottom > -innerHeight)`)
		}
		p.press("G")
		p.until(fmt.Sprintf(selected, "Answer 699."))
		p.press("g")
		p.until(fmt.Sprintf(selected, "Prompt 0"))
	}
}

// Hidden thinking is passed over, and the place stays when it is hidden.
func TestSessionHidesThinking(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := newSession(t, "thinking")
	f.write(f.prompt("Think a lot"))
	for n := range 40 {
		f.write(f.entry("assistant", map[string]any{
			"role": "assistant", "id": fmt.Sprintf("m%d", n), "model": "claude-opus-5-5",
			"content": []any{map[string]any{"type": "thinking", "thinking": fmt.Sprintf("Thought %d", n)}},
		}), f.answer(fmt.Sprintf("Answer %d.", n)))
	}
	p := newViewerSite(t).enter("/s/" + f.id)
	p.see("Answer 3.")
	selected := `document.querySelector(".row.selected").innerText.includes(%q)`
	p.press("g j")
	p.until(`document.querySelector(".row.selected").matches(".thinking")`)
	p.press("t")
	p.until(fmt.Sprintf(selected, "Answer 0.")) // the next row that is shown
	for n := 1; n < 30; n++ {
		p.press("j")
		p.until(fmt.Sprintf(selected, fmt.Sprintf("Answer %d.", n)))
	}
	before := value[float64](p, `document.querySelector(".row.selected").getBoundingClientRect().top`)
	p.press("t")
	p.until(`document.querySelector(".row.thinking").getClientRects().length > 0`)
	if after := value[float64](p, `document.querySelector(".row.selected").getBoundingClientRect().top`); after < before-1 || after > before+1 {
		t.Errorf("the row was at %.0f, and is at %.0f", before, after)
	}
}

// longSession is a session with n prompts, each with a call and an answer.
func longSession(t *testing.T, project string, n int) *sessionFile {
	t.Helper()
	f := newSession(t, project)
	var lines [][]byte
	for i := range n {
		lines = append(lines, f.prompt(fmt.Sprintf("Prompt %d", i)), f.call("true", strings.Repeat("line\n", i%20), false),
			f.answer(strings.Repeat(fmt.Sprintf("Answer %d. ", i), 1+i%30)))
	}
	f.write(lines...)
	return f
}

// Lines that are appended to the file are shown: at the end they are followed, elsewhere they are
// counted.
func TestSessionGrows(t *testing.T) {
	t.Parallel()
	f := longSession(t, "grows", 20)
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Prompt 0")
	f.write(f.prompt("Are you there?"))
	p.until(`document.querySelector(".newer").textContent === "1 new" && !document.querySelector(".newer").hidden`)
	p.press("G")
	p.see("Are you there?")
	p.until(`document.querySelector(".newer").hidden`)
	f.write(f.answer(strings.Repeat("I am here, and I say so at length.\n\n", 60)))
	p.until(`document.querySelector("[role=status].sr").textContent.includes("I am here")`) // for a screen reader
	f.write(f.prompt("Good."))
	p.see("Good.")
	p.until(`scrollY + innerHeight >= document.documentElement.scrollHeight - 2`)
}

// A session that is opened again shows what has happened meanwhile.
func TestSessionAgain(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := longSession(t, "again", 1)
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Answer 0.")
	other := p.another() // shows it all the time, so the stream does not start again
	other.open(s.URL + "/s/" + f.id)
	other.see("Answer 0.")
	p.visit("/search")
	p.until(`document.querySelector("main input")`)
	f.write(f.prompt("What has changed?"), f.answer("This row."))
	other.see("This row.")
	p.visit("/s/" + f.id)
	p.see("This row.")
	p.until(`document.querySelectorAll("article.row").length === new Set([...document.querySelectorAll("article.row")].map((r) => r.dataset.row)).size`)
	p.visit("/search")
	p.until(`document.querySelector("main input")`)
	p.visit("/s/" + f.id)
	p.see("This row.")
	f.write(f.prompt("And now?"))
	p.see("And now?")
}

// The anchor does not move while rows are appended, unfolded and loaded above it.
func TestSessionStays(t *testing.T) {
	t.Parallel()
	f := longSession(t, "stays", 400)
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Prompt 0")
	row := value[string](p, `fetch("/api/v1/sessions/`+f.id+`/rows?from=600&n=1", {headers: {Authorization: "Bearer " + localStorage.getItem("clew-token")}})
		.then(r => r.json()).then(a => a.rows[0].id)`)
	p.open(s.URL + "/s/" + f.id + "#row=" + row) // the segments above are not there yet
	p.until(`document.activeElement.matches(".row.selected")`)
	p.run(`
		const anchor = document.activeElement;
		window.tops = [];
		const note = () => { tops.push(anchor.getBoundingClientRect().top); requestAnimationFrame(note); };
		note();
	`)
	p.until(`document.querySelectorAll(".segment:has(.row)").length >= 3`)
	for i := range 3 {
		f.write(f.prompt(fmt.Sprintf("Appended %d", i)), f.answer("Yes."))
		p.until(fmt.Sprintf(`document.querySelector(".newer").textContent === "%d new"`, 2*(i+1)))
	}
	p.run(`
		const anchor = document.activeElement;
		const calls = [...document.querySelectorAll(".row.call")].filter(e => e.getBoundingClientRect().bottom < 0);
		for (const call of calls.slice(-5)) {
			call.querySelector("button").click();
			anchor.focus({preventScroll: true});
		}
	`)
	p.until(`document.querySelectorAll(".row.call.open .part pre").length >= 4`)
	p.run(`await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	spread := value[float64](p, `Math.max(...tops) - Math.min(...tops)`)
	if frames := value[int](p, "tops.length"); spread > 1 || frames < 5 {
		t.Errorf("in %d frames, the row moved by %v pixels: %v", frames, spread, value[[]float64](p, "tops"))
	}
}

// The focus stays on its row when rows change around it.
func TestFocusStays(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "focus")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.press("G k")
	p.until(`document.activeElement.matches(".row.call")`)
	id := value[string](p, `document.activeElement.dataset.row`)
	p.press("/")
	p.write("more")
	p.until(`document.querySelector(".find .count").textContent === "no match"`)
	p.press("esc")
	p.until(`document.activeElement.matches(".row.call")`)
	f.write(f.prompt("One more."), f.answer("Yes."))
	p.see("One more.")
	if got := value[string](p, `document.activeElement.dataset.row ?? document.activeElement.tagName`); got != id {
		t.Errorf("the focus is on %s, not on row %s", got, id)
	}
}

// A result of the search leads to its row.
func TestSearchLeads(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "search")
	f.write(f.prompt("Where is the quokka?"), f.call("find . -name wombat", "quokkas/one", false), f.answer("The numbat is *there*."))
	s := newViewerSite(t)
	p := s.enter("/search")
	p.until(`document.activeElement.matches("input")`)
	p.write("quokka")
	p.until(`document.querySelector(".found li a")`)
	p.press("down")
	p.until(`document.activeElement.matches(".found a")`)
	for _, row := range []struct{ kind, word string }{{"prompt", "quokka"}, {"answer", "numbat"}, {"call", "wombat"}} {
		p.visit("/search?q=" + row.word)
		p.until(fmt.Sprintf(`document.querySelector(".found li a")?.textContent.includes(%q)`, row.word))
		p.run(`document.querySelector(".found li a").click()`)
		p.until(fmt.Sprintf(`document.activeElement.matches(".row.%s.selected") && document.activeElement.textContent.includes(%q)`, row.kind, row.word))
		p.press("q")
		p.until(fmt.Sprintf(`document.querySelector(".found li a")?.textContent.includes(%q)`, row.word))
	}
}

// Wide texts and zoom don't make a page scroll sideways: 360 pixels are also 1440 at 400 %.
func TestNarrow(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "narrow")
	wide := strings.Repeat("wide", 200)
	f.write(f.prompt(wide), f.call(wide, wide, false), f.answer(wide+"\n\n```\n"+wide+"\n```\n\n|"+wide+"|b|\n|---|---|\n|1|2|\n"))
	f.write(f.entry("assistant", map[string]any{ // of a model without a price
		"role": "assistant", "id": "m", "model": wide, "stop_reason": "end_turn", "content": []any{},
		"usage": map[string]any{"input_tokens": 10, "output_tokens": 5},
	}))
	s := newViewerSite(t)
	p := s.enter("/")
	p.look(look{360, "light"})
	for _, path := range []string{"/", "/search?q=wide", "/usage", "/live", "/s/" + f.id, "/s/" + f.id + "?panel=outline", "/s/" + f.id + "?panel=files"} {
		p.visit(path)
		p.until(`document.querySelector("main > *") && !document.querySelector("[aria-busy=true]")`)
		p.run(`scrollTo(0, 1e6); await new Promise(done => setTimeout(done, 50))`)
		if over := value[int](p, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
			t.Errorf("%s is %d pixels too wide: %s", path, over, value[string](p, `[...document.querySelectorAll("main *, aside *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
				.slice(0, 3).map(e => e.outerHTML.slice(0, 150)).join("\n")`))
		}
	}
}

// Panels are opened, used and closed with keys, and lead to rows.
func TestPanelKeys(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "panels")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	for _, step := range []struct{ key, name string }{{"f", "Files"}, {"q a", "Agents"}, {"esc x", "Context"}, {"q $", "Usage"}, {"h B", "Branches"}} {
		p.press(step.key)
		p.until(fmt.Sprintf(`document.querySelector(".panel:not([hidden]) h2")?.textContent === %q && document.querySelector(".panel .content[aria-busy=false]")`, step.name))
		p.until(`document.activeElement.closest(".panel")`)
	}
	p.press("q")
	p.until(`document.querySelector(".panel").hidden && document.activeElement.matches(".row")`)
	p.press("p") // the window has no room for the outline beside the rows
	p.until(`document.querySelectorAll(".panel .content a").length >= 2`)
	p.press("j")
	p.until(`document.activeElement.matches(".panel a")`)
	p.run(`[...document.querySelectorAll(".panel a")].find(a => a.textContent.includes("Then find it.")).focus()`)
	p.press("enter")
	p.until(`document.activeElement.matches(".row.prompt") && document.activeElement.textContent.includes("Then find it.")`)
	if got := value[string](p, "location.hash"); !strings.HasPrefix(got, "#row=") {
		t.Errorf("the URL has %q", got)
	}
}

// Keys that are pressed while rows load act on the rows that the keys before them select.
func TestKeysWhileRowsLoad(t *testing.T) {
	t.Parallel()
	layPasts(t)
	s := newViewerSite(t)
	p := s.enter("/?filter=%27flaky")
	p.until(`document.querySelector(".item a")?.textContent.includes("flaky")`)
	p.press("enter")
	p.until(`document.querySelector(".row.subagent")?.textContent.includes("calls")`)
	p.run(`const real = fetch; window.held = []
		window.fetch = async (url, options) => {
			if (/[?&]parent=[^&]/.test(String(url))) await new Promise(release => held.push(release))
			return real(url, options)
		}
		document.querySelector(".row.subagent").focus()`)
	p.press("enter j j")
	p.until(`held.length > 0`)
	p.run(`held.forEach(release => release()); held.push = release => release()`)
	p.until(`document.activeElement === document.querySelectorAll(".row.subagent > .below .row")[1]`)
}

// The rows of a subagent are below its call: they unfold there, and find leads into them.
func TestSubagentRows(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	layPasts(t)
	s := newViewerSite(t)
	p := s.enter("/?filter=%27flaky")
	p.until(`document.querySelector(".item a")?.textContent.includes("flaky")`)
	p.press("enter")
	p.until(`document.querySelector(".row.subagent")?.textContent.includes("calls")`) // the subagent was read
	p.press("/")
	p.write("go s")
	p.until(`document.activeElement.matches(".find input") && document.querySelector(".row.subagent > .below .row.call.selected.open")`)
	row := value[string](p, `document.querySelector(".row.selected").dataset.row`)
	if !strings.Contains(row, "/") {
		t.Errorf("row %s is not one of a subagent", row)
	}
	p.press("esc h h") // fold the row, then go to the call
	p.until(`document.activeElement.matches(".row.subagent.open")`)
	p.press("h")
	p.until(`document.activeElement.matches(".row.subagent:not(.open)")`)
	p.press("enter j")
	p.until(`document.activeElement.matches(".below .row.prompt")`)
	address := value[string](p, "location.pathname")
	p.visit("/")
	p.visit(address + "#row=" + row)
	p.until(`document.activeElement.dataset.row === ` + fmt.Sprintf("%q", row))
}
