package search

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
)

// searchAll returns what an index finds for some queries.
func searchAll(t *testing.T, x *Index, files []sessions.File) string {
	t.Helper()
	all := ""
	for _, word := range []string{"the", "pear", "zz*", `"of the"`} {
		q := words(t, word)
		q.Limit = 20
		result, err := x.Search(t.Context(), files, q)
		if err != nil {
			t.Fatal(err)
		}
		all += fmt.Sprintln(word, described(result), result.More, result.AtMost)
	}
	return all
}

// Whatever byte of an index is damaged: what is found is right. If the byte matters, the index is
// rebuilt, with a note.
func TestDamageIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := corpus.Projects(dir, 7, soak.Size(30_000, 100_000)); err != nil {
		t.Fatal(err)
	}
	files := filesBelow(t, dir)
	notes := 0
	x := &Index{Path: filepath.Join(t.TempDir(), "search.db"), Note: func(string) { notes++ }}
	want := searchAll(t, x, files)
	names := []string{x.Path, x.Path + "-sum"}
	contents := make([][]byte, len(names))
	for i, name := range names {
		var err error
		if contents[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	tries := soak.Size(20, 500)
	sum := bytes.IndexByte(contents[1], '\n') // after it is a time, which only tells when to compare
	for i := range tries {
		all := slices.Concat(contents...)
		at := i * len(contents[0]) / tries
		if i%20 == 19 {
			at = len(contents[0]) + i%sum // in the file with the checksum
		}
		all[at] ^= byte(1 + i*37%255)
		notes = 0
		for k, name := range names {
			content := all[:len(contents[k])]
			if all = all[len(content):]; os.WriteFile(name, content, 0o600) != nil {
				t.Fatal("the index can't be written")
			}
		}
		if got := searchAll(t, x, files); got != want {
			t.Errorf("byte %d is damaged: got %s\nwant %s", at, got, want)
		}
		if notes != 1 {
			t.Errorf("byte %d is damaged, and there are %d notes", at, notes)
		}
	}
	soak.Figure(t, "%d damages were noticed, and the index rebuilt", tries)
}

// An index whose last change was interrupted before its checksum was written is rebuilt.
func TestMissingChecksum(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.write(deskSession+".jsonl", promptLine(1, "apple"), os.O_APPEND)
	d.want("apple", 1)
	before, err := os.ReadFile(d.index.Path + "-sum")
	if err != nil {
		t.Fatal(err)
	}
	d.write(deskSession+".jsonl", promptLine(2, "pear"), os.O_APPEND)
	d.want("pear", 2)
	if len(d.notes) != 0 {
		t.Errorf("notes %q", d.notes)
	}
	after, err := os.ReadFile(d.index.Path + "-sum")
	if err != nil || bytes.Equal(before, after) {
		t.Errorf("the checksum is still %s, %v", after, err)
	}
	if err := os.WriteFile(d.index.Path+"-sum", before, 0o600); err != nil {
		t.Fatal(err)
	}
	d.want("pear", 2)
	if len(d.notes) != 1 {
		t.Errorf("notes %q", d.notes)
	}
	d.want("apple", 1)
	if len(d.notes) != 0 {
		t.Errorf("notes %q after it was rebuilt", d.notes)
	}
}
