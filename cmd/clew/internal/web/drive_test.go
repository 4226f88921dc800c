package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/drive/drivetest"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/memfleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/sessions"
)

// A driven is a server that drives agents in memory.
type driven struct {
	*Server
	t       *testing.T
	sim     *drivetest.Agent
	dir     string
	project string
	audited *lockedBuffer
	engine  fleet.Engine // of a fleet without jobs
	n       int
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newDriven(t *testing.T) *driven {
	t.Helper()
	d := &driven{t: t, sim: new(drivetest.Agent), dir: t.TempDir(), audited: new(lockedBuffer), engine: memfleet.New()}
	agents := drive.New(drive.Options{
		Connect: d.sim.Connect, Roots: []string{d.dir},
		Names:   func(context.Context, string) ([]sessions.SessionInfo, error) { return nil, nil },
		Running: func(context.Context) ([]sessions.RunningSession, error) { return nil, nil },
	})
	t.Cleanup(func() { agents.Close() })
	source := view.New(view.Options{Dir: d.dir})
	s, err := New(Options{
		Source: source, Drive: agents, Fleet: fleet.Open(d.engine, "tester"), Origins: []string{"http://example.com"}, Audit: d.audited,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), source.Close()); err != nil {
			t.Error(err)
		}
	})
	d.Server = s
	projects, err := agents.Projects(t.Context())
	if err != nil || len(projects) != 1 {
		t.Fatal(projects, err)
	}
	d.project = projects[0].ID
	return d
}

// send sends a request, and returns the status and the response.
func (d *driven) send(method, path string, body any) (int, map[string]any) {
	d.t.Helper()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			d.t.Fatal(err)
		}
	}
	r := httptest.NewRequestWithContext(d.t.Context(), method, "http://example.com"+api+path, &content)
	r.Header.Set("Authorization", "Bearer "+d.Token())
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	d.Handler().ServeHTTP(w, r)
	var response map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &response); err != nil {
		d.t.Fatalf("%s: %v", w.Body, err)
	}
	return w.Code, response
}

// post sends a request with a new ID, which must succeed.
func (d *driven) post(path string, body map[string]any) map[string]any {
	d.t.Helper()
	d.n++
	body["id"] = fmt.Sprintf("request-%d", d.n)
	status, response := d.send(http.MethodPost, path, body)
	if status != http.StatusOK {
		d.t.Fatalf("%s: %d %v", path, status, response)
	}
	return response
}

// until waits for an event for which ok returns true.
func (d *driven) until(name string, ok func(data map[string]any) bool) map[string]any {
	d.t.Helper()
	wake, _ := d.feed.join()
	defer d.feed.leave(wake)
	limit := time.After(polltest.Limit)
	for {
		events, _, _ := d.feed.since(place{})
		for _, e := range events {
			var data map[string]any
			if e.name == name && json.Unmarshal(e.data, &data) == nil && ok(data) {
				return data
			}
		}
		select {
		case <-wake:
		case <-limit:
			d.t.Fatalf("no such event %s; %d others", name, len(events))
		}
	}
}

func isState(state string) func(map[string]any) bool {
	return func(data map[string]any) bool { return data["state"] == state }
}

// A start request that was made for an earlier run of the server may have succeeded there.
func TestStartOfAnotherServer(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	_, me := d.send(http.MethodGet, "me", nil)
	body := map[string]any{"id": "request-a", "project": d.project, "start": "another"}
	if status, response := d.send(http.MethodPost, "agents", body); status != http.StatusPreconditionFailed {
		t.Errorf("%d %v", status, response)
	}
	if body["start"] = me["start"]; me["start"] == "" || len(d.sim.Starts()) > 0 {
		t.Errorf("start %q, %d agents", me["start"], len(d.sim.Starts()))
	}
	if status, response := d.send(http.MethodPost, "agents", body); status != http.StatusOK {
		t.Errorf("%d %v", status, response)
	}
}

