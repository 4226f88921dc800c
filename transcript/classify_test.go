package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/wire"
)

// A classifyCase is a line and its meaning: a message, or noise with a name.
type classifyCase struct {
	name  string
	line  string
	want  ClassifiedMsg
	noise string
}

// lineTime is the time of the lines in the tables.
var lineTime = time.Date(2026, 11, 15, 0, 44, 46, 183e6, time.UTC)

const lineTimeText = `"timestamp":"2026-11-15T00:44:46.183Z"`

// seenByCallers compares what callers see of messages.
var seenByCallers = cmp.Options{
	cmpopts.IgnoreUnexported(wire.TextBlock{}, wire.ThinkingBlock{}, wire.RedactedThinkingBlock{}, wire.ToolUseBlock{},
		wire.ToolResultBlock{}, wire.ServerToolUseBlock{}, wire.WebSearchToolResultBlock{}, wire.ImageBlock{}, wire.Source{}),
	cmpopts.EquateComparable(),
}

func runClassify(t *testing.T, c classifier, cases []classifyCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			e, err := DecodeEntry([]byte(tc.line))
			if err != nil {
				t.Fatal(err)
			}
			msg, noise := c.classify(&e)
			if diff := cmp.Diff(tc.want, msg, seenByCallers); diff != "" || noise != tc.noise {
				t.Errorf("noise %q, want %q (-want +got):\n%s", noise, tc.noise, diff)
			}
		})
	}
}

// userLine returns the line of a prompt with more members, which may be empty.
func userLine(content, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":` + content +
		`},"uuid":"7c9caad0-8384-4d3a-b5e2-71fd226c715a",` + lineTimeText + members + `}`
}

func quoteText(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

// saidLine returns the line of a prompt that is a string.
func saidLine(text string) string { return userLine(quoteText(text), "") }

// metaLine is said for text that the agent added.
func metaLine(text string) string { return userLine(quoteText(text), `"isMeta":true`) }

func TestClassifyByType(t *testing.T) {
	bookkeeping := func(kind, members string) classifyCase {
		return classifyCase{name: kind, line: fmt.Sprintf(`{"type":%q,%s}`, kind, members), noise: kind}
	}
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "prompt of a sidechain", noise: "sidechain",
			line: `{"type":"user","isSidechain":true,"uuid":"u","message":{"role":"user","content":"inner"},` + lineTimeText + `}`,
		}, {
			name: "answer of a sidechain", noise: "sidechain",
			line: `{"type":"assistant","isSidechain":true,"uuid":"u","message":{"content":[{"type":"text","text":"a"}]}}`,
		},
		bookkeeping("file-history-snapshot", `"messageId":"m","snapshot":{"messageId":"m"},"isSnapshotUpdate":false`),
		bookkeeping("queue-operation", `"operation":"enqueue","content":"Write it","sessionId":"s"`),
		bookkeeping("progress", `"data":{"type":"bash_progress","output":"x"},"uuid":"u","toolUseID":"t"`),
		bookkeeping("summary", `"summary":"A title","leafUuid":"u"`),
		bookkeeping("last-prompt", `"lastPrompt":"Write it","leafUuid":"u"`),
		bookkeeping("ai-title", `"aiTitle":"A title"`),
		bookkeeping("cost-state", `"totalCostUSD":0.1`),
		bookkeeping("api-request", `"id":"r","params":{}`),
		bookkeeping("of-tomorrow", `"uuid":"u","x":1`),
		{name: "no type", line: `{"uuid":"u"}`, noise: "untyped"},
		{name: "type is no string", line: `{"type":7,"uuid":"u"}`, noise: "untyped"},
		{name: "long type", line: `{"type":"` + strings.Repeat("x", 5000) + `"}`, noise: "other"},
	})
}

func TestClassifyInSidechain(t *testing.T) {
	runClassify(t, classifier{maxResult: -1, sidechain: true}, []classifyCase{{
		name: "the subagent's own transcript",
		line: `{"type":"user","isSidechain":true,"uuid":"u","message":{"role":"user","content":"inner"},` + lineTimeText + `}`,
		want: &UserMsg{Timestamp: lineTime, Text: "inner"},
	}})
}

