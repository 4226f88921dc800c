package view_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/sessions"
)

var monday = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

func info(id string, age time.Duration) sessions.SessionInfo {
	return sessions.SessionInfo{ID: id, Project: "-home-me-shop", Path: "/p/" + id + ".jsonl", Modified: monday.Add(-age), Size: 100}
}

func ids(entries []*view.Entry) (found []string) {
	for _, e := range entries {
		found = append(found, e.ID)
	}
	return found
}

func TestTakeKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	var l view.List
	l.Take([]sessions.SessionInfo{info("a", 0), info("b", time.Hour)})
	listed := []sessions.SessionInfo{info("a", 0)}
	read := info("a", 0)
	read.CustomTitle = "First"
	l.TakeSummaries(listed, []view.Described{view.Describe(read)})
	changed := info("a", 0)
	changed.Size = 200
	l.Take([]sessions.SessionInfo{changed, info("b", time.Hour), info("c", 2*time.Hour)})
	e := l.Find("/p/a.jsonl")
	if e.Name != "First" || e.Read || e.Size != 200 {
		t.Errorf("a changed session has the name %q, read %v, size %d", e.Name, e.Read, e.Size)
	}
	if got := len(l.Unread(10)); got != 3 {
		t.Errorf("%d sessions are unread", got)
	}
	l.TakeSummaries(listed, []view.Described{view.Describe(read)}) // which was read before the change
	if e := l.Find("/p/a.jsonl"); e.Read || e.Size != 200 {
		t.Errorf("a session that changed while it was read: read %v, size %d", e.Read, e.Size)
	}
	again := changed
	again.CustomTitle = "Second"
	l.TakeSummaries([]sessions.SessionInfo{changed}, []view.Described{view.Describe(again)})
	if e := l.Find("/p/a.jsonl"); e.Name != "Second" || !e.Read {
		t.Errorf("then it has the name %q, read %v", e.Name, e.Read)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	var l view.List
	l.Take([]sessions.SessionInfo{info("busy", 0), info("old", time.Hour), info("asks", 2*time.Hour)})
	l.Running = view.Running([]sessions.RunningSession{
		{ID: "busy", Status: "busy"}, {ID: "asks", Status: "waiting", WaitingFor: "permission\x1b prompt"},
		{ID: "new", Status: "idle", Name: "greet", Started: monday.Add(-3 * time.Hour)}, {ID: "busy", Status: "idle"},
	})
	live := l.Live()
	if diff := cmp.Diff([]string{"asks", "busy", "new"}, ids(live)); diff != "" {
		t.Errorf("live sessions (-want +got):\n%s", diff)
	}
	var states []string
	for _, e := range live {
		states = append(states, l.State(e).Whole(""))
	}
	if diff := cmp.Diff([]string{`waits for you: permission\x1b prompt`, "working", "open"}, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
}

func TestProjects(t *testing.T) {
	t.Parallel()
	var l view.List
	l.Take([]sessions.SessionInfo{info("a", 0), info("b", time.Hour)})
	read := info("b", time.Hour)
	read.CWD, read.CustomTitle = "/home/me/shop", "B"
	l.TakeSummaries([]sessions.SessionInfo{info("b", time.Hour)}, []view.Described{view.Describe(read)})
	want := []*view.Project{{Name: "-home-me-shop", Directory: "/home/me/shop", Count: 2, Newest: monday}}
	if diff := cmp.Diff(want, l.Projects()); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
}

// The sessions of jobs belong to the project of their repository, also before they are read.
func TestProjectsOfJobs(t *testing.T) {
	t.Parallel()
	of := func(id, project string, job sessions.Job) sessions.SessionInfo {
		return sessions.SessionInfo{ID: id, Project: project, Path: "/" + project + "/" + id, Modified: monday, Job: job}
	}
	app := of("a", "-home-me-app", sessions.Job{})
	job := of("b", "-w-trees-cqrshifid5z2-1-22222222-work", sessions.Job{ID: "cqrshifid5z2", Directory: "/home/me/app"})
	web := of("c", "-w-trees-cqrshifid5z3-1-33333333-work", sessions.Job{ID: "cqrshifid5z3", Directory: "git.example.com/team/web"})
	plain := of("d", "-w-plain-cqrshifid5z4-1-44444444", sessions.Job{ID: "cqrshifid5z4"})
	var l view.List
	l.Take([]sessions.SessionInfo{app, job, web, plain})
	var got []string
	for _, p := range l.Projects() {
		got = append(got, fmt.Sprint(p.Name, " ", p.Shown(), " ", p.Count))
	}
	want := []string{
		"-home-me-app app 2", "git-example-com-team-web web 1", "-w-plain-cqrshifid5z4-1-44444444 -w-plain-cqrshifid5z4-1-44444444 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("projects (-want +got):\n%s", diff)
	}
	if got := view.Named(job).ProjectName; got != "app" {
		t.Errorf("the project of a job is shown as %q", got)
	}
}
