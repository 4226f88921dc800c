package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// richAnswer has everything that an answer can have.
const richAnswer = "## What is wrong\n\nThe function `parse` **never closes** the file. Three things follow:\n\n" +
	"1. Descriptors leak, one per call\n2. On *Windows* the file stays locked\n3. Tests fail after ~1000 runs\n\n" +
	"| platform | limit | fails after |\n|---|---|---|\n| Linux | 1024 | 1,019 calls |\n| macOS | 256 | 251 calls |\n\n" +
	"> Note: `defer` runs at the end of the *function*, not the block.\n\n```go\nfunc parse(name string) (*Doc, error) {\n" +
	"\tf, err := os.Open(name) // opened here\n\treturn decode(f), err\n}\n```\n\n- See [the docs](https://go.dev/doc/effective_go#defer)\n" +
	"  - a nested item with a rather long text that has to be wrapped, so that one can see the hanging indent\n- [x] done\n\nThat is all."

// shownScreen returns what show prints of a transcript.
func shownScreen(t *testing.T, shown *transcript.Transcript, opts render.Options) string {
	t.Helper()
	opts.Zone, opts.Day, opts.Dir = time.UTC, shown.Created, shown.CWD
	var out bytes.Buffer
	head, figures := headOfTranscript(shown, opts), figuresOf(shown, nil)
	for _, err := range []error{head.begin(&out), head.figures(&out, figures)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	out.WriteString(opts.Chunks(shown.Chunks) + opts.Unlinked(shown))
	if err := head.end(&out, figures); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// readShown reads a transcript, and adds an answer to it.
func readShown(t *testing.T, path string) *transcript.Transcript {
	t.Helper()
	shown, err := sessions.ReadFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	shown.Chunks = append(shown.Chunks, transcript.Chunk{Turn: 2, Type: transcript.UserChunk, Text: "Explain the bug"}, transcript.Chunk{
		Turn: 2, Type: transcript.AIChunk, Model: "claude-opus-5-5", Items: []transcript.DisplayItem{{Type: transcript.ItemOutput, Text: richAnswer}},
	})
	return shown
}

func TestShowScreen(t *testing.T) {
	t.Parallel()
	shown := readShown(t, "../demo/recording/allowed/transcript.jsonl")
	for _, width := range clitest.Widths {
		golden.Check(t, fmt.Sprintf("screens/show_%d", width), shownScreen(t, shown, render.Options{Width: width}))
		golden.Check(t, fmt.Sprintf("screens/show_%d_color", width), shownScreen(t, shown, render.Options{Width: width, Color: true}))
	}
}

// A part of a session names its turns, and is known by their numbers.
func TestTurnsOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		turns  []int
		want   string
		isPart bool
	}{
		{nil, "0 turns", false},
		{[]int{0}, "0 turns", false},
		{[]int{0, 1, 1, 2}, "2 turns", false},
		{[]int{1}, "1 turn", false},
		{[]int{3, 3, 4, 5, 5}, "turns 3 to 5", true},
		{[]int{7, 7}, "turn 7", true},
		{[]int{1, 4}, "2 turns", true},
		{[]int{2, 4}, "2 turns", true},
	} {
		chunks := make([]transcript.Chunk, len(tt.turns))
		for i, turn := range tt.turns {
			chunks[i].Turn = turn
		}
		if text, isPart := turnsOf(chunks); text != tt.want || isPart != tt.isPart {
			t.Errorf("%v: got %q, %t", tt.turns, text, isPart)
		}
	}
}

// Whatever the width, no line is wider than the screen but for code, which is never wrapped.
func TestShowScreenFits(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../demo/recording/allowed/transcript.jsonl", "testdata/hostile/transcript.jsonl"} {
		shown := readShown(t, path)
		for _, width := range soak.Widths(1) {
			for _, expand := range []bool{false, true} {
				text := shownScreen(t, shown, render.Options{Width: width, Expand: expand, Thinking: expand})
				for line := range strings.Lines(text) {
					isCode := strings.Contains(richAnswer, strings.TrimSpace(line)) || strings.Contains(line, "err := os.Open(name)")
					if n := tty.Width(strings.TrimSuffix(line, "\n")); n > width && !isCode {
						t.Fatalf("%s in %d columns: a line has %d: %q", path, width, n, line)
					}
				}
				if !strings.Contains(text, "f, err := os.Open(name) // opened here\n") {
					t.Fatalf("%s in %d columns: code was wrapped", path, width)
				}
			}
		}
	}
}

// The head separates work from waiting, if the session waited for long.
func TestFiguresTimes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		took, span time.Duration
		want       string
	}{
		{0, time.Hour, ""},
		{5 * time.Minute, 9 * time.Minute, "5 min"},
		{10 * time.Second, 2 * time.Minute, "10 s"},
		{5 * time.Minute, 21*time.Hour + 24*time.Minute, "5 min of work in 21 h 24 min"},
	} {
		f := figures{took: tt.took, span: tt.span}
		if got := f.times(); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.took, tt.span, got, tt.want)
		}
	}
}
