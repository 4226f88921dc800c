package cli

import (
	"bufio"
	"io"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew/wire"
)

// A stuckReport takes no frame until it is let go.
type stuckReport struct {
	letGo   chan struct{}
	frames  int
	longest int64
}

func (r *stuckReport) maxErrors() int { return 1 }

func (r *stuckReport) add(f finding) error {
	<-r.letGo
	r.frames++
	r.longest = max(r.longest, f.pos.Bytes)
	return nil
}

func (r *stuckReport) finish() error { return nil }

// What is read ahead of a slow report is bounded by bytes, and a frame longer than
// the bound goes alone.
func TestPipelineIsBounded(t *testing.T) {
	tests := []struct {
		name  string
		frame int64 // its length
		ahead int64 // how many are taken at most, before the report takes one
	}{
		{"ordinary frames", 1000, 2300},
		{"long frames", 500_000, 5},
		{"frames longer than the bound", 3_000_000, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rep := &stuckReport{letGo: make(chan struct{})}
				p := newPipeline(rep, bufio.NewWriter(io.Discard))
				var taken int64
				done := make(chan error)
				go func() {
					for range 10_000 {
						p.add(&wire.KeepAliveMessage{}, wire.Position{Bytes: tt.frame})
						taken++
					}
					done <- p.close()
				}()
				synctest.Wait()
				if taken == 0 || taken > tt.ahead {
					t.Errorf("%d frames are on their way, want 1 to %d", taken, tt.ahead)
				}
				close(rep.letGo)
				if err := <-done; err != nil || rep.frames != 10_000 || rep.longest != tt.frame {
					t.Errorf("%d frames reported, %v", rep.frames, err)
				}
			})
		})
	}
}
