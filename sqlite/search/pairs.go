package search

import (
	"encoding/binary"
	"math"
)

// A pair is a hash of two words that follow each other in a text.
type pair uint32

// pairOf returns the pair of two words, given their hashes.
func pairOf(first, second uint32) pair { return pair(mix(first*31 + second)) }

// wordSum returns the hash of a word: FNV-1a, which is the same in all processes.
func wordSum[T string | []byte](word T) uint32 {
	sum := uint32(2166136261)
	for i := range len(word) {
		sum = (sum ^ uint32(word[i])) * 16777619
	}
	return sum
}

// mix makes each bit of a hash depend on all others.
func mix(sum uint32) uint32 {
	sum = (sum ^ sum>>16) * 0x7feb352d
	sum = (sum ^ sum>>15) * 0x846ca68b
	return sum ^ sum>>16
}

// A pairFilter is a Bloom filter of the pairs of a text. With it, most texts that have the words of
// a phrase, but not the phrase, need not be read.
type pairFilter []byte

const (
	pairBits   = 8 // bits of a filter for each pair
	pairProbes = 3
)

func newPairFilter(pairs []pair) pairFilter {
	f := make(pairFilter, (len(pairs)*pairBits+7)/8)
	for _, p := range pairs {
		for range pairProbes {
			at := f.bit(p)
			f[at/8] |= 1 << (at % 8)
			p = pair(mix(uint32(p)))
		}
	}
	return f
}

func (f pairFilter) bit(p pair) uint64 { return uint64(p) * uint64(len(f)*8) >> 32 }

// mayHave reports whether the text may have all of the pairs.
func (f pairFilter) mayHave(pairs []pair) bool {
	for _, p := range pairs {
		for range pairProbes {
			at := f.bit(p)
			if len(f) == 0 || f[at/8]&(1<<(at%8)) == 0 {
				return false
			}
			p = pair(mix(uint32(p)))
		}
	}
	return true
}

func encodeFilters(filters []pairFilter) []byte {
	var data []byte
	for _, f := range filters {
		data = append(binary.AppendUvarint(data, uint64(len(f))), f...)
	}
	return data
}

// decodeFilters appends filters, which share the memory of the data, to a list.
func decodeFilters(filters []pairFilter, data []byte) ([]pairFilter, error) {
	r := locationReader{data: data}
	for r.more() && !r.bad {
		filters = append(filters, r.bytes(r.size()))
	}
	if r.bad {
		return nil, errDamaged
	}
	return filters, nil
}

// A pairList collects the pairs of one text after the other. It omits most repeated ones.
type pairList struct {
	list   []pair
	recent []uint64 // the last text and pair of each slot
	text   uint64
	last   uint32 // the hash of the word before
	begun  bool
}

// begin starts a text.
func (l *pairList) begin() {
	if l.text++; l.recent == nil || l.text > math.MaxUint32 {
		l.recent, l.text = make([]uint64, 1<<14), 1
	}
	l.list, l.begun = l.list[:0], false
}

// add adds the next word of the text.
func (l *pairList) add(word []byte) {
	sum := wordSum(word)
	p := pairOf(l.last, sum)
	if entry := l.text<<32 | uint64(p); l.begun && l.recent[p%(1<<14)] != entry {
		l.recent[p%(1<<14)] = entry
		l.list = append(l.list, p)
	}
	l.last, l.begun = sum, true
}
