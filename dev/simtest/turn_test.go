package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A reading is a turn that another goroutine reads.
type reading struct {
	texts []string
	err   error
	done  chan struct{}
}

// inBackground starts a turn and returns when everything is at rest.
func inBackground(ctx context.Context, s *clew.Session, prompt *clew.UserMessage) *reading {
	r := &reading{done: make(chan struct{})}
	go r.read(s.Turn(ctx, prompt))
	synctest.Wait()
	return r
}

func (r *reading) read(messages iter.Seq2[clew.Message, error]) {
	defer close(r.done)
	r.texts, r.err = textsOf(messages)
}

// want waits for the end of the turn.
func (r *reading) want(t *testing.T, err error, texts ...string) {
	t.Helper()
	<-r.done
	if diff := cmp.Diff(texts, r.texts); diff != "" {
		t.Errorf("turn (-want +got):\n%s", diff)
	}
	if !errors.Is(r.err, err) {
		t.Errorf("error %v, want %v", r.err, err)
	}
}

func TestOneReaderAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Send(assistantFrame("I am here.")).
			Expect(promptFrame("p", "Hi")).Send(assistantFrame("Hello."), resultFrame("done", "p")), nil)
		for range s.Messages(t.Context()) {
			_, err := textsOf(s.Turn(t.Context(), clew.Text("This is not sent.")))
			wantError(t, err, clew.ErrReading)
			_, err = textsOf(s.Messages(t.Context()))
			wantError(t, err, clew.ErrReading)
			break
		}
		for range s.Turn(t.Context(), clew.Text("Hi")) {
			_, err := textsOf(s.Messages(t.Context()))
			wantError(t, err, clew.ErrReading)
		}
	})
}

// Turns that are started while others run are read in the order of their prompts, by any reader.
func TestTurnsInLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).Expect(promptFrame("p3", "three")).
			Send(assistantFrame("1"), resultFrame("one", "p1"), assistantFrame("2"), resultFrame("two", "p2"),
				assistantFrame("3"), resultFrame("three", "p3")), nil)
		first := inBackground(t.Context(), s, clew.Text("one"))
		second := inBackground(t.Context(), s, clew.Text("two"))
		third := inBackground(t.Context(), s, clew.Text("three"))
		first.want(t, nil, "1", "result: one")
		second.want(t, nil, "2", "result: two")
		third.want(t, nil, "3", "result: three")
	})
}

// However prompts from many goroutines come, each of them gets one turn, whole and by itself.
func TestTurnsFromManyGoroutines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const turns = 20
		scenario := connected()
		for i := range turns {
			text := strconv.Itoa(i)
			scenario.Expect(`{"type":"user","uuid":"p","message":{}}`).Send(assistantFrame(text), resultFrame(text, "p"))
		}
		s, _ := simulate(t, scenario, nil)
		got := make([]*reading, turns)
		for i := range got {
			got[i] = &reading{done: make(chan struct{})}
			go got[i].read(s.Turn(t.Context(), clew.Text("Go")))
		}
		seen := make(map[string]bool)
		for _, r := range got {
			<-r.done
			if r.err != nil || len(r.texts) != 2 || r.texts[1] != "result: "+r.texts[0] || seen[r.texts[0]] {
				t.Errorf("turn %q, error %v", r.texts, r.err)
				continue
			}
			seen[r.texts[0]] = true
		}
	})
}

// The agent may answer prompts that wait in its queue together.
func TestPromptsAnsweredTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
			Send(assistantFrame("both"), resultFrame("one and two", "p1", "p2")).
			Expect(promptFrame("p3", "three")).Send(resultFrame("three", "p3")), nil)
		first := inBackground(t.Context(), s, clew.Text("one"))
		second := inBackground(t.Context(), s, clew.Text("two"))
		first.want(t, nil, "both", "result: one and two")
		second.want(t, nil, "result: one and two")
		wantTurn(t, s, "three", "result: three")
	})
}

// taskResult is the result of a turn started by a finished background task.
const taskResult = `{"type":"result","subtype":"success","result":"the task","origin":{"kind":"task-notification"}}`

func TestResultOfATaskDoesNotEndATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Send(taskResult, assistantFrame("Hello."), resultFrame("done", "p")), nil)
		wantTurn(t, s, "Hi", "result: the task", "Hello.", "result: done")
	})
}

// Older agents name no prompt in their results, which then answer one prompt each.
func TestResultsWithoutIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
			Send(resultFrame("one"), taskResult, resultFrame("two")).
			Expect(promptFrame("p3", "three")).Send(resultFrame("three")), nil)
		first := inBackground(t.Context(), s, clew.Text("one"))
		second := inBackground(t.Context(), s, clew.Text("two"))
		first.want(t, nil, "result: one")
		second.want(t, nil, "result: the task", "result: two")
		wantTurn(t, s, "three", "result: three")
	})
}

func TestFailedTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).
			Send(`{"type":"result","subtype":"error_max_turns","is_error":true,"user_message_uuid":"p1","errors":["too long"]}`).
			Expect(promptFrame("p2", "two")).Send(resultFrame("two", "p2")), nil)
		got, err := textsOf(s.Turn(t.Context(), clew.Text("one")))
		failed, ok := errors.AsType[*clew.ResultError](err)
		if !ok || failed.Text() != "too long" || len(got) != 1 {
			t.Errorf("turn %q, error %v", got, err)
		}
		wantTurn(t, s, "two", "result: two")
	})
}

