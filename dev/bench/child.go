package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/clewdev/clew/cmd/clew/dev/bench/benchreport"
	"github.com/clewdev/clew/cmd/clew/internal/pty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// figures are the measurements of one piece of work in a process.
type figures struct {
	Elapsed time.Duration `json:"elapsed_ns"`
	// First is the time until a program printed its first byte, and Lines until it printed the first
	// lines, or all if they are fewer.
	First time.Duration `json:"first_ns,omitempty"`
	Lines time.Duration `json:"lines_ns,omitempty"`
	// Peak is the peak memory of the process in bytes, or 0 if the system does not report it.
	Peak int `json:"peak_bytes"`
	// Count is the number of answers, chunks, lines or sessions, and Tokens the number of tokens
	// that the answers used.
	Count  int `json:"count"`
	Tokens int `json:"tokens"`
}

// A job is work that is measured in a separate process, so that its memory can be measured. It gets
// the path of a projects directory, of a transcript or of a program, and arguments for the last.
type job func(path string, args []string, f *figures) error

// about is a job that takes no arguments.
func about(do func(path string, f *figures) error) job {
	return func(path string, _ []string, f *figures) error { return do(path, f) }
}

// The jobs.
const (
	totalsJob  = "totals"
	listJob    = "list"
	readJob    = "read"
	streamJob  = "stream"
	validJob   = "valid"
	tailJob    = "tail"
	programJob = "program"
	screenJob  = "screen"
	fleetJob   = "fleet"
)

func jobs() map[string]job {
	return map[string]job{totalsJob: about(totals), listJob: about(list), readJob: about(read), streamJob: about(stream),
		validJob: about(validLines), tailJob: about(tail), programJob: useProgram, screenJob: useScreen, fleetJob: runFleetChild}
}

// runChild does a job and prints the figures.
func runChild(w io.Writer, c child) error {
	do, ok := jobs()[c.job]
	if !ok {
		return fmt.Errorf("there is no job %q", c.job)
	}
	var f figures
	start := time.Now()
	if err := do(c.path, c.args, &f); err != nil {
		return err
	}
	if f.Elapsed == 0 {
		f.Elapsed = time.Since(start)
	}
	if c.job != programJob && c.job != screenJob {
		f.Peak = benchreport.Peak(os.Getpid())
	}
	return json.NewEncoder(w).Encode(f)
}

// A child describes the work of a process of this program.
type child struct {
	job, path string
	args      []string
	env       []string // nil means that of this process
}

// inChild lets a process of this program do a job.
func inChild(ctx context.Context, c child) (figures, error) {
	var f figures
	program, err := os.Executable()
	if err != nil {
		return f, err
	}
	args := append([]string{"-child", c.job, "-path", c.path, "--"}, c.args...)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = c.env
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(complaints.String(), "\n")
		return f, fmt.Errorf("%s: %w: %s", c.job, err, first)
	}
	err = json.Unmarshal(out, &f)
	return f, err
}

func totals(path string, f *figures) error {
	r, err := sessions.ScanUsage(context.Background(), &sessions.UsageOptions{Store: sessions.NewFolder(path)})
	if err != nil {
		return err
	}
	if r.BadLines > 0 || r.Unread != nil {
		return fmt.Errorf("%d bad lines, unread %v", r.BadLines, r.Unread)
	}
	usage, n := r.Tally.Total()
	f.Count, f.Tokens = n, usage.TotalTokens()
	return nil
}

func list(path string, f *figures) error {
	infos, err := sessions.List(context.Background(), &sessions.ListOptions{Store: sessions.NewFolder(path)})
	f.Count = len(infos)
	return err
}

func read(path string, f *figures) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	t, err := transcript.Read(file, nil)
	if err != nil {
		return err
	}
	f.Count = len(t.Chunks)
	runtime.KeepAlive(t)
	return nil
}

// stream reads a transcript to chunks, and keeps none of them.
func stream(path string, f *figures) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for _, err := range transcript.Stream(file, nil) {
		if err != nil {
			return err
		}
		f.Count++
	}
	return nil
}

// validLines is the floor: encoding/json checks the lines and keeps nothing.
func validLines(path string, f *figures) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		if line := bytes.TrimLeft(lines.Bytes(), "\x00"); !json.Valid(line) {
			return fmt.Errorf("line %d is not JSON", f.Count+1)
		}
		f.Count++
	}
	return lines.Err()
}

// tail follows a transcript, appends 10 KB to it, and measures the time until the chunks of those
// are there.
func tail(path string, f *figures) error {
	before := 0
	var appended time.Time
	for u, err := range sessions.TailFile(context.Background(), path, &sessions.TailOptions{OnlyMain: true}) {
		if err != nil {
			return err
		}
		f.Count = len(u.Transcript.Chunks)
		if appended.IsZero() {
			before = f.Count
			appended = time.Now()
			err = appendLines(path)
		} else if f.Count == before+appendedLines {
			f.Elapsed = time.Since(appended)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const appendedLines = 10

func appendLines(path string) error {
	var lines []byte
	for i := range appendedLines {
		lines = fmt.Appendf(lines,
			`{"type":"user","uuid":"tail-%d-%d","timestamp":"2026-12-01T00:00:0%dZ","message":{"role":"user","content":"%s"}}`+"\n",
			os.Getpid(), i, i, strings.Repeat("word ", 180))
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(lines)
	return errors.Join(err, file.Close())
}

// useProgram runs a program and measures it from outside. It is the job of a small process: a
// system that shares memory between a process and its children counts that memory for both.
func useProgram(path string, args []string, f *figures) error {
	cmd := exec.CommandContext(context.Background(), path, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := f.watch(out, start, func() {}); err != nil {
		return err
	}
	err = f.wait(cmd, start)
	if err != nil {
		first, _, _ := strings.Cut(complaints.String(), "\n")
		return fmt.Errorf("%w: %s", err, first)
	}
	return nil
}

// useScreen is like useProgram, for a program at a terminal. It leaves a pager when it has seen the
// first lines.
func useScreen(path string, args []string, f *figures) error {
	user, terminal, err := pty.Open(80, 24)
	if err != nil {
		return err
	}
	defer func() { _ = user.Close() }() // everything has been read
	cmd := exec.CommandContext(context.Background(), path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "PAGER=")
	start := time.Now()
	err = cmd.Start()
	if closeErr := terminal.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	leave := func() { _, _ = io.WriteString(user, "q") }                                // without it the pager waits
	if err := f.watch(user, start, leave); err != nil && !errors.Is(err, syscall.EIO) { // which is how a terminal ends
		return err
	}
	return f.wait(cmd, start)
}

// wait waits for the end of the program, and notes when it was.
func (f *figures) wait(cmd *exec.Cmd, start time.Time) error {
	err := cmd.Wait()
	f.Elapsed = time.Since(start)
	f.Peak = benchreport.PeakOf(cmd.ProcessState)
	return err
}

// firstLines is the number of output lines at which a user can start to read.
const firstLines = 10

// watch reads to the end, counts the lines, and takes the times of the first byte and of the
// first lines. Then it calls seen.
func (f *figures) watch(out io.Reader, start time.Time, seen func()) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		f.Count += bytes.Count(buf[:n], []byte{'\n'})
		if n > 0 && f.First == 0 {
			f.First = time.Since(start)
		}
		if f.Lines == 0 && (f.Count >= firstLines || err != nil) {
			f.Lines = time.Since(start)
			seen()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
