package settings_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/settings"
	"github.com/clewdev/clew/wire"
)

// place returns options for a directory with these files, and none of this machine.
func place(t *testing.T, files map[string]string) *settings.Options {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &settings.Options{
		Dir: filepath.Join(dir, "work"), ConfigDir: filepath.Join(dir, "config"), ManagedDir: filepath.Join(dir, "managed"),
	}
}

func sources(from []settings.Origin) string {
	var names []string
	for _, o := range from {
		names = append(names, string(o.Source))
	}
	return strings.Join(names, " ")
}

var layered = map[string]string{
	"config/settings.json":              `{"model":"opus","permissions":{"allow":["Read"],"deny":["Bash"]},"env":{"A":"1"},"days":3.50}`,
	"work/.claude/settings.json":        `{"permissions":{"allow":["Edit","Read"],"defaultMode":"plan"},"env":{"A":"2"},"hooks":{"Stop":[{"a":1}]}}`,
	"work/.claude/settings.local.json":  "\ufeff" + `{"model":"haiku","hooks":{"Stop":[{"a":1}]},"env":{"C":"<4>"}}`,
	"managed/managed-settings.json":     `{"permissions":{"deny":["WebFetch"]},"model":"sonnet"}`,
	"managed/managed-settings.d/b.json": `{"last":2}`,
	"managed/managed-settings.d/a.json": `{"last":1}`,
	"managed/managed-settings.d/c.txt":  `{"last":3}`,
}

func TestResolve(t *testing.T) {
	t.Parallel()
	opts := place(t, layered)
	opts.Flag = `{"env":{"F":"5"}}`
	resolved, err := settings.Resolve(opts)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][2]string{
		"model":       {`"sonnet"`, "user local managed"},
		"permissions": {`{"allow":["Read","Edit"],"defaultMode":"plan","deny":["Bash","WebFetch"]}`, "user project managed"},
		"env":         {`{"A":"2","C":"<4>","F":"5"}`, "user project local flag"},
		"days":        {`3.50`, "user"},
		"hooks":       {`{"Stop":[{"a":1},{"a":1}]}`, "project local"},
		"last":        {`2`, "managed managed"},
	}
	got := map[string][2]string{}
	for name, s := range resolved.Settings {
		got[name] = [2]string{string(s.Value), sources(s.From)}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var effective map[string]json.RawMessage
	if err := resolved.Effective.Decode(&effective); err != nil || len(effective) != len(want) {
		t.Errorf("effective %s, %v", resolved.Effective, err)
	}
	if from := resolved.Settings["days"].From[0]; from.Path != filepath.Join(opts.ConfigDir, "settings.json") || len(resolved.Files) != 7 {
		t.Errorf("from %v, of %d files", from, len(resolved.Files))
	}
}

func TestResolveSources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sources []settings.Source
		model   wire.JSON
	}{
		"user": {[]settings.Source{settings.User}, `"opus"`},
		"all":  {nil, `"haiku"`},
		"none": {[]settings.Source{}, ""},
	} {
		opts := place(t, layered)
		opts.Sources, opts.ManagedDir = c.sources, t.TempDir()
		resolved, err := settings.Resolve(opts)
		if err != nil || resolved.Settings["model"].Value != c.model {
			t.Errorf("%s: %+v, %v", name, resolved, err)
		}
	}
}

// A bad file costs only itself, and is named.
func TestResolveBadFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut": `{"model":`, "list": `[]`, "null": `null`, "empty": ``, "more": `{} {}`, "deep": strings.Repeat(`{"a":`, 20_000),
	} {
		opts := place(t, map[string]string{"config/settings.json": `{"model":"opus"}`, "work/.claude/settings.json": text})
		resolved, err := settings.Resolve(opts)
		if err != nil || resolved.Effective != `{"model":"opus"}` || len(resolved.Files) != 2 {
			t.Errorf("%s: %+v, %v", name, resolved, err)
			continue
		}
		if bad := resolved.Files[1]; bad.Err == nil || !strings.Contains(bad.Err.Error(), bad.Path) || bad.Settings != "" {
			t.Errorf("%s: %+v", name, bad)
		}
	}
	opts := place(t, nil)
	if err := os.MkdirAll(filepath.Join(opts.ConfigDir, "settings.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if resolved, err := settings.Resolve(opts); err != nil || len(resolved.Files) != 1 || resolved.Files[0].Err == nil {
		t.Errorf("a directory: %+v, %v", resolved, err)
	}
	opts = place(t, nil)
	opts.Flag = `[]`
	if _, err := settings.Resolve(opts); err == nil {
		t.Error("a flag that is no object is no error")
	}
	if resolved, err := settings.Resolve(place(t, nil)); err != nil || resolved.Effective != "{}" || resolved.Files != nil {
		t.Errorf("nothing: %+v, %v", resolved, err)
	}
}

// The directory of the user's settings is the first of a list, unless a comma is part of its name. It is taken as it is,
// as the agent takes it.
func TestDir(t *testing.T) {
	dir := t.TempDir()
	home, comma := filepath.Join(dir, "home"), filepath.Join(dir, "a,b")
	for _, name := range []string{"HOME", "USERPROFILE"} {
		t.Setenv(name, home)
	}
	if err := os.Mkdir(comma, 0o700); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		"":                                  filepath.Join(home, ".claude"),
		" , ~/other,x":                      "~/other",
		filepath.Join(dir, "x") + "," + dir: filepath.Join(dir, "x"),
		filepath.Join(dir, "projects"):      filepath.Join(dir, "projects"),
		comma:                               comma,
	} {
		t.Setenv("CLAUDE_CONFIG_DIR", value)
		if got, err := settings.Dir(); got != want || err != nil {
			t.Errorf("%q: got %q, %v", value, got, err)
		}
	}
}
