package natsstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/wire"
)

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	url := serve(t, &server.Options{})
	for name, test := range map[string]struct {
		opts *natsstore.Options
		want string
	}{
		"no options":        {nil, "exactly one of URL, Conn and Dir"},
		"nothing set":       {&natsstore.Options{Stream: "S"}, "exactly one of URL, Conn and Dir"},
		"two places":        {&natsstore.Options{URL: url, Dir: t.TempDir()}, "exactly one of URL, Conn and Dir"},
		"a port of nobody":  {&natsstore.Options{URL: "nats://127.0.0.1:1"}, "connect to 127.0.0.1:1: "},
		"a bad URL":         {&natsstore.Options{URL: "nats://me:secret@[bad"}, "invalid URL"},
		"a bad port":        {&natsstore.Options{URL: "nats://me:secret#1@127.0.0.1:1"}, "invalid URL"},
		"a comma":           {&natsstore.Options{URL: "nats://me:secret,1@127.0.0.1:1"}, "invalid URL"},
		"an escape":         {&natsstore.Options{URL: "nats://me:secret%1@127.0.0.1:1"}, "invalid URL"},
		"a path":            {&natsstore.Options{URL: "nats://127.0.0.1:1/secret?token=secret"}, "invalid URL"},
		"no scheme":         {&natsstore.Options{URL: "me:secret@127.0.0.1:1, 127.0.0.1:2"}, "connect to 127.0.0.1:1,127.0.0.1:2: "},
		"a bad password":    {&natsstore.Options{URL: "nats://me:secret@127.0.0.1:1"}, "connect to 127.0.0.1:1: "},
		"a bad stream name": {&natsstore.Options{URL: url, Stream: "a.b"}, "invalid stream name"},
		"too many replicas": {&natsstore.Options{URL: url, Stream: "R", Replicas: 3}, "replicas"},
		"a file":            {&natsstore.Options{Dir: file}, "natsstore: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.opts != nil {
				test.opts.AllowUnsynced = true
			}
			s, err := natsstore.Open(t.Context(), test.opts)
			if err == nil {
				t.Fatal(s.Close())
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestOpenWithoutJetStream(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	defer stop(srv)
	if !srv.ReadyForConnections(polltest.Limit) {
		t.Fatal("the server does not start")
	}
	if _, err := natsstore.Open(t.Context(), &natsstore.Options{AllowUnsynced: true, URL: srv.ClientURL()}); err == nil {
		t.Error("no error")
	}
}

// A server accepts connections and never answers.
func TestOpenIsBounded(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local listener
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err = natsstore.Open(ctx, &natsstore.Options{AllowUnsynced: true, URL: "nats://" + silent.Addr().String()})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestOpenWithEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	if _, err := natsstore.Open(ctx, &natsstore.Options{Dir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	open(t, &natsstore.Options{Dir: dir})
}

// Open refuses a stream that would lose transcripts.
func TestOpenUnfitStream(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(serve(t, &server.Options{}), nats.Timeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	streams := 0
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"has other subjects":            func(c *jetstream.StreamConfig) { c.Subjects = []string{"other.>"} },
		"does not allow atomic batches": func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"does not allow direct access":  func(c *jetstream.StreamConfig) { c.AllowDirect = false },
		"does not acknowledge messages": func(c *jetstream.StreamConfig) { c.NoAck = true },
		"drops messages that were read": func(c *jetstream.StreamConfig) { c.Retention = jetstream.InterestPolicy },
		"drops old messages":            func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour },
		"":                              func(*jetstream.StreamConfig) {},
	} {
		t.Run(name, func(t *testing.T) {
			streams++
			stream := fmt.Sprint("S", streams)
			config := jetstream.StreamConfig{
				Name: stream, Subjects: []string{stream + ".>"}, Discard: jetstream.DiscardNew,
				AllowDirect: true, AllowAtomicPublish: true,
			}
			change(&config)
			if _, err := js.CreateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			s, err := natsstore.Open(t.Context(), &natsstore.Options{AllowUnsynced: true, Conn: conn, Stream: stream})
			if (err == nil) != (name == "") || err != nil && !strings.Contains(err.Error(), name) {
				t.Errorf("got %v", err)
			}
			if err == nil {
				appendTo(t, s, main, numbered(0, 1)...)
				checkLoad(t, s, main, numbered(0, 1))
			}
		})
	}
}

// Open refuses a server that is not declared to sync.
func TestOpenUnknownSync(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{SyncAlways: true})
	conn, err := nats.Connect(url, nats.Timeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, opts := range []natsstore.Options{{URL: url}, {Conn: conn}} {
		_, err := natsstore.Open(t.Context(), &opts)
		if err == nil {
			t.Fatal("no error")
		}
		for _, want := range []string{"sync_interval: always", "Options.SyncAlways", "Options.AllowUnsynced"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %v", want, err)
			}
		}
		opts.SyncAlways = true
		open(t, &opts)
	}
}

// Open refuses a stream that is not synced, whatever the server does, unless it is told to accept
// it.
func TestOpenUnsyncedStream(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(serve(t, &server.Options{SyncAlways: true}), nats.Timeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]jetstream.StreamConfig{
		"is kept in memory only":                        {Name: "MEMORY", Storage: jetstream.MemoryStorage, AllowAtomicPublish: true},
		"acknowledges messages before they are on disk": {Name: "ASYNC", PersistMode: jetstream.AsyncPersistMode},
	} {
		config.Subjects, config.Discard, config.AllowDirect = []string{config.Name + ".>"}, jetstream.DiscardNew, true
		if _, err := js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		opts := natsstore.Options{Conn: conn, Stream: config.Name, SyncAlways: true}
		if _, err := natsstore.Open(t.Context(), &opts); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	open(t, &natsstore.Options{Conn: conn, Stream: "MEMORY", AllowUnsynced: true})
}

func TestConnStaysOpen(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(serve(t, &server.Options{}), nats.Timeout(polltest.Limit))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s := open(t, &natsstore.Options{AllowUnsynced: true, Conn: conn})
	appendTo(t, s, main, numbered(0, 1)...)
	if err := s.Close(); err != nil || !conn.IsConnected() {
		t.Errorf("Close: %v, connected: %v", err, conn.IsConnected())
	}
}

func TestDirIsUsedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, &natsstore.Options{Dir: dir})
	_, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, &natsstore.Options{Dir: dir})
}

