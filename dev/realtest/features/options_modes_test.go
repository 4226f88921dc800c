package features_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/tooluse"
	"github.com/clewdev/clew/wire"
)

// A setup describes an agent in a project with a memory file, the subagent helper and the skill
// hello.
type setup struct {
	Mode          clew.PermissionMode
	Bash, Write   bool // the tools
	Memory        bool // the model is shown CLAUDE.md
	Helper, Hello bool
	Debug         bool // there is a debug log
}

func TestRealOptionsModes(t *testing.T) {
	t.Parallel()
	const usual = clew.PermissionModeDefault
	whole := setup{Mode: usual, Bash: true, Write: true, Memory: true, Helper: true, Hello: true}
	bypass := whole
	bypass.Mode = clew.PermissionModeBypassPermissions
	for name, test := range map[string]struct {
		opts clew.Options
		want setup
	}{
		"nothing":    {clew.Options{}, whole},
		"bare":       {clew.Options{Settings: clew.SettingsOptions{Bare: true}, Debug: clew.DebugOptions{Enabled: true}}, setup{Mode: usual, Bash: true, Debug: true}},
		"safe":       {clew.Options{Settings: clew.SettingsOptions{SafeMode: true}}, setup{Mode: usual, Bash: true, Write: true}},
		"restricted": {clew.Options{Restricted: true, Tools: []string{}}, setup{Mode: usual}},
		"bypass":     {clew.Options{PermissionMode: bypass.Mode}, bypass},
		"usual":      {clew.Options{PermissionMode: usual, PermissionPrompts: clew.PermissionPromptsNone}, whole},
		"all skills": {clew.Options{Skills: []string{clew.AllSkills}}, whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.opts.Dir = t.TempDir()
			writeProject(t, test.opts.Dir)
			model := clewtest.NewModel(t).Reply("Done.")
			r := runWith(t, model, &test.opts)
			got := setup{
				Mode:   r.init.PermissionMode,
				Bash:   slices.Contains(r.init.Tools, "Bash"),
				Write:  slices.Contains(r.init.Tools, "Write"),
				Memory: strings.Contains(string(newest(model).Body), "Be kind."),
				Helper: slices.Contains(r.init.Agents, "helper"),
				Hello:  slices.Contains(r.init.Skills, "hello"),
				Debug:  hasDebugLog(t, model),
			}
			if diff := cmp.Diff(test.want, got); diff != "" || r.result.Result != "Done." {
				t.Errorf("result %q; setup (-want +got):\n%s", r.result.Result, diff)
			}
		})
	}
}

// The newest session of a directory is continued. A directory without one is an error.
func TestRealOptionsContinue(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Done.")
	dir := t.TempDir()
	opts := over(t, model, &clew.Options{Dir: dir, Session: clew.SessionOptions{Continue: true}})
	_, err := clew.Run(t.Context(), "Go", opts)
	if bad, ok := errors.AsType[*clew.OptionsError](err); !ok || bad.Option != "Session.Continue" {
		t.Fatalf("error %v", err)
	}
	opts.Session.Continue = false
	first, err := clew.Run(t.Context(), "Go", opts)
	if err != nil {
		t.Fatal(err)
	}
	opts.Session.Continue = true
	second, err := clew.Run(t.Context(), "Go", opts)
	if err != nil || second.SessionID != first.SessionID {
		t.Errorf("session %v, error %v; want %s", second, err, first.SessionID)
	}
	opts.Session.Fork = true
	third, err := clew.Run(t.Context(), "Go", opts)
	if err != nil || third.SessionID == first.SessionID {
		t.Errorf("session %v, error %v; want another one", third, err)
	}
}

// hasDebugLog reports whether the agent of a model has written a debug log.
func hasDebugLog(t *testing.T, model *clewtest.Model) bool {
	t.Helper()
	for _, entry := range model.Env() {
		if dir, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR="); ok {
			return len(must(filepath.Glob(filepath.Join(dir, "debug", "*.txt")))(t)) > 0
		}
	}
	t.Fatal("the model has no folder of settings")
	return false
}

func TestRealOptionsDisableSlashCommands(t *testing.T) {
	t.Parallel()
	r := runWith(t, clewtest.NewModel(t).Reply("Done."), &clew.Options{DisableSlashCommands: true})
	if len(r.init.SlashCommands) > 0 || len(r.init.Skills) > 0 {
		t.Errorf("commands %q, skills %q", r.init.SlashCommands, r.init.Skills)
	}
}

