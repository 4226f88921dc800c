package redact

import (
	"cmp"
	"slices"
	"sync"
)

// A finder finds the anchors of all rules in one pass over a text, without regard to case. It is an
// automaton after Aho and Corasick: a state for each beginning of an anchor.
type finder struct {
	classes [256]uint8 // of bytes; 0 is for those that no anchor has
	next    []uint16   // the next state, by state and class
	ends    [][]anchor // the anchors that end in a state
	pool    sync.Pool  // of *hits
}

// An anchor is one text of one rule.
type anchor struct {
	rule   int
	number uint16 // among the anchors of the rule
	length int    // of the part that is searched
}

const (
	classBits = 6
	// maxAnchor bounds the part of an anchor that is searched, and so the number of states. The
	// pattern of the rule checks the rest.
	maxAnchor = 8
	// ending marks a state in which an anchor ends, in the table of states.
	ending = 1 << 15
)

// newFinder returns a finder for the anchors of each rule, in lower case.
func newFinder(rules [][]string) *finder {
	f := &finder{next: make([]uint16, 1<<classBits), ends: make([][]anchor, 1)}
	classes := uint8(0)
	for rule, anchors := range rules {
		for number, text := range anchors {
			text = text[:min(len(text), maxAnchor)]
			state := 0
			for i := range len(text) {
				c := text[i]
				if f.classes[c] == 0 {
					classes++
					f.classes[c] = classes
				}
				state = f.grow(state, f.classes[c])
			}
			f.ends[state] = append(f.ends[state], anchor{rule, uint16(number), len(text)})
		}
	}
	for c := 'A'; c <= 'Z'; c++ {
		f.classes[c] = f.classes[c+'a'-'A']
	}
	f.link()
	for i, state := range f.next {
		if len(f.ends[state]) > 0 {
			f.next[i] |= ending
		}
	}
	f.pool.New = func() any { return &hits{at: make([][]hit, len(rules))} }
	return f
}

// grow returns the state after a character, and makes it if it is missing.
func (f *finder) grow(state int, class uint8) int {
	slot := &f.next[state<<classBits|int(class)]
	if *slot != 0 {
		return int(*slot)
	}
	made := len(f.ends)
	*slot = uint16(made)
	f.ends = append(f.ends, nil)
	f.next = append(f.next, make([]uint16, 1<<classBits)...)
	return made
}

// link completes the table: where an anchor can't continue, the search continues in the state of
// the longest text that it ends with.
func (f *finder) link() {
	fallback := make([]uint16, len(f.ends))
	queue := []uint16{0}
	for len(queue) > 0 {
		state := int(queue[0])
		queue = queue[1:]
		if state != 0 {
			f.ends[state] = append(f.ends[state], f.ends[fallback[state]]...)
		}
		for class := range 1 << classBits {
			slot := &f.next[state<<classBits|class]
			other := f.next[int(fallback[state])<<classBits|class]
			switch {
			case *slot != 0:
				if state != 0 {
					fallback[*slot] = other
				}
				queue = append(queue, *slot)
			case state != 0:
				*slot = other
			}
		}
	}
}

// A hit is a place where an anchor of a rule is.
type hit struct {
	at     int
	number uint16 // of the anchor
}

// hits are the places of the anchors in a text, by rule. They are taken from a pool and released.
type hits struct {
	at     [][]hit
	active []int // the rules that have a hit, in the order of the rules
}

// find returns the places of all anchors in text.
func (f *finder) find(text string) *hits {
	h, _ := f.pool.Get().(*hits)
	state := 0
	for i := range len(text) {
		next := f.next[state<<classBits|int(f.classes[text[i]])]
		state = int(next &^ ending)
		if next&ending == 0 {
			continue
		}
		for _, a := range f.ends[state] {
			if len(h.at[a.rule]) == 0 {
				h.active = append(h.active, a.rule)
			}
			h.at[a.rule] = append(h.at[a.rule], hit{i + 1 - a.length, a.number})
		}
	}
	slices.Sort(h.active)
	for _, rule := range h.active {
		slices.SortFunc(h.at[rule], func(a, b hit) int { return cmp.Or(a.at-b.at, int(a.number)-int(b.number)) })
	}
	return h
}

// release empties the hits and returns them to their pool.
func (f *finder) release(h *hits) {
	for _, rule := range h.active {
		h.at[rule] = h.at[rule][:0]
	}
	h.active = h.active[:0]
	f.pool.Put(h)
}

// move changes the places of the rules after the given one, for a text in which each span was
// replaced by a text of the given length. Anchors in a span are gone.
func (h *hits) move(after int, spans [][2]int, length int) {
	for _, rule := range h.active {
		if rule <= after {
			continue
		}
		kept, done, shift := h.at[rule][:0], 0, 0
		for _, place := range h.at[rule] {
			for done < len(spans) && spans[done][1] <= place.at {
				shift += length - (spans[done][1] - spans[done][0])
				done++
			}
			if done == len(spans) || place.at < spans[done][0] {
				kept = append(kept, hit{place.at + shift, place.number})
			}
		}
		h.at[rule] = kept
	}
}
