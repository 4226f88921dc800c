// Package archtest checks rules about the source code of this repository. These are the import rules
// and tables of docs/design.md, the kinds of tests, the comments of packages, and the links of
// documents.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/soak"
)

const root = "../.."

// The files of the module are the same with cgo and without, which TestNoFileDependsOnCgo checks. So
// builds with cgo differ only in dependencies, and are left to soaks.
func TestImportRules(t *testing.T) {
	watchSources(t)
	settings := []string{"0"}
	if soak.Running() {
		settings = append(settings, "1")
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, cgo := range settings {
			t.Run(goos+"/cgo="+cgo, func(t *testing.T) { checkPlatform(t, goos, cgo) })
		}
	}
}

// Without cgo, a file that imports C is not part of its package; with cgo, another may not be.
func TestNoFileDependsOnCgo(t *testing.T) {
	t.Parallel()
	sources, _ := readSources(t)
	for _, s := range sources {
		if dependsOnCgo(s.syntax) {
			t.Errorf("%s depends on cgo: let TestImportRules check builds with cgo in each test run", s.path)
		}
	}
	for text, want := range map[string]bool{
		"package p\n": false, "//go:build linux\n\npackage p\n": false,
		"package p\n\nimport \"C\"\n": true, "//go:build linux && !cgo\n\npackage p\n": true,
	} {
		syntax, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.ParseComments)
		if err != nil || dependsOnCgo(syntax) != want {
			t.Errorf("%q: want %v, error %v", text, want, err)
		}
	}
}

// dependsOnCgo reports whether a file imports C, or has a build constraint about cgo.
func dependsOnCgo(f *ast.File) bool {
	for _, spec := range f.Imports {
		if spec.Path.Value == `"C"` {
			return true
		}
	}
	found := false
	for _, group := range f.Comments {
		for _, line := range group.List {
			if expr, err := constraint.Parse(line.Text); err == nil && group.Pos() < f.Package {
				expr.Eval(func(tag string) bool { // it is called for every tag
					found = found || tag == "cgo"
					return true
				})
			}
		}
	}
	return found
}

func checkPlatform(t *testing.T, goos, cgo string) {
	t.Parallel()
	nodes := listPackages(t, root, "work", "GOOS="+goos, "CGO_ENABLED="+cgo)
	if !slices.ContainsFunc(nodes, func(n node) bool { return within(n.ImportPath, module) }) {
		t.Fatalf("go list found no package of %s", module)
	}
	for _, sentence := range check(nodes) {
		t.Error(sentence)
	}
}

// A file that imports C counts, though a build without cgo leaves it out.
func TestListPackagesFindsC(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module " + module + "\n",
		"pure.go": "// Package wire is pure but for one file.\npackage wire\n",
		"c.go":    "package wire\n\nimport \"C\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	nodes := listPackages(t, dir, "./...", "CGO_ENABLED=1", "GOWORK=off")
	if !slices.ContainsFunc(nodes, func(n node) bool { return n.Name == "wire" && slices.Contains(n.Imports, "C") }) {
		t.Errorf("go list does not report the import: %v", nodes)
	}
}

// watchSources reads every source directory, so that go test does not use a cached result after an
// import changes. The cache depends on the files that the test itself opens, and ignores the files
// that go list opens. It also ignores files of other modules, so that it needs -count=1, which
// "make test" has.
func watchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || p == root {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// listPackages returns the packages that match a pattern in dir and all their dependencies, as built
// with the settings.
func listPackages(t *testing.T, dir, pattern string, settings ...string) []node {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Name,Imports", pattern)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), settings...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return decodeNodes(t, out)
}

func decodeNodes(t *testing.T, out []byte) []node {
	t.Helper()
	var nodes []node
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var n node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return nodes
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		nodes = append(nodes, n)
	}
}

// imports returns a node of this repository. Paths that start with a slash are in it, too, and
// "" is its root.
func imports(importPath string, imps ...string) node {
	n := node{ImportPath: module + importPath}
	for _, imp := range imps {
		if imp == "" || strings.HasPrefix(imp, "/") {
			imp = module + imp
		}
		n.Imports = append(n.Imports, imp)
	}
	return n
}

