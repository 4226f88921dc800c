//go:build unix

package pools_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/internal/polltest"
)

// An agent that is killed while it is idle is replaced, and no caller gets it.
func TestRealPoolAgentKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	model := clewtest.NewModel(t).Reply("Yes.")
	p := open(t, scene.Options(t, model, &clew.Options{Transport: numbered(file)}), &clew.PoolOptions{Warm: 2})
	settle(t, p, func(s clew.PoolStats) bool { return s.Warm == 2 })
	for _, pid := range pids(t, file) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, p, func(s clew.PoolStats) bool { return s.Died == 2 })
	if got := ask(t, p, "Still there?").Result; got != "Yes." {
		t.Errorf("answer %q", got)
	}
	settle(t, p, func(s clew.PoolStats) bool { return s.Warm == 2 })
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids(t, file) {
		if polltest.Running(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}

// numbered is a transport that writes the process ID of each agent to a file.
func numbered(file string) clew.Transport {
	return &clew.ProcessTransport{Wrap: func(l *clew.Launch) error {
		l.Args = slices.Concat([]string{"-c", `echo $$ >> "$0"; exec "$@"`, file, l.Path}, l.Args)
		l.Path = "/bin/sh"
		return nil
	}}
}

// pids returns the process IDs in that file.
func pids(t *testing.T, file string) []int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []int
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pid)
	}
	return list
}

// settle waits until the pool is as it should be.
func settle(t *testing.T, p *clew.Pool, done func(clew.PoolStats) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*polltest.Limit) // agents start, on a busy machine
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done(p.Stats()) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%+v", p.Stats())
		}
	}
}
