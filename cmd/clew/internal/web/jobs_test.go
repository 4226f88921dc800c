package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/polltest"
)

// A jobServer is a server with a fleet in memory.
type jobServer struct {
	*driven
	engine *memfleet.Engine
}

// newJobServer returns a server that can also make decisions.
func newJobServer(t *testing.T) *jobServer {
	t.Helper()
	d := newDriven(t)
	engine, ok := d.engine.(*memfleet.Engine)
	if !ok {
		t.Fatal("the fleet is not in memory")
	}
	d.opts.Now, d.opts.Zone = func() time.Time { return testNow }, time.UTC
	return &jobServer{d, engine}
}

// put writes the record of a job.
func (s *jobServer) put(j *fleet.Job) {
	s.t.Helper()
	if j.Created.IsZero() {
		j.Created = testNow.Add(-time.Hour)
	}
	if j.Changed.IsZero() {
		j.Changed = j.Created.Add(time.Minute)
	}
	data, err := json.Marshal(j)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(fleet.Jobs, j.ID, j.Summary().Label(), data)
}

// ask writes a question.
func (s *jobServer) ask(q *fleet.Question) {
	s.t.Helper()
	q.Asked, q.Until = testNow.Add(-time.Minute), testNow.Add(time.Hour)
	data, err := json.Marshal(q)
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(fleet.Questions, q.Job+"."+q.ID, "open", data)
}

// write writes a record, whatever was there.
func (s *jobServer) write(table fleet.Table, key, label string, data []byte) {
	s.t.Helper()
	old, err := s.engine.Get(s.t.Context(), table, key)
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		s.t.Fatal(err)
	}
	if _, err := s.engine.Set(s.t.Context(), table, fleet.Record{Key: key, Revision: old.Revision, Label: label, Data: data}); err != nil {
		s.t.Fatal(err)
	}
}

// html returns the HTML of a response, and fails if there is none.
func (s *jobServer) html(path string) string {
	s.t.Helper()
	status, response := s.send(http.MethodGet, path, nil)
	html, ok := response["html"].(string)
	if status != http.StatusOK || !ok {
		s.t.Fatalf("%s: %d %v", path, status, response)
	}
	return html
}

// listed waits until the list has all words, and returns it.
func (s *jobServer) listed(words ...string) string {
	s.t.Helper()
	var html string
	polltest.Until(s.t, fmt.Sprintf("the list has %q", words), func() bool { // the list follows the fleet
		html = s.html("jobs")
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(html, w) })
	})
	return html
}

func spec(prompt string) fleet.Spec { return fleet.Spec{Prompt: prompt} }

// attempt returns an attempt that started an hour ago.
func attempt(worker string) fleet.Attempt {
	return fleet.Attempt{Number: 1, Worker: worker, Start: fleet.Fresh, Claimed: testNow.Add(-time.Hour), Started: testNow.Add(-time.Hour)}
}

var itemsOf = regexp.MustCompile(`<h2>(.*?)</h2>|<li><a href="/jobs/([a-z]*)">`)

// order returns the groups and the IDs of a list.
func order(html string) (names []string) {
	for _, m := range itemsOf.FindAllStringSubmatch(html, -1) {
		names = append(names, tags.ReplaceAllString(m[1], "")+m[2])
	}
	return names
}

