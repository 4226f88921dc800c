package simtest_test

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
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
)

// lostAgent returns agents of which the first is dead, the second can't be started, and the third
// comes in half a second.
func lostAgent(t *testing.T, third *clewtest.Scenario) (*agentSequence, *clew.Session) {
	t.Helper()
	agents := startSequence(t, connected().Do(clewtest.Hang()), nil, third)
	s := agents.open(nil)
	agents.kill()
	return agents, s
}

// Prompts that are sent without an agent wait for one, and keep their order.
func TestReconnectKeepsPromptsOfTheGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scenario := connected()
		prompts := []string{"a", "b", "c", "d"}
		for _, p := range prompts {
			scenario.Expect(promptFrame(p, p))
		}
		for _, p := range prompts {
			scenario.Send(resultFrame(p, p))
		}
		_, s := lostAgent(t, scenario)
		var turns []*reading
		for _, p := range prompts {
			turns = append(turns, inBackground(t.Context(), s, clew.Text(p)))
		}
		begin := time.Now()
		turns[0].want(t, nil, reconnectedText, "result: a")
		wantElapsed(t, begin, 500*time.Millisecond)
		for i, p := range prompts[1:] {
			turns[i+1].want(t, nil, "result: "+p)
		}
	})
}

// Whoever has no more time in the gap goes, and the agent never hears of it.
func TestReconnectWaitsWithinTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s := lostAgent(t, answers("two"))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		turn := inBackground(ctx, s, clew.Text("one"))
		_, err := s.SetModel(ctx, "opus")
		wantError(t, err, context.DeadlineExceeded)
		_, err = s.Send(ctx, clew.Text("zero"))
		wantError(t, err, context.DeadlineExceeded)
		turn.want(t, context.DeadlineExceeded)
		wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
	})
}

// A prompt that was being written when the agent died is lost. The one after it goes to the next
// agent.
func TestReconnectPromptsOnTheirWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, connected().Do(clewtest.Hang()), answers("behind"))
		s := agents.open(nil)
		stuck := inBackground(t.Context(), s, clew.Text(strings.Repeat("x", 1<<20)))
		behind := inBackground(t.Context(), s, clew.Text("behind"))
		agents.kill()
		<-stuck.done
		wantLost(t, stuck.err)
		if diff := cmp.Diff([]string{reconnectedText}, stuck.texts); diff != "" {
			t.Errorf("the turn (-want +got):\n%s", diff)
		}
		behind.want(t, nil, "ok", "result: behind")
	})
}

func TestReconnectSendOnItsWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, connected().Do(clewtest.Hang()), answers("two"))
		s := agents.open(nil)
		sent := make(chan error)
		go func() { sent <- second(s.Send(t.Context(), clew.Text(strings.Repeat("x", 1<<20)))) }()
		synctest.Wait()
		agents.kill()
		wantLost(t, <-sent)
		wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
	})
}

// Requests that the agent had got are lost. Those that come later wait for the next one.
func TestReconnectAndControlRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		usage := controlRequest("u", `{"subtype":"get_usage"}`)
		agents := startSequence(t, connected().Expect(usage), nil,
			connected().Expect(usage).Send(controlSuccess("u", `{"subscription_type":"max"}`)))
		s := agents.open(nil)
		first := make(chan error, 1)
		go func() { first <- second(screens.AccountUsage(t.Context(), s, nil)) }()
		synctest.Wait()
		agents.kill()
		begin := time.Now()
		wantLost(t, <-first)
		wantElapsed(t, begin, 0)
		again, err := screens.AccountUsage(t.Context(), s, nil)
		if err != nil || again.Subscription != "max" {
			t.Errorf("answer %+v, error %v", again, err)
		}
		wantElapsed(t, begin, 500*time.Millisecond)
	})
}

// The context of a callback ends with the agent that waits for it, and the next agent may use the
// same ID.
func TestReconnectAndCallbacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asks := connected().Expect(promptFrame("p", "Hi")).Send(controlRequest("q", canUse("Bash")))
		agents := startSequence(t, asks, connected().Expect(promptFrame("p", "Hi")).Send(controlRequest("q", canUse("Bash"))).
			Expect(controlSuccess("q", `{"behavior":"allow"}`)).Send(resultFrame("done", "p")))
		calls := 0
		ended := make(chan error, 1)
		s := agents.open(&clew.Options{
			CanUseTool: func(ctx context.Context, _ *permission.Request) (permission.Result, error) {
				if calls++; calls > 1 {
					return permission.Allow(), nil
				}
				<-ctx.Done()
				time.Sleep(time.Minute) // longer than it takes to start the next agent
				ended <- ctx.Err()
				return permission.Allow(), nil
			},
		})
		turn := inBackground(t.Context(), s, clew.Text("Hi"))
		agents.kill()
		<-turn.done
		wantLost(t, turn.err)
		wantTurn(t, s, "Hi", "result: done")
		wantError(t, <-ended, context.Canceled)
		wantClosed(t, s)
		wantNoGoroutine(t)
	})
}

// Messages that an agent sends before it is ready come after the message about the new agent.
func TestReconnectEarlyMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, cut(), new(clewtest.Scenario).Expect(initialize).Send(assistantFrame("early")).
			Send(controlSuccess("init", `{"claude_code_version":"9.9.9"}`), assistantFrame("late")).
			Expect(promptFrame("p", "two")).Send(resultFrame("two", "p")))
		s := agents.open(nil)
		_, err := readOut(t, s.Turn(t.Context(), clew.Text("one")))
		wantLost(t, err)
		if version := s.Info().Version; version != "9.9.9" {
			t.Errorf("version %q", version)
		}
		wantTurn(t, s, "two", "early", "late", "result: two")
	})
}

