// Command structured asks the agent for an answer of a Go type. The agent gets the JSON schema of
// the type.
//
//	go run ./examples/structured
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
)

// A Plan is the answer that the agent is asked for. The fields need no description, but answers
// are better with one.
type Plan struct {
	Title string `json:"title"`
	Steps []Step `json:"steps" jsonschema:"what to do, in order"`
}

// A Step is one thing to do.
type Step struct {
	What  string `json:"what"`
	Hours int    `json:"hours" jsonschema:"a guess, in whole hours"`
}

func main() {
	plan, _, err := clew.RunAs[Plan](context.Background(), "Plan a release of this program.", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Title)
	for _, step := range plan.Steps {
		fmt.Printf("%3d h  %s\n", step.Hours, step.What)
	}
}
