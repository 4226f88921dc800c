package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// A talk is a session that grows.
type talk struct {
	t      *testing.T
	source *fakeSource
	info   sessions.SessionInfo
	lines  []string
	last   string // the UUID of the last entry
	chunks int
}

// newTalk returns a session with the given number of turns.
func newTalk(t *testing.T, turns int) *talk {
	t.Helper()
	k := &talk{t: t, source: newFakeSource(), info: sessions.SessionInfo{ID: uploaderID, Path: "/x.jsonl"}}
	for n := range turns {
		k.says(fmt.Sprintf("prompt %d", n+1)).answers(fmt.Sprintf("answer %d", n+1))
	}
	k.show()
	return k
}

func (k *talk) add(kind, message string) {
	uuid := fmt.Sprintf("u%d", len(k.lines))
	parent := "null"
	if k.last != "" {
		parent = `"` + k.last + `"`
	}
	k.lines = append(k.lines, fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"timestamp":"2026-11-17T11:%02d:00.000Z","message":%s}`,
		kind, uuid, parent, len(k.lines)%60, message))
	k.last = uuid
}

func (k *talk) says(text string) *talk {
	k.add("user", fmt.Sprintf(`{"role":"user","content":%q}`, text))
	return k
}

func (k *talk) answers(text string) *talk {
	k.add("assistant", fmt.Sprintf(`{"id":"m%d","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":%q}]}`,
		len(k.lines), text))
	return k
}

func (k *talk) calls(id, command string) *talk {
	k.add("assistant", fmt.Sprintf(`{"id":"m%d","role":"assistant","model":"claude-opus-5-5","content":[`+
		`{"type":"tool_use","id":%q,"name":"Bash","input":{"command":%q}}]}`, len(k.lines), id, command))
	return k
}

func (k *talk) returns(id, result string) *talk {
	k.add("user", fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q}]}`, id, result))
	return k
}

// show publishes the messages so far as a state of the session.
func (k *talk) show() *talk {
	k.t.Helper()
	tr, err := transcript.Read(strings.NewReader(strings.Join(k.lines, "\n")), nil)
	if err != nil {
		k.t.Fatal(err)
	}
	k.source.add(k.info.ID, &follow.Snapshot{First: max(k.chunks-1, 0), Transcript: tr})
	k.chunks = len(tr.Chunks)
	return k
}

func TestSessionGrows(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 20)
	k.source.running = []sessions.RunningSession{{ID: k.info.ID, PID: 4711, Status: "busy"}}
	s := tell(t, k.source, 80, 24, opens(k.info, Place{}))
	s.see("● working", "following", "answer 20").selected("answer 20")
	k.says("one more").answers("the newest").show()
	s.selected("the newest").see("42/42", "following")
	s.press("k", "k").selected("answer 20").unseen("following")
	k.says("and more").answers("answer 22").says("still more").answers("answer 23").show()
	s.see("4 new").selected("answer 20").unseen("answer 23")
	k.calls("t1", "make test").show()
	s.see("5 new").press("F").see("following", "running").unseen("5 new").selected("make test")
	k.returns("t1", "all tests pass").answers("Done.").show()
	s.selected("Done.").unseen("running")
	s.turns(-3).unseen("following").press("G").see("following")
	s.press("F").see("stays here").unseen("following")
}

// A lookSource is a source whose looks at running agents have the given outcomes, one after another.
type lookSource struct {
	*fakeSource
	looks []look
}

// A look is an outcome of [Source.Running].
type look struct {
	running []sessions.RunningSession
	err     error
}

func (l *lookSource) Running(context.Context) ([]sessions.RunningSession, error) {
	if len(l.looks) == 0 {
		return nil, nil
	}
	next := l.looks[0]
	l.looks = l.looks[1:]
	return next.running, next.err
}

