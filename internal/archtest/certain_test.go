package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTestsAreCertain checks that the outcome of a test follows from the code. A test neither sleeps to wait
// nor uses randomness without a fixed seed, and each of its waits may take a minute. This does not apply to
// code that runs only in a bubble of testing/synctest, in a search (see package soak), in a benchmark or in a
// fuzz target.
func TestTestsAreCertain(t *testing.T) {
	t.Parallel()
	sources, fset := readSources(t)
	for _, broken := range uncertain(sources, fset) {
		t.Error(broken)
	}
}

// TestScriptsAreCertain checks the same of scripts: they sleep only between two looks, and run programs at a
// terminal with onterminal, since the terminal of testscript loses output that it has not read when the program ends.
func TestScriptsAreCertain(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../*/testdata/script/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range uncertainLines(string(text)) {
			t.Errorf("%s: %s", path, broken)
		}
	}
	if got := uncertainLines("ttyin x\nexec sh -c 'until a; do sleep 1; done'\nexec sleep 1\n! ttyout x\n"); len(got) != 3 {
		t.Errorf("found %q", got)
	}
}

// uncertainLines returns the lines of a script that depend on luck.
func uncertainLines(script string) (found []string) {
	for line := range strings.Lines(script) {
		rest := strings.ReplaceAll(line, "do sleep ", "")
		if strings.Contains(rest, "sleep ") || strings.HasPrefix(strings.TrimPrefix(line, "! "), "tty") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// uncertain returns a sentence for each place in a test that depends on luck.
func uncertain(sources []*source, fset *token.FileSet) []string {
	packages := map[string][]*source{}
	for _, s := range sources {
		if s.test || within(s.dir, "internal/realtest/scene") {
			packages[s.dir] = append(packages[s.dir], s)
		}
	}
	var broken []string
	for _, files := range packages {
		free := exempt(files)
		for _, s := range files {
			l := luck{fset: fset, source: s, names: importNames(s.syntax)}
			for _, decl := range s.syntax.Decls {
				if f, ok := decl.(*ast.FuncDecl); !ok || !free[f.Name.Name] {
					ast.Inspect(decl, l.visit)
				}
			}
			broken = append(broken, l.found...)
		}
	}
	slices.Sort(broken)
	return broken
}

// exempt returns the names of the functions that run only where luck is allowed: the roots, and the functions
// that only exempt ones refer to.
func exempt(files []*source) map[string]bool {
	users, free := map[string]map[string]bool{}, map[string]bool{} // the names of functions that refer to a name
	for _, s := range files {
		for _, decl := range s.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if strings.HasPrefix(name, "Fuzz") || strings.HasPrefix(name, "Benchmark") || calls(f, "soak", "Search") {
				free[name] = true
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if isBubble(n) {
					return false // what it refers to may run nowhere else
				}
				if id, ok := n.(*ast.Ident); ok {
					if users[id.Name] == nil {
						users[id.Name] = map[string]bool{}
					}
					users[id.Name][name] = true
				}
				return true
			})
		}
	}
	helpers := bubbled(files)
	for changed := true; changed; {
		changed = false
		for name := range helpers {
			if !free[name] && !slices.ContainsFunc(keys(users[name]), func(user string) bool { return user != name && !free[user] }) {
				free[name], changed = true, true
			}
		}
	}
	return free
}

// bubbled returns the names of functions and methods, tests aside.
func bubbled(files []*source) map[string]bool {
	names := map[string]bool{}
	for _, s := range files {
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && !strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "init" {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

func keys(set map[string]bool) (all []string) {
	for name := range set {
		all = append(all, name)
	}
	return all
}

// isBubble reports whether n calls synctest.Test.
func isBubble(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	return ok && isSelector(call.Fun, "synctest", "Test")
}

// calls reports whether the function calls pkg.name.
func calls(f *ast.FuncDecl, pkg, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && isSelector(call.Fun, pkg, name)
		return !found
	})
	return found
}

func isSelector(e ast.Expr, pkg, name string) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg
}

// importNames maps the names of imports in a file to their paths.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, spec := range f.Imports {
		imp, _ := strconv.Unquote(spec.Path.Value)
		name := imp[strings.LastIndex(imp, "/")+1:]
		if name == "v2" {
			name = "rand"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imp
	}
	return names
}

// A luck finds the places of a file that depend on luck.
type luck struct {
	fset   *token.FileSet
	source *source
	names  map[string]string
	found  []string
}

func (l *luck) add(n ast.Node, format string, args ...any) {
	l.found = append(l.found, fmt.Sprintf("%s:%d: ", l.source.path, l.fset.Position(n.Pos()).Line)+fmt.Sprintf(format, args...))
}

func (l *luck) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		if isBubble(n) {
			return false
		}
		l.call(n)
	case *ast.CommClause:
		l.bound(n)
		for _, stmt := range n.Body {
			ast.Inspect(stmt, l.visit)
		}
		return false
	case *ast.ExprStmt:
		if wait, ok := n.X.(*ast.UnaryExpr); ok && wait.Op == token.ARROW && isAfter(wait.X) {
			l.add(n, "waits for a time: wait for a condition with polltest, or use testing/synctest")
		}
	}
	return true
}

// seeded are the functions of math/rand that need a seed.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewSource", "NewZipf"}

func (l *luck) call(n *ast.CallExpr) {
	sel, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return
	}
	switch imp := l.names[id.Name]; {
	case imp == "time" && sel.Sel.Name == "Sleep":
		l.add(n, "sleeps: wait for a condition with polltest, or use testing/synctest")
	case (imp == "math/rand" || imp == "math/rand/v2") && !slices.Contains(seeded, sel.Sel.Name), imp == "crypto/rand":
		l.add(n, "%s.%s has no fixed seed: use soak.Rand", id.Name, sel.Sel.Name)
	case imp == "testing/quick" && sel.Sel.Name == "Check":
		l.add(n, "quick.Check has no fixed seed: use soak.Rand")
	case strings.HasPrefix(imp, "math/rand") && slices.ContainsFunc(n.Args, readsClock):
		l.add(n, "the seed is the time: use soak.Rand")
	}
}

// readsClock reports whether an expression calls time.Now.
func readsClock(e ast.Expr) (found bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		found = found || ok && isSelector(call.Fun, "time", "Now")
		return !found
	})
	return found
}

// bound checks a case of a select that gives up after a time.
func (l *luck) bound(n *ast.CommClause) {
	var wait ast.Expr
	switch comm := n.Comm.(type) {
	case *ast.ExprStmt:
		wait = comm.X
	case *ast.AssignStmt:
		wait = comm.Rhs[0]
	}
	if u, ok := wait.(*ast.UnaryExpr); !ok || u.Op != token.ARROW || !isAfter(u.X) {
		return
	}
	call := wait.(*ast.UnaryExpr).X.(*ast.CallExpr)
	if d, ok := seconds(call.Args[0]); ok && d < 60 {
		l.add(n, "gives up after %g s, which a busy machine may need: use polltest.Limit", d)
	}
}

// isAfter reports whether e calls time.After.
func isAfter(e ast.Expr) bool {
	call, ok := e.(*ast.CallExpr)
	return ok && isSelector(call.Fun, "time", "After")
}

// units are the units of durations in seconds.
var units = map[string]float64{"Nanosecond": 1e-9, "Microsecond": 1e-6, "Millisecond": 1e-3, "Second": 1, "Minute": 60, "Hour": 3600}

// seconds returns the value of a literal duration, such as 5*time.Second.
func seconds(e ast.Expr) (float64, bool) {
	switch e := e.(type) {
	case *ast.SelectorExpr:
		unit, ok := units[e.Sel.Name]
		return unit, ok
	case *ast.BasicLit:
		n, err := strconv.ParseFloat(e.Value, 64)
		return n, err == nil
	case *ast.BinaryExpr:
		x, okX := seconds(e.X)
		y, okY := seconds(e.Y)
		return x * y, okX && okY && e.Op == token.MUL
	}
	return 0, false
}

// TestUncertain tests the check itself.
func TestUncertain(t *testing.T) {
	t.Parallel()
	const text = `package p
import ("math/rand/v2"; "testing"; "testing/synctest"; "time")
func TestSleep(t *testing.T) { time.Sleep(1) }
func TestWait(t *testing.T) { <-time.After(1) }
func TestBound(t *testing.T) { select { case <-c: case <-time.After(5*time.Second): } }
func TestLongBound(t *testing.T) { select { case <-c: case <-time.After(time.Minute): } }
func TestGlobal(t *testing.T) { rand.IntN(5) }
func TestClock(t *testing.T) { rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1)) }
func TestSeed(t *testing.T) { rand.New(rand.NewPCG(1, 2)).IntN(5) }
func TestBubble(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1); helper(); both() }) }
func TestSearch(t *testing.T) { soak.Search(t); time.Sleep(1) }
func TestBoth(t *testing.T) { both() }
func BenchmarkX(b *testing.B) { time.Sleep(1) }
func helper() { time.Sleep(1); deeper() }
func deeper() { time.Sleep(1) }
func both() { time.Sleep(1) }
`
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "p_test.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	for _, found := range uncertain([]*source{{path: "p_test.go", dir: "p", syntax: syntax, test: true}}, fset) {
		line, _, _ := strings.Cut(strings.TrimPrefix(found, "p_test.go:"), ":")
		n, _ := strconv.Atoi(line)
		lines = append(lines, n)
	}
	slices.Sort(lines)
	if want := []int{3, 4, 5, 7, 8, 16}; !slices.Equal(slices.Compact(lines), want) {
		t.Errorf("lines %v, want %v", lines, want)
	}
}
