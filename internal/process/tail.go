package process

import (
	"bytes"
	"sync"
)

const (
	tailBytes = 8 << 10           // what a tail has at least
	tailKeep  = tailBytes * 3 / 2 // what it keeps when it is full, to have room for the rest of a line
	tailMax   = tailBytes * 2
)

// A tail keeps the end of what is added to it. It costs nothing while that is nothing.
type tail struct {
	mu   sync.Mutex
	text []byte
	cut  bool // text is not all
}

func (t *tail) add(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > tailMax {
		t.text = append(t.text[:0], t.text[len(t.text)-tailKeep:]...)
		t.cut = true
	}
}

// String returns the end, from the beginning of a line if there is one before the last 8 KB.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.cut {
		return string(t.text)
	}
	start := len(t.text) - tailBytes
	if end := bytes.IndexByte(t.text[:start], '\n'); end >= 0 {
		start = end + 1
	}
	return string(t.text[start:])
}
