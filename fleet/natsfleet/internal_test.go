package natsfleet

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

func init() {
	answerTimeout = 30 * time.Second // the machine may be busy
	markInterval = 100 * time.Millisecond
}

// TestSync asks the server in this process whether it syncs.
func TestSync(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), &Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close() //nolint:errcheck // nothing was written
	info, err := e.srv.Load().Jsz(&server.JSzOptions{})
	if err != nil || !info.Config.SyncAlways {
		t.Errorf("got %+v, %v", info, err)
	}
}
