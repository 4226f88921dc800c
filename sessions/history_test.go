package sessions_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/google/go-cmp/cmp"
)

func history(t *testing.T, opts *sessions.HistoryOptions) []sessions.HistoryEntry {
	t.Helper()
	var all []sessions.HistoryEntry
	for entry, err := range sessions.History(t.Context(), opts) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
	return all
}

func TestHistory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "history.jsonl", `{"display":"First","timestamp":1763200000123,"project":"/code","sessionId":"`+idA+`","pastedContents":{}}
{"display":"Fix [Pasted text #1 +3 lines] and [Pasted text #10] and [Pasted text #3]","timestamp":1,"project":"/other","pastedContents":`+
		`{"10":{"id":10,"type":"text","content":"ten"},"1":{"id":1,"type":"text","content":"a\nb"},"4":7}}

{broken
{"timestamp":1}
{"display":7}
[]
{"display":"Torn`)
	type skipped struct {
		line int
		torn bool
	}
	var left []skipped
	opts := &sessions.HistoryOptions{Roots: []string{root, filepath.Join(root, "none")}, Skipped: func(l sessions.SkippedLine) {
		left = append(left, skipped{l.Line, l.Torn})
	}}
	got := history(t, opts)
	want := []sessions.HistoryEntry{
		{Display: "First", Time: time.UnixMilli(1763200000123).UTC(), Project: "/code", SessionID: idA},
		{
			Display: "Fix [Pasted text #1 +3 lines] and [Pasted text #10] and [Pasted text #3]", Time: time.UnixMilli(1).UTC(),
			Project: "/other", Pasted: []sessions.Pasted{{1, "text", "a\nb"}, {10, "text", "ten"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if got, want := got[1].Text(), "Fix a\nb and ten and [Pasted text #3]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	wantLeft := []skipped{{4, false}, {5, false}, {6, false}, {7, false}, {8, true}}
	if diff := cmp.Diff(wantLeft, left, cmp.AllowUnexported(skipped{})); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	for range sessions.History(t.Context(), opts) {
		break
	}
	project := t.TempDir()
	real, err := filepath.EvalSymlinks(project)
	if err != nil {
		t.Fatal(err)
	}
	write(t, root, "history.jsonl", `{"display":"a","project":"/x"}`+"\n"+`{"display":"b","project":`+string(quote(real))+`}`)
	if got := history(t, &sessions.HistoryOptions{Roots: []string{root}, Project: project}); len(got) != 1 || got[0].Display != "b" {
		t.Errorf("of a project: got %+v", got)
	}
}

func TestLost(t *testing.T) {
	home := setHome(t)
	root := mkdir(t, home, ".claude")
	write(t, root, "projects/p/"+id(1)+".jsonl", string(prompt(`"Kept"`)))
	write(t, root, "projects/p/"+id(2)+".jsonl", string(prompt(`"Deleted"`)))
	write(t, root, "projects/p/"+id(5)+".jsonl", "")
	if err := sessions.Delete(t.Context(), id(2), nil); err != nil {
		t.Fatal(err)
	}
	write(t, root, "history.jsonl", `{"display":"a","timestamp":3,"sessionId":"`+id(3)+`","project":"/p"}
{"display":"b","timestamp":1,"sessionId":"`+id(1)+`"}
{"display":"c","timestamp":9,"sessionId":"`+id(2)+`"}
{"display":"d","timestamp":2,"sessionId":"`+id(3)+`"}
{"display":"e","timestamp":5}
{"display":"f","timestamp":4,"sessionId":"`+id(5)+`"}
`)
	lost, err := sessions.Lost(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range lost {
		text := s.ID[len(s.ID)-1:] + s.Project
		for _, p := range s.Prompts {
			text += " " + p.Display
		}
		if s.Trashed {
			text += " trashed"
		}
		got = append(got, text)
	}
	if diff := cmp.Diff([]string{"2 c trashed", "5 f", "3/p d a"}, got); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}
