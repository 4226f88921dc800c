package natsstore_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/wire"
)

// A store with a server in this process. With a URL instead of the directory, it uses a server or a
// cluster.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "transcripts-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the directory of an example
	store, err := natsstore.Open(ctx, &natsstore.Options{Dir: dir})
	if err != nil {
		log.Print(err)
		return
	}
	defer store.Close()

	key := wire.SessionKey{Project: "-home-me-code", SessionID: "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11"}
	for range 2 { // an append may be repeated
		entry := wire.JSON(`{"type":"user","uuid":"1","message":{"role":"user","content":"Hello"}}`)
		if err := store.Append(ctx, key, []wire.JSON{entry}); err != nil {
			log.Print(err)
			return
		}
	}
	for entry, err := range store.Load(ctx, key) {
		fmt.Println(entry, err)
	}
	// Output: {"type":"user","uuid":"1","message":{"role":"user","content":"Hello"}} <nil>
}