func TestClassify(t *testing.T) {
	e, ok := ParseEntry([]byte(saidLine("Write it")))
	if !ok {
		t.Fatal("no entry")
	}
	msg, ok := Classify(e)
	if diff := cmp.Diff(ClassifiedMsg(&UserMsg{Timestamp: lineTime, Text: "Write it"}), msg); diff != "" || !ok {
		t.Errorf("%v (-want +got):\n%s", ok, diff)
	}
	if !msg.Time().Equal(lineTime) {
		t.Errorf("Time() = %v", msg.Time())
	}
	if msg, ok := Classify(Entry{Type: "progress"}); ok || msg != nil {
		t.Errorf("progress is %v", msg)
	}
}

func TestClassifyTimes(t *testing.T) {
	for text, want := range map[string]time.Time{
		`"2026-11-15T00:44:46.183Z"`:      lineTime,
		`"2026-11-15T00:44:46Z"`:          lineTime.Truncate(time.Second),
		`"2026-11-15T02:44:46.183+02:00"`: lineTime,
		`"2026-11-15T00:44:46.183"`:       lineTime,
		`"yesterday"`:                     {},
		`1794703486183`:                   {},
	} {
		e, err := DecodeEntry([]byte(`{"type":"user","uuid":"u","message":{"content":"a"},"timestamp":` + text + `}`))
		if err != nil {
			t.Fatal(err)
		}
		msg, ok := Classify(e)
		if !ok || !msg.Time().Equal(want) {
			t.Errorf("%s is %v, want %v", text, msg, want)
		}
	}
}

// A classified message stays valid when the buffer of its line is used again.
func TestClassifyKeepsNothingOfTheLine(t *testing.T) {
	lines := append(classifySeeds(t), saidLine("Write it"), saidLine("<teammate-message teammate_id=\"a\">x</teammate-message>"))
	for _, line := range lines {
		data := []byte(line)
		e, err := DecodeEntry(data)
		if err != nil {
			continue
		}
		c := classifier{maxResult: -1, sidechain: true}
		msg, _ := c.classify(&e)
		before := messageText(msg)
		for i := range data {
			data[i] = '#'
		}
		if after := messageText(msg); after != before {
			t.Errorf("%s\nwas %s\nand is %s", line, before, after)
		}
	}
}

// messageText returns all of a message as text.
func messageText(msg ClassifiedMsg) string {
	text, err := json.Marshal(msg)
	return fmt.Sprintf("%T %s %v", msg, text, err)
}

// Nobody else can add a kind of message.
func TestClassifiedMsgIsSealed(t *testing.T) {
	method, ok := reflect.TypeFor[ClassifiedMsg]().MethodByName("classifiedMsg")
	if !ok || method.IsExported() {
		t.Errorf("%+v, %v", method, ok)
	}
	for _, msg := range []ClassifiedMsg{
		&UserMsg{Timestamp: lineTime}, &AIMsg{Timestamp: lineTime}, &SystemMsg{Timestamp: lineTime},
		&TeammateMsg{Timestamp: lineTime}, &CompactMsg{Timestamp: lineTime},
	} {
		if !msg.Time().Equal(lineTime) {
			t.Errorf("%T: Time() = %v", msg, msg.Time())
		}
	}
}

func systemLine(members string) string {
	return `{"parentUuid":"p","type":"system",` + members + `,"uuid":"u",` + lineTimeText + `}`
}

func sawNotice(text string) *SystemMsg { return &SystemMsg{Timestamp: lineTime, Output: text} }

func sawError(text string) *SystemMsg {
	return &SystemMsg{Timestamp: lineTime, Output: text, IsError: true}
}

