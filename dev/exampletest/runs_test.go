package exampletest

import (
	"strings"
	"time"

	"github.com/clewdev/clew/clewtest"
)

// dot is a picture of one red pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
	"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

func command(line string) map[string]string {
	return map[string]string{"command": line, "description": "Run a command"}
}

var runs = []run{
	{
		name:  "query",
		model: func(m *clewtest.Model) { m.On("this directory").Reply(clewtest.Text("Nothing at all.")) },
		want:  "Nothing at all.\n$...\n",
	},
	{
		name: "run",
		model: func(m *clewtest.Model) {
			m.On("this program").Reply(clewtest.ToolUse("Glob", map[string]string{"pattern": "*"}))
			m.OnToolResult("dot.png").Reply(clewtest.Text("It has a dot."))
		},
		want: "It has a dot.\n2 turns, $...\n",
	},
	{
		name: "structured",
		model: func(m *clewtest.Model) {
			step := map[string]any{"what": "Tag it", "hours": 1}
			plan := map[string]any{"title": "Release 1.0", "steps": []any{step}}
			m.On("Plan a release").Reply(clewtest.ToolUse("StructuredOutput", plan))
		},
		want: "Release 1.0\n  1 h  Tag it\n",
	},
	{
		name: "otel",
		args: []string{"What is in", "this directory?"},
		model: func(m *clewtest.Model) {
			m.On("this directory").Reply(clewtest.ToolUse("Bash", command("ls")))
			m.OnToolResult("dot.png").Reply(clewtest.Text("A dot."))
		},
		want: "A dot.\nclew.session (...)\n  invoke_agent claude-code (..., clew.cost_usd ...)\n" +
			"    chat ..., gen_ai.usage.output_tokens ...)\n    execute_tool Bash (...)\n" +
			"    chat ..., gen_ai.usage.output_tokens ...)\n",
	},
	{
		name: "session",
		model: func(m *clewtest.Model) {
			m.On("Name a bird").Reply(clewtest.Text("The wren."))
			m.On("Where does it live").Reply(clewtest.Text("In the hedge."))
		},
		want: "> Name a bird.\nThe wren.\n> Where does it live?\nIn the hedge.\n",
	},
	{
		name: "reconnect",
		model: func(m *clewtest.Model) {
			m.On("a bird").Reply(clewtest.Text("The wren."))
			m.On("a fish").Reply(clewtest.Text("The eel."))
		},
		want: "The wren.\n(The agent died, and another one continues.)\nThe eel.\n",
	},
	{
		name: "pool",
		model: func(m *clewtest.Model) {
			m.On("Name a bird").Reply(clewtest.Text("The wren."))
			m.On("Name a tree").Reply(clewtest.Text("The yew."))
			m.On("Name a river").Reply(clewtest.Text("The Wye."))
		},
		want: "Name a bird. The wren.\nName a tree. The yew.\nName a river. The Wye.\n3 served\n",
	},
	{
		name:  "streaming",
		model: func(m *clewtest.Model) { m.On("a story").Reply(clewtest.Text("Once upon a time.")).ChunkSize(4) },
		want:  "Once upon a time.\n",
	},
	{
		name:  "permissions",
		stdin: "n\n",
		model: func(m *clewtest.Model) {
			m.On("Create a file").Reply(clewtest.ToolUse("Bash", command("echo hello > hello.txt")))
			m.OnToolResult("The user said no.").Reply(clewtest.Text("Then I won't."))
		},
		want: "Use Bash with ...echo hello > hello.txt...? [y/N] Then I won't.\n",
	},
	{
		name: "hooks",
		model: func(m *clewtest.Model) {
			m.On("Delete all").Reply(clewtest.ToolUse("Bash", command("rm -f dot.png")))
			m.OnToolResult("Nothing is deleted here.").Reply(clewtest.Text("I left them alone."))
		},
		want: "denied: \"rm -f dot.png\"\nI left them alone.\n",
	},
	{
		name:  "questions",
		stdin: "2\n",
		model: func(m *clewtest.Model) {
			question := map[string]any{"question": "Which color?", "header": "Color", "multiSelect": false,
				"options": []map[string]string{
					{"label": "Red", "description": "Like a rose"}, {"label": "Blue", "description": "Like the sky"},
				}}
			m.On("favorite color").Reply(clewtest.ToolUse("AskUserQuestion", map[string]any{"questions": []any{question}}))
			m.OnToolResult("Blue").Reply(clewtest.Text("Blue, above the sea."))
		},
		want: "\"Which color?\"\n1 \"Red\": \"Like a rose\"\n2 \"Blue\": \"Like the sky\"\nBlue, above the sea.\n",
	},
	{
		name: "images",
		args: []string{"dot.png"},
		model: func(m *clewtest.Model) {
			m.When(func(r *clewtest.Request) bool { return strings.Contains(string(r.Body), `"media_type":"image/png"`) }).
				Reply(clewtest.Text("A red dot."))
		},
		want: "A red dot.\n",
	},
	{
		name: "interrupt",
		model: func(m *clewtest.Model) {
			m.On("Count").Reply(clewtest.Text(strings.Repeat("1, 2, 3, ", 10_000))).ChunkSize(9).Pace(50 * time.Millisecond)
			m.On("that will do").Reply(clewtest.Text("You are welcome."))
		},
		want: "1, 2, 3, ...[stopped]\nYou are welcome.\n",
	},
	{
		name: "resume",
		model: func(m *clewtest.Model) {
			m.On("Remember").Reply(clewtest.Text("I will."))
			m.When(func(r *clewtest.Request) bool {
				return r.Prompt() == "Which number was it?" && strings.Contains(string(r.Body), "the number 42")
			}).Reply(clewtest.Text("It was 42."))
			m.On("Double it").Reply(clewtest.Text("84."))
		},
		want: "It was 42.\n84.\na new session: true\n",
	},
	{
		name: "store",
		model: func(m *clewtest.Model) {
			m.On("Remember").Reply(clewtest.Text("I will."))
			m.When(func(r *clewtest.Request) bool {
				return r.Prompt() == "Which bird was it?" && strings.Contains(string(r.Body), "the wren")
			}).Reply(clewtest.Text("It was the wren."))
		},
		want: "It was the wren.\nRemember the wren.\n",
	},
	{
		name:  "sessions",
		model: func(m *clewtest.Model) { m.On("a bird").Reply(clewtest.Text("The wren.")) },
		want:  "Birds (fork)\n",
	},
	{
		name: "transcript",
		model: func(m *clewtest.Model) {
			call := map[string]any{"description": "Count files", "prompt": "COUNT", "subagent_type": "general-purpose",
				"run_in_background": false}
			m.On("Let a subagent").Reply(clewtest.Text("Let's see."), clewtest.ToolUse("Agent", call)).Usage(1000, 100, 0, 0)
			m.On("COUNT").Reply(clewtest.ToolUse("Glob", map[string]string{"pattern": "*"})).Usage(2000, 100, 0, 0)
			m.OnToolResult("dot.png").Reply(clewtest.Text("Two.")).Usage(3000, 100, 0, 0)
			m.OnToolResult("Two.").Reply(clewtest.Text("There are two.")).Usage(4000, 100, 0, 0)
		},
		want: "user: Let a subagent count the files here.\noutput: Let's see.\nAgent: general-purpose - Count files\n" +
			"    user: COUNT\n    Glob: \"*\"\n    output: Two.\n    [2 answers, $0.0240]\n" +
			"output: There are two.\n[4 answers, $0.0480]\n",
	},
	{
		name:  "usage",
		args:  []string{"Name a bird.", "Name a fish."},
		model: func(m *clewtest.Model) { m.On("").Reply(clewtest.Text("The wren.")).Usage(1000, 100, 0, 0) },
		want: "20...  claude-...  1100 tokens, $0.0060  \"Name a ...\"\n20...  claude-...  1100 tokens, $0.0060  \"Name a ...\"\n" +
			"in all: 2200 tokens, $0.0120\n",
	},
	{
		name: "tail",
		model: func(m *clewtest.Model) {
			m.On("a bird").Reply(clewtest.Text("The wren."))
			m.On("Where does it live").Reply(clewtest.Text("In the hedge."))
		},
		want: "user: Name a bird.\nai: The wren.\nuser: Where does it live?\nai: In the hedge.\n",
	},
	{
		name: "agents",
		model: func(m *clewtest.Model) {
			call := map[string]any{"description": "Proofread", "prompt": "Read it", "subagent_type": "proofreader",
				"run_in_background": false}
			m.On("proofread").Reply(clewtest.ToolUse("Agent", call))
			m.On("Read it").Reply(clewtest.Text("No mistakes."))
			m.OnToolResult("No mistakes.").Reply(clewtest.Text("It is fine."))
		},
		want: "proofreader: No mistakes.\nagent: It is fine.\n",
	},
	{
		name: "tools",
		model: func(m *clewtest.Model) {
			m.On("weather is good").Reply(clewtest.ToolUse("mcp__trip__weather", map[string]string{"city": "Atlantis"}))
			m.OnToolResult("Atlantis is under water").Reply(clewtest.ToolUse("mcp__trip__weather", map[string]string{"city": "Rome"}))
			m.OnToolResult(`"celsius":21.5`).Reply(clewtest.ToolUse("mcp__trip__travel", map[string]string{"city": "Rome"}))
			m.OnToolResult("Arrived in Rome").Reply(clewtest.Text("Rome is lovely."))
		},
		want: "Rome is lovely.\n",
	},
	{
		name: "mcp_mount",
		model: func(m *clewtest.Model) {
			m.On("shortest book").Reply(clewtest.ToolUse("ReadMcpResourceTool", map[string]string{"server": "library", "uri": "library:catalogue"}))
			m.OnToolResult("Moby-Dick; Emma").Reply(clewtest.ToolUse("mcp__library__borrow", map[string]string{"title": "Emma"}))
			m.OnToolResult("Here is Emma").Reply(clewtest.Text("I have Emma."))
		},
		want: "I have Emma.\n",
	},
	{
		name: "mcp_inprocess",
		model: func(m *clewtest.Model) {
			m.On("What time").Reply(clewtest.ToolUse("mcp__clock__now", nil))
			m.OnToolResult("T").Reply(clewtest.Text("Late."))
		},
		want: "Late.\n",
	},
	{
		name:  "transport",
		args:  []string{"image"},
		model: func(m *clewtest.Model) { m.On("Which system").Reply(clewtest.Text("A small one.")) },
		want:  "A small one.\n",
	},
	{
		name:  "control",
		model: func(m *clewtest.Model) { m.Reply("Hello.") },
		want:  "model default: ...\ncontext: ... of ... tokens\ncost: $0.00...\n",
	},
	{
		name:  "record",
		args:  []string{"dialogue.txt"},
		model: func(m *clewtest.Model) { m.Reply("Hello.") },
		want:  "The agent says: Hello.\n",
	},
	{
		name:  "watchdog",
		args:  []string{"-silence", "2s"},
		model: func(m *clewtest.Model) { m.On("Say hello").Hang() },
		want:  "The agent has not said anything for 2s\n",
	},
	{
		name: "stream",
		stdin: `{"type":"assistant","message":{"content":[{"type":"text","text":"Nothing at all."}]}}` + "\n" +
			`{"type":"result","subtype":"success","total_cost_usd":0.01}`,
		model: func(*clewtest.Model) {},
		want:  "Nothing at all.\n$0.0100, failed: false\n",
	},
}
