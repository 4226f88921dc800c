package cli

import (
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// repeat is a reader of n copies of a text.
func repeat(text string, n int) io.Reader {
	var copies []io.Reader
	for range n {
		copies = append(copies, strings.NewReader(text))
	}
	return io.MultiReader(copies...)
}

func TestInspectMemory(t *testing.T) {
	const mb = 1_000_000
	ordinary := fmt.Sprintf(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]},"session_id":"s"}`+"\n",
		strings.Repeat("word ", 100))
	long := fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":%q}]}}`+"\n",
		strings.Repeat("word ", 2*mb))
	for _, tt := range []struct {
		name  string
		in    io.Reader
		bound uint64
	}{
		{"30 MB of ordinary frames", repeat(strings.Repeat(ordinary, 1000), 30*mb/1000/len(ordinary)), 40 * mb},
		{"80 MB in frames of 10 MB", repeat(long, 8), 90 * mb},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
			runtime.GC()
			peak := watchHeap(func() { inspectText(t, tt.in) })
			if t.Logf("%d MB in use", peak/mb); peak > tt.bound {
				t.Errorf("%d MB of memory in use, want at most %d", peak/mb, tt.bound/mb)
			}
		})
	}
}

// watchHeap returns by how much the heap grows while f runs, at most.
func watchHeap(f func()) (peak uint64) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	before := heapInUse()
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				peak = max(peak, heapInUse())
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return peak - min(before, peak)
}

// heapInUse returns the size of the objects on the heap, dead ones that are not
// collected yet included, and of the gaps between them.
func heapInUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}
