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
