package archtest

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docImports are the packages of the standard library that examples in documentation use. Those of
// this repository are known.
var docImports = []string{
	"context", "errors", "fmt", "io", "log", "net/http", "os", "os/exec", "path/filepath", "slices", "strings", "testing", "time",
}

// TestDocumentationShowsCodeThatCompiles checks the types of every piece of Go in the documentation
// of public packages. A name that a piece does not declare, such as ctx or t, may be anything.
func TestDocumentationShowsCodeThatCompiles(t *testing.T) {
	t.Parallel()
	checker := newDocChecker(t)
	sources, fset := readSources(t)
	checked := 0
	for _, source := range sources {
		if source.test || !isPublic(source.dir) {
			continue
		}
		for _, group := range source.syntax.Comments {
			for _, code := range codeIn(group.Text()) {
				errs, isGo := checker.check(code)
				for _, err := range errs {
					t.Errorf("%s: %v in\n%s", fset.Position(group.Pos()), err, code)
				}
				if isGo {
					checked++
				}
			}
		}
	}
	if checked < 80 {
		t.Errorf("only %d pieces of code were found", checked)
	}
}

// The checker finds what went wrong in documentation before, and lets open names be.
func TestDocChecker(t *testing.T) {
	t.Parallel()
	checker := newDocChecker(t)
	for code, want := range map[string]string{
		`s, err := clew.Connect(ctx, &clew.Options{Resume: id})`:                              "unknown field Resume",
		"for msg, err := range session.Turn(ctx, prompt) {\n\t…\n}":                           "",
		"func audit(ctx context.Context, in hook.Input) (*hook.Output, error) { return nil }": "not enough return values",
		"result, err := clew.Runs(ctx, \"Hi\", nil)":                                          "undefined: clew.Runs",
		"for range clew.Turns {\n\tclew.Text(1)":                                              "undefined: clew.Turns",
		"clew.Text(1)":                                                                        "cannot use 1",
		"Hooks: map[string]int{},":                                                            "cannot use",
		"a := b :=":                                                                           "it is no Go",
	} {
		errs, isGo := checker.check(code)
		if got := fmt.Sprint(errs); !isGo || want == "" && len(errs) > 0 || !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", code, errs, want)
		}
	}
	if _, isGo := checker.check("  bytes -> Entry -> Chunk"); isGo {
		t.Error("a drawing is no code")
	}
}

// isPublic reports whether a directory has a public package.
func isPublic(dir string) bool {
	for element := range strings.SplitSeq(dir, "/") {
		if slices.Contains([]string{"internal", "cmd", "dev", "examples"}, element) {
			return false
		}
	}
	return true
}

// codeIn returns the indented blocks of a comment.
func codeIn(text string) []string {
	var blocks []string
	var block []string
	for line := range strings.Lines(text + "\n.") {
		switch blank := strings.TrimSpace(line) == ""; {
		case strings.HasPrefix(line, "\t"), blank && len(block) > 0:
			block = append(block, strings.TrimPrefix(line, "\t"))
		case len(block) > 0:
			blocks = append(blocks, strings.TrimSpace(strings.Join(block, "")))
			block = nil
		}
	}
	return blocks
}

// A docChecker checks the types of code in documentation.
type docChecker struct {
	imports  map[string]string // paths by name
	exported types.Importer
}

func newDocChecker(t *testing.T) *docChecker {
	t.Helper()
	c := &docChecker{imports: make(map[string]string)}
	files := make(map[string]string)
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", "work"}, docImports...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	for line := range strings.Lines(string(out)) {
		importPath, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[importPath] = file
		if dir, ours := strings.CutPrefix(importPath, module); slices.Contains(docImports, importPath) || ours && isPublic(strings.TrimPrefix(dir, "/")) {
			c.imports[path.Base(importPath)] = importPath
		}
	}
	c.exported = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	return c
}

// open are the names that a piece of code leaves to its reader, elided the words for code that is left
// out, and field starts a piece that is a field of the options.
var (
	open   = regexp.MustCompile(`^undefined: \w+$`)
	field  = regexp.MustCompile(`^[A-Z]\w*: `)
	elided = regexp.MustCompile(`(?m)^\s*(…|\.\.\.)$|…`)
)

// check returns the errors in a piece of code, apart from the parts that it leaves out. isGo is false
// for something that is no Go, such as a list of files.
func (c *docChecker) check(code string) (errs []error, isGo bool) {
	code = elided.ReplaceAllString(code, "")
	forms := []string{"%s", "func _() error {\n%s\n}", "func _() error {\n%s\n}}", "func _() error {\n%s {} }"}
	if field.MatchString(code) {
		forms = []string{"var _ = clew.Options{\n%s\n}"}
	}
	for _, form := range forms {
		text := fmt.Sprintf("package doc\n"+form, code)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		return c.checkFile(text, file), true
	}
	if strings.Contains(code, ":=") {
		return []error{errors.New("it is no Go")}, true
	}
	return nil, false
}

// checkFile checks a file that lacks its imports.
func (c *docChecker) checkFile(text string, file *ast.File) (errs []error) {
	var imports strings.Builder
	used := make(map[string]bool)
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			if ok && s.Sel.IsExported() && c.imports[x.Name] != "" && !used[x.Name] {
				used[x.Name] = true
				fmt.Fprintf(&imports, "import %q;", c.imports[x.Name])
			}
		}
		return true
	})
	text = strings.Replace(text, "package doc\n", "package doc; "+imports.String()+"\n", 1)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return []error{err}
	}
	config := types.Config{Importer: c.exported, Error: func(err error) {
		e, ok := err.(types.Error) //nolint:errorlint // the documented type
		if !ok || !isOpen(e.Msg) {
			errs = append(errs, err)
		}
	}}
	_, _ = config.Check("doc", fset, []*ast.File{file}, nil) // Error has all errors
	return errs
}

// isOpen reports whether an error is only about parts that a piece of code leaves to its reader.
func isOpen(message string) bool {
	for _, part := range []string{"declared and not used", "missing return", "imported and not used", "no new variables"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return open.MatchString(message)
}
