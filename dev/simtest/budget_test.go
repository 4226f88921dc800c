package simtest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// limitIn returns the limit of the costs that an agent is started with, or "".
func limitIn(launch *clew.Launch) string {
	const flag = "--max-budget-usd="
	i := slices.IndexFunc(launch.Args, func(arg string) bool { return strings.HasPrefix(arg, flag) })
	if i < 0 {
		return ""
	}
	return strings.TrimPrefix(launch.Args[i], flag)
}

// costing returns a result after which the session has cost so much.
func costing(total float64) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","total_cost_usd":%v,"session_id":"s"}`, total)
}

// wantSpent checks what is spent, and that the error is about that, if it should be.
func wantSpent(t *testing.T, b *clew.Budget, spent float64, err error, refused bool) {
	t.Helper()
	if math.Abs(b.SpentUSD()-spent) > 1e-9 {
		t.Errorf("spent %v, want %v", b.SpentUSD(), spent)
	}
	if errors.Is(err, clew.ErrBudgetSpent) != refused {
		t.Errorf("error %v", err)
	}
}

// Runs that share a budget are limited by the rest of it, and refused when nothing is left.
func TestBudgetOfRuns(t *testing.T) {
	t.Parallel()
	budget := &clew.Budget{LimitUSD: 1}
	var limits []string
	run := func(max float64) error {
		opts := &clew.Options{Limits: clew.Limits{Budget: budget, MaxBudgetUSD: max}}
		opts.Transport = clew.TransportFunc(func(_ context.Context, launch *clew.Launch) (clew.Connection, error) {
			limits = append(limits, limitIn(launch))
			return clewtest.NewAgent(t, asked().Send(costing(0.375))).Conn(), nil
		})
		_, err := clew.Run(t.Context(), "Hi", opts)
		return err
	}
	wantSpent(t, budget, 0.375, run(0), false)
	wantSpent(t, budget, 0.75, run(0.5), false)
	wantSpent(t, budget, 1.125, run(0.5), false)
	err := run(0)
	wantSpent(t, budget, 1.125, err, true)
	if want := "clew: the budget is spent: $1.1250 of $1.0000"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
	if diff := cmp.Diff([]string{"1", "0.5", "0.25"}, limits); diff != "" || budget.LeftUSD() != 0 {
		t.Errorf("limits (-want +got), left %v:\n%s", budget.LeftUSD(), diff)
	}
}

// The results of a session add up their own costs, whatever total the agent starts with.
func TestBudgetOfTurns(t *testing.T) {
	const since = `{"type":"result","subtype":"success","total_cost_usd":%v,"session_id":"s",` +
		`"model_usage_since_last_result":{"a":{"costUSD":0.25},"b":{"costUSD":0.125}}}`
	for name, test := range map[string]struct {
		results []string
		spent   []float64
	}{
		"totals":                   {[]string{costing(0.25), costing(0.25), costing(0.75)}, []float64{0.25, 0.25, 0.75}},
		"differences":              {[]string{fmt.Sprintf(since, 7.375), fmt.Sprintf(since, 7.75)}, []float64{0.375, 0.75}},
		"a new session":            {[]string{costing(0.5), strings.Replace(costing(0.25), `"s"`, `"other"`, 1)}, []float64{0.5, 0.75}},
		"a lower total":            {[]string{costing(0.5), costing(0.25)}, []float64{0.5, 0.75}},
		"a result without a total": {[]string{costing(0.5), costing(0), costing(0.75)}, []float64{0.5, 0.5, 0.75}},
		"nonsense":                 {[]string{costing(-3), `{"type":"result","subtype":"success","session_id":"s"}`}, []float64{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				scenario := greeted()
				for _, result := range test.results {
					scenario = scenario.Expect(aPrompt).Send(result)
				}
				budget := &clew.Budget{LimitUSD: 10}
				opts := overMemory(clewtest.NewAgent(t, scenario))
				opts.Limits.Budget = budget
				s := connectTo(t, opts)
				for _, spent := range test.spent {
					_, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
					wantSpent(t, budget, spent, err, false)
				}
			})
		})
	}
}

// An agent that takes the place of another counts its costs from zero, in the same session.
func TestBudgetAfterReconnect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := &clew.Budget{LimitUSD: 10}
		turn := func(total float64) *clewtest.Scenario { return greeted().Expect(aPrompt).Send(costing(total)) }
		agents := startSequence(t, turn(0.5), turn(0.75).Expect(aPrompt).Send(costing(1)), turn(0.25))
		s := agents.open(&clew.Options{Limits: clew.Limits{Budget: budget}})
		for _, spent := range []float64{0.5, 1.25, 1.5, 1.75} {
			_, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
			wantSpent(t, budget, spent, err, false)
			if err != nil {
				t.Fatal(err)
			}
			if spent == 0.5 || spent == 1.5 {
				agents.kill()
			}
		}
	})
}

