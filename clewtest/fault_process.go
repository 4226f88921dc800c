package clewtest

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ExitBefore ends the agent with code where an answer is due. What the host has written and the agent has not read is lost.
func ExitBefore(code int) Fault { return makeFault("exit-before", strconv.Itoa(code)) }

// ExitDuring ends the agent with code after the first half of frame.
func ExitDuring(code int, frame any) Fault {
	return frameFault("exit-during", frame, func(f string) []string { return []string{strconv.Itoa(code), f} })
}

// ExitAfter ends the agent with code right after frame, without waiting for the end of its input.
func ExitAfter(code int, frame any) Fault {
	return frameFault("exit-after", frame, func(f string) []string { return []string{strconv.Itoa(code), f} })
}

// KilledBy ends the agent by a signal, such as [os.Kill] or syscall.SIGSEGV. Where there is no process, [Conn.Wait] says so.
// Signals that don't end a process, such as SIGSTOP, fail the test. On Windows, which has no signals, a process can only be ended
// by [os.Kill], and others fail the test.
func KilledBy(sig os.Signal) Fault {
	n, ok := sig.(syscall.Signal)
	if !ok {
		return Fault{err: fmt.Errorf("KilledBy: not a signal of the system: %v", sig)}
	}
	return makeFault("killed-by", strconv.Itoa(int(n)))
}

// Hang makes the agent neither read nor write until it is killed or the test ends.
func Hang() Fault { return makeFault("hang") }

// IgnoreEndOfInput makes the agent live on after its last step when its input has ended, until it is killed or the test
// ends. It has no effect on [Scenario.Exit].
func IgnoreEndOfInput() Fault { return makeFault("ignore-end-of-input") }

// IgnoreSIGTERM makes the agent ignore SIGTERM from here on. A host that wants to be sure of it waits for the next frame
// before it sends the signal.
func IgnoreSIGTERM() Fault { return makeFault("ignore-sigterm") }

// CloseStdout closes the agent's output. The agent goes on, but sends nothing more.
func CloseStdout() Fault { return makeFault("close-stdout") }

// LeaveGrandchild starts a process that inherits the agent's output and error, writes nothing, and lives until it is killed
// or the test ends: the host does not see the end of the output when the agent exits. A host that uses [os/exec.Cmd] with
// a writer of its own needs a WaitDelay to get over it. In memory there is no process, and the output alone stays open.
func LeaveGrandchild() Fault { return makeFault("leave-grandchild") }

// NoisyStderr writes so many bytes to the agent's standard error, in lines.
func NoisyStderr(bytes int) Fault { return makeFault("noisy-stderr", strconv.Itoa(bytes)) }

func playExitBefore(_ *player, args []string) error {
	return &ending{code: number(args[0])}
}

func playExitDuring(p *player, args []string) error {
	if err := playHalfFrame(p, args[1:]); err != nil {
		return err
	}
	return &ending{code: number(args[0])}
}

func playExitAfter(p *player, args []string) error {
	if err := p.write(args[1] + "\n"); err != nil {
		return err
	}
	return &ending{code: number(args[0])}
}

func playKilledBy(p *player, args []string) error {
	sig := syscall.Signal(number(args[0]))
	p.rec.finish()
	if err := p.body.kill(sig); err != nil {
		return &mismatch{fmt.Sprintf("the agent can't be killed by %v: %v", sig, err)}
	}
	return &ending{signal: sig}
}

func playHang(p *player, _ []string) error { return p.hang() }

func playIgnoreEnd(p *player, _ []string) error {
	p.ignoreEnd = true
	return nil
}

func playIgnoreSIGTERM(p *player, _ []string) error {
	p.body.ignoreSIGTERM()
	return nil
}

func playCloseStdout(p *player, _ []string) error {
	p.outputEnded = true
	return p.body.closeStdout()
}

func playLeaveGrandchild(p *player, _ []string) error {
	if err := p.body.leaveGrandchild(); err != nil {
		return &mismatch{fmt.Sprintf("the agent can't start a grandchild: %v", err)}
	}
	return nil
}

func playNoisyStderr(p *player, args []string) error {
	line := strings.Repeat("noise ", 13) + "\n"
	for left := number(args[0]); left > 0; left -= len(line) {
		if left <= len(line) {
			line = line[:left-1] + "\n"
		}
		if _, err := io.WriteString(p.stderr, line); err != nil {
			return err
		}
	}
	return nil
}
