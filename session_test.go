package clew_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// The agent tells the id of a session in its first turn. Before that, it is the one of the options.
func TestSessionID(t *testing.T) {
	t.Parallel()
	const own, told = "11111111-2222-4333-8444-555555555555", "66666666-7777-4888-8999-000000000000"
	for name, opts := range map[string]*clew.Options{
		"by the agent":   {},
		"by the options": {SessionID: own},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s, _ := simulate(t, asked().
					Send(`{"type":"system","subtype":"init","session_id":"`+told+`"}`).Send(assistantFrame("Well")).
					Expect(controlRequest("stop", `{"subtype":"interrupt"}`)).Send(controlSuccess("stop", `{}`)).
					Send(resultFrame("done")), opts)
				if s.ID() != opts.SessionID {
					t.Errorf("id %q before the first turn", s.ID())
				}
				for msg, err := range s.Turn(t.Context(), "Hi") {
					if err != nil {
						t.Fatal(err)
					}
					if s.ID() != told {
						t.Errorf("id %q at %s", s.ID(), msg.Raw())
					}
					if _, ok := msg.(*clew.AssistantMessage); ok {
						if _, err := s.Interrupt(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				if s.ID() != told {
					t.Errorf("id %q after the turn", s.ID())
				}
			})
		})
	}
}

// An agent that does not answer the greeting is given up, after the time of the options or a minute.
func TestInitializeTimeout(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ limit, want time.Duration }{
		"default": {0, time.Minute},
		"own":     {3 * time.Second, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				silent := new(clewtest.Scenario).Expect(initialize).Expect(controlCancel("init")).CloseStdin().Exit(0)
				opts := inMemory(clewtest.NewAgent(t, silent), &clew.Options{InitializeTimeout: test.limit})
				begin := time.Now()
				_, err := clew.Connect(t.Context(), opts)
				wantError(t, err, context.DeadlineExceeded)
				if exit := wantExit(t, err); exit.Reason != "gave no answer" {
					t.Errorf("exit %+v", exit)
				}
				if !strings.HasPrefix(err.Error(), "clew: not ready within "+test.want.String()) {
					t.Errorf("error %q", err)
				}
				wantElapsed(t, begin, test.want)
				wantNoGoroutine(t)
			})
		})
	}
}

// A deaf connection can be read from, and takes so many frames.
type deaf struct {
	clew.Connection
	left atomic.Int32
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.left.Add(-1) < 0 {
		return 0, io.ErrClosedPipe
	}
	return d.Connection.Write(p)
}

// An agent that closes its input and lives on can be listened to, and nobody waits for its answers any more.
func TestAgentClosesItsInput(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		conn := &deaf{Connection: clewtest.NewAgent(t, greeted().
			Expect(controlRequest("u", `{"subtype":"get_usage"}`)).Send(aWord)).Conn()}
		conn.left.Store(2)
		opts := overConn(conn)
		var log strings.Builder
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		s := dial(t, opts)
		var calls verdicts
		calls.expect("Usage", func() error { return second(s.Usage(t.Context())) })
		synctest.Wait()
		_, err := s.Send(t.Context(), "Hi")
		wantError(t, err, io.ErrClosedPipe)
		calls.want(t, &clew.ExitError{Reason: "closed its input: " + io.ErrClosedPipe.Error()})
		if !strings.Contains(log.String(), "the agent reads no more") {
			t.Errorf("log %s", log.String())
		}
		if _, err := s.Usage(t.Context()); err == nil {
			t.Error("a request was answered")
		}
		for msg, err := range s.Messages(t.Context()) {
			if err != nil || textOf(msg) != "Well" {
				t.Errorf("message %v, error %v", msg, err)
			}
			break
		}
	})
}

// A turn inside of the loop over another one waits until its context ends, and does the outer one no harm.
func TestTurnInsideOfATurn(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(promptFrame("p2", "two")).
			Expect(controlRequest("c", `{"subtype":"cancel_async_message","message_uuid":"p2"}`)).
			Send(controlSuccess("c", `{"cancelled":true}`), cancelledFrame("p2"), resultFrame("one", "p1")), nil)
		var got []string
		for msg, err := range s.Turn(t.Context(), "one") {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, textOf(msg)); len(got) > 1 {
				continue
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err = heard(s.Turn(ctx, "two"))
			cancel()
			wantError(t, err, context.DeadlineExceeded)
		}
		if diff := cmp.Diff([]string{"1", "*wire.CommandLifecycleMessage", "result: one"}, got); diff != "" {
			t.Errorf("outer turn (-want +got):\n%s", diff)
		}
	})
}
