package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/polltest"
)

// chatAgentVariable makes the program claude an agent that talks: it answers any number of prompts,
// in a way that depends on their words.
const chatAgentVariable = "CHAT_AGENT"

// chatAgentSlow keeps the agent from reporting its context before the first prompt.
const chatAgentSlow = "slow"

func init() {
	if os.Getenv(chatAgentVariable) != "" && len(os.Args) > 1 && os.Args[1] == "--output-format=stream-json" {
		playChatAgent()
		os.Exit(0)
	}
}

// chatFrame holds the parts of a frame that such an agent reads.
type chatFrame struct {
	Type      string
	RequestID string `json:"request_id"`
	Request   struct{ Subtype, Model string }
	Message   struct{ Content []struct{ Type, Text string } }
	UUID      string
	Response  struct {
		Response struct {
			Behavior     string
			Interrupt    bool
			UpdatedInput struct{ Answers map[string]string }
		}
	}
}

func playChatAgent() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		var f chatFrame
		if err := json.Unmarshal(in.Bytes(), &f); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch f.Type {
		case "control_request":
			answerChatRequest(&f)
		case "control_response":
			if chatAsksAgain && f.Response.Response.Behavior != "" {
				chatAsksAgain = false
				askInChat("Bash", `{"command":"second"}`)
			} else if answer := &f.Response.Response; chatBusy && answer.Behavior != "" && !answer.Interrupt {
				returnInChat(answer.Behavior != "allow")
				sayInChat(strings.TrimSpace("behavior is " + answer.Behavior + " " + answer.UpdatedInput.Answers["Which?"]))
			}
		case "user":
			last := len(f.Message.Content) - 1
			chatExtras = nil
			for _, block := range f.Message.Content[:last] {
				chatExtras = append(chatExtras, block.Type+" "+block.Text)
			}
			answerChatPrompt(f.Message.Content[last].Text)
		}
	}
}

func answerChatRequest(f *chatFrame) {
	if f.Request.Subtype == "get_context_usage" && !chatAnswered && os.Getenv(chatAgentVariable) == chatAgentSlow {
		return
	}
	answer := map[string]string{
		"initialize": `{"current_model":"claude-opus-5","current_permission_mode":"default",` +
			`"commands":[{"name":"review","description":"Review \u001b[2J a change"},{"name":"cost"}],` +
			`"models":[{"value":"opus"},{"value":"sonnet","displayName":"Sonnet"}]}`,
		"get_context_usage": `{"model":"claude-opus-5","totalTokens":14000,"maxTokens":200000,"percentage":7}`,
		"set_model":         `{"model":"claude-` + f.Request.Model + `-5"}`,
	}[f.Request.Subtype]
	if answer == "" {
		answer = "{}"
	}
	fmt.Printf(`{"type":"control_response","response":{"request_id":%q,"subtype":"success","response":%s}}`+"\n",
		f.RequestID, answer)
	if f.Request.Subtype == "interrupt" && chatBusy {
		chatBusy = false
		fmt.Println(`{"type":"result","subtype":"error_during_execution","is_error":true,` +
			`"terminal_reason":"aborted_streaming","total_cost_usd":0.25,"session_id":"` + clitest.SessionID + `","uuid":"i"}`)
	}
}

var (
	chatBusy      bool     // a turn runs
	chatAsksAgain bool     // there will be another question
	chatAnswered  bool     // there was a prompt
	chatExtras    []string // the other blocks of the prompt
)

func answerChatPrompt(text string) {
	chatBusy, chatAnswered = true, true
	switch first, _, _ := strings.Cut(text, " "); first {
	case "die":
		os.Exit(9)
	case "hang":
		chatBusy = false // it does not answer to an interrupt
		fmt.Println(`{"type":"system","subtype":"init","session_id":"` + clitest.SessionID + `","uuid":"s"}`)
		writeChatText("Hanging.")
	case "wait":
		writeChatText("Waiting.")
	case "stream": // text, without an end
		fmt.Print(clitest.Framed(clitest.TextDelta("First.\\n\\nStreamed")))
	case "break": // within a text
		fmt.Print(clitest.Framed(clitest.TextDelta("First.\\n\\nBroken")))
		os.Exit(9)
	case "later": // asks when the turn is over and the test allows it
		sayInChat("Later.")
		go func() {
			polltest.Eventually(func() bool { _, err := os.Stat(askLater()); return err == nil })
			askInChat("Bash", chatCommandInput)
		}()
	case "twice":
		chatAsksAgain = true
		callInChat("Bash", chatCommandInput)
	case "may":
		callInChat("Bash", chatCommandInput)
	case "which":
		callInChat("AskUserQuestion", chatQuestionInput)
	case "work":
		for _, step := range clitest.Turn {
			fmt.Println(step.Frame)
		}
		chatBusy = false
	case "extras":
		sayInChat(fmt.Sprintf("%q", chatExtras))
	case "count":
		sayInChat(fmt.Sprintf("You sent %d bytes", len(text)))
	default:
		sayInChat("You said " + text)
	}
}

