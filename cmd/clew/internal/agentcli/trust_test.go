package agentcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/internal/files"
)

// Only absolute paths of trusted_dirs count: an empty or relative element would trust whatever
// directory clew runs in.
func TestTrustedDirsAreAbsolute(t *testing.T) {
	t.Parallel()
	dir, err := realDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	here, err := realDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		dir  string
		tops []string
		want bool
	}{
		{filepath.Join(dir, "a"), []string{dir}, true},
		{dir, []string{filepath.Join(dir, "a")}, false},
		{here, []string{""}, false},
		{here, []string{"."}, false},
		{filepath.Join(here, "testdata"), []string{"testdata"}, false},
	} {
		if got := isBelow(tt.dir, tt.tops); got != tt.want {
			t.Errorf("%s below %q: %v", tt.dir, tt.tops, got)
		}
	}
}

// Trust in a project does not cover a directory above it that brings MCP servers.
func TestTrustAboveTheProject(t *testing.T) {
	t.Parallel()
	top, err := realDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(top, "repo")
	for _, dir := range []string{filepath.Join(repo, ".git"), filepath.Join(repo, "sub")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{top, repo} {
		if err := os.WriteFile(filepath.Join(dir, mcpFile), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sub := filepath.Join(repo, "sub")
	w := &workplace{dirs: []string{sub}}
	w.search(sub)
	if !slices.Equal(w.dirs, []string{sub, top}) {
		t.Errorf("the directories to trust are %q", w.dirs)
	}
}

// Two processes that save an answer at once don't lose one: the second one waits for the first.
func TestTrustIsSavedOneAtATime(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path, err := clikit.StateFile(trustFileName)
	if err != nil {
		t.Fatal(err)
	}
	first, second := &workplace{dirs: []string{filepath.Join(t.TempDir(), "first")}}, &workplace{dirs: []string{filepath.Join(t.TempDir(), "second")}}
	if err := first.save(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	other, err := files.TryLock(path + ".lock") // another process saves
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.save(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("saved while another process does: %v", err)
	}
	if err := files.Unlock(other); err != nil {
		t.Fatal(err)
	}
	if err := second.save(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if got, err := readTrusted(); err != nil || !slices.Equal(got, append(first.dirs, second.dirs...)) {
		t.Errorf("%q, %v", got, err)
	}
}

// The agent's record is in the first directory of a list.
func TestAcceptedInAList(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir+","+filepath.Join(dir, "other"))
	record := []byte(`{"projects":{"/repo":{"hasTrustDialogAccepted":true}}}`)
	if err := os.WriteFile(filepath.Join(dir, ".claude.json"), record, 0o600); err != nil {
		t.Fatal(err)
	}
	if accepted := acceptedByAgent(); !accepted[filepath.FromSlash("/repo")] {
		t.Errorf("got %v", accepted)
	}
}