func TestJobList(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(&fleet.Job{ID: "old", Spec: spec("An old one"), State: fleet.Done, Changed: testNow.Add(-2 * time.Hour)})
	s.put(&fleet.Job{ID: "new", Spec: spec("A new one"), State: fleet.Failed, Cause: fleet.ByBudget, Changed: testNow.Add(-time.Hour)})
	s.put(&fleet.Job{ID: "queued", Spec: spec("Wait"), State: fleet.Queued})
	s.put(&fleet.Job{ID: "limited", Spec: spec("Wait more"), State: fleet.Waiting, Cause: fleet.ByLimit, Until: testNow.Add(time.Hour), Created: testNow.Add(-2 * time.Hour)})
	a := attempt("w1")
	a.CostUSD = 0.25
	s.put(&fleet.Job{ID: "runs", Spec: spec("Work"), State: fleet.Running, Attempts: []fleet.Attempt{a}})
	s.put(&fleet.Job{ID: "asks", Spec: spec("Ask"), State: fleet.Running, Attempts: []fleet.Attempt{attempt("w2")}})
	s.ask(&fleet.Question{Job: "asks", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)})
	s.put(&fleet.Job{ID: "lost", Spec: spec("Gone"), State: fleet.Lost, Cause: fleet.ByLoss, Attempts: []fleet.Attempt{attempt("w3")}})
	html := s.html("jobs")
	want := []string{"Need attention 2", "asks", "lost", "Running 1", "runs", "Waiting 2", "limited", "queued", "Ended 2", "new", "old"}
	if diff := cmp.Diff(want, order(html)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	for _, text := range []string{
		"asks a question", "the worker is gone", "waits for the limit of default until 13:00", "waits for a worker", "the budget is used up",
		">w1<", ">$0.25<", ">1h ago<",
	} {
		if !strings.Contains(html, text) {
			t.Errorf("the list does not say %q: %s", text, html)
		}
	}
	checkMarkup(t, "the list", html)
	if got := order(s.html("jobs?filter=w1+%7C+gone")); !slices.Equal(got, []string{"Need attention 1", "lost", "Running 1", "runs"}) {
		t.Errorf("the filter finds %q", got)
	}
	s.write(fleet.Questions, "asks.q1", "answered", []byte(`{"job":"asks","id":"q1"}`))
	s.listed("Need attention <span class=\"n\">1<")
	if err := s.engine.Remove(t.Context(), fleet.Jobs, "old", 1); err != nil {
		t.Fatal(err)
	}
	s.listed("Ended <span class=\"n\">1<")
}

// The page of a queued job says why no worker takes it.
func TestJobPageSaysWhy(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Queued})
	if html := s.html("jobs/a"); !strings.Contains(html, "no worker runs; clew worker") {
		t.Errorf("the page does not say why the job waits: %s", html)
	}
}

// The list has at most maxJobs rows.
func TestManyJobs(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	for i := range maxJobs + 7 {
		s.put(&fleet.Job{ID: fmt.Sprintf("j%d", i), Spec: spec("Work"), State: fleet.Queued})
	}
	html := s.html("jobs")
	if n := strings.Count(html, "<li>"); n != maxJobs || !strings.Contains(html, ">7 more; filter them") {
		t.Errorf("%d rows, and at the end %s", n, html[len(html)-200:])
	}
	html = s.drawJobs(&jobview.Listing{IsCut: true, Err: errors.New("the connection <b> is lost")})
	for _, want := range []string{"The fleet does not answer, so this may be old: the connection &lt;b&gt; is lost", "Older jobs are not in this list"} {
		if !strings.Contains(html, want) {
			t.Errorf("no %q in %s", want, html)
		}
	}
}

