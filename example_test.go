package clew_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/clewdev/clew"
)

func ExampleQuery() {
	opts := &clew.Options{Transport: simulated("It reads mail.")} // without a transport, Claude Code is started
	for msg, err := range clew.Query(context.Background(), "What does this program do?", opts) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch m := msg.(type) {
		case *clew.AssistantMessage:
			fmt.Println(m.Content.Text())
		case *clew.ResultMessage:
			fmt.Println("turns:", m.NumTurns)
		}
	}
	// Output:
	// It reads mail.
	// turns: 1
}

// A sequence of prompts is sent as it comes, to one agent.
func ExampleQuery_sequence() {
	prompts := slices.Values([]*clew.UserMessage{
		clew.NewUserMessage(clew.Text("Name a bird.")),
		clew.NewUserMessage(clew.Text("And a fish.")),
	})
	opts := &clew.Options{Transport: simulated("The wren.", "The pike.")}
	for msg, err := range clew.Query(context.Background(), prompts, opts) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if result, ok := msg.(*clew.ResultMessage); ok {
			fmt.Println(result.Result)
		}
	}
	// Output:
	// The wren.
	// The pike.
}

func ExampleRun() {
	opts := &clew.Options{
		Tools:     []string{"Read", "Grep"},
		MaxTurns:  10,
		Transport: simulated("There are three."),
	}
	result, err := clew.Run(context.Background(), "How many tests fail?", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: There are three.
}

func ExampleRunAs() {
	type city struct {
		Name   string `json:"name"`
		People int    `json:"people" jsonschema:"inhabitants, in whole numbers"`
	}
	opts := &clew.Options{Transport: simulated(`{"name":"Turku","people":206000}`)}
	answer, _, err := clew.RunAs[city](context.Background(), "Which city was the capital of Finland before Helsinki?", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Name, answer.People)
	// Output: Turku 206000
}

func ExampleConnect() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated("The wren.", "In the hedge.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for _, prompt := range []string{"Name a bird.", "Where does it live?"} {
		for msg, err := range s.Turn(ctx, prompt) {
			if err != nil {
				fmt.Println(err)
				return
			}
			if m, ok := msg.(*clew.AssistantMessage); ok {
				fmt.Println(m.Content.Text())
			}
		}
	}
	// Output:
	// The wren.
	// In the hedge.
}

// Prompts can be sent while an answer is awaited. The result says which prompt it answers.
func ExampleSession_Send() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated("The wren.", "The pike.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	var ids []string
	for _, prompt := range []string{"Name a bird.", "Name a fish."} {
		id, err := s.Send(ctx, prompt)
		if err != nil {
			fmt.Println(err)
			return
		}
		ids = append(ids, id)
	}
	for msg, err := range s.Messages(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		result, ok := msg.(*clew.ResultMessage)
		if !ok {
			continue
		}
		n := slices.Index(ids, result.UserMessageUUID) + 1
		fmt.Printf("answer %d: %s\n", n, result.Result)
		if n == len(ids) {
			return
		}
	}
	// Output:
	// answer 1: The wren.
	// answer 2: The pike.
}

// A turn that fails is a result first and an error second, and the session lives on.
func ExampleResultError() {
	ctx := context.Background()
	s, err := clew.Connect(ctx, &clew.Options{Transport: simulated("error: the model is overloaded", "The wren.")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	for range 2 {
		for msg, err := range s.Turn(ctx, "Name a bird.") {
			if failed, ok := errors.AsType[*clew.ResultError](err); ok {
				fmt.Println("failed:", failed.Text())
			}
			if m, ok := msg.(*clew.AssistantMessage); ok {
				fmt.Println(m.Content.Text())
			}
		}
	}
	// Output:
	// failed: the model is overloaded
	// The wren.
}

// Options are checked before anything starts.
func ExampleOptionsError() {
	_, err := clew.Connect(context.Background(), &clew.Options{Continue: true, Resume: "5f2c"})
	if wrong, ok := errors.AsType[*clew.OptionsError](err); ok {
		fmt.Println(wrong.Option)
	}
	// Output: Continue
}

// The agent runs on another machine: ssh is started in its place, and starts it there.
func ExampleProcessTransport() {
	_ = &clew.Options{Transport: &clew.ProcessTransport{Wrap: func(launch *clew.Launch) error {
		command := "claude"
		for _, arg := range launch.Args {
			command += " '" + strings.ReplaceAll(arg, "'", `'\''`) + "'" // a shell reads it there
		}
		launch.Path, launch.Args = "/usr/bin/ssh", []string{"build.example.com", command}
		return nil
	}}}
}
