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
		t.Run(goos, func(t *testing.T) {
			nodes := listPackages(t, goos)
			if !slices.ContainsFunc(nodes, func(n node) bool { return within(n.ImportPath, module) }) {
				t.Fatalf("go list found no package of %s", module)
			}
			for _, sentence := range check(nodes) {
				t.Error(sentence)
			}
		})
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

// listPackages returns the packages of this module and all that they depend on, as built for goos.
func listPackages(t *testing.T, goos string) []node {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
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
