package wire_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const coverageFile = "../docs/spec-coverage.md"

// specifiedRows returns the rows that each table of the coverage document has, in
// order: the behaviours and sections of the three documents, and the cases.
func specifiedRows() map[string][]string {
	return map[string][]string{
		"REQ_002.1: text deltas":             numbered(".1.", 11),
		"REQ_002.2: assistant messages":      numbered(".2.", 14),
		"REQ_002.3: results":                 numbered(".3.", 12),
		"REQ_002.4: lines that are not JSON": numbered(".4.", 12),
		"REQ_002.5: the line buffer":         numbered(".5.", 14),
		"Message parsing": {
			"Message Parser Architecture",
			"Speculative JSON Parsing Strategy",
			"Message Type Detection and Routing",
			"Content Block Parsing",
			"Field Validation and Error Handling",
			"Buffer Management and Memory Safety",
			"Thread Safety and Concurrency",
			"Error Recovery and Resilience",
			"Performance Optimizations",
		},
		"Message schema": {
			"Message Types: System Messages",
			"Message Types: Assistant Messages",
			"Message Types: User Messages",
			"Message Types: Result Messages",
			"Content Block Types: Text Content",
			"Content Block Types: Tool Use Content",
			"Content Block Types: Tool Result Content",
			"Message Flow Patterns: Simple Query",
			"Message Flow Patterns: Tool Usage",
			"Message Flow Patterns: Permission Denial",
			"Message Flow Patterns: Complex Tool Chain",
			"Parsing Rules: Message Type Detection",
			"Parsing Rules: Content Array Handling",
			"Parsing Rules: Optional Fields",
			"Parsing Rules: Permission Errors",
			"Example JSON Structures: Assistant with Tool Use",
			"Example JSON Structures: User with Tool Result",
			"Implementation Checklist",
		},
		"Black-box cases": numbered("", 51),
	}
}

// numbered returns the prefix with the numbers from 1 to n.
func numbered(prefix string, n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i+1))
	}
	return ids
}

// A coverageRow is a row of a table: what it is about, and what shows it.
type coverageRow struct{ table, id, shownBy, note string }

// coverageRows returns the rows of all tables of the coverage document. A table is
// called after the heading above it.
func coverageRows(t *testing.T) []coverageRow {
	t.Helper()
	text, err := os.ReadFile(coverageFile)
	if err != nil {
		t.Fatal(err)
	}
	var rows []coverageRow
	var heading string
	head := true
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			heading, head = strings.TrimLeft(line, "# "), true
		case strings.HasPrefix(line, "|---"):
			head = false
		case strings.HasPrefix(line, "|") && !head:
			rows = append(rows, parseRow(t, heading, line))
		}
	}
	return rows
}

func parseRow(t *testing.T, table, line string) coverageRow {
	t.Helper()
	cells := strings.Split(strings.Trim(line, "|"), "|")
	if len(cells) != 4 {
		t.Fatalf("%s: %d cells in %s", table, len(cells), line)
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return coverageRow{table: table, id: cells[0], shownBy: cells[2], note: cells[3]}
}

// TestSpecCoverageIsComplete checks that every behaviour, section and case has one
// row, and that there are no others.
func TestSpecCoverageIsComplete(t *testing.T) {
	got := map[string][]string{}
	for _, row := range coverageRows(t) {
		got[row.table] = append(got[row.table], row.id)
	}
	if diff := cmp.Diff(specifiedRows(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

var (
	testReference = regexp.MustCompile("`((?:Test|Fuzz|Example)[^`]*)`")
	notApplicable = regexp.MustCompile(`^not applicable: .+`)
)

// TestSpecCoverageNamesTests checks that every row names a test, or says why there
// is none, and that the tests and subtests that are named exist.
func TestSpecCoverageNamesTests(t *testing.T) {
	tests := declaredTests(t)
	for _, row := range coverageRows(t) {
		if !testReference.MatchString(row.shownBy) && !notApplicable.MatchString(row.shownBy) {
			t.Errorf("%s, %s: no test is named", row.table, row.id)
		}
		for _, match := range testReference.FindAllStringSubmatch(row.shownBy+row.note, -1) {
			name, subtest, sub := strings.Cut(match[1], "/")
			if names, ok := tests[name]; !ok {
				t.Errorf("%s, %s: there is no %s", row.table, row.id, name)
			} else if sub && !names[subtest] {
				t.Errorf("%s, %s: %s has no subtest %q", row.table, row.id, name, subtest)
			}
		}
	}
}

// declaredTests returns the tests, fuzz targets and examples of this package, each
// with the names of its subtests.
func declaredTests(t *testing.T) map[string]map[string]bool {
	t.Helper()
	paths, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]map[string]bool{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && isTest(f) {
				tests[f.Name.Name] = subtestNames(file, f)
			}
		}
	}
	return tests
}

var testSignature = regexp.MustCompile(`^(Test([^a-z].*)?func\(\w+ \*testing\.T\)|Fuzz([^a-z].*)?func\(\w+ \*testing\.F\)|Example([^a-z].*)?func\(\))$`)

// isTest reports whether go test runs the function.
func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && testSignature.MatchString(f.Name.Name+types.ExprString(f.Type))
}

// subtestNames returns the strings that can be names of subtests in a test that
// has some: those in the test, and in the variables of its file that it uses.
func subtestNames(file *ast.File, test *ast.FuncDecl) map[string]bool {
	names, used := map[string]bool{}, map[string]bool{}
	runs := false
	ast.Inspect(test, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			used[n.Name] = true
		case *ast.CallExpr:
			runs = runs || isRun(n)
		}
		addNames(names, n)
		return true
	})
	if !runs {
		return nil
	}
	for _, value := range valuesOf(file, used) {
		ast.Inspect(value, func(n ast.Node) bool { addNames(names, n); return true })
	}
	return names
}

// valuesOf returns the values of the file's variables with these names.
func valuesOf(file *ast.File, used map[string]bool) []ast.Expr {
	var values []ast.Expr
	for _, decl := range file.Decls {
		decl, ok := decl.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for _, spec := range decl.Specs {
			if spec := spec.(*ast.ValueSpec); used[spec.Names[0].Name] {
				values = append(values, spec.Values...)
			}
		}
	}
	return values
}

func isRun(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	return ok && fun.Sel.Name == "Run" && len(call.Args) == 2
}

// addNames adds the string that has the place of a name in n: the first argument
// of Run, or the key or the first field of an element of a table.
func addNames(names map[string]bool, n ast.Node) {
	switch n := n.(type) {
	case *ast.CallExpr:
		if isRun(n) {
			addString(names, n.Args[0])
		}
	case *ast.CompositeLit:
		if n.Type == nil && len(n.Elts) > 0 {
			addString(names, n.Elts[0])
		}
	case *ast.KeyValueExpr:
		addString(names, n.Key)
		if key, ok := n.Key.(*ast.Ident); ok && key.Name == "name" {
			addString(names, n.Value)
		}
	}
}

func addString(names map[string]bool, e ast.Expr) {
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
		if text, err := strconv.Unquote(lit.Value); err == nil {
			names[text] = true
		}
	}
}
