package transcript

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/wire"
)

func TestToolSummary(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tool  string
		input string
		want  string
	}{
		{"Read", `{"file_path":"/a/b/c.go"}`, "b/c.go"},
		{"Read", `{"file_path":"/a/b/c.go","limit":10,"offset":5}`, "b/c.go - lines 5-14"},
		{"Read", `{"file_path":"/a/b/c.go","limit":10,"offset":0}`, "b/c.go - lines 1-10"},
		{"Read", `{"file_path":"/a/b/c.go","limit":100}`, "b/c.go - lines 1-100"},
		{"Read", `{"file_path":"/a/b/c.go","offset":5}`, "b/c.go"},
		{"Read", `{"file_path":"/a/b/c.pdf","pages":"1-5"}`, "b/c.pdf - pages 1-5"},
		{"Read", `{"file_path":"c.go"}`, "c.go"},
		{"Read", `{"file_path":"C:\\a\\b\\c.go"}`, "b/c.go"},
		{"Read", `{"file_path":"/a/b/c.go","limit":"ten"}`, "b/c.go"},
		{"Read", `{"limit":10}`, "Read"},
		{"Write", `{"file_path":"/a/b/c.go","content":"one\ntwo\nthree"}`, "b/c.go - 3 lines"},
		{"Write", `{"file_path":"/a/b/c.go","content":"one\n"}`, "b/c.go - 1 line"},
		{"Write", `{"file_path":"/a/b/c.go","content":"C:\\new\\\\n\n"}`, "b/c.go - 1 line"},
		{"Write", `{"file_path":"/a/b/c.go"}`, "b/c.go"},
		{"Edit", `{"file_path":"/a/b/c.go","old_string":"a","new_string":"b"}`, "b/c.go - 1 line"},
		{"Edit", `{"file_path":"/a/b/c.go","old_string":"a\nb\nc","new_string":"d\ne\nf"}`, "b/c.go - 3 lines"},
		{"Edit", `{"file_path":"/a/b/c.go","old_string":"a\nb","new_string":"1\n2\n3\n4\n5"}`, "b/c.go - 2 -> 5 lines"},
		{"Edit", `{"file_path":"/a/b/c.go","old_string":"","new_string":"1\n2"}`, "b/c.go - 0 -> 2 lines"},
		{"Edit", `{"file_path":"/a/b/c.go"}`, "b/c.go"},
		{"MultiEdit", `{"file_path":"/a/b/c.go","edits":[{},{},{}]}`, "b/c.go - 3 edits"},
		{"MultiEdit", `{"file_path":"/a/b/c.go","edits":[{}]}`, "b/c.go - 1 edit"},
		{"MultiEdit", `{"file_path":"/a/b/c.go","edits":"none"}`, "b/c.go"},
		{"LS", `{"path":"/a/b/c"}`, "b/c"},
		{"NotebookRead", `{"notebook_path":"/a/b.ipynb"}`, "b.ipynb"},
		{"NotebookEdit", `{"notebook_path":"/a/b.ipynb","edit_mode":"replace"}`, "replace - b.ipynb"},
		{"NotebookEdit", `{"notebook_path":"/a/b.ipynb"}`, "b.ipynb"},
		{"LSP", `{"operation":"hover","filePath":"/a/b/c.go"}`, "hover - c.go"},
		{"LSP", `{"operation":"hover"}`, "hover"},

		{"Bash", `{"command":"go test ./...","description":"Run all tests"}`, "Run all tests: go test ./..."},
		{"Bash", `{"description":"Run all tests"}`, "Run all tests"},
		{"Bash", `{"command":"echo a\necho b"}`, "echo a echo b"},
		{"Bash", `{"command":"printf '\u001b[31m\t'"}`, "printf ' [31m '"},
		{"Bash", `{"command":"` + strings.Repeat("x", 100) + `"}`, strings.Repeat("x", 59) + "…"},
		{"Bash", `{"command":"` + strings.Repeat(`\ud83d\ude00`, 500) + `"}`, strings.Repeat("😀", 59) + "…"},
		{"Bash", `{"command":"` + strings.Repeat(`é\n`, 800) + `"}`, strings.Repeat("é ", 29) + "é…"},
		{
			"Bash", `{"description":"Say it","command":"` + strings.Repeat("y", 900) + `"}`,
			"Say it: " + strings.Repeat("y", 51) + "…",
		},
		{"PowerShell", `{"command":"Get-Item","description":"Look"}`, "Look: Get-Item"},
		{"REPL", `{"code":"1 + 1"}`, "1 + 1"},
		{"Monitor", `{"description":"The build","command":"tail -f log"}`, "The build: tail -f log"},
		{"Monitor", `{"description":"Events","ws":{"url":"wss://h/x"}}`, "Events: wss://h/x"},
		{"BashOutput", `{"bash_id":"b1","filter":"x"}`, "b1"},
		{"KillShell", `{"shell_id":"b1"}`, "b1"},
		{"KillBash", `{"shell_id":"b1"}`, "b1"},
		{"TaskOutput", `{"task_id":"t1","block":true}`, "t1"},
		{"TaskStop", `{"task_id":"t1"}`, "t1"},

		{"Grep", `{"pattern":"TODO"}`, `"TODO"`},
		{"Grep", `{"pattern":"TODO","glob":"*.go","path":"/a/b"}`, `"TODO" in *.go`},
		{"Grep", `{"pattern":"TODO","path":"/a/b"}`, `"TODO" in b`},
		{"Grep", `{"pattern":"` + strings.Repeat("p", 31) + `"}`, `"` + strings.Repeat("p", 29) + `…"`},
		{"Grep", `{"glob":"*.go"}`, "*.go"},
		{"Glob", `{"pattern":"**/*.go","path":"/a/b"}`, `"**/*.go" in b`},
		{"Glob", `{"pattern":"**/*.go","glob":"*.c"}`, `"**/*.go"`},
		{"WebFetch", `{"url":"https://docs.example.com/api/x?q=1#top","prompt":"p"}`, "docs.example.com/api/x"},
		{"WebFetch", `{"url":"https://me:secret@example.com:8080/x"}`, "example.com/x"},
		{"WebFetch", `{"url":"http://[::1]:80/x"}`, "[::1]/x"},
		{"WebFetch", `{"url":"https://example.com?u=a/b"}`, "example.com"},
		{"WebFetch", `{"url":"not a url"}`, "not a url"},
		{
			"WebFetch", `{"url":"https://example.com/` + strings.Repeat("x", 60) + `"}`,
			"example.com/" + strings.Repeat("x", 37) + "…",
		},
		{"WebFetch", `{"url":"` + strings.Repeat("x", 60) + `"}`, strings.Repeat("x", 49) + "…"},
		{"WebSearch", `{"query":"go generics"}`, `"go generics"`},
		{"WebSearch", `{"query":"` + strings.Repeat("q", 41) + `"}`, `"` + strings.Repeat("q", 39) + `…"`},
		{"ToolSearch", `{"query":"select:WebFetch","max_results":3}`, "select:WebFetch"},

		{"Task", `{"description":"Find it","subagent_type":"Explore","prompt":"p"}`, "Explore - Find it"},
		{"Agent", `{"description":"Find it"}`, "Find it"},
		{"Agent", `{"prompt":"` + strings.Repeat("p", 41) + `"}`, strings.Repeat("p", 39) + "…"},
		{"Agent", `{"subagent_type":"Explore"}`, "Explore"},
		{"Skill", `{"skill":"review","args":"the diff"}`, "/review the diff"},
		{"Skill", `{"command":"/pdf"}`, "/pdf"},
		{"Workflow", `{"name":"release","args":{"v":1}}`, "release"},
		{"Workflow", `{"scriptPath":"/w/release.ts"}`, "release.ts"},
		{"Workflow", `{"resumeFromRunId":"r1"}`, "resume r1"},

		{"TodoWrite", `{"todos":[{"content":"a"}]}`, "1 item"},
		{"TodoWrite", `{"todos":[1,2,3]}`, "3 items"},
		{"TodoWrite", `{"todos":"many"}`, "many"},
		{"TaskCreate", `{"subject":"Fix the build","description":"d"}`, "Fix the build"},
		{"TaskCreate", `{"subject":"` + strings.Repeat("s", 51) + `"}`, strings.Repeat("s", 49) + "…"},
		{"TaskUpdate", `{"taskId":"4","status":"done","owner":"ada"}`, "#4 done -> ada"},
		{"TaskUpdate", `{"taskId":4,"status":"in_progress"}`, "#4 in_progress"},
		{"TaskUpdate", `{"owner":"ada"}`, "-> ada"},
		{"TaskGet", `{"taskId":"4"}`, "#4"},
		{"TaskList", `{}`, "TaskList"},
		{"TeamCreate", `{"team_name":"core","description":"Build it"}`, "core: Build it"},
		{"TeamDelete", `{"team_name":"core"}`, "core"},
		{"TeamDelete", `{}`, "TeamDelete"},
		{"SendMessage", `{"type":"shutdown_request","recipient":"ada"}`, "Shutdown ada"},
		{"SendMessage", `{"type":"shutdown_response","approve":true}`, "Shutdown response"},
		{"SendMessage", `{"type":"broadcast","summary":"All done"}`, "Broadcast: All done"},
		{"SendMessage", `{"type":"message","recipient":"ada","content":"long","summary":"Look"}`, "To ada: Look"},
		{"SendMessage", `{"to":"ada","message":"Look here"}`, "To ada: Look here"},
		{"SendMessage", `{"to":"*","message":"All done"}`, "Broadcast: All done"},
		{"SendMessage", `{"to":"ada","message":{"type":"shutdown_request"}}`, "Shutdown ada"},
		{"SendMessage", `{"to":"ada","message":{"type":"plan_approval_response"}}`, "To ada: plan_approval_response"},

		{"AskUserQuestion", `{"questions":[{"question":"Which colour?","header":"Colour"},{}]}`, "Which colour?"},
		{"AskUserQuestion", `{"questions":[7]}`, "AskUserQuestion"},
		{"ExitPlanMode", `{"plan":"\n# The plan\n\n1. Go."}`, "The plan"},
		{"ExitPlanMode", `{"planFilePath":"/p/plan-it.md"}`, "plan-it.md"},
		{"ExitPlanMode", `{}`, "ExitPlanMode"},
		{"EnterPlanMode", `{}`, "EnterPlanMode"},
		{"SendUserMessage", `{"message":"Hello","status":"normal"}`, "Hello"},
		{"SendUserFile", `{"files":["/a/b.png","/a/c.png"]}`, "b.png and 1 more"},
		{"SendFeedback", `{"type":"bug","title":"It broke"}`, "bug: It broke"},
		{"ReportFindings", `{"findings":[{},{}]}`, "2 findings"},
		{"PushNotification", `{"message":"Done"}`, "Done"},

		{"CronCreate", `{"cron":"0 9 * * *","prompt":"Look at the mail"}`, "0 9 * * *: Look at the mail"},
		{"CronDelete", `{"id":"c1"}`, "c1"},
		{"CronList", `{}`, "CronList"},
		{"ScheduleWakeup", `{"delaySeconds":120,"reason":"the build"}`, "in 120s: the build"},
		{"ScheduleWakeup", `{"stop":true}`, "stop"},
		{"RemoteTrigger", `{"action":"run","trigger_id":"t1"}`, "run t1"},
		{"EnterWorktree", `{"name":"fix"}`, "fix"},
		{"EnterWorktree", `{"path":"/a/b/fix"}`, "b/fix"},
		{"ExitWorktree", `{"action":"keep"}`, "keep"},
		{"ListMcpResourcesTool", `{"server":"files"}`, "files"},
		{"ReadMcpResource", `{"server":"files","uri":"file:///x"}`, "files: file:///x"},
		{"Artifact", `{"action":"publish","file_path":"/a/page.html"}`, "publish - page.html"},
		{"Artifact", `{"title":"Page"}`, "Page"},
		{"Projects", `{"method":"project_search","query":"x"}`, "project_search x"},
		{"propose_skills", `{"proposals":[{}]}`, "1 skill"},
		{"StructuredOutput", `{"name":"Ada","age":36}`, "Ada"},
		{"mcp__calc__add", `{"a":1,"b":2}`, "calc: add"},
		{"mcp__github__create_issue", `{"title":"It broke","body":"b"}`, "github: create_issue It broke"},
		{"mcp__github__search", `{"repo":"r","query":"is:open"}`, "github: search is:open"},
		{"mcp__odd", `{"x":"y"}`, "y"},

		{"Custom", `{"command":"c","query":"q","file":"f","path":"p","name":"n"}`, "n"},
		{"Custom", `{"command":"c","query":"q","file":"f","path":"p"}`, "p"},
		{"Custom", `{"command":"c","query":"q","file":"f"}`, "f"},
		{"Custom", `{"command":"c","query":"q"}`, "q"},
		{"Custom", `{"command":"` + strings.Repeat("c", 51) + `"}`, strings.Repeat("c", 49) + "…"},
		{"Custom", `{"zeta":"z","alpha":"` + strings.Repeat("a", 41) + `","a":1}`, strings.Repeat("a", 39) + "…"},
		{"Custom", `{"n\u0061me":"escaped"}`, "escaped"},
		{"Custom", `{"count":42}`, "Custom"},
		{"Custom", `{"text":""}`, "Custom"},
	}
	for _, tt := range tests {
		if got := ToolSummary(tt.tool, wire.JSON(tt.input)); got != tt.want {
			t.Errorf("ToolSummary(%s, %s) = %q, want %q", tt.tool, tt.input, got, tt.want)
		}
	}
}

