package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/soak"
)

func TestPoolOptionsRefused(t *testing.T) {
	t.Parallel()
	const id = "11111111-2222-4333-8444-555555555555"
	twice := &clew.PoolOptions{MaxUses: 2}
	for name, test := range map[string]struct {
		opts   *clew.Options
		config *clew.PoolOptions
		option string
	}{
		"a session to resume":         {&clew.Options{Session: clew.SessionOptions{Resume: id}}, nil, "Session.Resume"},
		"a session to continue":       {&clew.Options{Session: clew.SessionOptions{Continue: true, Fork: true}}, nil, "Session.Continue"},
		"an id":                       {&clew.Options{Session: clew.SessionOptions{ID: id}}, nil, "Session.ID"},
		"a title":                     {&clew.Options{Session: clew.SessionOptions{Title: "Threads"}}, nil, "Session.Title"},
		"a recording":                 {&clew.Options{Debug: clew.DebugOptions{Record: new(discard)}}, nil, "Debug.Record"},
		"what a session refuses":      {&clew.Options{Limits: clew.Limits{MaxTurns: -1}}, nil, "Limits.MaxTurns"},
		"fewer than none":             {nil, &clew.PoolOptions{Warm: -1}, "PoolOptions.Warm"},
		"more ready than there are":   {nil, &clew.PoolOptions{Warm: 3, MaxAgents: 2}, "PoolOptions.MaxAgents"},
		"no uses":                     {nil, &clew.PoolOptions{MaxUses: -1}, "PoolOptions.MaxUses"},
		"a negative limit":            {nil, &clew.PoolOptions{IdleTimeout: -1}, "PoolOptions.IdleTimeout"},
		"a negative interval":         {nil, &clew.PoolOptions{HealthInterval: -1}, "PoolOptions.HealthInterval"},
		"no commands, but uses":       {&clew.Options{DisableSlashCommands: true}, twice, "DisableSlashCommands"},
		"prompts as they are, and so": {&clew.Options{VerbatimPrompts: true}, twice, "VerbatimPrompts"},
		"suggestions that come late":  {&clew.Options{PromptSuggestions: true}, twice, "PromptSuggestions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := clew.NewPool(t.Context(), test.opts, test.config)
			if bad, ok := errors.AsType[*clew.OptionsError](err); !ok || bad.Option != test.option {
				t.Errorf("error %v, want one about %s", err, test.option)
			}
		})
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

func TestPoolWithoutAnAgent(t *testing.T) {
	t.Parallel()
	opts := &clew.Options{AgentPath: filepath.Join(t.TempDir(), "claude")}
	_, err := clew.NewPool(t.Context(), opts, &clew.PoolOptions{Warm: 2})
	if _, ok := errors.AsType[*clew.NotFoundError](err); !ok {
		t.Errorf("error %v", err)
	}
}

// NewPool waits for one agent, and fails when none comes up or its context ends.
func TestPoolOpens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		c.broken = func(n int) error {
			if n == 1 {
				return errBroken
			}
			return nil
		}
		begin := time.Now()
		p := openPool(t, c, &clew.PoolOptions{Warm: 2})
		wantElapsed(t, begin, c.slow)
		time.Sleep(c.slow)
		synctest.Wait()
		if diff := cmp.Diff(clew.PoolStats{Warm: 2, Started: 3, Failed: 1}, p.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}

		c.broken = func(int) error { return errBroken }
		_, err := clew.NewPool(t.Context(), &clew.Options{Transport: c}, &clew.PoolOptions{Warm: 2})
		wantError(t, err, errBroken)

		ctx, cancel := context.WithTimeout(t.Context(), c.slow/2)
		defer cancel()
		_, err = clew.NewPool(ctx, &clew.Options{Transport: c}, nil)
		wantError(t, err, context.DeadlineExceeded)
	})
}

