package agentcli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/clitest"
	"github.com/clewdev/clew/internal/golden"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// A testScreen is a screen on paper, with a clock that the test sets.
type testScreen struct {
	*screen
	paper   *clitest.Paper
	time    time.Time
	asked   bool
	answers chan string
}

func newTestScreen(columns int, color bool) *testScreen {
	s := &testScreen{paper: clitest.NewPaper(columns), time: clitest.Now, answers: make(chan string, 1)}
	s.paper.Painted = color
	s.screen = newScreen(clikit.Streams{})
	s.out = rawWriter{s}
	s.err, s.shared, s.animated, s.width, s.color = s.out, true, true, columns, color
	s.now = func() time.Time { return s.time }
	s.window, s.windowColor = func() (int, int) { return columns, 50 }, color
	s.worksIn("/repo", "")
	return s
}

// Write shows a text. The user answers yes to all questions.
func (s *testScreen) Write(text []byte) (int, error) {
	n, err := s.paper.Write(text)
	if s.asked && len(text) > 0 && !strings.HasSuffix(string(text), "\n") {
		s.asked = false
		s.paper.Write([]byte("y\r\n")) //nolint:errcheck // it is in memory
		s.answers <- "yes"
	}
	return n, err
}

func (s *testScreen) want() <-chan string {
	s.asked = true
	return s.answers
}

func (s *testScreen) awaited() bool { return false }

