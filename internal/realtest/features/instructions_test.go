package features_test

import (
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
)

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
		Settings:       `{"permissions":{"deny":["Bash(touch *)"]}}`,
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
			query(t, model, "Go", &clew.Options{Dir: dir, SettingSources: sources})
			read := strings.Contains(string(newest(model).Body), "Be kind to cats.")
			if want := sources == nil; read != want {
				t.Errorf("CLAUDE.md was read: %v", read)
			}
		})
	}
}
