package sqlitestore_test

import (
	"bufio"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Processes that are killed while they write leave a sound file with all that they were told is kept.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	for range 4 {
		var acknowledged [2]int
		var wg sync.WaitGroup
		for i := range acknowledged {
			wg.Go(func() { acknowledged[i] = killAfter(t, play(t, "append", path), 20+10*i) })
		}
		wg.Wait()
		s := open(t, path, nil)
		got, err := collect(s.Load(t.Context(), session))
		if err != nil {
			t.Fatal(err)
		}
		if want := slices.Max(acknowledged[:]); len(got) < want || len(got)%appendSize != 0 {
			t.Errorf("got %d entries, want at least %d, in groups of %d", len(got), want, appendSize)
		}
		if diff := cmp.Diff(numbered(0, len(got)), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if got := ask(t, s, "PRAGMA integrity_check"); got != "ok" {
			t.Error(got)
		}
	}
}

// killAfter runs a process, kills it after so many lines of its output, and returns the number on the last one.
func killAfter(t *testing.T, cmd *exec.Cmd, lines int) int {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	last, seen := 0, 0
	for scanner := bufio.NewScanner(stdout); scanner.Scan(); seen++ {
		if last, err = strconv.Atoi(scanner.Text()); err != nil {
			t.Error(err)
		}
		if seen == lines { // the loop goes on with what is in the pipe
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	if seen <= lines {
		t.Errorf("the process ended after %d lines: %s", seen, stderr.String())
	}
	return last
}