// An event reports changed jobs, and the news to be read aloud. Many changes make few events.
func TestJobEvents(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	job := &fleet.Job{ID: "a", Spec: spec("Fix it"), State: fleet.Running, Attempts: []fleet.Attempt{attempt("w")}}
	s.put(job)
	s.html("jobs")
	s.ask(&fleet.Question{Job: "a", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{}`)})
	s.until(jobsEvent, func(data map[string]any) bool {
		return data["text"] == "Job Fix it asks a question" && data["urgent"] == true
	})
	job.State = fleet.Done
	s.put(job)
	s.until(jobsEvent, func(data map[string]any) bool { return data["text"] == "Job Fix it is done" && data["urgent"] == false })
	before := s.lastEvent()
	began := time.Now()
	for i := range 500 {
		s.put(&fleet.Job{ID: fmt.Sprintf("j%d", i), Spec: spec("Work"), State: fleet.Queued})
	}
	s.listed(`Waiting <span class="n">500<`)
	if n, most := s.lastEvent()-before, uint64(time.Since(began)/jobview.Interval)+2; n > most {
		t.Errorf("500 changes within %v are %d events, more than %d", time.Since(began), n, most)
	}
}

// lastEvent returns the ID of the last event.
func (s *jobServer) lastEvent() uint64 {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	return s.feed.last
}

const testPatch = `diff --git a/main.go b/main.go
index 1..2 100644
--- a/main.go
+++ b/main.go
@@ -1,3 +1,3 @@ package main
 package main
--- a removed comment
+++ an added one
 // <script>alert(1)</script>
`

// hostileJob has hostile texts wherever a record has texts.
func hostileJob() *fleet.Job {
	a := attempt(hostile)
	a.Ended, a.Cause, a.Text, a.Status, a.Session = testNow, fleet.ByAgent, hostile, hostile, fixtureID("allowed")
	a.Patch, a.CostUSD = "hostile/1.patch", 1e300
	a.Result = &fleet.Result{Text: hostile, Output: json.RawMessage(`{"a":"</script><script>alert(1)</script>"}`), File: "hostile/1.txt", Failed: true}
	return &fleet.Job{
		ID: "hostile", By: hostile, State: fleet.Lost, Cause: fleet.ByLoss, Text: hostile, Attempts: []fleet.Attempt{a}, From: &fleet.From{Attempt: 1, Session: "s"},
		Spec:  fleet.Spec{Prompt: hostile, Title: hostile, Repo: &fleet.Repo{URL: hostile, Ref: hostile}, Account: hostile},
		Notes: []fleet.Note{{At: testNow, By: hostile, Text: hostile}, {At: testNow, By: hostile, Result: &fleet.Result{Text: hostile}}},
	}
}

func TestJobPage(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(hostileJob())
	s.ask(&fleet.Question{Job: "hostile", ID: "q1", Attempt: 1, Tool: hostile, Reason: hostile, Input: json.RawMessage(`{"command":"</pre><script>alert(1)</script>"}`)})
	s.ask(&fleet.Question{Job: "hostile", ID: "q2", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{}`), Answer: &fleet.Answer{At: testNow, By: hostile, Text: hostile}})
	if err := s.engine.Put(t.Context(), "hostile/1.patch", strings.NewReader(testPatch)); err != nil {
		t.Fatal(err)
	}
	status, page := s.send(http.MethodGet, "jobs/hostile", nil)
	if status != http.StatusOK {
		t.Fatal(status, page)
	}
	html, _ := page["html"].(string)
	questions, _ := page["questions"].([]any)
	if len(questions) != 1 {
		t.Fatalf("questions %v", questions)
	}
	question, _ := questions[0].(map[string]any)
	asked, _ := question["html"].(string)
	for name, text := range map[string]string{"page": html, "question": asked, "list": s.html("jobs"), "patch": s.html("jobs/hostile/patch")} {
		checkMarkup(t, name, text)
		golden.Check(t, "job_"+name, text+"\n")
	}
	done := hostileJob()
	done.ID, done.State = "done", fleet.Failed
	s.put(done)
	s.ask(&fleet.Question{Job: "done", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{}`)})
	status, ended := s.send(http.MethodGet, "jobs/done", nil)
	result, _, _ := strings.Cut(fmt.Sprint(ended["html"]), "<h2>Prompt")
	if open, _ := ended["questions"].([]any); status != http.StatusOK || len(open) > 0 || ended["canStop"] != false {
		t.Errorf("a job that has failed: %d, questions %v, can be canceled %v", status, open, ended["canStop"])
	}
	checkMarkup(t, "the result", result)
	golden.Check(t, "job_result", result+"\n")
	delete(page, "html")
	delete(page, "questions")
	delete(page, "title")
	want := map[string]any{
		"id": "hostile", "patch": "hostile/1.patch", "budget": false, "canStop": true, "canGoOn": true, "canRetry": true,
		"answered": []any{map[string]any{"agent": "hostile", "session": "", "question": "q2", "by": page["answered"].([]any)[0].(map[string]any)["by"], "what": "denied"}},
	}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
}

// A patch that is too large or not one of git is not shown as a diff.
func TestJobPatch(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	a := attempt("w")
	a.Patch = "a/1.patch"
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Running, Attempts: []fleet.Attempt{a}})
	for text, want := range map[string]string{
		strings.Repeat("+", jobview.MaxPatch+1): "1.0 MB and is not shown", "no patch <b>": "no patch &lt;b&gt;",
		strings.Repeat("diff --git a/x b/x\n@@ -0,0 +1,1 @@\n+\n", jobview.MaxPatchLines): "more files not shown; clew jobs patch a",
	} {
		if err := s.engine.Put(t.Context(), "a/1.patch", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		html := s.html("jobs/a/patch")
		if !strings.Contains(html, want) {
			t.Errorf("no %q in %.300s", want, html)
		}
		checkMarkup(t, want, html)
	}
}

// Of answers that come at once the first counts, and the others learn whose it was.
func TestAnswerJob(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Asking, Question: "q1", Attempts: []fleet.Attempt{attempt("w")}})
	s.ask(&fleet.Question{Job: "a", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)})
	answer := func(kind string) (int, string) {
		body := fmt.Sprintf(`{"question":"q1","answer":{"kind":%q,"reason":"not now"}}`, kind)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://example.com"+api+"jobs/a/answers", strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+s.Token())
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, kind := range []string{"always", "choose", "", "skip"} {
		if code, body := answer(kind); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", kind, code, body)
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	codes := map[int]int{}
	for i := range 8 {
		all.Go(func() {
			kind := []string{"once", "deny"}[i%2]
			code, body := answer(kind)
			mu.Lock()
			defer mu.Unlock()
			if codes[code]++; code == http.StatusConflict && !strings.Contains(body, "it was answered by tester (unverified): ") {
				t.Errorf("the answer to the others is %s", body)
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(map[int]int{http.StatusOK: 1, http.StatusConflict: 7}, codes); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
	audit := s.audited.String()
	if n := strings.Count(audit, ` answered "a" "q1" "`); n != 1 || !strings.Contains(audit, `"Bash {\"command\":\"make\"}"`) {
		t.Errorf("%d answers in the audit: %s", n, audit)
	}
	for q, err := range s.opts.Fleet.Questions(t.Context(), "a") {
		if err != nil || q.Answer == nil || q.Answer.By != "tester" || q.Answer.Allow == (q.Answer.Text != "") {
			t.Errorf("the record has %+v, %v", q.Answer, err)
		}
	}
	if code, _ := s.send(http.MethodPost, "jobs/a/answers", map[string]any{"question": "q2", "answer": map[string]any{"kind": "once"}}); code != http.StatusNotFound {
		t.Errorf("a question that is not there: %d", code)
	}
}

// The agent's own questions are answered with its options.
func TestAnswerOwnQuestions(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Running, Attempts: []fleet.Attempt{attempt("w")}})
	const input = `{"questions":[{"question":"Which?","header":"DB","options":[{"label":"A"},{"label":"B"}],"multiSelect":true},{"question":"Why?","options":[]}]}`
	s.ask(&fleet.Question{Job: "a", ID: "q1", Attempt: 1, Tool: "AskUserQuestion", Input: json.RawMessage(input)})
	post := func(answer map[string]any) int {
		code, _ := s.send(http.MethodPost, "jobs/a/answers", map[string]any{"question": "q1", "answer": answer})
		return code
	}
	for _, bad := range []map[string]any{
		{"kind": "once"}, {"kind": "choose", "chosen": [][]string{{"A"}}}, {"kind": "choose", "chosen": [][]string{{}, {" "}}},
		{"kind": "choose", "chosen": [][]string{{strings.Repeat("x", ask.MaxWords+1)}, {}}},
	} {
		if code := post(bad); code != http.StatusBadRequest {
			t.Errorf("%.60v: %d", bad, code)
		}
	}
	if code := post(map[string]any{"kind": "choose", "chosen": [][]string{{"A", "B"}, {}}}); code != http.StatusOK {
		t.Fatal(code)
	}
	for q, err := range s.opts.Fleet.Questions(t.Context(), "a") {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"Which?": "A, B"}, q.Answer.Answers); diff != "" || !q.Answer.Allow {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
	}
}

func TestDecideAboutJobs(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Lost, Cause: fleet.ByLoss, From: &fleet.From{Attempt: 1, Session: "s"}, Attempts: []fleet.Attempt{attempt("w")}})
	for _, step := range []struct {
		action string
		body   map[string]any
		status int
		state  fleet.State
		budget float64
	}{
		{"resume", map[string]any{"budget": 5}, 200, fleet.Queued, 5},
		{"resume", map[string]any{}, 409, fleet.Queued, 5},
		{"retry", map[string]any{}, 409, fleet.Queued, 5},
		{"cancel", map[string]any{}, 200, fleet.Canceled, 5},
		{"cancel", map[string]any{}, 409, fleet.Canceled, 5},
	} {
		status, response := s.send(http.MethodPost, "jobs/a/"+step.action, step.body)
		j, err := s.opts.Fleet.Job(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if status != step.status || j.State != step.state || j.Spec.Limits.BudgetUSD != step.budget {
			t.Errorf("%s: %d %v, %s with %v", step.action, status, response, j.State, j.Spec.Limits.BudgetUSD)
		}
	}
	if audit := s.audited.String(); !strings.Contains(audit, ` resume "a"`) || !strings.Contains(audit, ` cancel "a"`) || strings.Count(audit, "refused") != 3 {
		t.Errorf("the audit is %s", audit)
	}
	most := slices.Repeat([]fleet.Attempt{attempt("w")}, 100)
	s.put(&fleet.Job{ID: "tired", Spec: spec("Work"), State: fleet.Failed, Attempts: most})
	if _, page := s.send(http.MethodGet, "jobs/tired", nil); page["canRetry"] != false || page["canGoOn"] != false {
		t.Errorf("a page offers to restart a job that has had all its attempts: %v", page)
	}
	s.put(&fleet.Job{ID: "b", Spec: spec("Work"), State: fleet.Failed, Attempts: []fleet.Attempt{attempt("w")}})
	if status, response := s.send(http.MethodPost, "jobs/b/retry", map[string]any{}); status != 200 || response["state"] != "queued" {
		t.Errorf("retry: %d %v", status, response)
	}
}

// A server without a fleet explains how to get one, and a fleet that does not answer is an error in
// time.
func TestNoFleet(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	d := &driven{Server: s, t: t}
	for _, path := range []string{"jobs", "jobs/a", "jobs/a/patch"} {
		if status, response := d.send(http.MethodGet, path, nil); status != http.StatusNotFound || !strings.Contains(fmt.Sprint(response["hint"]), "--fleet") {
			t.Errorf("%s: %d %v", path, status, response)
		}
	}
	if _, me := d.send(http.MethodGet, "me", nil); me["fleet"] != false {
		t.Errorf("fleet is %v", me["fleet"])
	}
}

// A longFleet has questions with an input that is longer than the records of other fleets can be.
type longFleet struct{ Fleet }

func (f longFleet) Questions(ctx context.Context, job string) iter.Seq2[*fleet.Question, error] {
	return func(yield func(*fleet.Question, error) bool) {
		for q, err := range f.Fleet.Questions(ctx, job) {
			if err == nil {
				q.Input = json.RawMessage(`{"command":"` + strings.Repeat("x", ask.MaxShown) + `"}`)
			}
			if !yield(q, err) {
				return
			}
		}
	}
}

// A request that is too long to be shown can't be allowed, as with agents that pages drive.
func TestAnswerTooLong(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Asking, Question: "q1", Attempts: []fleet.Attempt{attempt("w")}})
	s.ask(&fleet.Question{Job: "a", ID: "q1", Attempt: 1, Tool: "Bash"})
	s.jobs.board = s.newJobBoard(longFleet{s.opts.Fleet})
	_, page := s.send(http.MethodGet, "jobs/a", nil)
	questions, _ := page["questions"].([]any)
	if len(questions) != 1 {
		t.Fatalf("%d questions", len(questions))
	}
	shown, _ := questions[0].(map[string]any)
	if html := fmt.Sprint(shown["html"]); shown["tooLong"] != true || strings.Contains(html, "xxx") || !strings.Contains(html, "It can only be denied.") {
		t.Errorf("too long %v: %.200s", shown["tooLong"], html)
	}
	answer := func(kind string) (int, map[string]any) {
		return s.send(http.MethodPost, "jobs/a/answers", map[string]any{"question": "q1", "answer": map[string]any{"kind": kind}})
	}
	if code, body := answer("once"); code != http.StatusForbidden || !strings.Contains(fmt.Sprint(body), ask.ErrTooLong.Error()) {
		t.Errorf("allowed: %d %v", code, body)
	}
	if code, body := answer("deny"); code != http.StatusOK {
		t.Errorf("denied: %d %v", code, body)
	}
}

// A question that can't be read costs no other.
func TestUnreadableQuestion(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Asking, Question: "q1", Attempts: []fleet.Attempt{attempt("w")}})
	s.ask(&fleet.Question{Job: "a", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{}`)})
	s.write(fleet.Questions, "a.bad", "open", []byte("damaged"))
	status, page := s.send(http.MethodGet, "jobs/a", nil)
	questions, _ := page["questions"].([]any)
	if status != http.StatusOK || len(questions) != 1 || !strings.Contains(fmt.Sprint(page["html"]), "not all questions can be read") {
		t.Fatalf("%d, %d questions: %v", status, len(questions), page["html"])
	}
	if code, body := s.send(http.MethodPost, "jobs/a/answers", map[string]any{"question": "q1", "answer": map[string]any{"kind": "deny"}}); code != http.StatusOK {
		t.Errorf("denied: %d %v", code, body)
	}
}

