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
	texts   []Text
	query   Query
	known   bool     // found is for query
	found   []uint64 // see sortKey
	indexes []int
	workers []worker
}

// A worker compares a part of the texts.
type worker struct {
	matcher Matcher
	found   []uint64
}

// Set replaces the texts. The slice belongs to the filter from then on.
func (f *Filter) Set(texts []Text) { f.texts, f.known = texts, false }

// Len returns the number of texts.
func (f *Filter) Len() int { return len(f.texts) }

// Find returns the indexes of the texts that match, the best first, and in the order of the list if
// they match equally well, as all do for an empty query. The slice is valid until the next call.
func (f *Filter) Find(q Query) []int {
	if f.known && q.narrows(f.query) {
		f.scan(q, len(f.found), func(i int) int { return int(f.found[i] & math.MaxUint32) })
	} else {
		f.scan(q, len(f.texts), func(i int) int { return i })
	}
	f.query, f.known = q, true
	slices.Sort(f.found)
	f.indexes = f.indexes[:0]
	for _, key := range f.found {
		f.indexes = append(f.indexes, int(key&math.MaxUint32))
	}
	return f.indexes
}

// minShared is the minimum number of texts for another worker.
const minShared = 1000

// scan compares n texts, of which at returns the indexes, and keeps the matches.
func (f *Filter) scan(q Query, n int, at func(int) int) {
	count := max(min(runtime.GOMAXPROCS(0), n/minShared), 1)
	for len(f.workers) < count {
		f.workers = append(f.workers, worker{})
	}
	var all sync.WaitGroup
	for k := range count {
		all.Go(func() { f.workers[k].scan(q, f.texts, k*n/count, (k+1)*n/count, at) })
	}
	all.Wait()
	f.found = f.found[:0]
	for k := range count {
		f.found = append(f.found, f.workers[k].found...)
	}
}

func (w *worker) scan(q Query, texts []Text, from, to int, at func(int) int) {
	w.found = w.found[:0]
	for i := from; i < to; i++ {
		index := at(i)
		if points, ok := w.matcher.Match(q, texts[index]); ok {
			w.found = append(w.found, sortKey(points, index))
		}
	}
}

// sortKey returns a number that sorts by points, the most first, then by index.
func sortKey(points, index int) uint64 {
	return uint64(math.MaxInt32-points)<<32 | uint64(uint32(index)) //nolint:gosec // both are small
}
