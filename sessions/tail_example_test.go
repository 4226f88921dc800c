package sessions_test

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

func ExampleTail() {
	ctx := context.Background()
	opts := &sessions.TailOptions{Options: sessions.Options{Store: exampleStore()}}
	for update, err := range sessions.Tail(ctx, "2e08b01a-ae65-4bd9-9fea-b7b4b75b673b", opts) {
		if err != nil {
			log.Fatal(err)
		}
		if update.Transcript == nil {
			continue // it can't be read, or is gone
		}
		who := "session"
		if update.Agent != nil {
			who = update.Agent.Description()
		}
		chunks := update.Transcript.Chunks
		for _, chunk := range chunks[update.First:] {
			fmt.Printf("%s: %s, %d items\n", who, chunk.Type, len(chunk.Items))
		}
		if update.Agent != nil && !transcript.Ongoing(chunks) {
			break // the subagent is done; without this, the loop would wait for more
		}
	}
	// Output:
	// session: user, 0 items
	// session: ai, 3 items
	// session: system, 0 items
	// session: ai, 1 items
	// Count files: user, 0 items
	// Count files: ai, 3 items
}
