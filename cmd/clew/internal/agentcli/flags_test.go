package agentcli

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
)

// The options that "clew run" has no flag for, and why.
var optionsWithoutFlag = map[string]string{
	"Transport": "is code", "CanUseTool": "asks on the terminal", "OnQuestion": "asks on the terminal",
	"Hooks": "is code", "OnElicitation": "is code", "OnUserDialog": "is code", "OnOAuthToken": "is code",
	"OnHostAuthToken": "is code", "Limits.OnIdle": "is code", "Debug.Stderr": "is code", "Logger": "is code", "Trace": "is code", "Debug.Record": "is code",
	"Store.Store": "is code", "Store.Project": "belongs to Store", "Store.Eager": "belongs to Store",
	"Store.Timeout": "belongs to Store", "SupportedDialogKinds": "belongs to OnUserDialog",
	"Reconnect": "is for more than one turn", "Limits.Budget": "is for more than one run", "PerTaskStop": "is for more than one turn",
	"AllowDangerouslySkipPermissions": "is for more than one turn", "EnableFileCheckpointing": "is for more than one turn",
	"Dir": "is what cd is for", "Env": "is what the shell is for", "InheritEnv": "is what env is for",
	"Limits.IdleTimeout": "is what --timeout is for",
	"Sandbox":            "is a part of --settings", "MCPServers": "is what --mcp-config is for",
	"Skills": "is what --allowedTools is for", "PluginDelivery": "changes nothing for the user",
	"QuestionPreview": "is markdown on a terminal", "VerbatimPrompts": "is for prompts of programs",
	"Session.ResumeDropsTurn": "is a check for programs", "ToolAliases": "is for tools of programs",
	"PlanModeInstructions": "has no flag of the agent", "AgentProgressSummaries": "has no flag of the agent",
	"AgentVersion": "is asked of the agent", "AllowOldAgent": "is for programs that know their agent", "Limits.ControlTimeout": "suits as it is",
	"Limits.CloseTimeout": "suits as it is", "Limits.MaxFrameBytes": "suits as it is", "Limits.MaxBacklogBytes": "suits as it is",
	"IncludePartialMessages": "depends on the format, too",
}

// Each option that makes sense here can be set by a flag.
func TestRunOptionsHaveFlags(t *testing.T) {
	t.Parallel()
	var f Flags
	cmd := &cobra.Command{}
	f.add(cmd)
	f.addReports(cmd)
	err := cmd.ParseFlags(strings.Fields(`--resume r --continue --fork-session --session-id i --resume-session-at a --name n
		--no-session-persistence --model m --fallback-model f --effort low --max-thinking-tokens 1 --betas b --max-turns 1
		--max-budget-usd 1 --task-budget 1 --autocompact 1 --json-schema {} --system-prompt p --permission-mode plan
		--permission-prompts none --permission-prompt-tool t --tools T --allowedTools T --disallowedTools T --agent a
		--agents {"a":{}} --add-dir d --mcp-config m --strict-mcp-config --plugin-dir p --settings {} --managed-settings {}
		--setting-sources user --project-config-root p --bare --safe-mode --restricted --disable-slash-commands
		--keep-background --agent-path p --agent-arg x --include-hook-events --forward-subagent-text --replay-user-messages
		--prompt-suggestions --debug=c --debug-file f`))
	if err != nil {
		t.Fatal(err)
	}
	opts, err := f.Options(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	check := func(name string, value reflect.Value) {
		known[name] = true
		either := name == "Settings.File" || name == "Debug.Enabled" // of which the other one is set
		if set := !value.IsZero(); set == (optionsWithoutFlag[name] != "") && !either {
			t.Errorf("%s is set: %t, and has a reason not to be: %q", name, set, optionsWithoutFlag[name])
		}
	}
	for field, value := range reflect.ValueOf(*opts).Fields() {
		if field.Type.Kind() != reflect.Struct {
			check(field.Name, value)
			continue
		}
		for member, value := range value.Fields() {
			check(field.Name+"."+member.Name, value)
		}
	}
	for name := range optionsWithoutFlag {
		if !known[name] {
			t.Errorf("there is no option %s", name)
		}
	}
}

// TestResumeElsewhere resumes a session of the second of two directories, in which an agent would not look by itself.
func TestResumeElsewhere(t *testing.T) {
	const id = "5e7b0a4c-1d2f-4e3a-8b9c-0d1e2f3a4b5c"
	first, second := t.TempDir(), t.TempDir()
	project := filepath.Join(second, "projects", "-p")
	line := `{"type":"user","uuid":"u","sessionId":"` + id + `","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Hi"}}`
	if err := errors.Join(os.MkdirAll(project, 0o700), os.WriteFile(filepath.Join(project, id+".jsonl"), []byte(line+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for config, want := range map[string][]string{
		first + "," + second: {"A=b", "CLAUDE_CONFIG_DIR=" + second}, second + "," + first: {"A=b"}, second: {"A=b"},
	} {
		t.Setenv("CLAUDE_CONFIG_DIR", config)
		for _, given := range []string{id, id[:8]} {
			o := &clew.Options{Env: []string{"A=b"}, Session: clew.SessionOptions{Resume: given}}
			if err := new(Flags).resume(t.Context(), o); err != nil || o.Session.Resume != id || !slices.Equal(o.Env, want) {
				t.Errorf("%s in %s: %s, %q, %v", given, config, o.Session.Resume, o.Env, err)
			}
		}
	}
}
