package sessions_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

func openSession(t *testing.T, dir string) *sessions.Session {
	t.Helper()
	s, err := sessions.Open(t.Context(), idA, &sessions.Options{Store: sessions.NewFolder(dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", string(prompt(`"Said"`))+"\n")
	s := openSession(t, dir)
	if want := filepath.Join(dir, "p", idA+".jsonl"); s.Path() != want || s.Title() != "Said" || s.ID != idA {
		t.Errorf("got %q, %+v", s.Path(), s.SessionInfo)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Entry(t.Context(), "", wire.Position{Line: 1, Bytes: 5}); err == nil {
		t.Error("a closed session is read")
	}
	memory := sessions.NewMemory()
	mustAppend(t, memory, keyA, user("1", ""))
	if _, err := sessions.Open(t.Context(), idA, &sessions.Options{Store: memory}); err == nil {
		t.Error("a session in memory was opened")
	}
	_, err := sessions.Open(t.Context(), idB, &sessions.Options{Store: sessions.NewFolder(dir)})
	if !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// at returns the position of the n-th line, from 1.
func at(content string, n int) wire.Position {
	p := wire.Position{}
	for line := range strings.Lines(content) {
		p.Line, p.Offset, p.Bytes = p.Line+1, p.Offset+p.Bytes, int64(len(line))
		if p.Line == n {
			break
		}
	}
	return p
}

func TestSessionEntry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	main := string(user("1", "")) + "\n\x00\x00" + string(user("2", "1")) + "\n{broken\n"
	write(t, dir, "p/"+idA+".jsonl", main)
	write(t, dir, "p/"+idA+"/subagents/workflows/run/agent-a.jsonl", string(user("3", ""))+"\n")
	old := "{}\n" + `{"type":"user","uuid":"4","sessionId":"` + idA + `"}`
	write(t, dir, "p/agent-old.jsonl", old)
	write(t, dir, "p/agent-other.jsonl", `{"type":"user","uuid":"5","sessionId":"`+idB+`"}`)
	s := openSession(t, dir)
	for _, tt := range []struct {
		agent string
		at    wire.Position
		want  string
	}{
		{"", at(main, 1), "1"}, {"", at(main, 2), "2"}, {"a", at(string(user("3", "")), 1), "3"},
		{"old", at(old, 2), "4"},
	} {
		entry, err := s.Entry(t.Context(), tt.agent, tt.at)
		if err != nil || entry.UUID != tt.want || entry.Position != tt.at {
			t.Errorf("%q at %+v: got %+v, %v", tt.agent, tt.at, entry, err)
		}
	}
	for name, bad := range map[string]wire.Position{
		"no entry": at(main, 3), "nothing": {}, "behind the end": {Offset: 1 << 40, Bytes: 10}, "in front": {Offset: -5, Bytes: 10},
		"too much": {Bytes: 1 << 40}, "a part": {Offset: 3, Bytes: 10}, "more than there is": {Bytes: 1 << 20},
	} {
		if entry, err := s.Entry(t.Context(), "", bad); err == nil {
			t.Errorf("%s: got %+v", name, entry)
		}
	}
	for _, agent := range []string{"other", "none", "../../x"} {
		if _, err := s.Entry(t.Context(), agent, wire.Position{Bytes: 1}); !errors.Is(err, sessions.ErrNotFound) {
			t.Errorf("%q: got %v, want ErrNotFound", agent, err)
		}
	}
}

func TestSessionSpill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", string(user("1", ""))+"\n")
	write(t, dir, "p/"+idA+"/tool-results/a.txt", "long")
	write(t, dir, "p/"+idA+"/tool-results/pdf-1/page-01.jpg", "page")
	write(t, dir, "p/"+idA+"/secret.txt", "secret")
	write(t, dir, "p/"+idB+"/tool-results/b.txt", "another's")
	results := filepath.Join(dir, "p", idA, "tool-results")
	s := openSession(t, dir)
	for name, want := range map[string]string{
		"a.txt": "long", filepath.Join(results, "a.txt"): "long", "pdf-1/page-01.jpg": "page",
		"/elsewhere/projects/q/" + idA + "/tool-results/a.txt":          "long",
		`C:\Users\me\.claude\projects\q\` + idA + `\tool-results\a.txt`: "long",
	} {
		if got, err := s.Spill(name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{
		"", ".", "..", "../secret.txt", "pdf-1", "none.txt", filepath.Join(dir, "p", idA, "secret.txt"), "/etc/passwd",
		filepath.Join(dir, "p", idB, "tool-results", "b.txt"), results + "/../secret.txt", results + "/../../" + idB + "/tool-results/b.txt",
	} {
		if got, err := s.Spill(name); err == nil {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestSessionSpillLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", string(user("1", ""))+"\n")
	write(t, dir, "p/"+idA+"/tool-results/most.txt", strings.Repeat("x", 16<<20))
	write(t, dir, "p/"+idA+"/tool-results/more.txt", strings.Repeat("x", 16<<20+1))
	write(t, dir, "secret.txt", "secret")
	s := openSession(t, dir)
	if got, err := s.Spill("most.txt"); err != nil || len(got) != 16<<20 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if got, err := s.Spill("more.txt"); err == nil || !strings.Contains(err.Error(), "16 MiB") || len(got) != 0 {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	link := filepath.Join(dir, "p", idA, "tool-results", "link.txt")
	if err := os.Symlink(filepath.Join(dir, "secret.txt"), link); err != nil {
		t.Skip("no symbolic links here: " + err.Error())
	}
	if got, err := s.Spill("link.txt"); err == nil {
		t.Errorf("through a link: got %q", got)
	}
}

// Loading yields entries for any content of a file, and entries appended to it can be loaded.
func FuzzFolder(f *testing.F) {
	f.Add("{\"uuid\":\"1\"}\n{\"type\":\"user\",\"uuid\":\"2\",\"parentUuid\":\"2\"}\n")
	f.Add("{\"uuid\":\"1\"")
	f.Add("\x00\x00\n\xff{}\n\r\n[]")
	f.Add("\ufeff{}\x00\x00{\"uuid\":\"1\"}\n{\x00")
	f.Add("{\"type\":\"user\",\"uuid\":\"2\",\"message\":{\"content\":[{\"type\":\"tool_result\"},7,{\"type\":\"text\"}]}}")
	f.Fuzz(func(t *testing.T, content string) {
		dir := t.TempDir()
		write(t, dir, "p/"+idA+".jsonl", content)
		touch(t, dir, "p/"+idA+".jsonl", 0) // so that it does not look as if an agent were writing it
		s := sessions.NewFolder(dir)
		skipped := 0
		s.Skipped = func(sessions.SkippedLine) { skipped++ }
		before := mustLoad(t, s, keyA)
		filled := 0
		for line := range strings.SplitSeq(strings.ReplaceAll(strings.TrimPrefix(content, "\ufeff"), "\x00", "\n"), "\n") {
			if strings.TrimSpace(line) != "" {
				filled++
			}
		}
		if len(before)+skipped != filled {
			t.Errorf("%d entries and %d skipped lines of %d", len(before), skipped, filled)
		}
		if has(before, "new") {
			return
		}
		mustAppend(t, s, keyA, `{"type":"user","uuid":"new"}`)
		after := mustLoad(t, s, keyA)
		for i, entry := range before {
			if after[i] != entry {
				t.Fatalf("entry %d was %q, and is %q", i, entry, after[i])
			}
		}
		last := after[len(after)-1]
		if uuid, err := sessions.EntryUUID(last); err != nil || uuid != "new" {
			t.Errorf("the last entry is %q, %v", last, err)
		}
		opts := &sessions.Options{Store: s}
		for _, err := range sessions.Messages(t.Context(), idA, opts) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := sessions.List(t.Context(), &sessions.ListOptions{Store: s}); err != nil {
			t.Fatal(err)
		}
		if _, err := sessions.Fork(t.Context(), idA, &sessions.ForkOptions{Store: s}); err != nil {
			t.Fatal(err)
		}
	})
}

func has(entries []wire.JSON, uuid string) bool {
	for _, entry := range entries {
		if got, _ := sessions.EntryUUID(entry); got == uuid {
			return true
		}
	}
	return false
}