// hasJobs waits until pages know that there are jobs.
func (s *jobServer) hasJobs() {
	s.t.Helper()
	polltest.Until(s.t, "there is a page of jobs", func() bool {
		_, me := s.send(http.MethodGet, "me", nil)
		return me["fleet"] == true
	})
}

// There is one search at a time for a fleet that does not answer, and only job pages wait for it.
func TestFindSickFleet(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	found := s.opts.Fleet
	s.opts.Fleet, s.jobs.board = nil, nil
	answer, begun := make(chan struct{}), make(chan struct{})
	s.opts.FindFleet = func(ctx context.Context) Fleet {
		begun <- struct{}{} // a second search would wait here
		if _, ok := ctx.Deadline(); !ok {
			t.Error("the search does not end")
		}
		<-answer
		return found
	}
	for range 3 {
		if _, me := s.send(http.MethodGet, "me", nil); me["fleet"] != false {
			t.Error("there is a page of jobs")
		}
	}
	<-begun
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.board(left); err == nil {
		t.Error("a request that was left has jobs")
	}
	close(answer)
	if b, err := s.board(t.Context()); err != nil || b == nil {
		t.Errorf("a request for jobs does not wait for the search: %v", err)
	}
	s.hasJobs()
}

// A fleet that is started after the server is shown, and its commands name it.
func TestFindFleet(t *testing.T) {
	t.Parallel()
	s := newJobServer(t)
	found := s.opts.Fleet
	var there atomic.Bool
	s.opts.Fleet, s.jobs.board, s.opts.FleetFlags = nil, nil, " --fleet /srv/fleet"
	s.opts.FindFleet = func(context.Context) Fleet {
		if there.Load() {
			return found
		}
		return nil
	}
	s.put(&fleet.Job{ID: "a", Spec: spec("Work"), State: fleet.Asking, Question: "q1", Attempts: []fleet.Attempt{attempt("w")}})
	s.ask(&fleet.Question{Job: "a", ID: "q1", Attempt: 1, Tool: "Bash", Input: json.RawMessage(`{}`)})
	if status, body := s.send(http.MethodGet, "jobs", nil); status != http.StatusNotFound || !strings.Contains(fmt.Sprint(body), "no fleet runs on this machine") {
		t.Errorf("%d %v", status, body)
	}
	if _, me := s.send(http.MethodGet, "me", nil); me["fleet"] != false {
		t.Error("there is a page of jobs")
	}
	there.Store(true)
	s.hasJobs()
	s.listed("Work")
	if html := s.html("jobs/a"); !strings.Contains(html, "<code data-command>clew jobs tail a --fleet /srv/fleet</code>") || strings.Contains(html, "approve") {
		t.Errorf("no command, or one for what the page itself can do: %s", html)
	}
	d := jobDrawer{s: &Server{opts: Options{Zone: time.UTC, FleetFlags: " --fleet /srv/fleet"}}} // pages can't answer
	d.job(t.Context(), &fleet.Job{ID: "a", State: fleet.Running}, []*fleet.Question{{ID: "q1"}, {ID: "q2", Answer: &fleet.Answer{}}})
	if html := d.String(); !strings.Contains(html, ">clew jobs approve a --question q1 --fleet /srv/fleet<") || strings.Contains(html, "question q2") {
		t.Errorf("no command: %s", html)
	}
}