// A session whose budget is spent, even by others, sends no prompt.
func TestBudgetRefusesPrompts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := &clew.Budget{LimitUSD: 1}
		opts := overMemory(clewtest.NewAgent(t, asked().Send(costing(1))))
		opts.Limits.Budget = budget
		s := connectTo(t, opts)
		waiting := overMemory(clewtest.NewAgent(t, greeted()))
		waiting.Limits.Budget = budget
		other := connectTo(t, waiting)
		_, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi")))
		wantSpent(t, budget, 1, err, false)
		_, err = readOut(t, other.Turn(t.Context(), clew.Text("Hi")))
		wantSpent(t, budget, 1, err, true)
		_, err = other.Send(t.Context(), clew.Text("Hi"))
		wantSpent(t, budget, 1, err, true)
		unstarted := neverStarted(t)
		unstarted.Limits.Budget = budget
		_, err = clew.Connect(t.Context(), unstarted)
		wantSpent(t, budget, 1, err, true)
	})
}

// The runs of a pool share its budget, and an agent that could spend far too much is replaced.
func TestBudgetOfPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		c.cost = 0.75
		budget := &clew.Budget{LimitUSD: 1}
		p, err := clew.NewPool(t.Context(), &clew.Options{Transport: c, Limits: clew.Limits{Budget: budget}}, &clew.PoolOptions{Warm: 2})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		wantRun(t.Context(), t, p, "first")
		wantRun(t.Context(), t, p, "second")
		_, err = p.Run(t.Context(), clew.Text("third"))
		wantSpent(t, budget, 1.5, err, true)
		_, err = p.Connect(t.Context())
		wantSpent(t, budget, 1.5, err, true)
		c.mu.Lock()
		defer c.mu.Unlock()
		if asked := slices.IndexFunc(c.agents, func(a *fakeAgent) bool { return slices.Contains(a.prompts, "second") }); c.agents[asked].limit != "0.25" {
			t.Errorf("agent %d was asked second, which has the limit %s", asked, c.agents[asked].limit)
		}
	})
}

// A pool whose budget is spent starts no agent, for however long it is open.
func TestBudgetOfPoolThatRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		c.cost = 1
		p, err := clew.NewPool(t.Context(), &clew.Options{Transport: c, Limits: clew.Limits{Budget: &clew.Budget{LimitUSD: 1}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		wantRun(t.Context(), t, p, "only")
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		// The second start may come before the budget is spent, and fail because of it.
		if got := p.Stats(); got.Started > 2 || got.Failed > 1 || got.Warm > 0 {
			t.Errorf("a day later: %+v", got)
		}
		if err := p.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Callers that wait for an agent of a pool are refused when its budget is spent, and don't wait for
// the agent of the caller who has spent it.
func TestBudgetOfPoolRefusesWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeTransport()
		c.cost = 1
		budget := &clew.Budget{LimitUSD: 1}
		p, err := clew.NewPool(t.Context(), &clew.Options{Transport: c, Limits: clew.Limits{Budget: budget}}, &clew.PoolOptions{MaxAgents: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		s, err := p.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		refused := make(chan error, 2)
		for range cap(refused) {
			go func() {
				_, err := p.Run(t.Context(), clew.Text("Hi"))
				refused <- err
			}()
		}
		synctest.Wait()
		if got := p.Stats().Waiting; got != cap(refused) {
			t.Errorf("%d callers wait", got)
		}
		if _, err := readOut(t, s.Turn(t.Context(), clew.Text("Hi"))); err != nil {
			t.Error(err)
		}
		for range cap(refused) {
			wantSpent(t, budget, 1, <-refused, true)
		}
		if got := p.Stats(); got.Waiting != 0 || got.InUse != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// A budget may be used by many goroutines at once.
func TestBudgetAtOnce(t *testing.T) {
	t.Parallel()
	budget := &clew.Budget{LimitUSD: 100}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			opts := overMemory(clewtest.NewAgent(t, asked().Send(costing(0.5))))
			opts.Limits.Budget = budget
			if _, err := clew.Run(t.Context(), "Hi", opts); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	wantSpent(t, budget, 4, nil, false)
}
