package wire_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const coverageFile = "../docs/spec-coverage.md"

// testNames returns the tests of this package, each with the strings of the file
// that it is in, which the names of its subtests are among.
func testNames(t *testing.T) map[string]map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		texts := stringsOf(file)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				tests[f.Name.Name] = texts
			}
		}
	}
	return tests
}

// stringsOf returns the string literals of a file.
func stringsOf(file *ast.File) map[string]bool {
	texts := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts[text] = true
			}
		}
		return true
	})
	return texts
}

var testReference = regexp.MustCompile("`((?:Test|Fuzz|Example)[^`]*)`")

// TestSpecCoverageNamesTests checks that the tests that the table names exist.
func TestSpecCoverageNamesTests(t *testing.T) {
	text, err := os.ReadFile(coverageFile)
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	found := testReference.FindAllStringSubmatch(string(text), -1)
	if len(found) < 100 {
		t.Errorf("only %d tests are named", len(found))
	}
	for _, match := range found {
		name, subtest, _ := strings.Cut(match[1], "/")
		if texts := tests[name]; texts == nil {
			t.Errorf("there is no %s", name)
		} else if subtest != "" && !texts[subtest] {
			t.Errorf("%s has no subtest %q", name, subtest)
		}
	}
}

// TestSpecCoverageIsComplete checks that every behaviour has a row that names a
// test or says why there is none.
func TestSpecCoverageIsComplete(t *testing.T) {
	text, err := os.ReadFile(coverageFile)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) >= 5 {
			rows[strings.TrimSpace(cells[1])] = cells[3] + cells[4]
		}
	}
	var want []string
	for part, behaviours := range []int{11, 14, 12, 12, 14} {
		for n := range behaviours {
			want = append(want, fmt.Sprintf(".%d.%d", part+1, n+1))
		}
	}
	for n := range 51 {
		want = append(want, fmt.Sprint(n+1))
	}
	for _, id := range want {
		if cells, ok := rows[id]; !ok || strings.TrimSpace(cells) == "" {
			t.Errorf("no row for %s", id)
		}
	}
}