// Unread messages of a turn whose loop was left are not part of the next turn.
func TestLeftTurnIsSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(promptFrame("p1", "one")).Send(assistantFrame("1"), assistantFrame("1 again"), resultFrame("one", "p1")).
			Expect(promptFrame("p2", "two")).Send(assistantFrame("2"), resultFrame("two", "p2")), nil)
		for range s.Turn(t.Context(), clew.Text("one")) {
			break
		}
		wantTurn(t, s, "two", "2", "result: two")
	})
}

// A reader of everything gets what is left of such a turn.
func TestLeftTurnIsSeenByMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).
			Send(assistantFrame("1"), assistantFrame("1 again"), resultFrame("one", "p1")), nil)
		for range s.Turn(t.Context(), clew.Text("one")) {
			break
		}
		synctest.Wait()
		time.AfterFunc(time.Second, func() { _ = s.Close() })
		got, err := textsOf(s.Messages(t.Context()))
		if diff := cmp.Diff([]string{"1 again", "result: one"}, got); diff != "" || err != nil {
			t.Errorf("error %v; messages (-want +got):\n%s", err, diff)
		}
	})
}

// cancelledFrame reports that a prompt was removed from the agent's queue.
func cancelledFrame(id string) string {
	return `{"type":"command_lifecycle","command_uuid":"` + id + `","state":"cancelled"}`
}

func TestCanceledPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), cancelledFrame("p2")).
			Send(assistantFrame("1"), resultFrame("one", "p1")), nil)
		prompt := clew.Text("two")
		prompt.UUID = "6a0d2f5e-7b1c-4e55-9d6f-0a3a1c2b4d5e"
		first := inBackground(t.Context(), s, clew.Text("one"))
		second := inBackground(t.Context(), s, prompt)
		if ok, err := s.CancelPrompt(t.Context(), prompt.UUID); !ok || err != nil {
			t.Errorf("cancelled: %t, %v", ok, err)
		}
		first.want(t, nil, "*wire.CommandLifecycleMessage", "1", "result: one")
		second.want(t, clew.ErrCanceled)
	})
}

// failedFrame is a result that reports the failure of a prompt's turn.
func failedFrame(prompt string) string {
	return fmt.Sprintf(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["no"],"user_message_uuids":[%q]}`, prompt)
}

// Most loops are left at the result. It is the last message of its turn, and an error would follow
// it.
func TestTurnLeftAtItsLastMessage(t *testing.T) {
	for name, last := range map[string]string{"failed": failedFrame("p1"), "cancelled": cancelledFrame("p1")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1"), last).
					Expect(promptFrame("p2", "two")).Send(assistantFrame("2"), resultFrame("two", "p2")), nil)
				seen := 0
				for range s.Turn(t.Context(), clew.Text("one")) {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).
			Send(assistantFrame("1"), assistantFrame("2"), assistantFrame("3")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).Send(controlSuccess("i", `{}`), resultFrame("one", "p1")), nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		why := errors.New("enough")
		var texts []string
		for msg, err := range s.Turn(ctx, clew.Text("one")) {
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
		rest, err := textsUntil(s, "result: one")
		if err != nil || len(rest) != 3 {
			t.Errorf("the rest is %q, error %v", rest, err)
		}
	})
}

// textsUntil reads all messages up to the one with the text last, and returns their texts.
func textsUntil(s *clew.Session, last string) (texts []string, err error) {
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

// A turn that waits for another, which nobody reads any more, ends with the session.
func TestWaitingTurnEndsWithTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(promptFrame("p2", "two")).Expect(controlRequest("i", `{"subtype":"interrupt","cancel_queued":true}`)), nil)
		for range s.Turn(t.Context(), clew.Text("one")) {
			waiting := inBackground(t.Context(), s, clew.Text("two"))
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
func TestRunOfACanceledPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p1", "one")).Expect(promptFrame("p2", "two")).
			Send(resultFrame("one", "p1"), cancelledFrame("p2")).CloseStdin())
		opts := inMemory(agent, &clew.Options{CanUseTool: decide})
		result, err := clew.Run(t.Context(), slices.Values([]*clew.UserMessage{clew.Text("one"), clew.Text("two")}), opts)
		if err != nil || result.Result != "one" {
			t.Errorf("result %v, error %v", result, err)
		}
	})
}

// An agent that answered and never ends keeps a run waiting for seconds, and its answer counts: the
// seconds that it has to exit, and the seconds that the simulated agent takes to end.
func TestRunOfAnAgentThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p1", "one")).
			Send(resultFrame("one", "p1")).Do(clewtest.IgnoreEndOfInput()))
		begin := time.Now()
		result, err := clew.Run(t.Context(), "one", inMemory(agent, nil))
		if err != nil || result.Result != "one" {
			t.Errorf("result %v, error %v", result, err)
		}
		wantElapsed(t, begin, 10*time.Second)
	})
}
