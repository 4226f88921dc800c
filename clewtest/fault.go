package clewtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Fault is something that an agent should not do. [Scenario.Do] makes a step of it, and the line "# fault" with its name
// and arguments does so in a dialogue file. Its zero value is not one.
//
// In a dialogue a fault is one line, however much it writes. Frames that are given to a fault carry the host's ids like
// those of [Scenario.Send].
type Fault struct {
	name string
	args []string
	err  error
}

// A faultKind is how a fault is checked and played.
type faultKind struct {
	args string // one letter each: i number, c exit code, k signal that kills, s string, f frame,
	// d duration, r id of a host request; * repeats the last
	ends bool // no step behind it is reached
	play func(p *player, args []string) error
}

var faultKinds = map[string]faultKind{
	"exit-before":          {"c", true, playExitBefore},
	"exit-during":          {"cf", true, playExitDuring},
	"exit-after":           {"cf", true, playExitAfter},
	"killed-by":            {"k", true, playKilledBy},
	"hang":                 {"", true, playHang},
	"ignore-end-of-input":  {"", false, playIgnoreEnd},
	"ignore-sigterm":       {"", false, playIgnoreSIGTERM},
	"close-stdout":         {"", false, playCloseStdout},
	"leave-grandchild":     {"", false, playLeaveGrandchild},
	"noisy-stderr":         {"i", false, playNoisyStderr},
	"garbage":              {"s", false, playGarbage},
	"half-frame":           {"f", false, playHalfFrame},
	"big-frame":            {"i", false, playBigFrame},
	"invalid-utf8":         {"", false, playInvalidUTF8},
	"flood":                {"i", false, playFlood},
	"trickle":              {"fd", false, playTrickle},
	"respond-out-of-order": {"r*", false, playRespondOutOfOrder},
	"respond-twice":        {"r", false, playRespondTwice},
	"respond-never":        {"r", false, playRespondNever},
	"respond-unknown":      {"s", false, playRespondUnknown},
	"request-without-id":   {"", false, playRequestWithoutID},
	"request-without-body": {"s", false, playRequestWithoutBody},
	"request-unknown":      {"ss", false, playRequestUnknown},
}

// newFault checks the name and the arguments.
func newFault(name string, args ...string) (Fault, error) {
	kind, ok := faultKinds[name]
	if !ok {
		return Fault{}, fmt.Errorf("no fault is named %q", name)
	}
	letters := kind.letters(len(args))
	if len(letters) != len(args) {
		return Fault{}, fmt.Errorf("the fault %s has %d arguments, not %d", name, len(letters), len(args))
	}
	for i, letter := range letters {
		if err := checkArgument(letter, args[i]); err != nil {
			return Fault{}, fmt.Errorf("the fault %s: %w", name, err)
		}
	}
	return Fault{name: name, args: args}, nil
}

// letters returns what the arguments are, if there are n of them.
func (k faultKind) letters(n int) string {
	letters, repeats := strings.CutSuffix(k.args, "*")
	if extra := n - len(letters); repeats && extra > 0 {
		letters += strings.Repeat(letters[len(letters)-1:], extra)
	}
	return letters
}

func checkArgument(letter rune, arg string) error {
	var err error
	switch letter {
	case 'i', 'c', 'k':
		err = checkNumber(letter, arg)
	case 'd':
		if d, e := time.ParseDuration(arg); e != nil || d < 0 {
			err = fmt.Errorf("not a duration of 0 or more: %s", shorten(arg))
		}
	case 'f':
		_, err = frameText(arg)
	}
	return err
}

func checkNumber(letter rune, arg string) error {
	n, err := strconv.Atoi(arg)
	switch {
	case letter == 'c' && err == nil:
		return checkExitCode(n)
	case err != nil || n < 0:
		return fmt.Errorf("not a number of 0 or more: %s", shorten(arg))
	case letter == 'k' && !endsProcess(syscall.Signal(n)):
		return fmt.Errorf("not a signal that ends a process: %v", syscall.Signal(n))
	}
	return nil
}

// checkExitCode refuses codes that a process can't exit with.
func checkExitCode(code int) error {
	if code < 0 || code > 255 {
		return fmt.Errorf("not an exit code from 0 to 255: %d", code)
	}
	return nil
}

