package process

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/clewdev/clew/internal/pause"
)

// The buffer for standard error grows with the output: most agents never write any.
const (
	minStderrRead = 512
	maxStderrRead = 4 << 10
)

// A stderr reads the agent's standard error, keeps the end of it, and passes its lines to a
// callback.
type stderr struct {
	source  *output
	end     tail
	lines   *lines // nil without a callback
	drained chan struct{}
}

func newStderr(source *output, call func(line string)) *stderr {
	s := &stderr{source: source, drained: make(chan struct{})}
	if call != nil {
		s.lines = &lines{queue: &queue{call: call, note: s.end.add}}
	}
	return s
}

// drain reads to the end. It does not wait for the callback, since the agent would wait as well.
func (s *stderr) drain() {
	defer close(s.drained)
	buf := make([]byte, minStderrRead)
	for {
		n, err := s.source.Read(buf)
		s.end.add(buf[:n])
		if s.lines != nil {
			s.lines.add(buf[:n])
		}
		if err != nil {
			break
		}
		if n == len(buf) && n < maxStderrRead {
			buf = make([]byte, 2*n)
		}
	}
	if s.lines != nil {
		s.lines.flush()
	}
}

// finish waits a limited time until everything was read and passed on, and returns the end of it.
// If another process holds the pipe open after the agent's exit and keeps writing, finish stops
// reading.
func (s *stderr) finish() string {
	pause.Until(s.drained, 3*linger)
	s.source.Close()
	<-s.drained
	if s.lines != nil {
		pause.Until(s.lines.queue.idle(), linger)
	}
	return s.end.String()
}

const (
	tailBytes = 8 << 10           // how much a tail returns at least
	tailKeep  = tailBytes * 3 / 2 // how much it keeps when it is full: room for the rest of a line
	tailMax   = tailBytes * 2
)

// A tail keeps the end of the text that is added to it. An empty one allocates nothing.
type tail struct {
	mu   sync.Mutex
	text []byte
	cut  bool // text lacks the beginning
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

// String returns the end. It starts at a line start if one is kept before the last 8 KB.
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

const (
	// maxLine is the length at which a line is passed on in parts.
	maxLine = 64 << 10
	// maxQueued is the maximum size of the lines that wait for a slow callback, in bytes.
	maxQueued = 1 << 20
	// lineCost is the memory that a line needs in addition to its bytes.
	lineCost = 32
)

// lines cuts a stream into lines, trimmed at the right, and queues all but blank lines.
type lines struct {
	queue *queue
	open  []byte // a line whose end was not read yet
}

func (l *lines) add(p []byte) {
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		l.open = append(l.open, line...)
		if ended || len(l.open) >= maxLine {
			l.flush()
		}
		if !ended {
			return
		}
		p = rest
	}
}

func (l *lines) flush() {
	if line := bytes.TrimRight(l.open, " \t\r\n"); len(line) > 0 {
		l.queue.push(string(line))
	}
	l.open = l.open[:0]
}

// A queue passes lines to a callback, in order, on a goroutine that exists only while lines are
// waiting.
type queue struct {
	call  func(line string)
	note  func(text []byte) // gets the first panic of call
	noted bool              // call panicked; used by the goroutine that calls

	mu      sync.Mutex
	waiting []string
	size    int           // bytes in waiting
	omitted int           // lines that came since waiting was full
	busy    chan struct{} // closed when no line is waiting any more; nil if none is
}

// push adds a line. It never waits for the callback.
func (q *queue) push(line string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if cost := len(line) + lineCost; q.omitted > 0 || q.size+cost > maxQueued {
		q.omitted++
	} else {
		q.waiting = append(q.waiting, line)
		q.size += cost
	}
	if q.busy == nil {
		q.busy = make(chan struct{})
		go q.run()
	}
}

func (q *queue) run() {
	for batch := q.take(); len(batch) > 0; batch = q.take() {
		for _, line := range batch {
			q.pass(line)
		}
	}
}

// take returns the waiting lines. If there are none, the goroutine ends.
func (q *queue) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.waiting
	if q.omitted > 0 {
		batch = append(batch, fmt.Sprintf("(clew: %d lines left out here, since the callback is too slow)", q.omitted))
	}
	q.waiting, q.size, q.omitted = nil, 0, 0
	if len(batch) == 0 {
		close(q.busy)
		q.busy = nil
	}
	return batch
}

// pass calls the callback and recovers from its panic. Only the first panic is recorded: more of
// them would push the agent's own output out of the tail.
func (q *queue) pass(line string) {
	defer func() {
		if v := recover(); v != nil && !q.noted {
			q.noted = true
			q.note(fmt.Appendf(nil, "(clew: the callback for stderr panicked: %v)\n", v))
		}
	}()
	q.call(line)
}

// idle returns a channel that is closed when all lines so far are passed on.
func (q *queue) idle() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy != nil {
		return q.busy
	}
	idle := make(chan struct{})
	close(idle)
	return idle
}
