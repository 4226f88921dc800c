package follow

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/transcript"
)

// Progress is published at a pace, and at the end.
func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &session{readers: map[*Reader]bool{}}
		r := &Reader{session: s, wake: make(chan struct{}, 1)}
		s.readers[r] = true
		want := func(done int64) {
			t.Helper()
			snapshot, err := r.take()
			switch {
			case err != nil:
				t.Error(err)
			case done == 0 && snapshot != nil:
				t.Errorf("got %+v", snapshot)
			case done > 0 && (snapshot == nil || snapshot.Done != done || snapshot.Total != 100 || !snapshot.Loading):
				t.Errorf("want %d bytes, got %+v", done, snapshot)
			}
		}
		s.progress(1, 100)
		want(1)
		s.progress(2, 100)
		want(0)
		time.Sleep(pace)
		s.progress(3, 100)
		want(3)
		s.progress(100, 100)
		want(100)
		s.publish(func(n *Snapshot) { // of a file that is read again
			n.Transcript, n.First, n.Loading = &transcript.Transcript{Chunks: make([]transcript.Chunk, 5)}, 2, false
		})
		time.Sleep(pace)
		s.progress(50, 100)
		if got, err := r.take(); err != nil || got.First != 2 || !got.Loading {
			t.Errorf("got %+v, %v", got, err)
		}
		s.progress(100, 100)
		if got, err := r.take(); err != nil || got.First != 5 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}
