package screens_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/screens"
)

// answers takes the place of a [clew.Session] in examples: answers by the subtype of a request.
type answers map[string]string

func (a answers) Control(_ context.Context, subtype string, _, out any) error {
	answer, ok := a[subtype]
	if !ok {
		return &clew.ControlError{Subtype: subtype, Code: "unsupported_request", Message: "unsupported"}
	}
	return json.Unmarshal([]byte(answer), out)
}

// Show the use of the context window.
func ExampleContext() {
	session := answers{"get_context_usage": `{"totalTokens":18000,"maxTokens":200000,"categories":[
		{"name":"System prompt","tokens":1700,"kind":"used"},
		{"name":"Messages","tokens":16300,"kind":"used"},
		{"name":"Free space","tokens":182000,"kind":"free"}]}`}
	window, err := screens.Context(context.Background(), session, &screens.ContextOptions{Estimate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d of %d tokens\n", window.TotalTokens, window.MaxTokens)
	for _, c := range window.Categories {
		fmt.Printf("%6d %s\n", c.Tokens, c.Name)
	}
	// Output:
	// 18000 of 200000 tokens
	//   1700 System prompt
	//  16300 Messages
	// 182000 Free space
}

// List the rules that let the agent use a tool without asking.
func ExamplePermissionRules() {
	session := answers{"list_permission_rules": `{"state":{"rules":[
		{"rule":"Bash(go test:*)","behavior":"allow","source":"projectSettings"},
		{"rule":"WebFetch","behavior":"deny","source":"session"}]}}`}
	report, err := screens.PermissionRules(context.Background(), session)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, rule := range report.Rules {
		if rule.Behavior == permission.BehaviorAllow {
			fmt.Printf("%q from %s\n", rule.Rule, rule.Source)
		}
	}
	// Output: "Bash(go test:*)" from projectSettings
}

// An older agent does not know every request.
func ExampleCostText() {
	session := answers{}
	_, err := screens.CostText(context.Background(), session)
	if refused, ok := errors.AsType[*clew.ControlError](err); ok && refused.Unsupported() {
		fmt.Println("this agent is too old")
	}
	// Output: this agent is too old
}
