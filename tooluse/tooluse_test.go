package tooluse

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// An inputCase is a tool's input and its decoded value.
type inputCase struct {
	tool, input string
	want        Input
}

func TestDecodeInput(t *testing.T) {
	t.Parallel()
	tests := []inputCase{
		{"Bash", `{"command":"ls","description":"List","timeout":5000,"run_in_background":true,"new":1}`,
			&BashInput{Command: "ls", Description: "List", Timeout: 5000, RunInBackground: true}},
		{"PowerShell", `{"command":"dir"}`, &BashInput{Command: "dir"}},
		{"BashOutput", `{"bash_id":"b1","filter":"x"}`, &BashOutputInput{BashID: "b1", Filter: "x"}},
		{"KillShell", `{"shell_id":"b1"}`, &TaskStopInput{ShellID: "b1"}},
		{"TaskStop", `{"task_id":"t1"}`, &TaskStopInput{TaskID: "t1"}},
		{"TaskOutput", `{"task_id":"t1","block":true,"timeout":30000}`,
			&TaskOutputInput{TaskID: "t1", Block: true, Timeout: 30000}},
		{"Monitor", `{"description":"d","timeout_ms":1,"ws":{"url":"wss://x","protocols":["p"]}}`,
			&MonitorInput{Description: "d", Timeout: 1, Socket: &MonitorSocket{URL: "wss://x", Protocols: []string{"p"}}}},
		{"Read", `{"file_path":"/a","offset":5,"limit":10,"pages":"1-2"}`,
			&ReadInput{FilePath: "/a", Offset: 5, Limit: 10, Pages: "1-2"}},
		{"Write", `{"file_path":"/a","content":"x"}`, &WriteInput{FilePath: "/a", Content: "x"}},
		{"Edit", `{"file_path":"/a","old_string":"x","new_string":"y","replace_all":true}`,
			&EditInput{FilePath: "/a", OldString: "x", NewString: "y", ReplaceAll: true}},
		{"MultiEdit", `{"file_path":"/a","edits":[{"old_string":"x","new_string":"y"}]}`,
			&MultiEditInput{FilePath: "/a", Edits: []StringEdit{{OldString: "x", NewString: "y"}}}},
		{"NotebookEdit", `{"notebook_path":"/n","cell_id":"c","new_source":"s","cell_type":"code","edit_mode":"insert"}`,
			&NotebookEditInput{NotebookPath: "/n", CellID: "c", NewSource: "s", CellType: "code", EditMode: "insert"}},
		{"LS", `{"path":"/a","ignore":["x"]}`, &LSInput{Path: "/a", Ignore: []string{"x"}}},
		{"Grep", `{"pattern":"p","-A":1,"-B":2,"-C":3,"-i":true,"-n":true,"output_mode":"content",
			"head_limit":4}`, &GrepInput{
			Pattern: "p", After: 1, Before: 2, Around: 3, IgnoreCase: true, LineNumbers: true, OutputMode: "content",
			HeadLimit: 4,
		}},
		{"Glob", `{"pattern":"p","path":"/a"}`, &GlobInput{Pattern: "p", Path: "/a"}},
		{"LSP", `{"operation":"hover","filePath":"/a","line":1,"character":2}`,
			&LSPInput{Operation: "hover", FilePath: "/a", Line: 1, Character: 2}},
		{"ToolSearch", `{"query":"q","max_results":3}`, &ToolSearchInput{Query: "q", MaxResults: 3}},
		{"WebFetch", `{"url":"https://x","prompt":"p"}`, &WebFetchInput{URL: "https://x", Prompt: "p"}},
		{"WebSearch", `{"query":"q","allowed_domains":["a"],"blocked_domains":["b"]}`,
			&WebSearchInput{Query: "q", AllowedDomains: []string{"a"}, BlockedDomains: []string{"b"}}},
		{"Task", `{"description":"d","prompt":"p","subagent_type":"Explore","name":"n","team_name":"t"}`,
			&AgentInput{Description: "d", Prompt: "p", SubagentType: "Explore", Name: "n", TeamName: "t"}},
		{"Agent", `{"prompt":"p","run_in_background":true}`, &AgentInput{Prompt: "p", RunInBackground: true}},
		{"Skill", `{"skill":"s","args":"a"}`, &SkillInput{Skill: "s", Args: "a"}},
		{"Workflow", `{"name":"w","args":{"a":[1]},"resumeFromRunId":"r"}`,
			&WorkflowInput{Name: "w", Args: `{"a":[1]}`, ResumeFromRunID: "r"}},
		{"TodoWrite", `{"todos":[{"content":"c","status":"pending","activeForm":"a"}]}`,
			&TodoWriteInput{Todos: []Todo{{"c", "pending", "a"}}}},
		{"TaskCreate", `{"subject":"s","description":"d"}`, &TaskCreateInput{Subject: "s", Description: "d"}},
		{"TaskUpdate", `{"taskId":"1","status":"completed","owner":"o","addBlockedBy":["2"]}`,
			&TaskUpdateInput{TaskID: "1", Status: "completed", Owner: "o", AddBlockedBy: []string{"2"}}},
		{"TaskGet", `{"taskId":"1"}`, &TaskGetInput{TaskID: "1"}},
		{"TaskList", `{}`, &TaskListInput{}},
		{"TeamCreate", `{"team_name":"t","description":"d"}`, &TeamCreateInput{TeamName: "t", Description: "d"}},
		{"TeamDelete", `{}`, &TeamDeleteInput{}},
		{"SendMessage", `{"to":"a","summary":"s","message":"hello"}`,
			&SendMessageInput{To: "a", Summary: "s", Message: `"hello"`}},
		{"AskUserQuestion", `{"questions":[{"question":"q","header":"h","options":[{"label":"l"}],"multiSelect":true}]}`,
			&AskUserQuestionInput{Questions: []Question{
				{Question: "q", Header: "h", Options: []QuestionOption{{Label: "l"}}, MultiSelect: true},
			}}},
		{"ExitPlanMode", `{"plan":"p"}`, &ExitPlanModeInput{Plan: "p"}},
		{"mcp__calc__add", `{"a":1}`, &OtherInput{"mcp__calc__add", `{"a":1}`}},
		{"Bash", `["ls"]`, &OtherInput{"Bash", `["ls"]`}},
		{"Bash", `null`, &OtherInput{"Bash", `null`}},
		{"Read", `{"file_path":7,"offset":"5","limit":10}`, &ReadInput{Limit: 10}},
		{"TodoWrite", `{"todos":[1,{"content":"c"}]}`, &TodoWriteInput{Todos: []Todo{{}, {Content: "c"}}}},
	}
	seen := map[reflect.Type]bool{}
	for _, tt := range append(tests, inputsOfServices()...) {
		got, err := DecodeInput(tt.tool, wire.JSON(tt.input))
		if err != nil {
			t.Errorf("%s %s: %v", tt.tool, tt.input, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.input, diff)
		}
		seen[reflect.TypeOf(got)] = true
	}
	for name, variant := range inputs {
		if !seen[reflect.TypeOf(variant())] {
			t.Errorf("the input of %s is not tried", name)
		}
	}
	for _, tool := range []string{"Bash", "Other"} {
		for _, input := range []wire.JSON{"", "{", "{}x", "nul"} {
			if in, err := DecodeInput(tool, input); err == nil {
				t.Errorf("%s %q is %#v", tool, input, in)
			}
		}
	}
}

