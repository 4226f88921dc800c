package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// module is the import path of the root package, which is the SDK.
const module = "github.com/clewdev/clew"

const (
	// programTree is the module of the program.
	programTree = module + "/cmd/clew"
	// devTree is the module for the development of this repository. Its path is below that of the program, whose
	// internal packages it tests.
	devTree = programTree + "/dev"
)

// A node is one package of the import graph, with its direct imports outside tests.
type node struct {
	ImportPath string
	Name       string
	Imports    []string
}

// A graph holds packages by import path. They belong to this repository unless stated otherwise.
type graph map[string]node

var (
	// purePackages take bytes and readers and return values.
	purePackages = []string{
		module + "/wire", module + "/hook", module + "/permission", module + "/sandbox",
		module + "/transcript", module + "/usage", module + "/tooluse",
		module + "/internal/jsonlex", module + "/internal/entrylex",
		module + "/internal/clip", module + "/internal/entryfacts", module + "/redact", module + "/internal/version",
	}

	// leafPackages are public packages that can be used without the reader of transcripts.
	leafPackages = []string{module + "/usage", module + "/tooluse"}

	// leafImports are the packages of this repository that a leaf may import.
	leafImports = []string{module + "/wire", module + "/internal/jsonlex", module + "/internal/entrylex"}

	// pipePackages talk to an agent, and must run over an in-memory pipe as well.
	pipePackages = []string{module + "/internal/control", module + "/internal/mcphost"}

	// impureTrees can do I/O, and so can the packages below them, such as log/slog and net/http.
	// io/ioutil is another name for os; unsafe and C can do anything.
	impureTrees = []string{"os", "net", "log", "syscall", "io/ioutil", "unsafe", "C"}

	// engines are the packages that the test kit and the program's demo share. They are internal
	// because users reach them through the test kit. The demo can't use the test kit, because that
	// imports testing.
	engines = []string{"simagent", "simmodel"}

	// helpers are the directories below internal of packages for tests. Nothing else links them.
	helpers = []string{"clitest", "corpus", "drive/drivetest", "gittest", "golden", "polltest", "pty", "shelltest", "smalldisk", "soak", "termtest"}

	// sharedPackages are internal, and both the libraries and the program use them: each makes one
	// decision that must be the same in both.
	sharedPackages = []string{
		module + "/internal/clip", module + "/internal/files", module + "/internal/gitaddress", module + "/internal/markdown", module + "/internal/newid", module + "/internal/pause", module + "/internal/port", module + "/internal/pricelist", module + "/internal/render", module + "/internal/rows", module + "/internal/timelimit", module + "/internal/tty", module + "/internal/utcday", module + "/internal/version", module + "/internal/wording",
	}

	// uiTrees are libraries that draw or parse for a terminal.
	uiTrees = []string{
		"charm.land", "github.com/charmbracelet", "github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term",
	}

	// teaTrees are the modules of Bubble Tea and its companions.
	teaTrees = []string{"charm.land", "github.com/charmbracelet"}

	// engineTrees name, for each library of a database, a queue or telemetry, the word that its
	// importer's name must contain.
	engineTrees = map[string]string{
		"database/sql":        "sql",
		"modernc.org/sqlite":  "sqlite",
		"github.com/nats-io":  "nats",
		"go.opentelemetry.io": "otel",
	}

	// storageEngines keep fleets, archives and sessions.
	storageEngines = []string{
		module + "/nats/natsfleet", module + "/nats/natsarchive", module + "/sqlite/sqlitearchive",
		module + "/nats/natsstore", module + "/sqlite/sqlitestore",
	}

	// vagueNames do not describe the purpose of a package.
	vagueNames = []string{"util", "common", "shared", "helpers", "types", "models", "pkg"}
)

// rules are all rules of one package.
var rules = []func(graph, node) []string{
	pure, leaf, small, engine, otelAPI, ui, tui, pages, fleets, pipe, customer, downward, toolless, public, named,
}

// check returns one sentence for each broken rule, in the order of nodes.
func check(nodes []node) []string {
	g, all := graph{}, graph{}
	for _, n := range nodes {
		all[n.ImportPath] = n
		if within(n.ImportPath, module) {
			g[n.ImportPath] = n
		}
	}
	var broken []string
	for _, n := range nodes {
		if _, ok := g[n.ImportPath]; !ok {
			continue
		}
		for _, rule := range rules {
			broken = append(broken, rule(g, n)...)
		}
	}
	return append(broken, testless(all)...)
}

