// Command resume continues a session in another process, and then once more in a copy of the
// session.
//
//	go run ./examples/resume
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	first, err := clew.Run(ctx, "Remember the number 42.", nil)
	if err != nil {
		return err
	}
	second, err := clew.Run(ctx, "Which number was it?", &clew.Options{Session: clew.SessionOptions{Resume: first.SessionID}})
	if err != nil {
		return err
	}
	fmt.Println(second.Result)
	third, err := clew.Run(ctx, "Double it.", &clew.Options{Session: clew.SessionOptions{Resume: first.SessionID, Fork: true}})
	if err != nil {
		return err
	}
	fmt.Println(third.Result)
	fmt.Println("a new session:", third.SessionID != first.SessionID)
	return nil
}
