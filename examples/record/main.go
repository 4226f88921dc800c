// Command record keeps the dialogue with the agent in a file. The test beside it plays the dialogue
// again, so that it needs no agent, network or key.
//
//	go run ./examples/record dialogue.txt
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/clewdev/clew"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: record FILE")
	}
	if err := record(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func record(ctx context.Context, path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	answer, err := greet(ctx, &clew.Options{Debug: clew.DebugOptions{Record: file}})
	if err != nil {
		return err
	}
	fmt.Println(answer)
	return file.Close()
}

// greet is the function under test.
func greet(ctx context.Context, opts *clew.Options) (string, error) {
	result, err := clew.Run(ctx, "Say hello.", opts)
	if err != nil {
		return "", err
	}
	return "The agent says: " + result.Result, nil
}
