package clewtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// AgentVersion is the version of Claude Code that this package is tested with, and that [RealAgent]
// looks for.
const AgentVersion = "2.1.326"

// modulePath is this module, whose repository keeps Claude Code in its cache directory.
const modulePath = "github.com/clewdev/clew"

// RealAgent returns the absolute path of the claude binary, version [AgentVersion]. It looks in
// this order:
//
//   - CLEW_AGENT names a binary. It may have another version than AgentVersion, which is logged. A
//     name without a slash is looked up in PATH. A relative path starts in the working directory of
//     the test, which "go test" sets to the directory of the package.
//   - .cache/agent/VERSION in the Clew repository, if the test runs inside it. "make agent"
//     installs it there.
//   - clew/agent/VERSION in the user's cache directory, see [os.UserCacheDir]. Nothing installs it
//     there: put a binary there by hand to use it in all projects.
//
// If there is no binary, RealAgent skips the test, or fails it if the variable CI is "true". It
// also fails the test if CLEW_AGENT does not name a binary that runs, or if a cache holds another
// version. The first call for a path runs the binary once, with --version.
func RealAgent(tb testing.TB) string {
	tb.Helper()
	if name := os.Getenv("CLEW_AGENT"); name != "" {
		path, version, err := namedAgent(name)
		if err != nil {
			tb.Fatalf("clewtest: CLEW_AGENT: %v", err)
		}
		if version != AgentVersion {
			tb.Logf("clewtest: CLEW_AGENT is Claude Code %s, not %s", version, AgentVersion)
		}
		return path
	}
	path, err := cachedAgent()
	switch {
	case err != nil:
		tb.Fatalf("clewtest: %v", err)
	case path == "" && os.Getenv("CI") == "true":
		tb.Fatal(missingAgent)
	case path == "":
		tb.Skip(missingAgent)
	}
	return path
}

const missingAgent = "clewtest: Claude Code " + AgentVersion + " is not here: run \"make agent\" in the Clew repository, " +
	"or install the npm package of your platform, such as @anthropic-ai/claude-code-linux-x64@" + AgentVersion +
	", and set CLEW_AGENT to the path of its file claude"

// namedAgent returns the absolute path and the version of the binary with this name or path.
func namedAgent(name string) (path, version string, err error) {
	if filepath.Base(name) == name {
		if name, err = exec.LookPath(name); err != nil {
			return "", "", err
		}
	}
	if path, err = filepath.Abs(name); err != nil {
		return "", "", err
	}
	version, err = agentVersion(path)
	return path, version, err
}

// cachedAgent returns the path of the first agent binary in a cache, or "". The error explains why
// it can't be used.
func cachedAgent() (string, error) {
	for _, dir := range agentCaches() {
		path := filepath.Join(dir, AgentVersion, agentFile())
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}
		version, err := agentVersion(path)
		if err == nil && version != AgentVersion {
			err = fmt.Errorf("%s is version %s: remove it, and install %s", path, version, AgentVersion)
		}
		return path, err
	}
	return "", nil
}

// agentCaches returns the directories that may hold the agent, in subdirectories by version.
func agentCaches() []string {
	var dirs []string
	if wd, err := os.Getwd(); err == nil {
		if root := moduleRoot(wd); root != "" {
			dirs = append(dirs, filepath.Join(root, ".cache", "agent"))
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(cache, "clew", "agent"))
	}
	return dirs
}

// moduleRoot returns the nearest directory from dir upwards that has the go.mod of this module, or
// "".
func moduleRoot(dir string) string {
	for {
		if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && isModule(string(data)) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// isModule reports whether gomod names this module.
func isModule(gomod string) bool {
	for line := range strings.Lines(gomod) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`) == modulePath
		}
	}
	return false
}

func agentFile() string {
	if runtime.GOOS == "windows" {
		return "claude.exe"
	}
	return "claude"
}

// versions caches the results of agentVersion by path: starting a binary of this size takes a
// while.
var versions sync.Map // of string to func() (string, error)

// agentVersion returns the version that the binary at path, which is absolute, prints.
func agentVersion(path string) (string, error) {
	once, _ := versions.LoadOrStore(path, sync.OnceValues(func() (string, error) { return runVersion(path) }))
	return once.(func() (string, error))()
}

// versionTimeout bounds a run of the binary with --version, even on a busy machine.
const versionTimeout = 5 * time.Minute

// runVersion runs the binary in an empty directory, which is also its home.
func runVersion(path string) (string, error) {
	dir, err := os.MkdirTemp("", "clewtest-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(context.Background(), versionTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "CLAUDE_CONFIG_DIR=" + dir, "DISABLE_AUTOUPDATER=1"}
	for _, name := range []string{"SystemRoot", "SystemDrive", "PATHEXT"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	var out firstOutput
	cmd.Stdout = &out
	cmd.WaitDelay = 5 * time.Second // a child of a script may keep the pipe open
	switch err := cmd.Run(); {
	case len(out) == cap(out) && cap(out) > 0:
		return "", fmt.Errorf("%s --version printed more than %d bytes", path, cap(out))
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("%s --version: %w", path, err)
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return version, nil
}

// A firstOutput keeps what a program prints first. It refuses more, which ends the program.
type firstOutput []byte

func (o *firstOutput) Write(p []byte) (int, error) {
	if *o == nil {
		*o = make([]byte, 0, 4<<10)
	}
	n := min(len(p), cap(*o)-len(*o))
	if *o = append(*o, p[:n]...); n < len(p) {
		return n, io.ErrShortWrite
	}
	return n, nil
}
