package browsertest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/soak"
)

// hold keeps the answer to the next request whose URL matches an expression from the page until
// release. The server answers at once, so the page gets what was so then. The list "sent" has the URLs
// of all requests since.
func (p *tab) hold(pattern string) {
	p.Helper()
	p.run(fmt.Sprintf(`
		const real = fetch;
		let waits = true;
		window.sent = [];
		window.release = null;
		window.released = false;
		window.fetch = async (url, options) => {
			sent.push(String(url));
			const holds = waits && /%s/.test(url);
			if (holds) waits = false;
			const answer = await real(url, options);
			if (!holds) return answer;
			const text = await answer.text();
			await new Promise(done => { window.release = done; });
			// What follows from the answer at once is done before a timer runs.
			answer.json = async () => { setTimeout(() => { window.released = true; }); return JSON.parse(text); };
			return answer;
		}`, pattern))
}

// release gives the page the answer that hold keeps, and waits until the page has taken it.
func (p *tab) release() {
	p.Helper()
	p.until(`window.release`)
	p.run(`release()`)
	p.until(`released`)
}

// A question that is asked while an answer to another one is refused stays: the refusal has the
// questions of before.
func TestLateRefusal(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	s, sim := newDrivenSite(t, "")
	p := s.enter("/")
	startIn(p, "ask make")
	p.until(`(f => f && !f.inert)(document.querySelector(".question .answers"))`)
	p.hold("answers$")
	p.run(`
		const held = fetch;
		window.fetch = (url, options) => {
			if (!/answers$/.test(url)) return held(url, options);
			window.fetch = held;
			window.answer = [url, options];
			return held(url, {...options, body: JSON.stringify({...JSON.parse(options.body), digest: "0"})});
		}`)
	p.click(".question [data-key=y]")
	p.until(`window.release`)
	p.run(`
		const [url, options] = answer;
		const send = (path, body) => fetch(path, {...options, body: JSON.stringify({id: crypto.randomUUID(), ...body})});
		await send(url, {...JSON.parse(options.body), id: crypto.randomUUID()});
		await send(url.replace("answers", "prompts"), {text: "ask install"})`)
	p.until(`(q => !q.hidden && q.innerText.includes("install"))(document.querySelector(".question"))`)
	p.release()
	if !value[bool](p, `(q => !q.hidden && q.innerText.includes("install"))(document.querySelector(".question"))`) {
		t.Fatalf("the question is gone:\n%s", p.shown())
	}
	p.until(`(f => f && !f.inert)(document.querySelector(".question .answers"))`)
	p.click(".question [data-key=y]")
	p.wait("the agent gets the second answer", func() bool { return len(sim.Answers()) == 2 })
}

// A search that is closed before its matches come goes nowhere.
func TestClosedFind(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "closedfind")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.hold(`find\?`)
	p.press("/")
	p.write("needle")
	p.until(`window.release`)
	p.press("esc")
	p.until(`document.querySelector(".find").hidden`)
	p.release()
	const goes = `sent.some(url => url.includes("/where?")) || document.querySelector(".find .count").textContent !== ""`
	if value[bool](p, goes) {
		t.Errorf("the page goes to a match: %s", value[string](p, `sent.join(" ")`))
	}
}

// A page that was left while it went to a row does not scroll the next one, and asks for nothing.
func TestLeftPageStays(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f, next := longSession(t, "left", 40), longSession(t, "next", 40)
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Answer 0.")
	p.hold(`where\?`)
	p.press("]")
	p.until(`window.release`)
	p.visit("/s/" + next.id)
	p.until(`document.querySelectorAll(".row").length >= 20 && document.querySelector(".rows[aria-busy=false]")`)
	p.run(`scrollTo({top: 400, behavior: "instant"})
		await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))`)
	before := value[float64](p, `scrollY`)
	p.run(`sent.length = 0`)
	p.release()
	if after := value[float64](p, `scrollY`); after != before {
		t.Errorf("the page was at %.0f, and is at %.0f", before, after)
	}
	if got := value[string](p, `sent.filter(url => url.includes("`+f.id+`")).join(" ")`); got != "" {
		t.Errorf("the page that was left asks for %s", got)
	}
}

