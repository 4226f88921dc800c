// Command streaming prints an answer while the model writes it.
//
//	go run ./examples/streaming
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
)

func main() {
	var answer clew.Collector // it counts what is streamed and then comes as a whole only once
	opts := &clew.Options{IncludePartialMessages: true}
	for msg, err := range clew.Query(context.Background(), "Tell me a story.", opts) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(answer.Add(msg))
	}
	fmt.Println()
}
