//go:build unix

package model_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/clewdev/clew/clewtest"
)

// callerMarker is in all of the caller's settings that must not reach the agent.
const callerMarker = "clewtest-private-of-the-caller"

// plantHome makes a home with the settings, the credentials and the memory of a user of Claude
// Code. The marker is in all of them.
func plantHome(t *testing.T, marker string) string {
	t.Helper()
	home := t.TempDir()
	files := map[string]string{
		".claude.json":              `{"primaryApiKey":%q,"hasCompletedOnboarding":true}`,
		".claude/settings.json":     `{"env":{"ANTHROPIC_AUTH_TOKEN":%q}}`,
		".claude/.credentials.json": `{"claudeAiOauth":{"accessToken":%q,"refreshToken":"x","expiresAt":9999999999999,"scopes":["user:inference"]}}`,
		".claude/CLAUDE.md":         "Say %q often.\n",
		"CLAUDE.md":                 "Say %q often.\n",
	}
	for name, format := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, format, marker), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// readTree returns the kind, the permissions and the content of every file in a directory, by name.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var data []byte
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		tree[path] = fmt.Sprintf("%v %s", info.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// An ownHome holds the times of the last changes to Claude Code's files in the home of the user who
// runs the tests. The zero time stands for a file that does not exist.
type ownHome map[string]time.Time

// newOwnHome returns the current times. It is empty if there is no home.
func newOwnHome(t *testing.T) ownHome {
	t.Helper()
	own := ownHome{}
	if home, err := os.UserHomeDir(); err == nil {
		for _, name := range []string{".claude", ".claude.json"} {
			own[filepath.Join(home, name)] = changed(filepath.Join(home, name))
		}
	}
	return own
}

func changed(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// check compares the times with the current ones. A user of Claude Code may be using it during the
// test, so a change is only logged, except in CI.
func (own ownHome) check(t *testing.T) {
	t.Helper()
	for path, before := range own {
		after := changed(path)
		switch {
		case after.Equal(before):
		case before.IsZero() || os.Getenv("CI") == "true":
			t.Errorf("%s changed at %v", path, after)
		default:
			t.Logf("%s changed at %v, by these runs or by its user", path, after)
		}
	}
}

// sent reports whether words are in a request to the model.
func (r *realRun) sent(words string) bool {
	for _, req := range r.model.AllRequests() {
		var header bytes.Buffer
		_ = req.Header.Write(&header)
		if bytes.Contains(req.Body, []byte(words)) || bytes.Contains(header.Bytes(), []byte(words)) {
			return true
		}
	}
	return false
}

// checkPrivate looks for the marker in the requests and the output of the agent.
func (r *realRun) checkPrivate() {
	r.t.Helper()
	if r.sent(callerMarker) {
		r.t.Error("the agent sent the model something of the caller")
	}
	for _, msg := range r.messages {
		if bytes.Contains([]byte(msg.Raw()), []byte(callerMarker)) {
			r.t.Errorf("the agent knows something of the caller: %s", msg.Raw())
		}
	}
}

// realHome shows that the test would find the marker if the agent read the settings.
func realHome(r *realRun) {
	const marker = "clewtest-given"
	home := plantHome(r.t, marker)
	r.model.On("Say hello").Reply(clewtest.Text("Hello."))
	r.env = []string{"HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude")}
	before := readTree(r.t, home)
	r.ask("Say hello")
	if !r.sent(marker) {
		r.t.Error("the agent did not read the home that it was given")
	}
	if len(readTree(r.t, home)) == len(before) {
		r.t.Error("the agent left nothing in the home that it was given")
	}
}
