package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
)

// A caller gets a ready agent without waiting, and the pool starts the next one in the background.
func TestPoolServesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, nil)
		for i := range 3 {
			begin := time.Now()
			wantRun(t.Context(), t, p, fmt.Sprint("word ", i))
			wantElapsed(t, begin, 0)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		want := [][]string{{"word 0"}, {"word 1"}, {"word 2"}, nil}
		if diff := cmp.Diff(want, c.prompts()); diff != "" {
			t.Errorf("what the agents were asked (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(clew.PoolStats{Warm: 1, Started: 4, Served: 3}, p.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The start of the next agent does not compete with an agent that has just got to work.
func TestPoolHeadStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := openPool(t, newFakeTransport(), nil)
		started := func(want int) {
			t.Helper()
			synctest.Wait()
			if got := p.Stats().Started; got != want {
				t.Errorf("%d agents were started, want %d", got, want)
			}
		}
		wantRun(t.Context(), t, p, "word")
		started(2) // for it answered
		time.Sleep(time.Second)
		s, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		started(2)
		time.Sleep(time.Second)
		started(3)
	})
}

// Messages, prompts of several blocks and sessions come from the pool as well.
func TestPoolWaysToAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := openPool(t, newFakeTransport(), &clew.PoolOptions{Warm: 2})
		got, err := textsOf(p.Query(t.Context(), clew.Text("Hi")))
		want := []string{"*wire.InitMessage", "You said Hi", "result: You said Hi"}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
		result, err := p.Run(t.Context(), clew.NewUserMessage(&clew.TextBlock{Text: "one"}, &clew.TextBlock{Text: "two"}))
		if err != nil || result.Result != "You said onetwo" {
			t.Errorf("result %v, error %v", result, err)
		}
		if _, err := p.Run(t.Context(), nil); err == nil {
			t.Error("no error for a prompt that is nil")
		}
		s, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantTurn(t, s, "Hi", "*wire.InitMessage", "You said Hi", "result: You said Hi")
		wantTurn(t, s, "Ho", "*wire.InitMessage", "You said Ho", "result: You said Ho")
		if got := p.Stats().InUse; got != 1 {
			t.Errorf("%d in use", got)
		}
		wantClosed(t, s)
		synctest.Wait()
		if got := p.Stats().InUse; got != 0 {
			t.Errorf("%d in use after Close", got)
		}
	})
}

// There are never more agents than allowed, including ending ones, and all callers are served.
func TestPoolKeepsItsCap(t *testing.T) {
	for name, config := range map[string]*clew.PoolOptions{
		"new agents":    {Warm: 2, MaxAgents: 4},
		"reused agents": {Warm: 2, MaxAgents: 4, MaxUses: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newFakeTransport()
				p := openPool(t, c, config)
				var all sync.WaitGroup
				for i := range 50 {
					all.Go(func() { wantRun(t.Context(), t, p, fmt.Sprint("word ", i)) })
				}
				all.Wait()
				started, _, most := c.counts()
				if most > 4 || p.Stats().Served != 50 {
					t.Errorf("%d agents at once, %+v", most, p.Stats())
				}
				if config.MaxUses == 10 && started > 12 {
					t.Errorf("%d agents were started", started)
				}
			})
		})
	}
}

// Who comes first is served first, and who gives up neither blocks nor takes anything.
func TestPoolLineIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := openPool(t, newFakeTransport(), &clew.PoolOptions{MaxAgents: 1})
		held, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var all sync.WaitGroup
		giveUp, cancel := context.WithCancel(t.Context())
		for i := range 6 {
			ctx := t.Context()
			if i%2 == 1 {
				ctx = giveUp
			}
			all.Go(func() {
				s, err := p.Connect(ctx)
				if err != nil {
					wantError(t, err, context.Canceled)
					return
				}
				order = append(order, i) // there is but one agent
				wantClosed(t, s)
			})
			synctest.Wait()
		}
		if got := p.Stats().Waiting; got != 6 {
			t.Errorf("%d wait", got)
		}
		cancel()
		synctest.Wait()
		if got := p.Stats().Waiting; got != 3 {
			t.Errorf("%d wait after the others gave up", got)
		}
		wantClosed(t, held)
		all.Wait()
		if diff := cmp.Diff([]int{0, 2, 4}, order); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
	})
}

