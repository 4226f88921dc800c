package transcript

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/wire"
)

// recordedDialogue returns the messages of a recording: what the agent wrote, and the prompts that
// it was sent.
func recordedDialogue(t *testing.T, dir string) []wire.Message {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "dialogue.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var messages []wire.Message
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		frame, received := bytes.CutPrefix(line, []byte("< "))
		frame, sent := bytes.CutPrefix(frame, []byte("> "))
		if received || sent {
			messages = append(messages, wire.Decode(frame))
		}
	}
	return messages
}

// recordedDialogues returns the directories of all recordings.
func recordedDialogues(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join("testdata", "recorded", "*"))
	if err != nil || len(dirs) != 14 {
		t.Fatalf("%d recordings, %v", len(dirs), err)
	}
	return dirs
}

// diskEntries returns the entries of a transcript.
func diskEntries(t *testing.T, file string) []Entry {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	s := NewLineSplitter(0)
	s.Feed(data, func(line []byte, at wire.Position) {
		e, err := DecodeEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		e.Position = at
		entries = append(entries, e)
	}, func(line InvalidLine) { t.Fatal(line) })
	return entries
}

// liveEntries returns the entries of a dialogue by conversation.
func liveEntries(messages []wire.Message) map[string][]Entry {
	var s liveState
	threads := map[string][]Entry{}
	at := time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
	for _, msg := range messages {
		for _, e := range s.entries(msg, at) {
			threads[e.thread] = append(threads[e.thread], e.Entry)
		}
	}
	return threads
}

// An utterance is the content of an entry, without the members that only the transcript on disk
// has, or that it has only later: parents, times, counts of tokens, and why an answer ended.
type utterance struct {
	Type, Subtype, UUID, AgentID, MessageID, Model, Content, Result string
	Sidechain, Meta, Summary, Error                                 bool
}

// utterances returns the texts of entries, except texts that no person sees.
func utterances(entries []Entry) []utterance {
	var all []utterance
	for _, e := range entries {
		s := utterance{
			Type: e.Type, Subtype: e.Subtype, UUID: e.UUID, AgentID: e.AgentID, Result: string(e.ToolUseResult),
			Sidechain: e.IsSidechain, Meta: e.IsMeta, Summary: e.IsCompactSummary, Error: e.IsAPIErrorMessage,
		}
		switch {
		case e.Subtype == "compact_boundary":
			var m struct{ Trigger, PreTokens, PostTokens, DurationMs json.RawMessage }
			if json.Unmarshal(e.CompactMetadata, &m) == nil {
				s.Content = strings.Join([]string{string(m.Trigger), string(m.PreTokens), string(m.PostTokens), string(m.DurationMs)}, " ")
			}
		case e.Type == "user" || e.Type == "assistant":
			s.MessageID, s.Model, s.Content = e.Message.ID, e.Message.Model, sortedJSON(e.Message.Content)
			if strings.HasPrefix(s.Content, `"<local-command-caveat>`) || strings.HasPrefix(s.Content, `"<system-reminder>`) {
				continue
			}
			if e.Type == "user" && s.Result == "" && !e.IsCompactSummary {
				s.Content = shownPrompt(s.Content)
				s.UUID = "" // a host may leave it to the agent
			}
		default:
			continue
		}
		all = append(all, s)
	}
	return all
}

func sortedJSON(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return string(raw)
	}
	return strings.TrimSpace(text.String())
}

// shownPrompt returns what a person reads of a prompt.
func shownPrompt(content string) string {
	if _, rest, ok := strings.Cut(content, "<command-name>"); ok {
		name, _, _ := strings.Cut(rest, "<")
		return `"` + name + `"`
	}
	if _, rest, ok := strings.Cut(content, "<summary>"); ok && strings.HasPrefix(content, `"<task-notification>`) {
		summary, _, _ := strings.Cut(rest, "<")
		return summary
	}
	return content
}

