package clewtest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

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