// Agents that can't be started are tried again, less and less often. When many starts in a row have
// failed, callers get the error of the next one.
func TestPoolBacksOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, nil)
		c.broken = func(int) error { return errBroken }
		wantRun(t.Context(), t, p, "first")
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if tries := len(c.tries); tries < 12 || tries > 16 {
			t.Errorf("%d starts in four minutes", tries)
		}
		begin := time.Now()
		_, err := p.Run(t.Context(), clew.Text("second"))
		wantError(t, err, errBroken)
		wantElapsed(t, begin, c.slow)
		c.broken = nil
		wantRun(t.Context(), t, p, "third")
		time.Sleep(time.Second)
		synctest.Wait()
		if got := p.Stats(); got.Warm != 1 || got.Failed < 8 {
			t.Errorf("%+v", got)
		}
	})
}

// An agent that dies while it waits is replaced at once, and an agent that dies just before its
// prompt costs nothing.
func TestPoolAgentDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{Warm: 2})
		synctest.Wait()
		c.agent(1).kill()
		synctest.Wait()
		if got := p.Stats(); got.Died != 1 || got.Warm+got.Starting != 2 {
			t.Errorf("%+v", got)
		}
		time.Sleep(time.Second)
		c.agent(2).kill() // and nobody noticed
		wantRun(t.Context(), t, p, "word")
		if got := p.Stats(); got.Served < 1 {
			t.Errorf("%+v", got)
		}
		_, err := p.Run(t.Context(), clew.Text("die"))
		_ = wantExit(t, err)
	})
}

// An agent that dies over and over again does not keep the machine busy.
func TestPoolAgentsThatDie(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, nil)
		for range 100 {
			time.Sleep(time.Second)
			if started, alive, _ := c.counts(); alive > 0 {
				c.agent(started).kill()
			}
		}
		if started, _, _ := c.counts(); started > 12 {
			t.Errorf("%d agents were started", started)
		}
		wantRun(t.Context(), t, p, "word")
	})
}

// An agent that waits for too long is ended, and no other is started before somebody comes.
func TestPoolAgentIsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{Warm: 2, IdleTimeout: time.Hour})
		time.Sleep(59 * time.Minute)
		if _, alive, _ := c.counts(); alive != 2 {
			t.Errorf("%d agents before the time", alive)
		}
		time.Sleep(23 * time.Hour)
		synctest.Wait()
		if diff := cmp.Diff(clew.PoolStats{Started: 2}, p.Stats()); diff != "" {
			t.Errorf("after a day (-want +got):\n%s", diff)
		}
		begin := time.Now()
		wantRun(t.Context(), t, p, "word")
		wantElapsed(t, begin, c.slow)
		synctest.Wait()
		if got := p.Stats(); got.Warm != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// An agent that does not answer any more is found and replaced.
func TestPoolAgentHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{HealthInterval: time.Minute})
		synctest.Wait()
		c.agent(1).hang()
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(clew.PoolStats{Warm: 1, Started: 2, Died: 1}, p.Stats()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		wantRun(t.Context(), t, p, "word")
	})
}

// Drain refuses new callers, serves callers in line, and waits for agents in use.
func TestPoolDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{Warm: 2, MaxAgents: 2})
		held, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { wantRun(t.Context(), t, p, "wait") })
		}
		synctest.Wait()
		all.Go(func() {
			if err := p.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if _, alive, _ := c.counts(); alive > 0 {
				t.Errorf("%d agents are left", alive)
			}
		})
		synctest.Wait()
		_, err = p.Run(t.Context(), clew.Text("too late"))
		wantError(t, err, clew.ErrPoolClosed)
		close(c.goOn)
		time.Sleep(time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(1, p.Stats().InUse); diff != "" {
			t.Errorf("in use (-want +got):\n%s", diff)
		}
		wantTurn(t, held, "Hi", "*wire.InitMessage", "You said Hi", "result: You said Hi")
		wantClosed(t, held)
		all.Wait()
		if got := p.Stats(); got.Served != 4 {
			t.Errorf("%+v", got)
		}
		if err := p.Drain(t.Context()); err != nil {
			t.Errorf("once more: %v", err)
		}
	})
}

// A drain does not wait for an agent that nobody waits for any more.
func TestPoolDrainsAnEmptyLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{MaxAgents: 1})
		c.slow = time.Hour
		wantRun(t.Context(), t, p, "word")
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		go func() {
			_, err := p.Connect(ctx)
			wantError(t, err, context.DeadlineExceeded)
		}()
		synctest.Wait()
		if err := p.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		wantElapsed(t, begin, time.Second)
	})
}

func TestPoolDrainGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := openPool(t, newFakeTransport(), nil)
		s, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantError(t, p.Drain(ctx), context.DeadlineExceeded)
		wantTurn(t, s, "Hi", "*wire.InitMessage", "You said Hi", "result: You said Hi")
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		wantError(t, s.Err(), clew.ErrClosed)
	})
}

// Close ends agents that run, wait, start or forget, from everywhere at once.
func TestPoolCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		p := openPool(t, c, &clew.PoolOptions{MaxUses: 2, MaxAgents: 3})
		var all sync.WaitGroup
		for _, prompt := range []string{"word", "deaf", "wait", "wait", "wait", "wait"} {
			all.Go(func() {
				_, err := p.Run(t.Context(), clew.Text(prompt))
				if prompt == "wait" {
					wantError(t, err, clew.ErrPoolClosed)
				}
			})
		}
		time.Sleep(3 * time.Second)
		begin := time.Now()
		for range 3 {
			all.Go(func() {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("it took %v", took)
		}
		_, err := p.Connect(t.Context())
		wantError(t, err, clew.ErrPoolClosed)
		if s := p.Stats(); s.Waiting+s.InUse+s.Warm+s.Starting+s.Ending > 0 {
			t.Errorf("%+v", s)
		}
	})
}

// A pool can be closed by a loop over one of its queries.
func TestPoolClosesItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := openPool(t, newFakeTransport(), &clew.PoolOptions{MaxUses: 2})
		var last error
		for _, err := range p.Query(t.Context(), clew.Text("word")) {
			last = err
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		wantError(t, last, clew.ErrPoolClosed)
	})
}

// Callers of all kinds come and go, agents die and fail to start, and all the while the rules are
// kept.
func TestPoolUnderStress(t *testing.T) {
	soak.Search(t)
	t.Parallel()
	c, p := stressed(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for j := range 20 {
				stress(t, p, i, j)
			}
		})
	}
	all.Wait()
	wantDrained(t, c, p)
}

// The same, with one caller at a time.
func TestPoolWithCallersOfAllKinds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := stressed(t)
		for i := range 25 {
			stress(t, p, i, 0)
		}
		wantDrained(t, c, p)
	})
}

// stressed opens a pool of at most 5 agents, some of which don't start.
func stressed(t *testing.T) (*fakeTransport, *clew.Pool) {
	t.Helper()
	c := newFakeTransport()
	c.slow = time.Millisecond
	c.broken = func(n int) error {
		if n%7 == 0 {
			return errBroken
		}
		return nil
	}
	p, err := clew.NewPool(t.Context(), &clew.Options{Transport: c}, &clew.PoolOptions{
		Warm: 2, MaxAgents: 5, MaxUses: 3, IdleTimeout: 3 * time.Millisecond, HealthInterval: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// wantDrained drains a pool, and checks that it kept to its limit and leaves no agent.
func wantDrained(t *testing.T, c *fakeTransport, p *clew.Pool) {
	t.Helper()
	if err := p.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if _, alive, most := c.counts(); alive > 0 || most > 5 {
		t.Errorf("%d agents are left, and there were %d at once", alive, most)
	}
	t.Logf("%+v", p.Stats())
}

func stress(t *testing.T, p *clew.Pool, i, j int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch prompt := fmt.Sprint("word ", i, " ", j); (i + j) % 5 {
	case 0:
		if _, err := p.Run(ctx, clew.Text("die")); !isLostError(err) {
			t.Errorf("error %v of an agent that died", err)
		}
	case 1:
		go cancel()
		_, _ = p.Run(ctx, clew.Text(prompt))
	case 2:
		if s, err := p.Connect(ctx); err == nil {
			wantTurn(t, s, prompt, "*wire.InitMessage", "You said "+prompt, "result: You said "+prompt)
			wantClosed(t, s)
		}
	default:
		result, err := p.Run(ctx, clew.Text(prompt))
		if err != nil || result.Result != "You said "+prompt {
			t.Errorf("result %v, error %v", result, err)
		}
	}
}
