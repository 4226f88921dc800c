package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// inspectText runs "clew inspect ARGS" over a text.
func inspectText(t *testing.T, in io.Reader, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), append([]string{"inspect"}, args...), Streams{In: in, Out: &out, Err: &errs})
	return out.String(), errs.String(), code
}

func TestInspectRecorded(t *testing.T) {
	files, err := filepath.Glob("../../testdata/recorded/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			frames := fromAgent(string(text))
			stdout, stderr, code := inspectText(t, strings.NewReader(frames))
			if code != exitDone || stderr != "" || strings.Contains(stdout, "known") || strings.Contains(stdout, "valid") {
				t.Errorf("exit code %d, stderr %q, stdout:\n%s", code, stderr, stdout)
			}
			want := group(int64(strings.Count(frames, "\n")))
			if total := strings.Fields(stdout[strings.LastIndex(stdout, "\ntotal "):]); total[1] != want {
				t.Errorf("%s frames counted, want %s:\n%s", total[1], want, stdout)
			}
		})
	}
}

// fromAgent returns the lines of a recording that the agent wrote.
func fromAgent(recording string) string {
	var frames strings.Builder
	for line := range strings.Lines(recording) {
		if frame, ok := strings.CutPrefix(line, "< "); ok {
			frames.WriteString(frame)
		}
	}
	return frames.String()
}

func TestInspectKeepsOrder(t *testing.T) {
	var stream, want strings.Builder
	offset := 0
	for i := range 20_000 {
		frame := fmt.Sprintf(`{"type":"keep_alive","pad":%q}`, strings.Repeat("x", i*31%500))
		fmt.Fprintf(&want, `{"line":%d,"offset":%d,"bytes":%d,"type":"keep_alive","subtype":"","known":true,"problem":"","unknown_fields":["pad"]}`+"\n",
			i+1, offset, len(frame))
		fmt.Fprintln(&stream, frame)
		offset += len(frame) + 1
	}
	stdout, _, _ := inspectText(t, strings.NewReader(stream.String()), "--json")
	if stdout != want.String() {
		t.Error("the frames are not listed in order, each with its place")
	}
}

func TestInspectManyNames(t *testing.T) {
	var stream strings.Builder
	for i := range maxNames + 3 {
		fmt.Fprintf(&stream, `{"type":"t%d"}`+"\n", i)
	}
	for range maxNotes + 2 {
		fmt.Fprintln(&stream, "text")
	}
	stdout, _, _ := inspectText(t, strings.NewReader(stream.String()))
	stdout = strings.Join(strings.Fields(stdout), " ")
	for _, want := range []string{
		" (other kinds) 3 ",
		" total 1,025 ",
		" and 3 more, under names that are not listed",
		" and 2 more",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in the summary", want)
		}
	}
}

func TestInspectReadError(t *testing.T) {
	in := io.MultiReader(strings.NewReader(`{"type":"keep_alive"}`+"\n"), iotest.ErrReader(errors.New("the disk is gone")))
	stdout, stderr, code := inspectText(t, in)
	if want := "clew inspect: stdin cannot be read: the disk is gone\n"; code != exitInput || stderr != want {
		t.Errorf("exit code %d, stderr %q; want %d, %q", code, stderr, exitInput, want)
	}
	if !strings.Contains(stdout, "keep_alive") {
		t.Errorf("what was read is not in the summary:\n%s", stdout)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestInspectWriteError(t *testing.T) {
	for _, args := range [][]string{{"inspect"}, {"inspect", "--json"}} {
		var errs strings.Builder
		in := strings.NewReader(`{"type":"keep_alive"}` + "\n")
		code := execute(t.Context(), args, Streams{In: in, Out: fullDisk{}, Err: &errs})
		if want := "clew inspect: the output cannot be written: the disk is full\n"; code != exitFailed || errs.String() != want {
			t.Errorf("%v: exit code %d, stderr %q; want %d, %q", args, code, errs.String(), exitFailed, want)
		}
	}
}

// live runs "clew inspect --json" over pipes.
type live struct {
	in     *io.PipeWriter
	out    *bufio.Scanner
	code   chan int
	cancel context.CancelFunc
}

func startLive(t *testing.T) *live {
	ctx, cancel := context.WithCancel(t.Context())
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	l := &live{in: in, out: bufio.NewScanner(out), code: make(chan int, 1), cancel: cancel}
	go func() {
		l.code <- execute(ctx, []string{"inspect", "--json"}, Streams{In: stdin, Out: stdout, Err: io.Discard})
		_ = stdout.Close() // never fails
	}()
	return l
}

func TestInspectLive(t *testing.T) {
	l := startLive(t)
	for range 3 {
		// The next frame is not written before the last one is listed.
		if _, err := io.WriteString(l.in, `{"type":"keep_alive"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		if !l.out.Scan() || !strings.Contains(l.out.Text(), `"keep_alive"`) {
			t.Fatalf("listed %q", l.out.Text())
		}
	}
	l.cancel()
	if l.out.Scan() {
		t.Errorf("listed %q after the interrupt", l.out.Text())
	}
	if code := <-l.code; code != exitInterrupted {
		t.Errorf("exit code %d, want %d", code, exitInterrupted)
	}
}

func TestInspectInterruptedMidFrame(t *testing.T) {
	l := startLive(t)
	if _, err := io.WriteString(l.in, `{"type":"keep_alive"}`+"\n"+`{"type":"keep_`); err != nil {
		t.Fatal(err)
	}
	if !l.out.Scan() {
		t.Fatal("the first frame is not listed")
	}
	l.cancel()
	if l.out.Scan() {
		t.Errorf("a frame that the interrupt cut is listed: %q", l.out.Text())
	}
	<-l.code
}
