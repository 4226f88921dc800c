package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openHistory(t *testing.T, path string) *History {
	t.Helper()
	h, err := OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "clew", "history")
	h := openHistory(t, path)
	for _, entry := range []string{"one", "two\nlines \x1b", "two\nlines \x1b", "", strings.Repeat("x", maxEntryBytes+1)} {
		if err := h.Add(entry); err != nil {
			t.Fatal(err)
		}
	}
	if h.Len() != 3 {
		t.Errorf("%d entries", h.Len())
	}
	if diff := cmp.Diff([]string{"one", "two\nlines \x1b"}, openHistory(t, path).entries); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, name := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
			t.Errorf("%s has mode %v", name, mode)
		}
	}
}

// The file does not grow without end, and what is wrong in it does no harm.
func TestHistoryBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history")
	var text strings.Builder
	text.WriteString("no JSON\n7\n\"\"\n")
	for i := range 3 * maxEntries {
		fmt.Fprintf(&text, "\"%d\"\n", i)
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h := openHistory(t, path)
	if h.Len() != maxEntries || h.Newest(1) != "2999" || h.Newest(maxEntries) != "2000" {
		t.Errorf("%d entries, the newest is %s", h.Len(), h.Newest(1))
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), "\n") != maxEntries {
		t.Errorf("the file has %d lines, %v", strings.Count(string(data), "\n"), err)
	}
}

// Without a file that can be read, there is still a history.
func TestHistoryUnreadable(t *testing.T) {
	t.Parallel()
	h, err := OpenHistory(t.TempDir())
	if err == nil || h.Len() != 0 {
		t.Errorf("%d entries, %v", h.Len(), err)
	}
	if err := h.Add("one"); err == nil || h.Newest(1) != "one" {
		t.Errorf("%v", err)
	}
}
