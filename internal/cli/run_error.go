package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/clewdev/clew"
)

// runFailure returns how a run ended, or nil.
func runFailure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if broken, ok := errors.AsType[*writeError](err); ok {
		return broken
	}
	f := &failure{code: exitFailed, err: errors.New(harmless(reason(err)))}
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		f.err = errTimeout
		f.hint = "Give it more time with --timeout, or go on with --continue."
	case ctx.Err() != nil:
		f.code, f.err = exitInterrupted, errors.New("interrupted")
	case errors.As(err, new(*clew.NotFoundError)):
		f.code = exitAgent
		f.hint = "Install Claude Code, or name its binary with --agent-path or CLEW_AGENT."
	case errors.As(err, new(*clew.OptionsError)):
		f.code = exitUsage
		f.hint = `Run "clew run --help" for help.`
	}
	return f
}

// reason says why a run failed, on behalf of the program.
func reason(err error) string {
	if missing, ok := errors.AsType[*clew.NotFoundError](err); ok {
		return "the agent binary was not found; looked at " + strings.Join(missing.Looked, ", ")
	}
	if wrong, ok := errors.AsType[*clew.OptionsError](err); ok && flagNames[wrong.Option] != "" {
		return flagNames[wrong.Option] + ": " + wrong.Reason
	}
	return strings.TrimPrefix(err.Error(), "clew: ")
}

// flagNames are the flags by the options that they set.
var flagNames = map[string]string{
	"Resume": "--resume", "Continue": "--continue", "ForkSession": "--fork-session", "SessionID": "--session-id",
	"Ephemeral": "--no-session-persistence", "Model": "--model", "FallbackModels": "--fallback-model",
	"Effort": "--effort", "Agent": "--agent", "MaxTurns": "--max-turns", "MaxBudgetUSD": "--max-budget-usd",
	"OutputSchema": "--json-schema", "PermissionMode": "--permission-mode", "Tools": "--tools",
	"AllowedTools": "--allowedTools", "DisallowedTools": "--disallowedTools", "AddDirs": "--add-dir",
	"MCPConfigFiles": "--mcp-config", "SettingsFile": "--settings", "SettingSources": "--setting-sources",
}
