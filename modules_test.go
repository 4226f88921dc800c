package clew_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A program that imports only this module gets the versions that its go.mod asks for, and nothing here may
// raise them without need: the module requires only these modules and golang.org/x.
func TestRequirements(t *testing.T) {
	t.Parallel()
	allowed := []string{
		"github.com/fsnotify/fsnotify", "github.com/google/jsonschema-go", "github.com/klauspost/compress",
		"github.com/modelcontextprotocol/go-sdk", "github.com/yuin/goldmark",
		"github.com/google/go-cmp", // for tests
	}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "go.mod") // go test notices changes of files that the test itself reads
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Replace []any
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, r := range file.Require {
		switch {
		case r.Indirect || strings.HasPrefix(r.Path, "golang.org/x/"):
		case slices.Contains(allowed, r.Path):
			found++
		default:
			t.Errorf("go.mod requires %s: put what needs it into another module", r.Path)
		}
	}
	if found != len(allowed) {
		t.Errorf("go.mod requires %d of the %d modules: shorten the list", found, len(allowed))
	}
	if len(file.Replace) > 0 {
		t.Error("go.mod replaces modules, which prevents go install and go get")
	}
}

// In the workspace, a package may import what only another module requires. Users have no workspace.
func TestRequirementsSuffice(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-mod=readonly", "-deps", "-test", "./...")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: run make tidy\n%s", err, &stderr)
	}
}
