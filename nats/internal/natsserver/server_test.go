package natsserver

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// TestNewWith asks for a server's options only while nobody else has the directory.
func TestNewWith(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := func() (*server.Options, error) {
		if _, err := New(t.Context(), dir, server.Options{DontListen: true}); !errors.Is(err, ErrInUse) {
			t.Errorf("the directory is not locked: %v", err)
		}
		return &server.Options{DontListen: true}, nil
	}
	srv, err := NewWith(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Start(t.Context()); err != nil {
		t.Error(err)
	}
	_, err = NewWith(t.Context(), dir, func() (*server.Options, error) {
		t.Error("the options of a directory that is in use are asked for")
		return nil, nil
	})
	if !errors.Is(err, ErrInUse) {
		t.Errorf("got %v", err)
	}
	if err := srv.Stop(5 * time.Minute); err != nil {
		t.Error(err)
	}
	if _, err := NewWith(t.Context(), dir, func() (*server.Options, error) { return nil, errors.New("no options") }); err == nil {
		t.Error("a server without options")
	}
	if srv, err = NewWith(t.Context(), dir, options); err != nil { // the one before left no lock
		t.Fatal(err)
	}
	if err := errors.Join(srv.Start(t.Context()), srv.Stop(5*time.Minute)); err != nil {
		t.Error(err)
	}
}
