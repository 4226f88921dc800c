package clikit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/clewdev/clew/internal/wording"
)

// WritePrivate writes a file that only the user can read, and creates its directory. An existing
// file is replaced, or is an error.
func WritePrivate(path, text string, replace bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if !replace {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return fill(file, text)
	}
	temp, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // with mode 0600
	if err != nil {
		return err
	}
	if err := fill(temp, text); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		_ = os.Remove(temp.Name()) // the first error says more
		return err
	}
	return nil
}

// fill writes a new file, and removes it if that fails.
func fill(file *os.File, text string) error {
	_, err := file.WriteString(text)
	err = errors.Join(err, file.Close())
	if err != nil {
		_ = os.Remove(file.Name()) // the first error says more
	}
	return err
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

// ReadAtMost reads a file, or fails if it has more than so many bytes.
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
