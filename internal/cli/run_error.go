package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/clewdev/clew"
)

// A runError is how a run failed, with a reason to be told. The reason may quote
// the agent.
type runError struct {
	reason string
	err    error
}

func (e *runError) Error() string { return e.reason }

func (e *runError) Unwrap() error { return e.err }

// explain adds to an error why the run failed. Nil stays nil.
func explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return &runError{reason: reason(ctx, err), err: err}
}

// runFailure returns how the program ends after a run that ended with err.
func runFailure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if broken, ok := errors.AsType[*writeError](err); ok {
		return broken
	}
	f := &failure{code: exitFailed, err: errors.New(harmless(err.Error()))}
	switch {
	case timedOut(ctx):
		f.hint = "Give it more time with --timeout, or go on with --continue."
	case ctx.Err() != nil:
		f.code = exitInterrupted
	case errors.As(err, new(*clew.NotFoundError)):
		f.code = exitAgent
		f.hint = "Install Claude Code, or name its binary with --agent-path or CLEW_AGENT."
	case errors.As(err, new(*clew.OptionsError)):
		f.code = exitUsage
		f.hint = `Run "clew run --help" for help.`
	}
	return f
}

func timedOut(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTimeout) }

// reason says why a run failed, on behalf of the program.
func reason(ctx context.Context, err error) string {
	switch {
	case timedOut(ctx):
		return errTimeout.Error()
	case ctx.Err() != nil:
		return "interrupted"
	}
	if missing, ok := errors.AsType[*clew.NotFoundError](err); ok {
		return "the agent binary was not found; looked at " + strings.Join(missing.Looked, ", ")
	}
	if wrong, ok := errors.AsType[*clew.OptionsError](err); ok && flagNames[wrong.Option] != "" {
		return flagNames[wrong.Option] + ": " + withFlags(wrong.Reason)
	}
	return strings.TrimPrefix(err.Error(), "clew: ")
}

// withFlags names the flags in place of the options that a text is about.
func withFlags(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = cmp.Or(flagNames[word], word)
	}
	return strings.Join(words, " ")
}

// flagNames are the flags by the options that they set.
var flagNames = map[string]string{
	"AddDirs": "--add-dir", "Agent": "--agent", "Agents": "--agents", "AllowedTools": "--allowedTools",
	"AutoCompactTokens": "--autocompact", "Bare": "--bare", "Betas": "--betas", "Continue": "--continue",
	"DebugCategories": "--debug", "DebugFile": "--debug-file", "DisallowedTools": "--disallowedTools",
	"Effort": "--effort", "Ephemeral": "--no-session-persistence", "ExtraArgs": "--agent-arg",
	"FallbackModels": "--fallback-model", "ForkSession": "--fork-session", "ManagedSettings": "--managed-settings",
	"MaxBudgetUSD": "--max-budget-usd", "MaxTurns": "--max-turns", "MCPConfigFiles": "--mcp-config", "Model": "--model",
	"OutputSchema": "--json-schema", "PermissionMode": "--permission-mode",
	"PermissionPrompts": "--permission-prompts", "PermissionPromptTool": "--permission-prompt-tool",
	"Plugins": "--plugin-dir", "ProjectConfigRoot": "--project-config-root", "Resume": "--resume",
	"ResumeAt": "--resume-session-at", "SessionID": "--session-id", "Settings": "--settings",
	"SettingsFile": "--settings", "SettingSources": "--setting-sources", "SystemPrompt": "--system-prompt",
	"TaskBudget": "--task-budget", "Thinking": "--thinking", "Title": "--name", "Tools": "--tools",
}
