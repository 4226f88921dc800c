package clew_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/wire"
)

// Actions of the simulated agent in place of an answer.
const (
	countsOn = "counts on" // until it is interrupted
	hangs    = "hangs"

	asksToDelete = `asks {"subtype":"hook_callback","callback_id":"hook_0","input":` +
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf build"}}}`
	asksForColour = `asks {"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t1","input":` +
		`{"questions":[{"question":"Which colour?","options":[{"label":"Blue"},{"label":"Red"}]}]}}`
	asksForName = `asks {"subtype":"elicitation","mcp_server_name":"signup","message":"Your name?","requested_schema":` +
		`{"type":"object","properties":{"name":{"type":"string"}}}}`
	callsClock = `asks {"subtype":"mcp_message","server_name":"clock","message":` +
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"now"}}}`
)

// simulated returns a transport to an agent in memory, which takes the place of Claude Code in
// examples. It answers one prompt with each text: text that starts with a brace is a structured
// answer, text with the prefix "error: " is a failed turn, text with the prefix "asks " is a
// request to the host, whose answer becomes the agent's own, and text with the prefix "saves " is
// also written to the transcript. An agent without more texts dies at the next prompt.
func simulated(texts ...string) clew.Transport {
	return clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
		prompts, stdin := io.Pipe()
		stdout, answers := io.Pipe()
		go func() {
			agent := &exampleAgent{texts: texts}
			agent.play(prompts, answers)
			answers.Close() //nolint:errcheck // it never fails
		}()
		return &exampleConnection{stdin, stdout}, nil
	})
}

// An exampleAgent says texts, one for each prompt.
type exampleAgent struct {
	texts  []string
	prompt string // the id of the newest one
	blocks bool   // it does not go on after a hook that failed
}

// play reads frames until their end, or until there are no more texts.
func (a *exampleAgent) play(prompts io.Reader, answers io.Writer) {
	for msg := range wire.NewReader(prompts, nil).Messages() {
		answer := ""
		switch m := msg.(type) {
		case *wire.ControlRequestMessage:
			answer = a.control(m)
		case *wire.ControlResponseMessage:
			answer = exampleTurn(a.prompt, a.conclude(&m.Response))
		case *wire.UserMessage:
			if len(a.texts) == 0 {
				return
			}
			if a.texts[0] == hangs {
				_, _ = io.Copy(io.Discard, prompts)
				return
			}
			a.prompt = m.UUID
			answer, a.texts = exampleTurn(m.UUID, a.texts[0]), a.texts[1:]
		}
		if _, err := fmt.Fprintln(answers, answer); err != nil {
			return
		}
	}
}

// control answers a control request.
func (a *exampleAgent) control(m *wire.ControlRequestMessage) string {
	body, more := "{}", ""
	switch m.Request.Subtype {
	case "initialize":
		body = `{"hook_on_failure_supported":true}`
		a.blocks = strings.Contains(m.Request.Raw(), `"onFailure":"block"`)
	case "get_context_usage":
		body = `{"totalTokens":18000,"maxTokens":200000}`
	case "interrupt":
		more = fmt.Sprintf("\n"+`{"type":"result","subtype":"error_during_execution","is_error":true,`+
			`"terminal_reason":"aborted_streaming","user_message_uuid":%q}`, a.prompt)
	}
	return fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`,
		m.RequestID, body) + more
}

// conclude returns the agent's text after the host answers or fails.
func (a *exampleAgent) conclude(answer *wire.ControlResponse) string {
	switch {
	case answer.Error == "":
		return summarize(answer.Response)
	case a.blocks:
		return "blocked: " + answer.Error
	}
	return "went on after: " + answer.Error
}

