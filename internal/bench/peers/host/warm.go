package main

import (
	"context"
	"errors"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/bench/peers/contest"
)

// measureWarm asks a pool. Its agent has had a second to itself, as those of the other hosts have.
func measureWarm(ctx context.Context, agent string) (q *contest.Query, err error) {
	p, err := clew.NewPool(ctx, &clew.Options{AgentPath: agent}, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	time.Sleep(time.Second)
	return measureQuery(p.Query(ctx, clew.Text(prompt)), nothing)
}
