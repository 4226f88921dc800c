package simagent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/clewdev/clew/wire"
)

// Any stands in an expected frame for a value that must be there and may be anything. Package
// clewtest describes it.
const Any = "<any>"

// A Scenario holds the steps of the simulated agent. Package clewtest describes how frames and ids
// are compared.
//
// The zero value has no steps and is ready to use. A Scenario must not be changed while it is
// played.
type Scenario struct {
	// Args are the arguments that a recorded agent was started with, or nil. They are not compared
	// with anything.
	Args []string

	steps   []Step
	sources []string // for each step, the line that it was written on
}

// A Step is one thing that the agent does. The functions of this package make them.
type Step interface {
	// play does the step. An error ends the scenario.
	play(p *player) error
	// appendLines appends the step as lines of a dialogue file.
	appendLines(dst []byte) []byte
}

// Add appends a step. Reports name it by source, such as "main_test.go:12".
func (s *Scenario) Add(step Step, source string) {
	s.steps = append(s.steps, step)
	s.sources = append(s.sources, source)
}

// Clone returns a copy that later Add calls don't change.
func (s *Scenario) Clone() *Scenario {
	return &Scenario{Args: slices.Clone(s.Args), steps: slices.Clone(s.steps), sources: slices.Clone(s.sources)}
}

// String returns the scenario as a dialogue file.
func (s *Scenario) String() string {
	var dst []byte
	if s.Args != nil {
		dst = appendDirective(dst, "args", s.Args...)
	}
	for _, step := range s.steps {
		dst = step.appendLines(dst)
	}
	return string(dst)
}

// Missing returns the first thing that the scenario expects of the host, as lines for a report. It
// is "" if the scenario expects nothing.
func (s *Scenario) Missing() string { return missing(s.steps) }

// Expect returns a step that waits for host frames, in any order if there are several. There must
// be at least one.
func Expect(frames ...any) (Step, error) {
	if len(frames) == 0 {
		return nil, errors.New("ExpectAny got no frames")
	}
	e := &expectStep{}
	for _, frame := range frames {
		text, err := Frame(frame)
		if err != nil {
			return nil, err
		}
		w, err := newWanted(text)
		if err != nil {
			return nil, err
		}
		e.wanted = append(e.wanted, w)
	}
	return e, nil
}

// Send returns a step that writes a frame as one line.
func Send(frame any) (Step, error) {
	text, err := Frame(frame)
	return sendStep(text), err
}

// Stderr returns a step that writes text to standard error.
func Stderr(text string) Step { return stderrStep(text) }

// CloseStdin returns a step that waits until the host closes the agent's input.
func CloseStdin() Step { return closeStep{} }

// Exit returns a step that ends the agent with a code from 0 to 255.
func Exit(code int) (Step, error) { return exitStep(code), checkExitCode(code) }

// Frame returns the line of JSON that v stands for: JSON text, a [wire.Message], or a value that
// marshals to a JSON object. Text that is on one line already stays as it is.
func Frame(v any) (string, error) {
	data, err := frameBytes(v)
	if err != nil {
		return "", fmt.Errorf("encoding a frame of type %T: %w", v, err)
	}
	if data = bytes.TrimSpace(data); !json.Valid(data) || data[0] != '{' {
		return "", fmt.Errorf("the frame is not a JSON object: %s", shorten(string(data)))
	}
	if bytes.ContainsAny(data, "\r\n") {
		var line bytes.Buffer
		if err := json.Compact(&line, data); err != nil {
			return "", err
		}
		data = line.Bytes()
	}
	return string(data), nil
}

func frameBytes(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, errors.New("nil")
	case string:
		return []byte(v), nil
	case []byte:
		return v, nil
	case wire.Message:
		return wire.Append(nil, v)
	default:
		return marshal(v)
	}
}

// An expectStep waits for host frames, in any order if there are several.
type expectStep struct {
	wanted []wanted
}