func TestDirIsPrivate(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	dir := filepath.Join(t.TempDir(), "made")
	open(t, &natsstore.Options{Dir: dir})
	for _, path := range []string{dir, filepath.Join(dir, "jetstream")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("%s: got %o", path, got)
		}
	}
}

// kilobytes returns n new entries of one kilobyte.
func kilobytes(append, n int) []wire.JSON {
	entries := make([]wire.JSON, n)
	for i := range entries {
		head := fmt.Sprintf(`{"type":"user","uuid":"u-%d-%d","text":"`, append, i)
		entries[i] = wire.JSON(head + strings.Repeat("x", 1<<10-len(head)-2) + `"}`)
	}
	return entries
}

func BenchmarkAppend(b *testing.B) {
	s := open(b, &natsstore.Options{Dir: b.TempDir()})
	b.SetBytes(500 << 10)
	for i := 0; b.Loop(); i++ {
		key := wire.SessionKey{Project: "p", SessionID: fmt.Sprint(i / 20)}
		if err := s.Append(b.Context(), key, kilobytes(i, 500)); err != nil {
			b.Fatal(err)
		}
	}
}

// Eager mirroring appends entries one by one.
func BenchmarkAppendOne(b *testing.B) {
	s := open(b, &natsstore.Options{Dir: b.TempDir()})
	b.SetBytes(1 << 10)
	for i := 0; b.Loop(); i++ {
		if err := s.Append(b.Context(), wire.SessionKey{Project: "p", SessionID: "s"}, kilobytes(i, 1)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for name, size := range map[string]int{"large appends": 500, "small appends": 1} {
		b.Run(name, func(b *testing.B) {
			const entries = 10_000
			key := wire.SessionKey{Project: "p", SessionID: "s"}
			s := open(b, &natsstore.Options{Dir: b.TempDir()})
			for i := range entries / size {
				if err := s.Append(b.Context(), key, kilobytes(i, size)); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(entries << 10)
			for b.Loop() {
				n := 0
				for _, err := range s.Load(b.Context(), key) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != entries {
					b.Fatalf("got %d entries", n)
				}
			}
		})
	}
}
