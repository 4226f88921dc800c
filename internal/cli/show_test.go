package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/transcript"
	"github.com/google/go-cmp/cmp"
)

func TestTurnRange(t *testing.T) {
	t.Parallel()
	kinds := []transcript.ChunkType{
		transcript.SystemChunk, transcript.UserChunk, transcript.AIChunk, transcript.UserChunk, transcript.UserChunk,
	}
	var chunks []transcript.Chunk
	for i, kind := range kinds {
		chunks = append(chunks, transcript.Chunk{Type: kind, Text: fmt.Sprint(i)})
	}
	for text, want := range map[string]string{
		"1": "12 from 1", "2..3": "34 from 2", "2..": "34 from 2", "..1": "012 from 0", "9": " from 0",
	} {
		var r turnRange
		if err := r.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		part, first := r.of(chunks)
		got := ""
		for _, c := range part {
			got += c.Text
		}
		if got += fmt.Sprintf(" from %d", first); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "..", "0", "-1", "3..2", "x", "1..x", "1..2..3", "99999999999999999999"} {
		if new(turnRange).Set(text) == nil {
			t.Errorf("%q is a range", text)
		}
	}
}

func TestMoment(t *testing.T) {
	t.Parallel()
	var m moment
	if err := m.Set("2026-11-01T15:04:05Z"); err != nil || !m.Equal(time.Date(2026, 11, 1, 15, 4, 5, 0, time.UTC)) {
		t.Errorf("%v, %v", m, err)
	}
	before := time.Now().Add(-48 * time.Hour)
	if err := m.Set("2d"); err != nil || m.Before(before) || m.After(time.Now().Add(-47*time.Hour)) {
		t.Errorf("2d is %v, %v", m, err)
	}
	for _, text := range []string{"", "d", "-3d", "-1h", "999999999d", "2026-13-01", "monday"} {
		if m.Set(text) == nil {
			t.Errorf("%q is a time", text)
		}
	}
}

func TestSniff(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 2*sniffed)
	for _, tt := range []struct {
		name, text string
		want       form
	}{
		{"empty", "", transcriptForm},
		{"garbage", "no\njson\n", transcriptForm},
		{"transcript", `{"type":"user","parentUuid":null}` + "\n", transcriptForm},
		{"stream", `{"type":"system","subtype":"init","session_id":"s"}` + "\n", streamForm},
		{"stream without an end", `{"type":"result","session_id":"s"}`, streamForm},
		{"stream behind a remark", "warning\n" + `{"type":"system","session_id":"s"}` + "\n", streamForm},
		{"long entry", `{"sessionId":"s","text":"` + long + `"}` + "\n", transcriptForm},
		{"long frame", `{"session_id":"s","text":"` + long + `"}` + "\n", streamForm},
	} {
		r := bufio.NewReaderSize(strings.NewReader(tt.text), sniffed)
		if got := sniff(r); got != tt.want {
			t.Errorf("%s: form %d, want %d", tt.name, got, tt.want)
		}
		if rest, err := io.ReadAll(r); err != nil || string(rest) != tt.text {
			t.Errorf("%s: %d bytes are left, %v", tt.name, len(rest), err)
		}
	}
}

// The first line of a pipe decides: nothing waits for a second one, and what is
// complete is shown before the pipe ends.
func TestShowPipeAsItComes(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	shown := make(chan struct{})
	out := &watcher{text: "Hello", seen: func() { close(shown) }}
	done := make(chan int)
	go func() { done <- execute(t.Context(), []string{"show", "-"}, Streams{In: r, Out: out, Err: io.Discard}) }()
	_, err := io.WriteString(w, `{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"Hello"}}`+"\n")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-shown:
	case code := <-done:
		t.Fatalf("it ended with %d", code)
	case <-time.After(time.Minute):
		t.Fatal("nothing is shown while the pipe is open")
	}
	_ = w.Close()
	if code := <-done; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

// A large transcript shows the same as if it had been read whole.
func TestShowLargeFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "large.jsonl")
	var text bytes.Buffer
	for i := 1; text.Len() < largeFile; i++ {
		fmt.Fprintf(&text, `{"type":"user","uuid":"u%d","parentUuid":"u%d","sessionId":"s","message":{"role":"user","content":"Prompt %d%s"}}`+"\n",
			i, i-1, i, strings.Repeat(" x", 50_000))
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	show := func(args ...string) string {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), append([]string{"show", path, "--turn", "7..8"}, args...), Streams{Out: &out, Err: &errs}); code != exitDone {
			t.Errorf("exit code %d: %s", code, errs.String())
		}
		return out.String()
	}
	streamed := show()
	if !strings.HasPrefix(streamed, "#7 you\n  Prompt 7 x") || strings.Contains(streamed, "#9") {
		t.Errorf("it begins with %.80q", streamed)
	}
	if diff := cmp.Diff(show("--branches"), streamed); diff != "" {
		t.Errorf("(-whole +streamed):\n%.2000s", diff)
	}
	var errs bytes.Buffer
	code := execute(t.Context(), []string{"show", path, "--turn", "9999"}, Streams{Out: io.Discard, Err: &errs})
	if code != exitUsage || !strings.HasPrefix(errs.String(), "clew show: there is no turn 9999\n") {
		t.Errorf("a turn that is not there: exit code %d: %s", code, errs.String())
	}
	errs.Reset()
	execute(t.Context(), []string{"show", path, "--turn", "7", "--expand"}, Streams{Out: io.Discard, Err: &errs})
	if !strings.Contains(errs.String(), "what subagents did is left out") {
		t.Errorf("it does not tell what it leaves out: %q", errs.String())
	}
}
