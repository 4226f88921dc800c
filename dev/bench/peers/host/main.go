// Command host drives an agent with Clew and prints what it measured as JSON. It is a separate
// program, so that its memory is the memory of a small host and nothing else. It has the
// environment that the agent is to have.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

const usage = `usage: host query AGENT  one query
       host read AGENT   one query, and the text of its load is read
       host warm AGENT   one query of a pool whose agent has been ready for a second
       host bare AGENT   the agent by itself: AGENT -p
       host turns AGENT  two turns of one session
       host idle AGENT   what a session costs that does nothing`

// prompt is the prompt for every agent.
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

// bare runs the agent as a shell script would, without an SDK: the prompt is an argument, nothing
// is asked back, and the end of the messages is the exit of the agent.
func bare(ctx context.Context, agent string) iter.Seq2[wire.Message, error] {
	return func(yield func(wire.Message, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		cmd := exec.CommandContext(ctx, agent, "-p", "--output-format", "stream-json", "--verbose", prompt)
		out, err := cmd.StdoutPipe()
		if err != nil {
			yield(nil, err)
			return
		}
		if err := cmd.Start(); err != nil {
			yield(nil, err)
			return
		}
		for msg, err := range wire.NewReader(out, nil).Messages() {
			if !yield(msg, err) || err != nil {
				return
			}
		}
		if err := cmd.Wait(); err != nil {
			yield(nil, err)
		}
	}
}

// query asks an agent once. The agent starts with the loop and has ended after it.
func query(ctx context.Context, agent string) iter.Seq2[wire.Message, error] {
	return clew.Query(ctx, prompt, &clew.Options{AgentPath: agent})
}

// connect starts an agent and returns when it is ready for a prompt.
func connect(ctx context.Context, agent string) (*clew.Session, error) {
	return clew.Connect(ctx, &clew.Options{AgentPath: agent})
}
