// Command query asks one question, and prints the answer as it arrives.
//
//	go run ./examples/query
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
)

func main() {
	for msg, err := range clew.Query(context.Background(), "What is in this directory?", nil) {
		if err != nil {
			log.Fatal(err)
		}
		switch m := msg.(type) {
		case *clew.AssistantMessage:
			fmt.Print(m.Content.Text())
		case *clew.ResultMessage:
			fmt.Printf("\n$%.4f\n", m.TotalCostUSD)
		}
	}
}