// onlyLive lists messages that the agent sends to its host and does not write down, at least not
// before its next turn.
var onlyLive = map[string]string{
	"control_requests": `"<local-command-stdout>Set model to`,
}

func TestLiveEntriesAreThoseOnDisk(t *testing.T) {
	t.Parallel()
	for _, dir := range recordedDialogues(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			threads := liveEntries(recordedDialogue(t, dir))
			live := utterances(threads[""])
			if extra := onlyLive[filepath.Base(dir)]; extra != "" {
				last := len(live) - 1
				if !strings.HasPrefix(live[last].Content, extra) {
					t.Errorf("the last entry is %+v", live[last])
				}
				live = live[:last]
			}
			disk := utterances(diskEntries(t, filepath.Join(dir, "transcript.jsonl")))
			if diff := cmp.Diff(disk, live); diff != "" {
				t.Errorf("(-disk +live):\n%s", diff)
			}
			agents, _ := filepath.Glob(filepath.Join(dir, "subagents", "*.jsonl"))
			if len(threads) != 1+len(agents) {
				t.Fatalf("%d conversations, want %d", len(threads), 1+len(agents))
			}
			for call, entries := range threads {
				if call == "" {
					continue
				}
				if diff := cmp.Diff(utterances(diskEntries(t, agents[0])), utterances(entries)); diff != "" {
					t.Errorf("subagent of %s (-disk +live):\n%s", call, diff)
				}
			}
		})
	}
}

// Live entries are one chain, like those on disk.
func TestLiveEntriesAreLinked(t *testing.T) {
	t.Parallel()
	for _, dir := range recordedDialogues(t) {
		for call, entries := range liveEntries(recordedDialogue(t, dir)) {
			last := ""
			for i, e := range entries {
				if e.Type == "custom-title" {
					continue
				}
				parent := e.ParentUUID
				if e.Subtype == "compact_boundary" {
					parent = e.LogicalParentUUID
				}
				if !e.Chained() || parent != last || e.Root != (e.ParentUUID == "") || len(e.Unknown) > 0 || e.Timestamp.IsZero() {
					t.Errorf("%s, conversation %q, entry %d: parent %q, want %q: %s", dir, call, i, parent, last, e.Raw)
				}
				last = e.UUID
			}
		}
	}
}