func TestToolSummaryWithoutInput(t *testing.T) {
	t.Parallel()
	for name := range summaries {
		for _, input := range []wire.JSON{"", "{}", "null", "[]", `"x"`, "7", "{not json}", `{"a":1} {}`} {
			if got := ToolSummary(name, input); got != name {
				t.Errorf("ToolSummary(%s, %s) = %q", name, input, got)
			}
		}
	}
}

func TestToolSummaryOfWrongTypes(t *testing.T) {
	t.Parallel()
	members := []string{
		"file_path", "content", "old_string", "new_string", "edits", "limit", "offset", "command", "description", "ws",
		"pattern", "glob", "path", "url", "query", "todos", "questions", "plan", "message", "to", "type", "files",
		"taskId", "delaySeconds", "skill", "args", "subagent_type", "findings", "name",
	}
	for name := range summaries {
		for _, value := range []string{"null", "true", "-1.5e3", "[[]]", `[{"question":null}]`, "{}", `""`, `"\n"`} {
			var input strings.Builder
			for i, member := range members {
				if i > 0 {
					input.WriteByte(',')
				}
				input.WriteString(`"` + member + `":` + value)
			}
			if got := ToolSummary(name, wire.JSON("{"+input.String()+"}")); got == "" || strings.ContainsRune(got, '\n') {
				t.Errorf("%s of %s: %q", name, value, got)
			}
		}
	}
}