func TestDecodeResult(t *testing.T) {
	t.Parallel()
	two := 2
	before := "a\n"
	hunk := `{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,"lines":["-a","+b"]}`
	hunks := []Hunk{{1, 1, 1, 1, []string{"-a", "+b"}}}
	tests := []struct {
		tool, structured string
		want             Result
	}{
		{"Bash", `"Error: not today"`, &TextResult{"Error: not today"}},
		{
			"Artifact", `{"url":"https://x/a","path":"/a.html","artifact_id":"a","version":"2","title":"T","updated":true,"unchanged":true,` +
				`"audience":"owner","folder_audience":"others","warnings":["w"],"seq":3}`,
			&ArtifactResult{
				URL: "https://x/a", Path: "/a.html", ArtifactID: "a", Version: "2", Title: "T", Updated: true, Unchanged: true,
				Audience: "owner", FolderAudience: "others", Warnings: []string{"w"},
			},
		},
		{"mcp__calc__add", `[{"type":"text","text":"3"}]`, nil},
		{"mcp__calc__add", `{"sum":3}`, &OtherResult{"mcp__calc__add", `{"sum":3}`}},
		{"Bash", `null`, &OtherResult{"Bash", `null`}},
		{"Bash", `{"stdout":"o","stderr":"e","interrupted":true,"persistedOutputPath":"/p","persistedOutputSize":9,
			"gitOperation":{"commit":{"sha":"s","kind":"committed","branch":"b"},"push":{"branch":"b"},
			"branch":{"ref":"r","action":"merged"},"pr":{"number":4,"url":"u","action":"created"}},
			"bashEditDiff":{"files":[{"filePath":"/f","hunks":[` + hunk + `],"created":true}],"moreFiles":1,
			"changedFiles":["/f"]}}`,
			&BashResult{
				Stdout: "o", Stderr: "e", Interrupted: true, PersistedOutputPath: "/p", PersistedOutputSize: 9,
				GitOperation: &GitOperation{
					&GitCommit{"s", "committed", "b"}, &GitPush{"b"}, &GitBranch{"r", "merged"}, &GitPR{4, "u", "created"},
				},
				EditDiff: &BashEditDiff{[]BashFileDiff{{"/f", hunks, true, false}}, 1, []string{"/f"}},
			}},
		{"BashOutput", `{"shellId":"b","command":"c","status":"completed","exitCode":2,"stdout":"o","stderr":"e"}`,
			&BashOutputResult{"b", "c", "completed", &two, "o", "e"}},
		{"KillShell", `{"message":"m","shell_id":"b"}`, &TaskStopResult{Message: "m", ShellID: "b"}},
		{"TaskOutput", `{"retrieval_status":"success",
			"task":{"task_id":"t","status":"running","output":"o","exitCode":null}}`,
			&TaskOutputResult{"success", &BackgroundTask{ID: "t", Status: "running", Output: "o"}}},
		{"Monitor", `{"taskId":"t","timeoutMs":5}`, &MonitorResult{TaskID: "t", Timeout: 5}},
		{"Read", `{"type":"text","file":{"filePath":"/f","content":"c","numLines":1,"startLine":2,"totalLines":3}}`,
			&ReadResult{"text", ReadFile{FilePath: "/f", Content: "c", NumLines: 1, StartLine: 2, TotalLines: 3}}},
		{"Read", `{"type":"image","file":{"base64":"aa","type":"image/png","originalSize":9}}`,
			&ReadResult{"image", ReadFile{Base64: "aa", MediaType: "image/png", OriginalSize: 9}}},
		{"Read", `{"type":"notebook","file":{"filePath":"/n","cells":[1]}}`,
			&ReadResult{"notebook", ReadFile{FilePath: "/n", Cells: `[1]`}}},
		{"Write", `{"type":"update","filePath":"/f","content":"b\n","originalFile":"a\n","structuredPatch":[` + hunk + `]}`,
			&WriteResult{Type: "update", FilePath: "/f", Content: "b\n", OriginalFile: &before, StructuredPatch: hunks}},
		{"Write", `{"type":"create","filePath":"/f","content":"b","originalFile":null,"structuredPatch":[]}`,
			&WriteResult{Type: "create", FilePath: "/f", Content: "b", StructuredPatch: []Hunk{}}},
		{"Edit", `{"filePath":"/f","oldString":"a","newString":"b","originalFile":"a\n","userModified":true,
			"gitDiff":{"filename":"f","status":"modified","additions":1,"deletions":1,"patch":"@@"}}`,
			&EditResult{
				FilePath: "/f", OldString: "a", NewString: "b", OriginalFile: &before, UserModified: true,
				GitDiff: &GitDiff{"f", "modified", 1, 1, "@@"},
			}},
		{"MultiEdit", `{"filePath":"/f","edits":[{"old_string":"a","new_string":"b"}],"originalFileContents":"a\n"}`,
			&EditResult{FilePath: "/f", Edits: []StringEdit{{"a", "b", false}}, OriginalFileContents: &before}},
		{"NotebookEdit", `{"notebook_path":"/n","new_source":"s","old_source":"o","original_file":"1","updated_file":"2"}`,
			&NotebookEditResult{NotebookPath: "/n", NewSource: "s", OldSource: "o", OriginalFile: "1", UpdatedFile: "2"}},
		{"Grep", `{"mode":"content","numFiles":0,"filenames":[],"content":"c","numLines":1,"appliedLimit":5}`,
			&GrepResult{Mode: "content", Filenames: []string{}, Content: "c", NumLines: 1, AppliedLimit: 5}},
		{"Glob", `{"filenames":["a"],"durationMs":1.5,"numFiles":1,"truncated":true}`,
			&GlobResult{Filenames: []string{"a"}, Duration: 1.5, NumFiles: 1, Truncated: true}},
		{"LSP", `{"operation":"hover","result":"r","filePath":"/f","resultCount":1}`,
			&LSPResult{Operation: "hover", Result: "r", FilePath: "/f", ResultCount: 1}},
		{"ToolSearch", `{"matches":["A"],"query":"q","total_deferred_tools":21}`, &ToolSearchResult{"q", []string{"A"}, 21}},
		{"WebFetch", `{"bytes":9,"code":200,"codeText":"OK","result":"r","durationMs":3,"url":"u"}`,
			&WebFetchResult{"u", 200, "OK", 9, "r", 3}},
		{"WebSearch", `{"query":"q","results":["t",{"tool_use_id":"i","content":[{"title":"T","url":"u"}]},7],
			"durationSeconds":1.5,"searchCount":2}`,
			&WebSearchResult{"q", []WebSearchPart{{Text: "t"}, {Links: []WebLink{{Title: "T", URL: "u"}}}, {}}, 1.5, 2}},
		{"Agent", `{"status":"completed","agentId":"a","content":[{"type":"text","text":"x"}],"totalTokens":5,
			"usage":{"input_tokens":3}}`,
			&AgentResult{
				Status: "completed", AgentID: "a", Content: []AgentText{{"text", "x"}}, TotalTokens: 5,
				Usage: `{"input_tokens":3}`,
			}},
		{"Task", `{"status":"teammate_spawned","agent_id":"n@t","name":"n","team_name":"t","color":"red"}`,
			&AgentResult{Status: "teammate_spawned", TeammateID: "n@t", Name: "n", TeamName: "t", Color: "red"}},
		{"Skill", `{"success":true,"commandName":"pdf","allowedTools":["Read"]}`,
			&SkillResult{Success: true, CommandName: "pdf", AllowedTools: []string{"Read"}}},
		{"Workflow", `{"status":"async_launched","taskId":"t","workflowName":"w","runId":"r","transcriptDir":"/d"}`,
			&WorkflowResult{Status: "async_launched", TaskID: "t", WorkflowName: "w", RunID: "r", TranscriptDir: "/d"}},
		{"TodoWrite", `{"oldTodos":[],"newTodos":[{"content":"c"}]}`, &TodoWriteResult{[]Todo{}, []Todo{{Content: "c"}}}},
		{"TaskCreate", `{"task":{"id":"1","subject":"s"}}`, &TaskCreateResult{TaskRecord{ID: "1", Subject: "s"}}},
		{"TaskUpdate", `{"success":true,"taskId":"1","updatedFields":["status"],"statusChange":{"from":"a","to":"b"}}`,
			&TaskUpdateResult{true, "1", []string{"status"}, &TaskChange{"a", "b"}, ""}},
		{"TaskGet", `{"task":null}`, &TaskGetResult{}},
		{"TaskList", `{"tasks":[{"id":"1","owner":"o","blockedBy":["2"]}]}`,
			&TaskListResult{[]TaskRecord{{ID: "1", Owner: "o", BlockedBy: []string{"2"}}}}},
		{"TeamCreate", `{"team_name":"t","lead_agent_id":"l@t"}`, &TeamCreateResult{TeamName: "t", LeadAgentID: "l@t"}},
		{"TeamDelete", `{"success":true,"message":"m"}`, &TeamDeleteResult{Success: true, Message: "m"}},
		{"SendMessage", `{"success":true,"message":"m","target":"a"}`,
			&SendMessageResult{Success: true, Message: "m", Target: "a"}},
		{"AskUserQuestion", `{"questions":[{"question":"q"}],"answers":{"q":"a"}}`,
			&AskUserQuestionResult{Questions: []Question{{Question: "q"}}, Answers: map[string]string{"q": "a"}}},
		{"ExitPlanMode", `{"plan":"p","isAgent":false,"filePath":"/p"}`, &ExitPlanModeResult{Plan: "p", FilePath: "/p"}},
		{"Bash", `{"stdout":7,"stderr":"e"}`, &BashResult{Stderr: "e"}},
		{"Edit", `{"structuredPatch":[7,{"lines":["-a",null],"oldStart":"x","newStart":4}]}`,
			&EditResult{StructuredPatch: []Hunk{{}, {NewStart: 4, Lines: []string{"-a"}}}}},
	}
	seen := map[reflect.Type]bool{}
	for _, tt := range tests {
		got, err := DecodeResult(tt.tool, wire.JSON(tt.structured))
		if err != nil {
			t.Errorf("%s %s: %v", tt.tool, tt.structured, err)
		}
		seen[reflect.TypeOf(got)] = true
		if content, ok := got.(*ContentResult); ok {
			if content.Content.Text() != "3" {
				t.Errorf("content: %q", content.Content.Text())
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.tool, tt.structured, diff)
		}
	}
	for name, variant := range results {
		if !seen[reflect.TypeOf(variant())] {
			t.Errorf("the result of %s is not tried", name)
		}
	}
	for _, tool := range []string{"Bash", "Other"} {
		for _, structured := range []wire.JSON{"", "{", "[", `"`, "{}x", "nul"} {
			if r, err := DecodeResult(tool, structured); err == nil {
				t.Errorf("%s %q is %#v", tool, structured, r)
			}
		}
	}
}

