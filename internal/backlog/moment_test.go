package backlog

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/wire"
)

// pushTime returns how long Push takes, by the clock of the bubble.
func pushTime(b *Backlog, msgs []wire.Message) time.Duration {
	start := time.Now()
	b.Push(msgs)
	return time.Since(start)
}

func TestMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{MemoryBytes: cost(note(0, 100)), Dir: t.TempDir()})
		for i, want := range []time.Duration{0, moment, 0, 0} {
			if took := pushTime(b, notes(i, 1, 100)); took != want {
				t.Errorf("push %d took %v, want %v", i, took, want)
			}
		}
		for range 2 { // once from memory, and once from disk
			if _, err := b.Take(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		checkBytes(t, b, 0, 0)
		for i, want := range []time.Duration{0, moment, 0} {
			if took := pushTime(b, notes(i, 1, 100)); took != want {
				t.Errorf("push %d after all was taken took %v, want %v", i, took, want)
			}
		}
		b.Close()
	})
}

func TestMomentIsEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{MemoryBytes: cost(note(0, 100)), Dir: t.TempDir()})
		all := notes(0, 5, 100)
		go func() {
			b.Push(all) // each message waits for the one before it
			b.End()
		}()
		var got []wire.Message
		for range all {
			time.Sleep(moment - 1)
			synctest.Wait()
			if _, disk := b.Bytes(); disk > 0 {
				t.Error("a message went to disk")
			}
			msgs, err := b.Take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, msgs...)
			synctest.Wait()
		}
		checkMessages(t, all, got)
	})
}

func TestWakeDoesNotProlongTheMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{MemoryBytes: 1, Dir: t.TempDir()})
		defer b.Close()
		var waking sync.WaitGroup
		defer waking.Wait()
		waking.Go(func() {
			for range 20 {
				time.Sleep(moment / 8)
				b.Wake()
			}
		})
		if took := pushTime(b, notes(0, 2, 100)); took != moment {
			t.Errorf("Push took %v, want %v", took, moment)
		}
	})
}
