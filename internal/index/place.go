package index

import (
	"encoding/binary"
	"errors"
)

// A place is where a passage is in a file.
type place struct {
	offset int64 // of the line, or of the piece of a spill
	length int64
	line   int64
	nth    int64 // of the passages of the line
	time   int64 // in milliseconds
	turn   int64
	role   Role
	tool   string
	agent  string // the subagent whose entry stands in the session's own transcript
}

var errPlaces = errors.New("index: the places of a part are damaged")

// encodePlaces writes places in few bytes. Most differ little from the one before.
func encodePlaces(places []place) []byte {
	names := map[string]uint64{"": 0}
	var list []string
	number := func(name string) uint64 {
		n, ok := names[name]
		if !ok {
			n = uint64(len(names))
			names[name], list = n, append(list, name)
		}
		return n
	}
	var body []byte
	var last place
	for i := range places {
		p := &places[i]
		body = append(body, byte(p.role))
		for _, n := range []int64{p.offset - last.offset, p.line - last.line, p.time - last.time, p.turn - last.turn, p.length, p.nth} {
			body = binary.AppendVarint(body, n)
		}
		body = binary.AppendUvarint(body, number(p.tool))
		body = binary.AppendUvarint(body, number(p.agent))
		last = *p
	}
	head := binary.AppendUvarint(nil, uint64(len(places)))
	head = binary.AppendUvarint(head, uint64(len(list)))
	for _, name := range list {
		head = append(binary.AppendUvarint(head, uint64(len(name))), name...)
	}
	return append(head, body...)
}

// A placeReader reads what encodePlaces has written.
type placeReader struct {
	data []byte
	bad  bool
}

func decodePlaces(data []byte) ([]place, error) {
	r := placeReader{data: data}
	count := r.size()
	names := []string{""}
	for range r.size() {
		names = append(names, string(r.bytes(r.size())))
	}
	places := make([]place, 0, min(count, partPlaces))
	var last place
	for i := 0; i < count && !r.bad; i++ {
		p := place{role: Role(r.byte())}
		p.offset, p.line = last.offset+r.number(), last.line+r.number()
		p.time, p.turn = last.time+r.number(), last.turn+r.number()
		p.length, p.nth = r.number(), r.number()
		p.tool, p.agent = r.name(names), r.name(names)
		r.bad = r.bad || p.role > Thinking || p.offset < 0 || p.length < 0 || p.nth < 0
		places, last = append(places, p), p
	}
	if r.bad || len(r.data) > 0 {
		return nil, errPlaces
	}
	return places, nil
}

func (r *placeReader) number() int64 {
	n, size := binary.Varint(r.data)
	r.pass(size)
	return n
}

// size reads a number of things that are still to come.
func (r *placeReader) size() int {
	n, size := binary.Uvarint(r.data)
	r.pass(size)
	if n > uint64(len(r.data)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *placeReader) name(names []string) string {
	n, size := binary.Uvarint(r.data)
	r.pass(size)
	if n >= uint64(len(names)) {
		r.bad = true
		return ""
	}
	return names[n]
}

func (r *placeReader) byte() byte {
	b := r.bytes(1)
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

func (r *placeReader) bytes(n int) []byte {
	if n > len(r.data) {
		r.bad = true
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *placeReader) pass(size int) {
	if size <= 0 {
		r.bad, r.data = true, nil
		return
	}
	r.data = r.data[size:]
}
