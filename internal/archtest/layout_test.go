package archtest

import (
	"bytes"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxFiles is how many files a package may have, tests aside: its list should fit on a screen. The
// program has a file or two for each of its verbs, and four for the systems that it runs on.
var maxFiles = map[string]int{".": 45, "wire": 22, "transcript": 30, "sessions": 25, "internal/cli": 40}

const (
	maxRootFiles = 70  // tests included
	maxFileLines = 700 // generated files aside
	smallFile    = 60  // lines; fewer than one file in twenty may have less
	maxTypical   = 30  // lines that 95 of 100 functions may have
	maxRootNames = 260 // on the page of the package's documentation
	maxFields    = 20  // of a Session
)

// A source is a Go file of this module.
type source struct {
	path, dir string
	lines     int
	syntax    *ast.File
	test      bool
	generated bool
}

// small reports whether the file is short without a reason. Package comments, files for one
// platform and examples are short for a reason.
func (s *source) small() bool {
	return s.lines < smallFile && filepath.Base(s.path) != "doc.go" && !within(s.dir, "examples") && !s.platform()
}

var platformName = regexp.MustCompile(`_(linux|darwin|windows|unix|bsd|other)(_test)?\.go$`)

func (s *source) platform() bool {
	return platformName.MatchString(s.path) || slices.ContainsFunc(s.syntax.Comments, func(g *ast.CommentGroup) bool {
		return g.Pos() < s.syntax.Package && constraint.IsGoBuild(g.List[0].Text)
	})
}

// TestLayout checks the sizes that CONTRIBUTING.md asks for.
func TestLayout(t *testing.T) {
	t.Parallel()
	sources, fset := readSources(t)
	t.Run("files are subjects", func(t *testing.T) { checkFiles(t, sources) })
	t.Run("functions are small", func(t *testing.T) { checkFunctions(t, sources, fset) })
	t.Run("a session leaves its state to others", func(t *testing.T) { checkSession(t, sources) })
	// The last one, since it removes from the syntax what is not exported.
	t.Run("the SDK has few names", func(t *testing.T) { checkNames(t, sources, fset) })
}

func checkFiles(t *testing.T, sources []*source) {
	t.Helper()
	files, inRoot, small := map[string]int{}, 0, []string(nil)
	for _, s := range sources {
		if !s.test {
			files[s.dir]++
		}
		if s.dir == "." {
			inRoot++
		}
		if s.small() {
			small = append(small, s.path)
		}
		if s.lines > maxFileLines && !s.generated {
			t.Errorf("%s has %d lines, and %d are the most: cut it at a subject", s.path, s.lines, maxFileLines)
		}
	}
	for dir, most := range maxFiles {
		if files[dir] > most {
			t.Errorf("%s has %d files without tests, and %d are the most", dir, files[dir], most)
		}
	}
	if inRoot > maxRootFiles {
		t.Errorf("the root has %d Go files, and %d are the most", inRoot, maxRootFiles)
	}
	if 20*len(small) >= len(sources) {
		t.Errorf("%d of %d files have less than %d lines: %s", len(small), len(sources), smallFile, strings.Join(small, " "))
	}
}

func checkFunctions(t *testing.T, sources []*source, fset *token.FileSet) {
	t.Helper()
	var lengths []int
	for _, s := range sources {
		if s.test || s.generated {
			continue
		}
		for _, decl := range s.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				lengths = append(lengths, fset.Position(f.End()).Line-fset.Position(f.Pos()).Line+1)
			}
		}
	}
	slices.Sort(lengths)
	if got := lengths[len(lengths)*95/100]; got > maxTypical {
		t.Errorf("95 of 100 functions have up to %d lines, and %d are the most", got, maxTypical)
	}
}

func checkSession(t *testing.T, sources []*source) {
	t.Helper()
	fields := 0
	for _, f := range rootFiles(sources) {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if ok && spec.Name.Name == "Session" {
				fields = spec.Type.(*ast.StructType).Fields.NumFields()
			}
			return !ok
		})
	}
	if fields > maxFields || fields == 0 {
		t.Errorf("it has %d fields, and %d are the most", fields, maxFields)
	}
}

func checkNames(t *testing.T, sources []*source, fset *token.FileSet) {
	t.Helper()
	page, err := doc.NewFromFiles(fset, rootFiles(sources), module)
	if err != nil {
		t.Fatal(err)
	}
	names := len(page.Consts) + len(page.Vars) + len(page.Funcs)
	for _, typ := range page.Types {
		names += 1 + len(typ.Consts) + len(typ.Vars) + len(typ.Funcs)
	}
	if names > maxRootNames || names == 0 {
		t.Errorf("its page has %d, and %d are the most", names, maxRootNames)
	}
}

func rootFiles(sources []*source) (files []*ast.File) {
	for _, s := range sources {
		if s.dir == "." && !s.test {
			files = append(files, s.syntax)
		}
	}
	return files
}

func readSources(t *testing.T) ([]*source, *token.FileSet) {
	t.Helper()
	var list []*source
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "testdata" || name[0] == '.'):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(fset, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		list = append(list, &source{
			path: filepath.ToSlash(rel), dir: filepath.ToSlash(filepath.Dir(rel)), lines: bytes.Count(text, []byte("\n")),
			syntax: syntax, test: strings.HasSuffix(name, "_test.go"), generated: ast.IsGenerated(syntax),
		})
		return err
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("%d Go files, error %v", len(list), err)
	}
	return list, fset
}
