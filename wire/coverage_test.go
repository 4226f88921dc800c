package wire_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const coverageFile = "../docs/spec-coverage.md"

// specifiedRows returns the rows that each table of the coverage document has, in order: the
// behaviors and sections of the documents, and the cases.
func specifiedRows() map[string][]string {
	rows := map[string][]string{
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
		"Black-box cases": numbered("", 120),

		"Lines":                     numbered("", 9),
		"Entries":                   numbered("", 6),
		"Classification":            numbered("", 36),
		"Sanitising":                numbered("", 7),
		"Chunks":                    numbered("", 22),
		"Tool summaries":            numbered("", 24),
		"Subagents and teams":       numbered("", 27),
		"Ongoing":                   numbered("", 14),
		"Parser package":            numbered("", 35),
		"What the package promises": numbered("", 37),

		"Found by use": slices.Concat(numbered("B", 11), numbered("C", 10), numbered("D", 14)),
	}
	maps.Copy(rows, flowRows)
	return rows
}

// numbered returns the prefix with the numbers from 1 to n.
func numbered(prefix string, n int) []string {
	var ids []string
	for i := range n {
		ids = append(ids, fmt.Sprint(prefix, i+1))
	}
	return ids
}

// A coverageRow is a row of a table: its subject, and its evidence.
type coverageRow struct{ table, id, shownBy, note string }

// coverageRows returns the rows of all tables of the coverage document. A table is called after the
// heading above it.
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

// TestSpecCoverageIsComplete checks that every behavior, section and case has exactly one row, and
// that no other row exists.
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
	testReference = regexp.MustCompile("`(?:([a-z/]+): )?((?:Test|Fuzz|Example)[^`]*)`")
	notApplicable = regexp.MustCompile(`^not applicable: .+`)
)

// TestSpecCoverageNamesTests checks that every row names a test, or explains why there is none, and
// that the tests and subtests that are named exist.
func TestSpecCoverageNamesTests(t *testing.T) {
	packages := map[string]declared{}
	for _, row := range coverageRows(t) {
		if !testReference.MatchString(row.shownBy) && !notApplicable.MatchString(row.shownBy) {
			t.Errorf("%s, %s: no test is named", row.table, row.id)
		}
		for _, match := range testReference.FindAllStringSubmatch(row.shownBy+row.note, -1) {
			dir := match[1]
			if packages[dir] == nil {
				packages[dir] = declaredTests(t, dir)
			}
			name, subtest, sub := strings.Cut(match[2], "/")
			if names, ok := packages[dir][name]; !ok {
				t.Errorf("%s, %s: there is no %s", row.table, row.id, match[0])
			} else if sub && !names[subtest] {
				t.Errorf("%s, %s: %s has no such subtest", row.table, row.id, match[0])
			}
		}
	}
}

// TestSecurityNamesTests checks that every attack of the security document has a row with tests
// that exist.
func TestSecurityNamesTests(t *testing.T) {
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Attacks")
	packages := map[string]declared{}
	attacks := map[string]bool{}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| A") && !strings.HasPrefix(line, "| C") {
			continue
		}
		row := parseRow(t, "Attacks", strings.TrimSpace(line))
		attacks[row.id] = true
		found := testReference.FindAllStringSubmatch(row.note, -1)
		if len(found) == 0 {
			t.Errorf("%s: no test is named", row.id)
		}
		for _, match := range found {
			dir := match[1]
			if packages[dir] == nil {
				packages[dir] = declaredTests(t, dir)
			}
			if _, ok := packages[dir][match[2]]; !ok {
				t.Errorf("%s: there is no %s", row.id, match[0])
			}
		}
	}
	for _, id := range numbered("A", 38) {
		if !attacks[id] {
			t.Errorf("%s has no row", id)
		}
	}
}