// The dialog of a row shows the part whose tab was chosen last, even if the answer of another one
// comes later.
func TestPartChoiceStays(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "parts")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.run(`document.querySelector(".row.call").focus()`)
	p.press("i")
	p.until(`document.querySelector("dialog .part")?.innerText.includes("tool_use")`)
	p.hold(`part=result`)
	p.click("dialog [data-part=result]")
	p.until(`window.release`)
	p.click("dialog [data-part=input]")
	const shown = `document.querySelector("dialog [aria-pressed=true]").dataset.part + ": " +
		document.querySelector("dialog .part").innerText`
	p.until(`(text => text.includes("go test") && !text.includes("uuid"))(` + shown + `)`)
	before := value[string](p, shown)
	p.release()
	if after := value[string](p, shown); after != before || !strings.HasPrefix(after, "input") {
		t.Errorf("the dialog shows %q, want %q", after, before)
	}
}

// The title of a session stays the newest one, even if the answer with an older one comes later.
func TestNewestTitleStays(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "titles")
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.see("Here it is.")
	p.hold(f.id + "$")
	const title = `document.querySelector("header.summary h1").textContent`
	f.write(f.prompt("What is new?"))
	p.until(`window.release`)
	p.run(`await fetch("/api/v1/sessions/` + f.id + `/rename", {method: "POST", body: JSON.stringify({title: "Second"}),
		headers: {"Content-Type": "application/json", Authorization: "Bearer " + localStorage.getItem("clew-token")}})`)
	p.until(title + `=== "Second"`)
	p.release()
	if got := value[string](p, title); got != "Second" {
		t.Errorf("the title is %q", got)
	}
}

// An open call shows its result, even if the answer from before the result comes later.
func TestNewestBodyStays(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := newSession(t, "bodies")
	below := &sessionFile{
		T: t, id: f.id, agent: "a0000000000000001", lines: 2, parent: "00000000-0000-4000-8000-000000000001",
		path: strings.TrimSuffix(f.path, ".jsonl") + "/subagents/agent-a0000000000000001.jsonl",
	}
	call, result, _ := bytes.Cut(f.subagent("Look for it", "It is in the hay."), []byte("\n"))
	f.write(f.prompt("Where is it?"), append(call, '\n'))
	s := newViewerSite(t)
	p := s.enter("/s/" + f.id)
	p.until(`document.querySelector(".row.subagent")`)
	p.press("G enter")
	const body = `document.querySelector(".row.subagent.open > .part").innerText`
	p.until(body + `.includes("Look for it")`)
	p.hold("part=body")
	below.write(below.call("grep -r needle .", "hay.txt: needle", false)) // its row says how many calls there are
	p.until(`window.release`)
	f.write(result)
	p.until(body + `.includes("It is in the hay.")`)
	p.release()
	if got := value[string](p, body); !strings.Contains(got, "It is in the hay.") {
		t.Errorf("the row has lost its result: %q", got)
	}
}

// The patch of the last attempt stays, even if the answer with an older one comes later.
func TestNewestPatchStays(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	s := newJobSite(t, false)
	for n, file := range []string{"aaa/1.patch", "aaa/2.patch"} {
		patch := strings.Replace(testPatch, "var a = 2", fmt.Sprintf("var a = 10%d", n+1), 1)
		if err := s.Put(t.Context(), file, strings.NewReader(patch)); err != nil {
			t.Fatal(err)
		}
	}
	put := func(patch string) {
		s.put("aaa", "Fix the build", fleet.Done, func(j *fleet.Job) { j.Attempts[0].Patch = patch })
	}
	put("")
	p := s.enter("/jobs/aaa")
	p.until(`document.querySelector("main h1").textContent === "Fix the build"`)
	p.hold("patch$")
	put("aaa/1.patch")
	p.until(`window.release`)
	put("aaa/2.patch")
	p.until(`document.querySelector(".diff .add")?.textContent.includes("var a = 102")`)
	p.release()
	got := value[string](p, `document.querySelector(".diff .add")?.textContent`)
	if !strings.Contains(got, "var a = 102") {
		t.Errorf("the page has the line %q", got)
	}
}

// The page of running agents shows the newest answer, even if an older one comes later.
func TestNewestAgentsStay(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	f := story(t, "agents")
	s := newViewerSite(t)
	p := s.enter("/search")
	p.run(`
		const server = fetch;
		let n = 0;
		window.fetch = async (url, options) => /running$/.test(url)
			? new Response(JSON.stringify({html: "<p>Answer " + ++n + ".</p>"})) : server(url, options)`)
	p.hold("running$")
	p.visit("/live")
	p.until(`window.release`)
	f.write(f.prompt("What is new?"))
	p.see("Answer 2.")
	p.release()
	if got := value[string](p, `document.querySelector(".live").innerText`); strings.Contains(got, "Answer 1.") {
		t.Errorf("the page shows %q", got)
	}
}
