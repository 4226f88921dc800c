package fuzzy

import (
	"math"
	"runtime"
	"slices"
	"sync"
)

// A Filter finds the texts of a list that match a query while the user types it. If the query has
// only become narrower, it looks only at the texts that matched before. It is not safe for concurrent
// use. The zero value has no texts.
type Filter struct {
	texts    []Text
	query    Query
	known    bool // found is for query
	found    []uint64
	indexes  []int
	matchers []*Matcher // one for each processor
}

// Set replaces the texts. The slice belongs to the filter from then on.
func (f *Filter) Set(texts []Text) { f.texts, f.known = texts, false }

// Len returns the number of texts.
func (f *Filter) Len() int { return len(f.texts) }

// Find returns the indexes of the texts that match, the best first, and in the order of the list if
// they match equally well, as all do for an empty query. The slice is valid until the next call.
func (f *Filter) Find(q Query) []int {
	if f.known && q.narrows(f.query) {
		f.narrow(q)
	} else {
		f.scan(q)
	}
	f.query, f.known = q, true
	slices.Sort(f.found)
	f.indexes = f.indexes[:0]
	for _, key := range f.found {
		f.indexes = append(f.indexes, int(key&math.MaxUint32))
	}
	return f.indexes
}

// scan looks at all texts.
func (f *Filter) scan(q Query) {
	f.found = f.found[:0]
	for i := range f.texts {
		f.found = append(f.found, uint64(i)) //nolint:gosec // it is not negative
	}
	f.narrow(q)
}

// leastPortion is how many texts a processor gets at least.
const leastPortion = 500

// narrow keeps the texts that match. The processors share the work.
func (f *Filter) narrow(q Query) {
	portions := min(runtime.GOMAXPROCS(0), len(f.found)/leastPortion+1)
	for len(f.matchers) < portions {
		f.matchers = append(f.matchers, new(Matcher))
	}
	kept := make([][]uint64, portions)
	var done sync.WaitGroup
	for n := range portions {
		part := f.found[n*len(f.found)/portions : (n+1)*len(f.found)/portions]
		done.Go(func() { kept[n] = f.match(f.matchers[n], q, part) })
	}
	done.Wait()
	all := f.found[:0]
	for _, part := range kept {
		all = append(all, part...) // it does not reach the next part
	}
	f.found = all
}

// match keeps the keys of the texts that match, in place.
func (f *Filter) match(m *Matcher, q Query, keys []uint64) []uint64 {
	kept := keys[:0]
	for _, key := range keys {
		i := int(key & math.MaxUint32)
		if points, ok := m.Match(q, f.texts[i]); ok {
			kept = append(kept, sortKey(points, i))
		}
	}
	return kept
}

// sortKey returns a number that sorts by points, the most first, then by index.
func sortKey(points, index int) uint64 {
	return uint64(math.MaxInt32-points)<<32 | uint64(uint32(index)) //nolint:gosec // both are small
}
