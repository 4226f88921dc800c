package input

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A transcript of short entries takes more memory than twice its size. The estimate decides whether
// it is read, so it must grow with the entries.
func TestMemoryForShortEntries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		line  string
		lines int64
	}{
		"short": {`{"type":"user","uuid":"1"}` + "\n", 40_000},
		"long":  {`{"type":"user","uuid":"1","x":"` + strings.Repeat("x", 5000) + `"}` + "\n", 400},
		"empty": {"", 0},
	} {
		path := filepath.Join(dir, name)
		size := int64(len(c.line)) * c.lines
		if err := os.WriteFile(path, []byte(strings.Repeat(c.line, int(c.lines))), 0o600); err != nil {
			t.Fatal(err)
		}
		got, want := memoryFor(path, size), max(2*size, c.lines*entryMemory)
		if got < want-want/50 || got > want+want/50 {
			t.Errorf("%s: %d bytes of memory for %d lines of %d bytes, want %d", name, got, c.lines, size, want)
		}
	}
	if got := memoryFor(filepath.Join(dir, "missing"), 10); got != 20 {
		t.Errorf("%d bytes for a file that is missing", got)
	}
}

// A whole ID is found without listing the other sessions, however many there are.
func TestWholeIDIsNotListed(t *testing.T) {
	config := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", config)
	project := filepath.Join(config, "projects", "-work")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"type":"user","uuid":"u","message":{"role":"user","content":"Hello"}}` + "\n")
	write := func(n int) (id string) {
		id = fmt.Sprintf("7a0f%04x-0000-4000-8000-000000000001", n)
		if err := os.WriteFile(filepath.Join(project, id+".jsonl"), line, 0o600); err != nil {
			t.Fatal(err)
		}
		return id
	}
	id := write(0)
	for n := range 500 { // more than is read of a directory at once
		write(n + 1)
	}
	work := func() float64 {
		return testing.AllocsPerRun(3, func() {
			if src, err := find(t.Context(), id); err != nil || src.Info.ID != id {
				t.Errorf("%+v, %v", src, err)
			}
		})
	}
	few := work()
	for n := range 1000 {
		write(n + 501)
	}
	if many := work(); many > few+500 {
		t.Errorf("%v allocations among 3,000 sessions, %v among 500", many, few)
	}
}
