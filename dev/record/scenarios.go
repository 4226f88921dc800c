package record

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// textScenarios are about answers without tools.
var textScenarios = []*Scenario{
	{
		Name:    "hello_partial",
		About:   "An answer in text, with its pieces while the model writes it.",
		Args:    partial,
		Prompts: []string{"Say hello"},
		Model: func(s *Stage) {
			s.Model.On("Say hello").Reply(clewtest.Text("Hello, this is a scripted answer.")).ChunkSize(16).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "thinking",
		About:   "The model thinks before it answers.",
		Prompts: []string{"Think first"},
		Model: func(s *Stage) {
			s.Model.On("Think first").Reply(
				clewtest.Thinking("Consider the question with care.", "c2lnbmF0dXJl"),
				clewtest.Text("Thought about it."),
			).ChunkSize(16).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "structured_output",
		About:   "The answer has to follow a JSON schema.",
		Args:    []string{"--json-schema", `{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}`},
		Prompts: []string{"Give data"},
		Model: func(s *Stage) {
			s.Model.On("Give data").Reply(clewtest.ToolUse("StructuredOutput", map[string]any{"name": "Ada", "age": 36})).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:  "interrupt",
		About: "The host interrupts an answer that comes slowly.",
		Args:  partial,
		Model: func(s *Stage) {
			s.Model.On("Slow").Reply(clewtest.Text("This answer comes in pieces, and it takes its time to be complete.")).
				ChunkSize(4).Pace(150*time.Millisecond).Usage(100, 42, 300, 20)
		},
		Play: func(h *Host) {
			h.Prompt("Slow")
			h.Await("stream_event content_block_delta", 3)
			h.Request("req_int", `{"subtype":"interrupt"}`)
			h.AwaitResult()
		},
	},
}

// turnScenarios are about the turns of a conversation.
var turnScenarios = []*Scenario{
	{
		Name:    "two_turns",
		About:   "Two prompts, one after the other, in one session.",
		Prompts: []string{"First", "Second"},
		Model: func(s *Stage) {
			s.Model.On("First").Reply(clewtest.Text("One.")).Usage(100, 42, 300, 20)
			s.Model.On("Second").Reply(clewtest.Text("Two.")).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "compact",
		About:   "The user has the conversation compacted.",
		Prompts: []string{"First words", "/compact"},
		Model: func(s *Stage) {
			s.Model.On("First words").Reply(clewtest.Text("Some words.")).Once().Usage(100, 42, 300, 20)
			s.Model.On("").Reply(clewtest.Text("<summary>\nTalked about words.\n</summary>")).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:    "turn_limit",
		About:   "The agent may take one turn, and needs two.",
		Args:    append([]string{"--max-turns", "1"}, allowAll...),
		Prompts: []string{"Run echo"},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(bash("echo limited", "Echo")).Usage(100, 42, 300, 20)
		},
	},
}

// bash returns a tool call that runs a command.
func bash(command, description string) wire.Block {
	return clewtest.ToolUse("Bash", struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}{command, description})
}

// write returns a tool call that writes a file.
func write(path, content string) wire.Block {
	return clewtest.ToolUse("Write", struct {
		Path    string `json:"file_path"`
		Content string `json:"content"`
	}{path, content})
}

// edit returns a tool call that replaces a piece of a file, everywhere if all is set.
func edit(path, before, after string, all bool) wire.Block {
	return clewtest.ToolUse("Edit", struct {
		Path string `json:"file_path"`
		Old  string `json:"old_string"`
		New  string `json:"new_string"`
		All  bool   `json:"replace_all"`
	}{path, before, after, all})
}

// read returns a tool call that reads a file.
func read(path string) wire.Block {
	return clewtest.ToolUse("Read", struct {
		Path string `json:"file_path"`
	}{path})
}

// done answers every tool result that no earlier rule matches.
func done(s *Stage) {
	s.Model.OnToolResult("").Reply(clewtest.Text("All done.")).Usage(100, 42, 300, 20)
}

// toolScenarios are about the tools of the agent, and the permission to use them.
var toolScenarios = []*Scenario{
	{
		Name:    "tool_bash",
		About:   "A command that writes to both of its outputs.",
		Args:    allowAll,
		Prompts: []string{"Run echo"},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(clewtest.Text("Running."), bash("echo one; echo two >&2", "Echo")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "tool_allowed_edit",
		About:   "The host allows a file to be written and edited.",
		Prompts: []string{"Write it"},
		Model: func(s *Stage) {
			s.Model.On("Write it").Reply(write(s.Path("out.txt"), "hi\nthere\n")).Usage(100, 42, 300, 20)
			s.Model.OnToolResult("created successfully").Reply(clewtest.ToolUse("Edit", struct {
				Path string `json:"file_path"`
				Old  string `json:"old_string"`
				New  string `json:"new_string"`
			}{s.Path("out.txt"), "there", "world"})).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "tool_edits",
		About:   "Edits whose strings are not as they are in the file: tabs, line ends, quotes and blanks.",
		Args:    allowAll,
		Prompts: []string{"Edit them"},
		Files: map[string]string{
			"crlf.txt": "one\r\n\ttwo\r\nthree\r\n", "quotes.txt": "\tsay “hello” and\n\tgo\n", "empty.txt": "",
		},
		Model: func(s *Stage) {
			code, lines, quotes, empty := s.Path("code.txt"), s.Path("crlf.txt"), s.Path("quotes.txt"), s.Path("empty.txt")
			s.Model.On("Edit them").Reply(
				read(lines), read(quotes), read(empty),
				write(code, "func f() {\n\tif a {\n\t\tb()\n\t}\n    \tc()\n\t  b()\n}\n"),
				edit(code, "\t\tb()\n", "\t\tb()\n\t\tif d {\n\t\t\te()\n\t\t}\n", false),
				edit(code, "b()", "g($&, $1)", true),
				edit(code, "    \tc()", "", false),
				edit(code, "\tif d {", "\tif h {  \n\t\ti() ", false),
				edit(code, "}\n", "}", true),
				write(code, "\tfunc f() {\n\t\tj()\n\t}"),
				edit(code, "\t}", "\t}\n\n\tk()\n", false),
				write(code, "\ta\n\ta b\n\t\ta"),
				edit(code, "a", "", true),
				edit(lines, "one\n\ttwo", "one\n\t\ttwo\n\tmore", false),
				edit(quotes, "say \"hello\"", "say \"good\" 'bye'", false),
				edit(empty, "", "\tnow\n", false),
				read(code), read(lines), read(quotes), read(empty),
			).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "tool_denied",
		About:   "The host denies a tool.",
		Prompts: []string{"Write it"},
		Tool:    func(*Question) string { return `{"behavior":"deny","message":"not today"}` },
		Model: func(s *Stage) {
			s.Model.On("Write it").Reply(write(s.Path("out.txt"), "hi")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:  "parallel_tools",
		About: "One answer of the model uses three tools, and none of them ends before the last has begun.",
		Args:  allowAll,
		Files: map[string]string{"one.txt": "first\n", "two.txt": "second\n", "three.txt": "third\n"},
		Model: func(s *Stage) {
			const wait = "until test -e go; do sleep 0.05; done; "
			s.Model.On("Read all").Reply(
				bash(wait+"cat one.txt", "Read one"), bash(wait+"cat two.txt", "Read two"), bash(wait+"cat three.txt", "Read three"),
			).Usage(100, 42, 300, 20)
			done(s)
		},
		Play: func(h *Host) {
			h.Prompt("Read all")
			h.Await("assistant tool_use", 3)
			h.fail(os.WriteFile(h.Path("go"), nil, 0o600))
			h.AwaitResult()
		},
	},
}

// filler is one line of an output that is too long for the conversation.
const filler = "a line of output that is of no use to anybody\n"

// pngDot is a picture of one red pixel.
const pngDot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// outputScenarios are about tool results that are more than a line of text.
var outputScenarios = []*Scenario{
	{
		Name:    "big_output_spills",
		About:   "A command writes more than fits into the conversation: the agent keeps it in a file and shows its beginning.",
		Args:    allowAll,
		Prompts: []string{"Print a lot"},
		Files:   map[string]string{"big.txt": strings.Repeat(filler, 2000)},
		Own:     []string{filler},
		Model: func(s *Stage) {
			s.Model.On("Print a lot").Reply(bash("cat big.txt", "Print a big file")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "image_result",
		About:   "The agent reads a picture.",
		Args:    allowAll,
		Prompts: []string{"Look at it"},
		Files:   map[string]string{"dot.png": mustDecode(pngDot)},
		Model: func(s *Stage) {
			s.Model.On("Look at it").Reply(clewtest.ToolUse("Read", map[string]string{"file_path": s.Path("dot.png")})).Usage(100, 42, 300, 20)
			s.Model.When(func(r *clewtest.Request) bool { return len(r.ToolResults()) > 0 }).
				Reply(clewtest.Text("A red dot.")).Usage(100, 42, 300, 20)
		},
	},
}

// mustDecode decodes base64 text.
func mustDecode(text string) string {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// errorScenarios are about a model that fails.
var errorScenarios = []*Scenario{
	{
		Name:    "error_400",
		About:   "The model refuses the request.",
		Prompts: []string{"Fail"},
		Model:   func(s *Stage) { s.Model.On("Fail").Fail(400).Message("scripted bad request") },
	},
	{
		Name:    "overload_retried",
		About:   "The model is overloaded twice, and then answers.",
		Env:     []string{"CLAUDE_CODE_MAX_RETRIES=2"},
		Prompts: []string{"Try"},
		Model: func(s *Stage) {
			s.Model.On("Try").Fail(529).Times(2)
			s.Model.On("Try").Reply(clewtest.Text("At last.")).Usage(100, 42, 300, 20)
		},
	},
	{
		Name:  "cut_stream",
		About: "The connection breaks in the middle of an answer, and the agent asks again.",
		Args:  partial,
		Env:   []string{"CLAUDE_CODE_MAX_RETRIES=2"},
		Model: func(s *Stage) {
			const sent = 4
			s.Model.On("Cut it").Reply(clewtest.Text("Never whole.")).ChunkSize(6).Cut(sent).Once().
				Before(func(_ context.Context, n int) {
					if n == sent { // the agent drops events that it has not passed on yet
						s.Hold("passed on")
					}
				})
			s.Model.On("Cut it").Reply(clewtest.Text("Whole again.")).ChunkSize(6).Usage(100, 42, 300, 20)
		},
		Play: func(h *Host) {
			h.Prompt("Cut it")
			h.Await("stream_event content_block_delta", 1)
			h.Release("passed on")
			h.AwaitResult()
		},
	},
}

// delegate makes the model start a subagent that counts files. The call also has the members of
// input.
func delegate(s *Stage, command, input string) {
	call := `{"description":"Count files","prompt":"INNER count","subagent_type":"general-purpose"` + input + `}`
	s.Model.On("Delegate").Reply(clewtest.Text("Delegating."), clewtest.ToolUse("Agent", rawInput(call))).Usage(100, 42, 300, 20)
	s.Model.On("INNER count").Reply(clewtest.Text("Counting."), bash(command, "Count")).Usage(100, 42, 300, 20)
}

// agentScenarios are about subagents.
var agentScenarios = []*Scenario{
	{
		Name:  "subagent_background",
		About: "A subagent works in the background; when it is done, a second result follows.",
		Args:  allowAll,
		Model: func(s *Stage) {
			// The turn continues after the subagent starts, and the subagent continues after the
			// turn ends.
			delegate(s, "until test -e go; do sleep 0.05; done; ls | wc -l", "")
			s.Model.When(func(r *clewtest.Request) bool {
				results := r.ToolResults()
				return len(results) == 1 && strings.Contains(results[0].Text(), "agent launched") && s.Hold("begun")
			}).Reply(clewtest.Text("All done.")).Usage(100, 42, 300, 20)
			s.Model.When(func(r *clewtest.Request) bool {
				// The note that the subagent is done is a reminder, not a prompt.
				return strings.Contains(r.Turn().Text(), "<task-notification>")
			}).Reply(clewtest.Text("The subagent finished.")).Usage(100, 42, 300, 20)
			done(s)
		},
		Play: func(h *Host) {
			h.Prompt("Delegate")
			h.Await("system/task_progress", 1)
			h.Release("begun")
			h.AwaitResult()
			h.fail(os.WriteFile(h.Path("go"), nil, 0o600))
			h.AwaitResult()
		},
	},
	{
		Name:    "subagent_foreground",
		About:   "The agent waits for its subagent.",
		Args:    allowAll,
		Prompts: []string{"Delegate"},
		Model: func(s *Stage) {
			delegate(s, "ls | wc -l", `,"run_in_background":false`)
			s.Model.OnToolResult("0").Reply(clewtest.Text("No files.")).Once().Usage(100, 42, 300, 20)
			done(s)
		},
	},
}

// rawInput is a tool input, as JSON.
func rawInput(text string) json.RawMessage { return json.RawMessage(text) }

// hookScenarios are about hooks that the host answers.
var hookScenarios = []*Scenario{
	{
		Name:  "hook_pre_tool",
		About: "Hooks before and after a tool, at a prompt and at the end of a turn; none of them objects.",
		Args:  allowAll,
		Initialize: `"hooks":{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["hook_0"]}],"PostToolUse":[{"hookCallbackIds":["hook_1"]}],` +
			`"Stop":[{"hookCallbackIds":["hook_2"]}],"UserPromptSubmit":[{"hookCallbackIds":["hook_3"]}]}`,
		Prompts: []string{"Run echo"},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(bash("echo hooked", "Echo")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:       "hook_denies",
		About:      "A hook denies a tool although the permission mode allows everything.",
		Args:       allowAll,
		Initialize: `"hooks":{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["hook_0"]}]}`,
		Prompts:    []string{"Run echo"},
		Hook: func(*Question) string {
			return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no commands today"}}`
		},
		Model: func(s *Stage) {
			s.Model.On("Run echo").Reply(bash("echo hooked", "Echo")).Usage(100, 42, 300, 20)
			done(s)
		},
	},
}

// controlRequests are the requests of the host in control_requests.
var controlRequests = []string{
	`{"subtype":"set_permission_mode","mode":"acceptEdits"}`,
	`{"subtype":"set_model","model":"claude-sonnet-5"}`,
	`{"subtype":"mcp_status"}`,
	`{"subtype":"get_context_usage"}`,
	`{"subtype":"list_models"}`,
	`{"subtype":"get_session_cost"}`,
	`{"subtype":"get_settings"}`,
	`{"subtype":"get_binary_version"}`,
	`{"subtype":"rename_session","title":"A new name"}`,
	`{"subtype":"no_such_request"}`,
}

// hostScenarios are about requests to the host and of the host.
var hostScenarios = []*Scenario{
	{
		Name:  "control_requests",
		About: "The host asks for one thing after the other, without waiting for the answers.",
		Model: func(s *Stage) {
			// The agent tries the new model before it reports the change.
			s.Model.When(func(r *clewtest.Request) bool { return r.Background() && s.Hold("renamed") }).Reply(clewtest.Text("ok"))
			s.Model.On("Hi").Reply(clewtest.Text("Hi.")).Usage(100, 42, 300, 20)
		},
		Play: func(h *Host) {
			h.Turn("Hi")
			for i, body := range controlRequests {
				h.Request(fmt.Sprintf("req_a%d", i), body)
			}
			h.AwaitResponses("req_a0", "req_a8")
			h.Release("renamed")
			for i := range controlRequests {
				h.AwaitResponses(fmt.Sprintf("req_a%d", i))
			}
		},
	},
	{
		Name:    "question_to_user",
		About:   "The agent asks the user a question, and the host has the answer.",
		Prompts: []string{"Paint it"},
		Own:     []string{"Which colour?", "Red"},
		Tool: func(*Question) string {
			return fmt.Sprintf(`{"behavior":"allow","updatedInput":{"questions":%s,"answers":{"Which colour?":"Red"}}}`, question)
		},
		Model: func(s *Stage) {
			s.Model.On("Paint it").Reply(clewtest.ToolUse("AskUserQuestion", rawInput(`{"questions":`+question+`}`))).Usage(100, 42, 300, 20)
			done(s)
		},
	},
	{
		Name:    "plan_mode",
		About:   "The agent writes a plan, asks whether to leave plan mode, and the host agrees.",
		Args:    []string{"--permission-mode", "plan"},
		Prompts: []string{"Plan it"},
		Model: func(s *Stage) {
			writePlan(s, "# Plan\n\n1. Write a note.\n2. Stop.\n")
			s.Model.OnToolResult("created successfully").Reply(clewtest.ToolUse("ExitPlanMode", nil)).Usage(100, 42, 300, 20)
			done(s)
		},
	},
}

// planFile is the end of the path of a plan. The agent names the path in a reminder.
var planFile = regexp.MustCompile(`/plans/[a-z0-9-]+\.md`)

// writePlan makes the model write a plan to the file that the request names.
func writePlan(s *Stage, plan string) {
	var rule *clewtest.Rule
	rule = s.Model.When(func(r *clewtest.Request) bool {
		name := planFile.Find(r.Body)
		if name == nil || r.Prompt() != "Plan it" {
			return false
		}
		rule.Reply(write(filepath.Join(s.Model.ConfigDir(), string(name)), plan))
		return true
	})
	rule.Reply().Usage(100, 42, 300, 20) // replaced when it matches; a rule without an answer is not asked
}

// question is the agent's question in question_to_user.
const question = `[{"question":"Which colour?","header":"Colour","multiSelect":false,` +
	`"options":[{"label":"Red","description":"Like a rose"},{"label":"Blue","description":"Like the sky"}]}]`

const calcTools = `{"tools":[{"name":"add","description":"Add two numbers","inputSchema":{"type":"object",` +
	`"properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}}]}`

// calc answers as an MCP server that adds numbers; result is its answer to a call.
func calc(result string) func(*Question) string {
	results := map[string]string{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"calc","version":"1.0.0"}}`,
		"tools/list": calcTools,
		"tools/call": result,
	}
	return func(q *Question) string {
		id, body := q.Message.ID, results[q.Message.Method]
		if id == "" {
			id, body = "null", "{}"
		}
		if body == "" {
			return ""
		}
		return fmt.Sprintf(`{"mcp_response":{"jsonrpc":"2.0","id":%s,"result":%s}}`, id, body)
	}
}

// calcArgs make the agent ask its host for the server calc.
var calcArgs = []string{"--mcp-config", `{"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}}`}

// addNumbers makes the model use the tool of calc.
func addNumbers(s *Stage) {
	s.Model.On("Add").Reply(clewtest.ToolUse("mcp__calc__add", map[string]int{"a": 1, "b": 2})).Usage(100, 42, 300, 20)
	done(s)
}

// mcpScenarios are about MCP servers inside the host.
var mcpScenarios = []*Scenario{
	{
		Name:       "mcp_in_process",
		About:      "A tool of an MCP server inside of the host.",
		Args:       calcArgs,
		Initialize: `"hooks":null,"sdkMcpServers":["calc"]`,
		Prompts:    []string{"Add"},
		MCP:        calc(`{"content":[{"type":"text","text":"3"}]}`),
		Model:      addNumbers,
	},
	{
		Name:       "mcp_tool_fails",
		About:      "A tool of an MCP server inside of the host fails.",
		Args:       calcArgs,
		Initialize: `"hooks":null,"sdkMcpServers":["calc"]`,
		Prompts:    []string{"Add"},
		MCP:        calc(`{"content":[{"type":"text","text":"out of numbers"}],"isError":true}`),
		Model:      addNumbers,
	},
}
