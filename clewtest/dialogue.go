package clewtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ReadDialogue reads a dialogue file. It blocks on r, and returns the first error of r or of the text, with its line.
//
// A line that begins with "> " is a frame that the host is expected to send, one that begins with "< " is what the agent
// sends, JSON or not. Lines that begin with "#" are prose, except for these:
//
//	# args "--verbose" "--model" "opus"   the arguments of the recorded agent
//	# host closes stdin                   Scenario.CloseStdin
//	# exit 1                              Scenario.Exit
//	# stderr "a warning\n"                Scenario.Stderr
//	# in any order                        the host frames from here on come in any order,
//	# in order                            until here, or until the agent does something
//	# fault hang                          Scenario.Do, with the fault's name and arguments
//
// Strings are quoted as in Go or JSON. What only begins with such a word is prose: "# exit codes are below" ends nothing. But
// where a quoted string, or the name of a fault, comes next, the line must be right. Blank lines count for nothing.
func ReadDialogue(r io.Reader) (*Scenario, error) {
	s, err := readDialogue(r, "line ")
	if err != nil {
		return nil, fmt.Errorf("clewtest: %w", err)
	}
	return s, nil
}

// LoadDialogue reads the dialogue file at path. It ends the test when there is none or when it is malformed.
func LoadDialogue(t testing.TB, path string) *Scenario {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("clewtest: %v", err)
	}
	defer f.Close()
	s, err := readDialogue(f, filepath.Base(path)+":")
	if err != nil {
		t.Fatalf("clewtest: %s: %v", path, err)
	}
	return s
}

// A dialogueParser turns lines into steps.
type dialogueParser struct {
	s        *Scenario
	place    string
	anyOrder bool        // between "in any order" and "in order"
	group    *expectStep // the step that takes the next host frame in any order
}

func readDialogue(r io.Reader, prefix string) (*Scenario, error) {
	p := &dialogueParser{s: new(Scenario)}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, fmt.Errorf("reading a dialogue: %w", err)
		}
		p.place = prefix + strconv.Itoa(n)
		if err := p.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("dialogue, line %d: %w", n, err)
		}
		if last {
			return p.s, nil
		}
	}
}

func (p *dialogueParser) line(line string) error {
	switch {
	case strings.TrimSpace(line) == "":
		return nil
	case line[0] == '>':
		return p.expect(strings.TrimPrefix(line[1:], " "))
	case line[0] == '<':
		return p.add(sendStep(strings.TrimPrefix(line[1:], " ")))
	case line[0] == '#':
		return p.comment(strings.TrimSpace(line[1:]))
	}
	return fmt.Errorf("neither >, < nor #: %s", shorten(line))
}

func (p *dialogueParser) add(st step) error {
	p.group = nil
	p.s.addAt(st, p.place)
	return nil
}

func (p *dialogueParser) expect(text string) error {
	w, err := newWanted(text)
	if err != nil {
		return err
	}
	if p.group != nil {
		p.group.wanted = append(p.group.wanted, w)
		return nil
	}
	e := &expectStep{wanted: []wanted{w}}
	p.s.addAt(e, p.place)
	if p.anyOrder {
		p.group = e
	}
	return nil
}

// comment reads a line that begins with #. What is none of the directives is prose.
func (p *dialogueParser) comment(text string) error {
	switch text {
	case "host closes stdin":
		return p.add(closeStep{})
	case "in any order", "in order":
		p.anyOrder, p.group = text == "in any order", nil
		return nil
	}
	word, rest, _ := strings.Cut(text, " ")
	read, ok := map[string]func(string) error{"args": p.args, "exit": p.exit, "stderr": p.stderr, "fault": p.fault}[word]
	if !ok {
		return nil
	}
	if err := read(strings.TrimSpace(rest)); err != nil {
		return fmt.Errorf("# %s: %w", word, err)
	}
	return nil
}

func (p *dialogueParser) args(rest string) error {
	if rest != "" && rest[0] != '"' {
		return nil
	}
	words, err := splitWords(rest)
	if err != nil {
		return err
	}
	p.s.args = []string{}
	for _, w := range words {
		if !w.quoted {
			return fmt.Errorf("not a quoted string: %s", shorten(w.text))
		}
		p.s.args = append(p.s.args, w.text)
	}
	return nil
}

func (p *dialogueParser) exit(rest string) error {
	if code, err := strconv.Atoi(rest); err == nil {
		return p.exitWith(code)
	}
	return nil
}

func (p *dialogueParser) exitWith(code int) error {
	if err := checkExitCode(code); err != nil {
		return err
	}
	return p.add(exitStep(code))
}

func (p *dialogueParser) stderr(rest string) error {
	if rest == "" || rest[0] != '"' {
		return nil
	}
	words, err := splitWords(rest)
	if err != nil {
		return err
	}
	if len(words) > 1 {
		return errors.New("more than one quoted string")
	}
	return p.add(stderrStep(words[0].text))
}

func (p *dialogueParser) fault(rest string) error {
	name, arguments, _ := strings.Cut(rest, " ")
	if _, known := faultKinds[name]; !known && !looksLikeArguments(arguments) {
		return nil
	}
	words, err := splitWords(arguments)
	if err != nil {
		return err
	}
	var args []string
	for _, w := range words {
		args = append(args, w.text)
	}
	f, err := newFault(name, args...)
	if err != nil {
		return err
	}
	return p.add(f)
}

// looksLikeArguments tells a fault whose name is misspelt from prose: its arguments are quoted, or numbers and durations.
func looksLikeArguments(text string) bool {
	words, err := splitWords(text)
	return err == nil && !slices.ContainsFunc(words, func(w word) bool {
		return !w.quoted && !strings.ContainsAny(w.text, "0123456789")
	})
}

// A word is a part of a directive.
type word struct {
	text   string
	quoted bool
}

// splitWords takes words apart at blanks. A word in double quotes may hold blanks and escapes.
func splitWords(text string) ([]word, error) {
	var words []word
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		end := wordEnd(text)
		w := word{text[:end], text[0] == '"'}
		if w.quoted {
			var err error
			if w.text, err = unquote(w.text); err != nil {
				return nil, err
			}
		}
		words, text = append(words, w), text[end:]
	}
	return words, nil
}

func wordEnd(text string) int {
	quoted := text[0] == '"'
	for i := 1; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case quoted && text[i] == '"':
			return i + 1
		case !quoted && text[i] == ' ':
			return i
		}
	}
	return len(text)
}

// unquote reads a string of Go, which has escapes for single bytes, or of JSON, which has some that Go lacks.
func unquote(quoted string) (string, error) {
	if s, err := strconv.Unquote(quoted); err == nil {
		return s, nil
	}
	var s string
	if err := json.Unmarshal([]byte(quoted), &s); err != nil {
		return "", fmt.Errorf("not a quoted string: %s", shorten(quoted))
	}
	return s, nil
}

// appendDirective writes a line that the parser understands, all of its arguments quoted.
func appendDirective(dst []byte, word string, args ...string) []byte {
	dst = append(dst, "# "+word...)
	for _, arg := range args {
		dst = append(dst, ' ')
		dst = strconv.AppendQuote(dst, arg)
	}
	return append(dst, '\n')
}
