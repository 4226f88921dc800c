package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/sessions"
)

// A listWatcher takes the lists of one loop.
type listWatcher struct {
	t    *testing.T
	pull func() ([]sessions.SessionInfo, error, bool)
	last []sessions.SessionInfo
}

func watchList(t *testing.T, opts *sessions.WatchOptions) *listWatcher {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
	next, stop := iter.Pull2(sessions.Watch(ctx, opts))
	t.Cleanup(func() { stop(); cancel() })
	return &listWatcher{t: t, pull: next}
}

func (w *listWatcher) next() []sessions.SessionInfo {
	w.t.Helper()
	before, copied := w.last, slices.Clone(w.last)
	infos, err, ok := w.pull()
	if err != nil || !ok {
		w.t.Fatalf("no list came: %v", err)
	}
	if diff := cmp.Diff(copied, before); diff != "" {
		w.t.Fatalf("the list before has changed:\n%s", diff)
	}
	w.last = infos
	return infos
}

// until takes lists until one has the sessions, each as PROJECT/NUMBER.
func (w *listWatcher) until(want ...string) {
	w.t.Helper()
	for slices.Sort(want); ; w.next() {
		got := numbers(w.last)
		if slices.Sort(got); slices.Equal(want, got) {
			return
		}
	}
}

// settle takes lists until one equals the result of Names.
func (w *listWatcher) settle(opts *sessions.WatchOptions) {
	w.t.Helper()
	for {
		names, err := sessions.Names(w.t.Context(), &sessions.ListOptions{Store: opts.Store, ProjectName: opts.ProjectName})
		if err != nil {
			w.t.Fatal(err)
		}
		if cmp.Equal(names, w.last) {
			return
		}
		w.next()
	}
}

func numbers(infos []sessions.SessionInfo) []string {
	got := []string{}
	for _, info := range infos {
		got = append(got, info.Project+"/"+strings.TrimLeft(info.ID[24:], "0"))
	}
	return got
}

// inListModes runs a test with notifications and with polling, over a directory that does not exist
// yet.
func inListModes(t *testing.T, test func(t *testing.T, dir string, opts *sessions.WatchOptions)) {
	t.Parallel()
	for name, opts := range map[string]sessions.WatchOptions{"told": {}, "polling": {PollInterval: time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "config", "projects")
			opts.Store = sessions.NewFolder(dir)
			test(t, dir, &opts)
		})
	}
}

func sessionIn(project string, number int) string { return project + "/" + id(number) + ".jsonl" }

func TestWatch(t *testing.T) {
	inListModes(t, func(t *testing.T, dir string, opts *sessions.WatchOptions) {
		w := watchList(t, opts)
		if infos := w.next(); len(infos) != 0 {
			t.Errorf("got %v", infos)
		}
		write(t, dir, sessionIn("p", 1), ask("1", "")) // with all directories above it
		w.until("p/1")
		write(t, dir, sessionIn("p", 2), ask("1", ""))
		write(t, dir, sessionIn("q", 3), ask("1", ""))
		w.until("p/1", "p/2", "q/3")
		w.settle(opts)
		size := w.last[2].Size
		appendTo(t, w.last[2].Path, ask("2", "1"))
		grown := w.last[2].ID
		w.settle(opts)
		if w.last[0].ID != grown || w.last[0].Size <= size {
			t.Errorf("got %+v", w.last[0])
		}
		must(t, os.Remove(filepath.Join(dir, sessionIn("p", 1))))
		w.until("p/2", "q/3")
		must(t, os.RemoveAll(filepath.Join(dir, "p")))
		w.until("q/3")
		write(t, dir, sessionIn("p", 4), ask("1", ""))
		w.until("p/4", "q/3")
		appendTo(t, filepath.Join(dir, sessionIn("p", 4)), ask("2", "1"))
		w.settle(opts)
		must(t, os.RemoveAll(filepath.Dir(dir)))
		w.until()
		write(t, dir, sessionIn("r", 5), ask("1", ""))
		w.until("r/5")
	})
}

// Files that are not sessions, directories with the names of sessions, links and copies.
func TestWatchHostile(t *testing.T) {
	inListModes(t, func(t *testing.T, dir string, opts *sessions.WatchOptions) {
		elsewhere := t.TempDir()
		write(t, dir, sessionIn("p", 1), ask("1", ""))
		linkIn(t, elsewhere, dir, "linked")
		linkIn(t, filepath.Join(dir, "nowhere"), dir, "dangling")
		linkIn(t, dir, dir, "loop")
		w := watchList(t, opts)
		w.next()
		w.until("p/1")
		for _, name := range []string{
			"stray.jsonl", "p/notes.txt", "p/agent-1.jsonl", "p/" + id(6), "p/ \x1b[31m.jsonl", sessionIn("p", 7) + "/file",
			id(8) + "/subagents/agent-1.jsonl", "p/" + strings.ToUpper(id(9)) + "x.jsonl", "-/..jsonl",
		} {
			write(t, dir, name, "x")
		}
		write(t, dir, sessionIn("p", 2), "") // empty
		write(t, elsewhere, id(3)+".jsonl", ask("1", ""))
		w.until("p/1", "linked/3")
		appendTo(t, filepath.Join(elsewhere, id(3)+".jsonl"), ask("2", "1"))
		w.settle(opts)
		write(t, dir, sessionIn("q", 1), ask("1", "")) // a copy, which is newer
		w.until("q/1", "linked/3")
		must(t, os.Remove(filepath.Join(dir, "q", id(1)+".jsonl")))
		w.until("p/1", "linked/3")
		appendTo(t, filepath.Join(dir, sessionIn("p", 2)), ask("1", ""))
		w.until("p/1", "p/2", "linked/3")
		must(t, os.Rename(filepath.Join(dir, "p"), filepath.Join(dir, "renamed")))
		w.until("renamed/1", "renamed/2", "linked/3")
		appendTo(t, filepath.Join(dir, sessionIn("renamed", 1)), ask("3", "1"))
		w.settle(opts)
	})
}

