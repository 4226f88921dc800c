package tui

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

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
	f.add(info.ID, &Snapshot{Transcript: tr})
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
	s.see("16/16").press("{").press("l").see("▾ Bash").press("l").see("[Shown]", "Input", "Result", "Raw")
	s.press("l").see("[Input]").press("l").see("[Result]", "connection refused")
	s.press("/").types("refused").see("1 of ").press("enter", "esc")
	s.press("y").copied("connection refused").see("copied the result of call of Bash")
	s.press("l").see("[Raw]", "can't read it: it is not there")
	s.press("l").see("[Shown]").press("q").see(" 4/16")
}

func TestLook(t *testing.T) {
	f, info := uploader(t)
	if p := os.Getenv("LOOK"); p != "" {
		f, info = sourceOf(t, p)
	}
	w, _ := strconv.Atoi(os.Getenv("W"))
	h, _ := strconv.Atoi(os.Getenv("H"))
	if w == 0 {
		t.Skip("W and H are not set")
	}
	s := tell(t, f, w, h, opens(info, Place{}))
	s.selected(" ")
	for _, key := range strings.Fields(os.Getenv("KEYS")) {
		s.press(key)
		time.Sleep(50 * time.Millisecond)
	}
	t.Log("\n" + s.screenshot())
}
