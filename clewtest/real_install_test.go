//go:build unix

package clewtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// installer returns the command that installs the agent, with a script in place of npm. Tests of it don't run beside
// others: a process that one of them starts may hold the script open for writing, and then it does not start.
func installer(t *testing.T, npm string, args ...string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs("../.ci/install-agent")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\n"+npm), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), script, args...)
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + bin}
	return cmd
}

// wantEmpty checks that a folder has nothing in it.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%s: %v, %v", dir, entries, err)
	}
}

// fakeInstall is an npm that installs a script, which prints the version 1.2.3.
const fakeInstall = `while [ $# -gt 1 ]; do
	if [ "$1" = --prefix ]; then prefix=$2; fi
	shift
done
dir=$prefix/node_modules/${1%@*}
mkdir -p "$dir"
printf '#!/bin/sh\necho 1.2.3 "(Claude Code)"\n' >"$dir/claude"
`

func TestInstallAgent(t *testing.T) {
	tests := []struct {
		name, npm, version string
		want               string // in the output; "" for success
	}{
		{"the version", fakeInstall, "1.2.3", ""},
		{"another version", fakeInstall, "1.2.4", "is version 1.2.3 (Claude Code), not 1.2.4"},
		{"npm fails", "echo no network >&2; exit 7", "1.2.3", "no network"},
		{"no version", fakeInstall, "", "usage: install-agent VERSION FILE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			out, err := installer(t, tt.npm, tt.version, filepath.Join(dir, "claude")).CombinedOutput()
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

func TestInstallAgentInterrupted(t *testing.T) {
	dir, fifo := t.TempDir(), filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := installer(t, "echo $$ >'"+fifo+"'\nexec sleep 600\n", "1.2.3", filepath.Join(dir, "claude"))
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
	defer func() { _ = syscall.Kill(npm, syscall.SIGKILL) }()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 143 {
		t.Errorf("the script ended with %v", err)
	}
	if err := syscall.Kill(npm, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("npm is still there: %v", err)
	}
	wantEmpty(t, dir)
}
