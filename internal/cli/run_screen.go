package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// A screen is stdout and stderr of a run, which may be the same terminal: a line
// of one does not begin within a line of the other. On a terminal, stderr ends in a
// line that says what the agent is busy with, and for how long. Its methods may be
// called from several goroutines.
type screen struct {
	out, err io.Writer
	shared   bool // both are terminals, or the same
	width    int  // of stderr, or 0 where lines are not cut

	mu      sync.Mutex
	midLine bool // the last byte on stdout did not end a line
	label   string
	since   time.Time
	frame   int
	visible bool
	paused  bool
	tools   map[string]string // names by id of the call
	changed sync.Cond         // tools has grown, or the label is gone

	stop func() // has the last line not drawn any more
}

func newScreen(s Streams) *screen {
	scr := &screen{out: s.Out, err: s.Err, shared: s.Out == s.Err, tools: map[string]string{}, stop: func() {}}
	scr.changed.L = &scr.mu
	if !isTerminal(s.Err) {
		return scr
	}
	scr.shared = isTerminal(s.Out)
	scr.width = terminalWidth(s.Err)
	if os.Getenv("TERM") != "dumb" {
		scr.animate()
	}
	return scr
}

// animate draws the last line until the screen is closed.
func (s *screen) animate() {
	tick := time.NewTicker(redrawInterval)
	done := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		for {
			select {
			case <-tick.C:
				s.draw()
			case <-done:
				return
			}
		}
	})
	s.stop = sync.OnceFunc(func() {
		tick.Stop()
		close(done)
		drawing.Wait()
	})
}

func (s *screen) draw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.label == "" || s.paused || s.shared && s.midLine {
		return
	}
	spokes := []string{"|", "/", "-", `\`}
	s.frame++
	elapsed := time.Since(s.since).Truncate(time.Second)
	line := fmt.Sprintf("%s %v %s", spokes[s.frame%len(spokes)], elapsed, s.label)
	s.visible = true
	s.toErr(clearLine + fitLine(line, s.width))
}

// close takes the last line off the screen.
func (s *screen) close() {
	s.stop()
	s.rest()
}

// rest says that the agent is not busy any more.
func (s *screen) rest() { s.busy("") }

// busy sets what the agent is busy with.
func (s *screen) busy(label string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.label, s.since = label, time.Now()
	if label == "" {
		clear(s.tools) // the results of those that are left won't come
		s.changed.Broadcast()
	}
}

// wipe takes the last line away until it is drawn again.
func (s *screen) wipe() {
	if s.visible {
		s.visible = false
		s.toErr(clearLine)
	}
}

// toErr ignores errors: work does not stop because nobody can watch it.
func (s *screen) toErr(text string) { _, _ = io.WriteString(s.err, text) }

// write writes to stdout.
func (s *screen) write(text string) error {
	if text == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shared {
		s.wipe()
	}
	s.midLine = !strings.HasSuffix(text, "\n")
	_, err := io.WriteString(s.out, text)
	return err
}

// newLine ends the line on stdout, if there is one.
func (s *screen) newLine() error {
	s.mu.Lock()
	open := s.midLine
	s.mu.Unlock()
	if open {
		return s.write("\n")
	}
	return nil
}

// note writes a line to stderr.
func (s *screen) note(line string) { s.say(printable(line) + "\n") }

// wrote tells of a line of the agent that has no place on stdout.
func (s *screen) wrote(line string) { s.note("the agent wrote: " + clip(line)) }

// brief is note for a line that may be cut.
func (s *screen) brief(line string) { s.say(fitLine(printable(line), s.width) + "\n") }

// say writes to stderr as it is, below what is on stdout.
func (s *screen) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	if s.shared && s.midLine {
		s.midLine = false
		_, _ = io.WriteString(s.out, "\n") // the next write to stdout tells of an error
	}
	s.toErr(text)
}

// pause keeps the last line away, for a question. How long the user thinks does not
// count as time that the agent takes.
func (s *screen) pause(paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipe()
	s.paused, s.since = paused, time.Now()
}

// follow tells on stderr what the agent does.
func (s *screen) follow(msg wire.Message) {
	switch m := msg.(type) {
	case *wire.AssistantMessage:
		for _, block := range m.Content {
			if use, ok := block.(*wire.ToolUseBlock); ok {
				s.toolBegins(use, m.ParentToolUseID != "")
			}
		}
	case *wire.UserMessage:
		for _, block := range m.Content {
			if result, ok := block.(*wire.ToolResultBlock); ok {
				s.toolEnds(result)
			}
		}
	case *wire.APIRetryMessage:
		s.note(fmt.Sprintf("the API failed (%s); attempt %d of %d follows", m.Error, m.Attempt, m.MaxRetries))
	case *wire.InvalidFrame:
		s.note("the agent wrote a broken frame: " + clip(m.Err.Error()))
	}
}

func (s *screen) toolBegins(use *wire.ToolUseBlock, inSubagent bool) {
	line := use.Name
	if summary := transcript.ToolSummary(use.Name, use.Input); summary != use.Name {
		line += ": " + clip(summary)
	}
	indent := ""
	if inSubagent {
		indent = "  "
	}
	s.brief(indent + "* " + line)
	s.busy(printable(line))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools[use.ID] = use.Name
	s.changed.Broadcast()
}

// toolLimit is how long a question waits for the call that it is about.
const toolLimit = time.Second

// awaitTool waits until the call with this id is on the screen: agents tell of a call
// right before they ask about it, and questions overtake messages. It does not wait for
// one that is not told of while the agent is not busy, or within the limit.
func (s *screen) awaitTool(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(ctx, toolLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.has(id) && s.label != "" && ctx.Err() == nil {
		s.changed.Wait()
	}
}

func (s *screen) has(call string) bool {
	_, known := s.tools[call]
	return known
}

func (s *screen) toolEnds(result *wire.ToolResultBlock) {
	s.mu.Lock()
	name, known := s.tools[result.ToolUseID]
	delete(s.tools, result.ToolUseID)
	left := len(s.tools)
	s.mu.Unlock()
	if known && result.Failed() {
		first, _, _ := strings.Cut(strings.TrimSpace(result.Text()), "\n")
		s.brief("! " + name + " failed: " + clip(first))
	}
	if left == 0 {
		s.busy("thinking")
	}
}

// fitLine keeps a line from wrapping. A width of 0 leaves it as it is.
func fitLine(line string, width int) string {
	if width <= 0 {
		return line
	}
	return render.Cut(line, width-1)
}