// play shows a turn as run and chat do, and asks about Edit calls.
func (s *testScreen) play(t *testing.T, steps []clitest.Step) *textPrinter {
	t.Helper()
	asker := newQuestioner(t.Context(), clikit.Streams{}, s.screen)
	asker.console = console{in: s, size: s.window}
	asker.workspace = ask.Workspace{Dir: "/repo", Read: func(string) (string, error) { return clitest.EditedFile, nil }}
	p := &textPrinter{screen: s.screen}
	s.busy("thinking")
	for _, step := range steps {
		s.time = s.time.Add(step.After)
		msg := wire.Decode([]byte(step.Frame))
		if err := p.print(msg); err != nil {
			t.Fatal(err)
		}
		s.follow(msg)
		if strings.Contains(step.Frame, `"name":"Edit"`) {
			s.time = s.time.Add(time.Second)
			req := &permission.Request{ToolName: "Edit", ToolUseID: "t5", Input: clitest.Edit, Suggestions: []permission.Update{
				permission.AddRules("localSettings", "allow", permission.Rule{ToolName: "Edit", RuleContent: "upload/**"}),
			}}
			if _, err := asker.decide(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.idle()
	if err := p.finish(nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// shown returns the text on the screen, without the cursor.
func (s *testScreen) shown() string { return strings.TrimSuffix(s.paper.Text(), "|\n") }

func TestRunScreen(t *testing.T) {
	t.Parallel()
	for _, width := range clitest.Widths {
		for _, color := range []bool{false, true} {
			name := fmt.Sprintf("screens/run_%d", width)
			if color {
				name += "_color"
			}
			s := newTestScreen(width, color)
			p := s.play(t, clitest.Turn)
			s.conclude(p.account.parts(s.elapsed(), false))
			golden.Check(t, name, s.shown())
		}
	}
}

// minColumns is the width from which on everything fits. A line of a change needs its indent, its
// mark and two columns for a wide character.
const minColumns = 6

// Whatever the width, the terminal does not have to break a line.
func TestRunScreenFits(t *testing.T) {
	t.Parallel()
	for _, width := range soak.Widths(1) {
		s := newTestScreen(width, false)
		p := s.play(t, clitest.Turn)
		s.conclude(p.account.parts(s.elapsed(), false))
		if s.paper.Wrapped && width >= minColumns || len(s.paper.Unknown) > 0 {
			t.Errorf("%d columns: unknown sequences %q\n%s", width, s.paper.Unknown, s.paper.Wide)
		}
		s.busy("thinking")
		s.follow(wire.Decode([]byte(clitest.Turn[1].Frame)))
		s.time = s.time.Add(100 * time.Second)
		if line := s.activity("|"); len([]rune(line)) >= max(width, 2) {
			t.Fatalf("%d columns: %q", width, line)
		}
	}
}

// A call is announced once: by its question, or by its row. On a pipe, by a line when it starts.
func TestToolIsAnnouncedOnce(t *testing.T) {
	t.Parallel()
	s := newTestScreen(80, false)
	s.play(t, clitest.Turn)
	for text, want := range map[string]int{
		"  Bash   Run the tests": 1, "  Agent  Explore": 1, "+- Edit upload/server.go": 1, "  Edit   upload/server.go": 1, "* ": 0,
	} {
		if got := strings.Count(s.shown(), text); got != want {
			t.Errorf("%q is there %d times:\n%s", text, got, s.shown())
		}
	}
	var log strings.Builder
	pipe := newScreen(clikit.Streams{Err: &log})
	pipe.worksIn("/repo", "")
	pipe.busy("thinking")
	for _, step := range clitest.Turn {
		pipe.follow(wire.Decode([]byte(step.Frame)))
	}
	pipe.refused("t6", "Bash", "nobody is here")
	pipe.follow(wire.Decode([]byte(clitest.ReturnedFrame("", "t6", true, "denied", "null"))))
	pipe.idle()
	want := `* Bash: Run the tests: go test -run TestUpload -count=20 ./upload
! Bash failed: --- FAIL: TestUpload (0.01s)
* Agent: Explore - Find other races
  * Read: upload/client.go
  * Grep: "go func" in upload
* Edit: upload/server.go - 1 -> 2 lines
* Bash: rm -rf  [2J /srv
* mcp__tracker__close_issue: tracker: close_issue
! Bash denied: nobody is here
`
	if diff := cmp.Diff(want, log.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The last line shows the running call, its time, and other running work.
func TestRunActivity(t *testing.T) {
	t.Parallel()
	s := newTestScreen(60, false)
	s.busy("thinking")
	begin := func(id, input string) {
		s.follow(wire.Decode([]byte(clitest.SaidFrame("", clitest.ToolBlock(id, "Bash", input)))))
	}
	end := func(id string) { s.follow(wire.Decode([]byte(clitest.ReturnedFrame("", id, false, "", "null")))) }
	stream := func(event string) { s.follow(wire.Decode([]byte(clitest.Framed(event)))) }
	block := func(block string) { stream(`{"type":"content_block_start","index":0,"content_block":` + block + `}`) }
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "| 5 s · thinking"},
		{func() { stream(clitest.TextDelta("Hello")) }, "| 10 s · writing"},
		{func() { block(`{"type":"thinking","thinking":""}`) }, "| 15 s · thinking"},
		{func() { block(`{"type":"text","text":""}`) }, "| 20 s · writing"},
		{func() { block(`{"type":"tool_use","id":"a","name":"Write\u001b","input":{}}`) }, `| 25 s · Write\x1b`},
		{func() { stream(`{"type":"message_start","message":{}}`) }, "| 30 s · thinking"},
		{func() { s.time = s.time.Add(-30 * time.Second) }, "| 5 s · thinking"},
		{func() { begin("a", `{"command":"make"}`) }, "| 10 s · running make (5 s)"},
		{func() { begin("b", `{"command":"make a list of all of the packages in this repository"}`) }, "| 15 s · running make a list of all of th… (5 s) and 1 more"},
		{func() { stream(clitest.TextDelta("Meanwhile")); s.time = s.time.Add(-5 * time.Second) }, "| 15 s · running make a list of all of th… (5 s) and 1 more"},
		{func() { end("b") }, "| 20 s · running make (15 s)"},
		{func() { s.pause(true); s.time = s.time.Add(time.Hour); s.pause(false) }, "| 25 s · running make (3620 s)"},
		{func() { s.decided("a", true) }, "| 30 s · running make (5 s)"},
		{func() { end("a") }, "| 35 s · thinking"},
	} {
		step.do()
		s.time = s.time.Add(5 * time.Second)
		if got := s.activity("|"); got != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
}

// A call that the user interrupted has no result, and the row tells why. The next turn starts anew.
func TestRunScreenInterrupted(t *testing.T) {
	t.Parallel()
	s := newTestScreen(80, false)
	for _, id := range []string{"t1", "t2"} {
		s.busy("thinking")
		s.follow(wire.Decode([]byte(clitest.SaidFrame("", clitest.ToolBlock(id, "Bash", `{"command":"sleep 60"}`)))))
		if id == "t1" {
			s.interrupting()
		}
		s.idle()
	}
	want := "interrupting\n  Bash   sleep 60                                                   interrupted\n" +
		"  Bash   sleep 60                                                     no result\n"
	if diff := cmp.Diff(want, s.shown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whatever an agent writes, a terminal gets no sequence but ours, and has to break no line but those
// of code.
func TestRunScreenHostile(t *testing.T) {
	t.Parallel()
	stream, err := os.ReadFile("../cli/testdata/hostile/stream.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	var steps []clitest.Step
	for line := range strings.Lines(string(stream)) {
		steps = append(steps, clitest.Step{After: time.Second, Frame: line})
	}
	name := "Bash\x1b]0;owned\a\u202e\n  Read   slug.sh" + strings.Repeat("x", 300)
	for i, failed := range []bool{false, true} {
		id := fmt.Sprint("h", i)
		steps = append(steps, clitest.Step{Frame: clitest.SaidFrame("", `{"type":"tool_use","id":"`+id+`","name":`+quotedText(name)+`,"input":{"command":"\u001b[2J\u0007"}}`)},
			clitest.Step{Frame: clitest.SaidFrame(id, clitest.ToolBlock("c", "Read", `{"file_path":"/a\u001b[31m\nb"}`))},
			clitest.Step{Frame: clitest.ReturnedFrame("", id, failed, "\\u001b[2J\\u009b\\r\\n\\u202eowned 世界 "+strings.Repeat("y", 6000), `"odd"`)})
	}
	for width := minColumns; width <= 200; width += 3 {
		s := newTestScreen(width, false)
		s.play(t, steps)
		if s.paper.Wrapped || len(s.paper.Unknown) > 0 {
			t.Fatalf("%d columns: unknown sequences %q, broken: %q", width, s.paper.Unknown, s.paper.Wide)
		}
		if s.paper.Bells > 0 || len(s.paper.Requests) > 0 {
			t.Fatalf("%d columns: %d bells, %q", width, s.paper.Bells, s.paper.Requests)
		}
		clitest.CheckHarmless(t, fmt.Sprint(width, " columns"), s.shown())
	}
}

// A rawWriter writes a carriage return before each line feed, as a terminal does for a program.
type rawWriter struct{ w io.Writer }

func (r rawWriter) Write(p []byte) (int, error) {
	if _, err := r.w.Write(bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