func TestLiveMessages(t *testing.T) {
	t.Parallel()
	const at = `"timestamp":"2026-11-15T00:00:00.000Z"`
	for _, test := range []struct {
		name, frame, want string
	}{
		{
			"local command", `{"type":"system","subtype":"local_command_output","content":"Total cost: $1","uuid":"u","session_id":"s"}`,
			`{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"local_command",` +
				`"content":"<local-command-stdout>Total cost: $1</local-command-stdout>","uuid":"u",` + at + `,"sessionId":"s"}`,
		},
		{
			"retry", `{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":514.7,"error_status":529,"error":"overloaded","uuid":"u","session_id":"s"}`,
			`{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"api_error","level":"error",` +
				`"error":{"status":529,"error":{"error":{"type":"overloaded","message":"overloaded"}}},"retryInMs":514.7,"retryAttempt":1,"maxRetries":10,` +
				`"uuid":"u",` + at + `,"sessionId":"s"}`,
		},
		{
			"refusal", `{"type":"system","subtype":"model_refusal_fallback","trigger":"refusal","original_model":"a","fallback_model":"b","content":"c",` +
				`"retracted_message_uuids":["x"],"refused_user_message_uuid":"y","uuid":"u","session_id":"s"}`,
			`{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"model_refusal_fallback","supersedesUuids":["x"],"content":"c",` +
				`"originalModel":"a","fallbackModel":"b","refusedUserMessageUuid":"y","uuid":"u",` + at + `,"sessionId":"s"}`,
		},
		{
			"information", `{"type":"system","subtype":"informational","content":"c","level":"warning","tool_use_id":"t","uuid":"u","session_id":"s"}`,
			`{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"informational","content":"c","level":"warning","toolUseID":"t","uuid":"u",` + at + `,"sessionId":"s"}`,
		},
		{
			"text of a skill", `{"type":"user","message":{"role":"user","content":"body <b>"},"isSynthetic":true,"uuid":"u","session_id":"s","timestamp":"2026-11-15T00:00:00.000Z"}`,
			`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"body <b>"},"isMeta":true,"uuid":"u",` + at + `,"sessionId":"s"}`,
		},
		{
			"prompt without an id", `{"type":"user","message":{"role":"user","content":"hi"},"session_id":"default"}`,
			`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"hi"},"uuid":"live-1",` + at + `}`,
		},
		{
			"task of a shell", `{"type":"system","subtype":"task_notification","task_id":"b","status":"failed","output_file":"/o","summary":"sum","uuid":"u","session_id":"s"}`,
			`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"<task-notification>\n<task-id>b</task-id>\n` +
				`<output-file>/o</output-file>\n<status>failed</status>\n<summary>sum</summary>\n</task-notification>"},"uuid":"u",` + at + `,"sessionId":"s"}`,
		},
		{"title", `{"type":"system","subtype":"session_title_changed","title":"t","uuid":"u","session_id":"s"}`, `{"parentUuid":null,"isSidechain":false,"type":"custom-title","customTitle":"t",` + at + `,"sessionId":"s"}`},
		{"task that is not shown", `{"type":"system","subtype":"task_notification","task_id":"b","status":"failed","output_file":"/o","ambient":true}`, ""},
		{"status", `{"type":"system","subtype":"status","status":"requesting","uuid":"u","session_id":"s"}`, ""},
		{"result", `{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"session_id":"s","uuid":"u"}`, ""},
		{"text", `not JSON`, ""},
		{"unknown", `{"type":"news"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s liveState
			var got string
			for _, e := range s.entries(wire.Decode([]byte(test.frame)), time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)) {
				got += string(e.Raw)
				if e.Unknown != nil {
					t.Errorf("unknown: %v", e.Unknown)
				}
			}
			if diff := cmp.Diff(sortedJSON(json.RawMessage(test.want)), sortedJSON(json.RawMessage(got))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// liveTexts feeds frames and returns the contents of the entries.
func liveTexts(s *liveState, frames ...string) []string {
	var texts []string
	for _, frame := range frames {
		for _, e := range s.entries(wire.Decode([]byte(frame)), time.Time{}) {
			text := e.Subtype
			if e.Message != nil {
				text = string(e.Message.Content)
			}
			texts = append(texts, e.thread+text)
		}
	}
	return texts
}

func TestRepeatedPromptsComeOnce(t *testing.T) {
	t.Parallel()
	var s liveState
	got := liveTexts(&s,
		`{"type":"user","message":{"role":"user","content":"one"},"session_id":"default"}`,
		`{"type":"user","message":{"role":"user","content":"one"},"session_id":"default"}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"one"}]},"isReplay":true,"uuid":"a","session_id":"s"}`,
		`{"type":"user","message":{"role":"user","content":"one"},"isReplay":true,"uuid":"b","session_id":"s"}`,
		`{"type":"user","message":{"role":"user","content":"two"},"uuid":"c","session_id":"s"}`,
		`{"type":"user","message":{"role":"user","content":"two, expanded"},"isReplay":true,"uuid":"c","session_id":"s"}`,
		`{"type":"user","message":{"role":"user","content":"of another host"},"isReplay":true,"uuid":"d","session_id":"s"}`,
	)
	if diff := cmp.Diff([]string{`"one"`, `"one"`, `"two"`, `"of another host"`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPromptOfASubagentComesOnce(t *testing.T) {
	t.Parallel()
	var s liveState
	got := liveTexts(&s,
		`{"type":"system","subtype":"task_started","task_id":"a","tool_use_id":"call:","description":"d","task_type":"local_agent","prompt":"count"}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"count"}]},"parent_tool_use_id":"call:","uuid":"u"}`,
		`{"type":"user","message":{"role":"user","content":"more"},"parent_tool_use_id":"call:","uuid":"v"}`,
		`{"type":"system","subtype":"task_started","task_id":"a","tool_use_id":"call:","description":"d","task_type":"local_agent","prompt":"again"}`,
		`{"type":"system","subtype":"task_started","task_id":"b","tool_use_id":"call2:","description":"d","task_type":"local_bash","prompt":"ls"}`,
	)
	if diff := cmp.Diff([]string{`call:"count"`, `call:"more"`}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The end of a task that a call waits for is in the call's result. A notice comes of one in
// the background, even if it was moved there.
func TestNoNoticeOfAwaitedTasks(t *testing.T) {
	t.Parallel()
	const end = `{"type":"system","subtype":"task_notification","task_id":"a","status":"completed","output_file":"/o","summary":"done","uuid":"u"}`
	for _, test := range []struct {
		name   string
		frames []string
		want   int
	}{
		{"unknown", nil, 1},
		{"awaited", []string{`{"type":"system","subtype":"task_started","task_id":"a","description":"d","is_backgrounded":false}`}, 0},
		{"another one", []string{`{"type":"system","subtype":"task_started","task_id":"b","description":"d","is_backgrounded":false}`}, 1},
		{"in the background", []string{`{"type":"system","subtype":"task_started","task_id":"a","description":"d","is_backgrounded":true}`}, 1},
		{"moved", []string{
			`{"type":"system","subtype":"task_started","task_id":"a","description":"d","is_backgrounded":false}`,
			`{"type":"system","subtype":"task_updated","task_id":"a","patch":{"is_backgrounded":true}}`,
			`{"type":"system","subtype":"task_updated","task_id":"a","patch":{"status":"completed"}}`,
		}, 1},
		{"not told", []string{
			`{"type":"system","subtype":"task_started","task_id":"a","description":"d","tool_use_id":"call"}`,
			`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"call","content":"launched"}]},"uuid":"r"}`,
		}, 2},
		{"the next time", []string{`{"type":"system","subtype":"task_started","task_id":"a","description":"d","is_backgrounded":false}`, end}, 1},
	} {
		var s liveState
		if got := liveTexts(&s, append(test.frames, end)...); len(got) != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// A /clear belongs to the conversation that it starts.
func TestClearPromptComesBehindTheReset(t *testing.T) {
	t.Parallel()
	var s liveState
	var got []string
	for _, frame := range []string{
		`{"type":"user","message":{"role":"user","content":"one"},"uuid":"a"}`,
		`{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"session_id":"s","uuid":"d"}`,
		`{"type":"user","message":{"role":"user","content":"/clear"},"uuid":"b"}`,
		`{"type":"conversation_reset","new_conversation_id":"n","trigger":"clear","uuid":"c","session_id":"s"}`,
		`{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"session_id":"n","uuid":"d"}`,
		`{"type":"user","message":{"role":"user","content":"two"},"uuid":"e"}`,
	} {
		for _, e := range s.entries(wire.Decode([]byte(frame)), time.Time{}) {
			got = append(got, e.UUID+" follows "+e.ParentUUID)
		}
	}
	if diff := cmp.Diff([]string{"a follows ", "b follows ", "e follows b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A /compact shows up even if nothing is compacted, at the latest with the end of its turn.
func TestCompactPromptIsNotLost(t *testing.T) {
	t.Parallel()
	for _, behind := range []string{
		`{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"session_id":"s","uuid":"u"}`,
		`{"type":"user","message":{"role":"user","content":"/compact now"},"session_id":"default"}`,
		`{"type":"assistant","message":{"id":"m","role":"assistant","content":[]},"uuid":"v","session_id":"s"}`,
	} {
		var s liveState
		if early := liveTexts(&s, `{"type":"user","message":{"role":"user","content":" /compact"},"session_id":"default"}`); early != nil {
			t.Errorf("the prompt came early: %q", early)
		}
		if got := liveTexts(&s, behind); len(got) == 0 || got[0] != `" /compact"` {
			t.Errorf("%s gives %q", behind, got)
		}
	}
}

func TestAResetBeginsAnotherConversation(t *testing.T) {
	t.Parallel()
	var s liveState
	liveTexts(&s, `{"type":"user","message":{"role":"user","content":"one"},"uuid":"a","session_id":"s"}`,
		`{"type":"conversation_reset","new_conversation_id":"n","session_id":"s","uuid":"u"}`)
	got := s.entries(wire.Decode([]byte(`{"type":"user","message":{"role":"user","content":"two"},"session_id":"default"}`)), time.Time{})
	if len(got) != 1 || !got[0].Root || got[0].SessionID != "n" {
		t.Errorf("%+v", got)
	}
}

func TestPartialAnswer(t *testing.T) {
	t.Parallel()
	b := NewBuilder(nil)
	var longest string
	for _, msg := range recordedDialogue(t, filepath.Join("testdata", "recorded", "hello_partial")) {
		b.AddMessage(msg, time.Time{})
		if _, ok := msg.(*wire.AssistantMessage); ok && b.Partial() != "" {
			t.Errorf("%q is left of an answer that has come", b.Partial())
		}
		if text := b.Partial(); len(text) > len(longest) {
			longest = text
		}
	}
	if longest != "Hello, this is a scripted answer." || b.Partial() != "" {
		t.Errorf("partial answer %q, at the end %q", longest, b.Partial())
	}
}

// FuzzLive gives any frames.
func FuzzLive(f *testing.F) {
	f.Add([]byte(`{"type":"user","message":{"content":[1,{"type":"text"}]},"tool_use_result":{"a":1}}`))
	f.Add([]byte(`{"type":"system","subtype":"compact_boundary","compact_metadata":{}}` + "\n" + `{"type":"user","message":{"content":"x"},"isSynthetic":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s liveState
		for line := range bytes.Lines(data) {
			for _, e := range s.entries(wire.Decode(line), time.Time{}) {
				if e.Type != "custom-title" && !e.Chained() {
					t.Errorf("%s is not part of a conversation", e.Raw)
				}
			}
		}
	})
}

