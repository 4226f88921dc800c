package simagent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Fault is a step in which the agent does something that an agent should not do. Its zero value
// is not a fault.
type Fault struct {
	name string
	args []string
}

// A faultKind describes the arguments of a fault, and plays it.
type faultKind struct {
	args string // one letter each: i number, c exit code, k signal that kills, s string, f frame,
	// d duration, r id of a host request; * repeats the last
	ends bool // the agent does not reach the next step
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

// NewFault returns the fault with this name, such as "hang", after checking its arguments. Frames
// are given as JSON text.
func NewFault(name string, args ...string) (Fault, error) {
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

// letters returns the kind of each argument, if there are n of them.
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
		_, err = Frame(arg)
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

// IsZero reports whether f is the zero value.
func (f Fault) IsZero() bool { return f.name == "" }

func (f Fault) play(p *player) error {
	args, err := f.resolve(p.ids)
	if err != nil {
		return err
	}
	p.rec.Record(Fault{name: f.name, args: args}.appendLines(nil))
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

// appendLines leaves out the quotes where it can, so that the line reads well.
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

// number reads an argument that NewFault has checked.
func number(arg string) int {
	n, _ := strconv.Atoi(arg)
	return n
}

// success answers the host's request with this id.
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

// assistantFrame returns a frame with the text, which must be escaped as JSON already.
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

// pause waits for d, or until the agent has to end.
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

func playExitBefore(_ *player, args []string) error {
	return &ending{Ending{Code: number(args[0])}}
}

func playExitDuring(p *player, args []string) error {
	if err := playHalfFrame(p, args[1:]); err != nil {
		return err
	}
	return &ending{Ending{Code: number(args[0])}}
}

func playExitAfter(p *player, args []string) error {
	if err := p.write(args[1] + "\n"); err != nil {
		return err
	}
	return &ending{Ending{Code: number(args[0])}}
}

func playKilledBy(p *player, args []string) error {
	sig := syscall.Signal(number(args[0]))
	p.rec.Finish()
	if err := p.process.Kill(sig); err != nil {
		return &mismatch{fmt.Sprintf("the agent can't be killed by %v: %v", sig, err)}
	}
	return &ending{Ending{Signal: sig}}
}

func playHang(p *player, _ []string) error { return p.hang() }

func playIgnoreEnd(p *player, _ []string) error {
	p.ignoreEnd = true
	return nil
}

func playIgnoreSIGTERM(p *player, _ []string) error {
	p.process.IgnoreSIGTERM()
	return nil
}

func playCloseStdout(p *player, _ []string) error {
	p.outputEnded = true
	return p.process.CloseStdout()
}

func playLeaveGrandchild(p *player, _ []string) error {
	if err := p.process.LeaveGrandchild(); err != nil {
		return &mismatch{fmt.Sprintf("the agent can't start a grandchild: %v", err)}
	}
	return nil
}

func playNoisyStderr(p *player, args []string) error {
	out := bufio.NewWriterSize(p.stderr, pipeBytes)
	line := strings.Repeat("noise ", 13) + "\n"
	for left := number(args[0]); left > 0; left -= len(line) {
		if left <= len(line) {
			line = line[:left-1] + "\n"
		}
		if _, err := out.WriteString(line); err != nil {
			return err
		}
	}
	return out.Flush()
}