func TestClassifySystem(t *testing.T) {
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "compaction", want: &CompactMsg{
				Timestamp: lineTime, Text: "Conversation compacted", Trigger: "auto", PreTokens: 165914, PostTokens: 21000,
				Duration: 61 * time.Second,
			},
			line: systemLine(`"subtype":"compact_boundary","content":"Conversation compacted",
				"compactMetadata":{"trigger":"auto","preTokens":165914,"postTokens":21000,"durationMs":61000.4}`),
		},
		{name: "bare compaction", line: systemLine(`"subtype":"compact_boundary"`), want: &CompactMsg{Timestamp: lineTime}},
		{name: "turn", line: systemLine(`"subtype":"turn_duration","durationMs":75264`), noise: "system:turn_duration"},
		{
			name: "small compaction", noise: "system:microcompact_boundary",
			line: systemLine(`"subtype":"microcompact_boundary","content":"Context microcompacted"`),
		},
		{name: "init", line: systemLine(`"subtype":"init","content":"x"`), noise: "system:init"},
		{name: "bridge", line: systemLine(`"subtype":"bridge_status","content":"x"`), noise: "system:bridge_status"},
		{name: "thinking", line: systemLine(`"subtype":"thinking","content":"x"`), noise: "system:thinking"},
		{
			name: "command", want: sawPrompt("/model"),
			line: systemLine(`"subtype":"local_command","content":"<command-name>/model</command-name>\n   ` +
				`<command-message>model</command-message>\n   <command-args></command-args>","level":"info"`),
		}, {
			name: "output", want: sawNotice("Set model to Opus"),
			line: systemLine(`"subtype":"local_command","content":"<local-command-stdout>Set model to Opus</local-command-stdout>"`),
		}, {
			name: "errors", want: sawError("No such model"),
			line: systemLine(`"subtype":"local_command","content":"<local-command-stderr>No such model</local-command-stderr>"`),
		},
		{
			name: "empty output", noise: "empty",
			line: systemLine(`"subtype":"local_command","content":"<local-command-stdout></local-command-stdout>"`),
		},
		{name: "no command", line: systemLine(`"subtype":"local_command"`), noise: "system:local_command"},
		{name: "other words of a command", line: systemLine(`"subtype":"local_command","content":"Done"`), want: sawNotice("Done")},
		{name: "recap", line: systemLine(`"subtype":"away_summary","content":"Fixed it."`), want: sawNotice("Fixed it.")},
		{
			name: "information", want: sawNotice("Note"),
			line: systemLine(`"subtype":"informational","content":"Note","level":"info"`),
		}, {
			name: "error", want: sawError("No"),
			line: systemLine(`"subtype":"informational","content":"No","level":"error"`),
		},
		{name: "oldest form", line: systemLine(`"content":"Running hook...","level":"info"`), want: sawNotice("Running hook...")},
		{name: "oldest form, empty", line: systemLine(`"content":""`), noise: "system:untyped"},
		{name: "of tomorrow", line: systemLine(`"subtype":"of_tomorrow","content":"News"`), want: sawNotice("News")},
		{name: "of tomorrow, blocks", line: systemLine(`"subtype":"x","content":[{"type":"text","text":"News"}]`), want: sawNotice("News")},
		{name: "of tomorrow, no text", line: systemLine(`"subtype":"of_tomorrow","content":{"a":1}`), noise: "system:of_tomorrow"},
		{name: "task", line: systemLine(`"subtype":"scheduled_task_fire","content":"Running the check"`), want: sawNotice("Running the check")},
		{name: "task without text", line: systemLine(`"subtype":"scheduled_task_fire","prompt":"check"`), want: sawNotice("Scheduled task started: check")},
		{
			name: "memory", want: sawNotice("Memory saved: a.md, b.md"),
			line: systemLine(`"subtype":"memory_saved","writtenPaths":["a.md","b.md"]`),
		},
		{name: "memory without paths", line: systemLine(`"subtype":"memory_saved"`), want: sawNotice("Memory saved")},
		{name: "retry", line: systemLine(`"subtype":"permission_retry","commands":["ls"]`), want: sawNotice("Allowed on a second try: ls")},
		{
			name: "fallback", want: sawNotice("a declined to answer, b took over"),
			line: systemLine(`"subtype":"model_refusal_fallback","originalModel":"a","fallbackModel":"b"`),
		}, {
			name: "unnamed fallback", want: sawNotice("The model declined to answer, another took over"),
			line: systemLine(`"subtype":"model_refusal_fallback"`),
		},
	})
}

func TestClassifyStopHooks(t *testing.T) {
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "well", noise: "system:stop_hook_summary",
			line: systemLine(`"subtype":"stop_hook_summary","hookCount":1,"hookErrors":[],"preventedContinuation":false,"stopReason":""`),
		}, {
			name: "errors", want: sawError("Stop hook error: a\nb"),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":["a","b"],"preventedContinuation":false`),
		}, {
			name: "errors that are no strings", want: sawError(`Stop hook error: {"code":1}`),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":[{"code":1}]`),
		}, {
			name: "stopped", want: sawNotice("Stop hook stopped the agent: enough"),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":[],"preventedContinuation":true,"stopReason":"enough"`),
		}, {
			name: "both", want: sawError("Stop hook error: a\nStop hook stopped the agent"),
			line: systemLine(`"subtype":"stop_hook_summary","hookErrors":["a"],"preventedContinuation":true,"stopReason":""`),
		},
	})
}

