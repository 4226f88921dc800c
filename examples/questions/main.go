// Command questions puts the agent's own questions to a person.
//
//	go run ./examples/questions
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
)

// ask is a [clew.QuestionFunc].
func ask(_ context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
	answers := map[string][]string{}
	for _, q := range req.Questions {
		fmt.Printf("%q\n", q.Question)
		for i, option := range q.Options {
			fmt.Printf("%d %q: %q\n", i+1, option.Label, option.Description)
		}
		var n int
		if _, err := fmt.Scanln(&n); err != nil {
			return nil, err
		}
		if n < 1 || n > len(q.Options) {
			return &clew.QuestionResult{Response: "None of these."}, nil
		}
		answers[q.Question] = []string{q.Options[n-1].Label}
	}
	return &clew.QuestionResult{Answers: answers}, nil
}

func main() {
	const prompt = "Ask me what my favorite color is, with the tool for questions, and write a haiku about it."
	result, err := clew.Run(context.Background(), prompt, &clew.Options{OnQuestion: ask})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
