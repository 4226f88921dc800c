package clew_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/clewdev/clew"
)

// The turn that is interrupted ends with a failure that says so.
func ExampleSession_Interrupt() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated(countsOn)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for msg, err := range s.Turn(ctx, "Count to a million.") {
		if failed, ok := errors.AsType[*clew.ResultError](err); ok {
			fmt.Println("interrupted:", failed.Interrupted())
		}
		if _, ok := msg.(*clew.AssistantMessage); ok {
			if _, err := s.Interrupt(ctx); err != nil {
				fmt.Println(err)
			}
		}
	}
	// Output: interrupted: true
}

func ExampleSession_ContextUsage() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	window, err := s.ContextUsage(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of %d tokens\n", window.TotalTokens, window.MaxTokens)
	// Output: 18000 of 200000 tokens
}

// A copy of an earlier session goes on from where that one has ended.
func ExampleOptions_resume() {
	opts := &clew.Options{Resume: "0d4e6c1c-5f3b-4a52-9f3e-2f3ad4c1b7aa", ForkSession: true}
	_, flags, _ := strings.Cut(opts.CommandLine(), "--input-format=stream-json ")
	fmt.Println(flags)
	// Output: --resume=0d4e6c1c-5f3b-4a52-9f3e-2f3ad4c1b7aa --fork-session
}

// The dialogue is recorded, for a test that plays it again without an agent.
func ExampleOptions_record() {
	var dialogue strings.Builder
	opts := &clew.Options{Record: &dialogue, Transport: simulated("The wren.")}
	if _, err := clew.Run(context.Background(), "Name a bird.", opts); err != nil {
		fmt.Println(err)
		return
	}
	sent, received := strings.Count(dialogue.String(), "\n> "), strings.Count(dialogue.String(), "\n< ")
	fmt.Println(sent, "frames to the agent,", received, "from it")
	// Output: 2 frames to the agent, 3 from it
}

// An agent that falls silent in the middle of a turn is given up.
func ExampleOptions_watchdog() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{IdleTimeout: 20 * time.Millisecond, Transport: simulated(hangs)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, err := range s.Turn(ctx, "Name a bird.") {
		if errors.Is(err, clew.ErrIdle) {
			fmt.Println("no word for too long")
		}
	}
	// Output: no word for too long
}
