package lineedit

import (
	"io"
	"sync"
	"time"
)

// escapeTimeout is how long an Escape waits for the rest of a sequence. Terminals send sequences at
// once, and people do not notice the delay.
const escapeTimeout = 50 * time.Millisecond

// ReadKeys reads keys from a terminal in raw mode, and calls press with those that arrive together.
// It blocks until reading fails, and returns the error. Calls of press do not overlap, but may come
// from another goroutine.
func ReadKeys(terminal io.Reader, press func([]Key)) error {
	r := &keyReader{press: press}
	defer r.flush()
	buf := make([]byte, 4096)
	for {
		n, err := terminal.Read(buf)
		r.decode(buf[:n])
		if err != nil {
			return err
		}
	}
}

// A keyReader decodes keys. A timer decides about an Escape that nothing follows.
type keyReader struct {
	press func([]Key)

	mu      sync.Mutex
	decoder Decoder
	timer   *time.Timer // of the Escape, or nil
}

func (r *keyReader) decode(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stop()
	if keys := r.decoder.Decode(p); len(keys) > 0 {
		r.press(keys)
	}
	if !r.decoder.Escaped() {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(escapeTimeout, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.timer == timer { // else it was stopped too late
			r.end()
		}
	})
	r.timer = timer
}

// flush ends the keys that wait for more bytes.
func (r *keyReader) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

func (r *keyReader) end() {
	r.stop()
	if keys := r.decoder.Flush(); len(keys) > 0 {
		r.press(keys)
	}
}

func (r *keyReader) stop() {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
}
