package clew_test

import (
	"context"
	"testing"
	"time"

	"github.com/clewdev/clew"
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
