package natsfleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/natsserver"
)

// testLimit ends a test that hangs.
const testLimit = 5 * time.Minute

// start opens an engine that the test has to close.
func start(t *testing.T, opts *Options) *Engine {
	t.Helper()
	e, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func end(t *testing.T, engines ...*Engine) {
	t.Helper()
	for _, e := range engines {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testLimit); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, testLimit)
		}
	}
}

var anna = User{Name: "anna", Password: "0123456789abcdef", Role: Work}

// TestMayServe has engines that wait for the server to end: only one that would start the same server, and can be
// its client, may do so.
func TestMayServe(t *testing.T) {
	t.Parallel()
	watcher, other := anna, anna
	watcher.Role, other.Password = Watch, "another password"
	ben := User{Name: "ben", Password: anna.Password, Role: Work}
	for name, test := range map[string]struct {
		first, last, own []User
		want             bool
	}{
		"the same":           {[]User{anna, ben}, []User{anna, ben}, []User{ben, anna}, true},
		"no users":           {nil, nil, nil, true},
		"own users":          {nil, nil, []User{anna}, false},
		"no own users":       {[]User{anna}, []User{anna}, nil, false},
		"another user":       {[]User{anna}, []User{anna}, []User{ben}, false},
		"another role":       {[]User{anna}, []User{anna}, []User{watcher}, false},
		"another password":   {[]User{anna}, []User{anna}, []User{other}, false},
		"no client of users": {nil, []User{anna}, []User{anna}, false}, // it was private when it connected
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := start(t, &Options{Dir: dir, Users: test.first})
			found, err := Find(t.Context(), dir)
			end(t, first)
			if err != nil {
				t.Fatal(err)
			}
			end(t, start(t, &Options{Dir: dir, Users: test.last}))
			e := Engine{name: DefaultName, opts: Options{Dir: dir, Users: test.own}, client: found}
			if got := e.mayServe(); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// TestDirGone does not start an empty fleet where a directory was.
func TestDirGone(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "fleet")
	e := Engine{name: DefaultName, opts: Options{Dir: gone}, link: newLink()}
	e.client = &Options{finder: &finder{dir: gone, first: notice{Name: DefaultName}}}
	if e.takeOver(t.Context()) {
		t.Error("it has started a server")
	}
	if _, err := os.Stat(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it has created the directory: %v", err)
	}
}

// TestTakeOverAgain can't check the server at first, since the mark can't be read. It stops the server, and starts it
// again later.
func TestTakeOverAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := start(t, &Options{Dir: dir}), start(t, &Options{Dir: dir})
	defer end(t, second)
	mark, notice := filepath.Join(dir, markName), filepath.Join(dir, noticeName)
	before, err := os.Stat(notice)
	if err == nil {
		err = errors.Join(os.Rename(mark, mark+".away"), os.Mkdir(mark, 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	end(t, first)
	until(t, "the second engine has started the server", func() bool {
		now, err := os.Stat(notice)
		return err == nil && !now.ModTime().Equal(before.ModTime())
	})
	until(t, "it has stopped the server", func() bool { return second.gaveUp.Load() > 0 && !second.Serves() })
	if _, _, over := second.link.state(); over != nil {
		t.Fatalf("the engine has ended: %v", over)
	}
	if err := errors.Join(os.Remove(mark), os.Rename(mark+".away", mark)); err != nil {
		t.Fatal(err)
	}
	until(t, "the server is there", func() bool {
		_, err := second.Get(t.Context(), fleet.Jobs, "a")
		return errors.Is(err, fleet.ErrNotFound) && second.Serves()
	})
}

// free checks that nobody has the lock of a directory.
func free(t *testing.T, dir string) {
	t.Helper()
	srv, err := natsserver.New(t.Context(), dir, server.Options{DontListen: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(srv.Start(t.Context()), srv.Stop(testLimit)); err != nil {
		t.Error(err)
	}
}

// TestCloseWhileTakingOver closes an engine that is about to start the server, is starting it, or has just done so.
func TestCloseWhileTakingOver(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]func(e *Engine, before os.FileInfo) bool{
		"before": func(*Engine, os.FileInfo) bool { return true },
		"start": func(e *Engine, before os.FileInfo) bool {
			now, err := os.Stat(filepath.Join(e.opts.Dir, noticeName))
			return err == nil && !now.ModTime().Equal(before.ModTime())
		},
		"after": func(e *Engine, _ os.FileInfo) bool { return e.Serves() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first, second := start(t, &Options{Dir: dir}), start(t, &Options{Dir: dir})
			before, err := os.Stat(filepath.Join(dir, noticeName))
			if err != nil {
				t.Fatal(err)
			}
			end(t, first)
			until(t, "it takes over", func() bool { return begun(second, before) })
			end(t, second)
			free(t, dir)
		})
	}
}

// TestCloseWhileRestarting closes an engine whose server is being restarted.
func TestCloseWhileRestarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 3 {
		e := start(t, &Options{Dir: dir})
		restarted := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { restarted <- e.srv.Load().Restart(ctx) }()
		end(t, e)
		cancel()
		if err := <-restarted; err != nil && !errors.Is(err, server.ErrServerNotRunning) {
			t.Error(err)
		}
		free(t, dir)
	}
}

// TestRestarts restarts a server that always fails again less and less often.
func TestRestarts(t *testing.T) {
	t.Parallel()
	var r restarts
	now := time.Now()
	count := 0
	for range 3600 { // an hour in which it fails at once
		if r.due(now) {
			count++
			r.note(now)
		}
		now = now.Add(diskInterval)
	}
	if count < 10 || count > 100 {
		t.Errorf("%d restarts", count)
	}
	now = now.Add(time.Hour)
	r.note(now)
	if !r.due(now.Add(diskInterval)) {
		t.Error("a server that has run for an hour is not restarted soon")
	}
}

// TestOtherName returns at once if the streams have another name: that does not change.
func TestOtherName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	defer end(t, start(t, &Options{Dir: dir}))
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	e, err := Open(ctx, &Options{Dir: dir, Name: "OTHER"})
	if err == nil {
		end(t, e)
	}
	if err == nil || !strings.Contains(err.Error(), "named CLEW, not OTHER") || strings.Contains(err.Error(), "can't be reached") {
		t.Errorf("got %v", err)
	}
}
