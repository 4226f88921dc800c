// Command tail follows a session in the agent's files, as any other program could. One question was
// asked before, and another is asked meanwhile. To follow the newest session on a machine, ask
// sessions.List for it.
//
//	go run ./examples/tail
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	result, err := clew.Run(ctx, "Name a bird.", nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if _, err := clew.Run(ctx, "Where does it live?", &clew.Options{Session: clew.SessionOptions{Resume: result.SessionID}}); err != nil {
			cancel(err)
		}
	}()
	shown := 0
	for update, err := range sessions.Tail(ctx, result.SessionID, nil) {
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if update.Agent != nil || update.Transcript == nil {
			continue // that of a subagent, or the file was deleted
		}
		chunks := update.Transcript.Chunks
		for shown < len(chunks) && (shown < len(chunks)-1 || !transcript.Ongoing(chunks)) { // the last one may grow
			fmt.Printf("%s: %s\n", chunks[shown].Type, chunks[shown].Text)
			shown++
		}
		if shown == 4 { // two questions and two answers
			break
		}
	}
	return nil
}
