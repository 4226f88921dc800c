package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/tty"
)

func outputError(err error) error {
	return fmt.Errorf("cannot write the output: %w", cause(err))
}

func unwritable(path string, err error) error {
	return &failure{code: exitFailed, err: fmt.Errorf("cannot write %s: %w", printable(path), cause(err))}
}

// A writeError says that stdout could not be written.
type writeError struct{ err error }

func (e *writeError) Error() string { return outputError(e.err).Error() }

func (e *writeError) Unwrap() error { return e.err }

// An errWriter is the output of cobra: help, the version, completion scripts. Cobra drops most
// errors of it, so an errWriter keeps the first one instead of returning it.
type errWriter struct {
	w   io.Writer
	err error
}

func (o *errWriter) Write(p []byte) (int, error) {
	if o.err == nil {
		_, o.err = o.w.Write(p)
	}
	return len(p), nil
}

// A ctxWriter fails once its context has ended.
type ctxWriter struct {
	ctx context.Context
	w   io.Writer
}

func (u *ctxWriter) Write(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.w.Write(p)
}

// A lineWriter writes whole lines, so that output that is interrupted ends with a line. Call Flush
// at the end.
type lineWriter struct {
	w   io.Writer
	buf []byte
	end int // of the last whole line in buf
}

func (l *lineWriter) Write(p []byte) (int, error) {
	const enough, most = 64 << 10, 1 << 20 // a longer line is written in pieces
	if end := bytes.LastIndexByte(p, '\n') + 1; end > 0 {
		l.end = len(l.buf) + end
	}
	l.buf = append(l.buf, p...)
	switch {
	case len(l.buf) < enough || l.end == 0 && len(l.buf) < most:
		return len(p), nil
	case l.end == 0:
		l.end = len(l.buf)
	}
	_, err := l.w.Write(l.buf[:l.end])
	l.buf, l.end = append(l.buf[:0], l.buf[l.end:]...), 0
	return len(p), err
}

// Flush writes the rest.
func (l *lineWriter) Flush() error {
	_, err := l.w.Write(l.buf)
	l.buf = l.buf[:0]
	return err
}

// A countingWriter counts the bytes that are written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// jsonLine returns v as a line of JSON that is safe to show on a terminal.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeLine(b.Bytes()), nil
}

// printable returns an untrusted text as one line that is safe for a terminal. Characters that a
// terminal might interpret or hide are escaped as in a Go string. Only a text that has some of them
// has its backslashes doubled, so that a path of Windows is shown as it is, and an escape differs
// from the same letters in the text.
func printable(s string) string {
	for _, r := range s {
		if !tty.IsVisible(r) || r == utf8.RuneError {
			quoted := strconv.Quote(s)
			return tty.Clean(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`))
		}
	}
	return s
}

// escaped is printable, for a text of ours that quotes an untrusted one.
func escaped(s string) string { return printable(s) }

// maxText is the number of bytes that are kept of an untrusted text.
const maxText = 160

// clip shortens a text to maxText bytes, and keeps no more of it in memory.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// escapeLine escapes the characters of a line of JSON that control a terminal or are invisible.
func escapeLine(line []byte) []byte { return tty.JSON(line) }

// cleanText makes a text of several lines safe for a terminal, and leaves the rest unchanged.
func cleanText(s string) string { return tty.CleanExactly(s) }

func writeJSON(w io.Writer, v any) error {
	line, err := jsonLine(v)
	if err != nil {
		return err
	}
	_, err = w.Write(line)
	return err
}

// formatSize writes a size for people, in three digits.
func formatSize(n int64) string {
	units := []string{"kB", "MB", "GB", "TB"}
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	size := float64(n) / 1000
	for size >= 999.5 && len(units) > 1 {
		size /= 1000
		units = units[1:]
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %s", size, units[0])
	}
	return fmt.Sprintf("%.0f %s", size, units[0])
}

// group writes a number with a comma between thousands.
func group(n int64) string {
	digits, negative := strings.CutPrefix(strconv.FormatInt(n, 10), "-")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if negative {
		return "-" + digits
	}
	return digits
}
