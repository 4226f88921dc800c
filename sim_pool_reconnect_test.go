package clew_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
)

// openReconnecting returns a pool of up to two agents whose sessions may reconnect.
func openReconnecting(t *testing.T, c *crowd) *clew.Pool {
	t.Helper()
	opts := &clew.Options{Transport: c, Reconnect: new(clew.ReconnectOptions)}
	p, err := clew.NewPool(t.Context(), opts, &clew.PoolOptions{MaxAgents: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		wantNoGoroutine(t)
	})
	return p
}

// A session of Connect goes on with another agent, which the pool counts as the one before.
func TestPoolSessionReconnects(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		p := openReconnecting(t, c)
		s, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		c.agent(1).kill()
		synctest.Wait()
		wantTurn(t, s, "two", reconnectedText, "*wire.InitMessage", "You said two", "result: You said two")
		if stats := p.Stats(); stats.InUse != 1 || stats.Warm != 1 || stats.Died != 0 {
			t.Errorf("stats %+v", stats)
		}
		if _, alive, most := c.counts(); alive != 2 || most != 2 {
			t.Errorf("%d agents are alive, and %d were", alive, most)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, alive, _ := c.counts(); alive != 0 || !errors.Is(s.Err(), clew.ErrClosed) {
			t.Errorf("%d agents are left, error %v", alive, s.Err())
		}
	})
}

// Closing the pool while a session of it has no agent ends the session.
func TestPoolClosesASessionWithoutAnAgent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		p := openReconnecting(t, c)
		s, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.broken = func(int) error { return errBroken }
		c.agent(1).kill()
		time.Sleep(time.Second)
		if err := p.Close(); err != nil || !errors.Is(s.Err(), clew.ErrClosed) {
			t.Errorf("error %v, and of the session %v", err, s.Err())
		}
	})
}

// What is the pool's own is replaced by the pool: an agent that nobody has taken yet, and one of a run.
func TestPoolReplacesWhatItOwns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		p := openReconnecting(t, c)
		c.agent(1).kill()
		synctest.Wait()
		time.Sleep(time.Second)
		if stats := p.Stats(); stats.Died != 1 || stats.Warm != 1 || stats.Started != 2 {
			t.Errorf("stats %+v", stats)
		}
		_, err := p.Run(t.Context(), "die")
		if exit := wantExit(t, err); exit.Reason != "was killed" || isLostError(err) {
			t.Errorf("error %v", err)
		}
		wantRun(t.Context(), t, p, "three")
	})
}
