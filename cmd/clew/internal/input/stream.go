package input

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/export"
)

// A Stream is a stream that a command reads: a file, or stdin. Its reads end with the context, even
// if the system still waits for data.
type Stream struct {
	io.Reader
	Name string
	Size int64 // bytes to read, or -1 if that is not known
	File *os.File
}

// Open opens the file of that name. "-" means stdin, and so does "" unless stdin is a
// terminal, where nobody means to type frames.
func Open(ctx context.Context, name string, stdin io.Reader) (*Stream, error) {
	if name == "" && clikit.IsTerminal(stdin) {
		return nil, &clikit.Failure{
			Code: clikit.ExitUsage,
			Err:  errors.New("no input: stdin is a terminal"),
			Hint: "Give a file, - to type frames, or a pipe: claude -p --verbose --output-format stream-json hello | clew inspect",
		}
	}
	if name == "" || name == "-" {
		return New(ctx, "stdin", stdin)
	}
	file, err := clikit.Await(ctx, func() (*os.File, error) { return os.Open(name) })
	if err != nil {
		return nil, openError(ctx, name, err)
	}
	in, err := New(ctx, name, file)
	if err != nil {
		_ = file.Close() // opened to be read
		return nil, err
	}
	in.File = file
	return in, nil
}

// New returns the stream of r, which messages call name.
func New(ctx context.Context, name string, r io.Reader) (*Stream, error) {
	in := &Stream{Name: name, Size: -1, Reader: Reader(ctx, r)}
	file, ok := r.(*os.File)
	if !ok {
		return in, nil
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, &clikit.Failure{Code: clikit.ExitInput, Err: in.ReadError(err)}
	case info.IsDir():
		return nil, &clikit.Failure{
			Code: clikit.ExitInput,
			Err:  fmt.Errorf("%s is a directory", clikit.Printable(name)),
			Hint: "Give the path of a file.",
		}
	case info.Mode().IsRegular():
		in.Reader = file
		in.Size = info.Size() - offset(file)
	}
	return in, nil
}

// offset returns the position in a file that the caller opened.
func offset(file *os.File) int64 {
	at, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	return at
}

// Close closes the stream if it was opened here.
func (in *Stream) Close() error {
	if in.File == nil {
		return nil
	}
	return in.File.Close()
}

// ReadError describes a failed read.
func (in *Stream) ReadError(err error) error {
	return fmt.Errorf("cannot read %s: %w", clikit.Printable(in.Name), clikit.Cause(err))
}

func openError(ctx context.Context, name string, err error) error {
	shown := clikit.Printable(name)
	switch {
	case ctx.Err() != nil:
		return &clikit.Failure{Code: clikit.ExitInterrupted, Err: fmt.Errorf("interrupted while opening %s", shown)}
	case errors.Is(err, fs.ErrNotExist):
		return &clikit.Failure{
			Code: clikit.ExitInput,
			Err:  missingFile(shown + " does not exist"),
			Hint: "Give the path of a stream-json file, or - for stdin.",
		}
	case errors.Is(err, fs.ErrPermission):
		return &clikit.Failure{
			Code: clikit.ExitInput,
			Err:  fmt.Errorf("cannot open %s: permission denied", shown),
			Hint: "Make the file readable, or pipe it in.",
		}
	}
	return &clikit.Failure{Code: clikit.ExitInput, Err: fmt.Errorf("cannot open %s: %w", shown, clikit.Cause(err))}
}

// A missingFile is the error for a file that does not exist.
type missingFile string

func (m missingFile) Error() string { return string(m) }

// Is reports that the file does not exist, for errors.Is.
func (m missingFile) Is(target error) bool { return target == fs.ErrNotExist }

// A ctxReader reads from a pipe or a terminal until its context ends.
type ctxReader struct {
	ctx     context.Context
	src     io.Reader
	buf     []byte
	pending []byte // read from the source and not yet returned
	err     error
}

// Reader returns a reader of r whose reads end with the context, even if reads of r do not.
func Reader(ctx context.Context, r io.Reader) io.Reader { return &ctxReader{ctx: ctx, src: r} }

// Read reads into a separate buffer: an abandoned read may complete later, and must not write to p.
func (r *ctxReader) Read(p []byte) (int, error) {
	if len(r.pending) == 0 && r.err == nil {
		r.fill()
	}
	n := copy(p, r.pending)
	r.pending = r.pending[n:]
	if n > 0 || len(p) == 0 {
		return n, nil
	}
	return 0, r.err
}

func (r *ctxReader) fill() {
	if r.buf == nil {
		r.buf = make([]byte, 64<<10)
	}
	n, err := clikit.Await(r.ctx, func() (int, error) { return r.src.Read(r.buf) })
	r.pending, r.err = r.buf[:n], err
}

// A Format is the format of a recorded conversation.
type Format int

// The formats. An unknown one is a Transcript, whose bad lines can be reported.
const (
	unknown Format = iota
	Transcript
	StreamJSON // stream-json
	Exported   // JSON of "clew export"
)

const sniffed = 64 << 10 // bytes from which the format is detected

// sniff detects the format from the first lines without consuming them. It reads no more than it
// needs. Unknown input counts as a transcript, whose bad lines can be reported.
func sniff(r *bufio.Reader) Format {
	want := 1
	for {
		head, err := r.Peek(want)
		if buffered, peekErr := r.Peek(r.Buffered()); peekErr == nil {
			head = buffered
		}
		full := err != nil || len(head) >= r.Size()
		if f := headFormat(head, full); f != unknown {
			return f
		}
		if full {
			return Transcript
		}
		want = len(head) + 1
	}
}

// headFormat detects the format from the lines of head. If last is set, nothing follows head, so
// its last line is complete.
func headFormat(head []byte, last bool) Format {
	if export.IsDocument(head) {
		return Exported
	}
	for line := range bytes.Lines(head) {
		if !last && !bytes.HasSuffix(line, []byte("\n")) {
			return unknown
		}
		if f := lineFormat(line); f != unknown {
			return f
		}
	}
	return unknown
}

func lineFormat(line []byte) Format {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return cutLineFormat(line)
	}
	for _, name := range []string{"session_id", "request_id", "request", "response"} {
		if _, ok := members[name]; ok {
			return StreamJSON
		}
	}
	for _, name := range []string{"sessionId", "parentUuid", "leafUuid", "isSidechain", "messageId"} {
		if _, ok := members[name]; ok {
			return Transcript
		}
	}
	return typeFormat(members["type"])
}

// typeFormat detects the format from a type that only one format has.
func typeFormat(name json.RawMessage) Format {
	switch strings.Trim(string(name), `"`) {
	case "assistant", "result", "stream_event", "message_start", "message_delta", "message_stop",
		"content_block_start", "content_block_delta", "content_block_stop":
		return StreamJSON
	}
	return unknown
}

// cutLineFormat detects the format from a line that is longer than head.
func cutLineFormat(line []byte) Format {
	switch {
	case len(line) < sniffed/2:
		return unknown
	case bytes.Contains(line, []byte(`"sessionId":`)), bytes.Contains(line, []byte(`"parentUuid":`)):
		return Transcript
	case bytes.Contains(line, []byte(`"session_id":`)), bytes.HasPrefix(line, []byte(`{"type":"control_`)):
		return StreamJSON
	}
	return unknown
}
