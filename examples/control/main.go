// Command control asks a live agent about its models, its context window and its cost so far.
//
//	go run ./examples/control
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/screens"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := clew.Connect(ctx, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	models, err := s.Models(ctx)
	if err != nil {
		return err
	}
	for _, model := range models {
		fmt.Printf("model %s: %s\n", model.Value, model.DisplayName)
	}
	for _, err := range s.Turn(ctx, clew.Text("Say hello.")) {
		if err != nil {
			return err
		}
	}
	window, err := screens.Context(ctx, s, &screens.ContextOptions{Estimate: true})
	if err != nil {
		return err
	}
	fmt.Printf("context: %d of %d tokens\n", window.TotalTokens, window.MaxTokens)
	usage, err := screens.AccountUsage(ctx, s, nil)
	if err != nil {
		return err
	}
	fmt.Printf("cost: $%.4f\n", usage.Session.TotalCostUSD)
	return nil
}