// A flakyContext ends after the first Err call.
type flakyContext struct {
	context.Context
	asked bool
}

func (f *flakyContext) Err() error {
	if f.asked {
		return context.Canceled
	}
	f.asked = true
	return nil
}

func (f *flakyContext) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// An agent that is given to somebody who has just gone is the next caller's.
func TestPoolAgentForNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := openPool(t, newFakeTransport(), &clew.PoolOptions{MaxAgents: 1})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for _, ctx := range []context.Context{gone, &flakyContext{Context: t.Context()}} {
			_, err := p.Run(ctx, clew.Text("never"))
			wantError(t, err, context.Canceled)
		}
		if diff := cmp.Diff(clew.PoolStats{Warm: 1, Started: 1}, p.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		wantRun(t.Context(), t, p, "word")
	})
}

// The time in line is counted.
func TestPoolCountsWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{MaxAgents: 1})
		wantRun(t.Context(), t, p, "first")
		wantRun(t.Context(), t, p, "second") // its agent starts when the first one is gone
		if got := p.Stats().WaitTime; got != c.slow {
			t.Errorf("waited for %v, want %v", got, c.slow)
		}
	})
}

// Callers that come one after the other in no time don't keep the next agents from being started.
func TestPoolRefillsUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{Warm: 4, MaxAgents: 100})
		time.Sleep(time.Second)
		for range 100 {
			s, err := p.Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			wantClosed(t, s)
			time.Sleep(250 * time.Millisecond)
		}
		if got := p.Stats().WaitTime; got > 0 {
			t.Errorf("callers have waited for %v", got)
		}
	})
}

// A prompt that can't be sent is refused before an agent is taken for it.
func TestPoolRefusesABadPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := openPool(t, newFakeTransport(), nil)
		if _, err := p.Run(t.Context(), nil); err == nil {
			t.Error("a nil prompt was sent")
		}
		if stats := p.Stats(); stats.Served != 0 || stats.Warm != 1 {
			t.Errorf("stats %+v", stats)
		}
	})
}

// A prompt that does not fit the agent's version is not sent, so the agent stays ready.
func TestPoolKeepsTheAgentOfAnUnfitPrompt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p, err := clew.NewPool(t.Context(), &clew.Options{Transport: c, AgentVersion: "2.1.200"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		for range 3 {
			_, err = p.Run(t.Context(), verbatim("/compact"))
			wantUnfit(t, err)
			time.Sleep(time.Second) // the pool would start another agent
		}
		if stats := p.Stats(); stats.Warm != 1 || stats.InUse != 0 || stats.Started != 1 {
			t.Errorf("stats %+v", stats)
		}
		wantRun(t.Context(), t, p, "one")
		if got := c.prompts()[0]; !slices.Equal(got, []string{"one"}) {
			t.Errorf("the first agent got %q", got)
		}
	})
}

// openReconnecting returns a pool of up to two agents whose sessions may reconnect.
func openReconnecting(t *testing.T, c *fakeTransport) *clew.Pool {
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

// A session of Connect continues with another agent, which the pool counts as the one before.
func TestPoolSessionReconnects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
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

// The pool replaces its own agents: an agent that no caller took yet, and an agent of a run.
func TestPoolReplacesWhatItOwns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openReconnecting(t, c)
		c.agent(1).kill()
		synctest.Wait()
		time.Sleep(time.Second)
		if stats := p.Stats(); stats.Died != 1 || stats.Warm != 1 || stats.Started != 2 {
			t.Errorf("stats %+v", stats)
		}
		_, err := p.Run(t.Context(), clew.Text("die"))
		if exit := wantExit(t, err); exit.Reason != "was killed" || !isLostError(err) {
			t.Errorf("error %v", err)
		}
		wantRun(t.Context(), t, p, "three")
	})
}
