package archtest

import (
	"cmp"
	"fmt"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/golden"
)

// kindsFile lists the tests that "make test" leaves to others.
const kindsFile = "docs/tests.md"

const kindsHead = `# Kinds of tests

The outcome of a *certain* test follows from the code: it forces interleavings, faults and clocks. All tests of
this repository are certain except for the searches below, and ` + "`make test`" + ` runs them. A *search* depends on luck: random
operations, interleavings, kills. ` + "`make soak`" + ` runs searches. Each prints a seed, which ` + "`CLEW_SEED`" + ` replays. A search that
finds something becomes a certain test. ` + "`TestTestsAreCertain`" + ` of ` + "`internal/archtest`" + ` checks that other tests neither sleep
to wait nor use randomness without a fixed seed.

This page is generated: ` + "`go test ./internal/archtest -run TestKinds -update`" + `.
`

// TestKinds compares docs/tests.md with the tests.
func TestKinds(t *testing.T) {
	t.Parallel()
	sources, _ := readSources(t)
	var text strings.Builder
	text.WriteString(kindsHead)
	list := func(title, function string) {
		fmt.Fprintf(&text, "\n## %s\n\n| package | test | |\n|---|---|---|\n", title)
		for _, row := range marked(sources, function) {
			fmt.Fprintf(&text, "| `%s` | `%s` | %s |\n", row.dir, row.name, row.about)
		}
	}
	list("Searches, which `make soak` runs", "Search")
	list("Certain tests that take long, which `make test-rest` runs", "Rest")
	text.WriteString("\n`make test-rest` also runs the packages that start the agent again and again (`examples`, `internal/record`,\n" +
		"`internal/realtest` except its scenarios), the tools of this repository, and the race detector over all packages in\n" +
		"which something runs at once. `make test` runs it over the SDK. `internal/testrun` has the lists.\n")
	path := filepath.Join(root, filepath.FromSlash(kindsFile))
	if golden.Updates() {
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text.String() {
		t.Errorf("%s is old: run go test ./internal/archtest -run TestKinds -update", kindsFile)
	}
}

// A markedTest is a test with a mark of package soak.
type markedTest struct{ dir, name, about string }

// marked returns the functions that call a function of package soak, by package and name.
func marked(sources []*source, function string) (rows []markedTest) {
	for _, s := range sources {
		if !s.test || s.dir == "internal/archtest" {
			continue
		}
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && calls(f, "soak", function) {
				about, _, _ := strings.Cut(strings.ReplaceAll(f.Doc.Text(), "\n", " "), ". ")
				rows = append(rows, markedTest{s.dir, f.Name.Name, strings.TrimSuffix(strings.TrimSpace(about), ".")})
			}
		}
	}
	slices.SortFunc(rows, func(a, b markedTest) int {
		return cmp.Or(cmp.Compare(a.dir, b.dir), cmp.Compare(a.name, b.name))
	})
	return rows
}
