package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/golden"
)

// kindsFile lists the tests that "make test" leaves to others.
const kindsFile = "docs/tests.md"

// certainFile lists the tests of "make test", so that a commit that removes one shows it.
const certainFile = "dev/archtest/testdata/certain.txt"

const kindsHead = `# Kinds of tests

The outcome of a *certain* test follows from the code: it forces interleavings, faults and clocks. All tests of this
repository are certain except for the searches below. ` + "`make test`" + ` runs them; a few that take long are for
` + "`make test-rest`" + `. [certain.txt](../` + certainFile + `) has a line for each of the others.

A *search* depends on luck: random operations, interleavings, kills. ` + "`make soak`" + ` runs searches. Each prints a seed, and
` + "`CLEW_SEED`" + ` replays its random choices, but not when processes run and die. A search that finds something becomes a
certain test. ` + "`TestTestsAreCertain`" + ` of ` + "`dev/archtest`" + ` checks that other tests neither sleep to wait, nor use
randomness without a fixed seed, nor give up before a minute.

This page is generated: ` + "`go test ./dev/archtest -run TestKinds -update`" + `.
`

// TestKinds compares the lists of tests with the tests.
func TestKinds(t *testing.T) {
	t.Parallel()
	sources, _ := readSources(t)
	var text strings.Builder
	text.WriteString(kindsHead)
	list := func(title, function string) {
		fmt.Fprintf(&text, "\n## %s\n\n| package | test | |\n|---|---|---|\n", title)
		for _, row := range marked(sources, function) {
			if !strings.HasPrefix(row.name, "Test") {
				t.Errorf("%s: %s is marked, and no test calls it by its name: .ci/soak would not run it", row.dir, row.name)
			}
			if row.partly {
				row.about += " (in part)"
			}
			fmt.Fprintf(&text, "| `%s` | `%s` | %s |\n", row.dir, row.name, row.about)
		}
	}
	list("Searches, which `make soak` runs", "Search")
	list("Certain tests that take long, which `make test-rest` runs", "Rest")
	text.WriteString("\n## Certain tests that have more cases elsewhere\n\nWith more cases or larger sizes in `make soak`:\n\n")
	text.WriteString(byPackage(sources, "Size"))
	text.WriteString("\nWith every width of a terminal in `make test-rest`:\n\n")
	text.WriteString(byPackage(sources, "Widths"))
	text.WriteString("\nThe scripts, faults and screens of `cmd/clew/internal/cli` run the program in the process of the test; `make test-rest` starts\n" +
		"processes. The rules of imports are checked without cgo; `make soak` checks them with it as well.\n")
	text.WriteString("\n`make test-rest` also runs the packages that start the agent again and again (`dev/exampletest`, `dev/record`,\n" +
		"`dev/realtest` except its scenarios), the tools of this repository, and the race detector over all packages in\n" +
		"which something runs at once. `dev/testrun` has the lists.\n")
	checkList(t, kindsFile, text.String())

	elsewhere := slices.Concat(marked(sources, "Search"), marked(sources, "Rest"))
	var lines []string
	for _, s := range sources {
		for _, name := range testsOf(s) {
			if !slices.ContainsFunc(elsewhere, func(m markedTest) bool { return m.dir == s.dir && m.name == name && !m.partly }) {
				lines = append(lines, s.dir+" "+name+"\n")
			}
		}
	}
	slices.Sort(lines)
	checkList(t, certainFile, strings.Join(slices.Compact(lines), ""))
}

// byPackage lists the functions that call a function of package soak, a line per package.
func byPackage(sources []*source, function string) string {
	found := map[string][]string{}
	for _, s := range sources {
		if !s.test || s.dir == "dev/archtest" {
			continue
		}
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && calls(f, "soak", function) && !calls(f, "soak", "Search") {
				found[s.dir] = append(found[s.dir], "`"+f.Name.Name+"`")
			}
		}
	}
	var b strings.Builder
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		slices.Sort(found[dir])
		fmt.Fprintf(&b, "- `%s`: %s\n", dir, strings.Join(found[dir], ", "))
	}
	return b.String()
}

// checkList compares a generated list with its file, or writes it.
func checkList(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	if golden.Updates() {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("%s is old: run go test ./dev/archtest -run TestKinds -update", name)
	}
}

// testsOf returns the names of the tests in a file.
func testsOf(s *source) (names []string) {
	if !s.test {
		return nil
	}
	for _, decl := range s.syntax.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && isTest(f) {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// isTest reports whether "go test" runs a function as a test.
func isTest(f *ast.FuncDecl) bool {
	return f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain"
}

// A markedTest is a test with a mark of package soak.
type markedTest struct {
	dir, name, about string
	partly           bool // the mark is in a function that the test calls
}

// marked returns the tests that call a function of package soak, themselves or in a function that they call, by
// package and name.
func marked(sources []*source, function string) (rows []markedTest) {
	for _, s := range sources {
		if !s.test || s.dir == "dev/archtest" {
			continue
		}
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && calls(f, "soak", function) {
				found := markedBy(sources, s.dir, f)
				if len(found) == 0 {
					found = []markedTest{{s.dir, f.Name.Name, "has no test that this check finds", true}}
				}
				rows = append(rows, found...)
			}
		}
	}
	slices.SortFunc(rows, func(a, b markedTest) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name))
	})
	return slices.Compact(rows)
}

// markedBy returns a marked test, or the tests that call a marked function.
func markedBy(sources []*source, dir string, marked *ast.FuncDecl) (rows []markedTest) {
	if isTest(marked) {
		about, _, _ := strings.Cut(strings.ReplaceAll(marked.Doc.Text(), "\n", " "), ". ")
		about = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(about), marked.Name.Name+" "), ".")
		return []markedTest{{dir, marked.Name.Name, about, false}}
	}
	for _, s := range sources {
		for _, decl := range s.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if ok && s.dir == dir && s.test && isTest(f) && refers(f, marked.Name.Name) {
				row := markedBy(sources, dir, f)[0]
				row.partly = true
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// refers reports whether the function calls a function of its package.
func refers(f *ast.FuncDecl, name string) (found bool) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, ok := call.Fun.(*ast.Ident)
			found = found || ok && id.Name == name
		}
		return !found
	})
	return found
}
