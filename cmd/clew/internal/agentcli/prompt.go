package agentcli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
)

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
	in, err := input.New(ctx, "stdin", stdin)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	switch {
	case ctx.Err() != nil:
		return "", &clikit.Failure{Code: clikit.ExitInterrupted, Err: errors.New("interrupted while reading the prompt")}
	case err != nil:
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: in.ReadError(err)}
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

// A lineReader is a user whose prompts are the lines of stdin: a pipe, or a dumb terminal, which
// also answers questions.
type lineReader struct {
	screen     *screen
	questioner *questioner
	in         *input.Stream
	typed      bool // at a terminal
	lines      *lineSource

	mu       sync.Mutex
	asking   bool          // a question is open
	prompted chan<- string // gets the next prompt, or nil
	unread   bool          // no line is read for the prompt, because of a question
}

func newLineReader(ctx context.Context, s clikit.Streams, scr *screen) (*lineReader, error) {
	in, err := input.New(ctx, "stdin", s.In)
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
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: r.in.ReadError(err)}
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