// The model is an older one: newer ones choose by themselves how much they think.
func TestRealOptionsThinking(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config clew.ThinkingConfig
		want   map[string]any
	}{
		"budget":   {clew.ThinkingConfig{BudgetTokens: 2048}, map[string]any{"type": "enabled", "budget_tokens": 2048.0}},
		"disabled": {clew.ThinkingConfig{Mode: clew.ThinkingDisabled}, map[string]any{"type": "disabled"}},
		"enabled":  {clew.ThinkingConfig{Mode: clew.ThinkingEnabled}, map[string]any{"type": "enabled"}},
		"summarized": {clew.ThinkingConfig{Mode: clew.ThinkingAdaptive, Display: clew.ThinkingSummarized},
			map[string]any{"display": "summarized"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t).Reply("Done.")
			runWith(t, model, &clew.Options{Model: "claude-sonnet-4-5", Thinking: &test.config})
			got := decoded[struct{ Thinking map[string]any }](t, string(newest(model).Body)).Thinking
			for field, want := range test.want {
				if got[field] != want {
					t.Errorf("%s is %v, want %v", field, got[field], want)
				}
			}
		})
	}
}

func TestRealOptionsModelLikeAFlag(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Done.")
	r := runWith(t, model, &clew.Options{Model: "--evil"})
	if r.init.Model != "--evil" || newest(model).Model != "--evil" {
		t.Errorf("model %q, asked for %q", r.init.Model, newest(model).Model)
	}
}

func TestRealOptionsPlugins(t *testing.T) {
	t.Parallel()
	for name, delivery := range map[string]clew.PluginDelivery{
		"by a flag":     "",
		"by initialize": clew.PluginsByInitialize,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writePlugin(t, dir)
			r := runWith(t, clewtest.NewModel(t).Reply("Done."), &clew.Options{
				PluginDelivery: delivery, Plugins: []clew.PluginConfig{{Path: dir}},
			})
			if !slices.ContainsFunc(r.init.Plugins, func(p wire.Plugin) bool { return p.Name == "greetings" }) {
				t.Errorf("plugins %+v", r.init.Plugins)
			}
			if inRequest := r.request(t, "initialize")["plugins"] != nil; inRequest != (delivery != "") {
				t.Errorf("plugins in initialize: %v", inRequest)
			}
		})
	}
}

func TestRealSystemPrompt(t *testing.T) {
	t.Parallel()
	const own = "Hooks may intercept tool calls" // of Claude Code
	tests := []struct {
		name     string
		prompt   *clew.SystemPrompt
		own      bool
		contains string
	}{
		{"custom", &clew.SystemPrompt{Custom: []string{"You are a cook."}}, false, "You are a cook."},
		{"append", &clew.SystemPrompt{Append: "You can cook, too."}, true, "You can cook, too."},
		{"empty", &clew.SystemPrompt{Custom: []string{}}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t).Reply("Fine.")
			query(t, model, "Go", &clew.Options{SystemPrompt: tt.prompt})
			system := newest(model).System.Text()
			if got := strings.Contains(system, own); got != tt.own {
				t.Errorf("Claude Code's own prompt: %v, in %s", got, system)
			}
			wantText(t, "the system prompt", system, tt.contains)
		})
	}
}

func TestRealAgents(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Delegate").Reply(clewtest.ToolUse("Agent", map[string]any{
		"description": "Count files", "prompt": "Count the files", "subagent_type": "counter", "run_in_background": false,
	}))
	model.On("Count the files").Reply(clewtest.Text("Three files."))
	model.OnToolResult("Three files.").Reply(clewtest.Text("There are three."))
	k := query(t, model, "Delegate", &clew.Options{
		Agents: map[string]clew.AgentDefinition{
			"counter": {Description: "Counts things", Prompt: "You can count.", Tools: []string{"Bash"}, Model: "haiku"},
		},
	})
	requests := model.Requests()
	if len(requests) != 3 || k.result.Result != "There are three." {
		t.Fatalf("%d requests, result %q", len(requests), k.result.Result)
	}
	inner := requests[1]
	wantText(t, "the subagent's system prompt", inner.System.Text(), "You can count.")
	wantText(t, "the subagent's model", inner.Model, "haiku")
	if tool := only(t, inner.Tools); tool.Name != "Bash" {
		t.Errorf("tool %s", tool.Name)
	}
}

