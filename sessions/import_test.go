package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A countingStore fails on one append, and records the size of each.
type countingStore struct {
	sessions.Store
	failing int // the number of the append, from 1
	sizes   []int
}

func (s *countingStore) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	s.sizes = append(s.sizes, len(entries))
	if len(s.sizes) == s.failing {
		return errBroken
	}
	return s.Store.Append(ctx, key, entries)
}

// manyEntries returns entries of which two thirds have UUIDs.
func manyEntries(n, size int) []wire.JSON {
	var entries []wire.JSON
	for i := range n {
		uuid := fmt.Sprintf(`,"uuid":"%d"`, i)
		if i%3 == 0 {
			uuid = ""
		}
		entries = append(entries, wire.JSON(`{"type":"mode"`+uuid+`,"text":"`+strings.Repeat("x", size)+`"}`))
	}
	return entries
}

func TestImportBatches(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries []wire.JSON
		want    []int
	}{
		"by number":   {manyEntries(1203, 1), []int{500, 500, 203}},
		"by size":     {manyEntries(25, 100<<10), []int{10, 10, 5}},
		"a large one": {manyEntries(3, 2<<20), []int{1, 1, 1}},
	}
	for name, tt := range tests {
		from, to := sessions.NewMemory(), &countingStore{Store: sessions.NewMemory()}
		mustAppend(t, from, keyA, tt.entries...)
		var progress []int
		err := sessions.Import(t.Context(), to, idA, &sessions.ImportOptions{
			Store: from, Progress: func(p sessions.ImportProgress) { progress = append(progress, p.Entries) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, to.sizes); diff != "" {
			t.Errorf("%s: appends (-want +got):\n%s", name, diff)
		}
		if len(progress) != len(tt.want) || progress[len(progress)-1] != len(tt.entries) {
			t.Errorf("%s: got progress %v", name, progress)
		}
		checkLoad(t, to, keyA, tt.entries...)
	}
}

func TestImportResumes(t *testing.T) {
	t.Parallel()
	entries := manyEntries(1203, 1)
	for failing := 1; failing <= 4; failing++ {
		from, to := sessions.NewMemory(), &countingStore{Store: sessions.NewMemory(), failing: failing}
		entries[700] = `{"type":"agent_metadata"}` // in a main transcript, this is an entry like any other
		mustAppend(t, from, keyA, entries...)
		mustAppend(t, from, keyAgent, entries[:5]...)
		opts := &sessions.ImportOptions{Store: from}
		if err := sessions.Import(t.Context(), to, idA, opts); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want %v", err, errBroken)
		}
		for range 2 {
			if err := sessions.Import(t.Context(), to, idA, opts); err != nil {
				t.Fatal(err)
			}
		}
		checkLoad(t, to, keyA, entries...)
		checkLoad(t, to, keyAgent, entries[:5]...)

		mustAppend(t, from, keyA, `{"type":"tag","tag":"grown"}`)
		if err := sessions.Import(t.Context(), to, idA, opts); err != nil {
			t.Fatal(err)
		}
		if got := len(mustLoad(t, to, keyA)); got != len(entries)+1 {
			t.Errorf("got %d entries, want %d", got, len(entries)+1)
		}
	}
}

