//go:build unix

package polltest_test

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"github.com/clewdev/clew/internal/polltest"
)

// A process that ended does not run, although its parent did not wait for it.
func TestRunning(t *testing.T) {
	t.Parallel()
	if !polltest.Running(os.Getpid()) || !polltest.Running(-syscall.Getpgrp()) {
		t.Error("this process does not run")
	}
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if !polltest.Running(pid) || !polltest.Running(-pid) {
		t.Error("a process that sleeps does not run")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" {
		polltest.UntilEnded(t, pid)
		polltest.UntilEnded(t, -pid)
		if err := syscall.Kill(pid, 0); err != nil {
			t.Errorf("somebody waited for the process, so this test shows nothing: %v", err)
		}
	}
	_ = cmd.Wait()
	if polltest.Running(pid) || polltest.Running(-pid) {
		t.Error("a process that was waited for runs")
	}
}