func readFile(t *testing.T, path string, opts *ReadOptions) *Transcript {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	tr, err := Read(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// notStreamed ignores what a stream does not contain, or not at the same time: when prompts were
// sent, what an answer used and why it ended, and who allowed a call.
var notStreamed = cmp.Options{
	cmpopts.IgnoreFields(Chunk{}, "Timestamp", "DurationMs", "Usage", "StopReason", "PermissionMode", "At", "Lines"),
	cmpopts.IgnoreFields(DisplayItem{}, "Timestamp", "DurationMs", "At", "ResultAt", "Agents", "Permission", "Sandboxed"),
	cmpopts.IgnoreFields(TaskReport{}, "Time"),
}

// The messages of a session as it runs give the same chunks as its transcript.
func TestLiveAgreesWithDisk(t *testing.T) {
	t.Parallel()
	for _, dir := range recordedDialogues(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			live := liveTranscript(t, dir)
			chunks := live.Chunks
			if onlyLive[filepath.Base(dir)] != "" {
				chunks = chunks[:len(chunks)-1]
			}
			disk := readFile(t, filepath.Join(dir, "transcript.jsonl"), nil)
			if diff := cmp.Diff(disk.Chunks, chunks, notStreamed); diff != "" {
				t.Errorf("(-disk +live):\n%s", diff)
			}
			if len(disk.Chunks) < 2 {
				t.Errorf("%d chunks", len(disk.Chunks))
			}
			compareAgents(t, dir, live)
		})
	}
}

