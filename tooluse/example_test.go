package tooluse_test

import (
	"fmt"

	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// Show the tool calls in an answer of the model.
func ExampleDecodeInput() {
	calls := []*wire.ToolUseBlock{
		{Name: "Bash", Input: `{"command":"go test ./...","description":"Run the tests","timeout":60000}`},
		{Name: "Edit", Input: `{"file_path":"/src/main.go","old_string":"Helo","new_string":"Hello"}`},
		{Name: "mcp__calc__add", Input: `{"a":1,"b":2}`},
	}
	for _, call := range calls {
		in, err := tooluse.DecodeInput(call.Name, call.Input)
		if err != nil {
			fmt.Println(err)
			return
		}
		switch in := in.(type) {
		case *tooluse.BashInput:
			fmt.Printf("$ %s (at most %s)\n", in.Command, in.Timeout.Duration())
		case *tooluse.EditInput:
			fmt.Printf("%s: %q becomes %q\n", in.FilePath, in.OldString, in.NewString)
		case *tooluse.OtherInput:
			fmt.Println(in.Name, in.Raw)
		}
	}
	// Output:
	// $ go test ./... (at most 1m0s)
	// /src/main.go: "Helo" becomes "Hello"
	// mcp__calc__add {"a":1,"b":2}
}

// The structured result of a tool has more than the text that the model was given. It is the
// member toolUseResult of a transcript, and [wire.UserMessage.ToolUseResult] of a live message.
func ExampleDecodeResult() {
	results := []struct {
		tool       string
		structured wire.JSON
	}{
		{"Edit", `{"filePath":"/src/main.go","structuredPatch":[
			{"oldStart":7,"oldLines":1,"newStart":7,"newLines":1,"lines":["-Helo","+Hello"]}]}`},
		{"Bash", `"Error: Exit code 1"`},
		{"Bash", `"User rejected tool use"`},
	}
	for _, r := range results {
		result, err := tooluse.DecodeResult(r.tool, r.structured)
		if err != nil {
			fmt.Println(err)
			return
		}
		switch result := result.(type) {
		case *tooluse.EditResult:
			for _, hunk := range result.StructuredPatch {
				fmt.Printf("%s:%d: %q\n", result.FilePath, hunk.NewStart, hunk.Lines)
			}
		case *tooluse.TextResult:
			fmt.Printf("rejected: %t, failure: %q\n", result.Rejected(), result.Failure())
		}
	}
	// Output:
	// /src/main.go:7: ["-Helo" "+Hello"]
	// rejected: false, failure: "Exit code 1"
	// rejected: true, failure: ""
}

// Count the calls of a session by category, for a summary.
func ExampleCategoryOf() {
	counts := map[tooluse.Category]int{}
	for _, tool := range []string{"Read", "Grep", "Read", "mcp__calc__add", "Hologram"} {
		counts[tooluse.CategoryOf(tool)]++
	}
	fmt.Println(counts)
	// Output: map[Grep:1 Other:1 Read:2 Tool:1]
}

// A command that failed has a text in place of its output.
func ExampleExitCode() {
	for _, structured := range []wire.JSON{`{"stdout":"ok","stderr":""}`, `"Error: Exit code 2\nmake: no rule"`} {
		result, err := tooluse.DecodeResult("Bash", structured)
		if err != nil {
			fmt.Println(err)
			return
		}
		if code, ok := tooluse.ExitCode(result); ok {
			fmt.Println("exit code", code)
		}
	}
	// Output:
	// exit code 0
	// exit code 2
}
