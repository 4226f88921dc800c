package clew_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// A watched session has an agent that may be silent for a minute.
func watched() *clew.Options { return &clew.Options{IdleTimeout: time.Minute} }

// An agent that falls silent in the middle of a turn ends the session.
func TestSilentAgent(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().
			Expect(promptFrame("p", "Hi")).Send(assistantFrame("Well,")).Do(clewtest.Hang()), watched())
		begin := time.Now()
		got, err := heard(s.Turn(t.Context(), "Hi"))
		wantError(t, err, clew.ErrIdle)
		if diff := cmp.Diff([]string{"Well,"}, got); diff != "" {
			t.Errorf("turn (-want +got):\n%s", diff)
		}
		// It takes a minute to notice, and some time to end an agent that does not listen.
		if passed := time.Since(begin); passed < time.Minute || passed > 2*time.Minute {
			t.Errorf("it took %v", passed)
		}
		wantError(t, s.Err(), clew.ErrIdle)
		_, err = s.Interrupt(t.Context())
		wantError(t, err, clew.ErrIdle)
	})
}

// With somebody to tell, the session lives on.
func TestSilentAgentIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		opts := watched()
		var silences []time.Duration
		opts.OnIdle = func(silence time.Duration) { silences = append(silences, silence) }
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Send(assistantFrame("Well,")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), resultFrame("interrupted", "p")), opts)
		turn := inBackground(t.Context(), s, textPrompt("Hi"))
		time.Sleep(150 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]time.Duration{time.Minute, 2 * time.Minute}, silences); diff != "" {
			t.Errorf("silences (-want +got):\n%s", diff)
		}
		if _, err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
		turn.want(t, nil, "Well,", "result: interrupted")
	})
}

// A panic of who is told is not the end of the program, nor of the session.
func TestSilentAgentIsReportedInVain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, opts := new(logbook), watched()
		opts.Logger = slog.New(slog.NewTextHandler(log, nil))
		opts.OnIdle = func(time.Duration) { panic("ouch") }
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Expect(controlRequest("i", `{"subtype":"interrupt"}`)).
			Send(controlSuccess("i", `{}`), resultFrame("interrupted", "p")), opts)
		turn := inBackground(t.Context(), s, textPrompt("Hi"))
		time.Sleep(150 * time.Second)
		synctest.Wait()
		if n := strings.Count(log.String(), "clew: panic in OnIdle: ouch"); n != 2 {
			t.Errorf("%d panics in the log: %s", n, log)
		}
		if _, err := s.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
		turn.want(t, nil, "result: interrupted")
	})
}

// An agent may be silent as long as it likes when nothing is expected of it.
func TestSilenceThatIsNone(t *testing.T) {
	t.Parallel()
	hi, done := promptFrame("p", "Hi"), resultFrame("done", "p")
	slow := func(context.Context, *clew.PermissionRequest) (clew.PermissionResult, error) {
		time.Sleep(time.Hour)
		return clew.Allow(), nil
	}
	for name, test := range map[string]struct {
		scenario *clewtest.Scenario
		before   time.Duration // the prompt
	}{
		"a frame that comes slowly": {connected().Expect(hi).Do(clewtest.Trickle(done, 30*time.Second)), 0},
		"between turns":             {connected().Expect(hi).Send(done), time.Hour},
		"just before the agent is looked at": {
			connected().Expect(hi).Do(clewtest.Trickle(done, 30*time.Second)), 59 * time.Second,
		},
		"a question that takes long": {
			connected().Expect(hi).Send(controlRequest("q", canUse("Bash"))).Expect(controlSuccess("q", `{}`)).
				Do(clewtest.Trickle(done, 30*time.Second)), 59 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				opts := watched()
				opts.CanUseTool = slow
				s, _ := simulate(t, test.scenario, opts)
				time.Sleep(test.before)
				wantTurn(t, s, "Hi", "result: done")
			})
		})
	}
}

// An agent that waits for an answer from somewhere else says so, and is not silent.
func TestSilenceOfAnAgentThatWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).
			Send(`{"type":"system","subtype":"session_state_changed","state":"requires_action"}`).
			Expect(controlRequest("m", `{"subtype":"set_model","model":"x"}`)).Send(controlSuccess("m", `{}`)).
			Send(resultFrame("done", "p"), `{"type":"system","subtype":"session_state_changed","state":"idle"}`), watched())
		turn := inBackground(t.Context(), s, textPrompt("Hi"))
		time.Sleep(time.Hour)
		if _, err := s.SetModel(t.Context(), "x"); err != nil {
			t.Error(err)
		}
		turn.want(t, nil, "*wire.SessionStateChangedMessage", "result: done")
	})
}

// The agent is not to blame for a reader that is slower than it.
func TestSilenceOfASlowReader(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const messages = 30_000
		opts := watched()
		opts.MaxBacklogBytes = 1
		s, _ := simulate(t, connected().Expect(promptFrame("p", "Hi")).Do(clewtest.Flood(2*messages)).
			Send(resultFrame("done", "p")), opts)
		if _, err := s.Send(t.Context(), "Hi"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		wantFlood(t, s, messages)
	})
}
