package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/index"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
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
	var m timeFlag
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
		want       inputFormat
	}{
		{"empty", "", transcriptInput},
		{"garbage", "no\njson\n", transcriptInput},
		{"transcript", `{"type":"user","parentUuid":null}` + "\n", transcriptInput},
		{"stream", `{"type":"system","subtype":"init","session_id":"s"}` + "\n", streamInput},
		{"stream without an end", `{"type":"result","session_id":"s"}`, streamInput},
		{"stream behind a remark", "warning\n" + `{"type":"system","session_id":"s"}` + "\n", streamInput},
		{"long entry", `{"sessionId":"s","text":"` + long + `"}` + "\n", transcriptInput},
		{"long frame", `{"session_id":"s","text":"` + long + `"}` + "\n", streamInput},
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

// The first line of a pipe decides: nothing waits for a second one, and what is complete is shown
// before the pipe ends.
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
	if code != exitUsage || !strings.HasPrefix(errs.String(), "clew show: no turn matches 9999\n") {
		t.Errorf("a turn that is not there: exit code %d: %s", code, errs.String())
	}
	errs.Reset()
	execute(t.Context(), []string{"show", path, "--turn", "7", "--expand"}, Streams{Out: io.Discard, Err: &errs})
	if !strings.Contains(errs.String(), "its subagents are left out") {
		t.Errorf("it does not tell what it leaves out: %q", errs.String())
	}
}

const exportID = "99999999-2222-4333-8444-555555555555"

// exportHome makes a session with a picture and a spilled result, and returns the path of its
// transcript.
func exportHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", dir)
	project := filepath.Join(dir, "projects", "-home-dev")
	spill := filepath.Join(project, exportID, "tool-results", "t2.txt")
	if err := os.MkdirAll(filepath.Dir(spill), 0o700); err != nil {
		t.Fatal(err)
	}
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\npicture"))
	entry := func(n, parent, kind, content string) string {
		return `{"type":"` + kind + `","uuid":"00000000-0000-4000-8000-00000000000` + n + `","parentUuid":` + parent +
			`,"sessionId":"` + exportID + `","timestamp":"2026-11-15T10:00:0` + n + `Z","message":{"role":"` + kind + `","id":"m` + n +
			`","model":"claude-opus-5-5","content":` + content + `}}` + "\n"
	}
	after := func(n string) string { return `"00000000-0000-4000-8000-00000000000` + n + `"` }
	text := entry("1", "null", "user", `"Look"`) +
		entry("2", after("1"), "assistant", `[{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.png"}}]`) +
		entry("3", after("2"), "user", `[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":`+
			`{"type":"base64","media_type":"image/png","data":"`+png+`"}}]}]`) +
		entry("4", after("3"), "assistant", `[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]`) +
		entry("5", after("4"), "user", `[{"type":"tool_result","tool_use_id":"t2","content":"<persisted-output>\nsaved to: `+
			filepath.ToSlash(spill)+`\n</persisted-output>"}]`)
	path := filepath.Join(project, exportID+".jsonl")
	for name, data := range map[string]string{path: text, spill: "the whole output of ann@example.com"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func exportPage(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(t.Context(), append([]string{"export", "-o", "-"}, args...), Streams{Out: &out, Err: &errs}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	return out.String()
}

// Pictures and long results are read from the session's files, by its ID and by the path of its
// transcript, and redacted like the rest.
func TestExportFiles(t *testing.T) {
	path := exportHome(t)
	plain := filepath.Join(t.TempDir(), "other.jsonl")
	copyExport(t, path, plain)
	for _, name := range []string{exportID, path, plain} {
		page := exportPage(t, name)
		if !strings.Contains(page, `src="data:image/png;base64,`) {
			t.Errorf("%s: no picture", name)
		}
		if strings.Contains(page, "the whole output") {
			t.Errorf("%s: the long result is there", name)
		}
	}
	if page := exportPage(t, exportID, "--full"); !strings.Contains(page, "the whole output of ann@example.com") {
		t.Error("the long result is not there")
	}
	if text := exportPage(t, exportID, "--format", "json"); !strings.Contains(text, "the whole output of ann@example.com") {
		t.Error("JSON lacks the long result")
	}
	page := exportPage(t, exportID, "--full", "--redact")
	if !strings.Contains(page, "the whole output of [redacted:email]") || strings.Contains(page, "data:image") {
		t.Error("the long result or the picture is not redacted")
	}
}

func copyExport(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// An interrupted export leaves no files.
func TestExportInterrupted(t *testing.T) {
	exportHome(t)
	dir := t.TempDir()
	target := filepath.Join(dir, "page.html")
	o := &exportOptions{output: target}
	_, err := o.writeFile(target, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		return context.Canceled
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// An interrupted search says so, with the index and without.
func TestSearchInterrupted(t *testing.T) {
	hostileHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"search", "owned"}, {"search", "owned", "--no-index"}, {"search", "--regex", "owned"}} {
		var out, errs bytes.Buffer
		code := execute(ctx, args, Streams{Out: &out, Err: &errs})
		if code != exitInterrupted || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, errs.String())
		}
	}
}

// Matches keep their places in an excerpt with bytes that are not UTF-8.
func TestSearchRecordOfBadBytes(t *testing.T) {
	t.Parallel()
	h := &index.Hit{
		File: new(sessions.File), Text: "\xff\xfe\xfd\ufffd match", Matches: []index.Span{{Start: 7, End: 12}},
	}
	r := newSearchRecord(h)
	if at := r.Matches[0]; r.Excerpt != "???\ufffd match" || r.Excerpt[at.Start:at.End] != "match" {
		t.Errorf("excerpt %q, match %v", r.Excerpt, at)
	}
}

func TestSearchExcerpt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 50)
	for _, c := range []struct {
		text, match string
		columns     int
		want        string
	}{
		{"a match here", "match", 40, "a [match] here"},
		{"a\n\n  match\there", "match", 40, "a [match] here"},
		{long + "match " + long, "match", 24, "…d word word [match] word…"},
		{"match" + strings.Repeat("é", 60), "match", 16, "[match]éééééééééé…"},
		{"\x1b]0;x\a match\u202e", "match", 60, `\x1b]0;x\a [match]\u202e`},
		{"你好 match 你好你好你好你好", "match", 16, "你好 [match] 你好…"},
		{strings.Repeat("m", 90), strings.Repeat("m", 90), 12, "[mmmmmmmmmmm]…"},
	} {
		start := strings.Index(c.text, c.match)
		h := &index.Hit{Text: c.text, Matches: []index.Span{{Start: start, End: start + len(c.match)}}}
		got := strings.NewReplacer(markOn, "[", markOff, "]").Replace(excerptOf(h, c.columns, true))
		if got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
