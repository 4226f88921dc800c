package clew_test

import (
	"context"
	"fmt"

	"github.com/clewdev/clew"
)

// The agent's own questions are answered by their options.
func ExampleQuestionFunc() {
	choose := func(_ context.Context, req *clew.QuestionRequest) (*clew.QuestionResult, error) {
		answers := map[string][]string{}
		for _, q := range req.Questions {
			fmt.Println(q.Question)
			answers[q.Question] = []string{q.Options[0].Label}
		}
		return &clew.QuestionResult{Answers: answers}, nil
	}
	opts := &clew.Options{OnQuestion: choose, Transport: simulated(asksForColour)}
	result, err := clew.Run(context.Background(), "Paint the shed.", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output:
	// Which colour?
	// told: allow, Blue
}

// An MCP server asks the user for something.
func ExampleElicitationFunc() {
	fillIn := func(_ context.Context, req *clew.ElicitationRequest) (*clew.ElicitationResult, error) {
		fmt.Printf("%s asks: %s\n", req.MCPServerName, req.Message)
		return &clew.ElicitationResult{Action: clew.ElicitationAccept, Content: map[string]string{"name": "Ada"}}, nil
	}
	opts := &clew.Options{OnElicitation: fillIn, Transport: simulated(asksForName)}
	result, err := clew.Run(context.Background(), "Sign me up.", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output:
	// signup asks: Your name?
	// told: accept, Ada
}

// A noon is an MCP server whose one tool tells the time. Claude Code also calls initialize and tools/list.
type noon struct{}

// HandleMCP answers one message of JSON-RPC.
func (noon) HandleMCP(_ context.Context, message clew.JSON) (clew.JSON, error) {
	var call struct {
		ID     clew.JSON
		Method string
	}
	if err := message.Decode(&call); err != nil || call.Method != "tools/call" {
		return "", err
	}
	return `{"jsonrpc":"2.0","id":` + call.ID + `,"result":{"content":[{"type":"text","text":"12:00"}]}}`, nil
}

// A tool runs in this process; examples/mcp_inprocess is a whole server.
func ExampleMCPInProcessServer() {
	result, err := clew.Run(context.Background(), "What time is it?", &clew.Options{
		MCPServers:   map[string]clew.MCPServer{"clock": &clew.MCPInProcessServer{Handler: noon{}}},
		AllowedTools: []string{"mcp__clock__now"},
		Transport:    simulated(callsClock),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: told: 12:00
}
