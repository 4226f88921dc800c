package process

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

var (
	program   = &fstest.MapFile{Mode: 0o755}
	plain     = &fstest.MapFile{Mode: 0o644}
	directory = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
)

// fake returns a finder for a system with these variables and files. Its paths start with a slash,
// even if it stands for Windows.
func fake(env map[string]string, files fstest.MapFS) *finder {
	below := func(path string) string { return strings.TrimPrefix(filepath.ToSlash(path), "/") }
	return &finder{
		getenv:  func(name string) string { return env[name] },
		stat:    func(path string) (fs.FileInfo, error) { return files.Stat(below(path)) },
		readDir: func(path string) ([]fs.DirEntry, error) { return files.ReadDir(below(path)) },
	}
}

// places lists where Find looks on Unix if no binary is named.
var places = []string{
	"PATH", "/home/u/.local/bin/claude", "/home/u/.claude/local/claude", "/home/u/.npm-global/bin/claude",
	"/usr/local/bin/claude", "/opt/homebrew/bin/claude", "/home/linuxbrew/.linuxbrew/bin/claude",
	"/home/u/node_modules/.bin/claude", "/home/u/.yarn/bin/claude", "/home/u/.bun/bin/claude", "/home/u/.volta/bin/claude",
	"/home/u/.nvm/versions/node/*/bin/claude",
}

func TestFind(t *testing.T) {
	t.Parallel()
	skipOnWindows(t, "the paths of this test are not absolute here")
	tests := []struct {
		name     string
		explicit string
		env      map[string]string
		files    fstest.MapFS
		want     string
		looked   []string
	}{
		{
			name: "a path", explicit: "/x/claude", env: map[string]string{"CLEW_AGENT": "/y/claude"},
			files: fstest.MapFS{"x/claude": program, "y/claude": program},
			want:  "/x/claude", looked: []string{"/x/claude"},
		},
		{
			name: "a path that is not there", explicit: "/x/claude", env: map[string]string{"PATH": "/bin"},
			files:  fstest.MapFS{"bin/claude": program},
			looked: []string{"/x/claude (no such file)"},
		},
		{
			name: "a directory", explicit: "/x", files: fstest.MapFS{"x": directory},
			looked: []string{"/x (a directory)"},
		},
		{
			name: "not executable", explicit: "/x", files: fstest.MapFS{"x": plain},
			looked: []string{"/x (not executable)"},
		},
		{
			name: "a name", explicit: "claude-next", env: map[string]string{"PATH": "/bin:/opt/bin"},
			files: fstest.MapFS{"bin/claude-next": plain, "opt/bin/claude-next": program},
			want:  "/opt/bin/claude-next", looked: []string{"claude-next"},
		},
		{
			name: "a name that is not there", explicit: "claude-next", env: map[string]string{"PATH": "/bin", "HOME": "/home/u"},
			files:  fstest.MapFS{"bin/claude": program},
			looked: []string{"claude-next (not in PATH)"},
		},
		{
			name: "the variable", env: map[string]string{"CLEW_AGENT": "/y/claude", "PATH": "/bin"},
			files: fstest.MapFS{"bin/claude": program, "y/claude": program},
			want:  "/y/claude", looked: []string{"CLEW_AGENT=/y/claude"},
		},
		{
			name: "the variable leads nowhere", env: map[string]string{"CLEW_AGENT": "/y/claude", "PATH": "/bin"},
			files:  fstest.MapFS{"bin/claude": program},
			looked: []string{"CLEW_AGENT=/y/claude (no such file)"},
		},
		{
			name: "PATH", env: map[string]string{"PATH": "/sbin:/bin", "HOME": "/home/u"},
			files: fstest.MapFS{"bin/claude": program, "home/u/.local/bin/claude": program},
			want:  "/bin/claude", looked: []string{"PATH"},
		},
		{
			name: "installed", env: map[string]string{"PATH": "/bin", "HOME": "/home/u"},
			files: fstest.MapFS{"home/u/.claude/local/claude": program, "usr/local/bin/claude": program},
			want:  "/home/u/.claude/local/claude", looked: places[:3],
		},
		{
			name: "installed and not executable", env: map[string]string{"HOME": "/home/u"},
			files:  fstest.MapFS{"home/u/.local/bin/claude": plain, "home/u/.claude/local/claude": program},
			want:   "/home/u/.claude/local/claude",
			looked: []string{"PATH", "/home/u/.local/bin/claude (not executable)", "/home/u/.claude/local/claude"},
		},
		{
			name: "the newest Node.js that has it", env: map[string]string{"HOME": "/home/u"},
			files: fstest.MapFS{
				"home/u/.nvm/versions/node/v9.11.2/bin/claude":  program,
				"home/u/.nvm/versions/node/v18.20.4/bin/claude": program,
				"home/u/.nvm/versions/node/v18.9.1/bin/claude":  program,
				"home/u/.nvm/versions/node/v22.1.0/bin/node":    program,
				"home/u/.nvm/versions/node/.DS_Store":           plain,
			},
			want: "/home/u/.nvm/versions/node/v18.20.4/bin/claude", looked: places,
		},
		{
			name: "nowhere", env: map[string]string{"PATH": "/bin", "HOME": "/home/u"}, looked: places,
		},
		{
			name:   "nowhere and no home",
			looked: append(places[:1:1], places[4:7]...),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := fake(test.env, test.files)
			got, err := f.find(test.explicit)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			if diff := cmp.Diff(test.looked, f.looked); diff != "" {
				t.Errorf("looked (-want +got):\n%s", diff)
			}
			if err != nil && test.explicit != "" && !strings.Contains(err.Error(), test.explicit) {
				t.Errorf("%v does not name %s", err, test.explicit)
			}
		})
	}
}

