package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/paint"
	"github.com/clewdev/clew/internal/corpus"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// largest returns the largest session of the corpus of the benchmarks: 57 MB with 47 subagents.
var largest = sync.OnceValues(func() (*transcript.Transcript, error) {
	dir, err := os.MkdirTemp("", "tui")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path, err := corpus.Largest(dir)
	if err != nil {
		return nil, err
	}
	return sessions.ReadFile(context.Background(), path, nil)
})

// openTranscript returns a session screen for a transcript, without a terminal.
func openTranscript(t testing.TB, tr *transcript.Transcript) *sessionScreen {
	t.Helper()
	a := &app{ctx: t.Context(), opts: storyOptions(), src: newFakeSource(), display: &display{}}
	a.opts.Keys = keymap.Default()
	s := newSession(a, sessions.SessionInfo{ID: uploaderID}, Place{}).(*sessionScreen) //nolint:forcetypeassert // it is one
	a.stack = []screen{s}
	follower := a.src.Follow(s.info)
	s.src.(*fakeSource).add(uploaderID, &follow.Snapshot{Transcript: tr}) //nolint:forcetypeassert // it is one
	s.update(s.read(follower, true))
	return s
}

// BenchmarkKey measures the time from a key to the terminal output, on the largest session.
func BenchmarkKey(b *testing.B) {
	tr, err := largest()
	if err != nil {
		b.Fatal(err)
	}
	for _, action := range []keymap.Action{keymap.Down, keymap.Up, keymap.PageDown, keymap.PageUp, keymap.NextGroup, keymap.Fold, keymap.Top, keymap.FoldAll} {
		b.Run(string(action), func(b *testing.B) {
			s := openTranscript(b, tr)
			var full paint.Full
			full.Draw(s.draw(200, 60).Lines, nil, 200, 60)
			if action != keymap.Up && action != keymap.PageUp {
				s.do(keymap.Top)
			}
			for b.Loop() {
				s.do(action)
				f := s.draw(200, 60)
				full.Draw(f.Lines, f.Cursor, 200, 60)
			}
		})
	}
}

// BenchmarkResize draws the largest session in another width each time.
func BenchmarkResize(b *testing.B) {
	tr, err := largest()
	if err != nil {
		b.Fatal(err)
	}
	s := openTranscript(b, tr)
	s.draw(200, 60)
	s.do(keymap.PageUp)
	var full paint.Full
	for i := 0; b.Loop(); i++ {
		width := 150 + i%50
		full.Draw(s.draw(width, 60).Lines, nil, width, 60)
	}
}

// BenchmarkOpen lays out the largest session and draws its end.
func BenchmarkOpen(b *testing.B) {
	tr, err := largest()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		openTranscript(b, tr).draw(200, 60)
	}
}

// BenchmarkGrow draws the largest session after its last chunk changed.
func BenchmarkGrow(b *testing.B) {
	tr, err := largest()
	if err != nil {
		b.Fatal(err)
	}
	s := openTranscript(b, tr)
	s.draw(200, 60)
	for i := 0; b.Loop(); i++ {
		s.take(snapshotMsg{follower: s.follower, snapshot: &follow.Snapshot{Revision: i + 2, First: len(tr.Chunks) - 1, Transcript: tr}})
		s.draw(200, 60)
	}
}

// bigResult returns a transcript with a tool result of about size bytes.
func bigResult(t testing.TB, size int) *transcript.Transcript {
	t.Helper()
	text, err := json.Marshal(strings.Repeat("a line of a result that is long enough to be one\n", size/49))
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		`{"type":"user","uuid":"u1","message":{"role":"user","content":"Go."}}`,
		`{"type":"assistant","uuid":"u2","parentUuid":"u1","message":{"id":"m1","role":"assistant","content":[` +
			`{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cat log"}}]}}`,
		fmt.Sprintf(`{"type":"user","uuid":"u3","parentUuid":"u2","message":{"role":"user","content":[`+
			`{"type":"tool_result","tool_use_id":"t1","content":%s}]}}`, text),
	}
	tr, err := transcript.Read(strings.NewReader(strings.Join(lines, "\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// BenchmarkUnfold unfolds a 10 MB result.
func BenchmarkUnfold(b *testing.B) {
	s := openTranscript(b, bigResult(b, 10<<20))
	s.draw(200, 60)
	for b.Loop() {
		s.list.cache = lineCache{}
		s.do(keymap.Fold)
		s.draw(200, 60)
		s.do(keymap.Fold)
	}
}

// BenchmarkFind searches the largest session for a frequent text, a rare one, and an expression.
func BenchmarkFind(b *testing.B) {
	tr, err := largest()
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range []string{"e", "timeout", "/time.?out/"} {
		b.Run(strings.Trim(text, "/"), func(b *testing.B) {
			s := openTranscript(b, tr)
			s.draw(200, 60)
			longest := time.Duration(0) // that the loop of the program was held up
			for b.Loop() {
				s.finder.from = ""
				for cmd := s.findWords(text); cmd != nil; {
					msg, ok := cmd().(answer)
					if !ok {
						break
					}
					begun := time.Now()
					cmd = s.update(msg.msg)
					longest = max(longest, time.Since(begun))
				}
			}
			b.ReportMetric(float64(len(s.finder.matches)), "matches")
			b.ReportMetric(float64(longest.Microseconds())/1000, "ms-held-up")
		})
	}
}
