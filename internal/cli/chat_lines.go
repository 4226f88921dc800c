package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// A lineReader is a user whose prompts are the lines of stdin: a pipe, or a terminal
// that can do no more.
type lineReader struct {
	ctx     context.Context // of the chat
	screen  *screen
	asker   *asker
	in      *input
	typed   bool // at a terminal, which answers questions, too
	answers *answers
	asking  atomic.Bool // there is a question

	lines chan string // closed at the end of the input
	err   error       // of the input, once lines is closed
}

func newLineReader(ctx context.Context, s Streams, scr *screen) (*lineReader, error) {
	in, err := newInput(ctx, "stdin", s.In)
	if err != nil {
		return nil, err
	}
	r := &lineReader{ctx: ctx, screen: scr, in: in, lines: make(chan string), answers: newAnswers()}
	r.typed = isTerminal(s.In) && isTerminal(s.Err)
	r.asker = newAsker(ctx, s, scr)
	if r.typed {
		r.asker.place.in, r.asker.room = r.answers, r.room
	}
	return r, nil
}

func (r *lineReader) begin() (end func(), err error) {
	go r.read()
	return r.answers.close, nil
}

// read hands out lines, to a question if there is one.
func (r *lineReader) read() {
	defer close(r.lines)
	lines := bufio.NewScanner(r.in)
	lines.Buffer(nil, maxPrompt)
	for lines.Scan() {
		if r.typed && r.asking.Load() {
			r.answers.add(lines.Text())
			continue
		}
		select {
		case r.lines <- lines.Text():
		case <-r.ctx.Done():
			return
		}
	}
	r.err = lines.Err()
}

func (r *lineReader) next(ctx context.Context, _ string) (string, error) {
	var text strings.Builder
	for {
		if r.typed {
			r.screen.say("> ")
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case line, more := <-r.lines:
			if !more {
				return r.last(text.String())
			}
			line, joined := strings.CutSuffix(strings.TrimSuffix(line, "\r"), `\`)
			text.WriteString(line)
			switch {
			case text.Len() > maxPrompt:
				return "", tooLong()
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

// last returns what there is at the end of the input.
func (r *lineReader) last(text string) (string, error) {
	switch {
	case errors.Is(r.err, bufio.ErrTooLong):
		return "", tooLong()
	case r.err != nil:
		return "", &failure{code: exitInput, err: r.in.readError(r.err)}
	case strings.TrimSpace(text) != "":
		return strings.ToValidUTF8(text, "\uFFFD"), nil
	}
	return "", io.EOF
}

func tooLong() error {
	return &failure{
		code: exitInput,
		err:  errors.New("the prompt is longer than 16 MiB"),
		hint: "Put it into a file, and have the agent read that.",
	}
}

// attend does nothing: here an interrupt ends the chat.
func (r *lineReader) attend(func()) (over func()) { return func() {} }

func (r *lineReader) asks() *asker { return r.asker }

// room has the lines that are typed answer a question.
func (r *lineReader) room(ctx context.Context) (asked context.Context, leave func()) {
	r.asking.Store(true)
	return ctx, func() { r.asking.Store(false) }
}

// answers is a reader of lines that are typed as answers to questions.
type answers struct {
	lines chan string
	rest  []byte
	done  chan struct{}
	close func() // ends the reader
}

func newAnswers() *answers {
	a := &answers{lines: make(chan string, 16), done: make(chan struct{})}
	a.close = sync.OnceFunc(func() { close(a.done) })
	return a
}

// add adds a line, unless many wait that no question has asked for.
func (a *answers) add(line string) {
	select {
	case a.lines <- line + "\n":
	default:
	}
}

// drop drops the lines that wait.
func (a *answers) drop() {
	for {
		select {
		case <-a.lines:
		default:
			return
		}
	}
}

func (a *answers) Read(p []byte) (int, error) {
	if len(a.rest) == 0 {
		select {
		case line := <-a.lines:
			a.rest = []byte(line)
		case <-a.done:
			return 0, io.EOF
		}
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}
