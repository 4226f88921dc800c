package rows

import (
	"context"
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// largest returns the largest session of the corpus of the benchmarks: 57 MB with 47 subagents.
var largest = sync.OnceValues(func() (*transcript.Transcript, error) {
	dir, err := os.MkdirTemp("", "rows")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := corpus.Largest(dir)
	if err != nil {
		return nil, err
	}
	return sessions.ReadFile(context.Background(), path, nil)
})

// BenchmarkNew makes all rows of the session, and reports their size.
func BenchmarkNew(b *testing.B) {
	tr, err := largest()
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var kept List
	kept.Update(tr, 0)
	runtime.GC()
	runtime.ReadMemStats(&after)
	for b.Loop() {
		var l List
		l.Update(tr, 0)
	}
	b.ReportMetric(float64(kept.Len()), "rows")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(kept.Len()), "B/row")
}

// BenchmarkAppend makes the last chunk's rows again.
func BenchmarkAppend(b *testing.B) {
	tr, err := largest()
	if err != nil {
		b.Fatal(err)
	}
	var l List
	l.Update(tr, 0)
	for b.Loop() {
		l.Update(tr, len(tr.Chunks)-1)
	}
}
