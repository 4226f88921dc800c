// Command reconnect continues a session after its agent is killed.
//
//	go run ./examples/reconnect
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/wire"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := clew.Connect(ctx, &clew.Options{Reconnect: &clew.ReconnectOptions{MaxAttempts: 3}})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := ask(ctx, s, "Name a bird."); err != nil {
		return err
	}
	if err := kill(s.Info().PID); err != nil {
		return err
	}
	err = ask(ctx, s, "Name a fish.")
	if lost, ok := errors.AsType[*clew.LostError](err); ok { // the agent got the prompt and died
		fmt.Fprintln(os.Stderr, "asking again:", lost)
		err = ask(ctx, s, "Name a fish.")
	}
	return err
}

func ask(ctx context.Context, s *clew.Session, prompt string) error {
	for msg, err := range s.Turn(ctx, clew.Text(prompt)) {
		if err != nil {
			return err
		}
		switch m := msg.(type) {
		case *wire.SessionReconnectedMessage:
			fmt.Println("(The agent died, and another one continues.)")
		case *clew.ResultMessage:
			fmt.Println(m.Result)
		}
	}
	return nil
}

func kill(pid int) error {
	agent, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return agent.Kill()
}
