package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/drive/drivetest"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
)

// A jobSite is a web viewer with a fleet in memory.
type jobSite struct {
	*viewerSite
	*memfleet.Engine
	fleet *fleet.Fleet
}

// newJobSite returns a web viewer whose pages decide about jobs only if they drive.
func newJobSite(t *testing.T, drives bool) *jobSite {
	t.Helper()
	engine := memfleet.New()
	s := &jobSite{Engine: engine, fleet: fleet.Open(engine, "somebody")}
	var agents *drive.Agents
	if drives {
		agents = drive.New(drive.Options{
			Connect: new(drivetest.Agent).Connect, Roots: []string{t.TempDir()},
			Names:   func(context.Context, string) ([]sessions.SessionInfo, error) { return nil, nil },
			Running: func(context.Context) ([]sessions.RunningSession, error) { return nil, nil },
		})
		t.Cleanup(func() { agents.Close() })
	}
	s.viewerSite = viewerOf(t, agents, s.fleet)
	return s
}

// put writes the record of a job, as a worker does.
func (s *jobSite) put(id, title string, state fleet.State, change func(*fleet.Job)) {
	s.Helper()
	now := time.Now()
	j := &fleet.Job{ID: id, Spec: fleet.Spec{Prompt: title}, State: state, Created: now.Add(-time.Hour), Changed: now}
	j.Attempts = []fleet.Attempt{{Number: 1, Worker: "worker-1", Start: fleet.Fresh, Claimed: now.Add(-time.Hour), CostUSD: 0.5}}
	if change != nil {
		change(j)
	}
	data, err := json.Marshal(j)
	if err != nil {
		s.Fatal(err)
	}
	s.write(fleet.Jobs, fleet.Record{Key: id, Label: j.Summary().Label(), Data: data})
}

// ask writes a job question.
func (s *jobSite) ask(job, id, command string) {
	s.Helper()
	data, err := json.Marshal(fleet.Question{
		Job: job, ID: id, Attempt: 1, Tool: "Bash", Input: json.RawMessage(fmt.Sprintf(`{"command":%q}`, command)), Asked: time.Now(), Until: time.Now().Add(time.Hour),
	})
	if err != nil {
		s.Fatal(err)
	}
	s.write(fleet.Questions, fleet.Record{Key: job + "." + id, Label: "open", Data: data})
}

func (s *jobSite) write(table fleet.Table, r fleet.Record) {
	s.Helper()
	old, err := s.Get(s.Context(), table, r.Key)
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		s.Fatal(err)
	}
	r.Revision = old.Revision
	if _, err := s.Set(s.Context(), table, r); err != nil {
		s.Fatal(err)
	}
}

const testPatch = "diff --git a/main.go b/main.go\n--- a/main.go\n+++ b/main.go\n@@ -1,2 +1,2 @@\n package main\n-var a = 1\n+var a = 2\n"

// heard notes what a screen reader would say.
const heard = `window.heard = []; for (const region of document.querySelectorAll("[aria-live]"))
	new MutationObserver(() => heard.push(region.textContent)).observe(region, {childList: true})`

// The list follows the fleet, and the keyboard leads to a job and back.
func TestJobs(t *testing.T) {
	t.Parallel()
	s := newJobSite(t, true)
	s.put("aaa", "Fix the build", fleet.Running, nil)
	s.put("bbb", "Write tests", fleet.Done, nil)
	p := s.enter("/jobs")
	p.until(`document.querySelectorAll(".jobs li").length === 2 && document.querySelector("nav a[href='/jobs'][aria-current]")`)
	p.run(heard)
	s.put("ccc", "Third job", fleet.Queued, func(j *fleet.Job) { j.Attempts = nil })
	p.until(`document.querySelectorAll(".jobs li").length === 3`)
	s.ask("aaa", "q1", "make")
	p.until(`document.querySelector("main h2").textContent.startsWith("Need attention 1") && heard.includes("Job Fix the build asks a question")`)
	p.press("/")
	p.write("'third")
	p.until(`document.querySelectorAll(".jobs li").length === 1 && location.search.includes("third")`)
	p.press("enter")
	p.until(`document.activeElement?.getAttribute("href") === "/jobs/ccc"`)
	p.press("enter")
	p.until(`location.pathname === "/jobs/ccc" && document.querySelector("h1").textContent === "Third job"`)
	p.click(".buttons button") // cancel
	p.until(`document.querySelector("dialog .danger")`)
	p.press("enter")
	p.until(`document.querySelector("main .state")?.textContent === "canceled"`)
	j, err := s.fleet.Job(t.Context(), "ccc")
	if err != nil || j.State != fleet.Canceled {
		t.Errorf("the job is %+v, %v", j, err)
	}
	s.put("bbb", "Write tests", fleet.Failed, func(j *fleet.Job) {
		j.Attempts[0].Patch, j.Attempts[0].Result = "bbb/1.patch", &fleet.Result{Text: "It is **finished**."}
		j.Cause = fleet.ByExit
	})
	if err := s.Put(t.Context(), "bbb/1.patch", strings.NewReader(testPatch)); err != nil {
		t.Fatal(err)
	}
	p.visit("/jobs/bbb")
	p.until(`document.querySelector("main strong")?.textContent === "finished" && document.querySelector(".diff .add")?.textContent.includes("var a = 2")`)
	p.see("clew jobs patch bbb")
	p.press("esc")
	p.until(`location.pathname !== "/jobs/bbb"`)
}

