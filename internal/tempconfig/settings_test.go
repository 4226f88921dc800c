package tempconfig

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCopySettings(t *testing.T) {
	t.Parallel()
	const tokens = `{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":12345678901234567890},` +
		`"mcpOAuth":{"s":{"refresh_token":"r","list":[{"refreshToken":"r","keep":1}]}},"refreshToken":"r"}`
	const withoutRefresh = `{"claudeAiOauth":{"accessToken":"a","expiresAt":12345678901234567890},` +
		`"mcpOAuth":{"s":{"list":[{"keep":1}]}}}`
	tests := []struct {
		name     string
		settings map[string]string
		home     map[string]string
		keychain string
		want     map[string]string
	}{
		{name: "nothing"},
		{
			name: "everything",
			settings: map[string]string{
				".credentials.json": tokens, ".config.json": "old", "other.json": "{}", ".claude.json": "not this one",
				"settings.json": "\ufeff" + `{"model":"opus","enabledPlugins":{},"extraKnownMarketplaces":{},` +
					`"additionalMarketplaces":{},"env":{"CLAUDE_CONFIG_DIR":"/x","A":"b"}}`,
				"cowork_settings.json": `{"enabledPlugins":{"a":true},"b":1.0}`,
			},
			home: map[string]string{".claude.json": `{ "as": "it is" }`},
			want: map[string]string{
				".credentials.json": withoutRefresh, ".config.json": "old", ".claude.json": `{ "as": "it is" }`,
				"settings.json": `{"env":{"A":"b"},"model":"opus"}`, "cowork_settings.json": `{"b":1.0}`,
			},
		},
		{
			name: "what is not JSON",
			settings: map[string]string{
				".credentials.json": "refreshToken", "settings.json": "[1]", "cowork_settings.json": "{} {}",
			},
		},
		{
			name: "a keychain", settings: map[string]string{".credentials.json": `{"a":1}`}, keychain: tokens,
			want: map[string]string{".credentials.json": withoutRefresh},
		},
		{
			name: "a keychain without the item", settings: map[string]string{".credentials.json": `{"a":1}`},
			want: map[string]string{".credentials.json": `{"a":1}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f, _ := newFolder(t)
			from := Source{Dir: t.TempDir(), HomeDir: t.TempDir()}
			from.Credentials = func(context.Context) []byte { return []byte(tt.keychain) }
			writeFiles(t, from.Dir, tt.settings)
			writeFiles(t, from.HomeDir, tt.home)
			if err := f.CopySettings(t.Context(), from); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, readFiles(t, f.Path())); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

// Files that are not regular, or can't be read, are skipped.
func TestCopySettingsSkips(t *testing.T) {
	t.Parallel()
	f, _ := newFolder(t)
	dir := t.TempDir()
	for _, name := range []string{".credentials.json", "settings.json"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFiles(t, dir, map[string]string{".claude.json": "{}"})
	if err := os.Chmod(filepath.Join(dir, ".claude.json"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.CopySettings(t.Context(), Source{Dir: dir, HomeDir: dir}); err != nil {
		t.Fatal(err)
	}
	got := readFiles(t, f.Path())
	if os.Geteuid() <= 0 { // root can read everything, and Windows has no modes
		delete(got, ".claude.json")
	}
	if len(got) > 0 {
		t.Errorf("files %v", got)
	}
}

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// readFiles returns the files in a directory except the lock. All must be private.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]string
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != fileMode && runtime.GOOS != "windows" {
			t.Errorf("%s has the mode %v", entry.Name(), info.Mode())
		}
		if entry.Name() == lockName {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if files == nil {
			files = make(map[string]string)
		}
		files[entry.Name()] = string(content)
	}
	return files
}
