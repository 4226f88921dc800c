package rows

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/transcript"
)

// recorded returns the recorded transcripts, by their paths.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{
		"../../transcript/testdata/recorded/*/transcript.jsonl", "../cli/testdata/hostile/*.jsonl", "../demo/recording/*/*.jsonl",
		"../../transcript/testdata/*.jsonl",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no transcripts match %s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[path] = data
		}
	}
	return files
}

// all returns the rows of a list, without what they point to.
func all(l *List) []Row {
	rows := make([]Row, l.Len())
	for i := range rows {
		rows[i] = *l.At(i)
		rows[i].Chunk, rows[i].Item, rows[i].AgentRef, rows[i].Transcript = nil, nil, nil, nil
	}
	return rows
}

func TestUpdateEqualsNew(t *testing.T) {
	t.Parallel()
	for path, data := range recorded(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			var grown List
			b := transcript.NewBuilder(nil)
			ids := map[ID]bool{}
			for line := range bytes.Lines(data) {
				before := grown.Len()
				_, _ = b.Write(line)
				tr := b.Transcript()
				changed := grown.Update(tr, b.Changed())
				var made List
				made.Update(tr, 0)
				if diff := cmp.Diff(all(&made), all(&grown)); diff != "" {
					t.Fatalf("(-new +updated):\n%s", diff)
				}
				if changed > grown.Len() || changed > before && before <= grown.Len() {
					t.Fatalf("changed from %d of %d to %d", before, grown.Len(), changed)
				}
				for id := range ids {
					if _, ok := grown.Index(id); !ok {
						t.Errorf("row %s is gone", id)
					}
				}
				for i := range grown.Len() {
					ids[grown.At(i).ID] = true
				}
			}
		})
	}
}
