package process

import (
	"bytes"
	"fmt"
	"sync"
)

// The buffer that standard error is read into grows with what comes: most agents never write to it.
const (
	minStderrRead = 512
	maxStderrRead = 4 << 10
)

// A stderr drains the agent's standard error: it keeps the end of it, and hands out its lines.
type stderr struct {
	source  *output
	end     tail
	lines   *lines // nil if nobody wants them
	drained chan struct{}
}

func newStderr(source *output, call func(line string)) *stderr {
	s := &stderr{source: source, drained: make(chan struct{})}
	if call != nil {
		s.lines = &lines{queue: &queue{call: call, note: s.end.add}}
	}
	return s
}

// drain reads to the end. It waits for nobody else, or the agent would.
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

// finish waits until all has been read and handed out, but not for ever, and returns the end of it. Somebody who holds
// the pipe open when the agent has exited, and goes on writing, is cut off.
func (s *stderr) finish() string {
	doneWithin(s.drained, 3*linger)
	s.source.Close()
	<-s.drained
	if s.lines != nil {
		doneWithin(s.lines.queue.idle(), linger)
	}
	return s.end.String()
}

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

const (
	// maxLine is where a line that has no end is handed out in parts.
	maxLine = 64 << 10
	// maxQueued is how many bytes of lines may wait for a slow callback.
	maxQueued = 1 << 20
	// lineCost is what a line costs besides its bytes.
	lineCost = 32
)

// lines cuts a stream into lines, trimmed at the right, and queues those that are not blank.
type lines struct {
	queue *queue
	open  []byte // the line that has no end yet
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

// A queue hands lines to a callback, in order, on a goroutine that lives only while there are some.
type queue struct {
	call  func(line string)
	note  func(text []byte) // gets the first panic of call
	noted bool              // there was one; for the goroutine that calls

	mu      sync.Mutex
	waiting []string
	size    int           // bytes in waiting
	omitted int           // lines that came since waiting was full
	busy    chan struct{} // nil if nothing is handed out, and closed when all is
}

// push never blocks on the callback.
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
			q.hand(line)
		}
	}
}

// take returns the lines that wait. If there are none, the goroutine ends.
func (q *queue) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.waiting
	if q.omitted > 0 {
		batch = append(batch, fmt.Sprintf("(clew: %d lines left out here, since they were not taken in time)", q.omitted))
	}
	q.waiting, q.size, q.omitted = nil, 0, 0
	if len(batch) == 0 {
		close(q.busy)
		q.busy = nil
	}
	return batch
}

// hand gets over a panic of the callback. The first one is noted: more would take the place of what the agent said.
func (q *queue) hand(line string) {
	defer func() {
		if v := recover(); v != nil && !q.noted {
			q.noted = true
			q.note(fmt.Appendf(nil, "(clew: the callback for stderr panicked: %v)\n", v))
		}
	}()
	q.call(line)
}

// idle returns a channel that is closed when all lines so far have been handed out.
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
