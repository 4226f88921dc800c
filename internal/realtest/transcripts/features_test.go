package transcripts_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/tools"
	"github.com/clewdev/clew/wire"
)

// dot is a picture of one red pixel.
const dot = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde" +
	"\x00\x00\x00\x0cIDATx\x9cc\xf8\xcf\xc0\x00\x00\x03\x01\x01\x00\xc9\xfe\x92\xef\x00\x00\x00\x00IEND\xaeB`\x82"

// features returns options with all that a host can offer: a command, a skill, a tool of its own, a person who answers
// and denies, and hooks that block a command and a prompt.
func features(t *testing.T, model *clewtest.Model) *clew.Options {
	t.Helper()
	opts := sceneOptions(t, model)
	writeFile(t, opts.Dir, ".claude/commands/greet.md", "Greet $ARGUMENTS kindly.\n")
	writeFile(t, opts.Dir, ".claude/skills/bow/SKILL.md", "---\nname: bow\ndescription: bows\n---\nBow first.\n")
	opts.PermissionMode = clew.PermissionModeDefault
	opts.AllowedTools = []string{"Bash(echo *)", "Bash(until *)", "mcp__own", "Skill", "Edit", "TaskCreate"}
	opts.CanUseTool, opts.OnQuestion = permit, answer
	opts.MCPServers = map[string]clew.MCPServer{"own": tools.Server(tools.New("shout", "Shouts", shout))}
	opts.Hooks = map[clew.HookEvent][]clew.HookMatcher{
		clew.HookPreToolUse:       {{Matcher: "Bash", Hooks: []clew.HookFunc{block("echo blocked")}}},
		clew.HookUserPromptSubmit: {{Hooks: []clew.HookFunc{block("Forbidden")}}},
	}
	return opts
}

func permit(_ context.Context, r *clew.PermissionRequest) (clew.PermissionResult, error) {
	if r.ToolName == "ExitPlanMode" {
		return clew.Allow(), nil
	}
	return clew.Deny("not that one"), nil
}

func answer(context.Context, *clew.QuestionRequest) (*clew.QuestionResult, error) {
	return &clew.QuestionResult{Answers: map[string][]string{"Which colour?": {"Red"}}}, nil
}

func shout(_ context.Context, in struct{ Word string }) (string, error) {
	return strings.ToUpper(in.Word), nil
}

// block returns a hook that blocks what has the words in it.
func block(words string) clew.HookFunc {
	return func(_ context.Context, in clew.HookInput) (*clew.HookOutput, error) {
		if strings.Contains(string(in.Raw()), words) {
			return &clew.HookOutput{Decision: clew.HookDecisionBlock, Reason: "the hook says no"}, nil
		}
		return nil, nil
	}
}

// scriptCalls makes the model call a tool for each prompt of one word.
func scriptCalls(model *clewtest.Model, note string) {
	for prompt, call := range map[string]wire.Block{
		"Denied":  bash("touch denied"),
		"Blocked": bash("echo blocked"),
		"Shout":   clewtest.ToolUse("mcp__own__shout", map[string]string{"Word": "hey"}),
		"Paint": clewtest.ToolUse("AskUserQuestion", wire.JSON(`{"questions":[{"question":"Which colour?","header":"Colour",
			"multiSelect":false,"options":[{"label":"Red","description":"a"},{"label":"Blue","description":"b"}]}]}`)),
		"Bow":  clewtest.ToolUse("Skill", map[string]string{"skill": "bow"}),
		"See":  clewtest.ToolUse("Read", map[string]string{"file_path": note}),
		"Edit": clewtest.ToolUse("Edit", map[string]string{"file_path": note, "old_string": "two", "new_string": "three"}),
		"Todo": clewtest.ToolUse("TodoWrite", wire.JSON(`{"todos":[{"content":"a","status":"pending","activeForm":"b"}]}`)),
		"Task": clewtest.ToolUse("TaskCreate", map[string]string{"subject": "a", "description": "b"}),
		"Plan": clewtest.ToolUse("ExitPlanMode", map[string]string{}),
		"Wait": bash(untilGo + "; echo waited"),
	} {
		model.On(prompt).Reply(call).Once()
	}
	model.OnToolResult("").Reply(clewtest.Text("So it is."))
	model.Reply("Yes.")
}

func writeFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