// The messages that a rewind removes from a running session are a branch, and no longer in the
// context.
func TestRewindOfARunningSession(t *testing.T) {
	t.Parallel()
	b := NewBuilder(nil)
	turn := func(number string, tokens int) {
		content := wire.Content{&wire.TextBlock{Text: number}}
		b.AddMessage(&wire.UserMessage{UUID: "u" + number, APIMessage: wire.APIMessage{Content: content}}, time.Time{})
		b.AddMessage(&wire.AssistantMessage{UUID: "a" + number, APIMessage: wire.APIMessage{
			ID: "m" + number, Model: "claude", Content: content, Usage: &wire.Usage{InputTokens: tokens},
		}}, time.Time{})
		b.AddMessage(&wire.ResultMessage{}, time.Time{})
	}
	turn("1", 100)
	turn("2", 900)
	b.Rewind("u2", "a1")
	turn("3", 200)
	tr := b.Transcript()
	if got := saidIn(tr.Chunks); got != "1 1 3 3" || len(tr.Branches) != 1 || saidIn(tr.Branches[0].Chunks) != "2 2" {
		t.Errorf("conversation %q, branches %+v", got, tr.Branches)
	}
	var tokens []int
	for _, turn := range tr.Context().Turns {
		tokens = append(tokens, turn.Tokens)
	}
	if diff := cmp.Diff([]int{100, 200}, tokens); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
}

