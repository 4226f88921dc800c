//go:build unix

package clewtest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/shelltest"
)

// A findTB is a test that calls RealAgent. It records how the call ended.
type findTB struct {
	testing.TB
	log []string
}

// A findEnd is the panic with which a findTB ends the test.
type findEnd struct{}

func (tb *findTB) Logf(format string, args ...any) { tb.note("log", fmt.Sprintf(format, args...)) }
func (tb *findTB) Fatalf(format string, args ...any) {
	tb.note("fatal", fmt.Sprintf(format, args...))
	panic(findEnd{})
}
func (tb *findTB) Fatal(args ...any) { tb.note("fatal", fmt.Sprint(args...)); panic(findEnd{}) }
func (tb *findTB) Skip(args ...any)  { tb.note("skip", fmt.Sprint(args...)); panic(findEnd{}) }

func (tb *findTB) note(kind, text string) { tb.log = append(tb.log, kind+": "+text) }

// findAgent calls RealAgent and returns the path and the reports, both without root.
func findAgent(t *testing.T, root string) []string {
	t.Helper()
	tb := &findTB{TB: t}
	func() {
		defer func() {
			if end := recover(); end != nil && end != (findEnd{}) {
				panic(end)
			}
		}()
		tb.note("path", RealAgent(tb))
	}()
	for i := range tb.log {
		tb.log[i] = strings.ReplaceAll(tb.log[i], root, "")
	}
	return tb.log
}

// fakeAgent writes a script that prints a version.
func fakeAgent(t *testing.T, path, version string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	shelltest.Write(t, path, "echo '"+version+" (Claude Code)'")
}

// A binary that prints without end is stopped, and its output is not kept.
func TestRealAgentPrintsTooMuch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claude")
	shelltest.Write(t, path, "exec cat /dev/zero")
	if _, err := runVersion(path); err == nil || !strings.HasSuffix(err.Error(), "claude --version printed more than 4096 bytes") {
		t.Errorf("error %v", err)
	}
}

func TestRealAgentFind(t *testing.T) {
	tests := []struct {
		name   string
		agents map[string]string // versions by path below the root
		env    string            // CLEW_AGENT, with ROOT for the root
		ci     string
		gomod  string
		want   []string
	}{
		{name: "nothing", want: []string{"skip: " + missingAgent}},
		{name: "nothing in CI", ci: "true", want: []string{"fatal: " + missingAgent}},
		{
			name: "the variable", env: "ROOT/a/claude", agents: map[string]string{"/a/claude": AgentVersion},
			want: []string{"path: /a/claude"},
		},
		{
			name: "the variable, another version", env: "ROOT/a/claude", agents: map[string]string{"/a/claude": "9.9.9"},
			want: []string{"log: clewtest: CLEW_AGENT is Claude Code 9.9.9, not " + AgentVersion, "path: /a/claude"},
		},
		{
			name: "the variable leads nowhere", env: "ROOT/a/claude",
			want: []string{"fatal: clewtest: CLEW_AGENT: /a/claude --version: fork/exec /a/claude: no such file or directory"},
		},
		{
			name: "the variable, a relative path", env: "../../a/claude", agents: map[string]string{"/mod/a/claude": AgentVersion},
			want: []string{"path: /mod/a/claude"},
		},
		{
			name: "the variable, a name", env: "clewtest-claude",
			agents: map[string]string{"/bin/clewtest-claude": AgentVersion, "/mod/sub/folder/clewtest-claude": "9.9.9"},
			want:   []string{"path: /bin/clewtest-claude"},
		},
		{
			name: "the variable, a name that leads nowhere", env: "clewtest-claude",
			want: []string{`fatal: clewtest: CLEW_AGENT: exec: "clewtest-claude": executable file not found in $PATH`},
		},
		{
			name: "the repository", gomod: "// Clew\nmodule github.com/clewdev/clew\n",
			agents: map[string]string{
				"/mod/.cache/agent/" + AgentVersion + "/claude": AgentVersion,
				"/user/clew/agent/" + AgentVersion + "/claude":  AgentVersion,
			},
			want: []string{"path: /mod/.cache/agent/" + AgentVersion + "/claude"},
		},
		{
			name: "another repository", gomod: "module example.com/other\n",
			agents: map[string]string{
				"/mod/.cache/agent/" + AgentVersion + "/claude": AgentVersion,
				"/user/clew/agent/" + AgentVersion + "/claude":  AgentVersion,
			},
			want: []string{"path: /user/clew/agent/" + AgentVersion + "/claude"},
		},
		{
			name:   "a cache with another version",
			agents: map[string]string{"/user/clew/agent/" + AgentVersion + "/claude": "9.9.9"},
			want: []string{"fatal: clewtest: /user/clew/agent/" + AgentVersion + "/claude is version 9.9.9: remove it, and install " +
				AgentVersion},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for path, version := range tt.agents {
				fakeAgent(t, root+path, version)
			}
			work := filepath.Join(root, "mod", "sub", "folder")
			if err := os.MkdirAll(work, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "mod", "go.mod"), []byte(tt.gomod), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Chdir(work)
			t.Setenv("CI", tt.ci)
			t.Setenv("HOME", root)
			t.Setenv("XDG_CACHE_HOME", filepath.Join(root, "user"))
			t.Setenv("PATH", filepath.Join(root, "bin")+":"+os.Getenv("PATH"))
			t.Setenv("CLEW_AGENT", strings.ReplaceAll(tt.env, "ROOT", root))
			if diff := cmp.Diff(tt.want, findAgent(t, root)); diff != "" {
				t.Errorf("RealAgent (-want +got):\n%s", diff)
			}
		})
	}
}

