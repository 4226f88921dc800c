package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/pty"
)

// The terminal that the demo is recorded on.
const (
	columns, rows = 100, 30
	terminalBytes = 300_000
)

// A piece is what the program wrote at a time.
type piece struct {
	at   time.Duration
	text string
}

// drawTerminal records the demo and makes a picture of it.
func drawTerminal(ctx context.Context, clew, tour string) error {
	pieces, err := recordDemo(ctx, clew, tour)
	if err != nil {
		return err
	}
	frames, err := filmOf(pieces)
	if err != nil {
		return err
	}
	return save(terminalFile, []byte(drawFilm(frames)), terminalBytes)
}

// recordDemo runs the demo on a terminal, and answers its question as a user would.
func recordDemo(ctx context.Context, clew, tour string) ([]piece, error) {
	master, slave, err := pty.Open(columns, rows)
	if err != nil {
		return nil, fmt.Errorf("a recording needs a pseudo-terminal: %w", err)
	}
	defer func() { _ = master.Close() }() // all was read
	cmd := exec.CommandContext(ctx, clew, "demo", "--dir", tour)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "TZ=UTC")
	began := time.Now()
	err = cmd.Start()
	if closeErr := slave.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	pieces := watch(master, tour, began)
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("clew demo: %w", err)
	}
	if len(pieces) == 0 {
		return nil, errors.New("clew demo has shown nothing")
	}
	return pieces, nil
}

// watch returns what the program writes until it ends, and answers its question.
func watch(master io.ReadWriter, tour string, began time.Time) []piece {
	var pieces []piece
	var all, rest []byte // what was read, and what of it is no whole character yet
	asked := false
	for buf := make([]byte, 64<<10); ; {
		n, err := master.Read(buf)
		if err != nil {
			return pieces // the program has ended
		}
		all, rest = append(all, buf[:n]...), append(rest, buf[:n]...)
		whole := wholeCharacters(rest)
		text := strings.ReplaceAll(string(rest[:whole]), tour, "/tmp/tour")
		pieces, rest = append(pieces, piece{time.Since(began), text}), rest[whole:]
		if !asked && bytes.Contains(all, []byte("Allow it?")) {
			asked = true
			time.AfterFunc(thinkingTime, func() { _, _ = io.WriteString(master, "y\n") }) // or the program waits for ever
		}
	}
}

// wholeCharacters returns how much of a text does not end within a character.
func wholeCharacters(text []byte) int {
	for i := len(text) - 1; i >= max(len(text)-utf8.UTFMax, 0); i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				return len(text)
			}
			return i
		}
	}
	return len(text)
}

// thinkingTime is how long a user thinks about a question.
const thinkingTime = 2500 * time.Millisecond
