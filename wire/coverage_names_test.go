package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// declared has the tests, fuzz targets and examples of a package, each with the
// names of its subtests.
type declared map[string]map[string]bool

// declaredTests returns the tests of the package in a folder of the module. The
// folder is "" for this package, and "clew" for the root.
func declaredTests(t *testing.T, folder string) declared {
	t.Helper()
	dir := filepath.Join("..", folder)
	switch folder {
	case "":
		dir = "."
	case "clew":
		dir = ".."
	}
	files := testFiles(t, dir)
	tests := declared{}
	for _, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && isTest(f) {
				tests[f.Name.Name] = subtestNames(files, f)
			}
		}
	}
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

// subtestNames returns the strings that can be names of subtests in a test that
// has some, by itself or by a function that it calls: those in the test, and in
// the variables of its package that it uses.
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
