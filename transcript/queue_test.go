package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// queueLine returns a line about the queue of prompts.
func queueLine(operation, members string) string {
	return `{"type":"queue-operation","operation":"` + operation + `","timestamp":"2026-11-16T14:18:50.509Z","sessionId":"s"` + members + `}`
}

func enqueued(text string) string { return queueLine("enqueue", `,"content":`+quoteText(text)) }

// queuedTurn returns the lines of a turn with a call, in which some lines come before the answer.
func queuedTurn(before ...string) string {
	lines := []string{
		enqueued("Work"), queueLine("dequeue", ""),
		`{"type":"user","uuid":"u1","parentUuid":null,"message":{"role":"user","content":"Work"}}`,
		`{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"id":"m1","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}`,
	}
	lines = append(lines, before...)
	lines = append(lines,
		`{"type":"assistant","uuid":"a2","parentUuid":"r1","message":{"id":"m2","content":[{"type":"text","text":"Done."}]}}`)
	return strings.Join(lines, "\n") + "\n"
}

const (
	toolAnswer = `{"type":"user","uuid":"r1","parentUuid":"a1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}`
	attachThis = `{"type":"attachment","uuid":"q1","parentUuid":"r1","attachment":{"type":"queued_command","prompt":"And this"}}`
)

// A prompt that was sent during a turn is shown once and in its place, however the agent recorded
// it.
func TestQueuedPrompts(t *testing.T) {
	t.Parallel()
	remove := queueLine("remove", "")
	tests := map[string]struct {
		lines string
		want  string
	}{
		"only in the queue": {
			queuedTurn(enqueued("And this"), enqueued("And that"), toolAnswer, remove, remove),
			"user Work|ai |queued And this|queued And that|ai Done.",
		},
		"also attached, before the removal": {
			queuedTurn(enqueued("And this"), toolAnswer, attachThis, remove), "user Work|ai |queued And this|ai Done.",
		},
		"also attached, after the removal": {
			queuedTurn(enqueued("And this"), toolAnswer, remove, attachThis), "user Work|ai |queued And this|ai Done.",
		},
		"also an entry of the user": {
			queuedTurn(enqueued("Later"), toolAnswer) + queueLine("dequeue", "") + "\n" +
				`{"type":"user","uuid":"u2","parentUuid":"a2","message":{"role":"user","content":[{"type":"text","text":"Later"}]}}` + "\n",
			"user Work|ai Done.|user Later",
		},
		"removed, and then an entry of the user": {
			queuedTurn(toolAnswer) + enqueued("Later") + "\n" + remove + "\n" +
				`{"type":"user","uuid":"u2","parentUuid":"a2","message":{"role":"user","content":"<system-reminder>x</system-reminder>Later"}}` + "\n",
			"user Work|ai Done.|user Later",
		},
		"the same words twice": {
			queuedTurn(enqueued("Work"), toolAnswer, remove), "user Work|ai |queued Work|ai Done.",
		},
		"by name, not in order": {
			queuedTurn(enqueued("And this"), enqueued("And that"), toolAnswer, queueLine("remove", `,"content":"And that"`)),
			"user Work|ai |queued And that|ai Done.",
		},
		"a list of blocks": {
			queuedTurn(queueLine("enqueue", `,"content":[{"type":"image","source":{}},{"type":"text","text":"And this"}]`), toolAnswer, remove),
			"user Work|ai |queued And this|ai Done.",
		},
		"taken back":        {queuedTurn(enqueued("And this"), queueLine("popAll", ""), toolAnswer, remove), "user Work|ai Done."},
		"removed otherwise": {queuedTurn(enqueued("And this"), toolAnswer, queueLine("remove", `,"reason":"cancelled"`)), "user Work|ai Done."},
		"without words":     {queuedTurn(queueLine("enqueue", ""), toolAnswer, remove), "user Work|ai Done."},
		"at the end": {
			queuedTurn(toolAnswer) + enqueued("And this") + "\n" + remove, "user Work|ai Done.|queued And this",
		},
		"the end of a task": {
			queuedTurn(enqueued("<task-notification><summary>Slept</summary></task-notification>"), toolAnswer, remove),
			"user Work|ai |system Slept|ai Done.",
		},
		"strange": {queuedTurn(queueLine("enqueue", `,"content":7`), queueLine("hop", ""), remove, toolAnswer, remove), "user Work|ai Done."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, err := Read(strings.NewReader(tt.lines), nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := outlined(read.Chunks); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if len(read.Branches) > 0 {
				t.Errorf("branches: %v", read.Branches)
			}
			var streamed []Chunk
			for chunk, err := range Stream(strings.NewReader(tt.lines), nil) {
				if err != nil {
					t.Fatal(err)
				}
				streamed = append(streamed, *chunk)
			}
			if diff := cmp.Diff(read.Chunks, streamed); diff != "" {
				t.Errorf("as a stream (-read +streamed):\n%s", diff)
			}
		})
	}
}

// outlined describes chunks in short, such as "user Work|ai Done.".
func outlined(chunks []Chunk) string {
	var parts []string
	for _, c := range chunks {
		kind := fmt.Sprint(c.Type)
		if c.Queued {
			kind = "queued"
		}
		parts = append(parts, kind+" "+c.Text)
	}
	return strings.Join(parts, "|")
}
