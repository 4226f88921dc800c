package transcript

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/wire"
)

// A classifyCase is a line and what it means: a message, or noise of a name.
type classifyCase struct {
	name  string
	line  string
	want  ClassifiedMsg
	noise string
}

// lineTime is when the lines of the tables were written.
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

// metaLine is said for text that the agent has added.
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

// What is classified may outlive the line's buffer, which is used again.
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
