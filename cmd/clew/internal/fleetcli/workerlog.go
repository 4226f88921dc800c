package fleetcli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/jobview"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// A watchedRunner knows which jobs run.
type watchedRunner struct {
	fleet.Runner
	checked func(problem error) // is called once, when it is known whether jobs can run
	once    sync.Once

	mu   sync.Mutex
	jobs map[string]string // titles, by ID
}

// Ready implements [fleet.Runner].
func (r *watchedRunner) Ready(ctx context.Context) error {
	err := r.Runner.Ready(ctx)
	if ctx.Err() == nil {
		r.once.Do(func() { r.checked(err) })
	}
	return err
}

// Prepare implements [fleet.Runner].
func (r *watchedRunner) Prepare(ctx context.Context, t *fleet.Task) (fleet.Run, error) {
	run, err := r.Runner.Prepare(ctx, t)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs[t.Job.ID] = t.Job.Summary().Title
	return &watchedRun{run, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.jobs, t.Job.ID)
	}}, nil
}

type watchedRun struct {
	fleet.Run
	closed func()
}

// Close implements [fleet.Run].
func (r *watchedRun) Close() {
	r.Run.Close()
	r.closed()
}

// draining describes the jobs that a draining worker waits for.
func (r *watchedRunner) draining() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.jobs) == 0 {
		return "takes no more jobs"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "takes no more jobs, and waits for %s. Press Ctrl-C again to end the agents now.", wording.Count(len(r.jobs), "job"))
	for _, id := range slices.Sorted(maps.Keys(r.jobs)) {
		b.WriteString("\n  " + id + "  " + clikit.Printable(r.jobs[id]))
	}
	return b.String()
}

// handler returns what shows the events of the worker.
func (o *workerOptions) handler() slog.Handler {
	if o.json {
		return slog.NewJSONHandler(&safeJSON{o.Out}, nil)
	}
	return &logHandler{out: &lineWriter{w: o.Out}, color: clikit.Colored(o.Out)}
}

// safeJSON writes JSON that a terminal can show.
type safeJSON struct{ w io.Writer }

func (s *safeJSON) Write(p []byte) (int, error) {
	if _, err := s.w.Write(tty.JSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// A lineWriter writes whole lines of several goroutines.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) write(line string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := io.WriteString(l.w, line)
	return err
}

// A logHandler shows one line per event, for people.
type logHandler struct {
	out   *lineWriter
	color bool
	attrs []slog.Attr
}

// Enabled implements [slog.Handler].
func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = slices.Concat(h.attrs, attrs)
	return &c
}

// WithGroup implements [slog.Handler]. Events of workers have no groups.
func (h *logHandler) WithGroup(string) slog.Handler { return h }

// Handle implements [slog.Handler].
func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	job, style := "", tty.Plain
	if r.Level >= slog.LevelWarn {
		style = tty.Waiting
	}
	var rest []string
	add := func(a slog.Attr) bool {
		value := a.Value.String()
		switch a.Key {
		case "job":
			job = value
		case "state":
			style = jobview.Style(fleet.State(value))
			rest = append(rest, "now "+value)
		case "attempt":
			if value != "1" {
				rest = append(rest, "attempt "+value)
			}
		case "error":
			rest = append(rest, value)
		case "cause":
			rest = append(rest, cmp.Or(jobview.Cause(fleet.Cause(value)), value))
		default:
			rest = append(rest, a.Key+" "+value)
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	at := cmpTime(r.Time).Format(time.TimeOnly)
	line := tty.Dim.Paint(at, h.color) + "  " + tty.Strong.Paint(clikit.Pad(clikit.Printable(job), idWidth, false), h.color) +
		"  " + style.Paint(clikit.Printable(jobview.Join(append([]string{r.Message}, rest...)...)), h.color)
	return h.out.write(strings.TrimRight(line, " ") + "\n")
}

// idWidth is the number of characters in a job ID.
const idWidth = 12

func cmpTime(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now()
	}
	return t
}
