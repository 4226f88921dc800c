package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/internal/soak"
)

// Of many status lines at once, at most one process computes costs, and all of them print a line.
func TestStatuslinesAtOnce(t *testing.T) {
	soak.Search(t)
	t.Parallel()
	home := t.TempDir()
	if _, err := corpus.Projects(filepath.Join(home, ".claude", "projects"), 5, 4<<20); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "STATUSLINES=" + home,
	}
	var group sync.WaitGroup
	for range soak.Size(8, 50) {
		group.Go(func() {
			cmd := exec.CommandContext(t.Context(), "clew", "statusline")
			cmd.Env, cmd.Stdin = env, strings.NewReader(`{"model":{"display_name":"Opus 5.5"}}`)
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "Opus 5.5") {
				t.Errorf("%q %v", out, err)
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	most := 0
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		most = max(most, refreshers(t, home))
	}
	if most > 1 {
		t.Errorf("%d processes at once compute costs", most)
	}
	eventuallyRefreshed(t, home)
}

// eventuallyRefreshed waits until the costs are there, and until nothing runs.
func eventuallyRefreshed(t *testing.T, home string) {
	t.Helper()
	for t.Context().Err() == nil {
		found, err := filepath.Glob(filepath.Join(home, "cache", "clew", "statusline", "*.state.json"))
		if err != nil {
			t.Fatal(err)
		}
		if n := refreshers(t, home); len(found) > 0 && n == 0 {
			return
		} else if n > 1 {
			t.Fatalf("%d processes at once compute costs", n)
		}
	}
}

// refreshers counts the processes that compute the costs of a home.
func refreshers(t *testing.T, home string) (n int) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range processes {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline")) // it may have ended
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if bytes.Contains(line, []byte("statusline\x00--refresh")) && bytes.Contains(env, []byte("STATUSLINES="+home)) {
			n++
		}
	}
	return n
}
