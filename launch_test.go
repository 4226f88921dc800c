package clew

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/sandbox"
)

func TestLaunch(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("CLEW_TEST_LAUNCH", "1")
	if err := os.Mkdir("sub", 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("sub")
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{Dir: "sub", Model: "opus", InheritEnv: []string{"CLEW_TEST_LAUNCH"}, Debug: DebugOptions{Stderr: func(string) {}}}
	plan, err := o.plan()
	if err != nil {
		t.Fatal(err)
	}
	got := plan.launch("/bin/agent")
	if got.Stderr == nil {
		t.Error("no Stderr")
	}
	got.Stderr = nil
	want := &Launch{
		Path: "/bin/agent", Args: slices.Concat(fixedArgs, []string{"--model=opus"}), Dir: dir, CloseTimeout: 5 * time.Second,
		Env: slices.Concat([]string{"CLEW_TEST_LAUNCH=1"}, ownVariables, []string{"PWD=" + dir}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("launch (-want +got):\n%s", diff)
	}
}

func TestLaunchThroughTransport(t *testing.T) {
	t.Parallel()
	plan, err := (&Options{Dir: "work", Transport: nopTransport{}, Limits: Limits{CloseTimeout: time.Minute}}).plan()
	if err != nil {
		t.Fatal(err)
	}
	got := plan.launch("agent")
	if got.Dir != "work" || got.CloseTimeout != time.Minute {
		t.Errorf("folder %q, time-out %v", got.Dir, got.CloseTimeout)
	}
}

// A transport may change its launch without changing the plan, which is recorded.
func TestLaunchIsACopy(t *testing.T) {
	t.Parallel()
	plan, err := new(Options).plan()
	if err != nil {
		t.Fatal(err)
	}
	launch := plan.launch("agent")
	clear(launch.Args)
	clear(launch.Env)
	if plan.args[0] == "" || plan.env[0] == "" {
		t.Errorf("arguments %q, environment %q", plan.args, plan.env)
	}
}

// The plan has everything that an agent gets, and each initialize request has its own hooks.
func TestPlan(t *testing.T) {
	t.Parallel()
	outside := &MCPStdioServer{Command: "c"}
	plan, err := (&Options{
		Session: SessionOptions{Title: "t"}, CanUseTool: nopCanUseTool, PermissionMode: PermissionModeBypassPermissions,
		MCPServers: map[string]MCPServer{"s": outside},
	}).plan()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(setMCPServersRequest{map[string]MCPServer{"s": outside}}), plan.servers); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if len(plan.warnings) != 1 || !slices.Contains(plan.args, "--permission-mode=bypassPermissions") {
		t.Errorf("warnings %v, arguments %q", plan.warnings, plan.args)
	}
	with, without := plan.initializeRequest(1), plan.initializeRequest(nil)
	if with.Hooks != 1 || without.Hooks != nil || without.Title != "t" {
		t.Errorf("requests %+v, %+v", with, without)
	}
}

func TestLaunchRefuses(t *testing.T) {
	t.Parallel()
	got, err := (&Options{ExtraArgs: []string{"x"}}).plan()
	var bad *OptionsError
	if got != nil || !errors.As(err, &bad) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestNeedsInput(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want bool
	}{
		{"nothing", Options{}, false},
		{"permissions", Options{CanUseTool: nopCanUseTool}, true},
		{"questions", Options{OnQuestion: nopQuestion}, true},
		{"elicitation", Options{OnElicitation: nopElicitation}, true},
		{"dialogs", Options{OnUserDialog: nopUserDialog}, true},
		{"hooks", Options{Hooks: map[hook.Event][]hook.Matcher{"Stop": {{}}}}, true},
		{"an event without hooks", Options{Hooks: map[hook.Event][]hook.Matcher{"Stop": {}}}, false},
		{"a server of this process",
			Options{MCPServers: map[string]MCPServer{"p": &MCPInProcessServer{Handler: nopHandler{}}}}, true},
		{"a server outside", Options{MCPServers: map[string]MCPServer{"s": &MCPStdioServer{Command: "c"}}}, false},
	}
	for _, tt := range tests {
		if got := needsInput(&tt.o); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

// fixedArgs come first, whatever the options are.
var fixedArgs = []string{"--output-format=stream-json", "--verbose", "--input-format=stream-json"}

func TestArgs(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want []string
	}{
		{"nothing", Options{}, nil},
		{"continue", Options{Session: SessionOptions{Continue: true}}, []string{"--continue"}},
		{"resume", Options{Session: SessionOptions{Resume: "abc"}}, []string{"--resume=abc"}},
		{"fork", Options{Session: SessionOptions{Continue: true, Fork: true}}, []string{"--continue", "--fork-session"}},
		{"session ID", Options{Session: SessionOptions{ID: "u"}}, []string{"--session-id=u"}},
		{"resume at", Options{Session: SessionOptions{Resume: "r", ResumeAt: "m"}}, []string{"--resume=r", "--resume-session-at=m"}},
		{"resume drops turn", Options{Session: SessionOptions{ResumeDropsTurn: new("t")}}, []string{"--resume-drops-turn=t"}},
		{"resume drops no turn", Options{Session: SessionOptions{ResumeDropsTurn: new("")}}, []string{"--resume-drops-turn="}},
		{"ephemeral", Options{Session: SessionOptions{Ephemeral: true}}, []string{"--no-session-persistence"}},
		{"folders", Options{AddDirs: []string{"a", "b c"}}, []string{"--add-dir=a", "--add-dir=b c"}},
		{"project root", Options{Settings: SettingsOptions{ProjectConfigRoot: "/p"}}, []string{"--project-config-root=/p"}},

		{"model", Options{Model: "opus"}, []string{"--model=opus"}},
		{"fallback models", Options{FallbackModels: []string{"a", "b"}}, []string{"--fallback-model=a,b"}},
		{"betas", Options{Betas: []string{"a", "b"}}, []string{"--betas=a,b"}},
		{"no betas", Options{Betas: []string{}}, nil},
		{"thinking", Options{Thinking: &ThinkingConfig{}}, nil},
		{"thinking adaptive", Options{Thinking: &ThinkingConfig{Mode: ThinkingAdaptive, Display: ThinkingSummarized}},
			[]string{"--thinking=adaptive", "--thinking-display=summarized"}},
		{"thinking disabled", Options{Thinking: &ThinkingConfig{Mode: ThinkingDisabled}}, []string{"--thinking=disabled"}},
		{"thinking enabled", Options{Thinking: &ThinkingConfig{Mode: ThinkingEnabled}}, []string{"--thinking=enabled"}},
		{"thinking budget", Options{Thinking: &ThinkingConfig{Mode: ThinkingEnabled, BudgetTokens: 2048,
			Display: ThinkingOmitted}},
			[]string{"--max-thinking-tokens=2048", "--thinking-display=omitted"}},
		{"thinking budget alone", Options{Thinking: &ThinkingConfig{BudgetTokens: 1}}, []string{"--max-thinking-tokens=1"}},
		{"effort", Options{Effort: EffortHigh}, []string{"--effort=high"}},
		{"max turns", Options{Limits: Limits{MaxTurns: 3}}, []string{"--max-turns=3"}},
		{"budget", Options{Limits: Limits{MaxBudgetUSD: 2.5}}, []string{"--max-budget-usd=2.5"}},
		{"small budget", Options{Limits: Limits{MaxBudgetUSD: 1e-7}}, []string{"--max-budget-usd=0.0000001"}},
		{"task budget", Options{Limits: Limits{TaskBudget: 50000}}, []string{"--task-budget=50000"}},
		{"compaction", Options{Limits: Limits{AutoCompactTokens: 200000}}, []string{"--autocompact=200000"}},

		{"tools", Options{Tools: []string{"Bash", "Read"}}, []string{"--tools=Bash,Read"}},
		{"no tools", Options{Tools: []string{}}, []string{"--tools="}},
		{"usual tools", Options{Tools: []string{"default"}}, []string{"--tools=default"}},
		{"allowed tools", Options{AllowedTools: []string{"Read", "Bash(git log:*)"}},
			[]string{"--allowedTools=Read,Bash(git log:*)"}},
		{"disallowed tools", Options{DisallowedTools: []string{"Bash"}}, []string{"--disallowedTools=Bash"}},
		{"permission mode", Options{PermissionMode: PermissionModePlan}, []string{"--permission-mode=plan"}},
		{"bypass", Options{AllowDangerouslySkipPermissions: true}, []string{"--allow-dangerously-skip-permissions"}},
		{"permission callback", Options{CanUseTool: nopCanUseTool}, []string{"--permission-prompt-tool=stdio"}},
		{"question callback", Options{OnQuestion: nopQuestion}, []string{"--permission-prompt-tool=stdio"}},
		{"permission tool", Options{PermissionPromptTool: "mcp__a__b"}, []string{"--permission-prompt-tool=mcp__a__b"}},
		{"permission prompts", Options{PermissionPrompts: PermissionPromptsNone}, []string{"--permission-prompts=none"}},

		{"agent", Options{Agent: "reviewer"}, []string{"--agent=reviewer"}},
		{"MCP files", Options{MCPConfigFiles: []string{"a.json", "b.json"}}, []string{"--mcp-config=a.json",
			"--mcp-config=b.json"}},
		{"strict MCP", Options{StrictMCPConfig: true}, []string{"--strict-mcp-config"}},
		{"plugins", Options{Plugins: []PluginConfig{{Path: "a"}, {Path: "b", SkipMCPDiscovery: true}, {Path: "c"}}},
			[]string{"--plugin-dir=a", "--plugin-dir=c", "--plugin-dir-no-mcp=b"}},
		{"plugins by initialize", Options{Plugins: []PluginConfig{{Path: "a"}}, PluginDelivery: PluginsByInitialize},
			[]string{"--await-initialize"}},

		{"no skills", Options{Skills: []string{}}, nil},
		{"all skills", Options{Skills: []string{AllSkills}}, []string{"--allowedTools=Skill"}},
		{"skills", Options{AllowedTools: []string{"Read", "Skill(pdf)"}, Skills: []string{"pdf", "my skill"}},
			[]string{"--allowedTools=Read,Skill(pdf),Skill(my skill)"}},

		{"partial messages", Options{IncludePartialMessages: true}, []string{"--include-partial-messages"}},
		{"hook events", Options{IncludeHookEvents: true}, []string{"--include-hook-events"}},
		{"replay", Options{ReplayUserMessages: true}, []string{"--replay-user-messages"}},

		{"settings file", Options{Settings: SettingsOptions{File: "/s.json"}}, []string{"--settings=/s.json"}},
		{"settings", Options{Settings: SettingsOptions{JSON: `{"model": "x"}`}}, []string{`--settings={"model": "x"}`}},
		{"managed settings", Options{Settings: SettingsOptions{Managed: `{}`}}, []string{`--managed-settings={}`}},
		{"setting sources", Options{Settings: SettingsOptions{Sources: []SettingSource{SettingSourceUser, SettingSourceProject}}},
			[]string{"--setting-sources=user,project"}},
		{"no setting sources", Options{Settings: SettingsOptions{Sources: []SettingSource{}}}, []string{"--setting-sources="}},
		{"bare", Options{Settings: SettingsOptions{Bare: true}}, []string{"--bare"}},
		{"safe mode", Options{Settings: SettingsOptions{SafeMode: true}}, []string{"--safe-mode"}},
		{"restricted", Options{Restricted: true}, []string{"--restricted"}},
		{"no commands", Options{DisableSlashCommands: true}, []string{"--disable-slash-commands"}},
		{"debug", Options{Debug: DebugOptions{Enabled: true}}, []string{"--debug"}},
		{"debug categories", Options{Debug: DebugOptions{Enabled: true, Categories: []string{"hooks", "!mcp"}}},
			[]string{"--debug=hooks,!mcp"}},
		{"debug file", Options{Debug: DebugOptions{File: "/d.log"}}, []string{"--debug-file=/d.log"}},
		{"extra", Options{Model: "opus", ExtraArgs: []string{"--brief", "--neg=-1", "--x="}},
			[]string{"--model=opus", "--brief", "--neg=-1", "--x="}},

		{"a session that looks like a flag", Options{Session: SessionOptions{Resume: "--evil"}}, []string{"--resume=--evil"}},
		{"a model that looks like a flag", Options{Model: "--evil"}, []string{"--model=--evil"}},
		{"a tool that looks like a flag", Options{Tools: []string{"--evil"}}, []string{"--tools=--evil"}},
		{"a value of two lines", Options{Session: SessionOptions{Resume: "a\n--b"}}, []string{"--resume=a\n--b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := agentArgs(&tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Concat(fixedArgs, tt.want), got); diff != "" {
				t.Errorf("arguments (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArgsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	o := Options{
		AddDirs:        []string{"/d"},
		AllowedTools:   []string{"Read"},
		Effort:         EffortLow,
		ExtraArgs:      []string{"--brief"},
		Session:        SessionOptions{Fork: true, Resume: "r"},
		Limits:         Limits{MaxTurns: 1},
		Model:          "opus",
		PermissionMode: PermissionModePlan,
		Settings:       SettingsOptions{JSON: `{}`},
		Tools:          []string{"Bash"},
	}
	got, err := agentArgs(&o)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Concat(fixedArgs, []string{
		"--effort=low", "--max-turns=1", "--model=opus", "--resume=r", "--allowedTools=Read", "--tools=Bash",
		"--permission-mode=plan", "--add-dir=/d", "--fork-session", "--settings={}", "--brief",
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func TestArgsRefuseNUL(t *testing.T) {
	t.Parallel()
	tests := map[string]Options{
		"Model":         {Model: "a\x00b"},
		"AllowedTools":  {AllowedTools: []string{"a", "b\x00"}},
		"ExtraArgs":     {ExtraArgs: []string{"--x=\x00"}},
		"AddDirs":       {AddDirs: []string{"\x00"}},
		"Settings.JSON": {Settings: SettingsOptions{JSON: "\x00"}},
	}
	for option, o := range tests {
		args, err := agentArgs(&o)
		var bad *OptionsError
		if !errors.As(err, &bad) || bad.Option != option || args != nil {
			t.Errorf("%s: arguments %q, error %v", option, args, err)
		}
	}
}

func TestExtraArgsAreFlags(t *testing.T) {
	t.Parallel()
	tests := []struct{ arg, want string }{
		{"--brief", ""},
		{"--autoConnect=x=y\nz", ""},
		{"brief", `clew: option ExtraArgs: "brief" is neither --flag nor --flag=value`},
		{"-p", `clew: option ExtraArgs: "-p" is neither --flag nor --flag=value`},
		{"--", `clew: option ExtraArgs: "--" is neither --flag nor --flag=value`},
		{"", `clew: option ExtraArgs: "" is neither --flag nor --flag=value`},
		{"--a b", `clew: option ExtraArgs: "--a b" is neither --flag nor --flag=value`},
		{"sk-ant-x", `clew: option ExtraArgs: "sk-ant-***" is neither --flag nor --flag=value`},
		{"--1=secret", `clew: option ExtraArgs: "--1" is neither --flag nor --flag=value`},
		{"--print", "clew: option ExtraArgs: --print is reserved for Clew"},
		{"--input-format=text", "clew: option ExtraArgs: --input-format is reserved for Clew"},
		{"--output-format=json", "clew: option ExtraArgs: --output-format is reserved for Clew"},
		{"--verbose", "clew: option ExtraArgs: --verbose is reserved for Clew"},
		{"--model=x", "clew: option ExtraArgs: --model is the option Model"},
		{"--system-prompt=x", "clew: option ExtraArgs: --system-prompt is the option SystemPrompt"},
		{"--allowed-tools=x", "clew: option ExtraArgs: --allowed-tools is the option AllowedTools"},
		{"--debug", "clew: option ExtraArgs: --debug is the option Debug.Enabled"},
		{"--mcp-config=x", "clew: option ExtraArgs: --mcp-config is the option MCPConfigFiles"},
	}
	for _, tt := range tests {
		_, err := agentArgs(&Options{ExtraArgs: []string{tt.arg}})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q: %s\nwant %s", tt.arg, got, tt.want)
		}
	}
}

func TestSettingsArg(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"none", Options{}, ""},
		{"a file, which is not read", Options{Settings: SettingsOptions{File: "/no/such/file"}}, "/no/such/file"},
		{"an object as it is", Options{Settings: SettingsOptions{JSON: `{ "a": 1e2 }`}}, `{ "a": 1e2 }`},
		{"a sandbox alone", Options{Sandbox: &sandbox.Settings{ExcludedCommands: []string{"git"}}},
			`{"sandbox":{"excludedCommands":["git"]}}`},
		{"a sandbox that has to be there", Options{Sandbox: &sandbox.Settings{Enabled: true}},
			`{"sandbox":{"enabled":true,"failIfUnavailable":true}}`},
		{"a sandbox if there is one", Options{Sandbox: &sandbox.Settings{Enabled: true, FailIfUnavailable: new(false)}},
			`{"sandbox":{"enabled":true,"failIfUnavailable":false}}`},
		{"both", Options{Settings: SettingsOptions{JSON: `{"model": "x", "n": 12345678901234567890}`}, Sandbox: &sandbox.Settings{}},
			`{"model":"x","n":12345678901234567890,"sandbox":{}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, settingsArg(&tt.o)); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettingsArgLeavesTheSandboxAlone(t *testing.T) {
	t.Parallel()
	o := &Options{Sandbox: &sandbox.Settings{Enabled: true}}
	settingsArg(o)
	if o.Sandbox.FailIfUnavailable != nil {
		t.Error("the caller's sandbox was changed")
	}
}
