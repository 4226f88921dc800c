package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/internal/corpus"
)

// A feeling is a time that a user of the viewer waits, or a cost of the viewer.
type feeling struct {
	Name   string  `json:"name"`
	Median float64 `json:"median"`
	Worst  float64 `json:"worst"` // the 99th of a hundred where there are so many
	Unit   string  `json:"unit"`
	Most   float64 `json:"goal"` // of Worst for the time from a key to its frame, else of Median

	values []float64
}

// The size of the terminal, and how much is done at it.
const (
	viewerColumns, viewerRows = 200, 60
	pressedKeys               = 300
	scrolledFrames            = 300
	idleTime                  = 2 * time.Minute // Go collects unused memory at least as often
	appended                  = 10 << 10
	unfolded                  = 10 << 20
)

// keyToFrame is the name of the time from a key to its frame.
const keyToFrame = "key to frame at 200x60"

// A visit measures the viewer on the transcripts of a program.
type visit struct {
	*program
	rounds int
	huge   int // the size of the huge transcript
	all    []*feeling
}

// measureViewer measures the viewer at a terminal.
func measureViewer(ctx context.Context, o options) ([]*feeling, error) {
	return measureVisit(ctx, o, "viewing", func(v *visit) []visitPart {
		return []visitPart{
			{"a long session", v.long}, {"a growing session", v.growing}, {"a long result", v.result},
			{"very many sessions", v.many}, {"a huge session", v.giant}, {"nothing to do", v.idle},
		}
	})
}

