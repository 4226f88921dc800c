package sessions_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/clewdev/clew/sessions"
)

// TestUnpackedRoots reads sessions that come from an archive, and refuses to change them.
func TestUnpackedRoots(t *testing.T) {
	home, unpacked := t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "agent")) // it does not exist yet
	sessions.SetArchiveRoots([]string{unpacked})
	t.Cleanup(func() { sessions.SetArchiveRoots(nil) })
	const id = "00000000-0000-4000-8000-000000000001"
	path := filepath.Join(unpacked, "projects", "-p", id+".jsonl")
	const line = `{"type":"user","uuid":"1","sessionId":"` + id + `","message":{"role":"user","content":"hello"},"timestamp":"2026-01-02T03:04:05Z"}` + "\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(line), 0o600)); err != nil {
		t.Fatal(err)
	}
	if root, ok := sessions.FromArchive(path); !ok || root != unpacked {
		t.Errorf("got %q, %v", root, ok)
	}
	if _, ok := sessions.FromArchive(unpacked + "x/file"); ok {
		t.Error("a directory with a longer name is not that of an archive")
	}
	ctx := t.Context()
	infos, err := sessions.List(ctx, nil)
	if err != nil || len(infos) != 1 || infos[0].Path != path {
		t.Fatalf("got %v, %v", infos, err)
	}
	_, forkErr := sessions.Fork(ctx, id, nil)
	for name, err := range map[string]error{
		"Rename": sessions.Rename(ctx, id, "x", nil), "Tag": sessions.Tag(ctx, id, "x", nil), "MarkDone": sessions.MarkDone(ctx, id, nil),
		"Delete": sessions.Delete(ctx, id, nil), "Erase": sessions.Erase(ctx, id, nil), "Fork": forkErr,
	} {
		if !errors.Is(err, sessions.ErrReadOnly) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if data, err := os.ReadFile(path); string(data) != line || err != nil {
		t.Errorf("the file became %q, %v", data, err)
	}
	folder, err := sessions.AgentFolder()
	if want := filepath.Join(home, "agent", "projects"); err != nil || folder.String() != want {
		t.Errorf("sessions would be imported to %s, %v", folder, err)
	}
}
