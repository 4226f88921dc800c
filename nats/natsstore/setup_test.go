package natsstore_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/wire"
)

// The transcripts that most tests use.
var (
	main  = wire.SessionKey{Project: "-home-me-code", SessionID: "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11"}
	other = wire.SessionKey{Project: main.Project, SessionID: "0c9b8f0e-64a5-4f0b-8a53-7b6c1f1d9e22"}
)

// The subjects and the stream of these transcripts.
const (
	stream  = natsstore.DefaultStream
	subject = stream + mainTokens
	// mainTokens are the tokens of main in any stream.
	mainTokens = ".-home-me-code.6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11./"
)

// smallPayload is a limit with which a server gets even small appends as batches.
const smallPayload = 32 << 10

// open opens a store that is closed when the test ends.
func open(t testing.TB, opts *natsstore.Options) *natsstore.Store {
	t.Helper()
	s, err := natsstore.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serve starts a server with JetStream that ends with the test, and returns its URL.
func serve(t testing.TB, opts *server.Options) string {
	t.Helper()
	return start(t, opts).ClientURL()
}

// start starts a server, in a new directory unless the options have one.
func start(t testing.TB, opts *server.Options) *server.Server {
	t.Helper()
	opts.Host, opts.Port, opts.JetStream, opts.NoSigs, opts.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true, true
	if opts.StoreDir == "" {
		opts.StoreDir = t.TempDir()
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	t.Cleanup(func() { stop(srv) })
	if !srv.ReadyForConnections(polltest.Limit) {
		t.Fatal("the server does not start")
	}
	return srv
}

func stop(srv *server.Server) {
	srv.Shutdown()
	srv.WaitForShutdown()
}

// rawStream returns the stream for direct access.
func rawStream(t *testing.T, url string) (*nats.Conn, jetstream.Stream) {
	t.Helper()
	return rawStreamNamed(t, url, stream)
}

func rawStreamNamed(t *testing.T, url, name string) (*nats.Conn, jetstream.Stream) {
	t.Helper()
	conn, err := nats.Connect(url, nats.Timeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return conn, raw
}

// numbered returns entries with the numbers from a up to, but not including, b, and UUIDs made of
// them.
func numbered(a, b int) []wire.JSON {
	entries := make([]wire.JSON, 0, b-a)
	for i := a; i < b; i++ {
		entries = append(entries, wire.JSON(fmt.Sprintf(`{"type":"user","uuid":"u-%d"}`, i)))
	}
	return entries
}

func appendTo(t *testing.T, s *natsstore.Store, key wire.SessionKey, entries ...wire.JSON) {
	t.Helper()
	if err := s.Append(t.Context(), key, entries); err != nil {
		t.Fatal(err)
	}
}

func tryLoad(ctx context.Context, s *natsstore.Store, key wire.SessionKey) ([]wire.JSON, error) {
	var entries []wire.JSON
	for entry, err := range s.Load(ctx, key) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func load(t *testing.T, s *natsstore.Store, key wire.SessionKey) []wire.JSON {
	t.Helper()
	entries, err := tryLoad(t.Context(), s, key)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func checkLoad(t *testing.T, s *natsstore.Store, key wire.SessionKey, want []wire.JSON) {
	t.Helper()
	if got := load(t, s, key); !slices.Equal(want, got) {
		t.Errorf("entries of %s (-want +got):\n%s", key, cmp.Diff(want, got))
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	if left := leftBehind(); code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests leave %d goroutines behind\n\n%s\n", len(left), strings.Join(left, "\n\n"))
		code = 1
	}
	os.Exit(code)
}

// leftBehind returns the stacks of goroutines of stores and servers that don't end.
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