func TestRealSkills(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		skills []string
		hello  bool // whether that skill is offered and can be used
	}{
		{"one", []string{"hello"}, true},
		{"none", []string{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Greet me").Reply(clewtest.ToolUse("Skill", map[string]string{"skill": "hello"}))
			model.OnToolResult("").Reply(clewtest.Text("Hello."))
			dir := t.TempDir()
			writeFiles(t, dir, map[string]string{
				".claude/skills/hello/SKILL.md": "---\nname: hello\ndescription: greets\n---\nBow first.\n",
				".claude/skills/bye/SKILL.md":   "---\nname: bye\ndescription: parts\n---\nWave.\n",
			})
			query(t, model, "Greet me", &clew.Options{Dir: dir, Skills: tt.skills})
			body := string(newest(model).Body)
			offered, used := strings.Contains(body, "hello: greets"), strings.Contains(body, "Bow first.")
			if offered != tt.hello || used != tt.hello {
				t.Errorf("the skill was offered: %v, used: %v", offered, used)
			}
			if strings.Contains(body, "bye: parts") {
				t.Error("the other skill was offered")
			}
		})
	}
}

func TestRealSettings(t *testing.T) {
	t.Parallel()
	model, dir := clewtest.NewModel(t), t.TempDir()
	touches(model, "file")
	k := query(t, model, "Make a file", &clew.Options{
		Dir:            dir,
		PermissionMode: clew.PermissionModeBypassPermissions,
		Settings:       clew.SettingsOptions{JSON: `{"permissions":{"deny":["Bash(touch *)"]}}`},
	})
	if result := only(t, k.toolResults()); !result.Failed() || exists(dir, "file") {
		t.Errorf("result %s", result.Raw())
	}
}

func TestRealSettingSources(t *testing.T) {
	t.Parallel()
	for name, sources := range map[string][]clew.SettingSource{"all": nil, "none": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, dir := clewtest.NewModel(t).Reply("Fine."), t.TempDir()
			writeFiles(t, dir, map[string]string{"CLAUDE.md": "Be kind to cats.\n"})
			query(t, model, "Go", &clew.Options{Dir: dir, Settings: clew.SettingsOptions{Sources: sources}})
			read := strings.Contains(string(newest(model).Body), "Be kind to cats.")
			if want := sources == nil; read != want {
				t.Errorf("CLAUDE.md was read: %v", read)
			}
		})
	}
}

func TestRealMaxTurnsAndBudget(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		opts *clew.Options
		want wire.ResultSubtype
	}{
		{"turns", &clew.Options{Limits: clew.Limits{MaxTurns: 1}}, wire.ResultErrorMaxTurns},
		{"budget", &clew.Options{Limits: clew.Limits{MaxBudgetUSD: 0.01}}, wire.ResultErrorMaxBudgetUSD},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Go").Reply(bash("echo one")).Usage(1_000_000, 1_000, 0, 0)
			result, err := clew.Run(t.Context(), "Go", over(t, model, tt.opts))
			var failed *clew.ResultError
			if !errors.As(err, &failed) || failed.Result != result || result.Subtype != tt.want {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestRealEnv(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Print it").Reply(bash("echo $THREAD of $WOOL"))
	model.OnToolResult("").Reply(clewtest.Text("Printed."))
	k := query(t, model, "Print it", &clew.Options{
		AllowedTools: []string{"Bash"}, Env: []string{"THREAD=a ball", "WOOL=wool", "THREAD=a clew"},
	})
	if got := only(t, k.toolResults()).Text(); got != "a clew of wool" {
		t.Errorf("output %q", got)
	}
}

// The agent writes its debug log to its standard error, with a flag that is not an option.
func TestRealExtraArgsAndStderr(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Fine.")
	var lines []string
	query(t, model, "Go", &clew.Options{
		ExtraArgs: []string{"--debug-to-stderr"},
		Debug:     clew.DebugOptions{Stderr: func(line string) { lines = append(lines, line) }},
	})
	if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, "[DEBUG]") }) {
		t.Errorf("lines %q", lines)
	}
	if slices.ContainsFunc(lines, func(line string) bool { return strings.ContainsAny(line, "\r\n") }) {
		t.Errorf("lines with their ends: %q", lines)
	}
}