// A session is seen to be open, and to be so no longer, although a file of an agent can't be read.
func TestSessionLooksAgain(t *testing.T) {
	t.Parallel()
	agent, other := sessions.RunningSession{ID: uploaderID, PID: 4711}, sessions.RunningSession{ID: "other", PID: 4712}
	open := func(err error) look { return look{[]sessions.RunningSession{other, agent}, err} }
	gone := func(err error) look { return look{[]sessions.RunningSession{other}, err} }
	tests := map[string]struct {
		looks []look
		want  []bool // whether it is shown as open, after each message
	}{
		"nothing can be read once":   {[]look{open(nil), {err: errFake}, {}}, []bool{true, false}},
		"its file can't be read":     {[]look{open(nil), gone(errFake), open(nil), gone(nil)}, []bool{true, true, false}},
		"a file can never be read":   {[]look{open(errFake), gone(errFake), gone(errFake)}, []bool{true, false}},
		"another can't be read once": {[]look{open(nil), open(errFake), gone(nil)}, []bool{true, true, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := openTranscript(t, newTalk(t, 1).source.states[uploaderID][0].Transcript)
				src := &lookSource{fakeSource: newFakeSource(), looks: tt.looks}
				s.src = src
				var got []bool
				for cmd := s.look(0); cmd != nil; {
					msg, ok := cmd().(answer)
					if !ok {
						break
					}
					cmd = s.update(msg.msg)
					got = append(got, s.running != nil && s.layout.rows.Live)
				}
				if !slices.Equal(got, tt.want) || len(src.looks) > 0 {
					t.Errorf("it was shown as open: %v, want %v; %d looks are left", got, tt.want, len(src.looks))
				}
			})
		})
	}
}

// A panel is made again when the session's agent ends, although the session stays as it is.
func TestPanelOfEndedAgent(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 1)
	k.add("assistant", `{"id":"m9","role":"assistant","model":"claude-opus-5-5","content":[`+
		`{"type":"tool_use","id":"t1","name":"Agent","input":{"description":"Look around","prompt":"Go."}}]}`)
	s := openTranscript(t, k.show().source.states[uploaderID][1].Transcript)
	s.width, s.height = 80, 24
	s.update(runningMsg{&sessions.RunningSession{ID: uploaderID, PID: 4711}})
	p := newPanel(s, agentsPanel)
	cmd := s.push(p)
	for _, live := range []bool{true, false} {
		runAll(p, cmd)
		text, _ := unpaint(strings.Join(p.draw(80, 24).Lines, "\n"))
		if !strings.Contains(text, "Look around") || strings.Contains(text, "running") != live {
			t.Errorf("the session is open: %t\n%s", live, text)
		}
		cmd = s.update(runningMsg{})
	}
}

// A session that grows between any two keys does not keep the user from going to the next match.
func TestSessionFindsWhileItGrows(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 9)
	s := tell(t, k.source, 80, 24, opens(k.info, Place{}))
	s.see("18/18").press("g", "/").types("answer").press("enter").see("1 of 9").selected("answer 1")
	for n := 2; n <= 5; n++ {
		k.says(fmt.Sprint("later ", n)).answers(fmt.Sprint("answer to ", n)).show()
		s.see(fmt.Sprint("/", 16+2*n)).press("n").selected(fmt.Sprint("answer ", n))
	}
	s.see("5 of 13").selected("answer 5")
	s.press("N").see("4 of 13").selected("answer 4")
}

// Who asks for the next match before there is one gets it.
func TestSessionFindsAhead(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 9)
	s := tell(t, k.source, 80, 24, opens(k.info, Place{}))
	s.see("18/18").press("g", "/").types("answer").press("enter", "n", "n").see("3 of 9").selected("answer 3")
	s.press("esc", "g", "/").types("answer").press("enter", "N").selected("answer 9")
}

// A match in a row or a diff is found again after it was laid out again.
func TestRowFindsAfterResize(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 1)
	k.calls("t1", "make test").show()
	k.source.entries[3] = `{"id":"t1","type":"tool_use"}`
	k.source.entries[4] = `{"id":"t1","type":"tool_result"}`
	s := tell(t, k.source, 80, 24, opens(k.info, Place{}))
	s.selected("make test").press("i").see("tool_use").press("/").types("t1").press("enter").see("1 of 1")
	s.resize(60, 20).see("1 of 1")
	k.returns("t1", "all tests pass").show()
	s.see("1 of 2", "tool_result").press("n").see("2 of 2")

	f, info := uploader(t)
	s = tell(t, f, 80, 24, opens(info, Place{}))
	s.press("f").see("2 files").press("g", "enter").see("Changes in the session").press("/").types("err").press("enter").see("1 of ")
	s.resize(150, 20).see("1 of ").press("p").see("1 of ").press("n").see("2 of ")
}

