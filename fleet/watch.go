package fleet

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
)

// An Update is something new about a job that is watched: its record after a change, or a frame that its
// agent has just sent.
type Update struct {
	Job     *Job   // nil if it is a frame
	Attempt int    // of the frame
	Frame   []byte // a line of the agent's output
}

// Watch returns the record of a job, then each change of the record, and the frames of its agent as
// they come. Frames may be lost; the stored session has their content. It ends when the job ends.
func (f *Fleet) Watch(ctx context.Context, id string) iter.Seq2[Update, error] {
	return func(yield func(Update, error) bool) {
		j, err := f.Job(ctx, id)
		if err != nil {
			yield(Update{}, err)
			return
		}
		id := j.ID
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		updates := make(chan Update)
		failed := make(chan error, 1)
		var background sync.WaitGroup
		defer background.Wait()
		defer stop()
		background.Go(func() { f.sendFrames(ctx, id, updates) })
		background.Go(func() { failed <- f.sendChanges(ctx, id, updates) })
		for {
			select {
			case u := <-updates:
				if !yield(u, nil) || u.Job != nil && u.Job.State.Ended() {
					return
				}
			case err := <-failed:
				if err != nil {
					yield(Update{}, err)
				}
				return
			}
		}
	}
}

// sendChanges sends the record of a job after each change.
func (f *Fleet) sendChanges(ctx context.Context, id string, to chan<- Update) error {
	for ctx.Err() == nil {
		for j, err := range f.watchJob(ctx, id) {
			if _, ok := errors.AsType[*UnreadableError](err); ok {
				return err
			}
			if err != nil {
				break // the engine may come back
			}
			if j == nil {
				return fmt.Errorf("fleet: there is no job %s: %w", id, ErrNotFound)
			}
			select {
			case to <- Update{Job: j}:
			case <-ctx.Done():
			}
		}
		_ = pause.For(ctx, time.Second)
	}
	return context.Cause(ctx)
}

// sendFrames sends the frames of a job.
func (f *Fleet) sendFrames(ctx context.Context, id string, to chan<- Update) {
	for ctx.Err() == nil {
		for message, err := range f.engine.Listen(ctx, liveSubject(id)) {
			if err != nil {
				break
			}
			n, frame, ok := splitFrame(message)
			if !ok {
				continue
			}
			select {
			case to <- Update{Attempt: n, Frame: frame}:
			case <-ctx.Done():
			}
		}
		_ = pause.For(ctx, time.Second)
	}
}
