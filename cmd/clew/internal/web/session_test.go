package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
	"github.com/clewdev/clew/transcript"
)

// Each request that names something that is not there, or asks for something that makes no sense, is
// refused with a reason.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for path, want := range map[string]int{
		"sessions?tab=nonsense": http.StatusBadRequest,
		"sessions?from=-1":      http.StatusBadRequest,
		"sessions?n=many":       http.StatusBadRequest,
		"sessions?filter=" + strings.Repeat("x", maxFilter+1): http.StatusBadRequest,
		"sessions/nope":                                             http.StatusNotFound,
		"sessions/..%2f..%2fetc":                                    http.StatusNotFound,
		session("allowed") + "/rows?parent=nope":                    http.StatusNotFound,
		session("allowed") + "/rows?from=x":                         http.StatusBadRequest,
		session("allowed") + "/row?row=nope":                        http.StatusNotFound,
		session("allowed") + "/row?row=3&part=nope":                 http.StatusBadRequest,
		session("allowed") + "/row?row=3&part=input":                http.StatusNotFound,
		session("allowed") + "/row?row=3&part=image":                http.StatusUnsupportedMediaType,
		session("pictures") + "/row?row=4.0&part=image":             http.StatusUnsupportedMediaType,
		session("pictures") + "/row?row=2.0&part=image&n=1":         http.StatusUnsupportedMediaType,
		session("allowed") + "/where?row=nope":                      http.StatusNotFound,
		session("allowed") + "/where?row=3&step=nope":               http.StatusBadRequest,
		session("allowed") + "/find?q=":                             http.StatusBadRequest,
		session("allowed") + "/find?regex=1&q=(":                    http.StatusBadRequest,
		session("allowed") + "/find?q=" + strings.Repeat("x", 1001): http.StatusBadRequest,
		session("allowed") + "/files?turn=x":                        http.StatusBadRequest,
		"usage?by=nope":                                             http.StatusBadRequest,
		"usage?since=yesterday":                                     http.StatusBadRequest,
		"search?q=" + strings.Repeat("x", maxWords+1):               http.StatusBadRequest,
	} {
		w := d.do(http.MethodGet, path, "")
		var no struct {
			Error string `json:"error"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &no); err != nil || no.Error == "" || w.Code != want {
			t.Errorf("%.80s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// A session is read as soon as a browser asks for its page, which has nothing of it. Other pages read
// none.
func TestExpectedSession(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	visit := func(path string) {
		w := httptest.NewRecorder()
		d.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), fixtureID("allowed")) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	visit("/")
	visit("/s/00000000-0000-4000-8000-0000000000ff")
	visit("/s/" + fixtureID("allowed"))
	polltest.Until(t, "the session is read", func() bool { return d.held.Load() > 0 })
	file, err := os.Stat(filepath.Join(project("-home-dev-shop"), fixtureID("allowed")+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := d.held.Load(); n != file.Size() {
		t.Errorf("sessions of %d bytes were read, want %d", n, file.Size())
	}
}

func TestEmptySession(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	var page rowsPage
	d.get(session("empty")+"/rows", &page)
	if page.Total != 0 || page.Rows == nil || page.Revision == 0 {
		t.Errorf("an empty session: %+v", page)
	}
	for _, path := range []string{"", "/outline", "/files", "/agents", "/context", "/usage", "/branches"} {
		checkMarkup(t, path, d.html(session("empty")+path))
	}
	var result found
	d.get(session("empty")+"/find?q=x", &result)
	if result.Count != 0 {
		t.Errorf("%+v", result)
	}
}

// Very long texts come in parts, with a note.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	var page rowsPage
	d.get(session("long")+"/rows", &page)
	size := 0
	for i := range page.Rows {
		size += len(page.Rows[i].HTML)
		if page.Rows[i].Body != nil {
			size += len(*page.Rows[i].Body)
		}
	}
	if size > 200_000 {
		t.Errorf("the rows have %d bytes", size)
	}
	short := d.html(session("long") + "/row?row=2.0&part=body")
	if len(short) > 20_000 || !strings.Contains(short, "more not shown; "+moreInParts) {
		t.Errorf("the body has %d bytes", len(short))
	}
	if whole := d.html(session("long") + "/row?row=2.0&part=result"); len(whole) < 40_000*20 {
		t.Errorf("the result has %d bytes", len(whole))
	}
}

func TestRowParts(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for path, want := range map[string]string{
		"/row?row=14.0&part=input":                   "old_string",
		"/row?row=14.0&part=result":                  "<pre",
		"/row?row=14.0&part=diff":                    `<tr class="add">`,
		"/row?row=14.0&part=raw":                     "<h3>line 15</h3>",
		"/row?row=" + url.QueryEscape("line:14"):     "server.go",
		"/row?part=raw&row=4.0":                      "line 5",
		"/row?row=b10":                               "",
		"/row?row=" + url.QueryEscape("line:999999"): "state",
	} {
		if html := d.html(session("rewound") + path); !strings.Contains(html, want) {
			t.Errorf("%s lacks %q: %s", path, want, html)
		}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for _, row := range []string{"1", "2.0"} {
		w := d.do(http.MethodGet, session("pictures")+"/row?part=image&n=0&row="+row, "")
		if kind := w.Header().Get("Content-Type"); w.Code != http.StatusOK || kind != "image/png" || !strings.HasPrefix(w.Body.String(), "\x89PNG") {
			t.Errorf("row %s: %d %s %q", row, w.Code, kind, w.Body)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for path, want := range map[string]string{
		"/markdown?row=13":   "No sleeps, please.",
		"/markdown?row=14.0": "net.Listen",
		"/markdown?row=b10":  "I'll add a sleep.",
		"/markdown":          "What I know",
	} {
		w := d.do(http.MethodGet, session("rewound")+path, "")
		if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/markdown") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s %s", path, w.Code, kind, w.Body)
		}
	}
}

func TestExport(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	const secret = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5hJ7kL9nP1qR3tU5wX7zA9cD1eF3gH5jK7mN9pQ1sT3vW5yZ7bC9dE1fG3AA"
	w := &entryWriter{cwd: "/home/dev/shop"}
	w.prompt("The key is " + secret)
	const id = "f3000000-0000-4000-8000-000000000001"
	if err := writeSession(project("-home-dev-export"), id, w.String(), testNow.Add(-1000*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for format, begin := range map[string]string{"html": "<!DOCTYPE html>", "markdown": "# ", "json": "{"} {
		for _, whole := range []string{"", "1"} {
			var got *httptest.ResponseRecorder
			for range 1000 { // the list learns of the session a little later
				if got = d.do("GET", "sessions/"+id+"/export?format="+format+"&whole="+whole, ""); got.Code != http.StatusNotFound {
					break
				}
				_ = pause.For(t.Context(), 20*time.Millisecond) // it ends with the test
			}
			text := got.Body.String()
			if got.Code != http.StatusOK || !strings.HasPrefix(text, begin) || !strings.Contains(text, "The key is") {
				t.Errorf("%s: %d %.100q", format, got.Code, text)
			}
			if strings.Contains(text, secret) != (whole != "") {
				t.Errorf("%s with whole=%q: the key is there: %v", format, whole, whole == "")
			}
			if h := got.Header(); h.Get("Content-Type") != "application/octet-stream" || h.Get("Content-Disposition") != "attachment" {
				t.Errorf("%s: a browser would show it: %v", format, h)
			}
		}
	}
}

// An outline comes in parts.
func TestOutlineParts(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	type part struct {
		HTML  string
		Total int
	}
	var all, rest, none part
	d.get(session("rewound")+"/outline", &all)
	d.get(session("rewound")+"/outline?from=1", &rest)
	d.get(session("rewound")+"/outline?from=100000", &none)
	n := strings.Count(all.HTML, "<li")
	if n != all.Total || n < 2 || strings.Count(rest.HTML, "<li") != n-1 || rest.Total != n || strings.Contains(none.HTML, "<li") || none.Total != n {
		t.Errorf("%d of %d lines, then %+v and %+v", n, all.Total, rest, none)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	var result found
	d.get(session("subagent")+"/find?q=COUNT", &result)
	type place struct {
		Row   rows.ID
		Path  []rows.ID
		Index int
	}
	var got []place
	for _, m := range result.Matches {
		got = append(got, place{m.Row, m.Path, m.Index})
	}
	want := []place{
		{"23.0", []rows.ID{}, 2}, {"ab45c76475627f755/1", []rows.ID{"23.0"}, 2}, {"ab45c76475627f755/14.0", []rows.ID{"23.0"}, 2},
		{"ab45c76475627f755/15.0", []rows.ID{"23.0"}, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("matches (-want +got):\n%s", diff)
	}
	for query, want := range map[string]bool{
		"q=COUNT&case=1": false, "q=Count&case=1": true, "q=c.unt&regex=1": true, "q=C.UNT&regex=1&case=1": false, "q=c.unt": false,
	} {
		result = found{}
		d.get(session("subagent")+"/find?"+query, &result)
		if got := result.Count > 0; got != want {
			t.Errorf("%s: %d matches", query, result.Count)
		}
	}
}

func TestWhere(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for query, want := range map[string][]step{
		"row=" + url.QueryEscape("ab45c76475627f755/15.0"): {{"23.0", 2}, {"ab45c76475627f755/15.0", 2}},
		"row=37.0":                                            {{"37.0", 4}},
		"row=37.0&step=prompt&back=1":                         {{"3", 0}},
		"row=" + url.QueryEscape("line:30"):                   {{"30.0", 3}},
		"row=" + url.QueryEscape("line:ab45c76475627f755/15"): {{"23.0", 2}, {"ab45c76475627f755/15.0", 2}},
	} {
		var answer struct{ Path []step }
		d.get(session("subagent")+"/where?"+query, &answer)
		if diff := cmp.Diff(want, answer.Path); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if w := d.do(http.MethodGet, session("subagent")+"/where?row=37.0&step=prompt", ""); w.Code != http.StatusNotFound {
		t.Errorf("a prompt after the last one: %d", w.Code)
	}
}

// A session is renamed, tagged, deleted and restored.
func TestChanges(t *testing.T) {
	t.Parallel()
	const id = "c4000000-0000-4000-8000-000000000001"
	w := &entryWriter{cwd: "/home/dev/changes"}
	w.prompt("Change me")
	w.answer("end_turn", text("Done."))
	if err := writeSession(project("-home-dev-changes"), id, w.String(), testNow.AddDate(0, -1, 0)); err != nil {
		t.Fatal(err)
	}
	d := newDataServer(t)
	path := "sessions/" + id
	post := func(what, body string, want int) {
		t.Helper()
		if w := d.do(http.MethodPost, what, body); w.Code != want {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	post(path+"/rename", `{"title":" "}`, http.StatusBadRequest)
	post(path+"/rename", `{"title":"Another <b>title</b>"}`, http.StatusOK)
	post(path+"/tag", `{"tag":"shop"}`, http.StatusOK)
	file, err := os.ReadFile(filepath.Join(project("-home-dev-changes"), id+".jsonl"))
	if err != nil || !strings.Contains(string(file), "Another") || !strings.Contains(string(file), `"shop"`) {
		t.Errorf("%v %s", err, file)
	}
	post(path+"/delete", `{}`, http.StatusOK)
	var page listPage
	d.get("sessions?tab=trash", &page)
	if len(page.Rows) != 1 || !strings.Contains(page.Rows[0].HTML, "Another &lt;b&gt;title") {
		t.Fatalf("the trash: %+v", page)
	}
	post("sessions/nope/restore", `{}`, http.StatusNotFound)
	post("sessions/"+url.PathEscape(page.Rows[0].ID)+"/restore", `{}`, http.StatusOK)
	if _, err := os.Stat(filepath.Join(project("-home-dev-changes"), id+".jsonl")); err != nil {
		t.Error(err)
	}
}

// Readers of a session learn of changes, and of the end of an answer.
func TestFollowRows(t *testing.T) {
	t.Parallel()
	const id = "c4000000-0000-4000-8000-000000000002"
	w := &entryWriter{cwd: "/home/dev/changes"}
	w.prompt("Go")
	w.answer("end_turn", text("Gone."))
	if err := writeSession(project("-home-dev-growing"), id, w.String(), testNow.AddDate(0, -1, 0)); err != nil {
		t.Fatal(err)
	}
	d := newDataServer(t)
	changes := make(chan rowsChange, 100)
	done := make(chan error, 1)
	go func() { done <- d.followRows(t.Context(), id, func(c rowsChange) { changes <- c }) }()
	next := func(total int) rowsChange {
		t.Helper()
		for {
			select {
			case c := <-changes:
				if c.Total == total {
					return c
				}
			case err := <-done:
				t.Fatal(err)
			}
		}
	}
	if c := next(2); c.First != 0 || c.Ended != "" {
		t.Errorf("the first change is %+v", c)
	}
	before := w.Len()
	w.prompt("On")
	w.answer("end_turn", text("And on."))
	file, err := os.OpenFile(filepath.Join(project("-home-dev-growing"), id+".jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(w.String()[before:]); err != nil {
		t.Fatal(err)
	}
	c := next(4)
	if c.First == 0 || c.First > 2 || c.Ended != "And on." {
		t.Errorf("the second change is %+v", c)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for by, want := range map[string]string{
		"day": `<th scope="row">2026-11-17</th>`, "model": `<th scope="row">opus-5-5</th>`, "project": `<caption>Usage by project</caption>`,
		"tool": `<th scope="row">Bash</th>`, "block": `<caption>Usage by five-hour block</caption>`,
	} {
		html := d.html("usage?by=" + by)
		checkMarkup(t, by, html)
		if !strings.Contains(html, want) || !strings.Contains(html, `<svg role="img"`) || !strings.Contains(html, "<title>") {
			t.Errorf("%s lacks %s: %s", by, want, html)
		}
	}
	if html := d.html("usage?since=1999-01-01&until=1999-12-31"); !strings.Contains(html, "No answers in that period") {
		t.Error(html)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	html := d.html("search?q=listener")
	checkMarkup(t, "search", html)
	if !strings.Contains(html, "<mark>listener</mark>") || !strings.Contains(html, `href="/s/`+fixtureID("rewound")+`#row=line%3A3"`) {
		t.Error(html)
	}
	if html := d.html("search?q=listener&from=100"); html != "" {
		t.Error(html)
	}
}

// While the index is being built, an answer has its progress. An excerpt keeps what is no mark of Markdown.
func TestSearchWhileTheIndexGrows(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	found := &view.Found{More: 7, Indexing: &view.Indexing{Done: 40, Total: 100}, Sessions: []view.FoundSession{
		{Hits: []search.Hit{{Role: search.Answer, Text: "# Title\nC# is **old**", Matches: []search.Span{{Start: 8, End: 9}}}}},
	}}
	drawn, err := json.Marshal(d.drawFound(found, nil, 0, 10))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		HTML            string
		Total, Indexing int
	}
	if err := json.Unmarshal(drawn, &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Total != 8 || answer.Indexing != 40 || !strings.Contains(answer.HTML, `<span class="excerpt">Title <mark>C</mark># is old</span>`) {
		t.Errorf("%s", drawn)
	}
	found.Indexing = nil
	if drawn, err := json.Marshal(d.drawFound(found, nil, 0, 10)); err != nil || strings.Contains(string(drawn), "indexing") {
		t.Errorf("%s, %v", drawn, err)
	}
}