// The line that is read stays where it is while rows come below and the width changes.
func TestSessionStays(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 30)
	s := tell(t, k.source, 80, 24, opens(k.info, Place{}))
	s.see("60/60").press("g").see(" 1/60").press("space", "space").selected("> prompt 15 ")
	top := s.term.Line(1)
	for n := range 5 {
		k.says(fmt.Sprint("later ", n)).show()
		s.see(fmt.Sprint(n+1, " new"))
		if got := s.term.Line(1); got != top {
			t.Fatalf("the first line was %q, and is %q", top, got)
		}
	}
	text := strings.TrimRight(strings.TrimRight(top, "│┃"), " ")
	s.resize(60, 20).waits("the first line is not "+text, func() bool { return strings.HasPrefix(s.term.Line(1), text[:12]) })
	s.resize(100, 30).waits("the first line is not "+text, func() bool { return strings.HasPrefix(s.term.Line(1), text[:12]) })
}

func TestSessionOpensAtPlace(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{Line: 1, Words: "refused"}))
	s.see("1 of 2").selected("connection refused")
	f, info = uploader(t)
	at := Place{}
	for place, item := range f.states[info.ID][0].Transcript.All() {
		if place.Agent != nil && item.ToolName == "Bash" {
			at = Place{Line: item.ResultAt.Line, Agent: place.Agent.ID}
		}
	}
	tell(t, f, 80, 24, opens(info, at)).see("▾ Agent").selected("grep")
	f, info = uploader(t)
	tell(t, f, 80, 24, opens(info, Place{Line: 3, Agent: "nobody"})).see("the passage is not shown")
}

// A search result leads to its own row, and not to the first row with the same words.
func TestSessionOpensAtResult(t *testing.T) {
	t.Parallel()
	k := newTalk(t, 40)
	s := tell(t, k.source, 80, 24, opens(k.info, Place{Line: 30, Words: `role:answer answer "15"`}))
	s.selected("answer 15").see("/answer|15/", "16 of 42")
}

func TestFindable(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"": "", "word": "word", "Word role:user": "Word", "begin*": "begin", `"a phrase"`: "a phrase", "a b.c": `/a|b\.c/`,
		`x "y z" tool:Bash`: "/x|y z/", "role:user": "", `"" *`: "", "/api/users(": `//api/users\(/`,
	} {
		if got := findable(words); got != want {
			t.Errorf("findable(%q) = %q, want %q", words, got, want)
		}
	}
}

func TestSessionActs(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{}))
	did := func(what string) {
		t.Helper()
		f.waits(s, what)
	}
	s.see("16/16")
	s.press("y").copied("100 of 100 runs pass.").see("copied the answer")
	s.press("Y").copied("# Markdown of " + info.ID).see("as Markdown")
	s.press("k", "y").copied("sh test.sh 100").see("copied the call of Bash")
	s.press("e").see("exported to /home/dev/" + info.ID + ".html")
	did("export " + info.ID + " false")
	s.press("o")
	did("export " + info.ID + " true")
	s.press("v")
	did("show  Bash")
	s.see("16").press("r")
	did("resume " + info.ID)
	s.see("16").press("c")
	did("continue " + info.ID)
	s.see("16").press("S").press("esc").see("15/16")
	f.change(func() { f.running = []sessions.RunningSession{{ID: info.ID, PID: 4711, Status: "idle"}} })
	f.add(info.ID, &follow.Snapshot{Transcript: f.states[info.ID][0].Transcript})
	s.see("● idle").press("r").see("process 4711 has this session open")
}

// waits waits until something was done.
func (f *fakeSource) waits(s *story, what string) {
	s.t.Helper()
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		if strings.Contains(f.notes(), what) {
			return
		}
		select {
		case <-changed:
		case <-s.done:
			s.t.Fatalf("not done: %s; but: %s", what, f.notes())
		}
	}
}

