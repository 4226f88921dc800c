package clew_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// failedFrame is a result that says that the turn of a prompt failed.
func failedFrame(prompt string) string {
	return fmt.Sprintf(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["no"],"user_message_uuids":[%q]}`, prompt)
}

// Most loops are left at the result. It is the last message of its turn, and an error would follow it.
func TestTurnLeftAtItsLastMessage(t *testing.T) {
	for name, last := range map[string]string{"failed": failedFrame("p1"), "cancelled": cancelledFrame("p1")} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1"), last).
					Expect(promptFrame("p2", "two")).Send(assistantFrame("2"), resultFrame("two", "p2")), nil)
				seen := 0
				for range s.Turn(t.Context(), "one") {
					if seen++; seen == 2 {
						break
					}
				}
				wantTurn(t, s, "two", "2", "result: two")
			})
		})
	}
}

// A context that ends is noticed at once, however much there is to read.
func TestContextEndsBeforeUnreadMessages(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).
			Send(assistantFrame("1"), assistantFrame("2"), assistantFrame("3")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).Send(controlSuccess("i", `{}`), resultFrame("one", "p1")), nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		why := errors.New("enough")
		var texts []string
		for msg, err := range s.Turn(ctx, "one") {
			if err != nil {
				wantError(t, err, why)
				break
			}
			texts = append(texts, textOf(msg))
			synctest.Wait() // all is there
			cancel(why)
		}
		if len(texts) != 1 {
			t.Errorf("read %q", texts)
		}
		rest, err := heardUntil(s, "result: one")
		if err != nil || len(rest) != 3 {
			t.Errorf("the rest is %q, error %v", rest, err)
		}
	})
}

// heardUntil reads all messages up to the one that says that.
func heardUntil(s *clew.Session, last string) (texts []string, err error) {
	for msg, err := range s.Messages(context.Background()) {
		if err != nil {
			return texts, err
		}
		if texts = append(texts, textOf(msg)); texts[len(texts)-1] == last {
			break
		}
	}
	return texts, nil
}

// A turn that waits behind one that nobody reads on ends with the session.
func TestWaitingTurnEndsWithTheSession(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(promptFrame("p2", "two")).Expect(controlRequest("i", `{"subtype":"interrupt","cancel_queued":true}`)), nil)
		for range s.Turn(t.Context(), "one") {
			waiting := inBackground(t.Context(), s, textPrompt("two"))
			synctest.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			waiting.want(t, clew.ErrClosed)
			break
		}
	})
}

// A run whose last prompt was cancelled in the queue is over.
func TestRunOfACancelledPrompt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
			Send(resultFrame("one", "p1"), cancelledFrame("p2")).CloseStdin())
		opts := inMemory(agent, &clew.Options{CanUseTool: decide})
		result, err := clew.Run(t.Context(), slices.Values([]*clew.UserMessage{textPrompt("one"), textPrompt("two")}), opts)
		if err != nil || result.Result != "one" {
			t.Errorf("result %v, error %v", result, err)
		}
	})
}

// An agent that has answered and never ends keeps a run waiting for minutes, not for ever, and its answer counts.
func TestRunOfAnAgentThatDoesNotEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p1", "one")).
			Send(resultFrame("one", "p1")).Do(clewtest.IgnoreEndOfInput()))
		begin := time.Now()
		result, err := clew.Run(t.Context(), "one", inMemory(agent, nil))
		if err != nil || result.Result != "one" {
			t.Errorf("result %v, error %v", result, err)
		}
		if took := time.Since(begin); took < 10*time.Minute || took > 11*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
