// Command stream reads the output of Claude Code from a pipe or a file, without driving the agent.
//
//	claude -p "What is in this directory?" --output-format stream-json --verbose | go run ./examples/stream
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/clewdev/clew/wire"
)

func main() {
	r := wire.NewReader(os.Stdin, nil)
	for msg, err := range r.Messages() {
		if err != nil {
			log.Fatal(err)
		}
		switch m := msg.(type) {
		case *wire.AssistantMessage:
			fmt.Print(m.Content.Text())
		case *wire.ResultMessage:
			fmt.Printf("\n$%.4f, failed: %t\n", m.TotalCostUSD, m.IsError)
		}
	}
}
