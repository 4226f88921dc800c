package main

import (
	"bytes"
	"fmt"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/wire"
)

// sliceSize is how much of the stream a contestant gets at once: little enough
// that a round sees one state of the machine, much more than a processor cache.
const sliceSize = 4 << 20

// A slice is a run of whole lines of the stream, about sliceSize bytes.
type slice struct {
	data  []byte
	lines [][]byte // data without the newlines
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
		list = append(list, slice{data: data[:end], lines: splitLines(data[:end])})
		data = data[end:]
	}
	return list
}

func splitLines(data []byte) [][]byte {
	lines := make([][]byte, 0, bytes.Count(data, []byte{'\n'}))
	for line := range bytes.Lines(data) {
		lines = append(lines, line[:len(line)-1])
	}
	return lines
}

// checkWire fails when a frame of the stream is not one that package wire knows:
// giving up early would look like speed.
func checkWire(parts []slice) error {
	for _, discard := range []bool{false, true} {
		d := wire.NewDecoder(&wire.ReaderOptions{DiscardRaw: discard})
		for _, s := range parts {
			for _, line := range s.lines {
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
