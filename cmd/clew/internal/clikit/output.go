package clikit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/tty"
)

// Cause removes the operation and the path from a file system error.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// OutputError reports that stdout could not be written.
func OutputError(err error) error {
	return fmt.Errorf("cannot write the output: %w", Cause(err))
}

// Unwritable reports that a file could not be written.
func Unwritable(path string, err error) error {
	return &Failure{Code: ExitFailed, Err: fmt.Errorf("cannot write %s: %w", Printable(path), Cause(err))}
}

// A WriteError means that stdout could not be written.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return OutputError(e.Err).Error() }

// Unwrap returns the stream's error.
func (e *WriteError) Unwrap() error { return e.Err }

// An ErrWriter is the output for cobra: help, the version, completion scripts. Cobra drops most
// write errors, so an ErrWriter keeps the first one instead of returning it.
type ErrWriter struct {
	W   io.Writer
	Err error
}

func (o *ErrWriter) Write(p []byte) (int, error) {
	if o.Err == nil {
		_, o.Err = o.W.Write(p)
	}
	return len(p), nil
}

// JSONLine returns v as a line of JSON that is safe to show on a terminal.
func JSONLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return tty.JSON(b.Bytes()), nil
}

// Printable returns an untrusted text as one line that is safe for a terminal. Characters that a
// terminal might interpret or hide are escaped as in a Go string. Only a text that has some of them
// has its backslashes doubled, so that a path of Windows is shown as it is, and an escape differs
// from the same letters in the text.
func Printable(s string) string {
	if tty.CleanLine(s) == s && !strings.ContainsRune(s, utf8.RuneError) { // it may have emoji of several parts
		return s
	}
	quoted := strconv.Quote(s)
	return tty.Clean(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
}

// MaxText is the number of bytes that are kept of an untrusted text.
const MaxText = 160

// Clip shortens a text to MaxText bytes, and keeps no more of it in memory.
func Clip(s string) string { return clip.Marked(s, MaxText) }

// WriteJSON writes v as JSONLine returns it.
func WriteJSON(w io.Writer, v any) error {
	line, err := JSONLine(v)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// Wrapped breaks a clean text into lines of at most columns columns; 0 means no limit.
func Wrapped(text string, columns int) string {
	return strings.Join(tty.Wrap(text, columns), "\n") + "\n"
}

// WrapMarked breaks a clean text into lines of at most columns columns; 0 or less means no limit.
// The first line starts with the mark, and the others are indented by its width.
func WrapMarked(text, mark string, columns int) []string {
	lines := []string{text}
	if columns > 0 {
		lines = tty.Wrap(text, max(columns-len(mark), 1))
	}
	for i := range lines {
		lines[i] = mark + lines[i]
		mark = strings.Repeat(" ", len(mark))
	}
	return lines
}
