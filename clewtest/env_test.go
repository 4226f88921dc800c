package clewtest

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestModelEnv(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows needs variables of its own")
	}
	for _, name := range []string{"ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDECODE", "NODE_OPTIONS", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "of the caller")
	}
	t.Setenv("PATH", "/of/the/caller")
	m := NewModel(t)
	root := filepath.Dir(m.Home())
	want := map[string]string{
		"PATH":                "/of/the/caller",
		"HOME":                m.Home(),
		"TMPDIR":              filepath.Join(root, "tmp"),
		"LANG":                "C.UTF-8",
		"CLAUDE_CONFIG_DIR":   m.ConfigDir(),
		"ANTHROPIC_BASE_URL":  m.URL(),
		"ANTHROPIC_API_KEY":   "clewtest",
		"DISABLE_AUTOUPDATER": "1",
		"HTTP_PROXY":          m.URL(),
		"HTTPS_PROXY":         m.URL(),
		"NO_PROXY":            "127.0.0.1,localhost,::1",
		"http_proxy":          m.URL(),
		"https_proxy":         m.URL(),
		"no_proxy":            "127.0.0.1,localhost,::1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	}
	if os.Geteuid() == 0 {
		want["IS_SANDBOX"] = "1"
	}
	got := map[string]string{}
	for _, pair := range m.Env() {
		name, value, _ := strings.Cut(pair, "=")
		got[name] = value
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestModelFoldersEndWithTest(t *testing.T) {
	t.Parallel()
	var root string
	t.Run("inner", func(t *testing.T) {
		m := NewModel(t)
		root = filepath.Dir(m.Home())
		for _, dir := range []string{m.Home(), m.ConfigDir(), filepath.Join(root, "tmp")} {
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
				t.Errorf("%s: %d entries, %v", dir, len(entries), err)
			}
		}
	})
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", root, err)
	}
}
