package clew

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// ignoreRaw leaves out of a comparison what the types of package wire were read from.
var ignoreRaw = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name() == "raw"
}, cmp.Ignore())

// recordedAnswer returns an answer of Claude Code 2.1.325, shortened and with other paths, without
// white space.
func recordedAnswer(t *testing.T, subtype string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "control", subtype+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	return compact.String()
}

func TestRecordedAnswers(t *testing.T) {
	t.Parallel()
	failed := MCPServerStatus{
		Name: "bad", State: MCPStateFailed,
		Error:  "ECONNREFUSED: Unable to connect. Is the computer able to access the url?",
		Config: `{"type":"http","url":"http://127.0.0.1:8080/"}`, Transport: "http", Scope: "dynamic", Source: "dynamic",
	}
	tests := []struct {
		subtype string
		want    any
	}{
		{"list_models", &modelsAnswer{[]ModelInfo{recordedModel()}}},
		{"mcp_status", &mcpStatusAnswer{[]MCPServerStatus{{
			Name: "greeter", State: MCPStateConnected, ServerInfo: &MCPServerInfo{"greeter", "1.2.3"},
			Config:    `{"type":"http","url":"http://127.0.0.1:8080"}`,
			Transport: "http", Scope: "dynamic", Source: "dynamic",
			Tools: []MCPServerTool{{
				Name: "greet", Annotations: MCPToolAnnotations{ReadOnly: new(true)},
				Meta: `{"ui":{"resourceUri":"ui://greeter/page"}}`,
			}},
		}, failed}}},
		{"reload_plugins", &PluginReload{
			Commands:   []wire.SlashCommand{{Name: "hello", Description: "says hello (project)"}},
			Agents:     []AgentInfo{{Name: "helper", Description: "helps"}},
			Plugins:    []wire.Plugin{{Name: "cc-plugin-agents-md", Path: "builtin", Source: "cc-plugin-agents-md@builtin"}},
			MCPServers: []MCPServerStatus{failed},
		}},
	}
	for _, test := range tests {
		t.Run(test.subtype, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, recordedAnswer(t, test.subtype), test.want)
		})
	}
}

