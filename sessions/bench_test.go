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
	"github.com/clewdev/clew/wire"
)

// BenchmarkList lists many sessions, each of a few entries. The time for each session must not grow
// with their number.
func BenchmarkList(b *testing.B) {
	for _, count := range []int{1_000, 10_000} {
		memory, folder := sessions.NewMemory(), sessions.NewFolder(b.TempDir())
		for i := range count {
			key := wire.SessionKey{Project: fmt.Sprintf("p-%d", i%100), SessionID: id(i)}
			for _, s := range []sessions.Store{memory, folder} {
				if err := s.Append(b.Context(), key, []wire.JSON{user("1", ""), assistant("2", "1")}); err != nil {
					b.Fatal(err)
				}
			}
		}
		for name, s := range map[string]sessions.Store{
			"summarizer": memory, "loaded": loadedStore{memory, memory}, "folder": folder,
		} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					infos, err := sessions.List(b.Context(), &sessions.ListOptions{Store: s})
					if err != nil || len(infos) != count {
						b.Fatalf("got %d sessions, %v", len(infos), err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/session")
			})
		}
	}
}

// BenchmarkListLarge lists 200 sessions of 340 MB: only the ends of the files are read.
func BenchmarkListLarge(b *testing.B) {
	const count, lines = 200, 560
	dir := b.TempDir()
	var text strings.Builder
	text.WriteString(string(prompt(`"Said first"`)) + "\n")
	for i := range lines {
		text.WriteString(string(entry("user", fmt.Sprint(i), fmt.Sprint(i-1),
			`,"cwd":"/code","timestamp":"2026-05-01T00:00:00Z","text":"`+strings.Repeat("x \\n", 750)+`"`)) + "\n")
	}
	for i := range count {
		file := filepath.Join(dir, fmt.Sprintf("p-%d", i%20), id(i)+".jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		infos, err := sessions.List(b.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir)})
		if err != nil || len(infos) != count {
			b.Fatalf("got %d sessions, %v", len(infos), err)
		}
	}
}

// BenchmarkRename renames a session of 100 MB: the file is not read.
func BenchmarkRename(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "p", idA+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		b.Fatal(err)
	}
	line := string(entry("user", "1", "", `,"text":"`+strings.Repeat("x", 2000)+`"`)) + "\n"
	if err := os.WriteFile(file, []byte(strings.Repeat(line, 50_000)), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := sessions.Rename(b.Context(), idA, "A title", &sessions.Options{Store: sessions.NewFolder(dir)}); err != nil {
			b.Fatal(err)
		}
	}
}

// A loadedStore has no summaries.
type loadedStore struct {
	sessions.Store
	sessions.ProjectLister
}

// BenchmarkFolderAppend appends one entry to a large file: for the first time, when the file is
// read for its UUIDs, and after that.
func BenchmarkFolderAppend(b *testing.B) {
	const size = 200 << 20
	dir := b.TempDir()
	file := filepath.Join(dir, "p", idA+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for i := 0; text.Len() < size; i++ {
		text.WriteString(string(entry("user", fmt.Sprint(i), "", `,"text":"`+strings.Repeat("x", 2000)+`"`)) + "\n")
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	known := sessions.NewFolder(dir)
	if err := known.Append(b.Context(), keyA, []wire.JSON{user("known", "")}); err != nil {
		b.Fatal(err)
	}
	for name, folder := range map[string]func() *sessions.Folder{
		"first": func() *sessions.Folder { return sessions.NewFolder(dir) },
		"later": func() *sessions.Folder { return known },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := folder().Append(b.Context(), keyA, []wire.JSON{user(fmt.Sprint(name, i), "")}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A longSession is a session that is being written.
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

// newLongSession writes a session of about size bytes, with the given number of subagents.
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

// BenchmarkTailAppend appends to a large session, or to one of its subagents, and waits for the
// update. The time must not depend on the length of the session, nor on the number of subagents,
// except where subagents are called.
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

// manySessions writes small sessions in 100 projects.
func manySessions(tb testing.TB, count int) *sessions.Folder {
	tb.Helper()
	dir := tb.TempDir()
	text := []byte(user("1", "") + "\n" + assistant("2", "1") + "\n")
	for i := range count {
		file := filepath.Join(dir, fmt.Sprintf("p-%d", i%100), id(i)+".jsonl")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return sessions.NewFolder(dir)
}

// BenchmarkNames lists 10,000 sessions without opening one of them, and BenchmarkSummarize reads
// the summaries of the 50 that fit on a screen.
func BenchmarkNames(b *testing.B) {
	folder := manySessions(b, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		infos, err := sessions.Names(b.Context(), &sessions.ListOptions{Store: folder})
		if err != nil || len(infos) != 10_000 {
			b.Fatalf("got %d sessions, %v", len(infos), err)
		}
	}
}

func BenchmarkSummarize(b *testing.B) {
	folder := manySessions(b, 50)
	infos, err := sessions.Names(b.Context(), &sessions.ListOptions{Store: folder})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if read := sessions.Summarize(b.Context(), infos); read[0].Err != nil {
			b.Fatal(read[0].Err)
		}
	}
}

// BenchmarkTailFirst follows a large session with subagents until its first update, and until
// everything that exists was read.
func BenchmarkTailFirst(b *testing.B) {
	s := newLongSession(b, 57<<20, 47)
	for name, wants := range map[string]func(*sessions.Update) bool{
		"first update": func(*sessions.Update) bool { return true },
		"all":          func(u *sessions.Update) bool { return !u.Loading },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(57 << 20)
			b.ReportAllocs()
			for b.Loop() {
				for u, err := range sessions.TailFile(b.Context(), s.path, nil) {
					if err != nil {
						b.Fatal(err)
					}
					if wants(u) {
						break
					}
				}
			}
		})
	}
}

// BenchmarkWatch starts to watch 10,000 sessions, and waits for the list after one of them has
// grown, beside the pause between two lists.
func BenchmarkWatch(b *testing.B) {
	folder := manySessions(b, 10_000)
	opts := &sessions.WatchOptions{Store: folder}
	b.Run("start", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for infos, err := range sessions.Watch(b.Context(), opts) {
				if err != nil || len(infos) != 10_000 {
					b.Fatalf("got %d sessions, %v", len(infos), err)
				}
				break
			}
		}
	})
	b.Run("grown", func(b *testing.B) {
		next, stop := iter.Pull2(sessions.Watch(b.Context(), opts))
		defer stop()
		infos, err, _ := next()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := writePiece(infos[5000].Path, "{}\n"); err != nil {
				b.Fatal(err)
			}
			if infos, err, _ = next(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
