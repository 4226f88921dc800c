package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/render"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A tailing is a session and its subagents while they are followed.
type tailing struct {
	options  *tailOptions
	builders map[string]*transcript.Builder
	lines    int
}

func newTailing() *tailing {
	return &tailing{
		options: &tailOptions{
			streams: Streams{Out: io.Discard}, lines: 100, started: time.Now(), feeds: map[string]*render.Feed{},
		},
		builders: map[string]*transcript.Builder{},
	}
}

// prompt adds a prompt to the session or a subagent, and returns the expected output.
func (f *tailing) prompt(agent, text string) string {
	return f.add(agent, `{"type":"user","uuid":"%[1]s%[2]d","message":{"role":"user","content":"`+text+`"}}`)
}

// call adds a tool call and its result.
func (f *tailing) call(agent, command string) string {
	return f.add(agent, `{"type":"assistant","uuid":"%[1]sc%[2]d","message":{"id":"m%[2]d","model":"claude-x","content":[`+
		`{"type":"tool_use","id":"%[1]st%[2]d","name":"Bash","input":{"command":"`+command+`"}}]}}`+"\n"+
		`{"type":"user","uuid":"%[1]sr%[2]d","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%[1]st%[2]d","content":"ok"}]}}`)
}

func (f *tailing) add(agent, lines string) string {
	f.lines++
	b := f.builders[agent]
	if b == nil {
		b = transcript.NewBuilder(nil)
		f.builders[agent] = b
	}
	_, _ = fmt.Fprintf(b, lines+"\n", agent, f.lines)
	u := &sessions.Update{First: b.Changed(), Transcript: b.Transcript()}
	if agent != "" {
		u.Agent = &transcript.Agent{ID: agent, Transcript: u.Transcript, Meta: transcript.AgentMeta{AgentType: "Explore"}}
	}
	return f.options.text(u)
}

// Each line stands below a heading that names its speaker, however the speakers take turns.
func TestTailNamesTheSpeaker(t *testing.T) {
	t.Parallel()
	f := newTailing()
	shown := f.prompt("", "Go") + f.call("", "one") + f.prompt("ada", "Look") + f.call("ada", "two") + f.call("", "three") +
		f.call("", "four") + f.prompt("bob", "See") + f.call("ada", "five") + f.call("bob", "six") + f.call("ada", "seven") + f.call("", "eight")
	var got []string
	for line := range strings.Lines(shown) {
		line = strings.Join(strings.Fields(line), " ")
		if line != "" && line != "ok" {
			got = append(got, line)
		}
	}
	want := []string{
		"> Go #1", "x", "Bash one",
		"@ agent ada, Explore", "> Look #1", "@ agent ada, Explore", "x", "Bash two",
		"@ session", "x", "Bash three", "Bash four",
		"@ agent bob, Explore", "> See #1",
		"@ agent ada, Explore", "x", "Bash five",
		"@ agent bob, Explore", "x", "Bash six",
		"@ agent ada, Explore", "x", "Bash seven",
		"@ session", "x", "Bash eight",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, shown)
	}
	if strings.Contains(shown, "\n\n\n") {
		t.Errorf("two empty lines in a row:\n%s", shown)
	}
}

// tailedScreen returns what tail shows of a session that grows, and of its subagent.
func tailedScreen(t *testing.T, main, agent string, expand bool) string {
	t.Helper()
	var out bytes.Buffer
	o := &tailOptions{
		streams: Streams{Out: &out, Err: &out}, style: style{zone: time.UTC, expand: expand}, lines: 4,
		feeds: map[string]*render.Feed{}, started: time.Date(2026, time.November, 15, 0, 0, 0, 0, time.UTC),
	}
	shown := transcript.NewBuilder(nil)
	sub := transcript.NewBuilder(nil)
	updates := func(yield func(*sessions.Update, error) bool) {
		for i, line := range slices.Collect(strings.Lines(main)) {
			_, _ = shown.Write([]byte(line)) // it returns no error
			if i == 5 {
				_, _ = sub.Write([]byte(agent))
				yield(&sessions.Update{
					First: sub.Changed(), Transcript: sub.Transcript(),
					Agent: &transcript.Agent{ID: "a258fd7193f66bd85", Transcript: sub.Transcript(), Meta: transcript.AgentMeta{AgentType: "Explore"}},
				}, nil)
			}
			yield(&sessions.Update{First: shown.Changed(), Transcript: shown.Transcript()}, nil)
		}
		yield(&sessions.Update{Gone: true}, nil)
		yield(nil, context.Canceled)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.follow(ctx, updates); clikit.ExitCode(err) != clikit.ExitInterrupted {
		t.Errorf("tail ends with %v", err)
	}
	return out.String()
}

// tailedTexts returns a session that has a subagent.
func tailedTexts(t *testing.T) (main, agent string) {
	t.Helper()
	var texts []string
	for _, name := range []string{"transcript.jsonl", "subagents/agent-a258fd7193f66bd85.jsonl"} {
		text, err := os.ReadFile("../demo/recording/allowed/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts[0], texts[1]
}

func TestTailScreen(t *testing.T) {
	main, agent := tailedTexts(t)
	for _, width := range clitest.Widths {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		t.Setenv("CLEW_COLOR", "never")
		golden.Check(t, fmt.Sprintf("screens/tail_%d", width), tailedScreen(t, main, agent, false))
		t.Setenv("CLEW_COLOR", "always")
		golden.Check(t, fmt.Sprintf("screens/tail_%d_color", width), tailedScreen(t, main, agent, false))
	}
}

// No line of a session that grows is wider than the screen, but for warnings.
func TestTailScreenFits(t *testing.T) {
	main, agent := tailedTexts(t)
	hostile, err := os.ReadFile("testdata/hostile/transcript.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range soak.Widths(1) {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		for _, expand := range []bool{false, true} {
			checkLinesBut(t, tailedScreen(t, main, agent, expand), width, "clew tail:")
			checkLinesBut(t, tailedScreen(t, string(hostile), agent, expand), width, "clew tail:")
		}
	}
}

// checkLinesBut is checkLines, except for lines that contain one of the parts: these are not
// wrapped.
func checkLinesBut(t *testing.T, text string, width int, parts ...string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(line, part) }) {
			checkLines(t, line, width)
		}
	}
}
