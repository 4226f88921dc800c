package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// chatAgentVariable makes the program claude an agent that talks: it answers any number
// of prompts, in a way that depends on their words.
const chatAgentVariable = "CHAT_AGENT"

func init() {
	if os.Getenv(chatAgentVariable) != "" && len(os.Args) > 1 && os.Args[1] == "--output-format=stream-json" {
		playChatAgent()
		os.Exit(0)
	}
}

const chatSession = "5e7b0a4c-1d2f-4e3a-8b9c-0d1e2f3a4b5c"

// chatFrame is what such an agent reads of a frame.
type chatFrame struct {
	Type      string
	RequestID string `json:"request_id"`
	Request   struct{ Subtype, Model string }
	Message   struct{ Content []struct{ Text string } }
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
	in.Buffer(nil, 1<<20)
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
			if answer := &f.Response.Response; chatBusy && answer.Behavior != "" && !answer.Interrupt {
				sayInChat(strings.TrimSpace("behavior is " + answer.Behavior + " " + answer.UpdatedInput.Answers["Which?"]))
			}
		case "user":
			answerChatPrompt(f.Message.Content[0].Text)
		}
	}
}

func answerChatRequest(f *chatFrame) {
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
			`"terminal_reason":"aborted_streaming","total_cost_usd":0.25,"session_id":"` + chatSession + `","uuid":"i"}`)
	}
}

// chatBusy says that a turn runs.
var chatBusy bool

func answerChatPrompt(text string) {
	chatBusy = true
	switch first, _, _ := strings.Cut(text, " "); first {
	case "die":
		os.Exit(9)
	case "hang":
		chatBusy = false // it does not answer to an interrupt
		fmt.Println(`{"type":"system","subtype":"init","session_id":"` + chatSession + `","uuid":"s"}`)
		writeChatText("Hanging.")
	case "wait":
		writeChatText("Waiting.")
	case "later": // asks when the turn is over
		sayInChat("Later.")
		askInChat("Bash", chatCommandInput)
	case "may":
		callInChat("Bash", chatCommandInput)
	case "which":
		callInChat("AskUserQuestion", chatQuestionInput)
	default:
		sayInChat("You said " + text)
	}
}

const (
	chatCommandInput  = `{"command":"make \u001b[2J"}`
	chatQuestionInput = `{"questions":[{"question":"Which?","header":"W","options":[` +
		`{"label":"Red \u001b[2J","description":"warm"},{"label":"Blue","description":"","preview":"# blue"}]}]}`
)

// callInChat says something, calls a tool, and asks about that at once.
func callInChat(tool, input string) {
	writeChatText("Let me see.")
	fmt.Printf(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":%q,"input":%s}]},`+
		`"session_id":%q,"uuid":"c"}`+"\n", tool, input, chatSession)
	askInChat(tool, input)
}

func askInChat(tool, input string) {
	fmt.Printf(`{"type":"control_request","request_id":"may","request":{"subtype":"can_use_tool",`+
		`"tool_name":%q,"input":%s,"tool_use_id":"t"}}`+"\n", tool, input)
}

func writeChatText(text string) {
	quoted, _ := json.Marshal(text)
	fmt.Printf(`{"type":"assistant","message":{"content":[{"type":"text","text":%s}]},"session_id":%q,"uuid":"a"}`+"\n",
		quoted, chatSession)
}

// sayInChat ends a turn.
func sayInChat(text string) {
	chatBusy = false
	writeChatText(text)
	fmt.Printf(`{"type":"result","subtype":"success","result":"","total_cost_usd":0.25,"session_id":%q,"uuid":"r"}`+"\n",
		chatSession)
}
