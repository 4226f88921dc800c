package main

import (
	"context"
	"iter"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

// query asks an agent once. The agent starts with the loop and has ended after it.
func query(ctx context.Context, agent string) iter.Seq2[wire.Message, error] {
	return clew.Query(ctx, prompt, &clew.Options{AgentPath: agent})
}

// connect starts an agent and returns when it is ready for a prompt.
func connect(ctx context.Context, agent string) (*clew.Session, error) {
	return clew.Connect(ctx, &clew.Options{AgentPath: agent})
}
