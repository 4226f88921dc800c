package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/wire"
)

func measureTurns(ctx context.Context, agent string) (turns *contest.Turns, err error) {
	turns = new(contest.Turns)
	start := time.Now()
	s, err := connect(ctx, agent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	turns.Connect = time.Since(start)
	first, err := measureTurn(ctx, s, &turns.First)
	if err != nil {
		return nil, err
	}
	second, err := measureTurn(ctx, s, &turns.Second)
	turns.SameSession = first == second
	return turns, err
}

// measureTurn sets elapsed to the time from the prompt to the result, and returns the id of the
// session.
func measureTurn(ctx context.Context, s *clew.Session, elapsed *time.Duration) (id string, err error) {
	start := time.Now()
	for msg, err := range s.Turn(ctx, clew.Text(prompt)) {
		if err != nil {
			return "", err
		}
		if result, ok := msg.(*wire.ResultMessage); ok {
			*elapsed, id = time.Since(start), result.SessionID
		}
	}
	if id == "" {
		return "", errors.New("there was no result")
	}
	return id, nil
}

// measureIdle opens 100 sessions, lets each of them answer once, and takes the difference to the
// time before. One session has come and gone by then, so that what exists once for all of them is
// not counted.
func measureIdle(ctx context.Context, agent string) (idle *contest.Idle, err error) {
	const sessions = 100
	s, err := answered(ctx, agent)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	open := make([]*clew.Session, 0, sessions)
	defer func() {
		for _, s := range open {
			err = errors.Join(err, s.Close())
		}
	}()
	goroutines, bytes := inUse()
	for range sessions {
		s, err := answered(ctx, agent)
		if err != nil {
			return nil, err
		}
		open = append(open, s)
	}
	goroutinesAfter, bytesAfter := inUse()
	return &contest.Idle{
		Sessions:   sessions,
		Goroutines: float64(goroutinesAfter-goroutines) / float64(sessions),
		Bytes:      float64(bytesAfter-bytes) / float64(sessions),
	}, nil
}

// answered returns a session that has answered a prompt.
func answered(ctx context.Context, agent string) (*clew.Session, error) {
	s, err := connect(ctx, agent)
	if err != nil {
		return nil, err
	}
	var elapsed time.Duration
	if _, err := measureTurn(ctx, s, &elapsed); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// inUse counts goroutines, and the bytes of heap and stacks in use.
func inUse() (goroutines, bytes int) {
	// A sync.Pool keeps its objects for one collection.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), int(m.HeapInuse + m.StackInuse)
}