func TestCheckBroken(t *testing.T) {
	tests := []struct {
		name  string
		nodes []node
		want  string // the part of the sentence after the module path
	}{
		{"wire does I/O", []node{imports("/wire", "io", "os")}, "/wire imports os: a pure package"},
		{"transcript starts processes", []node{imports("/transcript", "os/exec")}, "/transcript imports os/exec: a pure"},
		{"wire dials", []node{imports("/wire", "net/http")}, "/wire imports net/http: a pure package"},
		{"wire does I/O under an old name", []node{imports("/wire", "io/ioutil")}, "/wire imports io/ioutil: a pure package"},
		{"wire is unsafe", []node{imports("/wire", "unsafe")}, "/wire imports unsafe: a pure package"},
		{"the redaction reads files", []node{imports("/redact", "os")}, "/redact imports os: a pure package"},
		{"wire calls C", []node{imports("/wire", "C")}, "/wire imports C: a pure package"},
		{
			"wire needs a tool", []node{imports("/wire", "/internal/corpus")},
			"/wire imports github.com/clewdev/clew/internal/corpus: only a tool",
		},
		{
			"a library needs the recorder", []node{imports("/sessions", "/cmd/clew/dev/record")},
			"/sessions imports github.com/clewdev/clew/cmd/clew/dev/record: only a tool",
		},
		{
			"an example reaches under the public packages", []node{imports("/examples/hello", "/internal/jsonlex")},
			"/examples/hello imports github.com/clewdev/clew/internal/jsonlex: an example",
		},
		{
			"an example reaches under an engine", []node{imports("/nats/examples/hello", "/nats/internal/natsclient")},
			"/nats/examples/hello imports github.com/clewdev/clew/nats/internal/natsclient: an example",
		},
		{
			"the test kit needs the SDK", []node{imports("/clewtest", "/wire", "")},
			"/clewtest imports github.com/clewdev/clew: the test kit",
		},
		{
			"the test kit reaches under the public packages", []node{imports("/clewtest", "/internal/process")},
			"/clewtest imports github.com/clewdev/clew/internal/process: the test kit",
		},
		{
			"an engine of the test kit needs the SDK", []node{imports("/internal/simagent", "/wire", "")},
			"/internal/simagent imports github.com/clewdev/clew: an engine",
		},
		{
			"the program plays an agent outside of its demo", []node{imports("/cmd/clew/internal/cli", "/internal/simagent")},
			"/cmd/clew/internal/cli imports github.com/clewdev/clew/internal/simagent: the program builds",
		},
		{
			"the program links testing through the test kit",
			[]node{imports("/cmd/clew", "/cmd/clew/internal/cli"), imports("/cmd/clew/internal/cli", "/clewtest"), imports("/clewtest", "testing")},
			"/clewtest imports testing: the program does not link testing",
		},
		{
			"the program links a part of testing", []node{imports("/cmd/clew", "testing/iotest")},
			"/cmd/clew imports testing/iotest: the program does not link testing",
		},
		{
			"the program links OpenTelemetry", []node{imports("/cmd/clew", "/clewotel"), imports("/clewotel", "go.opentelemetry.io/otel")},
			"/clewotel imports go.opentelemetry.io/otel: the program does not link OpenTelemetry",
		},
		{"the SDK makes spans", []node{imports("", "go.opentelemetry.io/otel")}, " imports go.opentelemetry.io/otel: only a package named"},
		{
			"clewotel needs the SDK of OpenTelemetry", []node{imports("/clewotel", "go.opentelemetry.io/otel/sdk/trace")},
			"/clewotel imports go.opentelemetry.io/otel/sdk/trace: clewotel imports",
		},
		{"the SDK asks for a terminal", []node{imports("", "golang.org/x/term")}, " imports golang.org/x/term: only the program"},
		{"wire logs", []node{imports("/wire", "log/slog")}, "/wire imports log/slog: a pure package"},
		{"the lexer does I/O", []node{imports("/internal/jsonlex", "os")}, "/internal/jsonlex imports os: a pure"},
		{
			"wire does I/O through a package below it",
			[]node{imports("/wire", "/internal/deep"), imports("/internal/deep", "os")},
			"/internal/deep imports os: a pure package",
		},
		{"wire needs another module", []node{imports("/wire", "golang.org/x/text")}, "/wire imports golang.org/x/text: a pure"},
		{"usage does I/O", []node{imports("/usage", "os")}, "/usage imports os: a pure package"},
		{"tooluse does I/O", []node{imports("/tooluse", "net/http")}, "/tooluse imports net/http: a pure package"},
		{
			"usage reads transcripts", []node{imports("/usage", "/transcript")},
			"/usage imports github.com/clewdev/clew/transcript: a leaf package",
		},
		{
			"tooluse needs usage", []node{imports("/tooluse", "/wire", "/usage")},
			"/tooluse imports github.com/clewdev/clew/usage: a leaf package",
		},
		{"the SDK reads transcripts", []node{imports("", "/transcript")}, " imports github.com/clewdev/clew/transcript: the SDK"},
		{
			"the SDK reads sessions through a package below it",
			[]node{imports("", "/internal/control"), imports("/internal/control", "/sessions")},
			"/internal/control imports github.com/clewdev/clew/sessions: the SDK",
		},
		{"sessions opens SQLite", []node{imports("/sessions", "modernc.org/sqlite")}, "/sessions imports modernc.org/sqlite: only a"},
		{"the index opens SQLite", []node{imports("/sqlite/search", "database/sql")}, "/sqlite/search imports database/sql: only a"},
		{
			"the SQLite store talks to NATS",
			[]node{imports("/sqlite/sqlitestore", "github.com/nats-io/nats.go/jetstream")},
			"/sqlite/sqlitestore imports github.com/nats-io/nats.go/jetstream: only a package named",
		},
		{"the program's verbs draw", []node{imports("/cmd/clew/internal/cli", "charm.land/bubbletea/v2")}, "/cmd/clew/internal/cli imports charm.land/bubbletea/v2: only cmd/clew/internal/tui"},
		{"commands know an engine", []node{imports("/cmd/clew/internal/fleetcli", "/nats/natsfleet")}, "/cmd/clew/internal/fleetcli imports github.com/clewdev/clew/nats/natsfleet: only cmd/clew/internal/engine"},
		{"commands know an archive", []node{imports("/cmd/clew/internal/cli", "/sqlite/sqlitearchive")}, "/cmd/clew/internal/cli imports github.com/clewdev/clew/sqlite/sqlitearchive: only cmd/clew/internal/engine"},
		{"tools draw", []node{imports("/tools", "charm.land/lipgloss/v2")}, "/tools imports charm.land/lipgloss/v2: only the program"},
		{"the SDK parses flags", []node{imports("", "github.com/spf13/cobra")}, " imports github.com/spf13/cobra: only the program"},
		{"control starts a process", []node{imports("/internal/control", "os/exec")}, "/internal/control imports os/exec: it starts no"},
		{"mcphost starts a process", []node{imports("/internal/mcphost", "os/exec")}, "/internal/mcphost imports os/exec: it starts no"},
		{
			"control starts a process through a package below it",
			[]node{imports("/internal/control", "/internal/process"), imports("/internal/process", "os/exec")},
			"/internal/process imports os/exec: it starts no process",
		},
		{
			"the program reaches under the public packages",
			[]node{imports("/cmd/clew/internal/cli", "/internal/jsonlex")},
			"/cmd/clew/internal/cli imports github.com/clewdev/clew/internal/jsonlex: the program builds",
		},
		{
			"main reaches under the public packages",
			[]node{imports("/cmd/clew", "/internal/process")},
			"/cmd/clew imports github.com/clewdev/clew/internal/process: the program builds",
		},
		{
			"a library imports the program",
			[]node{imports("/sessions", "/cmd/clew/internal/config")},
			"/sessions imports github.com/clewdev/clew/cmd/clew/internal/config: a library does not",
		},
		{"a package is named util", []node{imports("/internal/util")}, "/internal/util: no package is named util"},
		{
			"a package is named types in another folder",
			[]node{{ImportPath: module + "/internal/lexer", Name: "types"}},
			"/internal/lexer: no package is named types",
		},
		{"a folder is named pkg", []node{imports("/pkg/lexer")}, "/pkg/lexer: no package is named pkg"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := check(tt.nodes)
			if len(got) != 1 || !strings.HasPrefix(got[0], module+tt.want) {
				t.Errorf("check = %q, want one sentence that begins with %q", got, module+tt.want)
			}
		})
	}
}

