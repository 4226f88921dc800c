package natsserver

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

func start(t *testing.T, opts server.Options) *Server {
	t.Helper()
	srv, err := New(t.Context(), t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(5 * time.Minute); err != nil {
			t.Error(err)
		}
	})
	if err := srv.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return srv
}

// TestNoFault has a server that can write: somebody uses a wrong password, and somebody left a copy
// of a stream beside the server's own.
func TestNoFault(t *testing.T) {
	t.Parallel()
	srv := start(t, server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: "me", Password: "right", AuthTimeout: 300})
	if conn, err := nats.Connect(srv.ClientURL(), nats.UserInfo("me", "wrong"), nats.Timeout(5*time.Minute)); !errors.Is(err, nats.ErrAuthorization) {
		conn.Close()
		t.Fatalf("got %v", err)
	}
	if srv.LastError() == nil {
		t.Fatal("the server does not report the wrong password")
	}
	if err := os.MkdirAll(filepath.Join(srv.dir, server.JetStreamStoreDir, "$G", "streams", "JOBS.bak"), 0o700); err != nil {
		t.Fatal(err)
	}
	if status := srv.now.Healthz(new(server.HealthzOptions)).Status; status == "ok" {
		t.Fatal("the server does not report the copy")
	}
	if err := srv.Fault(); err != nil {
		t.Error(err)
	}
}

// TestFailedRestart keeps the fault until a restart succeeds.
func TestFailedRestart(t *testing.T) {
	t.Parallel()
	srv := start(t, server.Options{DontListen: true})
	store := filepath.Join(srv.dir, server.JetStreamStoreDir)
	if err := os.Rename(store, store+".away"); err != nil {
		t.Fatal(err)
	}
	if err := srv.Restart(t.Context()); err == nil || !errors.Is(srv.Fault(), err) {
		t.Errorf("got %v, and the fault is %v", err, srv.Fault())
	}
	if err := os.Rename(store+".away", store); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(srv.Restart(t.Context()), srv.Fault()); err != nil {
		t.Error(err)
	}
}

// TestWhileRestarting asks a server that is being restarted, which must not take as long as that.
func TestWhileRestarting(t *testing.T) {
	t.Parallel()
	srv := start(t, server.Options{DontListen: true})
	answers := make(chan error, 2)
	srv.mu.Lock()
	defer srv.mu.Unlock()
	go func() {
		_, err := srv.InProcessConn()
		answers <- err
		answers <- srv.Fault()
	}()
	for range 2 {
		select {
		case err := <-answers:
			if !errors.Is(err, ErrRestarting) {
				t.Errorf("got %v", err)
			}
		case <-time.After(5 * time.Minute):
			t.Fatal("it waits for the restart")
		}
	}
}
