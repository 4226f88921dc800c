package clew

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/clewdev/clew/redact"
	"github.com/clewdev/clew/wire"
)

// A recorder writes the dialogue with the agent, a line per frame, both directions in the order of
// the frames, with secrets masked. A nil recorder writes nothing.
type recorder struct {
	log *slog.Logger

	mu  sync.Mutex
	dst io.Writer // nil after a write has failed
}

func newRecorder(plan *launchPlan, log *slog.Logger) *recorder {
	opts := plan.options
	if opts.Debug.Record == nil {
		return nil
	}
	r := &recorder{log: log, dst: opts.Debug.Record}
	r.started(plan)
	return r
}

// started records how an agent is started.
func (r *recorder) started(plan *launchPlan) {
	if r == nil {
		return
	}
	r.line("# args", quoted(plan.args))
}

func quoted(args []string) string {
	var b strings.Builder
	for i, arg := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%q", maskArg(arg))
	}
	return b.String()
}

// received records a message of the agent.
func (r *recorder) received(msg wire.Message) {
	if r != nil {
		r.line("<", redact.MaskJSON(msg.Raw()))
	}
}

// cut records that a frame is missing because the host did not wait for its end.
func (r *recorder) cut() {
	if r != nil {
		r.line("#", "a frame was cut off")
	}
}

// isCut reports whether a message is the beginning of a frame.
func isCut(msg wire.Message) bool {
	frame, ok := msg.(*wire.InvalidFrame)
	if !ok {
		return false
	}
	syntax, ok := errors.AsType[*wire.SyntaxError](frame.Err)
	return ok && syntax.Truncated
}

// ended records how the agent ended.
func (r *recorder) ended(exit *ExitError) {
	switch {
	case r == nil:
	case exit == nil:
		r.line("#", "exit 0")
	case exit.Signal != nil:
		r.line("#", "ended by a signal: "+exit.Signal.String())
	default:
		r.line("#", fmt.Sprintf("exit %d", exit.Code))
	}
}

// oneLine joins the lines of a frame that has several. Line ends are only between the members of
// such a frame.
var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func (r *recorder) line(mark, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dst == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			r.log.Warn("recording stopped", "panic", p)
			r.dst = nil
		}
	}()
	if _, err := fmt.Fprintf(r.dst, "%s %s\n", mark, oneLine.Replace(text)); err != nil {
		r.log.Warn("recording stopped", "error", err)
		r.dst = nil
	}
}

// input returns conn wrapped so that writes to it are recorded.
func (r *recorder) input(conn Connection) Connection {
	if r == nil {
		return conn
	}
	return &recordedInput{conn, r}
}

type recordedInput struct {
	Connection
	rec *recorder
}

// Write records frames and writes them.
func (c *recordedInput) Write(p []byte) (int, error) {
	for frame := range bytes.Lines(p) {
		c.rec.line(">", redact.MaskJSON(string(bytes.TrimSpace(frame))))
	}
	return c.Connection.Write(p)
}

// CloseWrite records the end of the input and closes it.
func (c *recordedInput) CloseWrite() error {
	c.rec.line("#", "host closes stdin")
	return c.Connection.CloseWrite()
}
