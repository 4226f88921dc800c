package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/clewdev/clew/transcript"
)

// A followed file is a transcript of which the beginning was read.
type followed struct {
	path    string
	opts    *transcript.ReadOptions
	stat    func(path string) (fs.FileInfo, error) // follows symbolic links or does not
	builder *transcript.Builder                    // nil while there is nothing
	info    fs.FileInfo                            // of the file that was read
	offset  int64                                  // up to where
	end     []byte                                 // the last bytes before the offset
}

// fingerprint is how many bytes before the offset must be as they were.
const fingerprint = 64

// A growth tells what has become of a file since it was last looked at.
type growth struct {
	lines bool // some were completed
	reset bool // the file is another one now, or was cut, and was read from its start
	gone  bool
}

func (g growth) tells() bool { return g.lines || g.reset || g.gone }

var errNotRegular = errors.New("not a regular file")

// read takes what was added to the file. It costs as much as that is long. sure says to open the file even if it looks
// as it did.
func (f *followed) read(ctx context.Context, buffer []byte, sure bool) (growth, error) {
	info, err := f.stat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f.lose(), nil
	case err != nil:
		return growth{}, err
	case !info.Mode().IsRegular(): // to open a pipe would block
		return growth{}, &fs.PathError{Op: "open", Path: f.path, Err: errNotRegular}
	case !sure && f.looksSame(info):
		return growth{}, nil
	}
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.lose(), nil
	}
	if err != nil {
		return growth{}, err
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil || !os.SameFile(info, opened) { // replaced just now: the next look finds out by what
		return growth{}, err
	}
	return f.take(ctx, file, opened, buffer)
}

func (f *followed) looksSame(info fs.FileInfo) bool {
	return f.info != nil && info.Size() == f.offset && info.ModTime().Equal(f.info.ModTime()) && os.SameFile(info, f.info)
}

// take reads the open file from where it was left, or from its start if it is not what it was.
func (f *followed) take(ctx context.Context, file *os.File, info fs.FileInfo, buffer []byte) (growth, error) {
	var g growth
	if g.reset = f.builder != nil && f.replaced(file, info); g.reset {
		f.forget()
	}
	if f.builder == nil && info.Size() == 0 && !g.reset {
		return g, nil
	}
	if f.builder == nil {
		f.builder = transcript.NewBuilder(f.opts)
	}
	f.info = info
	var err error
	g.lines, err = f.copy(ctx, io.NewSectionReader(file, f.offset, info.Size()-f.offset), buffer)
	return g, err
}

// replaced reports whether the file is not the one that was read, or was changed where it was read.
func (f *followed) replaced(file *os.File, info fs.FileInfo) bool {
	if info.Size() < f.offset || !os.SameFile(f.info, info) {
		return true
	}
	end := make([]byte, len(f.end))
	_, err := file.ReadAt(end, f.offset-int64(len(end)))
	return err == nil && !bytes.Equal(end, f.end)
}

// copy gives the builder what is new. It reports whether that completes lines, as NUL bytes do too.
func (f *followed) copy(ctx context.Context, from io.Reader, buffer []byte) (lines bool, err error) {
	for {
		n, err := from.Read(buffer)
		piece := buffer[:n]
		f.offset += int64(n)
		_, _ = f.builder.Write(piece) // never fails
		f.remember(piece)
		lines = lines || bytes.IndexByte(piece, '\n') >= 0 || bytes.IndexByte(piece, 0) >= 0
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return lines, err
		}
	}
}

func (f *followed) remember(piece []byte) {
	f.end = append(f.end, piece[max(0, len(piece)-fingerprint):]...)
	f.end = append(f.end[:0], f.end[max(0, len(f.end)-fingerprint):]...)
}

// lose says that the file is not there.
func (f *followed) lose() growth {
	gone := f.builder != nil
	f.forget()
	return growth{gone: gone}
}

// forget drops what was read.
func (f *followed) forget() { f.builder, f.info, f.offset, f.end = nil, nil, 0, f.end[:0] }
