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
)

// keepFiles is a [clew.HookFunc] that denies commands with rm in them. It helps against mistakes;
// against malice there is [clew.Options.Sandbox].
func keepFiles(_ context.Context, in clew.HookInput) (*clew.HookOutput, error) {
	use, ok := in.(*clew.PreToolUseInput)
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
	return &clew.HookOutput{Specific: &clew.PreToolUseOutput{
		Decision: clew.PermissionBehaviorDeny,
		Reason:   "Nothing is deleted here.",
	}}, nil
}

func main() {
	result, err := clew.Run(context.Background(), "Delete all temporary files.", &clew.Options{
		AllowedTools: []string{"Bash"},
		Hooks: map[clew.HookEvent][]clew.HookMatcher{
			clew.HookPreToolUse: {{
				Matcher:   "Bash",
				Hooks:     []clew.HookFunc{keepFiles},
				OnFailure: clew.HookFailureBlock,
			}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Result)
}
