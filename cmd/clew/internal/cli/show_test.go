package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
	"github.com/clewdev/clew/transcript"
)

func TestTurnRange(t *testing.T) {
	t.Parallel()
	kinds := []transcript.ChunkType{
		transcript.SystemChunk, transcript.UserChunk, transcript.AIChunk, transcript.UserChunk, transcript.UserChunk,
	}
	var chunks []transcript.Chunk
	for i, kind := range kinds {
		chunks = append(chunks, transcript.Chunk{Turn: []int{0, 1, 1, 2, 3}[i], Type: kind, Text: fmt.Sprint(i)})
	}
	for text, want := range map[string]string{
		"1": "12 from 1", "2..3": "34 from 2", "2..": "34 from 2", "..1": "012 from 0", "9": " from 0",
	} {
		var r turnRange
		if err := r.Set(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		part, first, got := r.of(chunks), 0, ""
		for i, c := range part {
			got += c.Text
			if i == 0 {
				first = c.Turn
			}
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

// The first line from a pipe decides: nothing waits for a second one, and complete parts are shown
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
	case <-time.After(polltest.Limit):
		t.Fatal("nothing is shown while the pipe is open")
	}
	_ = w.Close()
	if code := <-done; code != clikit.ExitDone {
		t.Errorf("exit code %d", code)
	}
}

// largeHome makes a session with a rewind, a subagent, a lost line and a queued prompt, and with a
// line of padding that shows nothing. It returns the ID of the session and its path.
func largeHome(t *testing.T, padding int) (id, path string) {
	t.Helper()
	config := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", config)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	id = "7a0f0000-0000-4000-8000-000000000001"
	project := filepath.Join(config, "projects", "-work")
	const head = `"sessionId":"7a0f0000-0000-4000-8000-000000000001","version":"2.1.88","cwd":"/repo","timestamp":"2026-11-16T08:00:0`
	lines := []string{
		`{"type":"user","uuid":"u1","parentUuid":null,` + head + `0Z","message":{"role":"user","content":"The first prompt"}}`,
		`{"type":"assistant","uuid":"a1","parentUuid":"u1",` + head + `1Z","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"Fine."}]}}`,
		`{"type":"user","uuid":"u2","parentUuid":"a1",` + head + `2Z","message":{"role":"user","content":"Left behind"}}`,
		`{"type":"assistant","uuid":"a2","parentUuid":"u2",` + head + `3Z","message":{"id":"m2","model":"claude-x","content":[{"type":"text","text":"Gone."}]}}`,
		`this is not an entry`,
		`{"type":"user","uuid":"u3","parentUuid":"a1",` + head + `4Z","message":{"role":"user","content":"Search the <system-reminder>house</system-reminder> instead"}}`,
		`{"type":"assistant","uuid":"a3","parentUuid":"u3",` + head + `5Z","message":{"id":"m3","model":"claude-x","content":[{"type":"tool_use","id":"t1","name":"Task",` +
			`"input":{"description":"Look around","prompt":"Look","subagent_type":"Explore"}}]}}`,
		`{"type":"queue-operation","operation":"enqueue","content":"In the cellar too",` + head + `5Z"}`,
		`{"type":"user","uuid":"r3","parentUuid":"a3",` + head + `6Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Empty"}]},` +
			`"toolUseResult":{"agentId":"abc","status":"completed"}}`,
		`{"type":"queue-operation","operation":"remove",` + head + `6Z"}`,
		`{"type":"assistant","uuid":"a4","parentUuid":"r3",` + head + `7Z","message":{"id":"m4","model":"claude-x","content":[{"type":"text","text":"Nobody is home."}]}}`,
		`{"type":"user","uuid":"u4","parentUuid":"a4",` + head + `8Z","message":{"role":"user","content":"The last prompt"}}`,
		`{"type":"progress","uuid":"p1","parentUuid":"u4","data":{"type":"bash_progress","output":"` + strings.Repeat("x", padding) + `"}}`,
	}
	agent := `{"type":"user","uuid":"s1","isSidechain":true,"agentId":"abc",` + head + `5Z","message":{"role":"user","content":"Look"}}` + "\n" +
		`{"type":"assistant","uuid":"s2","parentUuid":"s1","isSidechain":true,"agentId":"abc",` + head + `6Z","message":{"id":"m9","model":"claude-x","content":[{"type":"text","text":"Empty"}]}}`
	path = filepath.Join(project, id+".jsonl")
	for name, text := range map[string]string{
		path: strings.Join(lines, "\n") + "\n", filepath.Join(project, id, "subagents", "agent-abc.jsonl"): agent + "\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return id, path
}

// allFormats returns what show prints of a session in each format, and on stderr.
func allFormats(t *testing.T, id string) map[string]string {
	t.Helper()
	shown := map[string]string{}
	for _, flags := range []string{
		"", "--expand", "--turn=2", "--turn=4", "--branches", "--agent=abc", "--format=markdown", "--format=html", "--format=json", "--format=ndjson",
		"--format=messages", "--format=json --turn=3..",
	} {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"show", id}, strings.Fields(flags)...), Streams{Out: &out, Err: &errs})
		shown[flags] = fmt.Sprintf("%s\n%s\nexit code %d", out.String(), errs.String(), code)
	}
	return shown
}

