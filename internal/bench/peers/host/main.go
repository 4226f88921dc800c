// Command host drives an agent with Clew and prints what it measured as JSON. It is a separate
// program, so that its memory is that of a small host and of nothing else. It has the environment
// that the agent is to have.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

const usage = `usage: host query AGENT  one query
       host read AGENT   one query, and the text of its load is read
       host warm AGENT   one query of a pool whose agent has been ready for a second
       host bare AGENT   the agent by itself: AGENT -p
       host turns AGENT  two turns of one session
       host idle AGENT   what a session costs that does nothing`

// prompt is what every agent is asked.
const prompt = "Say hello."

func main() {
	measured, err := run(context.Background(), os.Args[1:])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(measured)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) (any, error) {
	if len(args) != 2 {
		return nil, errors.New(usage)
	}
	switch what, agent := args[0], args[1]; what {
	case "query":
		return measureQuery(query(ctx, agent), nothing)
	case "read":
		return measureQuery(query(ctx, agent), textBytes)
	case "warm":
		return measureWarm(ctx, agent)
	case "bare":
		return measureQuery(bare(ctx, agent), nothing)
	case "turns":
		return measureTurns(ctx, agent)
	case "idle":
		return measureIdle(ctx, agent)
	}
	return nil, errors.New(usage)
}
