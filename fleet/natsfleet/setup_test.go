package natsfleet_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/fleettest"
	"github.com/clewdev/clew/fleet/natsfleet"
	"github.com/clewdev/clew/internal/natsserver"
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

func TestEngine(t *testing.T) {
	t.Parallel()
	fleettest.RunDurable(t, func(t *testing.T, dir string) fleet.Engine {
		return open(t, &natsfleet.Options{Dir: dir})
	})
}

// TestOtherEngine tests an engine that uses the server of another one.
func TestOtherEngine(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, func(t *testing.T) fleet.Engine {
		dir := t.TempDir()
		open(t, &natsfleet.Options{Dir: dir})
		return open(t, &natsfleet.Options{Dir: dir})
	})
}

// endLimit is how long goroutines may take to return after all tests.
const endLimit = 5 * time.Minute

func TestMain(m *testing.M) {
	if text := os.Getenv(serverVariable); text != "" {
		os.Exit(runServer(text))
	}
	code := m.Run()
	if left := leftBehind(); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests leave %d goroutines behind\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// leftBehind returns the stacks of goroutines of engines and servers that don't end.
func leftBehind() []string {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(endLimit); ; <-tick.C {
		buf := make([]byte, 4<<20)
		stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
		left := slices.DeleteFunc(stacks[1:], func(stack string) bool { return !strings.Contains(stack, "nats") })
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

// rawServer starts a server without streams, and returns an interface to it.
func rawServer(t testing.TB) jetstream.JetStream {
	t.Helper()
	return rawServerWith(t, server.Options{})
}

func rawServerWith(t testing.TB, opts server.Options) jetstream.JetStream {
	t.Helper()
	return raw(t, rawURL(t, opts))
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
		if err := srv.Stop(endLimit); err != nil {
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
	conn, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	return js
}
