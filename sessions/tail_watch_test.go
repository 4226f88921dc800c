package sessions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/fsnotify/fsnotify"
)

// Where the system does not tell of changes, or stops to, files are looked at.
func TestTailFallsBack(t *testing.T) {
	t.Parallel()
	errLimit := errors.New("no more of them")
	for name, set := range map[string]func(*sessions.TailOptions){
		"no watcher": func(o *sessions.TailOptions) {
			o.SetNotifier(func() (*fsnotify.Watcher, error) { return nil, errLimit }, nil)
		},
		"no folder": func(o *sessions.TailOptions) {
			o.SetNotifier(fsnotify.NewWatcher, func(*fsnotify.Watcher, string) error { return errLimit })
		},
		"not that of subagents": func(o *sessions.TailOptions) {
			o.SetNotifier(fsnotify.NewWatcher, func(w *fsnotify.Watcher, folder string) error {
				if filepath.Base(folder) == "subagents" {
					return errLimit
				}
				return w.Add(folder)
			})
		},
		"it ends": func(o *sessions.TailOptions) {
			o.SetNotifier(fsnotify.NewWatcher, func(w *fsnotify.Watcher, folder string) error {
				return errors.Join(w.Add(folder), w.Close())
			})
		},
		"it misses all": func(o *sessions.TailOptions) {
			o.SetNotifier(func() (*fsnotify.Watcher, error) {
				w, err := fsnotify.NewWatcher()
				w.Errors = make(chan error, 100)
				for range cap(w.Errors) {
					w.Errors <- fsnotify.ErrEventOverflow
				}
				return w, err
			}, func(*fsnotify.Watcher, string) error { return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := new(sessions.TailOptions)
			set(opts)
			file := filepath.Join(t.TempDir(), idA+".jsonl")
			put(t, file, ask("1", ""))
			f := follow(t, file, opts)
			f.want("", "ask 1")
			put(t, agentPath(file, "a"), agentLine("a", ""))
			f.want("a", "ask a")
			appendTo(t, agentPath(file, "a"), agentLine("b", "a"))
			f.want("a", "ask b")
			f.settle()
		})
	}
}

// A folder that could not be watched at first is watched as soon as it can be.
func TestTailWatchesLater(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	opts := new(sessions.TailOptions)
	opts.SetNotifier(fsnotify.NewWatcher, func(w *fsnotify.Watcher, folder string) error {
		if tries.Add(1) < 3 {
			return errors.New("not yet")
		}
		return w.Add(folder)
	})
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("0", ""))
	f := follow(t, file, opts)
	f.want("", "ask 0")
	for i := 0; tries.Load() < 3; i++ {
		appendTo(t, file, ask(fmt.Sprint(i+1), fmt.Sprint(i)))
		f.next()
	}
	f.settle()
}

// A loop leaves nothing behind, however it ends.
func TestTailLeavesNothing(t *testing.T) { // not parallel: it counts what is open
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("1", ""))
	put(t, agentPath(file, "a"), agentLine("a", ""))
	before := openFiles(t)
	for range 20 {
		for u, err := range sessions.TailFile(t.Context(), file, nil) {
			if err != nil {
				t.Fatal(err)
			}
			if u.Agent != nil {
				break
			}
		}
		func() {
			defer func() { _ = recover() }()
			for range sessions.TailFile(t.Context(), file, nil) {
				panic("in the loop")
			}
		}()
	}
	if !eventually(func() bool { return openFiles(t) <= before && watchers() == 0 }) {
		t.Errorf("%d files before, %d after, %d watchers", before, openFiles(t), watchers())
	}
}

// eventually waits for something that has no signal, and reports whether it came.
func eventually(done func() bool) bool {
	for deadline := time.Now().Add(tailLimit); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// openFiles counts what this process has open, where the system tells.
func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil && runtime.GOOS == "linux" {
		t.Fatal(err)
	}
	return len(files)
}

// watchers counts the goroutines of watchers.
func watchers() int {
	buf := make([]byte, 4<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "fsnotify.newBackend")
}

// The check above would be worth nothing if it saw nothing.
func TestTailWatcherIsSeen(t *testing.T) {
	file := filepath.Join(t.TempDir(), idA+".jsonl")
	put(t, file, ask("1", ""))
	before := openFiles(t)
	for range sessions.TailFile(t.Context(), file, nil) {
		seen := func() bool { return openFiles(t) > before && watchers() == 1 }
		if runtime.GOOS == "linux" && !eventually(seen) {
			t.Errorf("%d files before, %d now, %d watchers", before, openFiles(t), watchers())
		}
		break
	}
}
