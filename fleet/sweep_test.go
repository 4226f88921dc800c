package fleet

import "testing"

// TestRank spreads chores over the workers, and gives each worker another turn.
func TestRank(t *testing.T) {
	t.Parallel()
	var live []string
	for range 5 {
		live = append(live, newID())
	}
	const chores = 5000
	first := map[string]int{}
	for range chores {
		key := "job " + newID()
		ranks := map[int]bool{}
		for _, id := range live {
			rank := rankOf(key, id, live)
			ranks[rank] = true
			if rank == 0 {
				first[id]++
			}
		}
		if len(ranks) != len(live) {
			t.Fatalf("the turns are %v", ranks)
		}
	}
	for id, n := range first {
		if n < chores/10 || n > chores*3/10 {
			t.Errorf("the worker %s is the first one for %d of %d chores", id, n, chores)
		}
	}
	if rank := rankOf("job", "", live); rank != len(live) {
		t.Errorf("a worker without a lease has turn %d", rank)
	}
}