func TestFindOnWindows(t *testing.T) {
	t.Parallel()
	skipOnWindows(t, "the paths of this test are not absolute here")
	const npm = "node_modules/@anthropic-ai/claude-code/bin/claude.exe"
	env := map[string]string{"PATH": "/npm:/bin", "USERPROFILE": "/u", "APPDATA": "/u/data"}
	tests := []struct {
		name, explicit string
		files          fstest.MapFS
		want           string
		looked         []string
	}{
		{
			name:  "an exe before what a shim leads to",
			files: fstest.MapFS{"npm/claude.cmd": plain, "npm/" + npm: plain, "bin/claude.exe": plain},
			want:  "/bin/claude.exe", looked: []string{"PATH"},
		},
		{
			name:  "what a shim leads to",
			files: fstest.MapFS{"npm/claude.cmd": plain, "npm/" + npm: plain, "u/.local/bin/claude.exe": plain},
			want:  "/npm/" + npm, looked: []string{"PATH"},
		},
		{
			name: "installed", files: fstest.MapFS{"npm/claude.cmd": plain, "u/.local/bin/claude.exe": plain},
			want: "/u/.local/bin/claude.exe", looked: []string{"PATH", "/u/.local/bin/claude.exe"},
		},
		{
			name: "npm", files: fstest.MapFS{"u/data/npm/" + npm: plain},
			want: "/u/data/npm/" + npm, looked: []string{"PATH", "/u/.local/bin/claude.exe", "/u/data/npm/" + npm},
		},
		{
			name: "a name", explicit: "agent", files: fstest.MapFS{"npm/agent.cmd": plain, "bin/agent.exe": plain},
			want: "/bin/agent.exe", looked: []string{"agent"},
		},
		{
			name: "a name with its ending", explicit: "agent.exe", files: fstest.MapFS{"bin/agent.exe": plain},
			want: "/bin/agent.exe", looked: []string{"agent.exe"},
		},
		{
			name: "nowhere", files: fstest.MapFS{"npm/claude.cmd": plain, "bin/claude": plain},
			looked: []string{"PATH", "/u/.local/bin/claude.exe", "/u/data/npm/" + npm},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := fake(env, test.files)
			f.windows = true
			got, err := f.find(test.explicit)
			if got != test.want || (err == nil) != (test.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
			if diff := cmp.Diff(test.looked, f.looked); diff != "" {
				t.Errorf("looked (-want +got):\n%s", diff)
			}
		})
	}
}

// A binary in the working directory must not be found by its name alone.
func TestFindNotInWorkingFolder(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"agent-here", "agent-here.exe"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, path := range []string{"", ".", string(filepath.ListSeparator), "." + string(filepath.ListSeparator) + "./"} {
		t.Setenv("PATH", path)
		if got, _, err := Find("agent-here"); err == nil {
			t.Errorf("PATH=%q: got %q", path, got)
		}
	}
	got, looked, err := Find("./agent-here")
	if err != nil || !filepath.IsAbs(got) || filepath.Base(got) != "agent-here" {
		t.Errorf("got %q, %v", got, err)
	}
	if diff := cmp.Diff([]string{"./agent-here"}, looked); diff != "" {
		t.Errorf("looked (-want +got):\n%s", diff)
	}
}
