package archtest

import (
	"go/ast"
	"testing"
)

// TestLimitsAreLifted checks that a package that registers time limits lifts them in its own tests, unless the
// list below has a reason.
func TestLimitsAreLifted(t *testing.T) {
	t.Parallel()
	sources, _ := readSources(t)
	exceptions := map[string]string{
		"fleet":                        "its tests have engines in memory",
		"nats/natsfleet":               "its tests set the limit of an answer",
		"nats/natsstore":               "its tests set the limit of an answer",
		"cmd/clew/internal/drive":      "its tests run in bubbles",
		"internal/mcphost":             "no test of its own asks for manifests",
		"cmd/clew/internal/statusline": "a test waits for the lock in vain",
		"cmd/clew/internal/termio":     "no test of its own restores a terminal",
	}
	registers, lifts := map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		for _, decl := range s.syntax.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				switch {
				case !ok:
				case isSelector(call.Fun, "timelimit", "Register") && !s.test:
					registers[s.dir] = true
				case isSelector(call.Fun, "timelimit", "Lift") && s.test:
					lifts[s.dir] = true
				}
				return true
			})
		}
	}
	if len(registers) < 10 {
		t.Fatalf("%d packages register limits", len(registers))
	}
	for dir := range registers {
		if !lifts[dir] && exceptions[dir] == "" {
			t.Errorf("%s registers time limits that its tests don't lift: call timelimit.Lift in TestMain", dir)
		}
	}
	for dir := range exceptions {
		if !registers[dir] || lifts[dir] {
			t.Errorf("%s needs no exception", dir)
		}
	}
}
