package clew_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
)

// An agent that may serve several conversations forgets each of them, and ends after the last one.
func TestPoolReuses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		p := openPool(t, c, &clew.PoolOptions{MaxAgents: 1, MaxUses: 3})
		for _, word := range []string{"a", "b", "c", "d"} {
			wantRun(t.Context(), t, p, word)
		}
		want := [][]string{{"a", "/clear", "b", "/clear", "c"}, {"d", "/clear"}}
		synctest.Wait()
		if diff := cmp.Diff(want, c.prompts()); diff != "" {
			t.Errorf("what the agents were asked (-want +got):\n%s", diff)
		}
		if got := p.Stats(); got.Served != 4 || got.Reused != 2 || got.Started != 2 {
			t.Errorf("%+v", got)
		}
	})
}

// An agent that has not forgotten everything, or may not have, is not used again.
func TestPoolDoesNotReuse(t *testing.T) {
	runs := map[string]func(t *testing.T, p *clew.Pool){
		"a run that failed":       failRun,
		"a run that was left":     leaveRun,
		"a run that was given up": giveUpRun,
		"a session":               holdSession,
	}
	for name, prompt := range map[string]string{
		"a new rule": "rule", "another mode": "plan", "a schedule": "schedule", "a command": "/model",
		"the same conversation": "stubborn", "the same session": "stuck", "no answer": "deaf",
	} {
		runs[name] = func(t *testing.T, p *clew.Pool) { wantRun(t.Context(), t, p, prompt) }
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				c := newCrowd()
				p := openPool(t, c, &clew.PoolOptions{MaxUses: 9, MaxAgents: 1})
				run(t, p)
				wantRun(t.Context(), t, p, "next")
				if got := p.Stats(); got.Reused != 0 || got.Started != 2 {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

func failRun(t *testing.T, p *clew.Pool) {
	_, err := p.Run(t.Context(), "fail")
	if _, ok := errors.AsType[*clew.ResultError](err); !ok {
		t.Errorf("error %v", err)
	}
}

func leaveRun(t *testing.T, p *clew.Pool) {
	for _, err := range p.Query(t.Context(), "word") {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func giveUpRun(t *testing.T, p *clew.Pool) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := p.Run(ctx, "wait")
	wantError(t, err, context.DeadlineExceeded)
}

func holdSession(t *testing.T, p *clew.Pool) {
	s, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantTurn(t, s, "Hi", "*wire.InitMessage", "You said Hi", "result: You said Hi")
	wantClosed(t, s)
}

// A caller that stops reading at the last message does not cost the agent.
func TestPoolReuseAfterTheLastMessage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		p := openPool(t, c, &clew.PoolOptions{MaxUses: 9, MaxAgents: 1})
		for msg, err := range p.Query(t.Context(), "word") {
			if err != nil {
				t.Error(err)
			}
			if _, ok := msg.(*clew.ResultMessage); ok {
				break
			}
		}
		wantRun(t.Context(), t, p, "next")
		if got := p.Stats(); got.Reused != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// Agents that were used stay until they are idle for too long: the one that is taken next is the one that was used
// last.
func TestPoolReusesTheNewest(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		p := openPool(t, c, &clew.PoolOptions{MaxUses: 1000, IdleTimeout: time.Hour})
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { wantRun(t.Context(), t, p, "wait") })
		}
		time.Sleep(time.Minute)
		close(c.goOn)
		all.Wait()
		for range 30 {
			wantRun(t.Context(), t, p, "word")
			time.Sleep(10 * time.Minute)
		}
		if got := p.Stats(); got.Started > 10 || got.Reused < 25 || got.Warm > 2 {
			t.Errorf("%+v", got)
		}
	})
}

// What the store has lost of one conversation is nothing for the next caller: the agent is not used again, and Close says
// it.
func TestPoolTellsNobodyElsesLosses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		c := newCrowd()
		c.mirrors = true
		opts := &clew.Options{Transport: c, Store: always(errStore)}
		p, err := clew.NewPool(t.Context(), opts, &clew.PoolOptions{MaxUses: 3})
		if err != nil {
			t.Fatal(err)
		}
		for _, prompt := range []string{"one", "two"} {
			wantRun(t.Context(), t, p, prompt)
			time.Sleep(time.Minute)
		}
		if diff := cmp.Diff([][]string{{"one", "/clear"}, {"two", "/clear"}}, c.prompts()[:2]); diff != "" {
			t.Errorf("prompts (-want +got):\n%s", diff)
		}
		if loss, ok := errors.AsType[*clew.StoreError](p.Close()); !ok || loss.Key != theSession {
			t.Errorf("Close returned %v", loss)
		}
		wantNoGoroutine(t)
	})
}
