package main

import (
	"context"
	"errors"
	"iter"
	"os"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/dev/bench/peers/contest"
	"github.com/clewdev/clew/wire"
)

// measureQuery ranges over a query, which starts with that. It adds up what read makes of each
// message.
func measureQuery(messages iter.Seq2[wire.Message, error], read func(wire.Message) int) (*contest.Query, error) {
	q := new(contest.Query)
	start := time.Now()
	for msg, err := range messages {
		if err != nil {
			return nil, err
		}
		if q.First == 0 {
			q.First = time.Since(start)
		}
		switch msg.(type) {
		case *wire.StreamEventMessage, *wire.UserMessage:
			q.Load++
			q.Text += read(msg)
		case *wire.AssistantMessage:
			if q.Assistant == 0 {
				q.Assistant = time.Since(start)
			}
		case *wire.ResultMessage:
			q.Result = time.Since(start)
		}
	}
	q.End = time.Since(start)
	q.Peak = benchreport.Peak(os.Getpid())
	if q.Result == 0 {
		return nil, errors.New("there was no result")
	}
	return q, nil
}

func nothing(wire.Message) int { return 0 }

// textBytes returns the length of the text in a message of the load.
func textBytes(msg wire.Message) int {
	n := 0
	switch msg := msg.(type) {
	case *wire.StreamEventMessage:
		if delta, ok := msg.Event.(*wire.TextDeltaEvent); ok {
			n = len(delta.Text)
		}
	case *wire.UserMessage:
		for _, result := range msg.Content.ToolResults() {
			n += len(result.Text())
		}
	}
	return n
}

// measureWarm asks a pool. Its agent has had a second to itself, like the agents of the other
// hosts.
func measureWarm(ctx context.Context, agent string) (q *contest.Query, err error) {
	p, err := clew.NewPool(ctx, &clew.Options{AgentPath: agent}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	time.Sleep(time.Second)
	return measureQuery(p.Query(ctx, clew.Text(prompt)), nothing)
}
