package render

import (
	"testing"

	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/transcript"
)

func TestPermission(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		of          transcript.PermissionDecision
		sandboxed   bool
		shown, full string
	}{
		{of: transcript.PermissionDecision{Decision: "accept", Source: "config"}},
		{of: transcript.PermissionDecision{Decision: "accept", Source: "config", ReasonType: "mode"}, full: "allowed by the permission mode"},
		{
			of:        transcript.PermissionDecision{Decision: "accept", Source: "config", ReasonType: "rule", RuleSource: "cliArg"},
			sandboxed: true, shown: "ran in the sandbox", full: "allowed by a rule of the command line, in the sandbox",
		},
		{ // a rule that the user once made
			of:   transcript.PermissionDecision{Decision: "accept", Source: "user_permanent", ReasonType: "rule", RuleSource: "localSettings"},
			full: "allowed by a rule of the local settings",
		},
		{
			of:    transcript.PermissionDecision{Decision: "accept", Source: "user_temporary", GrantScope: "once", ReasonCode: "unknown"},
			shown: "allowed by the user", full: "allowed by the user",
		},
		{
			of:        transcript.PermissionDecision{Decision: "accept", Source: "user_temporary", GrantScope: "session"},
			sandboxed: true, shown: "allowed by the user for the session, in the sandbox", full: "allowed by the user for the session, in the sandbox",
		},
		{of: transcript.PermissionDecision{Decision: "accept", Source: "hook", ReasonType: "hook"}, shown: "allowed by a hook", full: "allowed by a hook"},
		{of: transcript.PermissionDecision{Decision: "reject", Source: "user_reject", ReasonCode: "unknown"}, shown: "denied by the user", full: "denied by the user"},
		{
			of:    transcript.PermissionDecision{Decision: "reject", Source: "config", ReasonType: "rule", RuleSource: "policySettings"},
			shown: "denied by a rule of the organization", full: "denied by a rule of the organization",
		},
		{of: transcript.PermissionDecision{Decision: "later", Source: "user_reject"}},
		{of: transcript.PermissionDecision{Decision: "accept", Source: "\x1b[2J", ReasonType: "\x1b[2J"}},
	} {
		item := &transcript.DisplayItem{Permission: &test.of, Sandboxed: &test.sandboxed}
		if got := Permission(item, false); got != test.shown {
			t.Errorf("%+v: %q, want %q", test.of, got, test.shown)
		}
		if got := Permission(item, true); got != test.full {
			t.Errorf("%+v: %q, want %q", test.of, got, test.full)
		}
	}
	if got := Permission(new(transcript.DisplayItem), true); got != "" {
		t.Errorf("nothing recorded: %q", got)
	}
}

// A call that was denied did not fail.
func TestDeniedCall(t *testing.T) {
	t.Parallel()
	item := &transcript.DisplayItem{
		Type: transcript.ItemToolCall, ToolName: "Bash", HasResult: true, ToolError: true,
		Permission: &transcript.PermissionDecision{Decision: "reject", Source: "user_reject"},
	}
	if line := (Options{}).CallLine(nil, item, nil); line.Outcome != "denied" || line.State != rows.Failed {
		t.Errorf("%+v", line)
	}
	item.Permission.Decision = "accept"
	if line := (Options{}).CallLine(nil, item, nil); line.Outcome != "failed" {
		t.Errorf("%+v", line)
	}
}
