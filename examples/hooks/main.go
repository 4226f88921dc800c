// Command hooks keeps the agent from deleting things, although it may run any command.
//
//	go run ./examples/hooks
package main

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
)

// keepFiles is a [hook.Func] that denies commands with rm in them. It helps against mistakes;
// against malice there is [clew.Options.Sandbox].
func keepFiles(_ context.Context, in hook.Input) (*hook.Output, error) {
	use, ok := in.(*hook.PreToolUseInput)
	if !ok {
		return nil, nil
	}
	var input struct{ Command string }
	if err := use.ToolInput.Decode(&input); err != nil {
		return nil, err
	}
	if !slices.Contains(strings.Fields(input.Command), "rm") {
		return nil, nil
	}
	fmt.Printf("denied: %q\n", input.Command)
	return &hook.Output{Specific: &hook.PreToolUseOutput{
		Decision: permission.BehaviorDeny,
		Reason:   "Nothing is deleted here.",
	}}, nil
}

func main() {
	result, err := clew.Run(context.Background(), "Delete all temporary files.", &clew.Options{
		AllowedTools: []string{"Bash"},
		Hooks: map[hook.Event][]hook.Matcher{
			hook.PreToolUse: {{
				Matcher:   "Bash",
				Hooks:     []hook.Func{keepFiles},
				OnFailure: hook.FailureBlock,
			}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