// The rule about testing also holds for the imports of other modules.
func TestCheckBrokenByAnotherModule(t *testing.T) {
	nodes := []node{
		imports("/cmd/clew", "example.com/flags"),
		{ImportPath: "example.com/flags", Imports: []string{"testing"}},
	}
	want := "example.com/flags imports testing: the program does not link testing (below " + module + "/cmd/clew)"
	if got := check(nodes); len(got) != 1 || got[0] != want {
		t.Errorf("check = %q, want %q", got, want)
	}
}

func TestCheckSound(t *testing.T) {
	nodes := []node{
		imports("/cmd/clew", "os", "/cmd/clew/internal/cli"),
		imports("/cmd/clew/internal/cli", "os", "/wire", "/sessions", "/cmd/clew/internal/tui", "github.com/spf13/cobra"),
		imports("/export", "/redact", "/internal/tty", "/transcript"),
		imports("/redact", "regexp"),
		imports("/cmd/clew/internal/tui", "charm.land/bubbletea/v2"),
		imports("/sqlite/search/internal/sqlite", "database/sql", "modernc.org/sqlite"),
		imports("", "os", "/wire", "/internal/control", "/internal/process"),
		imports("/internal/control", "sync", "/wire"),
		imports("/internal/process", "os/exec"),
		imports("/sessions", "os", "/transcript"),
		imports("/nats/natsstore", "github.com/nats-io/nats.go"),
		imports("/clewotel", "go.opentelemetry.io/otel/trace"),
		imports("/transcript", "io", "/wire", "/usage", "/tooluse"),
		imports("/usage", "time", "/internal/entrylex"),
		imports("/tooluse", "/wire", "/internal/entrylex"),
		imports("/internal/entrylex", "/wire", "/internal/jsonlex"),
		imports("/wire", "encoding/json", "/internal/jsonlex"),
		imports("/internal/jsonlex", "unicode/utf8"),
		imports("/clewtest", "os/exec", "testing", "/wire", "/internal/simagent"),
		imports("/cmd/clew/internal/demo", "", "/wire", "/internal/simagent", "/internal/simmodel"),
		imports("/internal/simagent", "sync", "/wire"),
		imports("/examples/hello", "os", "", "/wire"),
		imports("/cmd/clew/dev/record", "/clewtest"),
		imports("/cmd/clew/dev/bench", "os", "/internal/corpus", "/internal/jsonlex", "/wire"),
		{ImportPath: "golang.org/x/util", Imports: []string{"os"}},
	}
	if got := check(nodes); len(got) > 0 {
		t.Errorf("check = %q, want nothing", got)
	}
}
