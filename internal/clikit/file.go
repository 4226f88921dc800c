package clikit

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
