package cli

import (
	"reflect"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/spf13/cobra"
)

// The options that "clew run" has no flag for, and why.
var optionsWithoutFlag = map[string]string{
	"Transport": "is code", "CanUseTool": "asks on the terminal", "OnQuestion": "asks on the terminal",
	"Hooks": "is code", "OnElicitation": "is code", "OnUserDialog": "is code", "OnOAuthToken": "is code",
	"OnHostAuthToken": "is code", "OnIdle": "is code", "Stderr": "is code", "Logger": "is code", "Record": "is code",
	"Store": "is code", "StoreProject": "belongs to Store", "StoreEager": "belongs to Store",
	"StoreTimeout": "belongs to Store", "SupportedDialogKinds": "belongs to OnUserDialog",
	"Reconnect": "is for more than one turn", "PerTaskStop": "is for more than one turn",
	"AllowDangerouslySkipPermissions": "is for more than one turn", "EnableFileCheckpointing": "is for more than one turn",
	"Dir": "is what cd is for", "Env": "is what the shell is for", "InheritEnv": "is what env is for",
	"IdleTimeout": "is what --timeout is for", "InitializeTimeout": "is what --timeout is for",
	"Sandbox": "is a part of --settings", "MCPServers": "is what --mcp-config is for",
	"Skills": "is what --allowedTools is for", "PluginDelivery": "changes nothing for the user",
	"QuestionPreview": "is markdown on a terminal", "VerbatimPrompts": "is for prompts of programs",
	"ResumeDropsTurn": "is a check for programs", "ToolAliases": "is for tools of programs",
	"PlanModeInstructions": "has no flag of the agent", "AgentProgressSummaries": "has no flag of the agent",
	"CloseTimeout": "suits as it is", "MaxFrameBytes": "suits as it is", "MaxBacklogBytes": "suits as it is",
	"IncludePartialMessages": "depends on the format, too",
}

// Each option that makes sense here can be set by a flag.
func TestRunOptionsHaveFlags(t *testing.T) {
	t.Parallel()
	var f agentFlags
	cmd := &cobra.Command{}
	f.add(cmd)
	f.addReports(cmd)
	err := cmd.ParseFlags(strings.Fields(`--resume r --continue --fork-session --session-id i --resume-session-at a --name n
		--no-session-persistence --model m --fallback-model f --effort low --max-thinking-tokens 1 --betas b --max-turns 1
		--max-budget-usd 1 --task-budget 1 --autocompact 1 --json-schema {} --system-prompt p --permission-mode plan
		--permission-prompts none --permission-prompt-tool t --tools T --allowedTools T --disallowedTools T --agent a
		--agents {"a":{}} --add-dir d --mcp-config m --strict-mcp-config --plugin-dir p --settings {} --managed-settings {}
		--setting-sources user --project-config-root p --bare --safe-mode --restricted --disable-slash-commands
		--agent-path p --agent-arg x --include-hook-events --forward-subagent-text --replay-user-messages
		--prompt-suggestions --debug=c --debug-file f`))
	if err != nil {
		t.Fatal(err)
	}
	opts, err := f.options(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	value := reflect.ValueOf(*opts)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		either := name == "SettingsFile" || name == "Debug" // of which the other one is set
		if set := !value.Field(i).IsZero(); set == (optionsWithoutFlag[name] != "") && !either {
			t.Errorf("%s is set: %t, and has a reason not to be: %q", name, set, optionsWithoutFlag[name])
		}
	}
	for name := range optionsWithoutFlag {
		if _, ok := reflect.TypeFor[clew.Options]().FieldByName(name); !ok {
			t.Errorf("there is no option %s", name)
		}
	}
}