func TestPanels(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{}))
	s.see("16/16").press("a").selected("Explore").press("enter").see("▾ Agent").selected("▾ Agent")
	s.press("$").see("total").press("/").types("hundred").see("1 of 1").press("enter").selected("Now run it")
	s.press("enter").selected("> Now run it")
	s.press("$").see("total").press("j", "y").copied("Fix it, please")
	s.press("q", "f").selected("upload/server.go").press("enter").see("upload/server.go in the session", "net.Listen")
	s.press("]").see("no other file").press("esc").see("2 files").press("tab").see("#2 > Fix it").press("enter")
	s.see("in turn 2", "var last").press("/").types("gave up").see("1 of 1")
	s.press("enter", "esc", "p").see("in turn 2").press("q", "q").see("16")
	s.press("p").selected("> The upload test").press("j").selected("failed").press("enter").selected("failed")
	s.resize(160, 50).clicks("│ > Fix it", 3).selected("Fix it")
}

// A result that is in a separate file, and an entry, are read when they are looked at.
func TestRowReads(t *testing.T) {
	t.Parallel()
	const path = "/home/dev/.claude/projects/-home-dev/" + uploaderID + "/tool-results/b1.txt"
	spilled := fmt.Sprintf("<persisted-output>\nOutput too large (60KB). Full output saved to: %s\n\n"+
		"Preview (first 2KB):\nthe beginning\n</persisted-output>", path)
	k := newTalk(t, 1)
	k.calls("t1", "cat log").returns("t1", spilled).show()
	k.source.spills[path] = []byte("the beginning\nthe middle\nthe end\n")
	k.source.entries[3] = `{"type":"assistant","uuid":"u2"}`
	k.source.entries[4] = `{"type":"user","uuid":"u3"}`
	s := tell(t, k.source, 80, 24, opens(k.info, Place{}))
	s.see("3/3").press("l", "l").see("Shown").press("l").press("l").see("the middle", "the end")
	s.press("l").see(`"uuid": "u2"`, `"uuid": "u3"`).press("y").copied(`"uuid":"u3"`)
}

func TestSessionTerminalStates(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{}))
	s.see("16/16").press("?").see("type to filter").press("esc").see("16/16")
	s.press("ctrl+p").types("usage").press("esc").see("16/16")
	s.waits("the terminal has other modes", func() bool {
		m := s.term.Modes()
		return m.AltScreen && m.Mouse && m.MouseSGR && m.Paste && !m.Cursor
	})
	s.press("ctrl+z").see("16/16")
	s.press("ctrl+c").ends()
	if got := s.term.Text(); strings.Contains(got, "upload") {
		t.Errorf("the main screen has\n%s", got)
	}
}

// A program that is suspended does not hear that its terminal has another size.
func TestSizeAfterSuspend(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{})).see("? help")
	s.term.Resize(60, 15)
	s.press("ctrl+z").waits("the last line is not at the bottom", func() bool { return strings.Contains(s.term.Line(14), "? help") })
}

// A row keeps its position in the text however often the width changes.
func TestRowStays(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for n := range 2000 {
		fmt.Fprintf(&text, "word-%d ", n)
		if n%97 == 96 {
			text.WriteString("\n\n")
		}
	}
	k := newTalk(t, 0)
	k.says("Go.").answers(text.String()).show()
	s := tell(t, k.source, 80, 24, opens(k.info, Place{}))
	s.see("word-").press("i").see("Raw").press("enter", "G").see("word-1999").press("pgup", "pgup", "pgup").see("182-203 of 266").press("k").see("181-202")
	top := strings.Fields(s.term.Line(1))[0]
	for _, width := range []int{50, 133, 61, 30} {
		s.resize(width, 24).waits("the first line has no "+top, func() bool {
			line := s.term.Line(1)
			return strings.Contains(line+" ", top+" ") && tty.Width(line) > width-10 && tty.Width(line) <= width
		})
	}
	s.resize(80, 24).waits("the first line does not begin with "+top, func() bool { return strings.HasPrefix(s.term.Line(1), top+" ") && tty.Width(s.term.Line(1)) > 70 })
}
