package clewtest

import (
	"errors"
	"fmt"
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
