package search

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/sessions"
)

// BenchmarkSearch measures searches in an index that is up to date, over 200 sessions with 420 MB of
// transcripts. Times vary on a shared machine, so it also reports the median, and the matches of
// each query.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	if _, err := corpus.Projects(dir, 1, corpus.ProjectsSize); err != nil {
		b.Fatal(err)
	}
	rare := filepath.Join(dir, "-project", deskSession+".jsonl")
	if err := os.MkdirAll(filepath.Dir(rare), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(rare, []byte(promptLine(1, "a zyzzyva")), 0o600); err != nil {
		b.Fatal(err)
	}
	var files []sessions.File
	for f, err := range sessions.Files(b.Context(), &sessions.Options{Store: sessions.NewFolder(dir)}) {
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, f)
	}
	x := Index{Path: filepath.Join(b.TempDir(), "search.db")}
	for _, bench := range []struct {
		name  string
		words []string
	}{
		{"rare word", []string{"zyzzyva"}},
		{"common word", []string{"cache"}},
		{"two common words", []string{"cache", "error"}},
		{"phrase", []string{"fmt.Errorf"}},
		{"five words", []string{"cache", "error", "handlers", "timeouts", "tokens"}},
	} {
		for _, order := range []Order{Relevance, Newest} {
			q, err := Parse(strings.Join(bench.words, " "))
			if err != nil {
				b.Fatal(err)
			}
			q.Limit, q.PerSession, q.Order = 20, 3, order
			name := bench.name + map[Order]string{Relevance: ", best first", Newest: ", newest first"}[order]
			b.Run(name, func(b *testing.B) { x.bench(b, files, q) })
		}
	}
}

func (x *Index) bench(b *testing.B, files []sessions.File, q *Query) {
	b.Helper()
	found, err := x.Search(b.Context(), files, q) // builds the index
	if err != nil {
		b.Fatal(err)
	}
	var times []time.Duration
	for b.Loop() {
		begun := time.Now()
		if _, err := x.Search(b.Context(), files, q); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(begun))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-median")
	b.ReportMetric(float64(len(found.Hits)+found.More), "matches")
}
