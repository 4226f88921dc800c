// Command store keeps a session in a SQLite file and continues it as another machine would, with
// nothing but that file.
//
//	go run ./sqlite/examples/store
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/sqlitestore"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	store, err := sqlitestore.Open(ctx, "sessions.db", nil)
	if err != nil {
		return err
	}
	defer store.Close()
	// A session with a project name is found again from any directory.
	opts := &clew.Options{Store: clew.StoreOptions{Store: store, Project: "birds"}}
	first, err := clew.Run(ctx, "Remember the wren.", opts)
	if err != nil {
		return err
	}
	opts.Session.Resume = first.SessionID
	second, err := clew.Run(ctx, "Which bird was it?", opts)
	if err != nil {
		return err
	}
	fmt.Println(second.Result)
	list, err := sessions.List(ctx, &sessions.ListOptions{Store: store})
	if err != nil {
		return err
	}
	for _, info := range list {
		fmt.Println(info.FirstPrompt)
	}
	return nil
}
