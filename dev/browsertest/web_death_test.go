package browsertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/clewdev/clew/internal/soak"
)

// A drivenStory is the story of some prompts, until something dies.
type drivenStory struct {
	*mortalSite
	page *tab

	typed  string   // what was typed and not sent
	sent   []string // the prompts that the user has sent, in order
	seen   bool     // the agent has answered all that was sent, and the page does not know
	asked  bool     // a question is open, or its answer may not have arrived
	before int      // answers that agents have got before
}

// close closes the tab.
func (p *tab) close() {
	p.Helper()
	if err := chromedp.Cancel(p.ctx); err != nil {
		p.Fatal(err)
	}
}

// openPage opens another tab, logged in with a code or with the browser's stored login.
func (d *drivenStory) openPage(path, code string) {
	d.Helper()
	d.page = takeTab(d.T)
	d.load(path, code)
}

// load opens a page in the tab.
func (d *drivenStory) load(path, code string) {
	d.Helper()
	d.page.open(d.URL + path + code)
	d.page.until(`document.querySelector("main > *")`)
}

// editor is the text field for prompts, on either page.
const editor = `document.querySelector(".editor textarea")`

// prompt types a prompt.
func (d *drivenStory) prompt(text string) {
	d.Helper()
	d.page.until(editor + `?.closest("details, .dock") && (` + editor + `.closest("details")?.setAttribute("open", ""), ` + editor + `.focus(), true)`)
	d.page.write(text)
	d.page.until(fmt.Sprintf(`%s.value === %q`, editor, text))
	d.typed = text
}

// send sends a prompt.
func (d *drivenStory) send(text string) {
	d.Helper()
	d.prompt(text)
	d.submit()
}

// submit sends what was typed.
func (d *drivenStory) submit() {
	d.Helper()
	d.page.until(editor + `.focus() ?? true`)
	d.page.press("enter")
	d.sent, d.typed = append(d.sent, d.typed), ""
}

// begin starts an agent, and waits until it has answered.
func (d *drivenStory) begin() {
	d.Helper()
	d.send("say begun")
	d.page.until(`location.pathname.startsWith("/s/") && document.querySelector(".composer .state").textContent === "idle"`)
	d.sent = nil
}

// ask has the agent ask a question.
func (d *drivenStory) ask() {
	d.Helper()
	d.begin()
	d.before = d.said("assistant", "behavior")
	d.send("ask make")
	d.page.until(`!document.querySelector(".question").hidden`)
	d.asked = true
}

// allow answers the question, once a click counts.
func (d *drivenStory) allow() {
	d.Helper()
	d.page.until(`(b => b && !b.closest("[inert]") && (b.click(), true))(document.querySelector(".question [data-key=y]"))`)
}

// loses sends something whose request is lost, or whose response is.
func (d *drivenStory) loses(path string, response bool, send func()) {
	d.Helper()
	d.lose(path, response)
	send()
	d.waitLost(d.page)
}

// steps are the points of the story at which something dies.
var steps = []struct {
	name string
	lead func(d *drivenStory)
}{
	{"the first prompt is typed", func(d *drivenStory) { d.prompt("say first") }},
	{"the start is lost", func(d *drivenStory) { d.loses("/agents", false, func() { d.send("say first") }) }},
	{"the response to the start is lost", func(d *drivenStory) { d.loses("/agents", true, func() { d.send("say first") }) }},
	{"a prompt is typed", func(d *drivenStory) { d.begin(); d.prompt("say next") }},
	{"a prompt is lost", func(d *drivenStory) { d.begin(); d.loses("/prompts", false, func() { d.send("say next") }) }},
	{"the response to a prompt is lost", func(d *drivenStory) { d.begin(); d.loses("/prompts", true, func() { d.send("say next") }) }},
	{"the response to an image is lost", func(d *drivenStory) {
		d.begin()
		before := d.said("assistant", "")
		d.page.run(pasteImage)
		d.page.until(`document.querySelector(".thumb img")?.naturalWidth === 2`)
		d.loses("/prompts", true, func() { d.send("say next") })
		d.page.wait("the agent answers", func() bool { return d.said("assistant", "") > before })
		d.seen = true
	}},
	{"an answer is written", func(d *drivenStory) { d.begin(); d.send("wait"); d.page.see("Waiting") }},
	{"a prompt is queued", func(d *drivenStory) {
		d.begin()
		d.send("wait")
		d.page.see("Waiting")
		d.send("say queued")
		d.page.until(`document.querySelector(".queue li")?.innerText.includes("say queued")`)
		d.prompt("say typed")
	}},
	{"a question is shown", func(d *drivenStory) { d.ask() }},
	{"the answer is lost", func(d *drivenStory) { d.ask(); d.loses("/answers", false, d.allow) }},
	{"the response to the answer is lost", func(d *drivenStory) { d.ask(); d.loses("/answers", true, d.allow) }},
	{"the turn has ended", func(d *drivenStory) {
		d.ask()
		d.allow()
		d.page.until(`document.querySelector(".composer .state").textContent === "idle"`)
		d.prompt("say next")
	}},
}

