package simagent

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// A dialogueParser turns the lines of a dialogue file into steps.
type dialogueParser struct {
	s        *Scenario
	source   string      // of the current line, for Scenario.Add
	anyOrder bool        // between "in any order" and "in order"
	group    *expectStep // the step that takes the next host frame in any order
}

// ReadDialogue reads a dialogue file; package clewtest describes the format. Reports name each step
// by its line number after prefix, such as "line ". It blocks on r, and returns the first error of
// r or of the text, with its line.
func ReadDialogue(r io.Reader, prefix string) (*Scenario, error) {
	p := &dialogueParser{s: new(Scenario)}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, fmt.Errorf("reading a dialogue: %w", err)
		}
		p.source = prefix + strconv.Itoa(n)
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

func (p *dialogueParser) add(step Step) error {
	p.group = nil
	p.s.Add(step, p.source)
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
	p.s.Add(e, p.source)
	if p.anyOrder {
		p.group = e
	}
	return nil
}

// comment reads a line that starts with #. It skips lines that are not directives.
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
	p.s.Args = []string{}
	for _, w := range words {
		if !w.quoted {
			return fmt.Errorf("not a quoted string: %s", shorten(w.text))
		}
		p.s.Args = append(p.s.Args, w.text)
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
	f, err := NewFault(name, args...)
	if err != nil {
		return err
	}
	return p.add(f)
}

// looksLikeArguments reports whether text consists of quoted strings, numbers and durations. Then
// the word before it is a misspelled fault rather than prose.
func looksLikeArguments(text string) bool {
	words, err := splitWords(text)
	return err == nil && !slices.ContainsFunc(words, func(w word) bool {
		return !w.quoted && !strings.ContainsAny(w.text, "0123456789")
	})
}

// A word is one argument of a directive.
type word struct {
	text   string
	quoted bool
}

// splitWords splits text at spaces. A word in double quotes may hold spaces and escapes.
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

// unquote reads a string of Go or of JSON: each has escapes that the other lacks.
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

// appendDirective appends a directive with all of its arguments quoted.
func appendDirective(dst []byte, word string, args ...string) []byte {
	dst = append(dst, "# "+word...)
	for _, arg := range args {
		dst = append(dst, ' ')
		dst = strconv.AppendQuote(dst, arg)
	}
	return append(dst, '\n')
}
