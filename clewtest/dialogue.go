package clewtest

import (
	"bufio"
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
