package process

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/shelltest"
)

// writeScript writes an agent that prints text and notes that it ran.
func writeScript(t *testing.T, path, text string) (ran string) {
	t.Helper()
	ran = path + ".ran"
	shelltest.Write(t, path+".new", "echo x >>'"+ran+"'\n"+text)
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	return ran
}

func TestVersion(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	path := filepath.Join(t.TempDir(), "claude")
	ran := writeScript(t, path, "echo '2.1.88 (Claude Code)'")
	for range 2 {
		if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "2.1.88" || err != nil {
			t.Errorf("version %q, %v", got, err)
		}
	}
	if runs, err := os.ReadFile(ran); err != nil || string(runs) != "x\n" {
		t.Errorf("the binary ran %d times, %v", len(runs)/2, err)
	}

	writeScript(t, path, "echo '2.1.325 (Claude Code)'")
	later := time.Now().Add(time.Minute) // the clock of the file system may be coarse
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
	if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "2.1.325" || err != nil {
		t.Errorf("after an update: version %q, %v", got, err)
	}
}

// A link may lead to a program that starts another one by its own name and by the directory.
func TestVersionBehindALink(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	dir, old := t.TempDir(), t.TempDir()
	writeScript(t, filepath.Join(dir, "manager"),
		`case "$(basename "$0")-$(pwd)" in "claude-`+old+`") echo '2.1.88 (Claude Code)' ;; claude-*) echo '2.1.325 (Claude Code)' ;; esac`)
	path := filepath.Join(dir, "claude")
	if err := os.Symlink("manager", path); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{old: "2.1.88", dir: "2.1.325"} {
		if got, err := Version(t.Context(), path, in, os.Environ(), long); got != want || err != nil {
			t.Errorf("in %s: version %q, %v", in, got, err)
		}
	}
}

func TestVersionUnknown(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	for name, script := range map[string]string{
		"fails": "exit 3", "no version": "echo hello", "of another program": "echo 2025.8.20 linux-x64", "floods": "exec cat /dev/zero",
	} {
		path := filepath.Join(t.TempDir(), "claude")
		writeScript(t, path, script)
		if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "" || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: version %q, %v", name, got, err)
		}
	}
	if _, err := Version(t.Context(), filepath.Join(t.TempDir(), "none"), "", nil, long); err == nil {
		t.Error("a binary that is not there has a version")
	}
}

// runsOf returns how often a script ran.
func runsOf(t *testing.T, ran string) int {
	t.Helper()
	text, err := os.ReadFile(ran)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(text) / len("x\n")
}

// A binary that does not print its version is not asked again by each caller, and a hanging binary
// does not hold up its callers for longer than the limit.
func TestVersionFailureIsRemembered(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	t.Parallel()
	for name, test := range map[string]struct {
		script, want string
		limit        time.Duration
	}{
		"fails":  {"exit 3", "exit status 3", long},
		"floods": {"exec cat /dev/zero", "printed more than 4096 bytes", long},
		"hangs":  {"exec sleep 600", "still running after 100ms", 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "claude")
			ran := writeScript(t, path, test.script)
			for range 3 {
				_, err := Version(t.Context(), path, "", os.Environ(), test.limit)
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %s", err, test.want)
				}
			}
			if runs := runsOf(t, ran); runs > 1 {
				t.Errorf("the binary ran %d times", runs)
			}
			writeScript(t, path, "echo '2.1.325 (Claude Code)' # repaired")
			if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "2.1.325" || err != nil {
				t.Errorf("another file: version %q, %v", got, err)
			}
		})
	}
}

