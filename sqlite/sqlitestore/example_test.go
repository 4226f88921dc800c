package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/clewdev/clew/sqlite/sqlitestore"
	"github.com/clewdev/clew/wire"
)

func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	store, err := sqlitestore.Open(ctx, filepath.Join(dir, "sessions.db"), nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer store.Close()

	key := wire.SessionKey{Project: "-home-me-code", SessionID: "7d9b8f0e-64a5-4f0b-8a53-7b6c1f1d9e22"}
	entries := []wire.JSON{`{"type":"user","uuid":"1"}`, `{"type":"assistant","uuid":"2"}`}
	for range 2 { // an append may be repeated
		if err := store.Append(ctx, key, entries); err != nil {
			log.Print(err)
			return
		}
	}
	for entry, err := range store.Load(ctx, key) {
		if err != nil {
			log.Print(err)
			return
		}
		fmt.Println(entry)
	}
	// Output:
	// {"type":"user","uuid":"1"}
	// {"type":"assistant","uuid":"2"}
}
