package clew_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
)

// Drain refuses new callers, serves those in line, and waits for what is in use.
func TestPoolDrains(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
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
		_, err = p.Run(t.Context(), "too late")
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
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
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
	inBubble(t, func(t *testing.T) {
		p := openPool(t, newCrowd(), nil)
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

// Close ends what runs, what waits, what starts and what forgets, from everywhere at once.
func TestPoolCloses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		p := openPool(t, c, &clew.PoolOptions{MaxUses: 2, MaxAgents: 3})
		var all sync.WaitGroup
		for _, prompt := range []string{"word", "deaf", "wait", "wait", "wait", "wait"} {
			all.Go(func() {
				_, err := p.Run(t.Context(), prompt)
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

// A pool can be closed by the loop over one of its own queries.
func TestPoolClosesItself(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := openPool(t, newCrowd(), &clew.PoolOptions{MaxUses: 2})
		var last error
		for _, err := range p.Query(t.Context(), "word") {
			last = err
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		}
		wantError(t, last, clew.ErrPoolClosed)
	})
}

// Callers of all kinds come and go, agents die and fail to start, and all the while the rules are kept.
func TestPoolUnderStress(t *testing.T) {
	t.Parallel()
	c := newCrowd()
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
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for j := range 20 {
				stress(t, p, i, j)
			}
		})
	}
	all.Wait()
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
		if _, err := p.Run(ctx, "die"); err == nil {
			t.Error("no error of an agent that died")
		}
	case 1:
		go cancel()
		_, _ = p.Run(ctx, prompt)
	case 2:
		if s, err := p.Connect(ctx); err == nil {
			wantTurn(t, s, prompt, "*wire.InitMessage", "You said "+prompt, "result: You said "+prompt)
			wantClosed(t, s)
		}
	default:
		result, err := p.Run(ctx, prompt)
		if err != nil && !errors.Is(err, errBroken) || err == nil && result.Result != "You said "+prompt {
			t.Errorf("result %v, error %v", result, err)
		}
	}
}
