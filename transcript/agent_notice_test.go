package transcript

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTaskCall(t *testing.T) {
	t.Parallel()
	const notice = `<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t1</tool-use-id>\n<status>completed</status>`
	tests := []struct {
		name, line, task, call string
	}{
		{"a notice in the queue", `{"type":"queue-operation","operation":"enqueue","content":"` + notice + `"}`, "a1", "t1"},
		{"a notice as a prompt", `{"type":"user","message":{"role":"user","content":"` + notice + `"}}`, "a1", "t1"},
		{
			"a notice in JSON",
			`{"type":"queue-operation","content":"{\"task_id\":\"a1\",\"tool_use_id\":\"t1\"}"}`, "a1", "t1",
		},
		{"an object", `{"type":"queue-operation","content":{"task_id":"a1","tool_use_id":"t1"}}`, "a1", "t1"},
		{"no call", `{"type":"queue-operation","content":"<task-notification><task-id>a1</task-id>"}`, "", ""},
		{"no task", `{"type":"queue-operation","content":"<task-notification><tool-use-id>t1</tool-use-id>"}`, "", ""},
		{"a tag without an end", `{"type":"queue-operation","content":"<task-id>a1</task-id><tool-use-id>t1"}`, "", ""},
		{"a prompt in the queue", `{"type":"queue-operation","content":"Mind the task"}`, "", ""},
		{"blocks in the queue", `{"type":"queue-operation","content":[{"type":"text","text":"task"}]}`, "", ""},
		{"no content", `{"type":"queue-operation","operation":"dequeue"}`, "", ""},
		{"a prompt that quotes a notice", `{"type":"user","message":{"content":"Why ` + notice + `?"}}`, "", ""},
		{"no message", `{"type":"user"}`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := DecodeEntry([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			task, call, ok := taskCall(&e)
			if !ok {
				task, call = "", ""
			}
			if task != tt.task || call != tt.call || ok != (tt.task != "") {
				t.Errorf("got %q, %q, %v", task, call, ok)
			}
		})
	}
}

// recorded returns the entries of a recorded transcript.
func recorded(t testing.TB, name string) []Entry {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		e, err := DecodeEntry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		e.Position.Line = i + 1
		entries = append(entries, e)
	}
	return entries
}

func TestTaskCallRecorded(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range recorded(t, "subagent_background/transcript.jsonl") {
		if task, call, ok := taskCall(&e); ok {
			got = append(got, e.Type+" "+task+" "+call)
		}
	}
	want := []string{
		"queue-operation ab45c76475627f755 toolu_13ceeed2d9dc4875a0c147",
		"user ab45c76475627f755 toolu_13ceeed2d9dc4875a0c147",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
