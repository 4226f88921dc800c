package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/wire"
)

// An answer that is older than the beginning of its transcript is a copy.
func TestCallsOfForks(t *testing.T) {
	t.Parallel()
	const begun = `{"type":"queue-operation","timestamp":"2026-11-15T00:00:05Z"}` + "\n"
	for _, test := range []struct {
		text   string
		forked bool
	}{{answerLine, false}, {begun + answerLine, false}, {strings.Replace(begun, "05Z", "08Z", 1) + answerLine, true}} {
		tr, err := Read(strings.NewReader(test.text), nil)
		if calls := tr.Calls(); err != nil || len(calls) != 1 || calls[0].Forked != test.forked {
			t.Errorf("%s: %+v, %v", test.text, calls, err)
		}
	}
}

// Read returns what was read before the reader failed, with the error.
func TestReadFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	text := asks("u1", "") + replies("a1", "u1") + `{"type":"user","uuid":`
	tr, err := Read(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), nil)
	if !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the reader", err)
	}
	if got := saidIn(tr.Chunks); got != "u1 a1" || len(tr.Invalid) != 1 || !tr.Invalid[0].Torn {
		t.Errorf("chunks %q, invalid %+v", got, tr.Invalid)
	}
}

// A line that is too long costs no more than itself.
func TestReadPassesOverLongLines(t *testing.T) {
	t.Parallel()
	text := asks("u1", "") + chained("progress", "p", "u1", `"data":"`+strings.Repeat("x", 5000)+`"`) + replies("a1", "p")
	tr, err := Read(strings.NewReader(text), &ReadOptions{MaxLineBytes: 500})
	if err != nil {
		t.Fatal(err)
	}
	if got := saidIn(tr.Chunks); got != "u1 a1" || len(tr.Invalid) != 1 || !errors.Is(tr.Invalid[0].Err, ErrLineTooLong) {
		t.Errorf("chunks %q, invalid %+v", got, tr.Invalid)
	}
}

// Bookkeeping and attachments for the model make no chunk, and no turn longer.
func TestBookkeepingShowsNothing(t *testing.T) {
	t.Parallel()
	on := func(second int, members string) string {
		return fmt.Sprintf(`%s,"timestamp":"2026-11-15T10:00:%02dZ"`, members, second)
	}
	environment := `"attachment":{"type":"environment"}`
	speech := func(text string) string {
		return `"message":{"id":"m","content":[{"type":"text","text":"` + text + `"}]}`
	}
	text := `{"type":"summary","summary":"A title","leafUuid":"a2"}` + "\n" +
		`{"type":"file-history-snapshot","messageId":"u1","snapshot":{}}` + "\n" +
		chained("attachment", "n1", "", on(0, environment)) +
		chained("user", "u1", "n1", on(10, `"message":{"content":"Go"}`)) +
		chained("attachment", "n2", "u1", on(11, environment)) +
		chained("assistant", "a1", "n2", on(20, speech("One"))) +
		`{"type":"last-prompt","lastPrompt":"Go","leafUuid":"a1"}` + "\n" +
		chained("progress", "n3", "a1", on(22, `"data":{"type":"bash_progress"}`)) +
		chained("assistant", "a2", "n3", on(25, speech("Two"))) +
		chained("attachment", "n4", "a2", on(50, environment)) +
		chained("system", "n5", "n4", on(55, `"subtype":"turn_duration"`)) +
		`{"type":"last-prompt","lastPrompt":"Go","leafUuid":"a2"}` + "\n"
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range tr.Chunks {
		got = append(got, fmt.Sprintf("%v %q at %s, %d ms", c.Type, c.Text, c.Timestamp.Format(time.TimeOnly), c.DurationMs))
	}
	want := []string{`user "Go" at 10:00:10, 0 ms`, `ai "One\nTwo" at 10:00:20, 5000 ms`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	noise := map[string]int{
		"summary": 1, "file-history-snapshot": 1, "last-prompt": 2, "attachment:environment": 3, "progress": 1,
		"system:turn_duration": 1,
	}
	if diff := cmp.Diff(noise, tr.Noise); diff != "" {
		t.Errorf("noise (-want +got):\n%s", diff)
	}
}

func TestInfo(t *testing.T) {
	t.Parallel()
	text := `{"type":"summary","summary":"Old title","leafUuid":"u1"}
{"type":"user","uuid":"u1","sessionId":"s","cwd":"/a","gitBranch":"main","version":"2.1.1","permissionMode":"plan",` +
		`"timestamp":"2026-11-15T10:00:00Z","teamName":"red","agentName":"scout","message":{"content":"Go"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","cwd":"/b","gitBranch":"fix","version":"2.1.2",` +
		`"timestamp":"2026-11-15T10:00:05Z","message":{"model":"claude-x","content":"One"}}
{"type":"assistant","uuid":"a2","parentUuid":"a1","message":{"model":"<synthetic>","content":"No response requested."}}
{"type":"ai-title","aiTitle":"First guess"}
{"type":"ai-title","aiTitle":"Second guess"}
{"type":"custom-title","customTitle":"Mine"}
{"type":"last-prompt","lastPrompt":"Go","leafUuid":"a1"}
{"type":"last-prompt","leafUuid":"a2"}
{"type":"tag","tag":"draft"}
{"type":"tag","tag":""}
{"type":"queue-operation","operation":"enqueue","content":` +
		`"<task-notification><task-id>x1</task-id><tool-use-id>t1</tool-use-id></task-notification>"}
`
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2026, 11, 15, 10, 0, 0, 0, time.UTC)
	want := Info{
		SessionID: "s", Title: "Mine", AITitle: "Second guess", Recap: "Old title", LastPrompt: "Go", CWD: "/a",
		GitBranch: "fix", Version: "2.1.2", Model: "claude-x", PermissionMode: "plan", TeamName: "red", AgentName: "scout",
		Created: day, Modified: day.Add(5 * time.Second),
	}
	if diff := cmp.Diff(want, tr.Info); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if id, ok := TeamAgent(tr); id != "scout@red" || !ok {
		t.Errorf("teammate %q, %v", id, ok)
	}
	if diff := cmp.Diff(map[string]string{"x1": "t1"}, tr.TaskCalls); diff != "" {
		t.Errorf("calls of tasks (-want +got):\n%s", diff)
	}
}

