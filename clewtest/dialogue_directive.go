package clewtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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
