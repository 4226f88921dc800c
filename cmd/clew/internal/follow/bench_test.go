package follow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
)

// round returns a prompt and calls with results of 3 KB each, and the number of its last line.
func round(n, calls int) (text string, last int) {
	parent := func() string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint("u", n)
	}
	var b strings.Builder
	say := func(kind, content string) {
		above := parent()
		n++
		b.WriteString(line(kind, fmt.Sprint("u", n), above, content))
	}
	say("user", `"Go on"`)
	for range calls {
		id := fmt.Sprint("t", n)
		say("assistant", `[{"type":"tool_use","id":"`+id+`","name":"Bash","input":{"command":"make"}}]`)
		say("user", `[{"type":"tool_result","tool_use_id":"`+id+`","content":"`+strings.Repeat("a line of output\\n", 170)+`"}]`)
	}
	return b.String(), n
}

// longSession writes a session of about that size, with subagents.
func longSession(b *testing.B, size, agents int) (l log, last int) {
	b.Helper()
	l = newLog(b)
	var text strings.Builder
	for i := 0; text.Len() < size || i < agents; i++ {
		var more string
		more, last = round(last, 30)
		text.WriteString(more)
		if i < agents {
			id, parent := fmt.Sprint("a", i), fmt.Sprint("u", last)
			last++
			text.WriteString(call(fmt.Sprint("u", last), parent, id))
			l.agent(id).write(ask(id, ""))
			log{b, strings.TrimSuffix(l.agent(id).path, ".jsonl") + ".meta.json"}.write(`{"toolUseId":"` + id + `"}`)
		}
	}
	l.write(text.String())
	return l, last
}

// BenchmarkOpen follows a session of 57 MB until its first snapshot with a transcript.
func BenchmarkOpen(b *testing.B) {
	l, _ := longSession(b, 57<<20, 47)
	for b.Loop() {
		h := follow.New(nil)
		r := h.Open(l.path, 0)
		for next(b, r).Transcript == nil {
		}
		_ = h.Close()
	}
}

// BenchmarkAppend appends 10 KB to a session, or a line to a subagent, and waits for the snapshot.
// The time must not depend on the size of the session.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 20, 57 << 20} {
		l, last := longSession(b, size, 47)
		r := newHub(b, nil).Open(l.path, 0)
		loaded(b, r)
		b.Run(fmt.Sprintf("%dMB", size>>20), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var text string
				text, last = round(last, 3)
				l.write(text)
				next(b, r)
			}
		})
		b.Run(fmt.Sprintf("%dMB/agent", size>>20), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				l.agent("a7").write(ask(fmt.Sprint("n", size, i), ""))
				next(b, r)
			}
		})
	}
}
