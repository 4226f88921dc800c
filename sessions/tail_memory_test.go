package sessions_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// peakHeap returns how many bytes the heap has grown by at most while f ran.
func peakHeap(f func()) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := int64(m.HeapAlloc)
	var peak atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), int64(m.HeapAlloc)-before))
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	f()
	close(stop)
	<-done
	return peak.Load()
}

// grow makes a file longer by a hole, which is read as NUL bytes.
func grow(t *testing.T, file string, by int64) {
	t.Helper()
	info, err := os.Stat(file)
	must(t, err)
	must(t, os.Truncate(file, info.Size()+by))
}

// appendLong appends a line of progress of some MiB.
func appendLong(t *testing.T, path string, mebibytes int) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = file.WriteString(`{"type":"progress","uuid":"long","parentUuid":"1","data":{"type":"agent_progress","text":"`)
	piece := bytes.Repeat([]byte("x"), 1<<20)
	for range mebibytes {
		_, e := file.Write(piece)
		err = errors.Join(err, e)
	}
	_, e := file.WriteString("\"}}\n")
	must(t, errors.Join(err, e, file.Close()))
}

// Lines that are longer than the limit, and NUL bytes that a crash has left, pass in bounded memory.
func TestTailLongLines(t *testing.T) { // not parallel: it measures the heap
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("1", ""))
	for _, test := range []struct {
		name  string
		opts  sessions.TailOptions
		limit int64
	}{
		{"default", sessions.TailOptions{}, 160 << 20},
		{"low limit", sessions.TailOptions{Read: &transcript.ReadOptions{MaxLineBytes: 8 << 20}}, 32 << 20},
	} {
		t.Run(test.name, func(t *testing.T) {
			put(t, file, ask("1", ""))
			f := follow(t, file, &test.opts)
			f.want("", "ask 1")
			appendLong(t, file, 140)
			peak := peakHeap(func() { f.want("") })
			if peak > test.limit {
				t.Errorf("the heap has grown by %d MiB", peak>>20)
			}
			if bad := f.main.Invalid; len(bad) != 1 || !errors.Is(bad[0].Err, transcript.ErrLineTooLong) {
				t.Errorf("got %+v", bad)
			}
			grow(t, file, 8<<20)
			appendTo(t, file, ask("2", "1"))
			peak = peakHeap(func() {
				for len(f.main.Chunks) < 2 {
					f.next()
				}
			})
			if peak > 16<<20 {
				t.Errorf("with NUL bytes, the heap has grown by %d MiB", peak>>20)
			}
		})
	}
}