// A prompt, a question, an answer and the end of the turn, as pages see them.
func TestDrive(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	started := d.post("agents", map[string]any{"project": d.project, "prompt": "ask make <test>"})
	agent, _ := started["agent"].(string)
	q := d.until(questionEvent, func(map[string]any) bool { return true })
	const want = `<div class="member"><span class="name">command</span><pre tabindex="0">make &lt;test&gt;</pre></div>`
	if q["html"] != want || q["title"] != "The agent wants to use Bash" || q["rule"] != "Bash(make:*)" {
		t.Errorf("question %v", q)
	}
	answer := map[string]any{"question": q["question"], "digest": "0", "client": "a", "answer": map[string]any{"kind": "once"}}
	answer["id"] = "stale-answer"
	status, refusal := d.send(http.MethodPost, "agents/"+agent+"/answers", answer)
	state, _ := refusal["state"].(map[string]any)
	if questions, _ := state["questions"].([]any); status != http.StatusConflict || len(questions) != 1 {
		t.Errorf("a stale answer: %d %v", status, refusal)
	}
	answer["digest"] = q["digest"]
	d.post("agents/"+agent+"/answers", answer)
	gone := d.until(answeredEvent, func(map[string]any) bool { return true })
	if gone["question"] != q["question"] || gone["by"] != "page a" || gone["what"] != "allowed once" {
		t.Errorf("answered: %v", gone)
	}
	d.until(agentEvent, isState("idle"))
	answer["id"] = "late-answer"
	if status, refusal := d.send(http.MethodPost, "agents/"+agent+"/answers", answer); status != http.StatusConflict ||
		refusal["error"] != "it was answered by page a: allowed once" {
		t.Errorf("a late answer: %d %v", status, refusal)
	}
	for _, line := range []string{`start "`, `answered "page a" "q1"`, `"allowed once"`, `answer refused`} {
		if !strings.Contains(d.audited.String(), line) {
			t.Errorf("no %s in the audit:\n%s", line, d.audited)
		}
	}
}

// Changes are also sent while text is written, and text alone is not a change of the agent.
func TestToldWhileWriting(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	count := func(now drive.Status) (agents int) {
		before := drive.Status{Agent: "a", State: drive.Working, Text: "One"}
		_, from, _ := d.feed.since(place{})
		d.tellOfAgent(&before, &now)
		events, _, _ := d.feed.since(from)
		for _, e := range events {
			if e.name == agentEvent {
				agents++
			}
		}
		return agents
	}
	if n := count(drive.Status{Agent: "a", State: drive.Working, Text: "One two"}); n != 0 {
		t.Errorf("text: %d events", n)
	}
	if n := count(drive.Status{Agent: "a", State: drive.Working, Text: "One two", Queue: []drive.Prompt{{ID: "p"}}}); n != 1 {
		t.Errorf("a prompt: %d events", n)
	}
}

// An agent without questions returns an empty list of them.
func TestNoQuestions(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	if q, ok := d.post("agents", map[string]any{"project": d.project})["questions"].([]any); !ok || len(q) > 0 {
		t.Errorf("questions %v", q)
	}
}

// An accepted answer is in the audit, even if its page is gone before it gets the result.
func TestAuditWithoutPage(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	agent := d.post("agents", map[string]any{"project": d.project, "prompt": "ask make"})["agent"].(string)
	q := d.until(questionEvent, func(map[string]any) bool { return true })
	body := fmt.Sprintf(`{"id":"request-x","question":%q,"digest":%q,"answer":{"kind":"once"}}`, q["question"], q["digest"])
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://example.com"+api+"agents/"+agent+"/answers", strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+d.Token())
	r.Header.Set("Content-Type", "application/json")
	d.Handler().ServeHTTP(httptest.NewRecorder(), r)
	d.until(answeredEvent, func(map[string]any) bool { return true })
	d.opts.Drive.Close() // it waits for requests in progress
	log := d.audited.String()
	if !strings.Contains(log, `"allowed once"`) || strings.Contains(log, "answer refused") || strings.Contains(log, "refused \"/api/v1/agents") {
		t.Errorf("the audit:\n%s", log)
	}
}

