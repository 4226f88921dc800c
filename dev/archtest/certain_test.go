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
// nor uses randomness without a fixed seed, and each of its waits may take a minute. Limits below a second are
// not waits: they are to pass. This does not apply to code that runs only in a bubble of testing/synctest, in a
// search (see package soak), in a benchmark or in a fuzz target.
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
	paths, err := filepath.Glob(filepath.Join(root, "cmd/clew/internal/*/testdata/script/*.txtar"))
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
		if s.test || runsInTests(s.dir) {
			packages[s.dir] = append(packages[s.dir], s)
		}
	}
	var broken []string
	for _, files := range packages {
		free, times := exempt(files), durations(files)
		for _, s := range files {
			l := luck{fset: fset, source: s, names: importNames(s.syntax), times: times}
			for _, decl := range s.syntax.Decls {
				if f, ok := decl.(*ast.FuncDecl); !ok || !free[nameOf(f)] {
					ast.Inspect(decl, l.visit)
				}
			}
			broken = append(broken, l.found...)
		}
	}
	slices.Sort(broken)
	return broken
}

// runsInTests reports whether a package is for tests of this repository alone. Package polltest waits for them.
func runsInTests(dir string) bool {
	return strings.HasSuffix(dir, "test") && dir != "internal/polltest" && dir != "clewtest" || within(dir, "dev/realtest/scene")
}

// inBubble stands for the functions that testing/synctest calls.
const inBubble = "a bubble"

// exempt returns the functions that run only where luck is allowed: the roots, and the functions that only exempt
// ones refer to.
func exempt(files []*source) map[string]bool {
	users, free := map[string][]string{}, map[string]bool{inBubble: true} // the functions that refer to a name
	var helpers []*ast.FuncDecl
	use := func(user string, n ast.Node) {
		if id, ok := n.(*ast.Ident); ok {
			users[id.Name] = append(users[id.Name], user)
		}
	}
	for _, s := range files {
		for _, decl := range s.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok { // what a variable refers to may run anywhere
				ast.Inspect(decl, func(n ast.Node) bool {
					if isType(n) {
						return false
					}
					use("a variable", n)
					return true
				})
				continue
			}
			if strings.HasPrefix(f.Name.Name, "Fuzz") || strings.HasPrefix(f.Name.Name, "Benchmark") || calls(f, "soak", "Search") {
				free[nameOf(f)] = true
			} else if !strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "init" {
				helpers = append(helpers, f)
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if isBubble(n) {
					ast.Inspect(n, func(n ast.Node) bool {
						use(inBubble, n)
						return true
					})
					return false
				}
				if isType(n) {
					return false
				}
				use(nameOf(f), n)
				return true
			})
		}
	}
	// areFree reports whether only exempt functions refer to a name, apart from the functions that are left out.
	// Nobody knows who calls a function to which none refers.
	areFree := func(name string, leftOut func(user string) bool) bool {
		others := slices.DeleteFunc(slices.Clone(users[name]), leftOut)
		return len(others) > 0 && !slices.ContainsFunc(others, func(user string) bool { return !free[user] })
	}
	for changed := true; changed; {
		changed = false
		for _, f := range helpers {
			name, own := nameOf(f), receiver(f)+"."
			if free[name] {
				continue
			}
			isFree := areFree(f.Name.Name, func(user string) bool { return user == name })
			if f.Recv != nil { // it runs only if something has a value of its type, perhaps as an interface
				isFree = areFree(receiver(f), func(user string) bool { return strings.HasPrefix(user, own) })
			}
			if isFree {
				free[name], changed = true, true
			}
		}
	}
	return free
}

// isType reports whether n is a type whose parts no value needs.
func isType(n ast.Node) bool {
	switch n.(type) {
	case *ast.TypeSpec, *ast.FuncType:
		return true
	}
	return false
}

// nameOf returns the name of a function, after its receiver and a dot.
func nameOf(f *ast.FuncDecl) string { return receiver(f) + "." + f.Name.Name }

// isBubble reports whether n calls synctest.Test, or the function of a package with this name that does.
func isBubble(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	id, _ := call.Fun.(*ast.Ident)
	return isSelector(call.Fun, "synctest", "Test") || id != nil && id.Name == "bubble"
}

// receiver returns the name of the type that a method belongs to, or "".
func receiver(f *ast.FuncDecl) (name string) {
	if f.Recv != nil {
		ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && name == "" {
				name = id.Name
			}
			return true
		})
	}
	return name
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
	times  map[string]float64
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
		if n.Comm != nil {
			ast.Inspect(n.Comm, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					l.call(call)
				}
				return true
			})
		}
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
	case imp == "time" && slices.Contains([]string{"After", "NewTimer"}, sel.Sel.Name):
		l.bound(n, n.Args[0])
	case imp == "context" && slices.Contains([]string{"WithTimeout", "WithTimeoutCause"}, sel.Sel.Name):
		l.bound(n, n.Args[1])
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

// bound checks a time after which something gives up.
func (l *luck) bound(n ast.Node, limit ast.Expr) {
	if d, ok := seconds(limit, l.times); ok && d >= 1 && d < 60 {
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

// durations returns the constants and variables of a package that are times in seconds, by name.
func durations(files []*source) map[string]float64 {
	times := map[string]float64{}
	for _, s := range files {
		for _, decl := range s.syntax.Decls {
			if general, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range general.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
						for i, name := range v.Names {
							if d, ok := seconds(v.Values[i], nil); ok {
								times[name.Name] = d
							}
						}
					}
				}
			}
		}
	}
	return times
}

// seconds returns the value of a literal duration, such as 5*time.Second, or of one of the named times.
func seconds(e ast.Expr, times map[string]float64) (float64, bool) {
	switch e := e.(type) {
	case *ast.Ident:
		d, ok := times[e.Name]
		return d, ok
	case *ast.SelectorExpr:
		unit, ok := units[e.Sel.Name]
		return unit, ok
	case *ast.BasicLit:
		n, err := strconv.ParseFloat(e.Value, 64)
		return n, err == nil
	case *ast.BinaryExpr:
		x, okX := seconds(e.X, times)
		y, okY := seconds(e.Y, times)
		return x * y, okX && okY && e.Op == token.MUL
	}
	return 0, false
}

// TestUncertain tests the check itself.
func TestUncertain(t *testing.T) {
	t.Parallel()
	const text = `package p
import ("context"; "math/rand/v2"; "testing"; "testing/synctest"; "time")
func TestSleep(t *testing.T) { time.Sleep(1) }
func TestWait(t *testing.T) { <-time.After(1) }
func TestBound(t *testing.T) { select { case <-c: case <-time.After(5*time.Second): } }
func TestLongBound(t *testing.T) { select { case <-c: case <-time.After(time.Minute): } }
func TestNamedBound(t *testing.T) { limit := time.After(short) }
func TestContext(t *testing.T) { context.WithTimeout(t.Context(), 20*time.Second) }
func TestPassed(t *testing.T) { context.WithTimeout(t.Context(), time.Millisecond) }
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
func (w writer) Write() { time.Sleep(1) }
func TestWriter(t *testing.T) { synctest.Test(t, func(t *testing.T) { x.Write(); inTable() }) }
func inTable() { time.Sleep(1) }
var table = []func(){inTable}
const short = 5*time.Second
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
	if want := []int{3, 4, 5, 7, 8, 10, 11, 19, 20, 22}; !slices.Equal(slices.Compact(lines), want) {
		t.Errorf("lines %v, want %v", lines, want)
	}
}
