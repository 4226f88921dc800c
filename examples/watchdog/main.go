// Command watchdog gives up on an agent that falls silent in the middle of a turn.
//
//	go run ./examples/watchdog
//	go run ./examples/watchdog -silence 5s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/clewdev/clew"
)

func main() {
	silence := flag.Duration("silence", 5*time.Minute, "how long the agent may be silent")
	flag.Parse()
	result, err := clew.Run(context.Background(), "Say hello.", &clew.Options{
		Limits: clew.Limits{
			IdleTimeout:  *silence,
			CloseTimeout: time.Second, // an agent that hangs need not be given time to end by itself
		},
	})
	if errors.Is(err, clew.ErrIdle) {
		fmt.Println("The agent has not said anything for", *silence)
		return
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
