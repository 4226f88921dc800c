package clewtest

import (
	"context"
	"encoding/gob"
	"errors"
	"net"
	"os"
	"strings"
	"time"
)

// linkTimeout bounds what a test and its agent wait for of each other while they connect and part.
const linkTimeout = 10 * time.Second

// killGrace is how long the processes of an agent have to end by themselves when the test has. It is longer than endGrace.
const killGrace = 2 * time.Second

// A hello is the first thing that a process tells its test.
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

// dial connects with the test. value is that of agentVariable.
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
		return nil, errors.New("it hung up")
	}
}

// listen takes the replies of the test until it hangs up.
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

// tell sends an event and waits until the test has it. Without a test there is nobody to tell.
func (l *link) tell(e event) {
	if l.enc.Encode(e) != nil {
		return
	}
	select {
	case <-l.replies:
	case <-l.gone:
	}
}

func (l *link) begin(step int)      { l.tell(event{Kind: eventBegin, Step: step}) }
func (l *link) record(lines []byte) { l.tell(event{Kind: eventRecord, Lines: lines}) }
func (l *link) await(want string)   { l.tell(event{Kind: eventAwait, Lines: []byte(want)}) }
func (l *link) fail(text string)    { l.tell(event{Kind: eventFail, Lines: []byte(text)}) }
func (l *link) finish()             { l.tell(event{Kind: eventFinish}) }