func TestClassifyAPIErrors(t *testing.T) {
	for members, want := range map[string]string{
		`"error":{"status":529,"error":{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}},
			"retryInMs":514.73,"retryAttempt":1,"maxRetries":10`: "API error 529: Overloaded (retry 1 of 10 in 514ms)",
		`"error":{"status":429,"message":"Slow down"},"retryAttempt":2,"maxRetries":10`:                              "API error 429: Slow down (retry 2 of 10)",
		`"error":{"message":"529 {\"type\":\"error\"}","status":529,"formatted":"529 Overloaded","noResponse":null}`: "API error 529: Overloaded",
		`"error":{"cause":{"code":"ECONNRESET"}},"retryAttempt":3`:                                                   "API error: ECONNRESET (retry 3)",
		`"cause":{"code":"ENOTFOUND","message":"no host"},"error":{}`:                                                "API error: no host",
		`"error":"broken"`:                         "API error: broken",
		`"error":{"type":"api_error"}`:             "API error: api_error",
		`"error":null`:                             "API error",
		`"error":{"status":"x"},"retryAttempt":-1`: "API error",
	} {
		runClassify(t, classifier{}, []classifyCase{{
			name: members, line: systemLine(`"subtype":"api_error","level":"error",` + members), want: sawError(want),
		}})
	}
}

// A prompt that the agent recorded as somebody else's has a sender.
func TestClassifySender(t *testing.T) {
	for members, want := range map[string]string{
		``:                                         "",
		`"origin":{"kind":"human"},`:               "",
		`"origin":null,"promptSource":"sdk",`:      "",
		`"origin":{"kind":"peer","from":"a"},`:     "peer",
		`"origin":{"kind":"something-new"},`:       "something-new",
		`"promptSource":"system",`:                 "system",
		`"origin":{"kind":1},"promptSource":true,`: "",
	} {
		runClassify(t, classifier{}, []classifyCase{{
			name: members, want: &UserMsg{Timestamp: lineTime, Text: "hi", Sender: want},
			line: `{"type":"user",` + members + `"message":{"role":"user","content":"hi"},"uuid":"u",` + lineTimeText + `}`,
		}})
	}
}

func attachmentLine(attachment string) string {
	return `{"parentUuid":"p","attachment":` + attachment + `,"type":"attachment","uuid":"u",` + lineTimeText + `}`
}

