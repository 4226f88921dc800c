package tui

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

const uploaderID = "de1b4c1c-0000-4000-8000-000000000001"

// uploader returns a source with a recorded session.
func uploader(t testing.TB) (*fakeSource, sessions.SessionInfo) {
	t.Helper()
	return sourceOf(t, "../demo/recording/past/uploader/transcript.jsonl")
}

// sourceOf returns a source with the session of a file.
func sourceOf(t testing.TB, path string) (*fakeSource, sessions.SessionInfo) {
	t.Helper()
	f := newFakeSource()
	tr := readSession(t, path)
	info := sessions.SessionInfo{ID: uploaderID, Project: "-home-dev-uploader", Summary: sessions.Summary{CWD: tr.CWD, FirstPrompt: firstPrompt(tr)}}
	f.infos = []sessions.SessionInfo{info}
	f.add(info.ID, &follow.Snapshot{Transcript: tr})
	return f, info
}

// firstPrompt returns the first prompt of a transcript.
func firstPrompt(t *transcript.Transcript) string {
	for i := range t.Chunks {
		if t.Chunks[i].Type == transcript.UserChunk {
			return t.Chunks[i].Text
		}
	}
	return ""
}

// opens returns what opens a session at a place.
func opens(info sessions.SessionInfo, at Place) func(*app) screen {
	return func(a *app) screen { return newSession(a, info, at) }
}

func TestSessionMoves(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{}))
	s.see("16/16").selected("100 of 100 runs pass")
	s.press("k").selected("Run the upload test 100 times").see("15/16")
	s.press("[").selected("Now run it a hundred times")
	s.press("[").selected("Fix it, please")
	s.press("[").selected("fails one run in ten").see(" 1/16")
	s.press("[").see("no prompt before this one")
	s.press("]").selected("Fix it, please")
	s.press("{").selected("failed")
	s.press("{").see("no failure before this one")
	s.press("g").selected("fails one run in ten")
	s.press("d").unseen("▌> The upload test")
	s.press("G").selected("100 of 100 runs pass")
	s.press("q").ends()
}

func TestSessionFolds(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{}))
	s.see("16/16").press("{").selected("▸ Bash")
	s.press("l").selected("▾ Bash").see("connection refused")
	s.press("h").selected("▸ Bash").unseen("connection refused")
	s.press("tab").see("connection refused").press("tab").unseen("connection refused")
	s.press("j", "j").selected("▸ Agent").press("l").selected("▾ Agent").see("/20")
	s.press("j", "j").selected("grep").press("h").selected("▾ Agent")
	s.press("h").selected("▸ Agent").see("/16")
	s.press("shift+tab").see("all rows are folded").unseen("Three things follow")
	s.press("shift+tab").see("all rows are unfolded").press("shift+tab").see("prompts and answers are unfolded")
	s.press("g", "t").see("thinking is hidden").unseen("23 words").press("t").see("23 words")
	s.clicks("▸ thinking", 0).see("▾ thinking")
}

func TestSessionFinds(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{}))
	s.see("16/16").press("g", "/").types("refused").see("1 of ")
	s.press("enter", "n").see("2 of ").press("N", "N").see("from the other end")
	s.press("/").types("/ref(use").see("missing closing )")
	s.press("esc").press("/").types("/re[f]used/").see("2 of 2")
	s.press("esc").press("/").types("no such words").see("not found")
	s.press("esc").unseen("not found").press("q").ends()
}

func TestSessionRow(t *testing.T) {
	t.Parallel()
	f, info := uploader(t)
	s := tell(t, f, 80, 24, opens(info, Place{}))
	s.see("16/16").press("{").press("l").see("▾ Bash").press("l").see("Shown  Input  Result  Raw")
	s.press("l").see("description:").press("l").unseen("description:").see("connection refused")
	s.press("/").types("refused").see("1 of ").press("enter", "esc")
	s.press("y").copied("connection refused").see("copied the result of call of Bash")
	s.press("l").see("can't read it: it is not there")
	s.press("l").see("failed").press("q").see(" 4/16")
}

// sessionStories lists the session as it is opened, and the screens that keys open. A step that
// starts with ? is a text to see, and a step that starts with ! a text to disappear.
var sessionStories = []struct{ name, steps string }{
	{"session", ""},
	{"session_top", "g|? 1/16"},
	{"session_unfolded", "{|l|?▾ Bash|?connection refused"},
	{"session_agent", "/|e|x|p|l|o|r|e|?/ explore|?1 of 1|enter|l|?▾ Agent|?/20"},
	{"session_all_folded", "shift+tab|?all rows are folded"},
	{"session_find", "g|/|r|e|f|u|s|e|d|?/ refused|?1 of 2"},
	{"session_find_nothing", "g|/|x|y|z|z|y|?/ xyzzy|?not found"},
	{"outline", "a|?Explore: Find|shift+tab|?  failed: Bash"},
	{"agents", "a|?Explore: Find"},
	{"files", "f|?upload/client.go"},
	{"turns", "f|?2 files|tab|?#2 > Fix it"},
	{"context", "x|?Context at"},
	{"usage", "$|?total"},
	{"branches", "B|?no branches"},
	{"diff", "f|?2 files|g|enter|?net.Listen"},
	{"diff_turn", "f|?2 files|tab|?#2 >|g|enter|?net.Listen"},
	{"row_shown", "{|l|?▾ Bash|l|?Shown"},
	{"row_result", "{|l|?▾ Bash|l|?Shown|l|l|!failed|?uploader/upload"},
	{"row_raw", "{|i|?\"type\""},
	{"row_diff", "[|[|j|l|l|?Shown|l|l|l|?upload/server.go +5"},
}

