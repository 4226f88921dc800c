package clew_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/clewdev/clew"
)

// A hook keeps the agent from deleting things, in every permission mode.
func ExampleHookFunc() {
	guard := func(_ context.Context, in clew.HookInput) (*clew.HookOutput, error) {
		use, ok := in.(*clew.PreToolUseInput)
		if !ok || !strings.Contains(string(use.ToolInput), "rm -") {
			return nil, nil
		}
		return &clew.HookOutput{Specific: &clew.PreToolUseOutput{
			Decision: clew.PermissionBehaviorDeny,
			Reason:   "Nothing is deleted here.",
		}}, nil
	}
	result, err := clew.Run(context.Background(), "Tidy up.", &clew.Options{
		Hooks: map[clew.HookEvent][]clew.HookMatcher{
			clew.HookPreToolUse: {{
				Matcher:   "Bash",
				Hooks:     []clew.HookFunc{guard},
				OnFailure: clew.HookFailureBlock,
			}},
		},
		Transport: simulated(asksToDelete),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: told: deny, Nothing is deleted here.
}
