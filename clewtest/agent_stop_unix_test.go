//go:build unix

package clewtest_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

// A process that its host stopped also ends with the test.
func TestStoppedProcessEndsWithTheTest(t *testing.T) {
	for _, group := range []bool{false, true} {
		fake := &fakeTB{TB: t}
		cmd := clewtest.NewAgent(fake, new(clewtest.Scenario).Send(answer).Do(clewtest.Hang())).Command(t.Context())
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: group}
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := stdout.Read(make([]byte, 1)); err != nil {
			t.Error(err)
		}
		if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Error(err)
		}
		if got := fake.end(); got != "" {
			t.Error(got)
		}
		if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
			t.Errorf("group %v: got %v", group, err)
		}
	}
}

func TestKilledByNeedsAnEnd(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGCHLD, syscall.SIGWINCH} {
		fake := &fakeTB{TB: t}
		fake.run(func() { clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.KilledBy(sig))) })
		if got := fake.end(); !strings.Contains(got, "not a signal that ends a process") {
			t.Errorf("%v: got %s", sig, got)
		}
	}
}
