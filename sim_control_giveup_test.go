package clew_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
)

// A turn whose context ends is interrupted, and the next one begins where it has ended.
func TestTurnWhoseContextEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), assistantFrame("1 to the end"), resultFrame("interrupted", "p1")).
			Expect(promptFrame("p2", "two")).Send(assistantFrame("2"), resultFrame("two", "p2")), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		inBackground(ctx, s, textPrompt("one")).want(t, context.DeadlineExceeded, "1")
		wantTurn(t, s, "two", "2", "result: two")
	})
}

// A turn that waits for its time and is given up leaves the one that is being read alone.
func TestWaitingTurnGivenUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":false}`)).
			Send(assistantFrame("1"), resultFrame("one", "p1"), assistantFrame("2"), resultFrame("two", "p2")).
			Expect(promptFrame("p3", "three")).Send(assistantFrame("3"), resultFrame("three", "p3")), nil)
		first := inBackground(t.Context(), s, textPrompt("one"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		inBackground(ctx, s, textPrompt("two")).want(t, context.DeadlineExceeded)
		first.want(t, nil, "1", "result: one")
		wantTurn(t, s, "three", "3", "result: three")
	})
}

// A prompt whose context has ended before it is not sent.
func TestPromptOfAnEndedContext(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected(), nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			_, err := heard(s.Turn(ctx, "Hi"))
			wantError(t, err, context.Canceled)
			_, err = s.Send(ctx, "Hi")
			wantError(t, err, context.Canceled)
		}
	})
}

// A prompt that is given up while the agent is getting it is a turn all the same: it is interrupted, and skipped.
func TestPromptGivenUpHalfway(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Do(clewtest.Trickle(`{"type":"keep_alive"}`, time.Second)).
			Expect(promptFrame("p1", longText)).Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), assistantFrame("1"), resultFrame("one", "p1")).
			Expect(promptFrame("p2", "two")).Send(assistantFrame("2"), resultFrame("two", "p2")), nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := heard(s.Turn(ctx, longText))
		wantError(t, err, context.DeadlineExceeded)
		wantTurn(t, s, "two", "2", "result: two")
	})
}

// longText does not fit into a pipe.
var longText = strings.Repeat("long ", 40_000)

// A turn that is given up while the agent is still at one that was left is taken out of the queue.
func TestTurnGivenUpBehindALeftOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), cancelledFrame("p2")).
			Send(assistantFrame("1 again"), resultFrame("one", "p1")).
			Expect(promptFrame("p3", "three")).Send(assistantFrame("3"), resultFrame("three", "p3")), nil)
		for range s.Turn(t.Context(), "one") {
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		prompt := textPrompt("two")
		prompt.UUID = "an odd \x7f id"
		inBackground(ctx, s, prompt).want(t, context.DeadlineExceeded)
		wantTurn(t, s, "three", "3", "result: three")
	})
}
