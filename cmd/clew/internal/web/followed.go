package web

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/sessions"
)

const (
	// lingering is the time for which something is followed after the last page left: a page that
	// is reloaded, or passes its stream to another tab, returns immediately.
	lingering = 10 * time.Second
	// runningInterval is the interval of checks for running agents.
	runningInterval = 2 * time.Second
	// followAgain is the pause after a failure to follow something.
	followAgain = 2 * time.Second
)

// A followed tracks everything that the server follows for its streams: the sessions that they
// watch and, as long as there is a stream, the session list and the running agents.
type followed struct {
	s *Server

	mu       sync.Mutex
	sessions map[string]*follower
	rest     *follower // the list and the agents
	list     *listChange
	loops    sync.WaitGroup
	closed   bool
}

// A follower is one loop, or several, for any number of streams.
type follower struct {
	streams int
	stop    context.CancelFunc
	leaving *time.Timer // ends it, when it has no streams
	rows    *rowsChange // the last one, or nil
}

func newFollowed(s *Server) *followed { return &followed{s: s, sessions: map[string]*follower{}} }

// hold follows sessions, and the rest, until release is called.
func (f *followed) hold(ids []string) (release func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := []*follower{f.holdRest()}
	for _, id := range ids {
		held = append(held, f.holdSession(id))
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, one := range held {
			f.let(one)
		}
	}
}

func (f *followed) holdSession(id string) *follower {
	one := f.sessions[id]
	if one == nil {
		one = &follower{}
		f.sessions[id] = one
		f.start(one, func(ctx context.Context) error {
			return f.s.followRows(ctx, id, func(c rowsChange) { f.tookRows(one, c) })
		})
	}
	one.add()
	return one
}

func (f *followed) holdRest() *follower {
	if f.rest == nil {
		f.rest = &follower{}
		f.start(f.rest, func(ctx context.Context) error { return f.s.followList(ctx, f.tookList) }, f.followRunning)
	}
	f.rest.add()
	return f.rest
}

// add counts a stream.
func (one *follower) add() {
	one.streams++
	if one.leaving != nil {
		one.leaving.Stop()
		one.leaving = nil
	}
}

// start runs a follower's loops, and restarts loops that fail.
func (f *followed) start(one *follower, loops ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(f.s.ending)
	one.stop = cancel
	if f.closed {
		return
	}
	for _, loop := range loops {
		f.loops.Go(func() {
			for ctx.Err() == nil {
				_ = loop(ctx) // the pages that show it get the error from their own requests
				_ = pause.For(ctx, followAgain)
			}
		})
	}
}

// background runs run, unless the server ends.
func (f *followed) background(run func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.loops.Go(run)
	}
}

// let ends a follower that has no more streams, after some time.
func (f *followed) let(one *follower) {
	one.streams--
	if one.streams > 0 {
		return
	}
	one.leaving = time.AfterFunc(lingering, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if one.streams == 0 {
			f.drop(one)
		}
	})
}

func (f *followed) drop(one *follower) {
	one.stop()
	if f.rest == one {
		f.rest, f.list = nil, nil
	}
	for id, other := range f.sessions {
		if other == one {
			delete(f.sessions, id)
		}
	}
}

// close waits until nothing is followed. The server must have ended before.
func (f *followed) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.loops.Wait()
}

// tookRows sends the streams a change of a session.
func (f *followed) tookRows(one *follower, change rowsChange) {
	f.mu.Lock()
	one.rows = &change
	f.mu.Unlock()
	f.s.publish(rowsEvent, change.Session, change)
	if change.Ended != "" {
		f.s.publish(turnEvent, change.Session, turnEnd{change.Session, change.Ended})
	}
}

// tookList sends the streams a change of the list.
func (f *followed) tookList(change listChange) {
	f.mu.Lock()
	f.list = &change
	f.mu.Unlock()
	f.s.publish(listEvent, "", change)
}

// state returns events with the state of sessions and of the list, as far as it is known. They have
// no IDs.
func (f *followed) state(ids []string) []event {
	f.mu.Lock()
	defer f.mu.Unlock()
	var events []event
	for _, id := range ids {
		if one := f.sessions[id]; one != nil && one.rows != nil {
			change := *one.rows
			change.First = 0
			events = append(events, event{name: rowsEvent, session: id, rows: &change})
		}
	}
	if f.list != nil {
		data, _ := json.Marshal(f.list) // a number
		events = append(events, event{name: listEvent, data: data})
	}
	return events
}

// followRunning reports to the streams when an agent starts, ends, or waits for something else.
func (f *followed) followRunning(ctx context.Context) error {
	var before []agentState
	for first := true; ; first = false {
		now := f.readRunning(ctx)
		if !first && !slices.Equal(before, now) {
			f.s.publish(runningEvent, "", struct{}{})
		}
		before = now
		if err := pause.For(ctx, runningInterval); err != nil {
			return err
		}
	}
}

// readRunning returns what agents do. Requests that come later don't get anything older.
func (f *followed) readRunning(ctx context.Context) []agentState {
	running, err := f.s.opts.Source.Running(ctx) // an agent whose file can't be read is not known
	if err == nil || len(running) > 0 {
		f.s.listing.mu.Lock()
		f.s.listing.Heard(running)
		f.s.listing.mu.Unlock()
	}
	return agentStates(running)
}

// An agentState is the displayed state of a running agent.
type agentState struct {
	id, status, waits string
	pid               int
}

func agentStates(running []sessions.RunningSession) []agentState {
	states := make([]agentState, len(running))
	for i := range running {
		r := &running[i]
		states[i] = agentState{r.ID, r.Status, r.WaitingFor, r.PID}
	}
	return states
}
