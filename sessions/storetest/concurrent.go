package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// concurrentTests call methods from several goroutines.
var concurrentTests = map[string]func(*testing.T, sessions.Store){
	"appends to one transcript stay together": func(t *testing.T, s sessions.Store) {
		const writers, appends, size = 8, 10, 5
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for a := range appends {
					first := (w*appends + a) * size
					if err := s.Append(t.Context(), main, numbered(first, first+size)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		got := entryNumbers(t, mustLoad(t, s, main))
		if len(got) != writers*appends*size {
			t.Fatalf("got %d entries, want %d", len(got), writers*appends*size)
		}
		last := map[int]int{}
		for i := 0; i < len(got); i += size {
			for j := range size {
				if got[i+j] != got[i]+j || got[i]%size != 0 {
					t.Fatalf("an append was torn: %v", got[i:i+size])
				}
			}
			writer := got[i] / size / appends
			if before, ok := last[writer]; ok && got[i] <= before {
				t.Errorf("writer %d: %d after %d", writer, got[i], before)
			}
			last[writer] = got[i]
		}
	},
	"the same append from many adds once": func(t *testing.T, s sessions.Store) {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if err := s.Append(t.Context(), main, numbered(0, 20)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		checkLoad(t, s, main, numbered(0, 20))
	},
	"appends to many transcripts": func(t *testing.T, s sessions.Store) {
		const sessionCount = 12
		key := func(i int) wire.SessionKey {
			return wire.SessionKey{Project: main.Project, SessionID: fmt.Sprintf("session-%d", i)}
		}
		var wg sync.WaitGroup
		for i := range sessionCount {
			wg.Go(func() {
				below := key(i)
				below.Subpath = "subagents/agent-1"
				for a := range 8 {
					for _, k := range []wire.SessionKey{key(i), below} {
						if err := s.Append(t.Context(), k, numbered(a*3, a*3+3)); err != nil {
							t.Error(err)
						}
					}
				}
			})
		}
		wg.Wait()
		for i := range sessionCount {
			checkLoad(t, s, key(i), numbered(0, 24))
			checkSubpaths(t, s, key(i), "subagents/agent-1")
		}
	},
	"a load during appends sees whole appends": func(t *testing.T, s sessions.Store) {
		const appends, size = 40, 5
		var done atomic.Bool
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			defer done.Store(true)
			for a := range appends {
				if err := s.Append(t.Context(), main, numbered(a*size, (a+1)*size)); err != nil {
					t.Error(err)
				}
			}
		})
		seen := 0
		for last := false; !last; {
			last = done.Load()
			got := entryNumbers(t, mustLoad(t, s, main))
			for i, number := range got {
				if number != i {
					t.Fatalf("entry %d is %d", i, number)
				}
			}
			if len(got) < seen || len(got)%size != 0 {
				t.Fatalf("got %d entries after %d", len(got), seen)
			}
			seen = len(got)
		}
		if seen != appends*size {
			t.Errorf("got %d entries, want %d", seen, appends*size)
		}
	},
	"deletes beside appends": func(t *testing.T, s sessions.Store) {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for a := range 10 {
					if err := s.Append(t.Context(), main, numbered(a*10+i, a*10+i+1)); err != nil {
						t.Error(err)
					}
					if err := s.Delete(t.Context(), main); err != nil {
						t.Error(err)
					}
					if err := s.Append(t.Context(), other, numbered(a*10+i, a*10+i+1)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		mustDelete(t, s, main)
		checkSessions(t, s, main.Project, other.SessionID)
		if got := len(mustLoad(t, s, other)); got != 40 {
			t.Errorf("got %d entries of the other session, want 40", got)
		}
	},
}

func entryNumbers(t *testing.T, entries []wire.JSON) []int {
	t.Helper()
	numbers := make([]int, len(entries))
	for i, entry := range entries {
		var value struct{ Number int }
		if err := entry.Decode(&value); err != nil {
			t.Fatal(err)
		}
		numbers[i] = value.Number
	}
	return numbers
}
