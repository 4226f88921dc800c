// Command sessions renames a recorded session, forks it, and copies the fork into a store for
// several machines, here with a server inside the program.
//
//	go run ./nats/examples/sessions
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/sessions"
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
	if err := sessions.Rename(ctx, result.SessionID, "Birds", nil); err != nil {
		return err
	}
	fork, err := sessions.Fork(ctx, result.SessionID, nil)
	if err != nil {
		return err
	}
	store, err := natsstore.Open(ctx, &natsstore.Options{Dir: "nats"})
	if err != nil {
		return err
	}
	defer store.Close()
	if err := sessions.Import(ctx, store, fork, nil); err != nil {
		return err
	}
	list, err := sessions.List(ctx, &sessions.ListOptions{Store: store})
	if err != nil {
		return err
	}
	for _, info := range list {
		fmt.Println(info.Title())
	}
	return sessions.Delete(ctx, result.SessionID, nil)
}
