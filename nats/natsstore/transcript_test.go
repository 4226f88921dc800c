package natsstore

import (
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
)

func init() {
	answerTimeout = 5 * time.Minute // no test waits for its end
	headsWait = time.Minute
}

// The memory of a store is bounded. It reads again what it has forgotten.
func TestTranscriptsAreForgotten(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), &Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys := []wire.SessionKey{{Project: "p", SessionID: "a"}, {Project: "p", SessionID: "b"}}
	entries := []wire.JSON{`{"uuid":"u"}`, `{"uuid":"v"}`}
	for _, key := range keys {
		if err := s.Append(t.Context(), key, entries[:1]); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.known.total; got != 4 {
		t.Errorf("got a total of %d", got)
	}
	s.known.total += maxKnown
	for _, key := range keys {
		if err := s.Append(t.Context(), key, entries); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range s.Load(t.Context(), key) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != 2 {
			t.Errorf("%s: got %d entries, want 2", key, n)
		}
		if key == keys[0] && len(s.known.bySubject) != 1 {
			t.Errorf("%d transcripts are known", len(s.known.bySubject))
		}
	}
	if got := s.known.total; got != 6 {
		t.Errorf("got a total of %d", got)
	}
}