// pure keeps the pure packages and their dependencies free of I/O and of other modules.
func pure(g graph, n node) []string {
	if !slices.Contains(purePackages, n.ImportPath) {
		return nil
	}
	return g.reach(n, func(imp string) bool {
		return withinAny(imp, impureTrees) || !standard(imp) && !within(imp, module)
	}, "a pure package does no I/O and stands on the standard library")
}

// leaf keeps usage and tooluse on the standard library, wire and the packages that read JSON.
func leaf(_ graph, n node) []string {
	if !slices.Contains(leafPackages, n.ImportPath) {
		return nil
	}
	return direct(n, func(imp string) bool { return within(imp, module) && !slices.Contains(leafImports, imp) },
		"a leaf package stands on wire alone")
}

// small keeps the readers of transcripts out of the SDK.
func small(g graph, n node) []string {
	if n.ImportPath != module {
		return nil
	}
	return g.reach(n, func(imp string) bool {
		return within(imp, module+"/transcript") || within(imp, module+"/sessions")
	}, "the SDK does not depend on transcripts")
}

// engine keeps a library of a database, a queue or telemetry in the package that is named after it.
func engine(_ graph, n node) []string {
	var broken []string
	for _, imp := range n.Imports {
		for tree, word := range engineTrees {
			if within(imp, tree) && !strings.Contains(path.Base(n.ImportPath), word) {
				broken = append(broken, sentence(n, imp, "only a package named after an engine imports it"))
			}
		}
	}
	return broken
}

// otelAPI keeps OpenTelemetry's SDK and exporters with the programs that use clewotel.
func otelAPI(_ graph, n node) []string {
	if n.ImportPath != module+"/clewotel" {
		return nil
	}
	return direct(n, func(imp string) bool {
		return withinAny(imp, []string{"go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters"})
	}, "clewotel imports OpenTelemetry's API only")
}

// ui keeps terminal libraries in the program.
func ui(_ graph, n node) []string {
	if program(n.ImportPath) {
		return nil
	}
	return direct(n, func(imp string) bool { return withinAny(imp, uiTrees) },
		"only the program imports a UI library")
}

// tui keeps Bubble Tea in one package, which it can be exchanged in.
func tui(_ graph, n node) []string {
	if n.ImportPath == module+"/cmd/clew/internal/tui" || !program(n.ImportPath) { // the rule above is about the others
		return nil
	}
	return direct(n, func(imp string) bool { return withinAny(imp, teaTrees) }, "only cmd/clew/internal/tui imports Bubble Tea")
}

// pages keeps the terminal out of the pages and of the code that both viewers share.
func pages(g graph, n node) []string {
	if n.ImportPath != module+"/cmd/clew/internal/web" && n.ImportPath != module+"/cmd/clew/internal/view" {
		return nil
	}
	return g.reach(n, func(imp string) bool { return withinAny(imp, uiTrees) }, "pages need no terminal")
}

// fleets keeps the engines of fleets and archives behind interfaces: the scheme of a name chooses one.
func fleets(_ graph, n node) []string {
	if !program(n.ImportPath) || n.ImportPath == module+"/cmd/clew/internal/engine" {
		return nil
	}
	return direct(n, func(imp string) bool { return withinAny(imp, storageEngines) }, "only cmd/clew/internal/engine imports an engine of fleets or archives")
}

// pipe keeps the control engine and the host of MCP servers runnable over an in-memory pipe.
func pipe(g graph, n node) []string {
	if !slices.Contains(pipePackages, n.ImportPath) {
		return nil
	}
	return g.reach(n, func(imp string) bool { return imp == "os/exec" },
		"it starts no process")
}

// customer lets the program import only public packages, its own packages and the shared ones.
func customer(_ graph, n node) []string {
	if !program(n.ImportPath) {
		return nil
	}
	return direct(n, func(imp string) bool {
		return within(imp, module+"/internal") && !slices.Contains(sharedPackages, imp) &&
			!demoEngine(n.ImportPath, imp)
	}, "the program builds on the public packages")
}

// demoEngine reports whether p is the demo and imp is an engine that simulates its agent.
func demoEngine(p, imp string) bool {
	return within(p, module+"/cmd/clew/internal/demo") && inFolders(imp, engines)
}