func liveTranscript(t *testing.T, dir string) *Transcript {
	b := NewBuilder(nil)
	for _, msg := range recordedDialogue(t, dir) {
		b.AddMessage(msg, time.Time{})
	}
	live := b.Transcript()
	if unlinked := Link(live, InlineAgents(live)); len(unlinked) > 0 {
		t.Errorf("subagents without a call: %v", unlinked)
	}
	return live
}

// compareAgents compares the subagents of a running session, of which there is one at most, with
// those on disk.
func compareAgents(t *testing.T, dir string, live *Transcript) {
	files, err := filepath.Glob(filepath.Join(dir, "subagents", "*.jsonl"))
	if err != nil || len(files) != len(live.Sidechains) {
		t.Fatalf("%d subagents on disk (%v), %d live", len(files), err, len(live.Sidechains))
	}
	for _, file := range files {
		var found []*Agent
		for _, chunk := range live.Chunks {
			for _, item := range chunk.Items {
				found = append(found, item.Agents...)
			}
		}
		if len(found) != 1 {
			t.Fatalf("%d subagents under the items", len(found))
		}
		if diff := cmp.Diff(readFile(t, file, nil).Chunks, found[0].Transcript.Chunks, notStreamed); diff != "" {
			t.Errorf("%s (-disk +live):\n%s", file, diff)
		}
	}
}

