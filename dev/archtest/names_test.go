package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestClaimedNames checks that the program shows who did something to a job by jobview.Who or a function that calls
// it, which mark a name that no server verified: whoever reads the field By itself could show a name that anybody
// could give.
func TestClaimedNames(t *testing.T) {
	t.Parallel()
	sources, fset := readSources(t)
	exceptions := map[string]string{
		"cmd/clew/internal/fleetcli/jobs.go": "a line of JSON has the fields of the record",
	}
	read := map[string]bool{}
	for _, s := range sources {
		if s.test || !program(importPath(s.dir)) && !within(s.dir, "internal") || s.dir == "cmd/clew/internal/jobview" || tool(importPath(s.dir)) {
			continue
		}
		for _, pos := range claimedNames(s.syntax) {
			if read[s.path] = true; exceptions[s.path] == "" {
				t.Errorf("%s: By is a claimed name: show it by jobview.Who, Submitter, Author or Answerer", fset.Position(pos))
			}
		}
	}
	for path := range exceptions {
		if !read[path] {
			t.Errorf("%s needs no exception", path)
		}
	}
}

// claimedNames returns the places where a file that imports package fleet reads a field By, except for calls of
// jobview.Who.
func claimedNames(file *ast.File) (found []token.Pos) {
	about := false
	for _, i := range file.Imports {
		about = about || i.Path.Value == `"`+module+`/fleet"`
	}
	if !about {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !isSelector(n.Fun, "jobview", "Who")
		case *ast.SelectorExpr:
			if n.Sel.Name == "By" {
				found = append(found, n.Sel.Pos())
			}
		}
		return true
	})
	return found
}

// TestClaimedNamesAreFound proves that the rule finds what it is about.
func TestClaimedNamesAreFound(t *testing.T) {
	t.Parallel()
	const imports = "package p\nimport \"" + module + "/fleet\"\n"
	for text, want := range map[string]int{
		imports + "func f() { show(j.By) }":                                         1,
		imports + "func f() { show(q.Answer.By + n.By) }":                           2,
		imports + "func f() { show(jobview.Who(n.User, n.By), jobview.Author(n)) }": 0,
		strings.Replace(imports, "/fleet", "/usage", 1) + "func f() { show(r.By) }": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := claimedNames(file); len(got) != want {
			t.Errorf("%d are found in %s", len(got), text)
		}
	}
}
