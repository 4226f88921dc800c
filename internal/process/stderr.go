package process

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