// askLater is the path of the file with which a test lets the agent ask.
func askLater() string { return filepath.Join(os.Getenv("XDG_STATE_HOME"), "ask") }

const (
	chatCommandInput  = `{"command":"make \u001b[2J"}`
	chatQuestionInput = `{"questions":[{"question":"Which?","header":"W","options":[` +
		`{"label":"Red \u001b[2J","description":"warm"},{"label":"Blue","description":"","preview":"# blue"}]}]}`
)

// callInChat writes a text, calls a tool, and immediately asks about the call.
func callInChat(tool, input string) {
	writeChatText("Let me see.")
	fmt.Printf(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":%q,"input":%s}]},`+
		`"session_id":%q,"uuid":"c"}`+"\n", tool, input, clitest.SessionID)
	askInChat(tool, input)
}

func askInChat(tool, input string) {
	fmt.Printf(`{"type":"control_request","request_id":"may","request":{"subtype":"can_use_tool",`+
		`"tool_name":%q,"input":%s,"tool_use_id":"t"}}`+"\n", tool, input)
}

// returnInChat ends the call.
func returnInChat(failed bool) {
	fmt.Printf(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":%t,`+
		`"content":"No"}]},"session_id":%q,"uuid":"u"}`+"\n", failed, clitest.SessionID)
}

func writeChatText(text string) {
	quoted, _ := json.Marshal(text)
	fmt.Printf(`{"type":"assistant","message":{"content":[{"type":"text","text":%s}]},"session_id":%q,"uuid":"a"}`+"\n",
		quoted, clitest.SessionID)
}

// sayInChat ends a turn.
func sayInChat(text string) {
	chatBusy = false
	writeChatText(text)
	fmt.Printf(`{"type":"result","subtype":"success","result":"","total_cost_usd":0.25,"session_id":%q,"uuid":"r"}`+"\n",
		clitest.SessionID)
}

// The agent's self-description never reaches the terminal unescaped.
func TestChatHostile(t *testing.T) {
	quoted, err := json.Marshal("\x1b]0;owned\x07\u202e\u2066\r\u009b\u2028owned\x00")
	if err != nil {
		t.Fatal(err)
	}
	lines := `> {"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}
< {"type":"control_response","response":{"request_id":"hello","subtype":"success","response":{"current_model":BAD,"current_permission_mode":BAD,"commands":[{"name":BAD,"description":BAD}]}}}
> {"type":"user","message":{"role":"user"}}
< {"type":"system","subtype":"init","model":BAD,"permissionMode":BAD,"slash_commands":[BAD],"session_id":BAD,"uuid":"1"}
< {"type":"assistant","message":{"content":[{"type":"text","text":BAD},{"type":"tool_use","id":"t","name":BAD,"input":{"command":BAD}}]},"session_id":BAD,"uuid":"2"}
< {"type":"control_request","request_id":"may","request":{"subtype":"can_use_tool","tool_name":BAD,"input":{"command":BAD},"tool_use_id":"t"}}
> {"type":"control_response","response":{"request_id":"may","subtype":"success","response":{"behavior":"deny"}}}
< {"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":BAD}]},"session_id":BAD,"uuid":"3"}
< {"type":"result","subtype":"error_max_turns","is_error":true,"errors":[BAD],"session_id":BAD,"uuid":"4"}
> {"type":"control_request","request_id":"m","request":{"subtype":"set_model"}}
< {"type":"control_response","response":{"request_id":"m","subtype":"success","response":{"model":BAD}}}
> {"type":"control_request","request_id":"p","request":{"subtype":"set_permission_mode"}}
< {"type":"control_response","response":{"request_id":"p","subtype":"error","error":BAD}}
> {"type":"control_request","request_id":"c","request":{"subtype":"get_session_cost"}}
< {"type":"control_response","response":{"request_id":"c","subtype":"success","response":{"text":BAD}}}
> {"type":"control_request","request_id":"x","request":{"subtype":"get_context_usage"}}
< {"type":"control_response","response":{"request_id":"x","subtype":"success","response":{"categories":[{"name":BAD}]}}}
`
	scenario, err := clewtest.ReadDialogue(strings.NewReader(strings.ReplaceAll(lines, "BAD", string(quoted))))
	if err != nil {
		t.Fatal(err)
	}
	useAgent(t, scenario)
	var out, errs bytes.Buffer
	in := strings.NewReader("Hi\n/model x\n/mode x\n/cost\n/context\n/model\n/mode\n/help\n")
	if code := execute(t.Context(), []string{"chat"}, Streams{In: in, Out: &out, Err: &errs}); code != clikit.ExitFailed {
		t.Errorf("exit code %d, stderr %q", code, errs.String())
	}
	if n := strings.Count(out.String(), "owned"); n < 8 {
		t.Errorf("stdout:\n%s", out.String())
	}
	clitest.CheckHarmless(t, "stdout", out.String())
	clitest.CheckHarmless(t, "stderr", errs.String())
}
