package program_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

// hostileProject makes a repository with a hook and MCP servers that leave marks, in the working
// directory and above it, and returns what tells the marks.
func hostileProject(t *testing.T, s *stage) (marks func() []string) {
	t.Helper()
	top, at := s.dir, t.TempDir()
	s.dir = filepath.Join(top, "sub")
	put := func(path string, content any) {
		text, err := json.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hook := func(mark string) any {
		command := map[string]any{"type": "command", "command": "touch '" + filepath.Join(at, mark) + "'"}
		return map[string]any{"hooks": map[string]any{"SessionStart": []any{map[string]any{"hooks": []any{command}}}}}
	}
	server := func(mark string) any {
		return map[string]any{"mcpServers": map[string]any{
			mark: map[string]any{"command": "touch", "args": []string{filepath.Join(at, mark)}},
		}}
	}
	put(filepath.Join(top, ".git", "HEAD"), "")
	put(filepath.Join(s.dir, ".claude", "settings.json"), hook("hook"))
	put(filepath.Join(s.dir, ".claude", "settings.local.json"), hook("local hook"))
	put(filepath.Join(s.dir, ".mcp.json"), server("server"))
	put(filepath.Join(top, ".mcp.json"), server("server above"))
	if err := os.WriteFile(filepath.Join(s.dir, "CLAUDE.md"), []byte("The words of the project."), 0o600); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		entries, err := os.ReadDir(at)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, entry := range entries {
			names = append(names, entry.Name())
			_ = os.Remove(filepath.Join(at, entry.Name()))
		}
		return names
	}
}

// The hooks and the MCP servers of a repository run only if the user trusts it.
func TestRealRunTrust(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("").Reply(clewtest.Text("Hello."))
	marks := hostileProject(t, s)
	all := []string{"hook", "local hook", "server", "server above"}
	for _, tt := range []struct {
		args []string
		want []string
		note bool
	}{
		{nil, []string{}, true},
		{[]string{"--trust=false"}, []string{}, false},
		{[]string{"--setting-sources", "user"}, []string{}, false},
		{[]string{"--trust"}, all, false},
	} {
		stdout, stderr, code := s.run(t, slices.Concat([]string{"run"}, tt.args, []string{"Hi"})...)
		if code != 0 || stdout != "Hello.\n" || strings.Contains(stderr, "not trusted") != tt.note {
			t.Errorf("%q: exit code %d, stdout %q, stderr %q", tt.args, code, stdout, stderr)
		}
		if got := marks(); !slices.Equal(got, tt.want) {
			t.Errorf("%q: ran %q, want %q", tt.args, got, tt.want)
		}
		requests := s.model.Requests()
		read := strings.Contains(string(requests[len(requests)-1].Body), "The words of the project.")
		if read != (len(tt.want) > 0) {
			t.Errorf("%q: CLAUDE.md was read: %v", tt.args, read)
		}
	}
}

// So it is in a chat.
func TestRealChatTrust(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.On("").Reply(clewtest.Text("Hello."))
	marks := hostileProject(t, s)
	stdout, stderr, code := s.runWith(t, strings.NewReader("Hi\n"), "chat")
	if code != 0 || stdout != "Hello.\n" || !strings.Contains(stderr, "not trusted") {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	if got := marks(); len(got) > 0 {
		t.Errorf("ran %q", got)
	}
}
