package natsfleet_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/fleettest"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/nats/internal/natsserver"
	"github.com/clewdev/clew/nats/natsfleet"
)

// open opens an engine that is closed when the test ends.
func open(t testing.TB, opts *natsfleet.Options) *natsfleet.Engine {
	t.Helper()
	e, err := natsfleet.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestEngine runs the tests of engines over connections to a server that all tests share.
func TestEngine(t *testing.T) {
	t.Parallel()
	names := map[string]string{} // of the streams, by the directory that another engine would have
	fleettest.RunDurable(t, func(t *testing.T, dir string) fleet.Engine {
		if names[dir] == "" {
			names[dir] = newName()
		}
		return open(t, &natsfleet.Options{URL: sharedURL(t), Name: names[dir], SyncAlways: true})
	})
}

// TestDirEngine runs them for engines that have their own servers. TestRestart has the part of that
// which is not the same as above.
func TestDirEngine(t *testing.T) {
	t.Parallel()
	soak.Search(t)
	fleettest.RunDurable(t, func(t *testing.T, dir string) fleet.Engine {
		return open(t, &natsfleet.Options{Dir: dir})
	})
}

func TestMain(m *testing.M) {
	if text := os.Getenv(serverVariable); text != "" {
		os.Exit(runServer(text))
	}
	code := m.Run()
	stopShared()
	if left := leftBehind(); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests leave %d goroutines behind\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// leftBehind returns the stacks of goroutines of engines and servers that don't end.
func leftBehind() []string {
	var left []string
	buf := make([]byte, 4<<20)
	polltest.Eventually(func() bool {
		stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		left = slices.DeleteFunc(stacks[1:], func(stack string) bool { return !strings.Contains(stack, "nats") })
		return len(left) == 0
	})
	return left
}

// shared is a server that tests share. It does not sync, since no test cuts the power of this
// machine.
var shared struct {
	once  sync.Once
	dir   string
	srv   *server.Server
	err   error
	names atomic.Int64
}

// sharedURL returns the URL of the shared server, which starts with the first test that needs it.
func sharedURL(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if shared.dir, shared.err = os.MkdirTemp("", "natsfleet"); shared.err != nil { //nolint:usetesting // it outlives the test
			return
		}
		shared.srv, shared.err = server.NewServer(&server.Options{
			Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: shared.dir, NoSigs: true, NoLog: true,
		})
		if shared.err == nil {
			shared.srv.Start()
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.srv.ClientURL()
}

func stopShared() {
	if shared.srv != nil {
		shared.srv.Shutdown()
		shared.srv.WaitForShutdown()
	}
	_ = os.RemoveAll(shared.dir) // "" if no test needed it
}

// newName returns a name for streams on the shared server that no other test has.
func newName() string { return fmt.Sprintf("N%d", shared.names.Add(1)) }

// openShared opens an engine with its own streams on the shared server.
func openShared(t testing.TB) *natsfleet.Engine {
	t.Helper()
	return open(t, &natsfleet.Options{URL: sharedURL(t), Name: newName(), SyncAlways: true})
}

// rawURL starts a server, and returns its URL.
func rawURL(t testing.TB, opts server.Options) string {
	t.Helper()
	opts.Host, opts.Port = "127.0.0.1", server.RANDOM_PORT
	srv, err := natsserver.New(t.Context(), t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(polltest.Limit); err != nil {
			t.Error(err)
		}
	})
	if err := srv.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return srv.ClientURL()
}

// raw connects to a server.
func raw(t testing.TB, url string, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect(url, append(opts, nats.Timeout(polltest.Limit))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	return js
}