// checkAnswer decodes an answer into a new value of want's type.
func checkAnswer(t *testing.T, answer string, want any) {
	t.Helper()
	got := reflect.New(reflect.TypeOf(want).Elem()).Interface()
	if err := json.Unmarshal([]byte(answer), got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, ignoreRaw); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func recordedModel() ModelInfo {
	return ModelInfo{
		Value: "default", ResolvedModel: "claude-opus-5-5", DisplayName: "Default (recommended)",
		Description:    "Use the default model (currently Opus 5.5) · $4/$20 per Mtok",
		SupportsEffort: true,
		SupportedEffortLevels: []wire.Effort{
			wire.EffortLow, wire.EffortMedium, wire.EffortHigh, wire.EffortXHigh, wire.EffortMax,
		},
		SupportsAdaptiveThinking: true, SupportsFastMode: true, SupportsAutoMode: true, SupportsThinkingOff: new(false),
	}
}

// fallbackAnswer is a side question that another model answered.
func fallbackAnswer() *SideAnswer {
	answer := &SideAnswer{Synthetic: true}
	answer.RefusalFallback = &struct {
		OriginalModel string `json:"original_model"`
		FallbackModel string `json:"fallback_model"`
		Content       string `json:"content"`
	}{"a", "b", "c"}
	return answer
}

// heldReload is a reload of plugins that would have changed the tools.
func heldReload() *PluginReload {
	reload := &PluginReload{ErrorCount: 1, Held: new(true)}
	reload.CacheImpact = &struct {
		MCPServersAdded   []string `json:"mcp_servers_added"`
		MCPServersRemoved []string `json:"mcp_servers_removed"`
		LSPToolChange     string   `json:"lsp_tool_change"`
	}{[]string{"plugin:p:s"}, []string{}, "may-add"}
	return reload
}

// smallAnswers are answers of Claude Code, and some that the documentation of the protocol allows.
var smallAnswers = []struct {
	name   string
	answer string
	want   any
}{
	{"interrupt", `{"still_queued":["u1"]}`, &InterruptReceipt{StillQueued: []string{"u1"}}},
	{
		"interrupt all", `{"still_queued":[],"cancelled":["u1"]}`,
		&InterruptReceipt{StillQueued: []string{}, Canceled: []string{"u1"}},
	},
	{"cancel a prompt", `{"cancelled":true}`, &cancelPromptAnswer{true}},
	{"set a model", `{"model":"claude-sonnet-5-5"}`, &setModelAnswer{"claude-sonnet-5-5"}},
	{"set a model, no answer", `{}`, &setModelAnswer{}},
	{
		"set servers", `{"added":["a","b"],"removed":[],"errors":{"b":"ECONNREFUSED"}}`,
		&MCPServersChange{Added: []string{"a", "b"}, Removed: []string{}, Errors: map[string]string{"b": "ECONNREFUSED"}},
	},
	{"a server's mode", `{"warning":"not known"}`, &mcpPermissionModeAnswer{"not known"}},
	{
		"call a tool", `{"content":[{"type":"text","text":"Hello."}],"structuredContent":{"a":1},"_meta":{"k":1}}`,
		&MCPCallResult{
			Content: `[{"type":"text","text":"Hello."}]`, StructuredContent: `{"a":1}`, Meta: `{"k":1}`,
		},
	},
	{
		"call a tool with a deadline", `{"content":"Hello.","staging":{"ok":true,"outputs":[],"inputs_used":[]}}`,
		&mcpCallAnswer{
			MCPCallResult: MCPCallResult{Content: `"Hello."`},
			Staging:       &mcpStaging{OK: true, Outputs: `[]`, InputsUsed: `[]`},
		},
	},
	{
		"log in to a server", `{"authUrl":"http://a/","requiresUserAction":true,"callbackExpected":true,` +
			`"redirectScheme":"localhost","state":"s","callbackPort":59878}`,
		&MCPAuth{"http://a/", true, true, "localhost", 59878, "s"},
	},
	{"log in", `{"manualUrl":"https://m/","automaticUrl":"https://a/"}`, &ClaudeAuth{"https://m/", "https://a/"}},
	{
		"rewind the conversation",
		`{"rewound":true,"targetMessageUuid":"u1","prefillText":"Hello","precedingAssistantUuid":null}`,
		&ConversationRewind{Rewound: true, Prompt: "Hello"},
	},
	{
		"no such prompt", `{"rewound":false,"prefillText":null,"error":"target not found","reason":"target_not_found"}`,
		&ConversationRewind{Error: "target not found", Reason: "target_not_found"},
	},
	{"call a tool, text", `{"content":"Hello."}`, &MCPCallResult{Content: `"Hello."`}},
	{
		"read a resource",
		`{"contents":[{"uri":"ui://a","mimeType":"text/html","text":"<p>","_meta":{"ui":{}}},` +
			`{"uri":"ui://b","blob":"AQI="}]}`,
		&mcpResourceAnswer{[]MCPResourceContent{
			{URI: "ui://a", MIMEType: "text/html", Text: "<p>", Meta: `{"ui":{}}`}, {URI: "ui://b", Blob: []byte{1, 2}},
		}},
	},
	{
		"task output", `{"output":"started\n","total_bytes":8,"truncated":false}`,
		&TaskOutput{Output: "started\n", TotalBytes: 8},
	},
	{"background a task", `{"backgrounded":false}`, &backgroundTasksAnswer{new(false)}},
	{
		"read a file", `{"contents":"b25l","absPath":"/a","truncated":true,"encoding":"base64","requested_path":"a"}`,
		&FileContents{"/a", []byte("one"), true},
	},
	{
		"read a file, older agent", `{"contents":"b25l","absPath":"/a","lossy":false}`,
		&FileContents{"/a", []byte("b25l"), false},
	},
	{
		"preview", `{"canRewind":true,"filesChanged":["/a"],"insertions":0,"deletions":1}`,
		&FileRewind{CanRewind: true, FilesChanged: []string{"/a"}, Deletions: 1},
	},
	{"preview, none", `{"canRewind":false,"error":"No file."}`, &FileRewind{Error: "No file."}},
	{"rewind", `{"canRewind":true,"skippedLinks":2}`, &FileRewind{CanRewind: true, SkippedLinks: 2}},
	{"title", `{"title":"A name"}`, &titleAnswer{"A name"}},
	{"no title", `{"title":null}`, &titleAnswer{}},
	{"side question", `{"response":"Yes.","synthetic":false}`, &SideAnswer{Response: "Yes."}},
	{
		"side question, fallback",
		`{"response":null,"synthetic":true,"refusal_fallback":{"original_model":"a","fallback_model":"b","content":"c"}}`,
		fallbackAnswer(),
	},
	{"add a root", `{"directory":"/a"}`, &repoRootAnswer{"/a"}},
	{
		"reload skills", `{"skills":[{"name":"hello","description":"says hello","argumentHint":"NAME"}]}`,
		&skillsAnswer{[]wire.SlashCommand{{Name: "hello", Description: "says hello", ArgumentHint: "NAME"}}},
	},
	{"reload styles", `{"available_output_styles":["default"]}`, &outputStylesAnswer{[]string{"default"}}},
	{
		"reload plugins, held", `{"error_count":1,"held":true,"cache_impact":` +
			`{"mcp_servers_added":["plugin:p:s"],"mcp_servers_removed":[],"lsp_tool_change":"may-add"}}`,
		heldReload(),
	},
}

func TestControlAnswers(t *testing.T) {
	t.Parallel()
	for _, test := range smallAnswers {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			checkAnswer(t, test.answer, test.want)
		})
	}
}

