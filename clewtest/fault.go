package clewtest

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/simagent"
)

// A Fault is something that an agent should not do. [Scenario.Do] makes a step of it, and so does
// the line "# fault" with its name and arguments in a dialogue file: the name of [ExitBefore] is
// exit-before there. The zero value is not a fault.
//
// In a dialogue a fault is one line, however much it writes. Frames that are given to a fault carry
// the host's ids, as in [Scenario.Send].
//
// A function that gets a wrong argument returns a Fault with an error, which [NewAgent] reports.
type Fault struct {
	engine simagent.Fault
	err    error
}

// makeFault returns a fault of the engine. Its error waits for the scenario.
func makeFault(name string, args ...string) Fault {
	f, err := simagent.NewFault(name, args...)
	return Fault{f, err}
}

// frameFault is makeFault for a fault with a frame; args returns its arguments.
func frameFault(name string, frame any, args func(frame string) []string) Fault {
	text, err := simagent.Frame(frame)
	if err != nil {
		return Fault{err: err}
	}
	return makeFault(name, args(text)...)
}

// ExitBefore ends the agent with code where an answer is due. Input that the agent has not read is
// lost. The code is from 0 to 255.
func ExitBefore(code int) Fault { return makeFault("exit-before", strconv.Itoa(code)) }

// ExitDuring ends the agent with code after the first half of frame. The frame is given as for
// [Scenario.Send].
func ExitDuring(code int, frame any) Fault {
	return frameFault("exit-during", frame, func(f string) []string { return []string{strconv.Itoa(code), f} })
}

// ExitAfter ends the agent with code right after frame, without waiting for the end of its input.
func ExitAfter(code int, frame any) Fault {
	return frameFault("exit-after", frame, func(f string) []string { return []string{strconv.Itoa(code), f} })
}

// KilledBy ends the agent by a signal, such as [os.Kill] or syscall.SIGSEGV. For an agent in
// memory, [Conn.Wait] returns an [*ExitError] with the signal. Signals that don't end a process,
// such as SIGSTOP, fail the test. Windows has no signals: there a process can only be ended by
// [os.Kill], and other signals fail the test.
func KilledBy(sig os.Signal) Fault {
	n, ok := sig.(syscall.Signal)
	if !ok {
		return Fault{err: fmt.Errorf("KilledBy: not a signal of the system: %v", sig)}
	}
	return makeFault("killed-by", strconv.Itoa(int(n)))
}

// Hang makes the agent neither read nor write until it is killed or the test ends.
func Hang() Fault { return makeFault("hang") }

// IgnoreEndOfInput makes the agent keep running after its last step when its input ends, until it
// is killed or the test ends. It has no effect on [Scenario.Exit].
func IgnoreEndOfInput() Fault { return makeFault("ignore-end-of-input") }

// IgnoreSIGTERM makes the agent ignore SIGTERM from here on. To be sure that it does, a host has to
// wait for the next frame before it sends the signal.
func IgnoreSIGTERM() Fault { return makeFault("ignore-sigterm") }

// CloseStdout closes the agent's output. The agent continues, but must not send anything more.
func CloseStdout() Fault { return makeFault("close-stdout") }

// LeaveGrandchild starts a process that inherits the agent's output and error, writes nothing, and
// runs until it is killed or the test ends. The host does not see the end of the output when the
// agent exits. A host that sets the Stdout of its [os/exec.Cmd] to a writer that is not a file
// needs a WaitDelay, or its Wait blocks. In memory there is no process, and only the output stays
// open.
func LeaveGrandchild() Fault { return makeFault("leave-grandchild") }

// NoisyStderr writes this many bytes to the agent's standard error, in lines. A host that does not
// read standard error blocks the agent with more than 64 KiB.
func NoisyStderr(bytes int) Fault { return makeFault("noisy-stderr", strconv.Itoa(bytes)) }

// Garbage writes text to the agent's output as a line between frames: a warning of some library,
// half of an escape sequence, any bytes at all. It adds a line end if there is none.
func Garbage(text string) Fault { return makeFault("garbage", text) }

// HalfFrame writes the first half of frame, without a line end. The next step would write on the
// same line, so the agent should end or stop next: with [Scenario.Exit], [KilledBy] or [Hang].
func HalfFrame(frame any) Fault {
	return frameFault("half-frame", frame, func(f string) []string { return []string{f} })
}

// BigFrame writes an assistant frame of this many bytes, its line end not counted; a tool result of
// 20 MB is nothing unusual. It is never shorter than a frame without text.
func BigFrame(bytes int) Fault { return makeFault("big-frame", strconv.Itoa(bytes)) }

// InvalidUTF8 writes an assistant frame whose text has bytes that are not UTF-8.
func InvalidUTF8() Fault { return makeFault("invalid-utf8") }

// Flood writes this many frames as fast as the host reads them, keep_alive and stream_event in
// turn. Neither the agent nor the dialogue keeps them, so a million of them cost no memory.
func Flood(frames int) Fault { return makeFault("flood", strconv.Itoa(frames)) }

// Trickle writes frame one byte at a time, with a pause of interval after each.
func Trickle(frame any, interval time.Duration) Fault {
	return frameFault("trickle", frame, func(f string) []string { return []string{f, interval.String()} })
}

// RespondOutOfOrder answers control requests of the host with success, the last one first. The ids
// are the scenario's, in the order in which it expects the requests.
func RespondOutOfOrder(ids ...string) Fault { return makeFault("respond-out-of-order", ids...) }

// RespondTwice answers the control request with the scenario's id twice, with success.
func RespondTwice(id string) Fault { return makeFault("respond-twice", id) }

// RespondNever leaves the control request with the scenario's id without an answer. It only adds a
// line about it to the dialogue.
func RespondNever(id string) Fault { return makeFault("respond-never", id) }

// RespondUnknown answers a control request that the host never made. The answer carries id as it is
// given here.
func RespondUnknown(id string) Fault { return makeFault("respond-unknown", id) }

// RequestWithoutID sends a control request that has no request_id.
func RequestWithoutID() Fault { return makeFault("request-without-id") }

// RequestWithoutBody sends a control request that has a request_id and no request.
func RequestWithoutBody(id string) Fault { return makeFault("request-without-body", id) }

// RequestUnknown sends a control request of a subtype that hosts don't know. A host should answer
// it with an error, which the scenario may expect next.
func RequestUnknown(id, subtype string) Fault { return makeFault("request-unknown", id, subtype) }
