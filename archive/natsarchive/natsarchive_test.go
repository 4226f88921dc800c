package natsarchive_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/archive/archivetest"
	"github.com/clewdev/clew/archive/natsarchive"
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

func TestTarget(t *testing.T) {
	t.Parallel()
	archivetest.Run(t, func(t *testing.T) archive.Target {
		target, err := natsarchive.Open(t.Context(), start(t).ClientURL(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = target.Close() })
		return target
	})
}

// TestOpenError names the server without the password.
func TestOpenError(t *testing.T) {
	t.Parallel()
	_, err := natsarchive.Open(t.Context(), "nats://me:hunter2@127.0.0.1:1", nil)
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}
