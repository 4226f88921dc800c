package web

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
)

// Sessions of several projects with the same ID have addresses that stay when another one of them
// becomes the newest.
func TestSameIDAddresses(t *testing.T) {
	t.Parallel()
	infos := []sessions.SessionInfo{
		{ID: "a", Project: "-p", Path: "/-p/a.jsonl", Modified: testNow},
		{ID: "b", Project: "-p", Path: "/-p/b.jsonl", Modified: testNow.Add(-time.Hour)},
		{ID: "a", Project: "-q", Path: "/-q/a.jsonl", Modified: testNow.Add(-2 * time.Hour)},
	}
	want := map[string]string{"a@-p": "/-p/a.jsonl", "b": "/-p/b.jsonl", "a@-q": "/-q/a.jsonl"}
	for _, newest := range []string{"/-p/a.jsonl", "/-q/a.jsonl"} {
		l := newListing(t.Context(), nil, nil)
		l.Take(infos)
		l.name()
		got := map[string]string{}
		for e, name := range l.names {
			got[name] = e.Path
			if l.ids[name] != e {
				t.Errorf("%s leads to %v", name, l.ids[name])
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
		if got := l.ids["a"].Path; got != newest {
			t.Errorf("the ID alone leads to %s, want %s", got, newest)
		}
		infos[0], infos[2] = infos[2], infos[0]
		infos[0].Modified, infos[2].Modified = infos[2].Modified, infos[0].Modified
	}
}

// Rows have the ID of the session beside the one in addresses.
func TestRowsHaveSessionIDs(t *testing.T) {
	t.Parallel()
	s := &Server{opts: Options{Zone: time.UTC, Now: func() time.Time { return testNow }}, listing: newListing(t.Context(), nil, nil)}
	s.listing.Take([]sessions.SessionInfo{
		{ID: "a", Project: "-p", Path: "/-p/a.jsonl", Modified: testNow},
		{ID: "b", Project: "-p", Path: "/-p/b.jsonl", Modified: testNow},
		{ID: "a", Project: "-q", Path: "/-q/a.jsonl", Modified: testNow},
	})
	s.listing.name()
	trash := []sessions.TrashedSession{{ID: "c", Project: "-p"}}
	got := map[string]string{}
	for _, tab := range []string{"recent", "projects", "trash"} {
		for _, row := range s.listRows(&listQuery{tab: tab}, trash) {
			got[row.ID] = row.Session
		}
	}
	want := map[string]string{
		"a@-p": "a", "b": "b", "a@-q": "a", "c@-p": "c",
		"day:" + testNow.Format(time.DateOnly): "", "project:-p": "", "project:-q": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The list of a project has the sessions of the jobs that worked on its repository.
func TestJobsInProject(t *testing.T) {
	t.Parallel()
	s := &Server{opts: Options{Zone: time.UTC, Now: func() time.Time { return testNow }}, listing: newListing(t.Context(), nil, nil)}
	job := sessions.Job{ID: "cqrshifid5z2", Directory: "/home/me/app"}
	s.listing.Take([]sessions.SessionInfo{
		{ID: "a", Project: "-home-me-app", Path: "/a", Modified: testNow},
		{ID: "b", Project: "-w-trees-cqrshifid5z2-1-22222222-work", Path: "/b", Modified: testNow, Job: job},
		{ID: "c", Project: "-home-me-web", Path: "/c", Modified: testNow},
	})
	s.listing.name()
	var got []string
	for _, row := range s.recentRows(&listQuery{project: "-home-me-app"}) {
		if row.entry != nil {
			got = append(got, row.entry.ID)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