// Text of an answer comes as HTML, merged.
func TestDriveDelta(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	d.post("agents", map[string]any{"project": d.project, "prompt": "wait"})
	delta := d.until(deltaEvent, func(data map[string]any) bool { return data["html"] != "" })
	if html, _ := delta["html"].(string); !strings.Contains(html, "<p>Waiting</p>") {
		t.Errorf("delta %v", delta)
	}
	status, list := d.send(http.MethodGet, "driven", nil)
	if agents, _ := list["agents"].([]any); status != http.StatusOK || len(agents) != 1 {
		t.Errorf("%d %v", status, list)
	}
}

// Everything that can be done with an agent, in the order of a story.
func TestDriveControls(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	path := "agents/" + d.post("agents", map[string]any{"project": d.project, "mode": "plan", "prompt": "say hello"})["agent"].(string)
	d.until(agentEvent, func(data map[string]any) bool { return data["state"] == "idle" && len(data["sent"].([]any)) == 1 })
	if got := d.post(path+"/mode", map[string]any{"mode": "acceptEdits"}); got["mode"] != "acceptEdits" {
		t.Errorf("mode: %v", got)
	}
	if got := d.post(path+"/model", map[string]any{"model": "opus"}); got["model"] != "opus" {
		t.Errorf("model: %v", got)
	}
	status, refusal := d.send(http.MethodPost, path+"/mode", map[string]any{"id": "mode-bypass", "mode": "bypassPermissions"})
	if hint, _ := refusal["hint"].(string); status != http.StatusForbidden || !strings.Contains(hint, "--permission-mode") {
		t.Errorf("%d %v", status, refusal)
	}
	rewound := d.post(path+"/rewind", map[string]any{"to": "request-1", "preview": true})
	if diff := cmp.Diff([]any{"a.go"}, rewound["files"]); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	d.post(path+"/prompts", map[string]any{"text": "wait"})
	queued := d.post(path+"/prompts", map[string]any{"text": "say two"})["id"].(string)
	if got := d.post(path+"/prompts/"+queued+"/withdraw", map[string]any{}); got["text"] != "say two" {
		t.Errorf("withdrawn: %v", got)
	}
	d.post(path+"/interrupt", map[string]any{})
	if got := d.post(path+"/end", map[string]any{}); got["state"] != "ended" {
		t.Errorf("ended: %v", got)
	}
	status, _ = d.send(http.MethodPost, path+"/prompts", map[string]any{"id": "too-late-1", "text": "say three"})
	if status != http.StatusGone {
		t.Errorf("a prompt after the end: %d", status)
	}
	if status, _ = d.send(http.MethodPost, "agents/none/end", map[string]any{"id": "no-agent-1"}); status != http.StatusNotFound {
		t.Errorf("no agent: %d", status)
	}
}