// A session is the same conversation at every size, in every format.
func TestShowEverySize(t *testing.T) {
	id, _ := largeHome(t, 0)
	want := allFormats(t, id)
	if text := want[""]; !strings.Contains(text, "#3 · ") || strings.Contains(text, "Left behind") || !strings.Contains(text, "line 5") {
		t.Errorf("a small session is shown as\n%s", text)
	}
	id, _ = largeHome(t, 17<<20)
	if diff := cmp.Diff(want, allFormats(t, id)); diff != "" {
		t.Errorf("a large session (-small +large):\n%.4000s", diff)
	}
}

// Search results and show number the turns alike, even after a rewind.
func TestSearchTurnsAreThoseOfShow(t *testing.T) {
	for _, padding := range []int{0, soak.Size(1<<20, 17<<20)} {
		id, _ := largeHome(t, padding)
		for words, want := range map[string]int{
			"first prompt": 1, "Fine": 1, "Left behind": 0, "Gone": 0, "house": 2, "cellar": 3, "Nobody": 3, "last prompt": 4,
		} {
			for _, flag := range []string{"--no-index", "--no-index=false", "--regex"} {
				var out, errs, shown bytes.Buffer
				code := execute(t.Context(), []string{"search", flag, "--json", words}, Streams{Out: &out, Err: &errs})
				var hit searchRecord
				if err := json.Unmarshal(out.Bytes(), &hit); err != nil || code != clikit.ExitDone || hit.Turn != want {
					t.Errorf("%s %q: exit code %d, %v, turn %d, want %d\n%s%s", flag, words, code, err, hit.Turn, want, out.String(), errs.String())
				}
				if want == 0 {
					continue
				}
				execute(t.Context(), []string{"show", id, "--turn", fmt.Sprint(hit.Turn)}, Streams{Out: &shown, Err: &errs})
				if !strings.Contains(shown.String(), words) {
					t.Errorf("turn %d does not have %q:\n%s", hit.Turn, words, shown.String())
				}
			}
		}
	}
}

// A transcript that does not fit into memory is shown while it is read, with a note.
func TestShowWhatDoesNotFit(t *testing.T) {
	id, path := largeHome(t, 0)
	show := func(word string, turns string, most int64) (text, errs string) {
		var out, warned bytes.Buffer
		o := &showOptions{streams: Streams{Out: &out, Err: &warned}, format: "text", most: most}
		if turns != "" {
			if err := o.turns.Set(turns); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.run(t.Context(), []string{word}); err != nil {
			t.Error(err)
		}
		return out.String(), warned.String()
	}
	for _, word := range []string{id, path} {
		text, errs := show(word, "", 10)
		notice, rest, _ := strings.Cut(text, "\n\n")
		if !strings.Contains(notice, "too large to read into memory") || !strings.Contains(errs, "too large to read into memory") {
			t.Errorf("%s: the output begins with %q, stderr with %q", word, notice, errs)
		}
		if !strings.Contains(errs, "skipped lines that are not entries: 1, the first is line 5") {
			t.Errorf("%s: stderr does not name the lost line: %q", word, errs)
		}
		for _, words := range []string{"#1 · ", "Left behind", "<system-reminder>house</system-reminder>", "In the cellar too", "#5 · "} {
			if !strings.Contains(rest, words) {
				t.Errorf("%s: %q is missing in\n%s", word, words, rest)
			}
		}
	}
	whole, _ := show(path, "1", input.MaxWhole)
	streamed, _ := show(path, "1", 10)
	if _, streamed, _ = strings.Cut(streamed, "\n\n"); streamed != whole {
		t.Errorf("(-whole +streamed):\n%s", cmp.Diff(whole, streamed))
	}
	o := &showOptions{streams: Streams{Out: io.Discard, Err: io.Discard}, format: "json", most: 10}
	if err := o.run(t.Context(), []string{id}); err == nil || !strings.Contains(err.Error(), "too large to read into memory") {
		t.Errorf("as JSON: %v", err)
	}
	o = &showOptions{streams: Streams{Out: io.Discard, Err: io.Discard}, format: "text", most: 10}
	if err := errors.Join(o.turns.Set("99"), o.run(t.Context(), []string{id})); err == nil || !strings.Contains(err.Error(), "no turn matches 99") {
		t.Errorf("a turn that is not there: %v", err)
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
	if code := execute(t.Context(), append([]string{"export", "-o", "-"}, args...), Streams{Out: &out, Err: &errs}); code != clikit.ExitDone {
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

// An interrupted search reports the interrupt, with the index and without.
func TestSearchInterrupted(t *testing.T) {
	hostileHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"search", "owned"}, {"search", "owned", "--no-index"}, {"search", "--regex", "owned"}} {
		var out, errs bytes.Buffer
		code := execute(ctx, args, Streams{Out: &out, Err: &errs})
		if code != clikit.ExitInterrupted || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%v: exit code %d, stderr %q", args, code, errs.String())
		}
	}
}

// Matches keep their places in an excerpt with bytes that are not UTF-8.
func TestSearchRecordOfBadBytes(t *testing.T) {
	t.Parallel()
	h := &search.Hit{
		File: new(sessions.File), Text: "\xff\xfe\xfd\ufffd match", Matches: []search.Span{{Start: 7, End: 12}},
	}
	r := newSearchRecord(h, "")
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
		h := &search.Hit{Text: c.text, Matches: []search.Span{{Start: start, End: start + len(c.match)}}}
		got := strings.NewReplacer("\x1b[1;31m", "[", "\x1b[0m", "]").Replace(excerptOf(h, c.columns, true))
		if got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