func TestClassifyAttachments(t *testing.T) {
	queued := func(text string, images int) *UserMsg {
		return &UserMsg{Timestamp: lineTime, Text: text, Images: images, Queued: true}
	}
	runClassify(t, classifier{maxResult: -1}, []classifyCase{
		{
			name: "queued prompt", want: queued("Also this", 0),
			line: attachmentLine(`{"type":"queued_command","prompt":"Also this","commandMode":"prompt"}`),
		}, {
			name: "queued blocks", want: queued("Also this", 1),
			line: attachmentLine(`{"type":"queued_command","prompt":[{"type":"text","text":"Also this"},{"type":"image"}]}`),
		}, {
			name: "queued picture", want: queued("[Image]", 1),
			line: attachmentLine(`{"type":"queued_command","prompt":[{"type":"image","source":{}}]}`),
		}, {
			name: "queued notification", want: &SystemMsg{
				Timestamp: lineTime, Output: "Stopped", IsError: true,
				Tasks: []TaskReport{{Time: lineTime, Status: "killed", Summary: "Stopped"}},
			},
			line: attachmentLine(`{"type":"queued_command","commandMode":"task-notification",` +
				`"prompt":"<task-notification><status>killed</status><summary>Stopped</summary></task-notification>"}`),
		}, {
			name: "queued command", want: queued("/cost", 0),
			line: attachmentLine(`{"type":"queued_command","prompt":"<command-name>/cost</command-name>"}`),
		},
		{name: "queued nothing", line: attachmentLine(`{"type":"queued_command"}`), noise: "empty"},
		{
			name: "queued by a channel", want: &UserMsg{Timestamp: lineTime, Text: "ping", Queued: true, Sender: "channel"},
			line: attachmentLine(`{"type":"queued_command","prompt":"ping","origin":{"kind":"channel","server":"x"}}`),
		}, {
			name: "queued by the user", want: queued("ping", 0),
			line: attachmentLine(`{"type":"queued_command","prompt":"ping","origin":{"kind":"human"}}`),
		},
		{
			name: "blocking hook", want: sawError("PreToolUse:Bash hook error: not this"),
			line: attachmentLine(`{"type":"hook_blocking_error","hookName":"PreToolUse:Bash","hookEvent":"PreToolUse",` +
				`"blockingError":{"blockingError":"not this\n","command":"check"}}`),
		}, {
			name: "hook that failed", want: sawError("Stop hook error: boom"),
			line: attachmentLine(`{"type":"hook_non_blocking_error","hookName":"Stop","stderr":"boom\n","stdout":"x","exitCode":1}`),
		}, {
			name: "hook that broke", want: sawError("Stop hook error: no such file"),
			line: attachmentLine(`{"type":"hook_error_during_execution","hookEvent":"Stop","content":"no such file"}`),
		},
		{name: "hook without words", line: attachmentLine(`{"type":"hook_blocking_error"}`), want: sawError("A hook error")},
		{
			name: "hook's message", want: sawNotice("SessionStart hook: hello"),
			line: attachmentLine(`{"type":"hook_system_message","hookName":"SessionStart","content":"hello"}`),
		},
		{name: "hook's silence", line: attachmentLine(`{"type":"hook_system_message"}`), noise: "attachment:hook_system_message"},
		{name: "turns", line: attachmentLine(`{"type":"max_turns_reached","maxTurns":5,"turnCount":6}`), want: sawNotice("Reached the limit of 5 turns")},
		{name: "one turn", line: attachmentLine(`{"type":"max_turns_reached","maxTurns":1}`), want: sawNotice("Reached the limit of 1 turn")},
		{name: "turns, no number", line: attachmentLine(`{"type":"max_turns_reached"}`), want: sawNotice("Reached the limit of turns")},
		{name: "goal met", line: attachmentLine(`{"type":"goal_status","met":true,"condition":"tests pass"}`), want: sawNotice("Goal met: tests pass")},
		{name: "goal not met", line: attachmentLine(`{"type":"goal_status","met":false}`), want: sawNotice("Goal not met yet")},
		{name: "no type", line: attachmentLine(`{}`), noise: "attachment:untyped"},
		{name: "no object", line: attachmentLine(`7`), noise: "attachment:untyped"},
	})
	for _, kind := range []string{"environment", "task_reminder", "hook_success", "hook_cancelled", "skill_listing", "of_tomorrow"} {
		runClassify(t, classifier{}, []classifyCase{{
			name: kind, line: attachmentLine(`{"type":"` + kind + `","content":"x"}`), noise: "attachment:" + kind,
		}})
	}
}

// A prompt that the agent queued itself is for the model.
func TestClassifyQueuedMeta(t *testing.T) {
	for _, prompt := range []string{`"a"`, `[{"type":"image"}]`, `[{"type":"tool_result","tool_use_id":"t"}]`} {
		e, err := DecodeEntry([]byte(attachmentLine(`{"type":"queued_command","isMeta":true,"prompt":` + prompt + `}`)))
		if err != nil {
			t.Fatal(err)
		}
		msg, _ := Classify(e)
		if ai, ok := msg.(*AIMsg); !ok || !ai.IsMeta || len(ai.Blocks) != 1 {
			t.Errorf("%s is %+v", prompt, msg)
		}
	}
}

