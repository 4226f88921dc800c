package permit

import (
	"testing"

	"github.com/clewdev/clew"
)

// A rule can be narrowed, and not widened.
func TestNotNarrower(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		than, text string
		narrower   bool
	}{
		{"Bash(go test:*)", "Bash(go test:*)", true},
		{"Bash(go test:*)", "Bash(go test ./upload:*)", true},
		{"Bash(go test:*)", "Bash(go test ./upload)", true},
		{"Bash(mkdir blue *)", "Bash(mkdir blue green)", true},
		{"Edit(upload/**)", "Edit(upload/server.go)", true},
		{"Edit(upload/**)", "Edit(upload/../**)", false},
		{"Edit(upload/**)", "Edit(**)", false},
		{"Bash(go test:*)", "Bash(go:*)", false},
		{"Bash(go test:*)", "Bash", false},
		{"Bash(go test:*)", "Bash()", false},
		{"Bash(go test:*)", "Bash(go test", false},
		{"Bash(go test:*)", "Read(go test)", false},
		{"Bash(go test)", "Bash(go test ./...)", false},
		{"WebFetch", "WebFetch(domain:example.com)", true},
		{"WebFetch", "Bash", false},
		{"WebFetch", "", false},
	} {
		than, ok := ParseRule(tt.than)
		if !ok {
			t.Fatal(tt.than)
		}
		if got := NotNarrower(tt.text, than); (got == "") != tt.narrower {
			t.Errorf("%s instead of %s: %q", tt.text, tt.than, got)
		}
	}
}

// "Always" changes what was shown, or less.
func TestAlways(t *testing.T) {
	t.Parallel()
	rule := clew.AddRules("localSettings", "allow", clew.PermissionRule{ToolName: "Bash", RuleContent: "go test:*"})
	mode := clew.SetMode("session", "acceptEdits")
	req := &clew.PermissionRequest{ToolName: "Bash", Suggestions: []clew.PermissionUpdate{rule, mode}}
	for _, tt := range []struct {
		changes []int
		rule    string
		fails   bool
	}{
		{[]int{0}, "", false},
		{[]int{0, 1}, "Bash(go test ./x)", false},
		{[]int{0}, "Bash(go:*)", true},
		{[]int{0}, "Bash", true},
		{[]int{2}, "", true},
		{[]int{-1}, "", true},
	} {
		result, err := Always(req, tt.changes, tt.rule)
		if (err != nil) != tt.fails || !tt.fails && len(result.UpdatedPermissions) != len(tt.changes) {
			t.Errorf("%v %q: %v %v", tt.changes, tt.rule, result, err)
		}
	}
	if updates := Updates(req); len(updates) != 2 || !updates[0].Marked || updates[1].Marked {
		t.Errorf("updates: %+v", updates)
	}
	req.SuppressAlwaysAllowRule = true
	if _, err := Always(req, []int{0}, ""); err == nil || Updates(req) != nil || NarrowedRule(req) != "" {
		t.Error("always was suppressed")
	}
}