func TestTextResult(t *testing.T) {
	t.Parallel()
	if r := (&TextResult{"User rejected tool use"}); !r.Rejected() || r.Failure() != "" {
		t.Errorf("%+v is not rejected", r)
	}
	if r := (&TextResult{"Error: no file"}); r.Rejected() || r.Failure() != "no file" {
		t.Errorf("%+v is no failure", r)
	}
}

func TestAgentResult(t *testing.T) {
	t.Parallel()
	r := &AgentResult{
		Content: []AgentText{{"text", "one"}, {"image", ""}, {"text", "two"}},
	}
	if r.Text() != "one\ntwo" {
		t.Errorf("text: %q", r.Text())
	}
}

func TestSendMessageText(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`{"message":"new","content":"old"}`:                    "new",
		`{"content":"old"}`:                                    "old",
		`{"message":{"type":"shutdown_request"}}`:              "",
		`{"type":"shutdown_response","approve":true,"to":"x"}`: "",
	}
	for input, want := range tests {
		in, err := DecodeInput("SendMessage", wire.JSON(input))
		if err != nil {
			t.Fatal(err)
		}
		if got := in.(*SendMessageInput).Text(); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// TestRecordedTools decodes each call and result of the recorded dialogues. None of a tool that has
// types is an OtherInput or an OtherResult.
func TestRecordedTools(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, frames := range recordedContents(t) {
		names := map[string]string{}
		for _, frame := range frames {
			for _, use := range frame.content.ToolUses() {
				names[use.ID] = use.Name
				in, err := DecodeInput(use.Name, use.Input)
				if _, other := in.(*OtherInput); err != nil || other && inputs[use.Name] != nil {
					t.Errorf("the input of %s is %s: %v", use.Name, use.Input, err)
				}
				seen[fmt.Sprintf("%T", in)] = true
			}
			for _, result := range frame.content.ToolResults() {
				if frame.result == "" {
					continue
				}
				r, err := DecodeResult(names[result.ToolUseID], frame.result)
				if _, other := r.(*OtherResult); err != nil || other {
					t.Errorf("the result of %s is %s: %v", names[result.ToolUseID], frame.result, err)
				}
				seen[fmt.Sprintf("%T", r)] = true
			}
		}
	}
	for _, want := range []string{
		"BashInput", "BashResult", "EditResult", "WriteInput", "WriteResult", "AgentInput", "AgentResult", "ReadResult",
		"ExitPlanModeResult", "AskUserQuestionResult", "TextResult", "ContentResult",
	} {
		if !seen["*tooluse."+want] {
			t.Errorf("no recording has a %s", want)
		}
	}
}

// A recordedContent is the content of a recorded message, and the structured result that came with
// it.
type recordedContent struct {
	content wire.Content
	result  wire.JSON
}

// recordedContents returns what the messages of each recorded dialogue hold.
func recordedContents(t *testing.T) [][]recordedContent {
	t.Helper()
	files, err := filepath.Glob("../testdata/recorded/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	dialogues := make([][]recordedContent, len(files))
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var frame struct {
				Message struct {
					Content wire.JSON
				}
				ToolUseResult wire.JSON `json:"tool_use_result"`
			}
			line, ok := strings.CutPrefix(line, "< ")
			if !ok || json.Unmarshal([]byte(line), &frame) != nil {
				continue
			}
			if content, err := wire.DecodeContent(frame.Message.Content); err == nil {
				dialogues[i] = append(dialogues[i], recordedContent{content, frame.ToolUseResult})
			}
		}
	}
	return dialogues
}