// An answer of another shape is an error, and never a panic; null and fields that are not known are
// neither.
func TestControlAnswersOfOtherShapes(t *testing.T) {
	t.Parallel()
	for _, test := range smallAnswers {
		kind := reflect.TypeOf(test.want).Elem()
		for _, answer := range []string{`null`, `{}`, `{"newer":{"than":["us"]}}`} {
			if err := json.Unmarshal([]byte(answer), reflect.New(kind).Interface()); err != nil {
				t.Errorf("%s: %s: %v", test.name, answer, err)
			}
		}
		for _, answer := range []string{`[]`, `"text"`, `1`, `true`} {
			if err := json.Unmarshal([]byte(answer), reflect.New(kind).Interface()); err == nil {
				t.Errorf("%s: %s: no error", test.name, answer)
			}
		}
	}
	if err := json.Unmarshal([]byte(`{"contents":"?","encoding":"base64"}`), new(FileContents)); err == nil {
		t.Error("contents that are not base64: no error")
	}
}

func TestBackgroundTasksFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`{}`: true, `{"backgrounded":true}`: true, `{"backgrounded":false}`: false} {
		var answer backgroundTasksAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.found() != want {
			t.Errorf("%s: found %t, %v", text, answer.found(), err)
		}
	}
}

func TestCWDChange(t *testing.T) {
	t.Parallel()
	tests := []struct {
		answer string
		change *CWDChange
		err    error
	}{
		{
			`{"status":"ok","cwd":"/a","changed":true,"transcript_relocated":true}`,
			&CWDChange{CWD: "/a", Changed: true, TranscriptRelocated: true}, nil,
		},
		{
			`{"status":"needs_trust","directory":"/a/sub","trust_root":"/a"}`, nil,
			&UntrustedError{Directory: "/a/sub", Root: "/a"},
		},
		{
			`{"status":"rejected","reason":"busy","message":"A turn is in progress"}`, nil,
			&ControlError{Subtype: "set_cwd", Message: "A turn is in progress", Code: "busy"},
		},
		{`{}`, nil, &ControlError{Subtype: "set_cwd"}},
	}
	for _, test := range tests {
		var answer setCWDAnswer
		if err := json.Unmarshal([]byte(test.answer), &answer); err != nil {
			t.Fatal(err)
		}
		change, err := answer.change()
		if diff := cmp.Diff(test.change, change); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.answer, diff)
		}
		if diff := cmp.Diff(test.err, err); diff != "" {
			t.Errorf("%s: error (-want +got):\n%s", test.answer, diff)
		}
	}
}

func TestUntrustedErrorText(t *testing.T) {
	t.Parallel()
	err := &UntrustedError{Directory: "/a"}
	if err.Error() != "clew: directory /a is not trusted" {
		t.Errorf("error %q", err)
	}
}

// A call whose files the agent can't provide is an error; otherwise the result lists the files.
func TestMCPCallStaging(t *testing.T) {
	t.Parallel()
	answer := &mcpCallAnswer{Staging: &mcpStaging{ErrorCode: "expired", Detail: "too late"}}
	_, err := answer.result()
	want := &ControlError{Subtype: "mcp_call", Message: "too late", Code: "expired"}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	answer.Staging = &mcpStaging{OK: true, Outputs: `[1]`, InputsUsed: `[2]`}
	result, err := answer.result()
	if err != nil || result.Staging.Outputs != `[1]` || result.Staging.InputsUsed != `[2]` {
		t.Errorf("result %+v, %v", result, err)
	}
}
