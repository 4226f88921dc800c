package process

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/clewtest"
)

// stderrLines returns the lines that a callback gets when an agent writes text.
func stderrLines(t *testing.T, text string) (got []string, exit Exit) {
	t.Helper()
	spec := child(t, "stderr", text)
	spec.Stderr = func(line string) { got = append(got, line) }
	exit = start(t, spec).Close()
	return got, exit
}

func TestStderr(t *testing.T) {
	t.Parallel()
	const text = "one\n\n  two \t\r\n \nthree"
	got, exit := stderrLines(t, text)
	if diff := cmp.Diff([]string{"one", "  two", "three"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Exit{Code: 1, Stderr: text}, exit); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStderrWithoutLineEnds(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("x", 100_000)
	got, _ := stderrLines(t, want)
	if strings.Join(got, "") != want || len(got) != 2 {
		t.Errorf("got %d parts, %d bytes", len(got), len(strings.Join(got, "")))
	}
}

// The last lines may still be in the pipe when the agent exits.
func TestStderrIsReadBeforeItIsClosed(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("last words\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, finishing, end := newStderr(&output{file: r}, nil), make(chan struct{}), make(chan string)
	go func() {
		close(finishing)
		end <- s.finish()
	}()
	<-finishing
	runtime.Gosched()
	s.drain()
	if got := <-end; got != "last words\n" {
		t.Errorf("got %q", got)
	}
}

// A callback that blocks must delay neither the agent's exit nor Close.
func TestStderrCallbackBlocks(t *testing.T) {
	t.Parallel()
	const noise = 3 << 20
	release, lines := make(chan struct{}), make(chan string, 100_000)
	spec := agentSpec(clewtest.NewAgent(t, new(clewtest.Scenario).Do(clewtest.NoisyStderr(noise)).Exit(1)))
	spec.Stderr = func(line string) {
		<-release
		lines <- line
	}
	p := start(t, spec)
	exit := p.Close()
	if len(exit.Stderr) < tailBytes || exit.Code != 1 {
		t.Errorf("code %d, %d bytes of stderr", exit.Code, len(exit.Stderr))
	}
	close(release)
	<-p.stderr.lines.queue.idle()
	close(lines)
	size, last := 0, ""
	for line := range lines {
		size += len(line)
		last = line
	}
	if size > 2*maxQueued || !strings.Contains(last, "lines left out") {
		t.Errorf("got %d bytes, and at last %q", size, last)
	}
}

func TestStderrCallbackPanics(t *testing.T) {
	t.Parallel()
	var got []string
	spec := child(t, "stderr", "one\ntwo\ntwo\nthree\n")
	spec.Stderr = func(line string) {
		if line == "two" {
			panic("no twos")
		}
		got = append(got, line)
	}
	exit := start(t, spec).Close()
	if diff := cmp.Diff([]string{"one", "three"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if strings.Count(exit.Stderr, "panicked: no twos") != 1 {
		t.Errorf("got %q", exit.Stderr)
	}
}

func TestStderrCallbackCloses(t *testing.T) {
	t.Parallel()
	process, exits := make(chan *Process), make(chan Exit)
	spec := child(t, "stderr", "fatal\n")
	spec.Stderr = func(string) { exits <- (<-process).Close() }
	process <- start(t, spec)
	if diff := cmp.Diff(Exit{Code: 1, Stderr: "fatal\n"}, <-exits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Most agents write nothing to their standard error.
func TestStderrCostsLittle(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const runs = 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		newStderr(&output{file: r}, func(string) {}).drain()
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / runs; got > 1<<10 {
		t.Errorf("%d bytes without a word", got)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var numbered strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&numbered, "line %d\n", i)
	}
	all := numbered.String()
	endless := strings.Repeat("x", 3*tailMax)
	for _, size := range []int{1, 7, 100, 4096, 3 * tailMax} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			if got := tailOf("short\n", size); got != "short\n" {
				t.Errorf("short: got %q", got)
			}
			got := tailOf(all, size)
			if !strings.HasSuffix(all, "\n"+got) || len(got) < tailBytes || len(got) > tailMax {
				t.Errorf("lines: got %d bytes, %.20q...", len(got), got)
			}
			if got := tailOf(endless, size); got != endless[:tailBytes] {
				t.Errorf("one line: got %d bytes", len(got))
			}
		})
	}
}

// tailOf returns the tail of a text that is added in parts of that size.
func tailOf(text string, size int) string {
	var end tail
	for part := range slices.Chunk([]byte(text), size) {
		end.add(part)
	}
	return end.String()
}