// A branch was paid for, but is not in the context.
func TestCallsAndContextOfATranscript(t *testing.T) {
	t.Parallel()
	answer := func(uuid, parent string, took, gave int) string {
		return chained("assistant", uuid, parent, fmt.Sprintf(
			`"message":{"id":"m-%s","model":"claude-opus-4-6","content":[{"type":"text","text":%q}],`+
				`"usage":{"input_tokens":%d,"output_tokens":%d}}`,
			uuid[:2], uuid, took, gave))
	}
	text := asks("u1", "") + answer("a1", "u1", 100, 1) + answer("a1-more", "a1", 100, 5) +
		asks("u2", "a1-more") + answer("a2", "u2", 900, 6) + aside(answer("s1", "", 7, 2)) + asks("u3", "a1-more") + answer("a3", "u3", 300, 7)
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]int{}
	for _, c := range tr.Calls() {
		calls[c.MessageID] += c.Usage.TotalTokens()
	}
	if diff := cmp.Diff(map[string]int{"m-a1": 105, "m-a2": 906, "m-s1": 9, "m-a3": 307}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	var turns []int
	for _, turn := range tr.Context().Turns {
		turns = append(turns, turn.Tokens)
	}
	if diff := cmp.Diff([]int{100, 300}, turns); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

// recordedFiles returns the paths of all recorded transcripts, including subagents.
func recordedFiles(t testing.TB) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*/transcript.jsonl", "*/subagents/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("testdata", "recorded", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no recordings for %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// recordedLines returns the lines of all recorded transcripts.
func recordedLines(t testing.TB) [][]byte {
	t.Helper()
	var lines [][]byte
	for _, file := range recordedFiles(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, bytes.Split(bytes.TrimSpace(data), []byte("\n"))...)
	}
	return lines
}

// The chunks of the recorded transcripts. CLEW_UPDATE=1 writes them again: read them.
func TestRecordedChunks(t *testing.T) {
	t.Parallel()
	for _, path := range recordedTranscripts(t) {
		name, err := filepath.Rel(filepath.Join("testdata", "recorded"), path)
		if err != nil {
			t.Fatal(err)
		}
		name = strings.ReplaceAll(filepath.ToSlash(filepath.Dir(name)), "/", "_")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := listing(readFile(t, path, nil))
			golden := filepath.Join("testdata", "chunks", name+".txt")
			if os.Getenv("CLEW_UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// listing lists what is in a transcript.
func listing(tr *Transcript) string {
	var to strings.Builder
	fmt.Fprintf(&to, "session %s, %s, in %s on %s, version %s\n", tr.SessionID, tr.Model, tr.CWD, tr.GitBranch, tr.Version)
	for i := range tr.Chunks {
		describeChunk(&to, &tr.Chunks[i])
	}
	for _, branch := range tr.Branches {
		fmt.Fprintf(&to, "branch from line %d\n", branch.FromLine)
		for i := range branch.Chunks {
			describeChunk(&to, &branch.Chunks[i])
		}
	}
	fmt.Fprintf(&to, "ongoing %v, %d invalid, %d unknown\n", Ongoing(tr.Chunks), len(tr.Invalid), len(tr.Drift.Findings()))
	for _, name := range slices.Sorted(maps.Keys(tr.Noise)) {
		fmt.Fprintf(&to, "noise %d %s\n", tr.Noise[name], name)
	}
	return to.String()
}

func describeChunk(to *strings.Builder, c *Chunk) {
	fmt.Fprintf(to, "%s %s lines %v", c.Type, c.Timestamp.Format("15:04:05.000"), c.Lines)
	if c.Type == AIChunk {
		fmt.Fprintf(to, " %s stop %q %d ms, context %d", c.Model, c.StopReason, c.DurationMs, c.Usage.ContextTokens())
	}
	if c.Compaction != nil {
		fmt.Fprintf(to, " %+v", *c.Compaction)
	}
	fmt.Fprintf(to, " error %v interrupted %v\n  %q\n", c.IsError, c.Interrupted, c.Text)
	for _, item := range c.Items {
		fmt.Fprintf(to, "  - %s %q", item.Type, item.Text)
		if item.ToolID != "" {
			fmt.Fprintf(to, " %s(%s) = %q error %v %d ms %s", item.ToolName, item.ToolSummary, item.ToolResult, item.ToolError,
				item.DurationMs, item.AgentID)
		}
		to.WriteString("\n")
	}
}

// The stages one by one give the same as Read, if there are no branches and interruptions.
func TestSteps(t *testing.T) {
	t.Parallel()
	for _, path := range recordedTranscripts(t) {
		if strings.HasPrefix(filepath.Base(path), "agent-") || strings.Contains(path, "interrupt") {
			continue
		}
		want := readFile(t, path, &ReadOptions{MaxResultBytes: -1})
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var msgs []ClassifiedMsg
		for line := range bytes.Lines(text) {
			if e, ok := ParseEntry(line); ok {
				if msg, ok := Classify(e); ok {
					msgs = append(msgs, msg)
				}
			}
		}
		if diff := cmp.Diff(want.Chunks, BuildChunks(msgs), withoutPlaces); diff != "" || len(msgs) < 2 {
			t.Errorf("%s, %d messages (-at once +in steps):\n%s", path, len(msgs), diff)
		}
	}
}

var withoutPlaces = cmp.Options{
	cmpopts.IgnoreFields(Chunk{}, "At", "Lines"), cmpopts.IgnoreFields(DisplayItem{}, "At", "ResultAt"),
}

// Each item and each chunk knows the entry that it comes from.
func TestRecordedPositions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/recorded/*/transcript.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded transcripts", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Read(bytes.NewReader(data), nil)
		if err != nil {
			t.Fatal(err)
		}
		lineAt := func(at wire.Position) string { return string(data[at.Offset : at.Offset+at.Bytes]) }
		for place, item := range tr.All() {
			if !slices.Contains(place.Chunk.Lines, item.At.Line) {
				t.Errorf("%s: line %d of an item is not in its chunk: %d", file, item.At.Line, place.Chunk.Lines)
			}
			want := item.ToolID
			if want == "" {
				want = strings.TrimRight(Truncate(item.Text, 10), "…")
			}
			if line := lineAt(item.At); !strings.Contains(line, want) {
				t.Errorf("%s: line %d has no %q: %s", file, item.At.Line, want, line)
			}
		}
		for _, c := range tr.Chunks {
			line := lineAt(c.At)
			if c.Type == UserChunk && !strings.Contains(line, `"type":"user"`) {
				t.Errorf("%s: line %d is no prompt: %s", file, c.At.Line, line)
			}
		}
	}
}