// makeFault is newFault for constructors: the error waits for the scenario.
func makeFault(name string, args ...string) Fault {
	f, err := newFault(name, args...)
	if err != nil {
		return Fault{name: name, args: args, err: err}
	}
	return f
}

// frameFault is makeFault for a fault with a frame.
func frameFault(name string, frame any, args func(frame string) []string) Fault {
	text, err := frameText(frame)
	if err != nil {
		return Fault{name: name, err: err}
	}
	return makeFault(name, args(text)...)
}

func (f Fault) play(p *player) error {
	args, err := f.resolve(p.ids)
	if err != nil {
		return err
	}
	p.rec.record(Fault{name: f.name, args: args}.appendLines(nil))
	err = faultKinds[f.name].play(p, args)
	var end *ending
	if errors.As(err, &end) {
		return p.end(end)
	}
	return err
}

// resolve returns the arguments with the host's ids in place of the scenario's.
func (f Fault) resolve(ids *idTable) ([]string, error) {
	args := slices.Clone(f.args)
	for i, letter := range faultKinds[f.name].letters(len(args)) {
		switch letter {
		case 'f':
			args[i] = ids.rewrite(args[i])
		case 'r':
			actual, ok := ids.actual(idKey{requestID, args[i]})
			if !ok {
				return nil, &mismatch{fmt.Sprintf("the scenario has the fault %s for the request %q, and has not expected it",
					f.name, args[i])}
			}
			args[i] = actual
		}
	}
	return args, nil
}

// appendLines writes plain arguments without quotes, for people.
func (f Fault) appendLines(dst []byte) []byte {
	dst = append(dst, "# fault "+f.name...)
	for _, arg := range f.args {
		dst = append(dst, ' ')
		if isPlain(arg) {
			dst = append(dst, arg...)
		} else {
			dst = strconv.AppendQuote(dst, arg)
		}
	}
	return append(dst, '\n')
}

func isPlain(arg string) bool {
	odd := func(r rune) bool { return r != '-' && r != '_' && r != '.' && !isAlphanumeric(r) }
	return arg != "" && strings.IndexFunc(arg, odd) < 0
}

