package clikit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/wording"
)

// WritePrivate writes a file that only the user can read, and creates its directory. An existing
// file is replaced, or is an error.
func WritePrivate(path, text string, replace bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return files.Write(path, []byte(text), files.WriteOptions{New: !replace})
}

// Await returns the results of f, or the zero value and the context's error if the context ends
// first. In that case f keeps running, and its results are lost.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		value, err := f()
		done <- outcome{value, err}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// ReadAtMost reads a file, or fails if it has more than most bytes.
func ReadAtMost(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("longer than %s", wording.Size(most))
	}
	return data, err
}

// maxConfig is the maximum size of a file that configures a command.
const maxConfig = 1 << 20

// ReadConfig reads a file that configures a command.
func ReadConfig(path string) ([]byte, error) {
	text, err := ReadAtMost(path, maxConfig)
	if err != nil {
		return nil, Unreadable(path, err)
	}
	return text, nil
}

// DecodeStrictly decodes one JSON value without unknown members. Its errors quote no value.
func DecodeStrictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	offset := d.InputOffset()
	if _, end := d.Token(); err == nil && !errors.Is(end, io.EOF) {
		err = fmt.Errorf("more than one JSON value, at offset %d", offset)
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s, at offset %d", strings.TrimPrefix(err.Error(), "json: "), syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("%s can't be a JSON %s, at offset %d", cmp.Or(kind.Field, "it"), strings.Fields(kind.Value)[0], kind.Offset)
	case err != nil:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// Unreadable reports a file that can't be used.
func Unreadable(path string, err error) error {
	return &Failure{
		Code: ExitInput,
		Err:  fmt.Errorf("cannot read %s: %s", Printable(path), Printable(Cause(err).Error())),
	}
}

// StateFile returns the path of a file that clew keeps for itself.
func StateFile(name string) (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "clew", name), nil
}

// ReadJSON decodes a regular file.
func ReadJSON(path string, v any, limit int64) error {
	data, err := files.ReadSmall(path, limit)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// ExpandHome replaces a leading "~" of a path by the user's home directory.
func ExpandHome(path string) string {
	home, _ := os.UserHomeDir() // "" with an error
	return files.ExpandHome(path, home)
}
