package natsfleet_test

import (
	"testing"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/soak"
)

// TestServerKilled kills the process of a server while others write. All that was acknowledged is there after
// that.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	soak.Search(t)
	p := &serverProcess{setup: serverSetup{Dir: t.TempDir()}}
	p.run(t)
	l := newLedger()
	stop := l.writers(t, 6, func() fleet.Engine { return open(t, find(t, p.setup.Dir)) })
	const kills = 60
	for range kills {
		l.await(t, 50)
		p.kill(t)
		p.run(t)
	}
	l.await(t, 50)
	stop()
	l.check(t, open(t, find(t, p.setup.Dir)))
	soak.Figure(t, "%d writes acknowledged by a server that was killed %d times, none lost", l.count, kills)
}
