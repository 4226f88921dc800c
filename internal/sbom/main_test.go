package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewBill(t *testing.T) {
	t.Parallel()
	got := newBill(&debug.BuildInfo{
		GoVersion: "go1.26.8",
		Main:      debug.Module{Path: "example.com/prog", Version: "v1.0.0+dirty"},
		Deps: []*debug.Module{
			{Path: "example.com/a", Version: "v0.1.0", Sum: "h1:AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA="},
			{Path: "example.com/b", Version: "v0.2.0", Replace: &debug.Module{Path: "example.com/c", Version: "v0.3.0"}},
		},
	})
	part := func(kind, name, version, purl string, sums ...hash) component {
		return component{Type: kind, Ref: purl, Name: name, Version: version, PURL: purl, Hashes: sums}
	}
	want := &bill{
		Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{part("application", "example.com/prog", "v1.0.0+dirty", "pkg:golang/example.com/prog@v1.0.0%2Bdirty")},
		Components: []component{
			part("library", "std", "1.26.8", "pkg:golang/std@1.26.8"),
			part("library", "example.com/a", "v0.1.0", "pkg:golang/example.com/a@v0.1.0",
				hash{"SHA-256", "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"}),
			part("library", "example.com/c", "v0.3.0", "pkg:golang/example.com/c@v0.3.0"),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The bill of this test's own program is about this module.
func TestRun(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bill.json")
	if err := run([]string{program, file}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bill
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("github.com/clewdev/clew", got.Metadata.Component.Name); diff != "" {
		t.Errorf("what the bill is about (-want +got):\n%s", diff)
	}
}

// A file that is no Go program is an error that names it.
func TestNoProgram(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{file, file + ".json"}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	if err := run([]string{file}); err == nil || !strings.Contains(err.Error(), "usage") {
		t.Errorf("got %v", err)
	}
}