func TestWatchProject(t *testing.T) {
	inListModes(t, func(t *testing.T, dir string, opts *sessions.WatchOptions) {
		opts.ProjectName = "p"
		w := watchList(t, opts)
		w.next()
		write(t, dir, sessionIn("q", 1), ask("1", ""))
		write(t, dir, sessionIn("p", 2), ask("1", ""))
		w.until("p/2")
	})
}

// The agent's own directories are found when they appear.
func TestWatchRoots(t *testing.T) { // not parallel: it sets a variable
	config := filepath.Join(t.TempDir(), "later")
	other := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", config+","+other)
	w := watchList(t, &sessions.WatchOptions{PollInterval: time.Millisecond})
	w.next()
	write(t, config, "projects/"+sessionIn("p", 1), ask("1", ""))
	w.until("p/1")
	write(t, other, "projects/"+sessionIn("q", 2), ask("1", ""))
	w.until("p/1", "q/2")
}

func TestWatchForbidden(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, sessionIn("p", 1), ask("1", ""))
	write(t, dir, sessionIn("q", 2), ask("1", ""))
	forbid(t, filepath.Join(dir, "q"))
	var failed []error
	w := watchList(t, &sessions.WatchOptions{
		Store: sessions.NewFolder(dir), PollInterval: time.Millisecond, Failed: func(err error) { failed = append(failed, err) },
	})
	w.next()
	w.until("p/1")
	must(t, os.Chmod(filepath.Join(dir, "q"), 0o700))
	w.until("p/1", "q/2")
	if len(failed) != 1 || !errors.Is(failed[0], fs.ErrPermission) {
		t.Errorf("failed: %v", failed)
	}
}

func TestWatchEnds(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]*sessions.WatchOptions{
		"canceled":      {Store: sessions.NewFolder(t.TempDir())},
		"not in files":  {Store: sessions.NewMemory()},
		"no notifier":   {Store: sessions.NewFolder(t.TempDir())},
		"ends at once":  {Store: sessions.NewFolder(t.TempDir())},
		"wrong project": {Store: sessions.NewFolder(t.TempDir()), ProjectName: "../x"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		switch name {
		case "no notifier":
			opts.SetNotifier(func() (*fsnotify.Watcher, error) { return nil, errors.New("too many") })
		case "ends at once":
			opts.SetNotifier(func() (*fsnotify.Watcher, error) {
				w, err := fsnotify.NewWatcher()
				if err == nil {
					err = w.Close()
				}
				return w, err
			})
		}
		lists, errs := 0, 0
		for infos, err := range sessions.Watch(ctx, opts) {
			if err != nil {
				errs++
				if infos != nil || name != "not in files" && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v, %v", name, infos, err)
				}
				continue
			}
			lists++
			cancel()
		}
		if want := name != "not in files"; errs != 1 || lists > 1 || (lists == 1) != want {
			t.Errorf("%s: %d lists, %d errors", name, lists, errs)
		}
		cancel()
	}
}

// Whatever happens to the files, the list equals the result of Names in the end.
func TestWatchRandom(t *testing.T) {
	inListModes(t, func(t *testing.T, dir string, opts *sessions.WatchOptions) {
		w := watchList(t, opts)
		w.next()
		var writer sync.WaitGroup
		writer.Go(func() {
			rng := rand.New(rand.NewPCG(7, 7))
			for i := range 400 {
				project := fmt.Sprint("p", rng.IntN(6))
				file := filepath.Join(dir, sessionIn(project, rng.IntN(40)))
				switch rng.IntN(12) {
				case 0:
					_ = os.RemoveAll(filepath.Join(dir, project))
				case 1, 2:
					_ = os.Remove(file)
				case 3:
					_ = os.Rename(filepath.Join(dir, project), filepath.Join(dir, fmt.Sprint("p", rng.IntN(6))))
				default:
					_ = os.MkdirAll(filepath.Dir(file), 0o700)
					_ = os.WriteFile(file, []byte(strings.Repeat("x", i+1)), 0o600)
				}
			}
		})
		writer.Wait()
		w.settle(opts)
	})
}

// Nothing is left when the loop was left.
func TestWatchLeavesNothing(t *testing.T) { // not parallel: it counts open files
	if runtime.GOOS != "linux" {
		t.Skip("it counts the files in /proc")
	}
	folder := manySessions(t, 10)
	before := openFiles(t)
	for range 5 {
		for _, err := range sessions.Watch(t.Context(), &sessions.WatchOptions{Store: folder}) {
			must(t, err)
			break
		}
	}
	if !polltest.Eventually(func() bool { return openFiles(t) <= before && watchers() == 0 }) {
		t.Errorf("%d files are open, and %d were before", openFiles(t), before)
	}
}
