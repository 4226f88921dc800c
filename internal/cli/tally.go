package cli

import (
	"cmp"
	"slices"

	"github.com/clewdev/clew/wire"
)

// A stat is what is known of the frames that have something in common.
type stat struct {
	count   int64
	bytes   int64
	largest int64
	line    int // of the first
}

func (s *stat) add(pos wire.Position) {
	if s.count == 0 {
		s.line = pos.Line
	}
	s.count++
	s.bytes += pos.Bytes
	s.largest = max(s.largest, pos.Bytes)
}

// maxNames is how many names a tally keeps apart. The agent uses some dozens; a
// stream of garbage could fill the memory with new ones.
const maxNames = 1000

// A tally counts by name.
type tally[K comparable] struct {
	stats map[K]*stat
	rest  stat // of the names that there was no room for
}

func (t *tally[K]) add(name K, pos wire.Position) {
	s := t.stats[name]
	switch {
	case s != nil:
	case len(t.stats) == maxNames:
		s = &t.rest
	default:
		s = new(stat)
		if t.stats == nil {
			t.stats = map[K]*stat{}
		}
		t.stats[name] = s
	}
	s.add(pos)
}

// names returns the names, the most frequent first. Where that leaves it open,
// the larger total of bytes comes first, then what compare says.
func (t *tally[K]) names(compare func(a, b K) int) []K {
	names := make([]K, 0, len(t.stats))
	for name := range t.stats {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b K) int {
		x, y := t.stats[a], t.stats[b]
		return cmp.Or(cmp.Compare(y.count, x.count), cmp.Compare(y.bytes, x.bytes), compare(a, b))
	})
	return names
}

// A note is a remark on one place in the stream.
type note struct {
	pos  wire.Position
	text string
}

// maxNotes is how many notes of a sort are kept.
const maxNotes = 20

// notes are the first remarks of a sort, and how many there were.
type notes struct {
	kept  []note
	total stat
}

func (n *notes) add(pos wire.Position, text string) {
	n.total.add(pos)
	if len(n.kept) < maxNotes {
		n.kept = append(n.kept, note{pos, clip(text)})
	}
}
