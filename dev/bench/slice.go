package main

import (
	"bytes"
	"fmt"
	"iter"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/wire"
)

// sliceSize is the number of bytes of the stream that a contestant gets at once: few enough that a
// round sees one state of the machine, many more than a processor cache has.
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

// checkWire fails if package wire does not know a frame of the stream: giving up early would look
// like speed.
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

// peek finds the type of a frame, and the subtype of a system frame, without parsing it. It trusts
// the line to be JSON: json.Unmarshal checks that next.
func peek(line []byte) (kind, subtype []byte) {
	for name, value := range members(line) {
		switch string(name) {
		case "type":
			kind = text(value)
			if string(kind) != "system" || subtype != nil {
				return kind, subtype
			}
		case "subtype":
			subtype = text(value)
			if kind != nil {
				return kind, subtype
			}
		}
	}
	return kind, subtype
}

// text is a string without escapes, which the kinds all are.
func text(value []byte) []byte { return bytes.Trim(value, `"`) }

// members yields the members of a compact object.
func members(line []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for at := 1; at < len(line) && line[at] == '"'; at++ {
			name := line[at+1 : at+1+bytes.IndexByte(line[at+1:], '"')]
			at += len(name) + 3
			end := at + valueLength(line[at:])
			if !yield(name, line[at:end]) {
				return
			}
			at = end
		}
	}
}

// valueLength is the length of the value at the start of b.
func valueLength(b []byte) int {
	depth := 0
	for at := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			at += stringLength(b[at:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth < 0 {
				return at
			}
		case ',':
			if depth == 0 {
				return at
			}
		}
	}
	return len(b)
}

// stringLength is the length of the string at the start of b, quotes included.
func stringLength(b []byte) int {
	for at := 1; at < len(b); at++ {
		switch b[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(b)
}