func TestRealUnknownFlag(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	_, err := clew.Connect(t.Context(), over(t, model, &clew.Options{ExtraArgs: []string{"--no-such-flag"}}))
	var exit *clew.ExitError
	if !errors.As(err, &exit) || exit.Code != 1 || exit.Forced {
		t.Fatalf("error %v", err)
	}
	wantText(t, "stderr", exit.Stderr, "--no-such-flag")
}

// A simulated agent plays a recording of Claude Code, to the same effect.
func TestRealRecord(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	touches(model, "file")
	var record bytes.Buffer
	run := func(opts *clew.Options) *talk {
		door, calls := new(permissionCalls).say(permission.Allow(), nil), new(hookCalls)
		opts.CanUseTool, opts.Hooks = door.call, hooksAt(hook.PreToolUse, calls.call)
		k := succeed(t, clew.Query(t.Context(), "Make a file", opts))
		only(t, door.calls())
		only(t, calls.calls())
		return k
	}
	first := run(over(t, model, &clew.Options{Debug: clew.DebugOptions{Record: &record}}))
	scenario, err := clewtest.ReadDialogue(&record)
	if err != nil {
		t.Fatal(err)
	}
	agent := clewtest.NewAgent(t, scenario)
	second := run(&clew.Options{Transport: clew.TransportFunc(
		func(context.Context, *clew.Launch) (clew.Connection, error) { return agent.Conn(), nil },
	)})
	if diff := cmp.Diff(kinds(first), kinds(second)); diff != "" {
		t.Errorf("messages (-recorded +played):\n%s", diff)
	}
	if got, want := only(t, second.toolResults()).Raw(), only(t, first.toolResults()).Raw(); got != want {
		t.Errorf("result of the tool: %s, recorded: %s", got, want)
	}
}

// kinds returns the kinds of the messages of a talk.
func kinds(k *talk) []string {
	var list []string
	for _, msg := range k.messages {
		list = append(list, msg.Kind().String())
	}
	return list
}

// Runs share a budget: each is limited to the remaining amount, and the next one is refused.
func TestRealBudget(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t).Reply("Done.")
	opts := over(t, model, nil)
	first, err := clew.Run(t.Context(), "Go", opts)
	if err != nil || first.TotalCostUSD <= 0 {
		t.Fatalf("result %v, error %v", first, err)
	}
	budget := &clew.Budget{LimitUSD: first.TotalCostUSD * 1.5}
	opts.Limits.Budget = budget
	if _, err = clew.Run(t.Context(), "Go", opts); err != nil {
		t.Fatal(err)
	}
	_, err = clew.Run(t.Context(), "Go", opts)
	if failed, ok := errors.AsType[*clew.ResultError](err); !ok || failed.Result.Subtype != wire.ResultErrorMaxBudgetUSD {
		t.Errorf("the second run: %v", err)
	}
	asked := len(model.Requests())
	if _, err = clew.Run(t.Context(), "Go", opts); !errors.Is(err, clew.ErrBudgetSpent) || len(model.Requests()) != asked {
		t.Errorf("the third run: %v, after %d requests of %d", err, len(model.Requests()), asked)
	}
	if budget.SpentUSD() < first.TotalCostUSD*1.9 {
		t.Errorf("spent %v of %v", budget.SpentUSD(), budget.LimitUSD)
	}
}

// The structured result of a command has its exit code.
func TestRealExitCode(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{"exit 3": 3, "true": 0} {
		model := clewtest.NewModel(t)
		model.On("Go").Reply(clewtest.ToolUse("Bash", map[string]string{"command": command}))
		model.Reply("Done.")
		talk := query(t, model, "Go", &clew.Options{PermissionMode: clew.PermissionModeBypassPermissions})
		codes := 0
		for _, msg := range of[*wire.UserMessage](talk) {
			result, err := tooluse.DecodeResult("Bash", msg.ToolUseResult)
			if err != nil {
				continue // it is not the message with the result
			}
			codes++
			if code, ok := tooluse.ExitCode(result); !ok || code != want {
				t.Errorf("%s: exit code %d, %v, of %s", command, code, ok, msg.ToolUseResult)
			}
		}
		if codes != 1 {
			t.Errorf("%s: %d results", command, codes)
		}
	}
}
