package clewtest

import (
	"context"
	"crypto/rand"
	"encoding/gob"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/simagent"
)

// A hub is the test's end of the connections to the processes that are its agent.
type hub struct {
	agent    *Agent
	listener *net.TCPListener
	secret   string
	serving  sync.WaitGroup

	mu      sync.Mutex
	conns   map[*net.TCPConn]int // the process ID for each connection; 0 before it is known
	closing bool
}

// listen starts the hub, once. If it can't listen on the loopback interface, it fails the test and
// returns nil.
func (a *Agent) listen() *hub {
	a.t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hub != nil {
		return a.hub
	}
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		a.t.Errorf("clewtest: an agent as a process needs a loopback connection: %v", err)
		return nil
	}
	h := &hub{agent: a, listener: listener, secret: rand.Text(), conns: map[*net.TCPConn]int{}}
	h.serving.Go(h.accept)
	a.t.Cleanup(h.close)
	a.hub = h
	return h
}

// address returns the value of agentVariable for a role.
func (h *hub) address(role string) string {
	return h.listener.Addr().String() + " " + h.secret + " " + role
}

func (h *hub) accept() {
	for {
		conn, err := h.listener.AcceptTCP()
		if err != nil {
			return
		}
		if h.add(conn) {
			h.serving.Go(func() { h.serve(conn) })
		}
	}
}

// add registers a connection. After close it closes the connection and returns false.
func (h *hub) add(conn *net.TCPConn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		_ = conn.Close()
		return false
	}
	h.conns[conn] = 0
	return true
}

// setPID keeps the process ID of a connection.
func (h *hub) setPID(conn *net.TCPConn, pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[conn] = pid
}

// remove closes a connection that ended.
func (h *hub) remove(conn *net.TCPConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, conn)
	_ = conn.Close()
}

// serve serves one process until it ends.
func (h *hub) serve(conn *net.TCPConn) {
	defer h.remove(conn)
	enc, dec := gob.NewEncoder(conn), gob.NewDecoder(conn)
	var first hello
	if dec.Decode(&first) != nil || first.Secret != h.secret {
		return
	}
	h.setPID(conn, first.PID)
	var rec *simagent.Run
	if first.Role == roleAgent {
		rec = h.agent.start(first.Args)
		defer func() { rec.End(h.reason()) }()
	}
	if enc.Encode(reply{Scenario: h.agent.scenario.String()}) != nil {
		return
	}
	for {
		var e event
		if err := dec.Decode(&e); err != nil || rec == nil {
			h.complain(err)
			return
		}
		e.apply(rec)
		// The error does not matter: a process without a reply continues when the connection ends.
		_ = enc.Encode(reply{})
	}
}

// complain fails the test if a process has not ended in time.
func (h *hub) complain(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.agent.t.Errorf("clewtest: a process of the agent did not end within %v of the test", linkTimeout)
	}
}

// apply makes the call.
func (e event) apply(rec simagent.Recorder) {
	switch e.Kind {
	case eventBegin:
		rec.Begin(e.Step)
	case eventRecord:
		rec.Record(e.Lines)
	case eventAwait:
		rec.Await(string(e.Lines))
	case eventFail:
		rec.Fail(string(e.Lines))
	case eventFinish:
		rec.Finish()
	}
}

// reason explains why a process ended before its scenario did.
func (h *hub) reason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return "the test ended"
	}
	return "the agent was killed, or could not write to the host"
}

// kill kills the processes that were stopped, or all of them.
func (h *hub) kill(all bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, pid := range h.conns {
		if pid > 0 && (all || isStopped(pid)) {
			killProcess(pid)
		}
	}
}

// close ends all processes and waits until they end.
func (h *hub) close() {
	h.agent.t.Helper()
	h.mu.Lock()
	h.closing = true
	_ = h.listener.Close()
	for conn := range h.conns {
		_ = conn.CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(linkTimeout))
	}
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		h.serving.Wait()
		close(ended)
	}()
	h.killUntil(ended)
}

// killUntil waits until ended is closed. Until then it kills processes that can't end by
// themselves.
func (h *hub) killUntil(ended <-chan struct{}) {
	const interval = 20 * time.Millisecond
	tick := time.NewTicker(interval)
	defer tick.Stop()
	overdue := time.Now().Add(killGrace)
	for {
		select {
		case <-ended:
			return
		case now := <-tick.C:
			h.kill(now.After(overdue))
		}
	}
}

// linkTimeout bounds how long a test and its agent wait for each other when they connect and when
// the test ends. It is reached only if something is wrong, however busy the machine is.
const linkTimeout = 2 * time.Minute

// killGrace is the time the processes of an agent have to end by themselves after the test. They
// need it only on a system where [isStopped] does not work, or where they have to wait for
// endGrace.
const killGrace = 10 * time.Second

// A hello is the first thing that a process sends to its test.
type hello struct {
	Secret, Role string
	PID          int
	Args         []string
}

// An event is one call of a recorder.
type event struct {
	Kind  eventKind
	Step  int
	Lines []byte
}

type eventKind int

const (
	eventBegin eventKind = iota
	eventRecord
	eventAwait
	eventFail
	eventFinish
)

// A reply of the test follows each event. The one to a hello holds the scenario.
type reply struct {
	Scenario string
}

// A link is the agent's end of the connection to its test. It is the recorder of a process.
type link struct {
	role     string
	scenario string
	enc      *gob.Encoder
	replies  chan reply
	gone     chan struct{} // closed when the test has ended
}

// dial connects with the test. value is the value of agentVariable.
func dial(value string) (*link, error) {
	fields := strings.Fields(value)
	if len(fields) != 3 {
		return nil, errors.New("malformed " + agentVariable)
	}
	conn, err := (&net.Dialer{Timeout: linkTimeout}).DialContext(context.Background(), "tcp", fields[0])
	if err != nil {
		return nil, err
	}
	l := &link{role: fields[2], enc: gob.NewEncoder(conn), replies: make(chan reply), gone: make(chan struct{})}
	go l.listen(conn)
	if err := l.enc.Encode(hello{fields[1], l.role, os.Getpid(), os.Args[1:]}); err != nil {
		return nil, err
	}
	select {
	case r := <-l.replies:
		l.scenario = r.Scenario
		return l, nil
	case <-l.gone:
		return nil, errors.New("it closed the connection")
	}
}

// listen receives the replies of the test until it closes the connection.
func (l *link) listen(conn net.Conn) {
	defer close(l.gone)
	dec := gob.NewDecoder(conn)
	for {
		var r reply
		if dec.Decode(&r) != nil {
			return
		}
		l.replies <- r
	}
}

// send sends an event and waits until the test has it, or ended.
func (l *link) send(e event) {
	if l.enc.Encode(e) != nil {
		return
	}
	select {
	case <-l.replies:
	case <-l.gone:
	}
}

// Begin reports that a step starts.
func (l *link) Begin(step int) { l.send(event{Kind: eventBegin, Step: step}) }

// Record reports lines of the dialogue.
func (l *link) Record(lines []byte) { l.send(event{Kind: eventRecord, Lines: lines}) }

// Await reports what the agent waits for.
func (l *link) Await(want string) { l.send(event{Kind: eventAwait, Lines: []byte(want)}) }

// Fail reports what the host did wrong.
func (l *link) Fail(text string) { l.send(event{Kind: eventFail, Lines: []byte(text)}) }

// Finish reports the end of the scenario.
func (l *link) Finish() { l.send(event{Kind: eventFinish}) }
