// Package archtest keeps the import rules of docs/design.md.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestImportRules(t *testing.T) {
	watchSources(t)
	for _, goos := range []string{"linux", "darwin", "windows"} {
		// Without cgo, a file that imports C is not part of its package; with cgo, another may not be.
		for _, cgo := range []string{"0", "1"} {
			t.Run(goos+"/cgo="+cgo, func(t *testing.T) { checkPlatform(t, goos, cgo) })
		}
	}
}

func checkPlatform(t *testing.T, goos, cgo string) {
	t.Parallel()
	nodes := listPackages(t, root, "GOOS="+goos, "CGO_ENABLED="+cgo)
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
	nodes := listPackages(t, dir, "CGO_ENABLED=1")
	if !slices.ContainsFunc(nodes, func(n node) bool { return n.Name == "wire" && slices.Contains(n.Imports, "C") }) {
		t.Errorf("go list does not report the import: %v", nodes)
	}
}

// watchSources reads every source folder, so that go test does not answer from its cache after an import changed:
// it notices what the test itself opens, and not what go list opens for it.
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

// listPackages returns the packages of the module in dir and all that they depend on, as built with the settings.
func listPackages(t *testing.T, dir string, settings ...string) []node {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Name,Imports", "./...")
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
