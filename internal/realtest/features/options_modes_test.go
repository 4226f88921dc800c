package features_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A setup is what an agent has in a project with a memory file, the subagent helper and the skill hello.
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
		"bare":       {clew.Options{Bare: true, Debug: true}, setup{Mode: usual, Bash: true, Debug: true}},
		"safe":       {clew.Options{SafeMode: true}, setup{Mode: usual, Bash: true, Write: true}},
		"restricted": {clew.Options{Restricted: true, Tools: []string{}}, setup{Mode: usual}},
		"bypass":     {clew.Options{PermissionMode: bypass.Mode}, bypass},
		"usual":      {clew.Options{PermissionMode: usual, PermissionPrompts: clew.PermissionPromptsNone}, whole},
		"all skills": {clew.Options{Skills: []string{clew.AllSkills}, Continue: true, ForkSession: true}, whole},
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