// tellSteps tells a story up to each step, and then the rest. Test runs include the steps with the
// given numbers, and "make test-rest" includes all.
func tellSteps(t *testing.T, usual []int, follow func(d *drivenStory)) {
	t.Helper()
	for i, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			if !slices.Contains(usual, i) {
				soak.Rest(t)
			}
			t.Parallel()
			d := &drivenStory{mortalSite: newMortalSite(t)}
			d.page = newTab(t, d.URL)
			d.load("/", "#"+d.code())
			step.lead(d)
			follow(d)
		})
	}
}

// got waits until agents have got a prompt, and fails if they got it twice.
func (d *drivenStory) got(text string) {
	d.Helper()
	d.page.wait("an agent gets "+text, func() bool { return d.said("user", text) > 0 })
	if n := d.said("user", text); n != 1 {
		d.Errorf("agents got %q %d times", text, n)
	}
}

// finish completes a story in which the agent survives: every prompt was sent once, and typed text
// is still there.
func (d *drivenStory) finish() {
	d.Helper()
	if d.typed != "" {
		d.page.until(fmt.Sprintf(`%s?.value === %q`, editor, d.typed))
		if n := d.said("user", d.typed); n != 0 {
			d.Errorf("%q was sent", d.typed)
		}
	}
	for _, text := range d.sent {
		if strings.HasPrefix(text, "say queued") {
			d.page.until(fmt.Sprintf(`document.querySelector(".queue li")?.textContent.startsWith(%q)`, "queued "+text))
			d.page.until(`(b => b && !b.hidden && (b.click(), true))([...document.querySelectorAll("button")].find(b => b.textContent === "Interrupt"))`)
		}
		d.got(text)
	}
	if d.asked {
		// An answer that was lost is given again, by the page or by the user.
		d.page.until(`document.querySelector(".composer .state")?.textContent === "idle" ||
			(b => b && !b.closest("[inert]") && (b.click(), true))(document.querySelector(".question [data-key=y]"))`)
		d.page.until(`document.querySelector(".composer .state")?.textContent === "idle"`)
		if n := d.said("assistant", "behavior") - d.before; n != 1 {
			d.Errorf("the agent got %d answers", n)
		}
	}
	d.page.until(fmt.Sprintf(`%s && ![...document.querySelectorAll(".queue li, .editor textarea")].some(e => %q.split("\n").includes((e.value || e.innerText).trim()))`, editor, strings.Join(d.sent, "\n")))
	if d.typed != "" {
		d.page.until(fmt.Sprintf(`%s?.value === %q`, editor, d.typed))
		text := d.typed
		d.submit()
		d.got(text)
	}
	for _, text := range d.sent {
		d.got(text)
	}
}

// A tab is closed at each step. Another one continues where it was.
func TestTabDies(t *testing.T) {
	t.Parallel()
	tellSteps(t, []int{2, 6, 8}, func(d *drivenStory) {
		d.Helper()
		path := value[string](d.page, "location.pathname")
		d.page.close()
		d.setDown(false)
		d.openPage(path, "")
		d.finish()
	})
}