// The listing shows how each entry of the recorded transcripts is classified. CLEW_UPDATE=1 writes
// it again: read it.
func TestClassifyRecorded(t *testing.T) {
	var got strings.Builder
	for _, path := range recordedTranscripts(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := classifier{maxResult: 8 << 10, sidechain: strings.HasPrefix(filepath.Base(path), "agent-")}
		name, _ := filepath.Rel(filepath.Join("testdata", "recorded"), path)
		fmt.Fprintf(&got, "# %s\n", filepath.ToSlash(name))
		for line := range bytes.Lines(data) {
			e, err := DecodeEntry(line)
			if err != nil {
				t.Fatal(err)
			}
			msg, noise := c.classify(&e)
			fmt.Fprintln(&got, listed(msg, noise))
		}
	}
	golden := filepath.Join("testdata", "classified.txt")
	if os.Getenv("CLEW_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// listed returns a line for a message or noise.
func listed(msg ClassifiedMsg, noise string) string {
	switch m := msg.(type) {
	case *UserMsg:
		return "user      " + clipped(m.Text)
	case *SystemMsg:
		return fmt.Sprintf("%-9s %s", map[bool]string{false: "system", true: "error"}[m.IsError], clipped(m.Output))
	case *TeammateMsg:
		return "teammate  " + m.TeammateID + " " + clipped(m.Text)
	case *CompactMsg:
		return fmt.Sprintf("compact   %s %d to %d in %v %s", m.Trigger, m.PreTokens, m.PostTokens, m.Duration, clipped(m.Text))
	case *AIMsg:
		return listedAI(m)
	}
	return "          " + noise
}

func listedAI(m *AIMsg) string {
	kind := "ai"
	if m.IsMeta {
		kind = "meta"
	}
	var parts []string
	for _, b := range m.Blocks {
		parts = append(parts, b.BlockType())
	}
	if m.Text != "" {
		parts = append(parts, clipped(m.Text))
	}
	if m.ToolUseResult != "" {
		parts = append(parts, "result "+clipped(string(m.ToolUseResult)))
	}
	for _, part := range []string{string(m.Patch), m.AgentID, m.ResultStatus} {
		if part != "" {
			parts = append(parts, clipped(part))
		}
	}
	return fmt.Sprintf("%-9s %s", kind, strings.Join(parts, "; "))
}

func clipped(text string) string {
	runes := []rune(strings.ReplaceAll(text, "\n", `\n`))
	return string(runes[:min(60, len(runes))])
}

// classifySeeds returns the lines of the recorded transcripts that are short.
func classifySeeds(tb testing.TB) []string {
	tb.Helper()
	var lines []string
	for _, path := range recordedTranscripts(tb) {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if len(line) < 2000 {
				lines = append(lines, string(line))
			}
		}
	}
	return lines
}

// recordedTranscripts returns the paths of the recorded transcripts, including subagents.
func recordedTranscripts(tb testing.TB) []string {
	tb.Helper()
	var paths []string
	for _, pattern := range []string{"*/*.jsonl", "*/*/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("testdata", "recorded", pattern))
		if err != nil {
			tb.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		tb.Fatal("no recorded transcripts")
	}
	return paths
}

// FuzzClassify checks that every line means something or is noise, the same each time.
func FuzzClassify(f *testing.F) {
	for _, line := range classifySeeds(f) {
		f.Add([]byte(line))
	}
	f.Add([]byte(saidLine(`<teammate-message teammate_id="ada" color="blue">x</teammate-message>`)))
	f.Add([]byte(saidLine("<task-notification><status>killed</status><summary>x</summary></task-notification>")))
	f.Add([]byte(saidLine("<command-name>/x</command-name><command-args>y</command-args>")))
	f.Add([]byte(saidLine("<bash-stdout>a</bash-stdout><bash-stderr>b</bash-stderr>")))
	f.Add([]byte(attachmentLine(`{"type":"queued_command","prompt":["a",{"type":"image"}]}`)))
	f.Add([]byte(systemLine(`"subtype":"api_error","error":{"status":529},"retryAttempt":1`)))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := DecodeEntry(line)
		if err != nil {
			return
		}
		limited := &classifier{maxResult: 100, sidechain: true}
		msg, noise := limited.classify(&e)
		if (msg == nil) == (noise == "") {
			t.Fatalf("message %v and noise %q", msg, noise)
		}
		if again, word := limited.classify(&e); messageText(again) != messageText(msg) || word != noise {
			t.Fatalf("%s %s, then %s %s", messageText(msg), noise, messageText(again), word)
		}
		if all, ok := Classify(e); ok != (msg != nil && !e.IsSidechain) || ok && !all.Time().Equal(msg.Time()) {
			t.Fatalf("Classify is %v of %v", ok, msg)
		}
	})
}

func FuzzSanitize(f *testing.F) {
	f.Add("a <system-reminder>x</system-reminder> b")
	f.Add("<command-name>/x</command-name><command-args>y</command-args>")
	f.Add("<local-command-stdout>x<bash-input>y</bash-input>")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Sanitize(text); len(got) > len(text)+1 {
			t.Errorf("%q became %q", text, got)
		}
		withoutTags(text)
		cutAttributes(text)
	})
}
