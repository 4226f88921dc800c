package main

import (
	"context"
	"iter"
	"os/exec"

	"github.com/clewdev/clew/wire"
)

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
