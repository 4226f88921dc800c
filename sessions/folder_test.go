package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sessions/storetest"
	"github.com/clewdev/clew/wire"
)

const (
	idA = "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11"
	idB = "0c9b8f0e-64a5-4f0b-8a53-7b6c1f1d9e22"
)

var (
	keyA     = wire.SessionKey{Project: "p", SessionID: idA}
	keyAgent = wire.SessionKey{Project: "p", SessionID: idA, Subpath: "subagents/agent-1"}
)

func TestFolder(t *testing.T) {
	t.Parallel()
	storetest.RunDurable(t, func(_ *testing.T, dir string) sessions.Store { return sessions.NewFolder(dir) })
}

func mustAppend(t *testing.T, s sessions.Store, key wire.SessionKey, entries ...wire.JSON) {
	t.Helper()
	if err := s.Append(t.Context(), key, entries); err != nil {
		t.Fatal(err)
	}
}

func mustLoad(t *testing.T, s sessions.Store, key wire.SessionKey) []wire.JSON {
	t.Helper()
	var entries []wire.JSON
	for entry, err := range s.Load(t.Context(), key) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

func checkLoad(t *testing.T, s sessions.Store, key wire.SessionKey, want ...wire.JSON) {
	t.Helper()
	if diff := cmp.Diff(want, mustLoad(t, s, key)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", key, diff)
	}
}

// write writes a file in dir, and makes the directories it needs.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestFolderLayout(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "store")
	s := sessions.NewFolder(dir)
	mustAppend(t, s, keyA, `{"uuid":"1"}`, "{\n\"uuid\": \"2\"\r\n}")
	mustAppend(t, s, keyAgent, `{"type":"agent_metadata","toolUseId":"t"}`, `{"uuid":"3"}`)
	want := map[string]string{
		"p/" + idA + ".jsonl":                       " \t {\"uuid\":\"1\"}\n{ \"uuid\": \"2\"  }\t \t\n",
		"p/" + idA + "/subagents/agent-1.jsonl":     "{\"uuid\":\"3\"}\n",
		"p/" + idA + "/subagents/agent-1.meta.json": `{"toolUseId":"t"}`,
	}
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if private := info.Mode().Perm()&0o077 == 0; !private && runtime.GOOS != "windows" {
			t.Errorf("%s: others may use it: %v", path, info.Mode())
		}
		if rel, _ := filepath.Rel(dir, path); !entry.IsDir() {
			got[filepath.ToSlash(rel)] = read(t, dir, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	checkLoad(t, s, keyAgent, `{"toolUseId":"t","type":"agent_metadata"}`, `{"uuid":"3"}`)
}

func TestFolderBadLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := strings.Join([]string{
		`{"uuid":"1"}`, "", `{"uuid":`, "{\"text\":\"\xff\"}", strings.Repeat("\x00", 100), `[1]`, `{"uuid":"2"}{"uuid":"3"}`,
		`  {"uuid":"4"}` + "\r", `{"torn":"`,
	}, "\n")
	write(t, dir, "p/"+idA+".jsonl", content)
	touch(t, dir, "p/"+idA+".jsonl", 0)
	s := sessions.NewFolder(dir)
	type place struct {
		line   int
		offset int64
		torn   bool
	}
	var got []place
	s.Skipped = func(l sessions.SkippedLine) {
		if l.Err == nil || l.Key != keyA {
			t.Errorf("got %+v", l)
		}
		got = append(got, place{l.Line, l.Offset, l.Torn})
	}
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `  {"uuid":"4"}`+"\r")
	want := []place{{3, 14, false}, {4, 23, false}, {6, 137, false}, {7, 141, false}, {9, 182, true}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(place{})); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}

	mustAppend(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"5"}`)
	if got, want := read(t, dir, "p/"+idA+".jsonl"), content+"\n{\"uuid\":\"5\"}\n"; got != want {
		t.Errorf("after an append: got %q, want %q", got, want)
	}
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `  {"uuid":"4"}`+"\r", `{"uuid":"5"}`)
}

// Entries after NUL bytes that a crash left are read, including for a list.
func TestFolderEntryBehindNULs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	entry := string(prompt(`"Here"`))
	write(t, dir, "p/"+idA+".jsonl", strings.Repeat("\x00", 200_000)+entry+"\n")
	s := sessions.NewFolder(dir)
	s.Skipped = func(l sessions.SkippedLine) { t.Errorf("left out: %+v", l) }
	checkLoad(t, s, keyA, wire.JSON(entry))
	write(t, dir, "p/"+idA+".jsonl", `{"type":"mode"}`+"\n\x00\x00"+entry+"\n")
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: s})
	if diff := cmp.Diff([]string{"Here"}, titles(infos)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFolderCompletesLastLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", `{"uuid":"1"}`)
	touch(t, dir, "p/"+idA+".jsonl", 0)
	s := sessions.NewFolder(dir)
	checkLoad(t, s, keyA, `{"uuid":"1"}`)
	mustAppend(t, s, keyA, `{"uuid":"1"}`)
	mustAppend(t, s, keyA, `{"uuid":"2"}`)
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`)
}

func TestFolderSeesOtherWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, other := sessions.NewFolder(dir), sessions.NewFolder(dir)
	mustAppend(t, s, keyA, `{"uuid":"1"}`)
	mustAppend(t, other, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`)
	mustAppend(t, s, keyA, `{"uuid":"2"}`, `{"uuid":"3"}`)
	checkLoad(t, s, keyA, `{"uuid":"1"}`, `{"uuid":"2"}`, `{"uuid":"3"}`)

	shorter, longer := "{\"uuid\":\"9\"}\n", strings.Repeat("{\"uuid\":\"8\"}\n", 9)
	for _, content := range []string{shorter, longer} {
		write(t, dir, "p/"+idA+".jsonl", content)
		mustAppend(t, s, keyA, `{"uuid":"1"}`)
		if got := read(t, dir, "p/"+idA+".jsonl"); got != content+"{\"uuid\":\"1\"}\n" {
			t.Errorf("got %q", got)
		}
	}
}

// An endingContext ends after a number of calls of Err.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestFolderCanceledWhileItReads(t *testing.T) {
	t.Parallel()
	const n = 20
	entries := manyEntries(n, 1)
	cancelled := 0
	for left := range n + 10 {
		dir := t.TempDir()
		mustAppend(t, sessions.NewFolder(dir), keyA, entries...)
		s := sessions.NewFolder(dir)
		err := s.Append(&endingContext{t.Context(), left}, keyA, []wire.JSON{entries[1], `{"uuid":"new"}`})
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			cancelled++
			checkLoad(t, s, keyA, entries...)
		}
		mustAppend(t, s, keyA, entries[n-1], `{"uuid":"new"}`)
		checkLoad(t, s, keyA, append(entries[:n:n], `{"uuid":"new"}`)...)
	}
	if cancelled < n || cancelled == n+10 {
		t.Errorf("%d appends were cancelled", cancelled)
	}
}

func TestFolderListsOnlySessions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", "")
	write(t, dir, "p/"+idB+".jsonl", "{}\n")
	write(t, dir, "p/memory/notes.md", "x")
	write(t, dir, "p/sessions-index.json", "{}")
	write(t, dir, "p/"+idB+"/tool-results/x.txt", "x")
	write(t, dir, "p/"+idB+"/custom-title.json", "{}")
	write(t, dir, "p/"+idB+"/subagents/agent-2.jsonl", "{}\n")
	write(t, dir, "q/"+idA+".jsonl", "")
	write(t, dir, "history.jsonl", "{}\n")
	s := sessions.NewFolder(dir)
	times, err := s.Sessions(t.Context(), "p")
	if _, ok := times[idB]; err != nil || !ok || len(times) != 1 {
		t.Errorf("got sessions %v, %v", times, err)
	}
	subpaths, err := s.Subpaths(t.Context(), wire.SessionKey{Project: "p", SessionID: idB})
	if diff := cmp.Diff([]string{"subagents/agent-2"}, subpaths); diff != "" || err != nil {
		t.Errorf("%v, subpaths (-want +got):\n%s", err, diff)
	}
	projects, err := s.Projects(t.Context())
	if diff := cmp.Diff([]string{"p"}, projects); diff != "" || err != nil {
		t.Errorf("%v, projects (-want +got):\n%s", err, diff)
	}
	if err := s.Delete(t.Context(), wire.SessionKey{Project: "p", SessionID: idB}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "p", idB)); !os.IsNotExist(err) {
		t.Errorf("the session's folder is still there: %v", err)
	}
}

func TestAgentFolder(t *testing.T) {
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.FromSlash("/somewhere/config"))
	s, err := sessions.AgentFolder()
	if want := filepath.FromSlash("/somewhere/config/projects"); err != nil || s.String() != want {
		t.Errorf("got %v, %v, want %s", s, err, want)
	}
	home := t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	s, err = sessions.AgentFolder()
	if want := filepath.Join(home, ".claude", "projects"); err != nil || s.String() != want {
		t.Errorf("got %v, %v, want %s", s, err, want)
	}
}

// A change does not break a line that another process is writing: it waits until the line is
// complete. The clock of the test passes only while it waits.
func TestChangeWaitsForEndOfLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testChangeWaitsForEndOfLine)
}

func testChangeWaitsForEndOfLine(t *testing.T) {
	dir := t.TempDir()
	half, rest := `{"type":"user","uuid":"1","message":{"content":"Said`, " and done\"}}\n"
	write(t, dir, "p/"+idA+".jsonl", half)
	file := filepath.Join(dir, "p", idA+".jsonl")
	if err := os.Chtimes(file, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	opts := &sessions.Options{Store: sessions.NewFolder(dir)}
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	for name, change := range map[string]func() error{
		"Rename": func() error { return sessions.Rename(short, idA, "x", opts) },
		"Append": func() error { return opts.Store.Append(short, keyA, []wire.JSON{`{"uuid":"2"}`}) },
	} {
		if err := change(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want that it waits", name, err)
		}
	}
	if got := read(t, dir, "p/"+idA+".jsonl"); got != half {
		t.Fatalf("the file is now %q", got)
	}
	done := make(chan error)
	go func() { done <- sessions.Rename(t.Context(), idA, "Renamed", opts) }()
	appendTo(t, file, rest)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := read(t, dir, "p/"+idA+".jsonl"); !strings.HasPrefix(got, half+rest+`{"type":"custom-title"`) {
		t.Errorf("the file is now %q", got)
	}
}

// appendTo writes to the end of a file as the agent does.
func appendTo(t *testing.T, name, text string) {
	t.Helper()
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Error(err)
		return
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		t.Error(err)
	}
}

// A session may be changed while an agent writes to it. Nothing of either is lost.
func TestChangeWhileWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	opts := &sessions.Options{Store: sessions.NewFolder(dir)}
	write(t, dir, "p/"+idA+".jsonl", string(user("0", ""))+"\n")
	file := filepath.Join(dir, "p", idA+".jsonl")
	lines, changes := soak.Size(150, 1500), soak.Size(15, 150)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range lines {
			appendTo(t, file, string(user(fmt.Sprint(i+1), fmt.Sprint(i)))+"\n")
		}
	}()
	for i := range changes {
		if err := sessions.Rename(t.Context(), idA, fmt.Sprint("Title ", i), opts); err != nil {
			t.Fatal(err)
		}
		if _, err := sessions.Fork(t.Context(), idA, &sessions.ForkOptions{Store: opts.Store}); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	opts.Store.(*sessions.Folder).Skipped = func(l sessions.SkippedLine) { t.Errorf("a line is broken: %+v", l) }
	if got := len(mustLoad(t, opts.Store, keyA)); got != 1+lines+changes {
		t.Errorf("got %d entries, want %d", got, 1+lines+changes)
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) sessions.Store { return sessions.NewMemory() })
}
