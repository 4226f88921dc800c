package transcript

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
)

// readsAlike checks that a builder makes the same of a text, however it gets it.
func readsAlike(t *testing.T, text []byte, opts *ReadOptions) {
	t.Helper()
	b := NewBuilder(opts)
	_, _ = b.Write(text)
	_ = b.Close()
	got, err := Read(bytes.NewReader(text), opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := b.Transcript(); !sameTranscript(want, got) {
		t.Errorf("%d chunks and %d bad lines, want %d and %d",
			len(got.Chunks), len(got.Invalid), len(want.Chunks), len(want.Invalid))
	}
}

// Lines that are decoded ahead, in batches, become the same transcript as line after line.
func TestReadFromEqualsWrite(t *testing.T) {
	t.Parallel()
	var many bytes.Buffer
	if _, err := many.ReadFrom(longTranscript(3*batchLines, 3000)); err != nil {
		t.Fatal(err)
	}
	long := turnText(0, 2*keepBytes)
	bad := strings.Repeat("no entry\n", 2*batchLines)
	for name, text := range map[string]string{
		"many lines":         many.String(),
		"long lines":         long + many.String() + turnText(3*batchLines, 2*keepBytes) + turnText(3*batchLines+1, 10),
		"bad lines":          bad + many.String()[:batchBytes] + "\n" + bad,
		"empty":              "",
		"without a line end": strings.TrimSuffix(many.String(), "\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readsAlike(t, []byte(text), nil)
			readsAlike(t, []byte(text), &ReadOptions{MaxLineBytes: 2000})
		})
	}
}

// A reader that fails, or panics, leaves the entries before and no goroutine.
func TestReadFromEndsWithItsReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, last := range map[string]io.Reader{"error": iotest.ErrReader(broken), "panic": panicReader{broken}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
				b := NewBuilder(nil)
				err := readFromOf(b, io.MultiReader(longTranscript(batchLines, 10), last))
				if !errors.Is(err, broken) {
					t.Errorf("the error is %v", err)
				}
				if name == "error" && len(b.Transcript().Chunks) != 3*batchLines {
					t.Errorf("%d chunks, want %d", len(b.Transcript().Chunks), 3*batchLines)
				}
			})
		})
	}
}

// readFromOf returns the error of ReadFrom, or the error that it panics with.
func readFromOf(b *Builder, r io.Reader) (err error) {
	defer func() {
		if cause, ok := recover().(error); ok {
			err = cause
		}
	}()
	_, err = b.ReadFrom(r)
	return err
}

// A panicReader panics.
type panicReader struct{ err error }

func (r panicReader) Read([]byte) (int, error) { panic(r.err) }
