package cli

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
	"sync"

	"github.com/clewdev/clew/export"
	"github.com/clewdev/clew/internal/clikit"
)

// An input is a stream that a command reads: a file, or stdin. Its reads end with the context, even
// if the system still waits for data.
type input struct {
	io.Reader
	name string
	size int64 // bytes to read, or -1 if that is not known
	file *os.File
}

// openInput opens the file of that name. "-" means stdin, and so does "" unless stdin is a
// terminal, where nobody means to type frames.
func openInput(ctx context.Context, name string, stdin io.Reader) (*input, error) {
	if name == "" && clikit.IsTerminal(stdin) {
		return nil, &clikit.Failure{
			Code: clikit.ExitUsage,
			Err:  errors.New("no input: stdin is a terminal"),
			Hint: "Give a file, - to type frames, or a pipe: claude -p --verbose --output-format stream-json hello | clew inspect",
		}
	}
	if name == "" || name == "-" {
		return newInput(ctx, "stdin", stdin)
	}
	file, err := clikit.Await(ctx, func() (*os.File, error) { return os.Open(name) })
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
	in := &input{name: name, size: -1, Reader: ctxReaderOf(ctx, r)}
	file, ok := r.(*os.File)
	if !ok {
		return in, nil
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, &clikit.Failure{Code: clikit.ExitInput, Err: in.readError(err)}
	case info.IsDir():
		return nil, &clikit.Failure{
			Code: clikit.ExitInput,
			Err:  fmt.Errorf("%s is a directory", clikit.Printable(name)),
			Hint: "Give the path of a file.",
		}
	case info.Mode().IsRegular():
		in.Reader = file
		in.size = info.Size() - offset(file)
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

// Close closes the input if it was opened here.
func (in *input) Close() error {
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}

// readError describes a failed read.
func (in *input) readError(err error) error {
	return fmt.Errorf("cannot read %s: %w", clikit.Printable(in.name), clikit.Cause(err))
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

// readPrompt returns the prompt from the arguments or stdin.
func readPrompt(ctx context.Context, args []string, stdin io.Reader) (string, error) {
	if len(args) > 0 && args[0] != "-" {
		return checkPrompt(args[0])
	}
	if len(args) == 0 && clikit.IsTerminal(stdin) {
		return "", &clikit.Failure{
			Code: clikit.ExitUsage,
			Err:  errors.New("no prompt: stdin is a terminal"),
			Hint: `Give it as an argument, as in clew run "Why does the build fail?", or - to type it.`,
		}
	}
	in, err := newInput(ctx, "stdin", stdin)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	switch {
	case ctx.Err() != nil:
		return "", &clikit.Failure{Code: clikit.ExitInterrupted, Err: errors.New("interrupted while reading the prompt")}
	case err != nil:
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: in.readError(err)}
	case len(text) > maxPrompt:
		return "", errPromptTooLong()
	}
	return checkPrompt(string(text))
}

const maxPrompt = 16 << 20

func errPromptTooLong() error {
	return &clikit.Failure{
		Code: clikit.ExitInput,
		Err:  errors.New("the prompt is longer than 16 MiB"),
		Hint: "Write it to a file, and ask the agent to read the file.",
	}
}

// A ctxReader reads from a pipe or a terminal until its context ends.
type ctxReader struct {
	ctx     context.Context
	src     io.Reader
	buf     []byte
	pending []byte // read from the source and not yet returned
	err     error
}

// ctxReaderOf returns a reader of r whose reads end with the context, even if those of r do not.
func ctxReaderOf(ctx context.Context, r io.Reader) io.Reader { return &ctxReader{ctx: ctx, src: r} }

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

// An inputFormat is the format of a recorded conversation.
type inputFormat int

const (
	unknownInput inputFormat = iota
	transcriptInput
	streamInput   // stream-json
	exportedInput // JSON of "clew export"
)

const sniffed = 64 << 10 // bytes from which the format is detected

// sniff detects the format from the first lines without consuming them. It reads no more than it
// needs. Unknown input counts as a transcript, whose bad lines can be reported.
func sniff(r *bufio.Reader) inputFormat {
	want := 1
	for {
		head, err := r.Peek(want)
		if buffered, peekErr := r.Peek(r.Buffered()); peekErr == nil {
			head = buffered
		}
		full := err != nil || len(head) >= r.Size()
		if f := headFormat(head, full); f != unknownInput {
			return f
		}
		if full {
			return transcriptInput
		}
		want = len(head) + 1
	}
}

// headFormat detects the format from the lines of head. If last is set, nothing follows head, so
// its last line is complete.
func headFormat(head []byte, last bool) inputFormat {
	if export.IsDocument(head) {
		return exportedInput
	}
	for line := range bytes.Lines(head) {
		if !last && !bytes.HasSuffix(line, []byte("\n")) {
			return unknownInput
		}
		if f := lineFormat(line); f != unknownInput {
			return f
		}
	}
	return unknownInput
}

func lineFormat(line []byte) inputFormat {
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return cutLineFormat(line)
	}
	for _, name := range []string{"session_id", "request_id", "request", "response"} {
		if _, ok := members[name]; ok {
			return streamInput
		}
	}
	for _, name := range []string{"sessionId", "parentUuid", "leafUuid", "isSidechain", "messageId"} {
		if _, ok := members[name]; ok {
			return transcriptInput
		}
	}
	return typeFormat(members["type"])
}

// typeFormat detects the format from a type that only one format has.
func typeFormat(name json.RawMessage) inputFormat {
	switch strings.Trim(string(name), `"`) {
	case "assistant", "result", "stream_event", "message_start", "message_delta", "message_stop",
		"content_block_start", "content_block_delta", "content_block_stop":
		return streamInput
	}
	return unknownInput
}

// cutLineFormat detects the format from a line that is longer than head.
func cutLineFormat(line []byte) inputFormat {
	switch {
	case len(line) < sniffed/2:
		return unknownInput
	case bytes.Contains(line, []byte(`"sessionId":`)), bytes.Contains(line, []byte(`"parentUuid":`)):
		return transcriptInput
	case bytes.Contains(line, []byte(`"session_id":`)), bytes.HasPrefix(line, []byte(`{"type":"control_`)):
		return streamInput
	}
	return unknownInput
}

// A lineReader is a user whose prompts are the lines of stdin: a pipe, or a dumb terminal, which
// also answers questions.
type lineReader struct {
	screen     *screen
	questioner *questioner
	in         *input
	typed      bool // at a terminal
	lines      *lineSource

	mu       sync.Mutex
	asking   bool          // a question is open
	prompted chan<- string // gets the next prompt, or nil
	unread   bool          // no line is read for the prompt, because of a question
}

func newLineReader(ctx context.Context, s Streams, scr *screen) (*lineReader, error) {
	in, err := newInput(ctx, "stdin", s.In)
	if err != nil {
		return nil, err
	}
	r := &lineReader{screen: scr, in: in, typed: clikit.IsTerminal(s.In) && clikit.IsTerminal(s.Err)}
	r.questioner = newQuestioner(ctx, s, scr)
	r.lines = newLineSource(in, nil)
	if r.typed {
		scr.usePlain()
		r.lines.tty, _ = s.In.(*os.File)
		r.questioner.console = console{in: r, tty: r.lines.tty, size: sizeOf(s.Err)}
		r.questioner.claim = r.claim
	}
	return r, nil
}

func (r *lineReader) begin() (end func(), err error) { return func() {}, nil }

func (r *lineReader) next(ctx context.Context, _ string) (string, error) {
	var text strings.Builder
	for {
		lines := make(chan string, 1)
		r.prompt(lines)
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case line, more := <-lines:
			r.prompt(nil)
			if !more {
				return r.last(text.String())
			}
			line, joined := strings.CutSuffix(strings.TrimSuffix(line, "\r"), `\`)
			text.WriteString(line)
			switch {
			case text.Len() > maxPrompt:
				return "", errPromptTooLong()
			case joined:
				text.WriteByte('\n')
			case strings.TrimSpace(text.String()) != "":
				return strings.ToValidUTF8(text.String(), "\uFFFD"), nil
			default:
				text.Reset()
			}
		}
	}
}

// prompt makes the next line a prompt, once no question is open. With nil, the prompt is there.
func (r *lineReader) prompt(to chan<- string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prompted, r.unread = to, to != nil
	r.resume()
}

// resume reads a line for the prompt, unless there is a question or somebody does.
func (r *lineReader) resume() {
	if r.asking || !r.unread {
		return
	}
	r.unread = false
	if r.typed {
		r.screen.say("> ")
	}
	r.lines.send(r.prompted)
}

// last returns an unfinished prompt at the end of the input, or an error.
func (r *lineReader) last(text string) (string, error) {
	err := r.lines.failure()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return "", errPromptTooLong()
	case err != nil:
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: r.in.readError(err)}
	case strings.TrimSpace(text) != "":
		return strings.ToValidUTF8(text, "\uFFFD"), nil
	}
	return "", io.EOF
}

// onInterrupt does nothing: without raw mode, an interrupt ends the chat.
func (r *lineReader) onInterrupt(func()) (over func()) { return func() {} }

func (r *lineReader) questions() questions { return r.questioner }

// showStatus does nothing: /mode, /model, /cost and /context show it.
func (r *lineReader) showStatus(*chatStatus) {}

// claim makes typed lines answer a question. A prompt waits.
func (r *lineReader) claim(ctx context.Context) (asked context.Context, leave func()) {
	r.ask(true)
	return ctx, func() { r.ask(false) }
}

func (r *lineReader) ask(asking bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = asking
	r.resume()
}

// want takes the next line away from a prompt that waits for it.
func (r *lineReader) want() <-chan string {
	r.mu.Lock()
	defer r.mu.Unlock()
	to := make(chan string, 1)
	if instead := r.lines.wantFor(to); instead != nil && instead == r.prompted {
		r.unread = true
	}
	return to
}

func (r *lineReader) awaited() bool { return r.lines.awaited() }
