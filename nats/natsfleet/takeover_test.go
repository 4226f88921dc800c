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
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/internal/natsserver"
)

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

var anna = User{Name: "anna", Password: "0123456789abcdef", Role: Work}

// TestMayServe has engines that wait for the server to end: only an engine that would start the
// same server, and can be its client, may do so.
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
			if err := os.WriteFile(filepath.Join(dir, markName), nil, 0o600); err != nil { // there was a server
				t.Fatal(err)
			}
			first := writeNotice(t, dir, test.first)
			writeNotice(t, dir, test.last)
			e := Engine{name: DefaultName, opts: Options{Dir: dir, Users: test.own}, client: &Options{finder: &finder{dir: dir, first: *first}}}
			if got := e.mayServe(); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// writeNotice writes the notice of a server that has these users.
func writeNotice(t *testing.T, dir string, users []User) *notice {
	t.Helper()
	n, err := (&Engine{name: DefaultName, opts: Options{Dir: dir, Users: users}}).prepare()
	if err == nil {
		err = n.write(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
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
	polltest.Until(t, "the mark has all streams, so that it is not written again", func() bool {
		text, _ := os.ReadFile(mark) // it may not be there yet
		return strings.Contains(string(text), "CLEW_JOBS")
	})
	before, err := os.Stat(notice)
	if err == nil {
		err = errors.Join(os.Rename(mark, mark+".away"), os.Mkdir(mark, 0o700))
	}
	if err != nil {
		t.Fatal(err)
	}
	end(t, first)
	polltest.Until(t, "the second engine has started the server", func() bool {
		now, err := os.Stat(notice)
		return err == nil && !now.ModTime().Equal(before.ModTime())
	})
	polltest.Until(t, "it has stopped the server", func() bool { return second.gaveUp.Load() > 0 && !second.Serves() })
	if _, _, over := second.link.state(); over != nil {
		t.Fatalf("the engine has ended: %v", over)
	}
	if err := errors.Join(os.Remove(mark), os.Rename(mark+".away", mark)); err != nil {
		t.Fatal(err)
	}
	polltest.Until(t, "the server is there", func() bool {
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
	if err := errors.Join(srv.Start(t.Context()), srv.Stop(polltest.Limit)); err != nil {
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
			polltest.Until(t, "it takes over", func() bool { return begun(second, before) })
			end(t, second)
			free(t, dir)
		})
	}
}

// TestCloseWhileRestarting closes an engine whose server is being restarted.
func TestCloseWhileRestarting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := start(t, &Options{Dir: dir})
	restarted := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { restarted <- e.srv.Load().Restart(ctx) }()
	polltest.Until(t, "the restart has begun", func() bool { // or is over
		return len(restarted) > 0 || errors.Is(e.srv.Load().Fault(), natsserver.ErrRestarting)
	})
	end(t, e)
	cancel()
	if err := <-restarted; err != nil && !errors.Is(err, server.ErrServerNotRunning) {
		t.Error(err)
	}
	free(t, dir)
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
	ctx, cancel := context.WithTimeout(t.Context(), polltest.Limit)
	defer cancel()
	e, err := Open(ctx, &Options{Dir: dir, Name: "OTHER"})
	if err == nil {
		end(t, e)
	}
	if err == nil || !strings.Contains(err.Error(), "named CLEW, not OTHER") || strings.Contains(err.Error(), "can't be reached") {
		t.Errorf("got %v", err)
	}
}
