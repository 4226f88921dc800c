// Package gittest runs git in tests without the environment and the settings of the user who runs the tests.
package gittest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// settings are the variables of git in tests.
var settings = map[string]string{
	"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_ATTR_NOSYSTEM": "1", "GIT_TEMPLATE_DIR": "",
	"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
}

// Main runs the tests of a package, for its TestMain. In this process and its children, git has neither the user's
// variables, such as GIT_DIR in a hook, nor the settings of the user and the system.
func Main(m *testing.M) int {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "GIT_") {
			_ = os.Unsetenv(name) // it fails only for names that no variable has
		}
	}
	for name, value := range settings {
		_ = os.Setenv(name, value)
	}
	return m.Run()
}

// Run runs git in a directory, and returns its output without white space at its ends.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	out, err := Try(tb, dir, args...)
	if err != nil {
		tb.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// Try is like [Run], and returns the error of git.
func Try(tb testing.TB, dir string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "git", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