// Callers at once share one run.
func TestVersionAtOnce(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claude")
	ran := writeScript(t, path, "echo '2.1.88 (Claude Code)'")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "2.1.88" || err != nil {
				t.Errorf("version %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if runs := runsOf(t, ran); runs != 1 {
		t.Errorf("the binary ran %d times", runs)
	}
}

// A caller that gives up leaves the run to another one.
func TestVersionGivenUp(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claude")
	ran := writeScript(t, path, "[ $(wc -l <'"+path+".ran') -gt 1 ] || exec sleep 600\necho '2.1.88 (Claude Code)'")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() {
		if _, err := Version(ctx, path, "", os.Environ(), long); !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller: %v", err)
		}
	})
	polltest.Until(t, "the binary runs", func() bool { return runsOf(t, ran) == 1 })
	both.Go(func() {
		if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "2.1.88" || err != nil {
			t.Errorf("the second caller: version %q, %v", got, err)
		}
	})
	cancel()
	both.Wait()
}

// A caller that waits for the run of another one waits for its own limit at most.
func TestVersionWaitIsLimited(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claude")
	ran := writeScript(t, path, "exec sleep 600")
	ctx, cancel := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := Version(ctx, path, "", os.Environ(), long); !errors.Is(err, context.Canceled) {
			t.Errorf("the first caller: %v", err)
		}
	})
	polltest.Until(t, "the binary runs", func() bool { return runsOf(t, ran) == 1 })
	_, err := Version(t.Context(), path, "", os.Environ(), time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "still running after 1ms") {
		t.Errorf("the second caller: %v", err)
	}
	cancel()
	first.Wait()
	if runs := runsOf(t, ran); runs != 1 {
		t.Errorf("the binary ran %d times", runs)
	}
}

// A failure in one environment says nothing about another one.
func TestVersionFailureBelongsToItsEnvironment(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claude")
	ran := writeScript(t, path, `[ "$WORKS" = yes ] || exit 3; echo '2.1.88 (Claude Code)'`)
	in := func(works string) (string, error) {
		return Version(t.Context(), path, "", append(os.Environ(), "WORKS="+works), long)
	}
	for range 3 {
		for _, works := range []string{"no", "never"} {
			if got, err := in(works); err == nil {
				t.Errorf("WORKS=%s: version %q", works, got)
			}
		}
	}
	if runs := runsOf(t, ran); runs != 2 {
		t.Errorf("the binary ran %d times in two environments", runs)
	}
	for _, works := range []string{"yes", "no"} { // a version holds for all
		if got, err := in(works); got != "2.1.88" || err != nil {
			t.Errorf("WORKS=%s: version %q, %v", works, got, err)
		}
	}
}

// A caller with more time tries again what another one had no time for.
func TestVersionFailureBelongsToItsLimit(t *testing.T) {
	skipOnWindows(t, "there are no scripts")
	t.Parallel()
	path := filepath.Join(t.TempDir(), "claude")
	writeScript(t, path, "[ -e '"+path+".go' ] || exec sleep 600\necho '2.1.88 (Claude Code)'")
	if got, err := Version(t.Context(), path, "", os.Environ(), 100*time.Millisecond); err == nil {
		t.Errorf("version %q", got)
	}
	if err := os.WriteFile(path+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond} {
		if got, err := Version(t.Context(), path, "", os.Environ(), limit); err == nil {
			t.Errorf("after %v: version %q", limit, got)
		}
	}
	if got, err := Version(t.Context(), path, "", os.Environ(), long); got != "2.1.88" || err != nil {
		t.Errorf("with more time: version %q, %v", got, err)
	}
}

// A binary of an npm package is not run: its package has the version.
func TestVersionOfPackage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, pack, want string }{
		"a script":        {"cli.js", `{"name":"@anthropic-ai/claude-code","version":"2.0.76"}`, "2.0.76"},
		"a binary":        {"bin/claude.exe", `{"name":"@anthropic-ai/claude-code","version":"2.1.300"}`, "2.1.300"},
		"another package": {"claude", `{"name":"mine","version":"9.9.9"}`, ""},
		"not JSON":        {"claude", `{`, ""},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(test.file))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{path: "", filepath.Join(dir, "package.json"): test.pack} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, _ := Version(t.Context(), path, "", nil, long); got != test.want { // it can't be run
			t.Errorf("%s: version %q, want %q", name, got, test.want)
		}
	}
}
