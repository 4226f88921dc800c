package clew_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// memoryInUse returns the statistics of memory that is needed.
func memoryInUse() *runtime.MemStats {
	runtime.GC()
	runtime.GC() // frees what cleanups of the first one let go
	m := new(runtime.MemStats)
	runtime.ReadMemStats(m)
	return m
}

// wantSameHeap checks that what f has used is free again.
func wantSameHeap(t *testing.T, f func()) {
	t.Helper()
	before, begin := memoryInUse().HeapAlloc, time.Now()
	f()
	took, after := time.Since(begin), memoryInUse().HeapAlloc
	t.Logf("%v; %d bytes of memory before, %d after", took.Round(time.Millisecond), before, after)
	if after > before+2<<20 {
		t.Errorf("%d bytes of memory before, %d after", before, after)
	}
}

// A thousand sessions leave nothing. Each hundred has an agent of its own, which remembers what was said.
func TestThousandSessions(t *testing.T) {
	hundred := func(t *testing.T) {
		agent := clewtest.NewAgent(t, asked().Send(aWord, aResult))
		for range 100 {
			s := connectTo(t, overMemory(agent))
			if _, err := hearOut(t, s.Turn(t.Context(), "Hi")); err != nil {
				t.Fatal(err)
			}
			wantClosed(t, s)
		}
	}
	t.Run("warm up", hundred)
	wantSameHeap(t, func() {
		wantNothingLeft(t, func() {
			for range 10 {
				t.Run("sessions", hundred)
			}
		})
	})
}

func TestHundredsOfProcesses(t *testing.T) {
	sessions := 200
	if testing.Short() {
		sessions = 20
	}
	opts, err := plainOptions()
	if err != nil {
		t.Fatal(err)
	}
	one := func() {
		s, err := clew.Connect(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		wantClosed(t, s)
	}
	one()
	wantSameHeap(t, func() {
		wantNothingLeft(t, func() {
			for range sessions {
				one()
			}
		})
	})
}

// A session that has nothing to do costs few goroutines and little memory.
func TestIdleSessionCost(t *testing.T) {
	const sessions = 20
	opts, err := plainOptions()
	if err != nil {
		t.Fatal(err)
	}
	connectTo(t, opts) // opens what is shared by all
	goroutines, before := runtime.NumGoroutine(), memoryInUse()
	for range sessions {
		connectTo(t, opts)
	}
	if !eventually(endLimit, func() bool { return runtime.NumGoroutine() <= goroutines+4*sessions }) {
		t.Errorf("%d goroutines before, %d with %d sessions", goroutines, runtime.NumGoroutine(), sessions)
	}
	after := memoryInUse()
	each := (int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse)) / sessions
	t.Logf("each session: %d goroutines, %d bytes of memory", (runtime.NumGoroutine()-goroutines)/sessions, each)
	if each > 64<<10 {
		t.Errorf("%d bytes of memory each", each)
	}
}