// TestToolSummaryKnowsTheBuiltInTools holds the summaries to the tools that the agent names.
func TestToolSummaryKnowsTheBuiltInTools(t *testing.T) {
	t.Parallel()
	without := []string{ // these have no arguments, or none that are known
		"CronList", "EndConversation", "EnterPlanMode", "ListAgents", "OfferChromeSetup", "ReadNotifications",
		"ShareOnboardingGuide", "ShowOnboardingRolePicker", "SubagentHandback", "TaskList", "WaitForMcpServers",
	}
	for _, name := range without {
		if summaries[name] != nil {
			t.Errorf("%s has a summary", name)
		}
	}
	with := []string{
		"Agent", "Artifact", "AskUserQuestion", "Bash", "ClaudeDesign", "CronCreate", "CronDelete", "Edit",
		"EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep", "ListMcpResourcesTool", "LSP", "Monitor",
		"NotebookEdit", "PowerShell", "Projects", "propose_skills", "ProposeGoal", "PushNotification", "Read",
		"ReadMcpResourceDirTool", "ReadMcpResourceTool", "RemoteTrigger", "ReportFindings", "ScheduleWakeup",
		"SendFeedback", "SendMessage", "SendUserFile", "SendUserMessage", "SetGoal", "Skill", "TaskCreate", "TaskGet", "TaskStop",
		"TaskUpdate", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write",
	}
	for _, name := range with {
		if summaries[name] == nil {
			t.Errorf("%s has no summary", name)
		}
	}
}

