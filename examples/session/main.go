// Command session asks one agent two questions, the second about the answer to the first.
//
//	go run ./examples/session
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/clewdev/clew"
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
	for _, prompt := range []string{"Name a bird.", "Where does it live?"} {
		fmt.Println(">", prompt)
		for msg, err := range clew.Query(ctx, prompt, s) {
			if err != nil {
				return err
			}
			if m, ok := msg.(*clew.AssistantMessage); ok {
				fmt.Println(m.Content.Text())
			}
		}
	}
	return nil
}
