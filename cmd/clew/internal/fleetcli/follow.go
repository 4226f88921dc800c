package fleetcli

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
)

// A follower follows a job that somebody waits for, and reports each of its needs once.
type follower struct {
	*connection
	say func(text string)

	mu   sync.Mutex
	job  *fleet.Job // as it was last seen
	said string
}

// follow calls a function for each update of a job until it ends, and returns the last known job.
func (f *follower) follow(ctx context.Context, id string, each func(fleet.Update) error) (*fleet.Job, error) {
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	background.Go(func() { f.keepTelling(ctx) })
	for u, err := range f.Watch(ctx, id) {
		if err == nil {
			f.see(u.Job)
			err = each(u)
		}
		if err != nil {
			return f.last(), err
		}
		if u.Job != nil {
			f.remark(ctx)
		}
	}
	return f.last(), ctx.Err()
}

func (f *follower) last() *fleet.Job {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.job
}

// see takes the record of the job after a change, or nil.
func (f *follower) see(j *fleet.Job) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j != nil {
		f.job = j
	}
}

// tellInterval is the interval at which a follower checks the needs of the job. Many change without
// the record of the job: workers come and go, and the agent asks.
const tellInterval = 2 * time.Second

// keepTelling reports the needs of the job until the context ends.
func (f *follower) keepTelling(ctx context.Context) {
	tick := time.NewTicker(tellInterval)
	defer tick.Stop()
	for missed := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if f.engine.URL() != "" {
			missed = 0
			f.remark(ctx)
		} else if missed++; missed > 1 {
			f.tell("the connection to the fleet is lost, and is tried again; \"clew worker\" starts that of this machine")
		}
	}
}

// remark reports why the job does not continue, and the remedy.
func (f *follower) remark(ctx context.Context) {
	j := f.last()
	if j == nil || j.State.Ended() || j.State == fleet.Claimed {
		return
	}
	around, err := f.look(ctx)
	if err != nil {
		return // the connection is lost, or was left
	}
	if why := around.reasonOfJob(j); why != "" {
		f.tell(fmt.Sprintf("job %s is %s: %s", j.ID, j.State, clikit.Printable(why)))
	}
}

// tell prints a text, unless it was the last one.
func (f *follower) tell(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text != f.said {
		f.said = text
		f.say(text)
	}
}

// progressText describes the activity of a job, for a line of progress.
func progressText(j *fleet.Job) string {
	text := "job " + j.ID + " is " + string(j.State)
	if a := j.Attempt(); a != nil && j.State == fleet.Running && a.Status != "" {
		text += ": " + clikit.Clip(a.Status)
	}
	return text
}
