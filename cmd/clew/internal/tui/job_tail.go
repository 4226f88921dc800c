package tui

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/internal/render"
)

// Limits of the output shown for a running agent. Earlier output is in its session.
const (
	maxTailFrames   = 200 // that wait to be shown; the oldest are left out
	maxTailLines    = 300
	maxTailMessages = 1000 // that are kept for the results of their calls
)

// A jobTail is the activity of a job's agent since the job screen was opened.
type jobTail struct {
	watch  *frameWatch  // nil while nothing is followed
	frames []agentFrame // the last ones, for other widths
	width  int          // of the lines
	shown  *jobview.Conversation
	lines  []string // painted
	cut    int      // number of earlier lines that are not kept
}

// A tailMsg has new frames of an agent.
type tailMsg struct {
	from   *frameWatch
	frames []agentFrame
	ended  bool
}

// An agentFrame is a line of the output of an agent.
type agentFrame struct {
	attempt int
	line    []byte
	at      time.Time
}

// A frameWatch collects the frames of a job until the screen takes them.
type frameWatch struct {
	mu      sync.Mutex
	frames  []agentFrame
	ended   bool
	changed chan struct{} // has a value if there is something to take
}

func (w *frameWatch) add(f agentFrame, ended bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.line != nil {
		w.frames = append(w.frames, f)
	}
	if len(w.frames) > maxTailFrames {
		w.frames = w.frames[len(w.frames)-maxTailFrames:]
	}
	w.ended = ended
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// begin follows the frames of the job, unless it already does.
func (t *jobTail) begin(j *jobScreen) tea.Cmd {
	if t.watch != nil {
		return nil
	}
	w := &frameWatch{changed: make(chan struct{}, 1)}
	t.watch = w
	f, id, ctx, now := j.fleet, j.id, j.ctx, j.opts.Now
	return background(j, func() tea.Msg {
		go func() {
			for u, err := range f.Watch(ctx, id) {
				if err != nil {
					break
				}
				if u.Job == nil {
					w.add(agentFrame{u.Attempt, u.Frame, now()}, false)
				}
			}
			w.add(agentFrame{}, true)
		}()
		return w.take(ctx)
	})
}

// take waits for frames.
func (w *frameWatch) take(ctx context.Context) tea.Msg {
	select {
	case <-w.changed:
	case <-ctx.Done():
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	msg := tailMsg{w, w.frames, w.ended}
	w.frames = nil
	return msg
}

// next waits for the next frames, not too soon.
func (t *jobTail) next(j *jobScreen) tea.Cmd {
	if t.watch == nil {
		return nil
	}
	w, ctx := t.watch, j.ctx
	return tea.Tick(jobview.Interval, func(time.Time) tea.Msg {
		if msg := w.take(ctx); msg != nil {
			return answer{j, msg}
		}
		return nil
	})
}

// take shows new frames.
func (t *jobTail) take(msg tailMsg, o render.Options) {
	if msg.from != t.watch {
		return
	}
	if msg.ended {
		t.watch = nil
	}
	t.frames = append(t.frames, msg.frames...)
	if more := len(t.frames) - maxTailFrames; more > 0 {
		t.frames = slices.Delete(t.frames, 0, more)
	}
	if t.width != o.Width {
		t.fit(o)
		return
	}
	t.show(msg.frames, o)
}

// fit draws the last frames again if the lines have another width.
func (t *jobTail) fit(o render.Options) {
	if len(t.frames) > 0 && t.width != o.Width {
		t.width, t.shown, t.lines, t.cut = o.Width, jobview.NewConversation(o), nil, 0
		t.show(t.frames, o)
	}
}

func (t *jobTail) show(frames []agentFrame, o render.Options) {
	for _, f := range frames {
		if t.shown.Len() >= maxTailMessages {
			t.shown = jobview.NewConversation(o) // otherwise it keeps the ID of each message
		}
		if f.attempt != t.shown.Attempt {
			t.shown.Begin(f.attempt, f.at)
		}
		text, _ := t.shown.Add(f.line, f.at)
		if text = strings.TrimRight(text, "\n"); text != "" {
			t.lines = append(t.lines, strings.Split(text, "\n")...)
		}
	}
	if more := len(t.lines) - maxTailLines; more > 0 {
		t.lines, t.cut = t.lines[more:], t.cut+more
	}
}
