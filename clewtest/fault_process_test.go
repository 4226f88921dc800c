package clewtest_test

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/clewdev/clew/clewtest"
)

func TestExitBefore(t *testing.T) {
	inBothForms(t, new(clewtest.Scenario).Expect(prompt).Do(clewtest.ExitBefore(3)), func(h *host) {
		h.say(prompt)
		h.ends("exit status 3")
	})
}

func TestExitDuring(t *testing.T) {
	inBothForms(t, new(clewtest.Scenario).Expect(prompt).Do(clewtest.ExitDuring(4, answer)), func(h *host) {
		h.say(prompt)
		if got, want := h.rest(), answer[:len(answer)/2]; got != want {
			h.t.Errorf("read %q, want %q", got, want)
		}
		h.ended("exit status 4")
	})
}

func TestExitAfter(t *testing.T) {
	inBothForms(t, new(clewtest.Scenario).Expect(prompt).Do(clewtest.ExitAfter(5, answer)), func(h *host) {
		h.say(prompt)
		h.expect(answer)
		h.ends("exit status 5")
	})
}

// A frame of a fault carries the host's ids.
func TestFaultFramesHaveTheHostsIDs(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Do(clewtest.ExitAfter(0, success("a")))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"))
		h.expect(success("1"))
		h.ends("")
	})
}

func TestKilledBy(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGTERM, syscall.SIGABRT} {
		t.Run(sig.String(), func(t *testing.T) {
			s := new(clewtest.Scenario).Expect(prompt).Send(answer).Do(clewtest.KilledBy(sig)).Expect("{}")
			inBothForms(t, s, func(h *host) {
				if runtime.GOOS == "windows" {
					h.t.Skip("no signals")
				}
				h.say(prompt)
				h.expect(answer)
				h.ends("signal: " + sig.String())
			})
		})
	}
}

// An agent that ignores a signal can still be killed by it.
func TestKilledByIgnoredSignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	s := new(clewtest.Scenario).Do(clewtest.IgnoreSIGTERM()).Send(answer).Do(clewtest.KilledBy(syscall.SIGTERM))
	inBothForms(t, s, func(h *host) {
		h.expect(answer)
		h.ends("signal: terminated")
	})
}

func TestHang(t *testing.T) {
	inBothForms(t, new(clewtest.Scenario).Expect(prompt).Send(alive).Do(clewtest.Hang()).Send(answer), func(h *host) {
		h.say(prompt)
		h.expect(alive)
		h.close()
		if err := h.signal(os.Kill); err != nil {
			h.t.Fatal(err)
		}
		h.ends("signal: killed")
	})
}

func TestHangEndsWithTheTest(t *testing.T) {
	for form, start := range forms {
		t.Run(form, func(t *testing.T) {
			var h *host
			t.Run("inner", func(t *testing.T) {
				h = start(t, clewtest.NewAgent(t, new(clewtest.Scenario).Send(answer).Do(clewtest.Hang())))
				h.expect(answer)
			})
			if err := h.wait(); err == nil {
				t.Error("the agent ended well")
			}
		})
	}
}

// A hung agent does not read: a host blocks when it writes more than a pipe holds.
func TestHangDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clewtest.NewAgent(t, new(clewtest.Scenario).Do(clewtest.Hang())).Conn()
		written := make(chan error)
		go func() {
			_, err := c.Stdin.Write(make([]byte, 1<<20))
			written <- err
		}()
		synctest.Wait()
		select {
		case err := <-written:
			t.Fatalf("written: %v", err)
		default:
		}
		if err := c.Signal(os.Kill); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err == nil {
			t.Error("written to an agent that has ended")
		}
	})
}

func TestIgnoreEndOfInput(t *testing.T) {
	s := new(clewtest.Scenario).Do(clewtest.IgnoreEndOfInput()).CloseStdin().Send(answer)
	inBothForms(t, s, func(h *host) {
		h.close()
		h.expect(answer)
		if err := h.signal(syscall.Signal(0)); err != nil && runtime.GOOS != "windows" {
			h.t.Errorf("the agent has ended: %v", err)
		}
		if err := h.signal(os.Kill); err != nil {
			h.t.Fatal(err)
		}
		h.ends("signal: killed")
	})
}

func TestIgnoreEndOfInputLastsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clewtest.NewAgent(t, new(clewtest.Scenario).Do(clewtest.IgnoreEndOfInput())).Conn()
		if err := c.Stdin.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if err := c.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil || err.Error() != "signal: terminated" {
			t.Errorf("got %v", err)
		}
		if err := c.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("got %v", err)
		}
	})
}

func TestIgnoreSIGTERM(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals")
	}
	s := new(clewtest.Scenario).Do(clewtest.IgnoreSIGTERM()).Send(alive).Expect(prompt).Send(answer).Do(clewtest.Hang())
	inBothForms(t, s, func(h *host) {
		h.expect(alive)
		if err := h.signal(syscall.SIGTERM); err != nil {
			h.t.Fatal(err)
		}
		h.say(prompt)
		h.expect(answer)
		if err := h.signal(os.Kill); err != nil {
			h.t.Fatal(err)
		}
		h.ends("signal: killed")
	})
}

func TestCloseStdout(t *testing.T) {
	s := new(clewtest.Scenario).Send(answer).Do(clewtest.CloseStdout()).Expect(prompt).Stderr("alive\n").CloseStdin().Exit(6)
	inBothForms(t, s, func(h *host) {
		if got := h.rest(); got != answer+"\n" {
			h.t.Errorf("read %q", got)
		}
		h.say(prompt)
		h.close()
		if got, err := io.ReadAll(h.stderr); string(got) != "alive\n" || err != nil {
			h.t.Errorf("stderr %q, %v", got, err)
		}
		h.ended("exit status 6")
	})
}

func TestSendAfterCloseStdout(t *testing.T) {
	fake := &fakeTB{TB: t}
	c := clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.CloseStdout()).Send(answer)).Conn()
	if code := exitCode(c.Wait()); code != 70 {
		t.Errorf("exit %d", code)
	}
	if got := fake.end(); !strings.Contains(got, "sends something after it has closed stdout") {
		t.Errorf("got %s", got)
	}
}