// liveKinds feeds frames and returns types and UUIDs of the entries, in one text for each frame
// that has some.
func liveKinds(frames ...string) string {
	var s liveState
	var all []string
	for _, frame := range frames {
		for _, e := range s.entries(wire.Decode([]byte(frame)), time.Time{}) {
			text := e.Type + " " + e.UUID
			if e.SourceToolUseID != "" {
				text += " of " + e.SourceToolUseID
			}
			for _, uuid := range e.Supersedes {
				text += " without " + uuid
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

const (
	ask1    = `{"type":"user","message":{"role":"user","content":"one"},"uuid":"1"}`
	ask2    = `{"type":"user","message":{"role":"user","content":"two"},"uuid":"2"}`
	replied = `{"type":"assistant","message":{"id":"m","role":"assistant","content":[]},"uuid":"a","session_id":"s"}`
	over    = `{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"session_id":"s","uuid":"r"}`
)

func lifecycle(state string) string {
	return `{"type":"command_lifecycle","command_uuid":"2","state":"` + state + `","uuid":"l","session_id":"s"}`
}

// A prompt stands where the agent takes it up.
func TestLiveQueue(t *testing.T) {
	t.Parallel()
	queued := lifecycle("queued")
	for _, test := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"behind the turn", []string{ask1, replied, over, ask2, replied}, "user 1, assistant a, user 2, assistant a"},
		{"in the queue", []string{ask1, ask2, queued, replied, over}, "user 1, assistant a"},
		{"after the turn", []string{ask1, ask2, queued, replied, over, lifecycle("started")}, "user 1, assistant a, user 2"},
		{"before the answer", []string{ask1, ask2, lifecycle("started"), replied}, "user 1, user 2, assistant a"},
		{"in the turn", []string{ask1, replied, ask2, queued, lifecycle("started"), replied}, "user 1, assistant a, attachment 2, assistant a"},
		{"cancelled", []string{ask1, replied, ask2, lifecycle("cancelled"), over, lifecycle("started")}, "user 1, assistant a"},
		{"not told", []string{ask1, ask2, replied, over, replied}, "user 1, assistant a, user 2, assistant a"},
		{"repeated", []string{ask1, ask2, replied, strings.Replace(ask2, `"uuid"`, `"isReplay":true,"uuid"`, 1)}, "user 1, assistant a, attachment 2"},
		{"without an ID", []string{ask1, `{"type":"user","message":{"content":"two"}}`, replied}, "user 1, user live-1, assistant a"},
		{"of the agent", []string{ask1, replied, `{"type":"user","message":{"content":"[Request interrupted by user]"},"uuid":"i","timestamp":"2026-11-15T00:00:00Z"}`}, "user 1, assistant a, user i"},
		{"a command", []string{ask1, replied, strings.Replace(ask2, "two", "/compact", 1), queued, over, lifecycle("started"), over}, "user 1, assistant a, user 2"},
	} {
		if got := liveKinds(test.frames...); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// The text of a skill belongs to its call.
func TestLiveSkills(t *testing.T) {
	t.Parallel()
	const (
		calls  = `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"x","name":"Skill","input":{}},{"type":"tool_use","id":"y","name":"Skill","input":{}},{"type":"tool_use","id":"z","name":"Bash","input":{}}]},"uuid":"c"}`
		result = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"ID","content":"k"}]},"uuid":"rID"}`
		text   = `{"type":"user","message":{"content":"text"},"isSynthetic":true,"uuid":"t"}`
	)
	of := func(id string) string { return strings.ReplaceAll(result, "ID", id) }
	failed := strings.Replace(of("x"), `"content":"k"`, `"content":"k","is_error":true`, 1)
	for _, test := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"one", []string{calls, of("x"), text, text}, "assistant c, user rx, user t of x, user t"},
		{"both", []string{calls, of("y"), of("x"), text, text}, "assistant c, user ry, user rx, user t of y, user t of x"},
		{"another tool", []string{calls, of("z"), text}, "assistant c, user rz, user t"},
		{"failed", []string{calls, failed, text}, "assistant c, user rx, user t"},
		{"behind an answer", []string{calls, of("x"), replied, text}, "assistant c, user rx, assistant a, user t"},
	} {
		if got := liveKinds(test.frames...); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestLiveCommands(t *testing.T) {
	t.Parallel()
	const (
		command = `{"type":"user","message":{"content":"/cost"},"uuid":"1"}`
		printed = `{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"$1"}]},"uuid":"p"}`
		refused = `{"type":"system","subtype":"informational","content":"no","level":"warning","prompt_submit_outcome":{"prompt_kept":KEPT},"uuid":"n","session_id":"s"}`
	)
	for _, test := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"printed", []string{command, printed}, "user 1, system p"},
		{"failed", []string{command, strings.Replace(printed, `"uuid"`, `"is_api_error_message":true,"uuid"`, 1)}, "user 1, assistant p"},
		{"said by the model", []string{command, replied}, "user 1, assistant a"},
		{"no command", []string{ask1, printed}, "user 1, assistant p"},
		{"refused", []string{ask1, strings.Replace(refused, "KEPT", "false", 1)}, "user 1, system n without 1"},
		{"kept", []string{ask1, strings.Replace(refused, "KEPT", "true", 1)}, "user 1, system n"},
		{"refused before anything was asked", []string{strings.Replace(refused, "KEPT", "false", 1)}, "system n"},
	} {
		if got := liveKinds(test.frames...); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