func FuzzDecodeInput(f *testing.F) {
	for name := range inputs {
		f.Add(name, `{"file_path":"/a","todos":[{}],"questions":[{"options":[]}],"message":{},"ws":{}}`)
	}
	for name := range results {
		f.Add(name, `{"structuredPatch":[{"lines":["+a"]}],"results":["a",{}],"content":[{}],"task":{},"file":{}}`)
	}
	f.Fuzz(func(t *testing.T, name, text string) {
		valid := json.Valid([]byte(text))
		in, err := DecodeInput(name, wire.JSON(text))
		if (err == nil) != valid || (in == nil) == valid {
			t.Errorf("%s %q: %v, %v", name, text, in, err)
		}
		r, err := DecodeResult(name, wire.JSON(text))
		if (err == nil) != valid || (r == nil) == valid {
			t.Errorf("%s %q: %v, %v", name, text, r, err)
		}
		if agent, ok := r.(*AgentResult); ok {
			agent.Text()
		}
	})
}

func TestCategoryOf(t *testing.T) {
	t.Parallel()
	tests := map[Category]string{
		CategoryRead:  "Read read_file read view LS NotebookRead",
		CategoryEdit:  "Edit apply_patch edit StrReplace MultiEdit",
		CategoryWrite: "Write NotebookEdit write_file edit_file write",
		CategoryBash: "Bash shell_command exec_command write_stdin shell run_command execute_command bash Shell " +
			"PowerShell BashOutput KillShell KillBash",
		CategoryGrep:  "Grep search_files grep",
		CategoryGlob:  "Glob glob GLOB",
		CategoryTask:  "Task Agent task Workflow",
		CategoryTool:  "Skill report_intent mcp__calc__add",
		CategoryWeb:   "WebFetch WebSearch websearch",
		CategoryOther: "TodoWrite AskUserQuestion whatever",
	}
	for want, names := range tests {
		for _, name := range strings.Fields(names) {
			if got := CategoryOf(name); got != want {
				t.Errorf("CategoryOf(%s) = %s, want %s", name, got, want)
			}
		}
	}
	if got := CategoryOf(""); got != CategoryOther {
		t.Errorf("no name: %s", got)
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, result string
		code         int
		ok           bool
	}{
		{"Bash", `{"stdout":"done","stderr":"","interrupted":false}`, 0, true},
		{"Bash", `"Error: Exit code 3\nbad"`, 3, true},
		{"Bash", `"Error: Exit code 127"`, 127, true},
		{"PowerShell", `"Error: Exit code -1\nbad"`, -1, true},
		{"Bash", `{"stdout":"","interrupted":true}`, 0, false},
		{"Bash", `{"stdout":"","backgroundTaskId":"b1"}`, 0, false},
		{"Bash", `{"stdout":"","timedOutAfterMs":5}`, 0, false},
		{"Bash", `{"stdout":"","returnCodeInterpretation":"No matches found"}`, 0, false},
		{"Bash", `"Error: Exit code three"`, 0, false},
		{"Bash", `"Exit code 3"`, 0, false},
		{"Bash", `"User rejected tool use"`, 0, false},
		{"BashOutput", `{"status":"completed","exitCode":4}`, 4, true},
		{"BashOutput", `{"status":"running","exitCode":null}`, 0, false},
		{"TaskOutput", `{"task":{"exitCode":0}}`, 0, true},
		{"TaskOutput", `{"task":null}`, 0, false},
		{"Read", `{"file":{}}`, 0, false},
	} {
		r, err := DecodeResult(c.tool, wire.JSON(c.result))
		if err != nil {
			t.Fatal(err)
		}
		if code, ok := ExitCode(r); code != c.code || ok != c.ok {
			t.Errorf("%s %s: %d, %v; want %d, %v", c.tool, c.result, code, ok, c.code, c.ok)
		}
	}
}