func (e *expectStep) play(p *player) error {
	open := slices.Clone(e.wanted)
	for len(open) > 0 {
		keepAlive := slices.ContainsFunc(open, func(w wanted) bool { return w.frameType() == "keep_alive" })
		got, err := p.next(keepAlive)
		if errors.Is(err, errHostClosed) {
			return &mismatch{"the host closed stdin before it sent a frame\n" + wantLines(open)}
		}
		if err != nil {
			return err
		}
		i, best := bestMatch(p.ids, open, got)
		if len(best.diffs) > 0 {
			return &mismatch{describeMismatch(best.diffs, open, got)}
		}
		p.ids.bind(best.bindings)
		if open = slices.Delete(open, i, i+1); len(open) > 0 {
			p.rec.Await(wantLines(open))
		}
	}
	return nil
}

// bestMatch returns the wanted frame with the fewest differences to got. Of several it takes the
// frame that names the most values of got, and of those the first.
func bestMatch(ids *idTable, open []wanted, got wanted) (int, *matcher) {
	index, best := 0, match(ids, open[0], got.value)
	for i, w := range open[1:] {
		m := match(ids, w, got.value)
		if order := cmp.Compare(len(m.diffs), len(best.diffs)); order < 0 || order == 0 && m.named > best.named {
			index, best = i+1, m
		}
	}
	return index, best
}

func describeMismatch(diffs []difference, open []wanted, got wanted) string {
	var b strings.Builder
	b.WriteString("the host sent another frame than the scenario has\n")
	for _, d := range diffs {
		fmt.Fprintf(&b, "\t%v\n", d)
	}
	b.WriteString(wantLines(open))
	b.WriteString("\ngot  > " + shorten(got.text))
	return b.String()
}

func wantLines(open []wanted) string {
	lines := make([]string, 0, len(open))
	for _, w := range open {
		lines = append(lines, "want > "+shorten(w.text))
	}
	return strings.Join(lines, "\n")
}

func (e *expectStep) appendLines(dst []byte) []byte {
	several := len(e.wanted) > 1
	if several {
		dst = append(dst, "# in any order\n"...)
	}
	for _, w := range e.wanted {
		dst = append(dst, "> "+w.text+"\n"...)
	}
	if several {
		dst = append(dst, "# in order\n"...)
	}
	return dst
}

// A sendStep writes a line, which need not be JSON.
type sendStep string

func (s sendStep) play(p *player) error { return p.send(string(s)) }

func (s sendStep) appendLines(dst []byte) []byte {
	return append(dst, "< "+string(s)+"\n"...)
}

// A stderrStep writes text to standard error.
type stderrStep string

func (s stderrStep) play(p *player) error {
	p.rec.Record(s.appendLines(nil))
	_, err := io.WriteString(p.stderr, string(s))
	return err
}

func (s stderrStep) appendLines(dst []byte) []byte {
	return appendDirective(dst, "stderr", string(s))
}

// A closeStep waits for the end of input.
type closeStep struct{}

func (closeStep) play(p *player) error {
	got, err := p.next(false)
	switch {
	case errors.Is(err, errHostClosed):
		return nil
	case err != nil:
		return err
	}
	return &mismatch{"the host sent a frame where the scenario has the end of its input\nwant host closes stdin\ngot  > " +
		shorten(got.text)}
}

func (closeStep) appendLines(dst []byte) []byte {
	return append(dst, "# host closes stdin\n"...)
}

// An exitStep ends the agent with a code.
type exitStep int

func (e exitStep) play(p *player) error {
	p.rec.Record(e.appendLines(nil))
	return p.end(&ending{Ending{Code: int(e)}})
}

func (e exitStep) appendLines(dst []byte) []byte {
	return append(dst, "# exit "+strconv.Itoa(int(e))+"\n"...)
}

// missing returns what the steps wait for first, or "" if they end without waiting for the host.
func missing(steps []Step) string {
	for _, s := range steps {
		switch s := s.(type) {
		case *expectStep:
			return wantLines(s.wanted)
		case closeStep:
			return "want host closes stdin"
		case exitStep:
			return ""
		case Fault:
			if faultKinds[s.name].ends {
				return ""
			}
		}
	}
	return ""
}