// testless keeps package testing and OpenTelemetry out of the program, in other modules as well. all
// has the packages of all modules.
func testless(all graph) []string {
	program := all[module+"/cmd/clew"]
	return append(
		all.reach(program, func(imp string) bool { return within(imp, "testing") }, "the program does not link testing"),
		all.reach(program, func(imp string) bool { return within(imp, "go.opentelemetry.io") },
			"the program does not link OpenTelemetry")...)
}

// downward keeps the libraries from importing the program. Tools may import anything.
func downward(_ graph, n node) []string {
	if program(n.ImportPath) || tool(n.ImportPath) {
		return nil
	}
	return direct(n, program, "a library does not import the program")
}

// toolless keeps the tools out of everything else.
func toolless(_ graph, n node) []string {
	if tool(n.ImportPath) {
		return nil
	}
	return direct(n, tool, "only a tool imports a tool")
}

// public allows the examples only packages that their readers can import, and the test kit only
// wire and its engines, so that the tests of every other package can use the test kit.
func public(_ graph, n node) []string {
	switch {
	case strings.Contains(n.ImportPath, "/examples/"):
		return direct(n, func(imp string) bool { return within(imp, module) && strings.Contains(imp+"/", "/internal/") },
			"an example imports public packages only")
	case within(n.ImportPath, module+"/clewtest"):
		return direct(n, func(imp string) bool {
			return within(imp, module) && !within(imp, module+"/wire") && !within(imp, module+"/clewtest") &&
				!inFolders(imp, engines)
		}, "the test kit stands on wire and its engines alone")
	case inFolders(n.ImportPath, engines):
		return direct(n, func(imp string) bool { return within(imp, module) && !within(imp, module+"/wire") },
			"an engine of the test kit stands on wire alone")
	}
	return nil
}

// named refuses vague names, of directories and of the package itself.
func named(_ graph, n node) []string {
	elements := strings.Split(strings.TrimPrefix(n.ImportPath, module), "/")
	for _, element := range append(elements, n.Name) {
		if slices.Contains(vagueNames, element) {
			return []string{fmt.Sprintf("%s: no package is named %s", n.ImportPath, element)}
		}
	}
	return nil
}

// reach reports the forbidden imports of from and of every package of the graph below it.
func (g graph) reach(from node, forbidden func(string) bool, why string) []string {
	seen := map[string]bool{}
	var broken []string
	var visit func(n node)
	visit = func(n node) {
		seen[n.ImportPath] = true
		for _, imp := range n.Imports {
			if forbidden(imp) {
				broken = append(broken, below(from, n, imp, why))
			}
			if next, ok := g[imp]; ok && !seen[imp] {
				visit(next)
			}
		}
	}
	visit(from)
	return broken
}

// direct reports the forbidden imports of n itself.
func direct(n node, forbidden func(string) bool, why string) []string {
	var broken []string
	for _, imp := range n.Imports {
		if forbidden(imp) {
			broken = append(broken, sentence(n, imp, why))
		}
	}
	return broken
}

func sentence(n node, imp, why string) string {
	return fmt.Sprintf("%s imports %s: %s", n.ImportPath, imp, why)
}

// below is sentence for an import of n that was found for from. It names from if that is another
// package.
func below(from, n node, imp, why string) string {
	if n.ImportPath == from.ImportPath {
		return sentence(n, imp, why)
	}
	return sentence(n, imp, why) + " (below " + from.ImportPath + ")"
}

// program reports whether p is part of the clew program rather than of its libraries.
func program(p string) bool {
	return within(p, programTree) && !tool(p)
}

// tool reports whether p is a package for the development of this repository, which nothing else links.
func tool(p string) bool {
	return within(p, devTree) || inFolders(p, helpers) ||
		slices.ContainsFunc(helpers, func(f string) bool { return within(p, programTree+"/internal/"+f) })
}

// inFolders reports whether p is in one of those directories of the libraries' internal.
func inFolders(p string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return within(p, module+"/internal/"+f) })
}

// standard reports whether p belongs to the standard library: the first element of any other path
// has a dot.
func standard(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return !strings.Contains(first, ".")
}

// within reports whether p is tree or lies below it.
func within(p, tree string) bool {
	return p == tree || strings.HasPrefix(p, tree+"/")
}

func withinAny(p string, trees []string) bool {
	return slices.ContainsFunc(trees, func(tree string) bool { return within(p, tree) })
}