// measureVisit builds the program, and measures the parts of a visit. It does so on Linux alone: it
// needs a terminal, and reads from /proc what processes use.
func measureVisit(ctx context.Context, o options, doing string, parts func(*visit) []visitPart) ([]*feeling, error) {
	if runtime.GOOS != "linux" {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := newProgram(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	v := &visit{program: p, rounds: o.transcriptRounds, huge: o.hugeSize}
	return v.measure(ctx, doing, parts(v))
}

// A visitPart is something that is measured.
type visitPart struct {
	name string
	do   func(context.Context) error
}

// measure measures all parts.
func (v *visit) measure(ctx context.Context, doing string, parts []visitPart) ([]*feeling, error) {
	for _, part := range parts {
		fmt.Fprintln(os.Stderr, doing, part.name)
		if err := part.do(ctx); err != nil {
			return nil, fmt.Errorf("%s %s: %w", doing, part.name, err)
		}
	}
	for _, f := range v.all {
		f.sum()
	}
	return v.all, nil
}

// add notes a value of a feeling.
func (v *visit) add(name, unit string, most, value float64) {
	for _, f := range v.all {
		if f.Name == name {
			f.values = append(f.values, value)
			return
		}
	}
	v.all = append(v.all, &feeling{Name: name, Unit: unit, Most: most, values: []float64{value}})
}

func (f *feeling) sum() {
	slices.Sort(f.values)
	f.Median = benchreport.Median(f.values)
	f.Worst = f.values[(len(f.values)*99+99)/100-1]
}

// sit starts the viewer at a terminal.
func (v *visit) sit(ctx context.Context, config string, args ...string) (*seat, error) {
	cmd := exec.CommandContext(ctx, v.path, args...)
	cmd.Env = append(v.environment(config), "TERM=xterm-256color", "LANG=C.UTF-8")
	return newSeat(cmd)
}

// largest returns the path of the largest session.
func (v *visit) largest() string { return filepath.Join(v.agent(), "projects", v.truth.Largest) }

// long opens the largest session, presses keys and scrolls.
func (v *visit) long(ctx context.Context) error {
	for range v.rounds {
		s, err := v.sit(ctx, v.agent(), "view", v.largest())
		if err != nil {
			return err
		}
		took, err := s.until(hasRows)
		if err == nil {
			v.add("57 MB session, first rows", "ms", 300, took)
			err = errors.Join(s.settle(), v.press(s), v.scroll(s))
			v.add("57 MB session, memory", "MB", 90, s.memory())
		}
		if err := errors.Join(err, s.leave()); err != nil {
			return err
		}
	}
	return nil
}

// press measures the time from a key to its frame.
func (v *visit) press(s *seat) error {
	for i := range pressedKeys {
		took, err := s.press([]string{"k", "k", "k", "j"}[i%4])
		if err != nil {
			return err
		}
		v.add(keyToFrame, "ms", 16, took)
	}
	return nil
}

// scroll measures what scrolling costs at 60 frames a second.
func (v *visit) scroll(s *seat) error {
	before, began := s.cpu(), time.Now()
	tick := time.NewTicker(time.Second / 60)
	defer tick.Stop()
	for range scrolledFrames {
		<-tick.C
		if err := s.write("\x1b[<64;10;10M"); err != nil { // the wheel
			return err
		}
	}
	v.add("scrolling at 60 frames, of a core", "%", 25, 100*(s.cpu()-before).Seconds()/time.Since(began).Seconds())
	return s.settle()
}

// growing appends to the largest session while it is shown.
func (v *visit) growing(ctx context.Context) error {
	text, err := os.ReadFile(v.largest())
	if err != nil {
		return err
	}
	path := filepath.Join(v.dir, filepath.Base(v.truth.Largest))
	for i := range v.rounds {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
		s, err := v.sit(ctx, v.agent(), "view", path)
		if err != nil {
			return err
		}
		_, err = s.until(hasRows)
		if err == nil {
			err = s.settle()
		}
		if err == nil {
			mark := fmt.Sprintf("appended%d", i)
			var took float64
			if err = appendPrompt(path, mark); err == nil {
				took, err = s.until(func(text string) bool { return strings.Contains(text, mark) })
			}
			v.add("10 KB appended to 57 MB, on the screen", "ms", 50, took)
		}
		if err := errors.Join(err, s.leave()); err != nil {
			return err
		}
	}
	return nil
}

// appendPrompt appends a prompt of 10 KB that starts with a word.
func appendPrompt(path, word string) error {
	parent, err := lastEntry(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `{"type":"user","uuid":"%s","parentUuid":"%s","timestamp":"2026-11-14T12:00:00.000Z","message":{"role":"user","content":"%s %s"}}`+"\n",
		word, parent, word, strings.Repeat("more of it ", appended/11))
	return errors.Join(err, f.Close())
}

// lastEntry returns the ID of the last entry of a transcript that has one.
func lastEntry(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for _, line := range slices.Backward(bytes.Split(text, []byte("\n"))) {
		var entry struct{ UUID string }
		if json.Unmarshal(line, &entry) == nil && entry.UUID != "" {
			return entry.UUID, nil
		}
	}
	return "", errors.New("no entry has an ID")
}

// result unfolds a result of 10 MB.
func (v *visit) result(ctx context.Context) error {
	path := filepath.Join(v.dir, "00000000-0000-4000-8000-000000000001.jsonl")
	text := `{"type":"user","uuid":"1","parentUuid":null,"timestamp":"2026-11-14T12:00:00.000Z","message":{"role":"user","content":"Go"}}
{"type":"assistant","uuid":"2","parentUuid":"1","timestamp":"2026-11-14T12:00:01.000Z","message":{"id":"m","role":"assistant","model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"yes"}}]}}
{"type":"user","uuid":"3","parentUuid":"2","timestamp":"2026-11-14T12:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"` +
		strings.Repeat(`a line of sixty-four bytes, which is not the longest one\n`, unfolded/58) + `"}]}}` + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	for range v.rounds {
		s, err := v.sit(ctx, v.agent(), "view", path)
		if err != nil {
			return err
		}
		_, err = s.until(func(text string) bool { return strings.Contains(text, "Bash") })
		if err == nil {
			err = s.settle()
		}
		var took float64
		if err == nil {
			took, err = s.press("\t")
		}
		v.add("a result of 10 MB, unfolded", "ms", 16, took)
		if err := errors.Join(err, s.leave()); err != nil {
			return err
		}
	}
	return nil
}

// many opens a very long session list, and filters it.
func (v *visit) many(ctx context.Context) error {
	for range v.rounds {
		s, err := v.sit(ctx, v.crowd(), "--all")
		if err != nil {
			return err
		}
		took, err := s.until(hasRows)
		v.add(fmt.Sprintf("%d sessions, first rows", v.crowded), "ms", 100, took)
		if err == nil {
			err = errors.Join(s.settle(), s.write("/"), s.settle())
		}
		for i := 0; err == nil && i < 4; i++ {
			var took float64
			took, err = s.press([]string{"c", "r", "o", "w"}[i])
			v.add(fmt.Sprintf("%d sessions, a key of the filter", v.crowded), "ms", 16, took)
		}
		if err := errors.Join(err, s.leave()); err != nil {
			return err
		}
	}
	return nil
}

// giant opens a transcript that is larger than most memories.
func (v *visit) giant(ctx context.Context) error {
	dir := filepath.Join(v.dir, "giant")
	truth, err := corpus.HugeProject(filepath.Join(dir, "projects"), 1, v.huge)
	if err != nil {
		return err
	}
	s, err := v.sit(ctx, dir, "view", filepath.Join(dir, "projects", truth.Largest))
	if err != nil {
		return err
	}
	took, err := s.until(func(text string) bool { return strings.Contains(text, "reading") || hasRows(text) })
	size := fmt.Sprintf("%.1f GB", float64(v.huge)/1e9)
	v.add(size+", something on the screen", "ms", 300, took)
	if err == nil {
		took, err = s.until(hasRows)
		v.add(size+", first rows", "s", 5, took/1000)
	}
	if err == nil {
		err = s.settle()
	}
	v.add(size+", memory", "MB", 150, s.memory())
	return errors.Join(err, s.leave(), os.RemoveAll(dir))
}

// idle leaves the viewer alone.
func (v *visit) idle(ctx context.Context) error {
	s, err := v.sit(ctx, v.agent(), "view", v.largest())
	if err != nil {
		return err
	}
	_, err = s.until(hasRows)
	if err == nil {
		err = s.settle()
	}
	time.Sleep(2 * time.Second) // what is done in the background
	before := s.cpu()
	time.Sleep(idleTime)
	v.add("CPU in ten minutes in which nothing happens", "s", 0.1, (s.cpu()-before).Seconds()*600/idleTime.Seconds())
	return errors.Join(err, s.leave())
}

// hasRows reports whether a screen has more than a frame: several lines with text.
func hasRows(text string) bool {
	n := 0
	for line := range strings.Lines(text) {
		if len(strings.Fields(line)) > 1 {
			n++
		}
	}
	return n > viewerRows/3
}

// judgeFeelings fills in the goals for the measurements.
func (r *report) judgeFeelings(all []*feeling) {
	for _, f := range all {
		value := f.Median
		if f.Name == keyToFrame {
			value = f.Worst
		}
		r.Goals.AtMost(f.Name, f.Most, f.Unit, value)
	}
}

func (r *report) writeViewer(b *strings.Builder) { writeFeelings(b, "viewer, at a terminal", r.Viewer) }

func writeFeelings(b *strings.Builder, title string, all []*feeling) {
	benchreport.Table(b, "| "+title+" | median | 99 of 100 | goal |", all, func(f *feeling) string {
		return fmt.Sprintf("| %s | %s %s | %s %s | %s %s |", f.Name, short(f.Median), f.Unit, short(f.Worst), f.Unit, short(f.Most), f.Unit)
	})
}

func short(value float64) string { return strconv.FormatFloat(value, 'g', 3, 64) }
