package clewtest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// mismatchCode is what the agent exits with when the host did not keep to the scenario.
const mismatchCode = 70

var (
	// errStopped is what a waiting agent meets when it is killed or the test ends.
	errStopped = errors.New("the agent was stopped")
	// errHostClosed says that the host closed its input where the scenario has a frame.
	errHostClosed = errors.New("the host closed stdin")
)

// An ending is how the agent ends. It is an error so that a step can return it.
type ending struct {
	code   int
	signal os.Signal // nil: it exits with code
}

func (e *ending) Error() string { return fmt.Sprintf("exit %d", e.code) }

// A mismatch is a host that does not keep to the scenario.
type mismatch struct{ text string }

func (m *mismatch) Error() string { return m.text }

// A recorder follows a run of the scenario. Its calls return when the test knows.
type recorder interface {
	// begin says that the step with this index begins; an index behind the last one, that all are done.
	begin(step int)
	// record adds lines to the dialogue.
	record(lines []byte)
	// await says what of the step that has begun is still to come.
	await(want string)
	// fail says that the host did not keep to the scenario.
	fail(text string)
	// finish says that the agent ends as the scenario has it.
	finish()
}

// A body is what an agent lives in: memory or a process.
type body interface {
	// closeStdout closes the agent's output.
	closeStdout() error
	// ignoreSIGTERM makes the agent deaf to SIGTERM.
	ignoreSIGTERM()
	// leaveGrandchild leaves something behind that holds the agent's output open.
	leaveGrandchild() error
	// kill ends the agent by a signal. It returns only if it can't, or if the player is to end with the signal itself.
	kill(sig os.Signal) error
}

// A player plays a scenario, on one goroutine.
type player struct {
	steps          []step
	stdin          *bufio.Reader
	stdout, stderr io.Writer
	body           body
	rec            recorder
	quit           <-chan struct{} // closed when waiting is over
	ids            *idTable

	ignoreEnd   bool // the end of input is no reason to exit
	inputEnded  bool // and is in the dialogue
	outputEnded bool
}

// run plays all steps and returns how the agent ends.
func (p *player) run() ending {
	err := p.playSteps()
	var (
		end *ending
		bad *mismatch
	)
	switch {
	case errors.As(err, &end):
		return *end
	case errors.As(err, &bad):
		p.rec.fail(bad.text)
		// The host may not read it, and then nobody does.
		_, _ = fmt.Fprintf(p.stderr, "clewtest: %s\n", strings.ReplaceAll(bad.text, "\n", "\n\t"))
	}
	return ending{code: mismatchCode}
}

func (p *player) playSteps() error {
	for i, s := range p.steps {
		p.rec.begin(i)
		if err := s.play(p); err != nil {
			return err
		}
	}
	p.rec.begin(len(p.steps))
	return p.rest()
}

// rest waits for the end of input behind the last step.
func (p *player) rest() error {
	got, err := p.next(false)
	switch {
	case err == nil:
		return &mismatch{"the host sent a frame after the last step of the scenario\ngot > " + shorten(got.text)}
	case !errors.Is(err, errHostClosed):
		return err
	case p.ignoreEnd:
		return p.hang()
	}
	return exitStep(0).play(p)
}

// hang waits until the agent is killed or the test ends.
func (p *player) hang() error {
	<-p.quit
	return errStopped
}

// end says that the agent ends as it should, before it does.
func (p *player) end(e *ending) error {
	p.rec.finish()
	return e
}

// send writes one frame with the host's ids, and records it first: what a host has seen is in the dialogue.
func (p *player) send(frame string) error {
	frame = p.ids.rewrite(frame)
	p.rec.record([]byte("< " + frame + "\n"))
	return p.write(frame + "\n")
}

// write writes text to the agent's output as it stands.
func (p *player) write(text string) error {
	if p.outputEnded {
		return &mismatch{"the scenario sends something after it has closed stdout: " + shorten(text)}
	}
	_, err := io.WriteString(p.stdout, text)
	return err
}

// next returns the next frame of the host, which is in the dialogue then. It passes over keep_alive frames unless they are
// wanted. The error is errHostClosed at the end of input.
func (p *player) next(keepAlive bool) (wanted, error) {
	for {
		line, err := p.stdin.ReadString('\n')
		text := strings.TrimSpace(line)
		if text == "" && err == nil {
			continue
		}
		if text == "" || err != nil && !errors.Is(err, io.EOF) {
			return wanted{}, p.inputError(err)
		}
		value, err := decodeObject(text)
		if err == nil && value["type"] == "keep_alive" && !keepAlive {
			continue
		}
		p.rec.record([]byte("> " + text + "\n"))
		if err != nil {
			return wanted{}, &mismatch{fmt.Sprintf("the host sent a line that is no JSON object: %v", err)}
		}
		return wanted{text, value}, nil
	}
}

func (p *player) inputError(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if !p.inputEnded {
		p.inputEnded = true
		p.rec.record([]byte("# host closes stdin\n"))
	}
	return errHostClosed
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
			p.rec.await(wantLines(open))
		}
	}
	return nil
}

// bestMatch returns the wanted frame with the fewest differences, of those the one that names the most of got, and of those
// the first.
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

// A sendStep is a line that the agent writes.
type sendStep string

func (s sendStep) play(p *player) error { return p.send(string(s)) }

func (s sendStep) appendLines(dst []byte) []byte {
	return append(dst, "< "+string(s)+"\n"...)
}

// A stderrStep is text for standard error.
type stderrStep string

func (s stderrStep) play(p *player) error {
	p.rec.record(s.appendLines(nil))
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
	p.rec.record(e.appendLines(nil))
	return p.end(&ending{code: int(e)})
}

func (e exitStep) appendLines(dst []byte) []byte {
	return append(dst, "# exit "+strconv.Itoa(int(e))+"\n"...)
}

// missing returns what the steps still wait for, or "" when nothing of the host is missing.
func missing(steps []step) string {
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
