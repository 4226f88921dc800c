package clewtest

import (
	"crypto/rand"
	"encoding/gob"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A hub is the test's end of the connections to the processes that play its agent.
type hub struct {
	agent    *Agent
	listener *net.TCPListener
	secret   string
	serving  sync.WaitGroup

	mu      sync.Mutex
	conns   map[*net.TCPConn]int // the processes by their connections; 0 before it is known
	closing bool
}

// listen starts the hub, once. It returns nil, and fails the test, when there is no loopback to listen on.
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
		if h.enter(conn) {
			h.serving.Go(func() { h.serve(conn) })
		}
	}
}

func (h *hub) enter(conn *net.TCPConn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		_ = conn.Close()
		return false
	}
	h.conns[conn] = 0
	return true
}

func (h *hub) know(conn *net.TCPConn, pid int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[conn] = pid
}

func (h *hub) leave(conn *net.TCPConn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, conn)
	_ = conn.Close()
}

// serve talks with one process until it ends.
func (h *hub) serve(conn *net.TCPConn) {
	defer h.leave(conn)
	enc, dec := gob.NewEncoder(conn), gob.NewDecoder(conn)
	var greeting hello
	if dec.Decode(&greeting) != nil || greeting.Secret != h.secret {
		return
	}
	h.know(conn, greeting.PID)
	var rec *run
	if greeting.Role == roleAgent {
		rec = h.agent.start(greeting.Args)
		defer func() { rec.end(h.reason()) }()
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
		// A process that does not get its reply goes on without when the connection ends.
		_ = enc.Encode(reply{})
	}
}

// complain fails the test when a process has not ended in time.
func (h *hub) complain(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.agent.t.Errorf("clewtest: a process of the agent did not end within %v of the test", linkTimeout)
	}
}

func (e event) apply(rec recorder) {
	switch e.Kind {
	case eventBegin:
		rec.begin(e.Step)
	case eventRecord:
		rec.record(e.Lines)
	case eventAwait:
		rec.await(string(e.Lines))
	case eventFail:
		rec.fail(string(e.Lines))
	case eventFinish:
		rec.finish()
	}
}

// reason says why a process ended before its scenario did.
func (h *hub) reason() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return "the test ended"
	}
	return "the agent was killed, or could not write to the host"
}

// kill ends the processes that have not ended by themselves, such as one that was stopped.
func (h *hub) kill() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, pid := range h.conns {
		if pid > 0 {
			killProcess(pid)
		}
	}
}

// close ends all processes and waits until they are gone.
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
	killer := time.AfterFunc(killGrace, h.kill)
	defer killer.Stop()
	h.serving.Wait()
}