func isAlphanumeric(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// number reads an argument that newFault has checked.
func number(arg string) int {
	n, _ := strconv.Atoi(arg)
	return n
}

// RespondOutOfOrder answers control requests of the host with success, the last one first. The ids are the scenario's, in
// the order in which the requests were expected.
func RespondOutOfOrder(ids ...string) Fault { return makeFault("respond-out-of-order", ids...) }

// RespondTwice answers the control request with the scenario's id twice, with success.
func RespondTwice(id string) Fault { return makeFault("respond-twice", id) }

// RespondNever leaves the control request with the scenario's id without an answer. It says so in the dialogue, and does
// nothing else.
func RespondNever(id string) Fault { return makeFault("respond-never", id) }

// RespondUnknown answers a control request that the host never made: id is sent as it stands.
func RespondUnknown(id string) Fault { return makeFault("respond-unknown", id) }

// RequestWithoutID sends a control request that has no request_id.
func RequestWithoutID() Fault { return makeFault("request-without-id") }

// RequestWithoutBody sends a control request that has a request_id and no request.
func RequestWithoutBody(id string) Fault { return makeFault("request-without-body", id) }

// RequestUnknown sends a control request of a subtype that hosts don't know. A host should answer it with an error, which
// the scenario may expect next.
func RequestUnknown(id, subtype string) Fault { return makeFault("request-unknown", id, subtype) }

// success answers the request with the host's id.
func (p *player) success(id string) error {
	return p.writeObject(map[string]any{
		"type":     "control_response",
		"response": map[string]any{"subtype": "success", "request_id": id, "response": map[string]any{}},
	})
}

func (p *player) writeObject(frame map[string]any) error {
	data, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return p.write(string(data) + "\n")
}

func playRespondOutOfOrder(p *player, ids []string) error {
	for _, id := range slices.Backward(ids) {
		if err := p.success(id); err != nil {
			return err
		}
	}
	return nil
}

func playRespondTwice(p *player, args []string) error {
	if err := p.success(args[0]); err != nil {
		return err
	}
	return p.success(args[0])
}

func playRespondNever(*player, []string) error { return nil }

func playRespondUnknown(p *player, args []string) error { return p.success(args[0]) }

func playRequestWithoutID(p *player, _ []string) error {
	return p.writeObject(map[string]any{
		"type": "control_request",
		"request": map[string]any{
			"subtype": "can_use_tool", "tool_name": "Bash", "input": map[string]any{}, "tool_use_id": "toolu_fault",
		},
	})
}

func playRequestWithoutBody(p *player, args []string) error {
	return p.writeObject(map[string]any{"type": "control_request", "request_id": args[0]})
}

func playRequestUnknown(p *player, args []string) error {
	return p.writeObject(map[string]any{
		"type": "control_request", "request_id": args[0],
		"request": map[string]any{"subtype": args[1]},
	})
}

// Garbage writes text to the agent's output as a line between frames: a warning of some library, half of an escape sequence,
// any bytes at all. A line end is added if there is none.
func Garbage(text string) Fault { return makeFault("garbage", text) }

// HalfFrame writes the first half of frame, without a line end. What comes next is written right behind it, so an end of
// some kind should come next: [Scenario.Exit], [KilledBy] or [Hang].
func HalfFrame(frame any) Fault {
	return frameFault("half-frame", frame, func(f string) []string { return []string{f} })
}

// BigFrame writes an assistant frame of so many bytes, its line end not counted; a tool result of 20 MB is nothing unusual.
// It is never shorter than a frame without text.
func BigFrame(bytes int) Fault { return makeFault("big-frame", strconv.Itoa(bytes)) }

// InvalidUTF8 writes an assistant frame whose text has bytes that are not UTF-8.
func InvalidUTF8() Fault { return makeFault("invalid-utf8") }

// Flood writes so many frames as fast as the host reads them, keep_alive and stream_event in turn. Neither the agent nor the
// dialogue keeps them.
func Flood(frames int) Fault { return makeFault("flood", strconv.Itoa(frames)) }

// Trickle writes frame one byte at a time, with a pause of interval after each.
func Trickle(frame any, interval time.Duration) Fault {
	return frameFault("trickle", frame, func(f string) []string { return []string{f, interval.String()} })
}

// assistantFrame returns a frame with the text, which is JSON between its quotes.
func assistantFrame(text string) string {
	return `{"type":"assistant","message":{"id":"msg_fault","type":"message","role":"assistant","model":"clewtest",` +
		`"content":[{"type":"text","text":"` + text + `"}],"stop_reason":null,"stop_sequence":null,` +
		`"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"fault","uuid":"fault"}`
}

func playGarbage(p *player, args []string) error {
	return p.write(strings.TrimSuffix(args[0], "\n") + "\n")
}

func playHalfFrame(p *player, args []string) error {
	return p.write(args[0][:len(args[0])/2])
}

func playBigFrame(p *player, args []string) error {
	text := strings.Repeat("x", max(0, number(args[0])-len(assistantFrame(""))))
	return p.write(assistantFrame(text) + "\n")
}

func playInvalidUTF8(p *player, _ []string) error {
	return p.write(assistantFrame("caf\xe9 \xff\xfe \xe2\x82") + "\n")
}

func playFlood(p *player, args []string) error {
	out := bufio.NewWriterSize(writerFunc(func(b []byte) (int, error) {
		select {
		case <-p.quit:
			return 0, errStopped
		default:
			return len(b), p.write(string(b))
		}
	}), pipeBytes)
	for i := range number(args[0]) {
		if err := floodFrame(out, i); err != nil {
			return err
		}
	}
	return out.Flush()
}

func floodFrame(out *bufio.Writer, i int) error {
	if i%2 == 0 {
		_, err := out.WriteString(`{"type":"keep_alive"}` + "\n")
		return err
	}
	_, err := fmt.Fprintf(out, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,`+
		`"delta":{"type":"text_delta","text":"%d "}},"session_id":"fault","parent_tool_use_id":null,"uuid":"fault-%d"}`+"\n", i, i)
	return err
}

// A writerFunc is a function that writes.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func playTrickle(p *player, args []string) error {
	interval, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	frame := args[0] + "\n"
	for i := range len(frame) {
		if err := p.write(frame[i : i+1]); err != nil {
			return err
		}
		if err := p.pause(interval); err != nil {
			return err
		}
	}
	return nil
}

// pause waits, unless the agent is killed or the test ends.
func (p *player) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.quit:
		return errStopped
	}
}

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