// tellSession starts a story at a session whose entries can be read.
func tellSession(t *testing.T, opts Options, columns, rows int) *story {
	t.Helper()
	f, info := uploader(t)
	for n := range 99 {
		f.entries[n] = `{"type":"assistant","uuid":"a","message":{"role":"assistant","content":[]}}`
	}
	return tellWith(t, opts, f, columns, rows, opens(info, Place{})).see("16/16")
}

// walk takes the steps of a story.
func (s *story) walk(steps string) *story {
	s.t.Helper()
	for step := range strings.SplitSeq(steps, "|") {
		if text, ok := strings.CutPrefix(step, "?"); ok {
			s.see(text)
		} else if text, ok := strings.CutPrefix(step, "!"); ok {
			s.unseen(text)
		} else if step != "" {
			s.press(step)
		}
	}
	return s
}

func TestSessionScreens(t *testing.T) {
	for _, tt := range sessionStories {
		inAllSizes(t, tt.name, func(t *testing.T, opts Options, columns, rows int) *story {
			s := tellSession(t, opts, columns, rows)
			if columns >= 80 {
				s.see("$0.20")
			}
			return s.walk(tt.steps)
		})
	}
}

// A session without content, not yet read, or gone has a screen that explains it.
func TestSessionStates(t *testing.T) {
	info := sessions.SessionInfo{ID: uploaderID, Summary: sessions.Summary{FirstPrompt: "What was asked"}}
	for _, tt := range []struct {
		name string
		make func(f *fakeSource)
		see  string
	}{
		{"session_waiting", func(*fakeSource) {}, "reading …"},
		{"session_loading", func(f *fakeSource) {
			f.add(info.ID, &follow.Snapshot{Loading: true, Done: 1_234_000_000, Total: 2_000_000_000})
		}, "reading 1.2 GB of 2.0 GB"},
		{"session_empty", func(f *fakeSource) { f.add(info.ID, &follow.Snapshot{Transcript: &transcript.Transcript{}}) }, "nothing was said"},
		{"session_missing", func(f *fakeSource) {
			f.failures[info.ID] = fs.ErrNotExist
		}, "the session was deleted"},
		{"session_unreadable", func(f *fakeSource) {
			f.failures[info.ID] = errors.New("open x.jsonl: permission denied")
		}, "denied"},
		{"session_deleted", func(f *fakeSource) {
			f.add(info.ID, &follow.Snapshot{Transcript: readSession(t, "../demo/recording/past/engine/transcript.jsonl")})
			f.add(info.ID, &follow.Snapshot{Transcript: readSession(t, "../demo/recording/past/engine/transcript.jsonl"), Gone: true})
		}, "the session was deleted"},
		{"session_waits", func(f *fakeSource) {
			f.add(info.ID, &follow.Snapshot{Transcript: readSession(t, "../demo/recording/past/engine/transcript.jsonl")})
			f.running = []sessions.RunningSession{{ID: info.ID, PID: 4711, Status: "waiting", WaitingFor: "permission prompt"}}
		}, "waits for you"},
	} {
		inAllSizes(t, tt.name, func(t *testing.T, opts Options, columns, rows int) *story {
			f := newFakeSource()
			tt.make(f)
			return tellWith(t, opts, f, columns, rows, opens(info, Place{})).see(tt.see)
		})
	}
}

// A text page offers only keys that have an effect on it.
func TestPageKeys(t *testing.T) {
	t.Parallel()
	keys, err := keymap.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := keys.Action(keymap.InHelp, "/"); ok {
		t.Errorf("/ is %s, but a page finds nothing", a)
	}
}

// The last line of a session shows the most important keys, and all of them if there is room.
func TestSessionHints(t *testing.T) {
	t.Parallel()
	s := openTranscript(t, bigResult(t, 100))
	for width, want := range map[int]string{
		40:  " enter open  q quit  / find  ? help",
		80:  " enter open  q quit  / find  ] prompts  a agents  f files  x context  ? help",
		200: " enter open  q quit  / find  ] prompts  a agents  f files  x context  r resume  tab fold  F follow  ctrl+f search all  c chat  e export  ? help",
	} {
		line, _ := s.footer(&s.finder, keymap.InSession, width)
		if plain, _ := unpaint(line); plain != want {
			t.Errorf("%d columns: %q, want %q", width, plain, want)
		}
	}
}
