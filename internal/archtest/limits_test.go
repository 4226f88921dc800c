package archtest

import (
	"go/ast"
	"testing"
)

// TestLimitsAreLifted checks that a package that registers time limits lifts them in its own tests, or sets them
// there, unless no test of the package can reach them.
func TestLimitsAreLifted(t *testing.T) {
	t.Parallel()
	sources, _ := readSources(t)
	// Packages whose tests do not reach their limits, or wait until one passes.
	unreached := map[string]string{
		"fleet":               "its tests have engines in memory",
		"internal/drive":      "its tests run in bubbles",
		"internal/mcphost":    "no test of its own asks for manifests",
		"internal/statusline": "a test waits for the lock in vain",
		"internal/termio":     "no test of its own restores a terminal",
	}
	registers, lifts := map[string]bool{}, map[string]bool{}
	for _, s := range sources {
		for _, decl := range s.syntax.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CallExpr:
					switch {
					case isSelector(n.Fun, "timelimit", "Register") && !s.test:
						registers[s.dir] = true
					case isSelector(n.Fun, "timelimit", "Lift") && s.test:
						lifts[s.dir] = true
					}
				case *ast.AssignStmt:
					if id, ok := n.Lhs[0].(*ast.Ident); ok && s.test && id.Name == "answerTimeout" {
						lifts[s.dir] = true
					}
				}
				return true
			})
		}
	}
	if len(registers) < 10 {
		t.Fatalf("%d packages register limits", len(registers))
	}
	for dir := range registers {
		if !lifts[dir] && unreached[dir] == "" {
			t.Errorf("%s registers time limits that its tests don't lift: call timelimit.Lift in TestMain", dir)
		}
	}
	for dir := range unreached {
		if !registers[dir] || lifts[dir] {
			t.Errorf("%s needs no exception", dir)
		}
	}
}