// flowRows are the sections of "Data flow and control flow", by table.
var flowRows = map[string][]string{
	"Flow 1: one-shot query": {
		"Entry Point",
		"Query delegates to QueryStream",
		"The prompt",
		"The subprocess",
		"User Input to CLI Args",
		"CLI Stdout to Raw JSON",
		"Raw JSON to Go Struct",
		"Go Struct to User String",
	},
	"Flow 2: streaming": {
		"Entry Point",
		"session.Send",
		"session.Receive",
		"V2 Message Conversion",
		"ExtractText",
	},
	"Flow 3: subprocess lifecycle": {
		"Phase 1: Initialization",
		"Phase 2: Discover CLI path",
		"Phase 2: Build command",
		"Phase 2: Create exec.Cmd",
		"Phase 2: Set up pipes",
		"Phase 2: Start process",
		"Phase 2: Initialize channels",
		"Phase 2: Start goroutines",
		"Phase 3: Write to stdin",
		"Phase 3: Parse and convert",
		"Phase 3: Unknown types",
		"Phase 4: Cancel context",
		"Phase 4: Close stdin",
		"Phase 4: Wait for goroutines",
		"Phase 4: Terminate process",
		"Phase 4: Close channels",
	},
	"Flow 4: error propagation": {
		"Layer 1: Process crash",
		"Layer 1: Invalid JSON output",
		"Layer 1: Non-zero exit",
		"Layer 2: Pipe errors",
		"Layer 2: Scanner errors",
		"Layer 2: Timeout",
		"Layer 3: JSON unmarshal failures",
		"Layer 3: Type discrimination failures",
		"Layer 3: Validation errors",
		"Layer 4: Connection failures",
		"Layer 4: Not connected",
		"Layer 4: CLI not found",
		"Layer 5: Application",
		"Error Flow Example",
	},
	"Flow 5: concurrency patterns": {
		"Goroutine Hierarchy",
		"Mutex Protection",
		"Channel Communication",
		"WaitGroup for Cleanup",
		"Race 1: pendingSend in V2 Session",
		"Race 2: connected Flag Check",
	},
	"Flow 6: configuration loading": {
		"Config files",
		"Override with env vars",
		"Create client with config",
	},
	"Flow 7: message parsing": {
		"Initialization",
		"Parsing",
	},
	"Characteristics": {
		"Key Takeaway 1: Request Flow",
		"Key Takeaway 2: Concurrency",
		"Key Takeaway 3: Error Handling",
		"Key Takeaway 4: Lifecycle",
		"Key Takeaway 5: Parsing",
		"Key Takeaway 6: Configuration",
		"Latency",
		"Throughput",
		"Memory",
		"Optimization 1: Process pooling",
		"Optimization 2: Zero-copy parsing",
		"Optimization 3: Streaming aggregation",
		"Optimization 4: Connection reuse",
	},
	"Anti-patterns": {
		"1: Synchronous Query wraps Streaming",
		"2: V2 Session stores pending send in struct",
		"3: Error channel overuse",
		"4: No backpressure",
	},
}

// declared has the tests, fuzz targets and examples of a package, each with the names of its
// subtests.
type declared map[string]map[string]bool

// readTests are the results of declaredTests, by directory. The tests that use it don't run at once.
var readTests = map[string]declared{}

// declaredTests returns the tests of the package in a directory of the module: "" is this package,
// and "clew" the root, with its tests over the simulated agent.
func declaredTests(t *testing.T, dir string) declared {
	t.Helper()
	if tests, ok := readTests[dir]; ok {
		return tests
	}
	dirs := []string{filepath.Join("..", dir)}
	switch dir {
	case "":
		dirs = []string{"."}
	case "clew":
		dirs = []string{"..", "../dev/simtest"}
	}
	tests := declared{}
	for _, dir := range dirs {
		files := testFiles(t, dir)
		for _, file := range files {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && isTest(f) {
					tests[f.Name.Name] = subtestNames(files, f)
				}
			}
		}
	}
	readTests[dir] = tests
	return tests
}

func testFiles(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

var testSignature = regexp.MustCompile(`^(Test([^a-z].*)?func\(\w+ \*testing\.T\)|Fuzz([^a-z].*)?func\(\w+ \*testing\.F\)|Example([^a-z].*)?func\(\))$`)

// isTest reports whether go test runs the function.
func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && testSignature.MatchString(f.Name.Name+types.ExprString(f.Type))
}

// subtestNames returns the strings that can be names of subtests in a test that has some, by itself
// or by a function that it calls: those in the test, and in the variables of its package that it
// uses.
func subtestNames(files []*ast.File, test *ast.FuncDecl) map[string]bool {
	names, used := map[string]bool{}, map[string]bool{}
	ast.Inspect(test, func(n ast.Node) bool {
		if n, ok := n.(*ast.Ident); ok {
			used[n.Name] = true
		}
		addNames(names, n)
		return true
	})
	if !runsAny(files, used) {
		return nil
	}
	for _, file := range files {
		for _, value := range valuesOf(file, used) {
			ast.Inspect(value, func(n ast.Node) bool { addNames(names, n); return true })
		}
	}
	return names
}

// runsAny reports whether one of the functions with these names runs subtests.
func runsAny(files []*ast.File, used map[string]bool) bool {
	runs := false
	for _, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && used[f.Name.Name] {
				ast.Inspect(f, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					runs = runs || ok && isRun(call)
					return true
				})
			}
		}
	}
	return runs
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

// addNames adds the string that has the place of a name in n: the first argument of Run, or the key
// or the first field of an element of a table.
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