// summarize returns the answer of the host to the agent as one line.
func summarize(answer wire.JSON) string {
	var a struct {
		Behavior, Message string
		UpdatedInput      struct{ Answers map[string]string }
		Action            string
		Content           map[string]string
		Hook              struct{ PermissionDecision, PermissionDecisionReason string } `json:"hookSpecificOutput"`
		MCP               struct {
			Result struct{ Content []struct{ Text string } }
		} `json:"mcp_response"`
	}
	if err := answer.Decode(&a); err != nil {
		return err.Error()
	}
	words := []string{a.Behavior, a.Message, a.Action, a.Hook.PermissionDecision, a.Hook.PermissionDecisionReason}
	for _, values := range []map[string]string{a.UpdatedInput.Answers, a.Content} {
		words = slices.AppendSeq(words, maps.Values(values))
	}
	for _, block := range a.MCP.Result.Content {
		words = append(words, block.Text)
	}
	return "answer: " + strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ", ")
}

// exampleTurn returns the frames of a turn that answers a prompt with a text.
func exampleTurn(prompt, text string) string {
	failure, failed := strings.CutPrefix(text, "error: ")
	request, asks := strings.CutPrefix(text, "asks ")
	saved, saves := strings.CutPrefix(text, "saves ")
	switch {
	case saves:
		return fmt.Sprintf(`{"type":"transcript_mirror","filePath":"/home/dev/.claude/projects/-home-dev-shop/5f2c.jsonl",`+
			`"entries":[{"type":"assistant","uuid":"e1","message":{"content":%q}}]}`, saved) + "\n" + exampleTurn(prompt, saved)
	case text == countsOn:
		return `{"type":"assistant","message":{"content":[{"type":"text","text":"One, two"}]}}`
	case asks:
		return fmt.Sprintf(`{"type":"control_request","request_id":"ask","request":%s}`, request)
	case failed:
		return fmt.Sprintf(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":[%q],`+
			`"user_message_uuid":%q}`, failure, prompt)
	case strings.HasPrefix(text, "{"):
		return fmt.Sprintf(`{"type":"result","subtype":"success","structured_output":%s,"user_message_uuid":%q}`, text, prompt)
	}
	return fmt.Sprintf(`{"type":"assistant","message":{"content":[{"type":"text","text":%[1]q}]}}`+"\n"+
		`{"type":"result","subtype":"success","result":%[1]q,"num_turns":1,"total_cost_usd":0.01,"user_message_uuid":%[2]q}`, text, prompt)
}

// An exampleConnection is the host's end of an agent in memory.
type exampleConnection struct {
	stdin  *io.PipeWriter
	stdout *io.PipeReader
}

func (c *exampleConnection) Read(p []byte) (int, error)  { return c.stdout.Read(p) }
func (c *exampleConnection) Write(p []byte) (int, error) { return c.stdin.Write(p) }
func (c *exampleConnection) CloseWrite() error           { return c.stdin.Close() }

func (c *exampleConnection) Close() error {
	_ = c.stdin.Close()
	return c.stdout.Close()
}

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
	// answer: allow, Blue
}

// An MCP server asks the user for something.
func ExampleElicitationFunc() {
	fillIn := func(_ context.Context, req *clew.ElicitationRequest) (*clew.ElicitationResult, error) {
		fmt.Printf("%s asks: %s\n", req.MCPServerName, req.Message)
		return &clew.ElicitationResult{Action: wire.ElicitationAccept, Content: map[string]string{"name": "Ada"}}, nil
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
	// answer: accept, Ada
}

// A noon is an MCP server whose one tool returns the time. Claude Code also calls initialize and
// tools/list.
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
	// Output: answer: 12:00
}

// A check that can't decide lets nothing through: without OnFailure, the agent would continue.
func ExampleOptions_onFailure() {
	check := func(context.Context, hook.Input) (*hook.Output, error) {
		return nil, errors.New("the policy server does not answer")
	}
	opts := &clew.Options{
		Hooks: map[hook.Event][]hook.Matcher{
			hook.PreToolUse: {{Hooks: []hook.Func{check}, OnFailure: hook.FailureBlock}},
		},
		Transport: simulated(asksToDelete),
	}
	result, err := clew.Run(context.Background(), "Tidy up.", opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Result)
	// Output: blocked: the policy server does not answer
}