// Entries without a UUID are not copied again either, no matter what was added to the copy, and how
// often a file has an entry.
func TestImportRepeatedOverChanges(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), sessions.NewMemory()
	const file = "p/" + idA + ".jsonl"
	opts := &sessions.ImportOptions{Store: sessions.NewFolder(dir)}
	lines := "{\"n\":1}\n{\"uuid\":\"2\"}\n{\"n\":1}\n{\"uuid\":\"2\"}\n{\"n\": 3}\n"
	mustImport := func() {
		t.Helper()
		write(t, dir, file, lines)
		for range 2 {
			if err := sessions.Import(t.Context(), to, idA, opts); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustImport()
	want := []wire.JSON{`{"n":1}`, `{"uuid":"2"}`, `{"n":1}`, `{"n": 3}`}
	checkLoad(t, to, keyA, want...)

	mustAppend(t, to, keyA, `{"title":"of the copy"}`)
	lines += "{\"n\":4}\n{\"uuid\":\"5\"}\n"
	mustImport()
	checkLoad(t, to, keyA, append(want, `{"title":"of the copy"}`, `{"n":4}`, `{"uuid":"5"}`)...)
}

// An agent does not mirror everything in its file. Import adds what a store missed, and nothing
// else.
func TestImportOverMirror(t *testing.T) {
	t.Parallel()
	from, to := sessions.NewMemory(), sessions.NewMemory()
	const old, lost, last = `{"type":"custom-title","customTitle":"old"}`, `{"uuid":"2"}`, `{"uuid":"3"}`
	mustAppend(t, from, keyA, `{"uuid":"1"}`, `{"type":"api-request"}`, old, lost, old, last)
	mustAppend(t, to, keyA, `{"uuid":"1"}`, `{"customTitle":"old", "type":"custom-title"}`, old, last,
		`{"type":"custom-title","customTitle":"new"}`)
	want := append(mustLoad(t, to, keyA), `{"type":"api-request"}`, lost)
	for range 3 {
		if err := sessions.Import(t.Context(), to, idA, &sessions.ImportOptions{Store: from}); err != nil {
			t.Fatal(err)
		}
		checkLoad(t, to, keyA, want...)
	}
}

func TestImportIntoProject(t *testing.T) {
	t.Parallel()
	from, to := sessions.NewMemory(), sessions.NewMemory()
	mustAppend(t, from, keyA, `{"uuid":"1"}`, `{"n":2}`)
	mustAppend(t, from, keyAgent, `{"uuid":"3"}`)
	for range 2 {
		opts := &sessions.ImportOptions{Store: from, IntoProject: "birds"}
		if err := sessions.Import(t.Context(), to, idA, opts); err != nil {
			t.Fatal(err)
		}
	}
	projects, err := to.Projects(t.Context())
	if diff := cmp.Diff([]string{"birds"}, projects); diff != "" || err != nil {
		t.Errorf("projects (-want +got):\n%s, %v", diff, err)
	}
	own, below := keyA, keyAgent
	own.Project, below.Project = "birds", "birds"
	checkLoad(t, to, own, `{"uuid":"1"}`, `{"n":2}`)
	checkLoad(t, to, below, `{"uuid":"3"}`)
	opts := &sessions.ImportOptions{Store: from, IntoProject: "../birds"}
	if err := sessions.Import(t.Context(), to, idA, opts); err == nil {
		t.Error("no error for a project that is no name")
	}
}

func TestImportFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", "{\"uuid\":\"1\"}\n{broken\n{\"uuid\":\"2\"}\n{\"torn")
	write(t, dir, "p/"+idA+"/subagents/agent-1.jsonl", "{\"uuid\":\"3\"}\n")
	write(t, dir, "p/"+idA+"/subagents/agent-1.meta.json", `{"toolUseId":"t"}`)
	to := sessions.NewMemory()
	var skipped []int
	opts := &sessions.ImportOptions{Store: sessions.NewFolder(dir), Progress: func(p sessions.ImportProgress) {
		if p.Skipped != nil {
			skipped = append(skipped, p.Skipped.Line)
		}
	}}
	for range 2 {
		skipped = nil
		if err := sessions.Import(t.Context(), to, idA, opts); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{2, 4}, skipped); diff != "" {
			t.Errorf("skipped lines (-want +got):\n%s", diff)
		}
		checkLoad(t, to, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`)
		checkLoad(t, to, keyAgent, `{"uuid":"3"}`, `{"toolUseId":"t","type":"agent_metadata"}`)
	}

	write(t, dir, "p/"+idA+"/subagents/agent-1.meta.json", `{"toolUseId":"t","finished":true}`)
	if err := sessions.Import(t.Context(), to, idA, opts); err != nil {
		t.Fatal(err)
	}
	got := mustLoad(t, to, keyAgent)
	if want := wire.JSON(`{"finished":true,"toolUseId":"t","type":"agent_metadata"}`); got[len(got)-1] != want {
		t.Errorf("got %s, want %s at the end", got, want)
	}
	silent := sessions.NewFolder(dir)
	reported := 0
	silent.Skipped = func(sessions.SkippedLine) { reported++ }
	err := sessions.Import(t.Context(), sessions.NewMemory(), idA, &sessions.ImportOptions{Store: silent})
	if err != nil || reported != 2 {
		t.Errorf("without progress, %d lines were reported, want 2: %v", reported, err)
	}
	if err := sessions.Import(t.Context(), nil, idA, opts); err == nil {
		t.Error("an import into nothing")
	}
}
