package clew_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/clewdev/clew"
)

// guides are the documents that show code and name parts of the API.
var guides = []string{"README.md", "docs/library.md", "docs/migration.md", "docs/production.md"}

// guidePackages are the packages whose names the guides may write, and their directories.
var guidePackages = map[string]string{
	"clew": ".", "hook": "hook", "permission": "permission", "sandbox": "sandbox", "wire": "wire", "clewtest": "clewtest", "tools": "tools", "sessions": "sessions",
	"screens": "screens", "search": "sqlite/search", "export": "export", "redact": "redact", "settings": "settings",
	"transcript": "transcript", "usage": "usage", "tooluse": "tooluse",
	"sqlitestore": "sqlite/sqlitestore", "natsstore": "nats/natsstore", "storetest": "sessions/storetest",
	"natsfleet": "nats/natsfleet",
}

var goBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// TestGuidesShowCodeThatCompiles looks for each piece of Go in the guides in a program or a test
// that is compiled, and run, with everything else.
func TestGuidesShowCodeThatCompiles(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"examples/*/main.go", "*/examples/*/main.go", "*example*_test.go", "fleet/*/example_test.go", "nats/*/example_test.go"} {
		for _, path := range guidePaths(t, pattern) {
			sources.WriteString(unindented(guideText(t, path)))
		}
	}
	for _, guide := range guides {
		blocks := goBlock.FindAllStringSubmatch(guideText(t, guide), -1)
		if len(blocks) == 0 {
			t.Errorf("%s shows no code", guide)
		}
		for _, block := range blocks {
			if !strings.Contains(sources.String(), unindented(block[1])) {
				t.Errorf("%s shows code that is in no example:\n%s", guide, block[1])
			}
		}
	}
}

// unindented returns the text without the white space at the beginning of its lines.
func unindented(text string) string {
	return regexp.MustCompile(`(?m)^[\t ]+`).ReplaceAllString(text, "")
}

// publicName is a name of the API as the guides write it: Session.Turn is short for
// clew.Session.Turn.
var publicName = regexp.MustCompile(
	"`\\*?(clew|hook|permission|sandbox|wire|clewtest|tools|screens|search|export|redact|settings|sessions|transcript|usage|tooluse|sqlitestore|natsstore|storetest|natsfleet|Options|Session)" +
		"\\.([A-Z]\\w*(?:\\.[A-Z]\\w*)?)`")

// TestGuidesNameWhatExists looks for each name of the API in the guides in its package.
func TestGuidesNameWhatExists(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for name, dir := range guidePackages {
		for _, path := range guidePaths(t, filepath.Join(dir, "*.go")) {
			if !strings.HasSuffix(path, "_test.go") {
				addGuideNames(t, names, name, path)
			}
		}
	}
	for _, guide := range guides {
		for _, match := range publicName.FindAllStringSubmatch(guideText(t, guide), -1) {
			name := match[1] + "." + match[2]
			if match[1] == "Options" || match[1] == "Session" {
				name = "clew." + name
			}
			if !names[ungrouped(name)] && !names[ungrouped("clew.Options."+strings.TrimPrefix(name, "clew."))] {
				t.Errorf("%s names %s, which does not exist", guide, name)
			}
		}
	}
}

// ungrouped returns the name of an option in a group with the type of the group, and other names as they are.
func ungrouped(name string) string {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || parts[1] != "Options" {
		return name
	}
	group, _ := reflect.TypeFor[clew.Options]().FieldByName(parts[2])
	if group.Type == nil {
		return name
	}
	return "clew." + group.Type.Name() + "." + parts[3]
}

// addGuideNames adds what a file declares: types with their fields and methods, functions,
// constants and variables.
func addGuideNames(t *testing.T, names map[string]bool, pkg, path string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names[pkg+"."+guideReceiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				addGuideSpec(names, pkg, spec)
			}
		}
	}
}

// guideReceiver returns the type that a method belongs to, with a dot, or "" for a function.
func guideReceiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	expr := f.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if name, ok := expr.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

func addGuideSpec(names map[string]bool, pkg string, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			names[pkg+"."+name.Name] = true
		}
	case *ast.TypeSpec:
		names[pkg+"."+s.Name.Name] = true
		if body, ok := s.Type.(*ast.StructType); ok {
			for _, field := range body.Fields.List {
				for _, name := range field.Names {
					names[pkg+"."+s.Name.Name+"."+name.Name] = true
				}
			}
		}
	}
}

func guidePaths(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func guideText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
