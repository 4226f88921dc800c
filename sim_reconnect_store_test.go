package clew_test

import (
	"context"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A store that hangs holds up the next agent no longer than one call may take, however much there is to copy, and what
// is lost is told.
func TestReconnectWhileTheStoreHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		store := &fakeStore{before: func(context.Context, int) error { <-release; return nil }}
		agents := succeed(t, connected().Expect(promptFrame("p1", "one")).Send(initFrame(sessionOne),
			mirrorFrame("s", `{"a":1}`), mirrorFrame("s/subagents/a", `{"a":2}`), mirrorFrame("s2", `{"a":3}`)).Do(kill()),
			answers("two"))
		s := agents.open(&clew.Options{Store: store, StoreTimeout: 7 * time.Second})
		begin := time.Now()
		_, err := heard(s.Turn(t.Context(), "one"))
		wantLost(t, err)
		wantElapsed(t, begin, 7*time.Second)
		lossMessage := "*wire.MirrorErrorMessage"
		wantTurn(t, s, "two", "ok", lossMessage, lossMessage, lossMessage, "result: two")
	})
}

// Closing while the store is waited for before the next agent is started takes no longer than one call may.
func TestCloseBetweenAgentsWhileTheStoreHangs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		store := &fakeStore{before: func(context.Context, int) error { <-release; return nil }}
		agents := succeed(t, connected().Send(mirrorFrame("s", `{}`, `{}`)).Do(clewtest.Hang()))
		s, err := clew.Connect(t.Context(), &clew.Options{
			Transport: agents, Reconnect: new(clew.ReconnectOptions), Store: store, StoreTimeout: 7 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		agents.kill()
		time.Sleep(time.Second)
		begin := time.Now()
		wantLostEntries(t, s.Close(), 2, context.DeadlineExceeded)
		wantElapsed(t, begin, 6*time.Second)
		if len(agents.resumed()) != 1 {
			t.Errorf("agents were started with %q", agents.resumed())
		}
	})
}
