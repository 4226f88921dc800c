// Command interrupt stops an answer that gets too long, and continues with the same agent.
//
//	go run ./examples/interrupt
package main

import (
	"context"
	"errors"
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
	s, err := clew.Connect(ctx, &clew.Options{IncludePartialMessages: true})
	if err != nil {
		return err
	}
	defer s.Close()
	err = show(ctx, s, "Count to a thousand.", 20)
	if failed, ok := errors.AsType[*clew.ResultError](err); !ok || !failed.Interrupted() {
		return err
	}
	fmt.Println("[stopped]")
	return show(ctx, s, "Thank you, that will do.", 1000)
}

// show prints an answer, and interrupts one of more than limit bytes. The turn still ends with a
// result, which reports the interruption as a failure.
func show(ctx context.Context, s *clew.Session, prompt string, limit int) error {
	var answer clew.Collector
	stopped := false
	for msg, err := range s.Turn(ctx, clew.Text(prompt)) {
		if err != nil {
			return err
		}
		fmt.Print(answer.Add(msg))
		if len(answer.Accumulated()) > limit && !stopped {
			stopped = true
			if _, err := s.Interrupt(ctx, nil); err != nil {
				return err
			}
		}
	}
	fmt.Println()
	return nil
}
