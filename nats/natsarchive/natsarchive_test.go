package natsarchive_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/archive/archivetest"
	"github.com/clewdev/clew/nats/natsarchive"
)

// start starts a server, which ends with the test.
func start(t *testing.T) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if !s.ReadyForConnections(2 * time.Minute) {
		t.Fatal("the server does not start")
	}
	return s
}

func open(t *testing.T, url string) *natsarchive.Target {
	t.Helper()
	target, err := natsarchive.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = target.Close() })
	return target
}

func TestTarget(t *testing.T) {
	t.Parallel()
	archivetest.Run(t, func(t *testing.T) func() archive.Target {
		url := start(t).ClientURL()
		return func() archive.Target { return open(t, url) }
	})
}

// TestLargeManifestSpace replaces a large manifest several times. The server keeps one of them.
func TestLargeManifestSpace(t *testing.T) {
	t.Parallel()
	s := start(t)
	target := open(t, s.ClientURL())
	key := archive.Key{Machine: "m", Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	revision := ""
	for i := range 5 {
		if err := target.Swap(t.Context(), key, bytes.Repeat([]byte{byte('a' + i)}, 3<<20), revision); err != nil {
			t.Fatal(err)
		}
		m, err := target.Manifest(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		revision = m.Revision
	}
	info, err := s.Jsz(&server.JSzOptions{})
	if err != nil || info.Bytes > 4<<20 {
		t.Errorf("the server keeps %d bytes, %v", info.Bytes, err)
	}
}

// TestOpenExisting creates nothing on a server.
func TestOpenExisting(t *testing.T) {
	t.Parallel()
	s := start(t)
	if _, err := natsarchive.OpenExisting(t.Context(), s.ClientURL(), nil); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if info, err := s.Jsz(&server.JSzOptions{}); err != nil || info.Streams != 0 {
		t.Errorf("the server has %d streams, %v", info.Streams, err)
	}
	open(t, s.ClientURL())
	target, err := natsarchive.OpenExisting(t.Context(), s.ClientURL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := target.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenError names the server without the password, even if that makes the URL invalid.
func TestOpenError(t *testing.T) {
	t.Parallel()
	for server, named := range map[string]string{
		"nats://me:hunter2@127.0.0.1:1":                        "nats://127.0.0.1:1",
		"nats://me:hunter2@127.0.0.1:1,tls://hunter2@[::1]:1/": "nats://127.0.0.1:1,tls://[::1]:1",
		"nats://me:hunter2/x@127.0.0.1:1":                      "",
		"nats://me:hunter2%@127.0.0.1:1":                       "",
		"nats://me:hunter2#x@127.0.0.1:1":                      "",
		"nats://me:1?hunter2@127.0.0.1:1":                      "",
		"nats://me:1#hunter2@127.0.0.1:1":                      "",
		"nats://me:1/hunter2@127.0.0.1:1":                      "",
		"nats://me:hunter2@127.0.0.1:port":                     "",
		"nats://me:hunter2@":                                   "",
		"http://me:hunter2@127.0.0.1:1":                        "",
		"me:hunter2@127.0.0.1:1":                               "nats://127.0.0.1:1",
		"nats://me:hunter2\n@127.0.0.1:1":                      "",
	} {
		_, err := natsarchive.Open(t.Context(), server, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") || named != "" && !strings.Contains(err.Error(), "connect to 127.0.0.1:1") {
			t.Errorf("%s: got %v", server, err)
		}
		if named == "" {
			named = "a NATS server with an invalid URL"
		}
		if got := natsarchive.Redacted(server); got != named {
			t.Errorf("%s: got %q", server, got)
		}
	}
}
