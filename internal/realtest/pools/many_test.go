package pools_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

// Fifty callers at once share four agents, and each gets its own answer.
func TestRealPoolOfFour(t *testing.T) {
	for name, test := range map[string]struct{ uses, started int }{
		"an agent for each":     {1, 54},
		"agents that serve ten": {10, 12},
	} {
		t.Run(name, func(t *testing.T) {
			model := clewtest.NewModel(t)
			for i := range 50 {
				model.On(fmt.Sprintf("number %d.", i)).Reply(clewtest.Text(fmt.Sprintf("It is %d.", i)))
			}
			processes := new(counter)
			opts := over(t, model, &clew.Options{Transport: processes})
			p := open(t, opts, &clew.PoolOptions{Warm: 4, MaxAgents: 4, MaxUses: test.uses})
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					result, err := p.Run(t.Context(), fmt.Sprintf("Say number %d.", i))
					if err != nil || result.Result != fmt.Sprintf("It is %d.", i) {
						t.Errorf("%d: result %v, error %v", i, result, err)
					}
				})
			}
			all.Wait()
			stats := p.Stats()
			if err := p.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if alive, most := processes.counts(); alive != 0 || most > 4 {
				t.Errorf("%d processes are left, there were %d at once", alive, most)
			}
			if stats.Served != 50 || stats.Started > test.started || stats.Failed+stats.Died > 0 {
				t.Errorf("%+v", stats)
			}
			if got := len(model.Requests()); got != 50 {
				t.Errorf("the model was asked %d times", got)
			}
		})
	}
}
