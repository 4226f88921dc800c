// Command run asks one question, and prints only the answer. The agent may look at files, and is
// stopped when it costs too much.
//
//	go run ./examples/run
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
)

func main() {
	result, err := clew.Run(context.Background(), "What does this program do?", &clew.Options{
		Tools:  []string{"Read", "Glob", "Grep"},
		Limits: clew.Limits{MaxTurns: 20, MaxBudgetUSD: 0.50},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
	fmt.Printf("%d turns, $%.4f\n", result.NumTurns, result.TotalCostUSD)
}
