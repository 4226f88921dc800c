package cli

import (
	"testing"

	"github.com/clewdev/clew"
	"github.com/google/go-cmp/cmp"
)

func TestDescribeAlways(t *testing.T) {
	t.Parallel()
	rule := func(tool, content string) clew.PermissionRule {
		return clew.PermissionRule{ToolName: tool, RuleContent: content}
	}
	got := describeAlways([]clew.PermissionUpdate{
		clew.SetMode("session", "acceptEdits"),
		clew.AddRules("localSettings", "allow", rule("Bash", "make *"), rule("Read", "")),
		clew.AddRules("userSettings", "allow", rule("Bash", "a\x1b[2J\nb")),
		clew.AddDirectories("projectSettings", "/a", "/b"),
		{Type: "removeRules", Rules: []clew.PermissionRule{rule("Edit", "")}, Destination: "elsewhere"},
		{Type: "new"},
	})
	want := `  always: permission mode acceptEdits, in this session
  always: allow Bash(make *), Read, kept in .claude/settings.local.json
  always: allow Bash(a\x1b[2J\nb), kept in your own settings
  always: tools may use /a, /b, kept in .claude/settings.json
  always: removeRules Edit, kept in elsewhere
  always: new
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