func TestToolSummaryAllocates(t *testing.T) {
	input := wire.JSON(`{"file_path":"/a/b/c.go","old_string":"` + strings.Repeat(`x\n`, 5000) + `","new_string":"y"}`)
	ToolSummary("Edit", input)
	if n := testing.AllocsPerRun(100, func() { ToolSummary("Edit", input) }); n > 6 {
		t.Errorf("%v allocations", n)
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text   string
		maxLen int
		want   string
	}{
		{"", 5, ""},
		{"hello", 5, "hello"},
		{"hello!", 5, "hell…"},
		{"a\nb", 5, "a b"},
		{"a\r\n\tb\x1b\u0085\u2028c", 20, "a   b   c"},
		{"exe.\u202egpj\u2069", 20, "exe. gpj "},
		{"👩\u200d💻", 5, "👩\u200d💻"},
		{"héllö", 5, "héllö"},
		{"日本語テキスト", 4, "日本語…"},
		{"😀😀😀", 2, "😀…"},
		{"ab", 1, "…"},
		{"a", 1, "a"},
		{"ab", 0, ""},
		{"ab", -3, ""},
		{"a\xffb", 5, "a\ufffdb"},
		{strings.Repeat("語", 1000), 3, "語語…"},
		{"all of it", int(^uint(0) >> 1), "all of it"},
	}
	for _, tt := range tests {
		if got := Truncate(tt.text, tt.maxLen); got != tt.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.text, tt.maxLen, got, tt.want)
		}
	}
}

func FuzzToolSummary(f *testing.F) {
	for name := range summaries {
		f.Add(name, `{"file_path":"/a/b/c.go","content":"x\ny","url":"https://h/p","questions":[{"question":"q"}]}`)
	}
	f.Add("mcp__a__b", `{"x":"\ud83d\u0000\"\\"}`)
	f.Fuzz(func(t *testing.T, name, input string) {
		got := ToolSummary(name, wire.JSON(input))
		if got == "" && name != "" {
			t.Errorf("no summary of %q", name)
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) || utf8.RuneCountInString(got) > 250 {
			t.Errorf("%q is no line", got)
		}
		if !json.Valid([]byte(input)) && got != Truncate(name, 100) {
			t.Errorf("%q of what is no JSON", got)
		}
		if again := ToolSummary(name, wire.JSON(input)); again != got {
			t.Errorf("%q, then %q", got, again)
		}
	})
}

func BenchmarkToolSummary(b *testing.B) {
	input := wire.JSON(`{"command":"` + strings.Repeat(`go test ./... \u0026\u0026 \n`, 50) + `","description":"Run it"}`)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		ToolSummary("Bash", input)
	}
}
