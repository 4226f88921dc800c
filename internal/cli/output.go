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

	"github.com/clewdev/clew/internal/render"
)

func outputError(err error) error {
	return fmt.Errorf("the output cannot be written: %w", cause(err))
}

func unwritable(path string, err error) error {
	return &failure{code: exitFailed, err: fmt.Errorf("%s cannot be written: %w", printable(path), cause(err))}
}

// A writeError says that stdout takes no more.
type writeError struct{ err error }

func (e *writeError) Error() string { return outputError(e.err).Error() }

func (e *writeError) Unwrap() error { return e.err }

// An outlet is where cobra prints: help, the version, completion scripts. Cobra
// drops most errors of that, so an outlet keeps the first one instead of
// returning it.
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

// untilDone is a writer that fails once a context has ended.
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

// A counter counts what is written.
type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// jsonLine returns v as a line of JSON that a terminal can show.
func jsonLine(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return escapeLine(b.Bytes()), nil
}

// printable makes a text that comes from elsewhere fit for a terminal: control
// characters, invisible ones and bytes that are not UTF-8 are escaped as in a Go
// string, so that it neither moves the cursor nor leaves its line.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// escaped is printable for a text that is one of ours, but for what it quotes: if
// nothing of it needs escaping, it stays as it is.
func escaped(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError {
			return printable(s)
		}
	}
	return s
}

// maxText is how many bytes are kept of a text that comes from elsewhere.
const maxText = 160

// clip shortens a text to what is worth keeping, and holds on to no more memory
// than that.
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

// escapeLine escapes the characters of a line of JSON that a terminal might obey
// or hide.
func escapeLine(line []byte) []byte { return render.JSON(line) }

// harmless makes a text of several lines fit for a terminal, and leaves the rest of
// it as it is.
func cleanText(s string) string { return render.CleanExactly(s) }

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