// All connections are cut at each step, for a while. The page continues by itself.
func TestConnectionDies(t *testing.T) {
	t.Parallel()
	tellSteps(t, []int{4, 10}, func(d *drivenStory) {
		d.Helper()
		d.setDown(true)
		d.page.until(`!document.querySelector(".connection").hidden`)
		d.setDown(false)
		d.page.until(`document.querySelector(".connection").hidden`)
		d.finish()
	})
}

// A page whose stream of events never began shows that it is not connected.
func TestConnectionNeverBegan(t *testing.T) {
	t.Parallel()
	d := &drivenStory{mortalSite: newMortalSite(t)}
	d.refuse("/events")
	d.page = newTab(t, d.URL)
	d.load("/", "#"+d.code())
	d.page.until(`!document.querySelector(".connection").hidden`)
	d.refuse("")
	d.page.until(`document.querySelector(".connection").hidden`)
	d.send("say first")
	d.got("say first")
}

// The server is killed at each step, and started again. Its agents die with it. The page reports that, has
// every unanswered prompt, sends none by itself, and continues the session.
func TestServerDies(t *testing.T) {
	t.Parallel()
	tellSteps(t, []int{2, 8}, func(d *drivenStory) {
		d.Helper()
		inSession := value[bool](d.page, `location.pathname.startsWith("/s/")`)
		d.kill()
		d.page.until(`!document.querySelector(".connection").hidden`)
		before := make([]int, len(d.sent))
		for i, text := range d.sent {
			before[i] = d.said("user", text)
		}
		d.start()
		d.page.see("The server was started again")
		old := d.page
		d.openPage("/usage", "#"+d.code())
		d.page.close()
		d.page = old // which is logged in by the other tab
		d.page.until(`document.querySelector(".bar")`)
		if inSession {
			d.page.see("the server that has started it was ended")
		}
		for i, text := range d.sent {
			d.page.until(editor + ` && !Object.keys(localStorage).some(name => name.startsWith("clew-outbox"))`)
			// One that was just answered may be shown: the server was killed before it knew.
			if before[i] == 0 || strings.HasPrefix(text, "wait") || strings.HasPrefix(text, "ask") && d.said("assistant", "behavior") == d.before {
				d.page.until(fmt.Sprintf(`[...document.querySelectorAll(".editor textarea, .queue li")].some(e => (e.value || e.innerText).includes(%q))`, text))
			}
			if n := d.said("user", text); n != before[i] || n > 1 {
				d.Errorf("agents got %q %d times, and %d times before", text, n, before[i])
			}
		}
		if d.seen {
			d.page.until(editor + `.value === "" && !document.querySelector(".thumb")`)
		}
		d.resume(inSession)
	})
}

// resume takes every prompt back that was not answered, and sends all as one.
func (d *drivenStory) resume(inSession bool) {
	d.Helper()
	d.page.until(editor)
	for _, text := range d.sent {
		back := fmt.Sprintf(`[...document.querySelectorAll(".queue li")].find(e => e.querySelector(".words").textContent === %q)?.querySelector("button")`, text)
		if value[bool](d.page, fmt.Sprintf("(b => !!b && (b.click(), true))(%s)", back)) {
			d.page.until(fmt.Sprintf(`!%s && %s.value.includes(%q)`, back, editor, text))
		}
	}
	text := value[string](d.page, editor+`.value`)
	if d.typed != "" && !strings.Contains(text, d.typed) {
		d.Errorf("%q was typed, and the editor has %q", d.typed, text)
	}
	if text == "" {
		text = "say resumed"
		d.prompt(text)
	}
	before := d.said("user", fmt.Sprintf("%q", text))
	d.typed = text
	d.submit()
	d.page.wait("an agent gets "+text, func() bool { return d.said("user", fmt.Sprintf("%q", text)) == before+1 })
	if inSession {
		d.page.until(`document.querySelector(".composer .state").textContent !== ""`)
	}
}