// An agent's request can't become markup, and every character of it is visible.
func TestQuestionHTML(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	path := filepath.Join(d.dir, "a.txt")
	if err := os.WriteFile(path, []byte("<b>old</b>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.post("agents", map[string]any{"project": d.project, "prompt": "edit " + path})
	edit := d.until(questionEvent, func(data map[string]any) bool { return strings.Contains(data["title"].(string), "Edit") })
	if html := edit["html"].(string); !strings.Contains(html, "&lt;b&gt;") || strings.Contains(html, "<b>") ||
		!strings.Contains(html, "file_path") || strings.Contains(html, "old_string") {
		t.Errorf("the edit is shown as %s", html)
	}
	d.post("agents", map[string]any{"project": d.project, "prompt": "ask echo \u202eevil\u0007\n<script>x</script>"})
	hidden := d.until(questionEvent, func(data map[string]any) bool { return strings.Contains(data["title"].(string), "Bash") })
	const want = `<div class="member"><span class="name">command</span><pre tabindex="0">echo \u202eevil\a` + "\n" +
		`&lt;script&gt;x&lt;/script&gt;</pre></div>`
	if diff := cmp.Diff(want, hidden["html"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.post("agents", map[string]any{"project": d.project, "prompt": "choose"})
	choice := d.until(questionEvent, func(data map[string]any) bool { return len(data["choices"].([]any)) == 1 })
	first := choice["choices"].([]any)[0].(map[string]any)
	if first["text"] != "Which color?" || len(first["options"].([]any)) != 2 {
		t.Errorf("choice %v", choice)
	}
}

// However many agents ended, pages learn that a question is answered and that a draft ends.
func TestEventsAfterManyAgents(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	d.post("agents", map[string]any{"project": d.project, "prompt": "ask true"})
	d.until(questionEvent, func(map[string]any) bool { return true })
	asking := d.opts.Drive.List()
	asking[0].Text = "Let me see"
	s := &Server{opts: d.opts, feed: newFeed()} // its events come from this test alone
	known := map[string]*drive.Status{}
	for i := range 2 * maxStreams {
		known[fmt.Sprint("ended", i)] = new(drive.Status)
	}
	s.tellOfChanges(known, asking)
	later := asking[0]
	later.Text, later.Questions = "", nil
	s.tellOfChanges(known, []drive.Status{later})
	events, _, _ := s.feed.since(place{})
	var names []string
	for _, e := range events {
		names = append(names, e.name)
	}
	want := []string{questionEvent, agentEvent, deltaEvent, answeredEvent}
	if diff := cmp.Diff(want, names); diff != "" || len(known) != 1 {
		t.Errorf("%d agents are known, events (-want +got):\n%s", len(known), diff)
	}
}

// Without --drive, the requests name the flag.
func TestNotDriven(t *testing.T) {
	t.Parallel()
	d := &driven{t: t, Server: newServer(t)}
	status, refusal := d.send(http.MethodPost, "agents", map[string]any{"id": "request-1"})
	if hint, _ := refusal["hint"].(string); status != http.StatusForbidden || !strings.Contains(hint, "--drive") {
		t.Errorf("%d %v", status, refusal)
	}
	status, me := d.send(http.MethodGet, "me", nil)
	if status != http.StatusOK || me["drive"] != false || me["projects"] != nil {
		t.Errorf("%d %v", status, me)
	}
}

// A hook of a session that runs elsewhere gets the page's answer, and no answer if there is no
// page.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	d := newDriven(t)
	server := httptest.NewServer(d.Handler())
	t.Cleanup(server.Close)
	running := &Running{URL: "http://example.com/", Address: server.Listener.Addr().String(), Token: d.Token()}
	question := &HookQuestion{Session: "11111111-2222-4333-8444-555555555555", Dir: d.dir, Tool: "Bash", Input: `{"command":"make"}`}
	if answer, err := running.Ask(t.Context(), question); err != nil || answer.Behavior != "" {
		t.Errorf("without a page: %+v %v", answer, err)
	}
	wake, _ := d.feed.join()
	defer d.feed.leave(wake)
	answers := make(chan *HookAnswer, 1)
	go func() {
		answer, err := running.Ask(t.Context(), question)
		if err != nil {
			t.Error(err)
		}
		answers <- answer
	}()
	q := d.until(questionEvent, func(data map[string]any) bool { return data["session"] == question.Session })
	d.post("agents/"+q["agent"].(string)+"/answers", map[string]any{
		"question": q["question"], "digest": q["digest"], "answer": map[string]any{"kind": "deny", "reason": "not now"},
	})
	want := &HookAnswer{"deny", "The user denied this: not now"}
	if diff := cmp.Diff(want, <-answers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if status, _ := d.send(http.MethodPost, "hook", map[string]any{"session": "../x", "tool": "Bash"}); status != http.StatusBadRequest {
		t.Errorf("a bad session: %d", status)
	}
}

// A diff does not take the place of texts that it does not show completely.
func TestQuestionShowsAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ input, want string }{
		{`{"file_path":"/a","old_string":"a","new_string":"a\u001b[8mhidden"}`, `\x1b[8mhidden`},
		{`{"file_path":"/a","old_string":"far\n2\n3\n4\n5\n6\n","new_string":"far\n2\n3\n4\n5\n7\n"}`, "far"},
	} {
		q := ask.OfJob(&fleet.Question{Tool: "Edit", Input: []byte(tt.input)}, ask.MaxShown)
		if got := questionHTML(q); q.Diff == nil || !strings.Contains(got, tt.want) {
			t.Errorf("%q is missing in\n%s", tt.want, got)
		}
	}
}