// Two tabs answer the question of a job at once. One answer counts, and the other tab names its
// author.
func TestTwoTabsAnswerJob(t *testing.T) {
	t.Parallel()
	soak.Rest(t)
	s := newJobSite(t, true)
	sent := s.inPairs("/answers")
	s.put("aaa", "Fix the build", fleet.Running, nil)
	one := s.enter("/jobs/aaa")
	tabs := [2]*tab{one, one.another()}
	tabs[1].open(s.URL + "/jobs/aaa")
	for _, p := range tabs {
		p.until(`document.querySelector("main h1").textContent === "Fix the build"`)
		p.run(heard)
	}
	s.ask("aaa", "q1", "make install")
	for _, p := range tabs {
		p.until(`(b => b && !b.closest("[inert]") && !b.closest("[hidden]"))(document.querySelector(".question [data-key=y]"))`)
		p.see("make install")
	}
	for i, key := range []string{"y", "n"} {
		tabs[i].click(".question [data-key=" + key + "]")
	}
	for _, p := range tabs {
		p.until(`document.querySelector(".question").hidden`)
		p.see("Answered questions")
	}
	var answer *fleet.Answer
	for q, err := range s.fleet.Questions(t.Context(), "aaa") {
		if err != nil {
			t.Fatal(err)
		}
		answer = q.Answer
	}
	if answer == nil || sent.Load() != 2 {
		t.Fatalf("the answer is %+v, after %d requests", answer, sent.Load())
	}
	winner, what := 0, "allowed"
	if !answer.Allow {
		winner, what = 1, "denied"
	}
	tabs[1-winner].until(fmt.Sprintf(`heard.some(text => text.includes("it was answered by somebody (unverified): %s"))`, what))
	if said := value[string](tabs[winner], `heard.join("; ")`); strings.Contains(strings.ToLower(said), "answered by") {
		t.Errorf("the tab whose answer counts says %q", said)
	}
	// An answer from elsewhere is told, too.
	s.ask("aaa", "q2", "make clean")
	for _, p := range tabs {
		p.until(`!document.querySelector(".question").hidden && document.querySelector(".question").innerText.includes("make clean")`)
	}
	if _, err := fleet.Open(s.Engine, "another").Answer(t.Context(), "aaa", "q2", fleet.Answer{Text: "no"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range tabs {
		p.until(`document.querySelector(".question").hidden && heard.includes("Answered by another (unverified): denied")`)
	}
}

// A server that only shows names the command that answers, and has no buttons that change something.
func TestJobsAreShown(t *testing.T) {
	t.Parallel()
	s := newJobSite(t, false)
	s.put("aaa", "Fix the build", fleet.Lost, nil)
	s.ask("aaa", "q1", "make install")
	p := s.enter("/jobs/aaa")
	p.see("make install")
	p.see("clew jobs approve aaa")
	if texts := value[string](p, `[...document.querySelectorAll("main button")].map(b => b.textContent).join()`); texts != "Copy,Copy" {
		t.Errorf("the page has the buttons %s", texts)
	}
	without := newViewerSite(t)
	p = without.enter("/")
	p.until(`document.querySelector(".bar nav a[href='/usage']") && !document.querySelector(".bar nav a[href='/jobs']")`)
}
