package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A source is a Go file of this repository.
type source struct {
	path, dir string
	syntax    *ast.File
	test      bool
}

// readSources returns all Go files of this repository. They are parsed once, and must not be changed.
func readSources(t *testing.T) ([]*source, *token.FileSet) {
	t.Helper()
	parsed := parseSources()
	if parsed.err != nil || len(parsed.list) == 0 {
		t.Fatalf("%d Go files, error %v", len(parsed.list), parsed.err)
	}
	return parsed.list, parsed.fset
}

type parsedSources struct {
	list []*source
	fset *token.FileSet
	err  error
}

var parseSources = sync.OnceValue(func() parsedSources {
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
			path: filepath.ToSlash(rel), dir: filepath.ToSlash(filepath.Dir(rel)),
			syntax: syntax, test: strings.HasSuffix(name, "_test.go"),
		})
		return err
	})
	return parsedSources{list, fset, err}
})

// importPath returns the import path of a directory of this repository.
func importPath(dir string) string {
	if within(dir, "dev") {
		return programTree + "/" + dir
	}
	return module + "/" + dir
}
