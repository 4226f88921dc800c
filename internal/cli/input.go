package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// An input is a stream that a command reads: a file, or stdin. Its reads end
// with the context, even where the system would have them wait.
type input struct {
	io.Reader
	name string
	size int64 // how much there is to read, or -1 when that is not known
	file *os.File
}

// openInput opens the file of that name. "-" is stdin, and so is "", unless that
// is a terminal, where nobody means to type frames.
func openInput(ctx context.Context, name string, stdin io.Reader) (*input, error) {
	if name == "" && isTerminal(stdin) {
		return nil, &failure{
			code: exitUsage,
			err:  errors.New("there is nothing to read: stdin is a terminal"),
			hint: "Give a file, or - to type frames, or pipe them in: claude -p --verbose --output-format stream-json hello | clew inspect",
		}
	}
	if name == "" || name == "-" {
		return newInput(ctx, "stdin", stdin)
	}
	file, err := await(ctx, func() (*os.File, error) { return os.Open(name) })
	if err != nil {
		return nil, openError(ctx, name, err)
	}
	in, err := newInput(ctx, name, file)
	if err != nil {
		_ = file.Close() // opened to be read
		return nil, err
	}
	in.file = file
	return in, nil
}

func newInput(ctx context.Context, name string, r io.Reader) (*input, error) {
	in := &input{name: name, size: -1, Reader: &patient{ctx: ctx, src: r}}
	file, ok := r.(*os.File)
	if !ok {
		return in, nil
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, &failure{code: exitInput, err: in.readError(err)}
	case info.IsDir():
		return nil, &failure{
			code: exitInput,
			err:  fmt.Errorf("%s is a folder", printable(name)),
			hint: "Give a file of stream-json, one of those in it perhaps.",
		}
	case info.Mode().IsRegular():
		in.Reader = file
		in.size = info.Size() - offset(file)
	}
	return in, nil
}

// offset returns how far a file that was opened by somebody else has been read.
func offset(file *os.File) int64 {
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return at
}

// Close closes the input if it was opened here.
func (in *input) Close() error {
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}

// readError says what went wrong in a read.
func (in *input) readError(err error) error {
	return fmt.Errorf("%s cannot be read: %w", printable(in.name), cause(err))
}

func openError(ctx context.Context, name string, err error) error {
	shown := printable(name)
	switch {
	case ctx.Err() != nil:
		return &failure{code: exitInterrupted, err: fmt.Errorf("interrupted before %s could be opened", shown)}
	case errors.Is(err, fs.ErrNotExist):
		return &failure{
			code: exitInput,
			err:  fmt.Errorf("there is no file %s", shown),
			hint: "Give the path of a file of stream-json, or - for stdin.",
		}
	case errors.Is(err, fs.ErrPermission):
		return &failure{
			code: exitInput,
			err:  fmt.Errorf("%s cannot be opened: permission denied", shown),
			hint: "Make the file readable, or pipe it in.",
		}
	}
	return &failure{code: exitInput, err: fmt.Errorf("%s cannot be opened: %w", shown, cause(err))}
}

// cause takes the operation and the path off an error of the file system.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