// inputsOfServices returns the inputs of tools that use services and schedules.
func inputsOfServices() []inputCase {
	yes, no := true, false
	return []inputCase{
		{"ListMcpResourcesTool", `{"server":"s"}`, &ListMCPResourcesInput{Server: "s"}},
		{"ReadMcpResourceTool", `{"server":"s","uri":"u"}`, &ReadMCPResourceInput{Server: "s", URI: "u"}},
		{"ReadMcpResourceDirTool", `{"server":"s","uri":"u"}`, &ReadMCPResourceDirInput{Server: "s", URI: "u"}},
		{"RefreshMcpTools", `{"server":"s"}`, &RefreshMCPToolsInput{Server: "s"}},
		{"EnterPlanMode", `{}`, &EnterPlanModeInput{}},
		{"EnterWorktree", `{"name":"n","path":"/p"}`, &EnterWorktreeInput{Name: "n", Path: "/p"}},
		{"ExitWorktree", `{"action":"remove","discard_changes":true}`, &ExitWorktreeInput{Action: "remove", DiscardChanges: true}},
		{"CronCreate", `{"cron":"* * * * *","prompt":"p","recurring":false,"durable":true}`,
			&CronCreateInput{Cron: "* * * * *", Prompt: "p", Recurring: &no, Durable: true}},
		{"CronDelete", `{"id":"j"}`, &CronDeleteInput{ID: "j"}},
		{"CronList", `{}`, &CronListInput{}},
		{"ScheduleWakeup", `{"delaySeconds":60.5,"reason":"r","prompt":"p","stop":true,"noop":true}`,
			&ScheduleWakeupInput{DelaySeconds: 60.5, Reason: "r", Prompt: "p", Stop: true, Noop: &yes}},
		{"RemoteTrigger", `{"action":"run","trigger_id":"t","session_id":"s","cursor":"c","body":{"a":1}}`,
			&RemoteTriggerInput{Action: "run", TriggerID: "t", SessionID: "s", Cursor: "c", Body: `{"a":1}`}},
		{"PushNotification", `{"message":"m","status":"proactive"}`, &PushNotificationInput{Message: "m", Status: "proactive"}},
		{"ReadNotifications", `{}`, &ReadNotificationsInput{}},
		{"ReportFindings", `{"level":"high","findings":[{"file":"a.go","line":3,"summary":"s","short_summary":"x",
			"failure_scenario":"f","category":"c","verdict":"CONFIRMED","outcome":"fixed"}]}`,
			&ReportFindingsInput{Level: "high", Findings: []Finding{{File: "a.go", Line: 3, Summary: "s", ShortSummary: "x",
				FailureScenario: "f", Category: "c", Verdict: "CONFIRMED", Outcome: "fixed"}}}},
		{"SendFeedback", `{"type":"bug","title":"t","details":"d","area":"a","failure_mode":"f","task_category":"c"}`,
			&SendFeedbackInput{Type: "bug", Title: "t", Details: "d", Area: "a", FailureMode: "f", TaskCategory: "c"}},
		{"Artifact", `{"file_path":"/a.html","title":"t","limit":2,"capabilities":{"x":[]}}`,
			&ArtifactInput{FilePath: "/a.html", Title: "t", Limit: 2, Capabilities: `{"x":[]}`}},
		{"Projects", `{"method":"project_search","query":"q","n":3}`, &ProjectsInput{Method: "project_search", Query: "q", N: 3}},
		{"ClaudeDesign", `{"operation":"list","arguments":{}}`, &ClaudeDesignInput{Operation: "list", Arguments: `{}`}},
		{"propose_skills", `{"proposals":[{"name":"n","kind":"improvement","target":"t","edits":[{"old_string":"a","new_string":"b"}]}]}`,
			&ProposeSkillsInput{Proposals: []SkillProposal{{Name: "n", Kind: "improvement", Target: "t", Edits: []SkillEdit{{"a", "b"}}}}}},
		{"SetGoal", `{"condition":"c","ask_user":false}`, &SetGoalInput{Condition: "c", AskUser: &no}},
		{"ProposeGoal", `{"condition":"c"}`, &SetGoalInput{Condition: "c"}}, // up to 2.1.325
		{"OfferChromeSetup", `{"reason":"r"}`, &OfferChromeSetupInput{Reason: "r"}},
		{"ShowOnboardingRolePicker", `{}`, &ShowOnboardingRolePickerInput{}},
		{"ListMcpResources", `{}`, &ListMCPResourcesInput{}},
		{"ReadMcpResource", `{"uri":"u"}`, &ReadMCPResourceInput{URI: "u"}},
		{"ReadMcpResourceDir", `{"uri":"u"}`, &ReadMCPResourceDirInput{URI: "u"}},
		{"ProposeSkills", `{}`, &ProposeSkillsInput{}},
	}
}

// Each tool that was renamed has the same type of input under both names, and no name is twice in
// the list.
func TestNames(t *testing.T) {
	t.Parallel()
	names := BuiltIn()
	if !slices.IsSorted(names) || len(slices.Compact(names)) != len(BuiltIn()) {
		t.Errorf("the names are not sorted, or one is there twice: %q", names)
	}
	for old, current := range formerNames {
		if !slices.Contains(names, current) || slices.Contains(names, old) || CurrentName(old) != current {
			t.Errorf("%s is now %s", old, current)
		}
		if (inputs[old] == nil) != (inputs[current] == nil) {
			t.Errorf("only one of %s and %s has a type", old, current)
		}
	}
	if got := CurrentName("mcp__a__b"); got != "mcp__a__b" {
		t.Errorf("another tool is %s", got)
	}
	names[0] = "changed"
	if BuiltIn()[0] == "changed" {
		t.Error("the list is shared")
	}
}