// installer returns the command that installs the agent, with a script in place of npm. Tests of it
// are not parallel: a process that another test starts may hold the script open for writing, and
// then it does not start.
func installer(t *testing.T, npm string, args ...string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs("../.ci/install-agent")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	shelltest.Write(t, filepath.Join(bin, "npm"), npm)
	cmd := exec.CommandContext(t.Context(), script, args...)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + bin}
	return cmd
}

// wantEmpty checks that a directory is empty.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%s: %v, %v", dir, entries, err)
	}
}

// fakePack returns an npm that packs a script of that name, which prints the version 1.2.3, and the
// hash of the package.
func fakePack(t *testing.T, name string) (npm, integrity string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude.tgz")
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	files := tar.NewWriter(compressed)
	script := "#!/bin/sh\necho 1.2.3 '(Claude Code)'\n"
	err := files.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o600, Size: int64(len(script))})
	_, werr := files.Write([]byte(script))
	if err := errors.Join(err, werr, files.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	hash := sha512.Sum512(packed.Bytes())
	npm = `while [ $# -gt 1 ]; do
	if [ "$1" = --pack-destination ]; then cp '` + path + `' "$2"; fi
	shift
done
`
	return npm, "sha512-" + base64.StdEncoding.EncodeToString(hash[:])
}

// agentPackages are the packages of npm that the script knows.
var agentPackages = []string{"darwin-arm64", "darwin-x64", "linux-arm64", "linux-arm64-musl", "linux-x64", "linux-x64-musl"}

// writeHashes makes a file with the same hash for all packages of a version.
func writeHashes(t *testing.T, version, integrity string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hashes")
	var b strings.Builder
	for _, name := range agentPackages {
		fmt.Fprintf(&b, "%s @anthropic-ai/claude-code-%s %s\n", version, name, integrity)
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInstallAgent(t *testing.T) {
	npm, integrity := fakePack(t, "claude")
	tests := []struct {
		name, npm, version, hashed, integrity string
		want                                  string // in the output; "" for success
	}{
		{"the version", npm, "1.2.3", "1.2.3", integrity, ""},
		{"another version", npm, "1.2.4", "1.2.4", integrity, "is version 1.2.3 (Claude Code), not 1.2.4"},
		{"another package", npm, "1.2.3", "1.2.3", "sha512-abc=", "is " + integrity + ", not sha512-abc="},
		{"no hash", npm, "1.2.3", "1.2.4", integrity, "has no hash of @anthropic-ai/claude-code-"},
		{"npm fails", "echo no network >&2; exit 7", "1.2.3", "1.2.3", integrity, "no network"},
		{"no version", npm, "", "1.2.3", integrity, "usage: install-agent VERSION FILE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, hashes := t.TempDir(), writeHashes(t, tt.hashed, tt.integrity)
			out, err := installer(t, tt.npm, tt.version, filepath.Join(dir, "claude"), hashes).CombinedOutput()
			if tt.want == "" {
				if version, verr := runVersion(filepath.Join(dir, "claude")); err != nil || verr != nil || version != tt.version {
					t.Errorf("%v, version %q, %v\n%s", err, version, verr, out)
				}
				return
			}
			if err == nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v, output lacks %q:\n%s", err, tt.want, out)
			}
			wantEmpty(t, dir)
		})
	}
}

// Older versions are one package for all systems, with a script that needs the files beside it.
func TestInstallAgentOfOnePackage(t *testing.T) {
	npm, integrity := fakePack(t, "cli.js")
	dir := t.TempDir()
	file, hashes := filepath.Join(dir, "claude"), filepath.Join(t.TempDir(), "hashes")
	if err := os.WriteFile(hashes, []byte("1.2.3 @anthropic-ai/claude-code "+integrity+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it also replaces what is there
		out, err := installer(t, npm, "1.2.3", file, hashes).CombinedOutput()
		if version, verr := runVersion(file); err != nil || verr != nil || version != "1.2.3" {
			t.Errorf("%v, version %q, %v\n%s", err, version, verr, out)
		}
	}
	if _, err := os.Stat(file + ".package/cli.js"); err != nil {
		t.Error(err)
	}
}

// Each package of the pinned version has a hash.
func TestAgentHashes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../.ci/agent-integrity")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range agentPackages {
		line := `(?m)^` + regexp.QuoteMeta(AgentVersion+" @anthropic-ai/claude-code-"+name) + ` sha512-[A-Za-z0-9+/]{86}==$`
		if n := len(regexp.MustCompile(line).FindAll(text, -1)); n != 1 {
			t.Errorf("%s has %d hashes", name, n)
		}
	}
}

func TestInstallAgentInterrupted(t *testing.T) {
	dir, fifo := t.TempDir(), filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := installer(t, "echo $$ >'"+fifo+"'\nexec sleep 600\n", "1.2.3", filepath.Join(dir, "claude"),
		writeHashes(t, "1.2.3", "sha512-abc="))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := os.ReadFile(fifo) // waits for npm to open it
	if err != nil {
		t.Fatal(err)
	}
	npm, err := strconv.Atoi(strings.TrimSpace(string(line)))
	if err != nil {
		t.Fatal(err)
	}
	ended := false // then another process may get the number
	defer func() {
		if !ended {
			_ = syscall.Kill(npm, syscall.SIGKILL)
		}
	}()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("the script ended with %v", err)
	}
	polltest.UntilEnded(t, npm)
	ended = true
	wantEmpty(t, dir)
}
