package sessions_test

import (
	"bufio"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
)

// A longSession is one that is being written.
type longSession struct {
	b    *testing.B
	path string
	last int // the number of the last entry
	said int // and that of the last one of a subagent
}

// line returns the next entry.
func (s *longSession) line(kind, content, more string) string {
	parent := ""
	if s.last > 0 {
		parent = fmt.Sprint("u", s.last)
	}
	s.last++
	message := fmt.Sprintf(`,"sessionId":%q,"message":{"id":"m%d","role":%q,"content":%s}`, idA, s.last, kind, content)
	return string(entry(kind, fmt.Sprint("u", s.last), parent, message+more)) + "\n"
}

// turn returns a prompt and some calls with results of 3 KB each.
func (s *longSession) turn(calls int) string {
	var text strings.Builder
	text.WriteString(s.line("user", `"Go on"`, ""))
	for range calls {
		text.WriteString(s.call("Bash"))
	}
	return text.String()
}

func (s *longSession) call(tool string) string {
	id := fmt.Sprint("t", s.last)
	out := strings.Repeat("a line of output\\n", 80)
	return s.line("assistant", `[{"type":"tool_use","id":"`+id+`","name":"`+tool+`","input":{"command":"make"}}]`, "") +
		s.line("user", `[{"type":"tool_result","tool_use_id":"`+id+`","content":"`+out+`"}]`,
			`,"toolUseResult":{"stdout":"`+out+`"}`)
}

// newLongSession writes one of about size bytes, with that many subagents.
func newLongSession(b *testing.B, size, agents int) *longSession {
	b.Helper()
	s := &longSession{b: b, path: filepath.Join(b.TempDir(), idA+".jsonl")}
	file, err := os.Create(s.path)
	if err != nil {
		b.Fatal(err)
	}
	w := bufio.NewWriter(file)
	written := 0
	for i := 0; written < size || i < agents; i++ {
		text := s.turn(10)
		if i < agents {
			meta := fmt.Sprintf(`{"toolUseId":"t%d","agentType":"Explore"}`, s.last)
			text += s.call("Agent")
			err = errors.Join(err, writePiece(sidecar(s.path, fmt.Sprint(i)), meta),
				writePiece(agentPath(s.path, fmt.Sprint(i)), agentLine(fmt.Sprint("a", i), "")))
		}
		n, e := w.WriteString(text)
		written, err = written+n, errors.Join(err, e)
	}
	if err = errors.Join(err, w.Flush(), file.Close()); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkTailAppend appends to a large session, or to one of its subagents, and waits for the update. The time must
// not depend on the length of the session, nor on how many subagents it has, but where subagents are called.
func BenchmarkTailAppend(b *testing.B) {
	for _, test := range []struct {
		name         string
		size, agents int
		text         func(*longSession) (path, text string)
	}{
		{"60MB", 60 << 20, 78, func(s *longSession) (string, string) { return s.path, s.turn(3) }},
		{"1MB", 1 << 20, 78, func(s *longSession) (string, string) { return s.path, s.turn(3) }},
		{"2000_agents", 1 << 20, 2000, func(s *longSession) (string, string) { return s.path, s.turn(3) }},
		{"to_one_of_2000_agents", 1 << 20, 2000, func(s *longSession) (string, string) {
			parent := "a1000"
			if s.said > 0 {
				parent = fmt.Sprint("b", s.said)
			}
			s.said++
			return agentPath(s.path, "1000"), agentLine(fmt.Sprint("b", s.said), parent)
		}},
		{"call_of_an_agent", 60 << 20, 78, func(s *longSession) (string, string) { return s.path, s.call("Agent") }},
		{"call_beside_2000_agents", 1 << 20, 2000, func(s *longSession) (string, string) { return s.path, s.call("Agent") }},
	} {
		b.Run(test.name, func(b *testing.B) {
			s := newLongSession(b, test.size, test.agents)
			next, stop := iter.Pull2(sessions.TailFile(b.Context(), s.path, nil))
			defer stop()
			for range test.agents + 1 {
				if _, err, _ := next(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				path, text := test.text(s)
				b.SetBytes(int64(len(text)))
				b.StartTimer()
				if err := writePiece(path, text); err != nil {
					b.Fatal(err)
				}
				if _, err, _ := next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