// An agent that no longer reads its input is also replaced.
func TestReconnectADeafAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, greeted(), answers("two"))
		opts := &clew.Options{Reconnect: new(clew.ReconnectOptions)}
		starts := 0
		opts.Transport = clew.TransportFunc(func(ctx context.Context, launch *clew.Launch) (clew.Connection, error) {
			conn, err := agents.Connect(ctx, launch)
			if starts++; starts > 1 || err != nil {
				return conn, err
			}
			half := &deaf{Connection: conn}
			half.left.Store(1)
			return half, nil
		})
		s := dial(t, opts)
		_, err := s.Send(t.Context(), clew.Text("one"))
		if !isLostError(err) {
			t.Errorf("error %v", err)
		}
		wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
	})
}

// The time without an agent is not silence.
func TestReconnectAndTheWatchdog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := watched()
		opts.Reconnect = &clew.ReconnectOptions{MinBackoff: time.Hour, MaxBackoff: time.Hour}
		agents := startSequence(t, connected().Do(clewtest.Hang()), nil, answers("one"),
			connected().Expect(promptFrame("p", "two")).Do(clewtest.Hang()))
		s := agents.open(opts)
		agents.kill()
		wantTurn(t, s, "one", reconnectedText, "ok", "result: one")
		agents.kill()
		_, err := textsOf(s.Turn(t.Context(), clew.Text("two")))
		wantError(t, err, clew.ErrIdle)
		if n := len(agents.resumed()); n != 4 {
			t.Errorf("%d starts", n)
		}
	})
}

// A recording has the start and the end of each agent.
func TestReconnectIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var record lockedBuffer
		agents := startSequence(t, cut(), answers("two"))
		s := agents.open(&clew.Options{Debug: clew.DebugOptions{Record: &record}})
		_, err := readOut(t, s.Turn(t.Context(), clew.Text("one")))
		wantLost(t, err)
		wantTurn(t, s, "two", "ok", "result: two")
		wantClosed(t, s)
		var notes []string
		for line := range strings.Lines(record.String()) {
			if note, ok := strings.CutPrefix(line, "# "); ok {
				notes = append(notes, strings.Fields(note)[0])
			}
		}
		if diff := cmp.Diff([]string{"args", "exit", "args", "host", "exit"}, notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		if !strings.Contains(record.String(), "--resume="+sessionOne) {
			t.Error("how the second was started is missing")
		}
	})
}

// Closing does not wait for an agent that is to come.
func TestReconnectAndClose(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		second *clewtest.Scenario
		after  time.Duration
	}{
		"before an attempt":   {nil, 100 * time.Millisecond},
		"while it is greeted": {new(clewtest.Scenario).Expect(initialize), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agents := startSequence(t, connected().Do(clewtest.Hang()), test.second)
				s := agents.open(nil)
				agents.kill()
				var calls pendingCalls
				calls.expect("Usage", func() error { return second(screens.AccountUsage(t.Context(), s, nil)) })
				calls.expect("Turn", func() error { return second(readOut(t, s.Turn(t.Context(), clew.Text("Hi")))) })
				synctest.Wait()
				time.Sleep(test.after)
				synctest.Wait()
				begin := time.Now()
				wantClosed(t, s)
				wantElapsed(t, begin, 0)
				calls.calls.Wait()
				for name, err := range calls.errs {
					if !errors.Is(err, clew.ErrClosed) {
						t.Errorf("%s: %v", name, err)
					}
				}
				wantNoGoroutine(t)
			})
		})
	}
}

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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agents := startSequence(t, cut())
				s := agents.open(&clew.Options{Reconnect: &test.opts})
				_, err := readOut(t, s.Turn(t.Context(), clew.Text("one")))
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
				for _, err := range []error{s.Err(), second(s.Send(t.Context(), clew.Text("two"))), second(screens.AccountUsage(t.Context(), s, nil))} {
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dies := connected().Expect(promptFrame("p", "one")).Send(failedFrame("p")).Do(kill())
		agents := startSequence(t, dies, dies, answers("one"), dies, dies)
		s := agents.open(&clew.Options{Reconnect: &clew.ReconnectOptions{MaxAttempts: 2}})
		ends := 0
		for s.Err() == nil {
			_, err := readOut(t, s.Turn(t.Context(), clew.Text("one")))
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
		if !strings.HasPrefix(s.Err().Error(), "clew: the agent keeps dying, gave up after 2 attempts: ") {
			t.Errorf("error %q", s.Err())
		}
	})
}

// Output of an agent that never gets ready is part of the attempt's error, and not an answer to a
// call.
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
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agents := startSequence(t, connected(), test.scenario, answers("two"))
				s := agents.open(nil)
				agents.kill()
				wantTurn(t, s, "two", reconnectedText, "ok", "result: two")
				if diff := cmp.Diff([]float64{0, test.pause}, agents.pauses()); diff != "" {
					t.Errorf("pauses (-want +got):\n%s", diff)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				agents := startSequence(t, connected(), test.scenario)
				s := agents.open(&clew.Options{Reconnect: &clew.ReconnectOptions{MaxAttempts: 1}})
				agents.kill()
				_, err := readOut(t, s.Turn(t.Context(), clew.Text("two")))
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, connected(), answers("two"))
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

// A connection may be any value, even a value that Go can't compare.
func TestReconnectOverAConnectionOfAnyType(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agents := startSequence(t, connected(), answers("two"))
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
