package clewtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
// Strings are quoted as in Go or JSON. Blank lines count for nothing.
func ReadDialogue(r io.Reader) (*Scenario, error) {
	return readDialogue(r, "line ")
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
			return nil, fmt.Errorf("clewtest: reading a dialogue: %w", err)
		}
		p.place = prefix + strconv.Itoa(n)
		if err := p.line(strings.TrimRight(line, "\r\n")); err != nil {
			return nil, fmt.Errorf("clewtest: dialogue, line %d: %w", n, err)
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

func (p *dialogueParser) comment(text string) error {
	switch text {
	case "host closes stdin":
		return p.add(closeStep{})
	case "in any order", "in order":
		p.anyOrder, p.group = text == "in any order", nil
		return nil
	}
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "args", "exit", "stderr", "fault":
		if err := p.directive(word, strings.TrimSpace(rest)); err != nil {
			return fmt.Errorf("# %s: %w", word, err)
		}
	}
	return nil
}

func (p *dialogueParser) directive(word, rest string) error {
	if word == "exit" {
		code, err := strconv.Atoi(rest)
		if err != nil {
			return fmt.Errorf("no exit code: %s", shorten(rest))
		}
		return p.add(exitStep(code))
	}
	words, err := splitWords(rest)
	switch {
	case err != nil:
		return err
	case word == "args":
		p.s.args = words
		return nil
	case len(words) == 0:
		return errors.New("no argument")
	case word == "stderr":
		return p.add(stderrStep(strings.Join(words, " ")))
	}
	f, err := newFault(words[0], words[1:]...)
	if err != nil {
		return err
	}
	return p.add(f)
}

// splitWords takes words apart at blanks. A word in double quotes may hold blanks and escapes.
func splitWords(text string) ([]string, error) {
	words := []string{}
	for text = strings.TrimLeft(text, " "); text != ""; text = strings.TrimLeft(text, " ") {
		end := wordEnd(text)
		word := text[:end]
		if word[0] == '"' {
			var err error
			if word, err = unquote(word); err != nil {
				return nil, err
			}
		}
		words, text = append(words, word), text[end:]
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

// shorten cuts a text that is printed for people.
func shorten(text string) string {
	const most = 240
	if len(text) <= most {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
}
