package main

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/wire"
)

// sliceSize is how much of the stream a contestant gets at once: little enough
// that a round sees one state of the machine, much more than a processor cache.
const sliceSize = 4 << 20

// A slice is a run of whole lines of the stream, about sliceSize bytes.
type slice struct {
	data []byte
	ends []int // of the lines in data; no pointers, which the collector would follow
}

func (s slice) frames() int { return len(s.ends) }

// lines yields the lines without their newlines.
func (s slice) lines() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		start := 0
		for _, end := range s.ends {
			if !yield(s.data[start:end:end]) {
				return
			}
			start = end + 1
		}
	}
}

func newSlices(seed uint64, size int) ([]slice, error) {
	var b bytes.Buffer
	b.Grow(size + 1<<20)
	if err := corpus.Stream(&b, seed, size); err != nil {
		return nil, err
	}
	return cutSlices(b.Bytes(), sliceSize), nil
}

func cutSlices(data []byte, size int) []slice {
	var list []slice
	for len(data) > 0 {
		end := min(size, len(data))
		end += bytes.IndexByte(data[end-1:], '\n')
		list = append(list, slice{data: data[:end], ends: lineEnds(data[:end])})
		data = data[end:]
	}
	return list
}

func lineEnds(data []byte) []int {
	ends := make([]int, 0, bytes.Count(data, []byte{'\n'}))
	at := 0
	for line := range bytes.Lines(data) {
		at += len(line)
		ends = append(ends, at-1)
	}
	return ends
}

// checkWire fails when a frame of the stream is not one that package wire knows:
// giving up early would look like speed.
func checkWire(parts []slice) error {
	for _, discard := range []bool{false, true} {
		d := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: discard})
		for _, s := range parts {
			for line := range s.lines() {
				if err := checkMessage(d.Decode(line)); err != nil {
					return fmt.Errorf("%w: %.200s", err, line)
				}
			}
		}
	}
	return nil
}

func checkMessage(m wire.Message) error {
	switch m := m.(type) {
	case nil:
		return fmt.Errorf("wire decoded a frame to nil")
	case *wire.InvalidFrame, *wire.UnknownMessage, *wire.SystemMessage, *wire.TextLine:
		return fmt.Errorf("wire decoded a frame to %T", m)
	}
	return nil
}