func TestSearchMarksForks(t *testing.T) {
	t.Parallel()
	d := foundDrawer{s: newDataServer(t).Server, left: 1}
	info := sessions.SessionInfo{Summary: sessions.Summary{CustomTitle: "Mend <it>", ForkedFrom: fixtureID("rewound")}}
	d.session(&view.FoundSession{Info: info, Hits: []search.Hit{{Text: "x", Matches: []search.Span{{End: 1}}}}})
	if html := d.String(); !strings.Contains(html, ">fork: Mend &lt;it&gt;</a>") {
		t.Error(html)
	}
}

func TestRunning(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	var answer struct {
		HTML   string         `json:"html"`
		Agents []runningAgent `json:"agents"`
	}
	d.get("running", &answer)
	if answer.Agents == nil || len(answer.Agents) > 0 {
		t.Errorf("%+v", answer)
	}
}

func FuzzRowRequests(f *testing.F) {
	for _, seed := range []string{"3", "14.0", "b10", "line:3", "line:x/99999999999999999999", "ab/1", "invalid", "\x00", "-1", "c3.2", "@a", "%"} {
		f.Add(seed, seed, seed)
	}
	d := newDataServer(f)
	f.Fuzz(func(t *testing.T, row, number, query string) {
		row, number, query = url.QueryEscape(row), url.QueryEscape(number), url.QueryEscape(query)
		for _, path := range []string{
			fmt.Sprintf("/rows?parent=%s&from=%s&n=%s", row, number, number), fmt.Sprintf("/row?row=%s&part=%s", row, query),
			fmt.Sprintf("/row?row=%s&part=image&n=%s", row, number), fmt.Sprintf("/where?row=%s&step=%s", row, query),
			fmt.Sprintf("/find?q=%s&regex=1", query), fmt.Sprintf("/files?turn=%s&path=%s", number, row),
		} {
			w := (&dataServer{Server: d.Server, t: t, mux: d.mux}).do(http.MethodGet, session("hostile")+path, "")
			if w.Code >= http.StatusInternalServerError {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
			var f fragment
			if json.Unmarshal(w.Body.Bytes(), &f) == nil {
				checkMarkup(t, path, f.HTML)
			}
		}
	})
}

// The page of a job's session names the project of the repository, as lists do.
func TestProjectOfJob(t *testing.T) {
	t.Parallel()
	read := &transcript.Transcript{}
	read.CWD = "/w/trees/cqrshifid5z2-1-22222222"
	v := &reading{Rows: &follow.Rows{Snapshot: &follow.Snapshot{Transcript: read}}}
	v.entry.CWD, v.entry.Job = read.CWD, sessions.Job{ID: "cqrshifid5z2", Directory: "/home/me/app"}
	var m markup
	(&Server{opts: Options{Zone: time.UTC}}).facts(&m, v)
	want := `<span class="fact" title="/home/me/app"><span class="label">project</span> app</span>`
	if !strings.Contains(m.String(), want) {
		t.Errorf("%s\nwant %s", m.String(), want)
	}
}

// A long session shows that reading it has begun.
func TestStillReading(t *testing.T) {
	t.Parallel()
	for done, want := range map[int64]string{0: ": 0 %", 1: ": <1 %", 500: ": 50 %"} {
		err := stillReading(&follow.Snapshot{Done: done, Total: 1000})
		if !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%d of 1000: %q, want %q", done, err, want)
		}
	}
}
