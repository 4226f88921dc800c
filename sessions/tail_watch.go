package sessions

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A watch tells when something may have changed in some folders. Where the system does not tell, it looks now and then.
type watch struct {
	notify  *notifier       // nil where the system does not tell
	folders map[string]bool // those that are to be watched, and whether they are
	poll    time.Duration
}

// A notifier is how the system tells of changes.
type notifier struct {
	*fsnotify.Watcher
	add func(folder string) error
}

func newNotifier() (*notifier, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &notifier{w, w.Add}, nil
}

// The intervals at which files are looked at: where the system tells of changes, in case it has missed one, as it does
// for files of another machine, and where it does not.
const (
	slowPoll = 2 * time.Second
	fastPoll = 200 * time.Millisecond
)

func newWatch(opts *TailOptions) *watch {
	w := &watch{folders: map[string]bool{}, poll: opts.PollInterval}
	if w.poll > 0 {
		return w
	}
	create := opts.notify
	if create == nil {
		create = newNotifier
	}
	if notify, err := create(); err == nil {
		w.notify = notify
	}
	return w
}

func (w *watch) close() {
	if w.notify != nil {
		_ = w.notify.Close()
	}
}

// begin is called before all folders are added anew: those that could not be watched may be gone, or come now.
func (w *watch) begin() {
	maps.DeleteFunc(w.folders, func(_ string, watched bool) bool { return !watched })
}

// add watches a folder too. As long as that fails, everything is looked at more often.
func (w *watch) add(folder string) {
	if w.notify != nil && !w.folders[folder] {
		w.folders[folder] = w.notify.add(folder) == nil
	}
}

// renew forgets what is watched: folders of the same names may be others now.
func (w *watch) renew() { clear(w.folders) }

// interval is how long to wait at most.
func (w *watch) interval() time.Duration {
	if w.poll > 0 {
		return w.poll
	}
	if w.notify == nil || len(w.folders) == 0 {
		return fastPoll
	}
	for _, watched := range w.folders {
		if !watched {
			return fastPoll
		}
	}
	return slowPoll
}

// wait blocks until something may have changed. It returns nil when that may be anything.
func (w *watch) wait(ctx context.Context) (*changes, error) {
	timer := time.NewTimer(w.interval())
	defer timer.Stop()
	var events chan fsnotify.Event
	var faults chan error
	if w.notify != nil {
		events, faults = w.notify.Events, w.notify.Errors
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, nil
	case _, ok := <-faults: // such as too many events at a time
		w.check(ok)
		return nil, nil
	case event, ok := <-events:
		if w.check(ok); !ok {
			return nil, nil
		}
		return w.gather(event), nil
	}
}

// check gives up on a notifier that has ended.
func (w *watch) check(ok bool) {
	if !ok {
		w.close()
		w.notify = nil
	}
}

// maxGathered is how many events are told of at once.
const maxGathered = 1000

// gather returns what an event tells, with those that have come in the meantime.
func (w *watch) gather(event fsnotify.Event) *changes {
	c := new(changes)
	for range maxGathered {
		if _, ok := w.folders[event.Name]; ok && event.Op&(fsnotify.Remove|fsnotify.Rename) != 0 {
			delete(w.folders, event.Name) // if it comes again, it is to be watched anew
			return nil
		}
		c.paths = append(c.paths, event.Name)
		var ok bool
		select {
		case event, ok = <-w.notify.Events:
			if !ok {
				return c
			}
		default:
			return c
		}
	}
	return c
}

// changes are the files and folders that may have changed, some of them more than once. Nil means all there are.
type changes struct{ paths []string }

func (c *changes) has(path string) bool { return slices.Contains(c.paths, path) }
