package clew_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// Attempts come ever more slowly, and when they are used up the session ends with the reasons.
func TestReconnectGivesUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts   clew.ReconnectOptions
		pauses []float64
	}{
		"defaults": {clew.ReconnectOptions{}, []float64{0, 0.5, 1, 2, 4}},
		"own": {
			clew.ReconnectOptions{MaxAttempts: 6, MinBackoff: 2 * time.Second, MaxBackoff: 5 * time.Second},
			[]float64{0, 2, 4, 5, 5, 5},
		},
		"many": {clew.ReconnectOptions{MaxAttempts: 9}, []float64{0, 0.5, 1, 2, 4, 8, 16, 30, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				agents := succeed(t, cut())
				s := agents.open(&clew.Options{Reconnect: &test.opts})
				_, err := hearOut(t, s.Turn(t.Context(), "one"))
				given := wantGivenUp(t, err)
				if diff := cmp.Diff(killed, given.Exit); diff != "" {
					t.Errorf("exit (-want +got):\n%s", diff)
				}
				if !errors.Is(err, errNoAgent) || given.Attempts != len(test.pauses) {
					t.Errorf("error %v after %d attempts", err, given.Attempts)
				}
				for _, words := range []string{errNoAgent.Error(), killed.Error()} {
					if !strings.Contains(err.Error(), words) {
						t.Errorf("error %q has no %q", err, words)
					}
				}
				if diff := cmp.Diff(test.pauses, agents.pauses()); diff != "" {
					t.Errorf("pauses (-want +got):\n%s", diff)
				}
				for _, err := range []error{s.Err(), second(s.Send(t.Context(), "two")), second(s.Usage(t.Context()))} {
					if wantGivenUp(t, err) != given {
						t.Errorf("later the error is %v", err)
					}
				}
				wantClosed(t, s)
				wantNoGoroutine(t)
			})
		})
	}
}

// Agents that come up and die use up the attempts, unless a turn ends in order in between.
func TestReconnectLimitsALoopOfDeaths(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		dies := connected().Expect(promptFrame("p", "one")).Send(failedFrame("p")).Do(kill())
		agents := succeed(t, dies, dies, answers("one"), dies, dies)
		s := agents.open(&clew.Options{Reconnect: &clew.ReconnectOptions{MaxAttempts: 2}})
		ends := 0
		for s.Err() == nil {
			_, err := hearOut(t, s.Turn(t.Context(), "one"))
			synctest.Wait()
			if err == nil {
				agents.kill()
			}
			if ends++; ends > 10 {
				t.Fatal("there is no end")
			}
		}
		given := wantGivenUp(t, s.Err())
		if n := len(agents.resumed()); n != 5 || given.Attempts != 2 || !errors.Is(given.Last, given.Exit) {
			t.Errorf("%d starts, %+v", n, given)
		}
		if !strings.HasPrefix(s.Err().Error(), "clew: the agent dies again and again, given up after 2 attempts: ") {
			t.Errorf("error %q", s.Err())
		}
	})
}

// What an agent says that never comes up is an error of the attempt, and no answer to anybody.
func TestReconnectAttemptsThatFail(t *testing.T) {
	t.Parallel()
	refusal := `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}`
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		want     string
		pause    float64 // until the attempt after it
	}{
		"words": {new(clewtest.Scenario).Expect(initialize).Send(refusal).Exit(1), "No conversation found", 0.5},
		"death": {new(clewtest.Scenario).Expect(initialize).Do(kill()), "killed", 0.5},
		"no":    {new(clewtest.Scenario).Expect(initialize).Send(controlRefusal("init", "not today")), "not today", 0.5},
		// It takes a while to end an agent that does not listen.
		"silence": {new(clewtest.Scenario).Expect(initialize).Do(clewtest.Hang()), "not ready within 1m0s", 65.5},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				agents := succeed(t, connected(), test.scenario, answers("two"))
				s := agents.open(nil)
				agents.kill()
				wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
				if diff := cmp.Diff([]float64{0, test.pause}, agents.pauses()); diff != "" {
					t.Errorf("pauses (-want +got):\n%s", diff)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				agents := succeed(t, connected(), test.scenario)
				s := agents.open(&clew.Options{Reconnect: &clew.ReconnectOptions{MaxAttempts: 1}})
				agents.kill()
				_, err := hearOut(t, s.Turn(t.Context(), "two"))
				if given := wantGivenUp(t, err); !strings.Contains(given.Last.Error(), test.want) {
					t.Errorf("error %v", err)
				}
				wantNoGoroutine(t)
			})
		})
	}
}

// A transport that panics costs an attempt.
func TestReconnectOverATransportThatPanics(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agents := succeed(t, connected(), answers("two"))
		opts := &clew.Options{Reconnect: new(clew.ReconnectOptions)}
		starts := 0
		opts.Transport = clew.TransportFunc(func(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
			if starts++; starts == 2 {
				panic("ouch")
			}
			return agents.Connect(ctx, launch)
		})
		s := dial(t, opts)
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
	})
}

// A connection may be any value, also one that Go can't compare.
func TestReconnectOverAConnectionOfAnyType(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		agents := succeed(t, connected(), answers("two"))
		opts := &clew.Options{Reconnect: new(clew.ReconnectOptions)}
		opts.Transport = clew.TransportFunc(func(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
			conn, err := agents.Connect(ctx, launch)
			return struct {
				clew.Connection
				names []string
			}{conn, nil}, err
		})
		s := dial(t, opts)
		agents.kill()
		wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
	})
}
