package sessions_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// timed returns a line of a conversation with a time.
func timed(kind string, at time.Time, content, more string) string {
	return fmt.Sprintf(`{"type":%q,"uuid":"u%d","timestamp":%q,"message":{"role":%q,"content":%s}%s}`+"\n",
		kind, at.UnixNano(), at.Format(time.RFC3339Nano), kind, content, more)
}

func TestMarkDone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := "p/" + idA + ".jsonl"
	write(t, dir, file, timed("user", time.Now().Add(-time.Hour), `"Go"`, ""))
	opts := &sessions.Options{Store: sessions.NewFolder(dir)}
	isDone := func() bool {
		t.Helper()
		info, err := sessions.Get(t.Context(), idA, opts)
		if err != nil {
			t.Fatal(err)
		}
		yes := true
		list, err := sessions.List(t.Context(), &sessions.ListOptions{Store: opts.Store, Done: &yes})
		if err != nil || (len(list) == 1) != info.Done {
			t.Errorf("%d sessions in the list, %v, but done: %v", len(list), err, info.Done)
		}
		return info.Done
	}
	set := func(change func() error, want bool) {
		t.Helper()
		before := read(t, dir, file)
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if isDone() != want || read(t, dir, file) != before {
			t.Errorf("done is %v, want %v", !want, want)
		}
	}
	mark := func() error { return sessions.MarkDone(t.Context(), idA, opts) }
	unmark := func() error { return sessions.UnmarkDone(t.Context(), idA, opts) }
	if isDone() {
		t.Error("a new session is done")
	}
	set(unmark, false)
	set(mark, true)
	set(mark, true)
	set(unmark, false)
	set(mark, true)
	if entries, err := os.ReadDir(filepath.Join(dir, "p", idA)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: a draft was left", entries, err)
	}

	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		line string
		want bool
	}{
		{timed("user", time.Now().Add(-time.Hour), `"An older prompt"`, ""), true},
		{timed("assistant", later, `[{"type":"text","text":"An answer"}]`, ""), true},
		{timed("user", later, `[{"type":"tool_result","tool_use_id":"t","content":"x"}]`, ""), true},
		{timed("user", later, `"For the model"`, `,"isMeta":true`), true},
		{timed("user", later.Add(time.Second), `"A new prompt"`, ""), false},
	} {
		appendLater(t, filepath.Join(dir, filepath.FromSlash(file)), c.line)
		if isDone() != c.want {
			t.Errorf("done is %v after %s", !c.want, c.line)
		}
	}
}

func appendLater(t *testing.T, path, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(content, text...), 0o600); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(2 * time.Hour) // after any mark, however coarse the clock of the disk is
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
}

// Of a done session that was written to since, a list reads what is newer than the mark, which
// is at the end. A prompt of a wrong clock before that shows that the rest was not read.
func TestDoneSessionIsReadFromItsEnd(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old := strings.Repeat(timed("assistant", now.Add(-time.Hour), `"`+strings.Repeat("x", 1000)+`"`, ""), 300)
	answers := strings.Repeat(timed("assistant", now.Add(time.Hour), `"`+strings.Repeat("x", 1000)+`"`, ""), 100)
	title := `{"type":"custom-title","customTitle":"Done"}` + "\n"
	prompt := timed("user", now.Add(time.Hour), `"More"`, "")
	for name, c := range map[string]struct {
		added string
		want  bool
	}{
		"a title":                   {title, true},
		"answers":                   {answers + title, true},
		"a prompt":                  {prompt + title, false},
		"a prompt and many answers": {prompt + answers, false},
		"a line without an end":     {strings.TrimSuffix(prompt, "\n"), false},
		"a long line":               {timed("user", now.Add(time.Hour), `"`+strings.Repeat("x", 1<<20)+`"`, ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder := sessions.NewFolder(dir)
			name := "p/" + idA + ".jsonl"
			write(t, dir, name, timed("user", now.Add(-time.Hour), `"Go"`, "")+old+prompt+old)
			if err := sessions.MarkDone(t.Context(), idA, &sessions.Options{Store: folder}); err != nil {
				t.Fatal(err)
			}
			appendLater(t, filepath.Join(dir, filepath.FromSlash(name)), c.added)
			list, err := sessions.List(t.Context(), &sessions.ListOptions{Store: folder})
			if err != nil || len(list) != 1 || list[0].Done != c.want {
				t.Errorf("got %+v, %v; want done %v", list, err, c.want)
			}
		})
	}
}

// An invalid mark counts as absent, and only files are opened.
func TestDoneMarks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mark string
		want bool
	}{
		"of another program": {`{"archived":true,"at":"2099-01-01T00:00:00Z","by":"desktop","more":1}`, true},
		"without a time":     {`{"archived":true}`, false},
		"of another type":    {`{"archived":"yes","at":"2099-01-01T00:00:00Z"}`, false},
		"no JSON":            {`archived`, false},
		"empty":              {``, false},
		"long":               {`{"archived":true,"at":"2099-01-01T00:00:00Z","by":"` + strings.Repeat("x", 1<<16) + `"}`, false},
	} {
		dir := t.TempDir()
		write(t, dir, "p/"+idA+".jsonl", string(user("1", ""))+"\n")
		write(t, dir, "p/"+idA+"/archived.json", c.mark)
		info, err := sessions.Get(t.Context(), idA, &sessions.Options{Store: sessions.NewFolder(dir)})
		if err != nil || info.Done != c.want {
			t.Errorf("%s: done %v, %v", name, info.Done, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", string(user("1", ""))+"\n")
	if err := os.MkdirAll(filepath.Join(dir, "p", idA, "archived.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	opts := &sessions.Options{Store: sessions.NewFolder(dir)}
	if info, err := sessions.Get(t.Context(), idA, opts); err != nil || info.Done {
		t.Errorf("a directory: %v, %v", info.Done, err)
	}
	if err := sessions.MarkDone(t.Context(), idA, opts); err == nil {
		t.Error("a directory was replaced")
	}
}

func TestMarkDoneErrors(t *testing.T) {
	t.Parallel()
	memory := memoryWith(t, idA)
	if err := sessions.MarkDone(t.Context(), idA, &sessions.Options{Store: memory}); err == nil || !strings.Contains(err.Error(), "files") {
		t.Errorf("in memory: %v", err)
	}
	missing := &sessions.Options{Store: sessions.NewFolder(t.TempDir())}
	if err := sessions.UnmarkDone(t.Context(), idA, missing); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("a missing session: %v", err)
	}
}

// Sessions that programs started can be left out of a list.
func TestListOnlyInteractive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, entrypoint := range []string{`,"entrypoint":"cli"`, `,"entrypoint":"sdk-cli"`, `,"entrypoint":"sdk-ts"`, ``} {
		write(t, dir, "p/"+id(i)+".jsonl", timed("user", time.Now(), `"Go"`, entrypoint))
	}
	for only, want := range map[bool][]string{false: {id(0), id(1), id(2), id(3)}, true: {id(0), id(3)}} {
		infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir), OnlyInteractive: only})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, info := range infos {
			got = append(got, info.ID)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("only %v: %q, want %q", only, got, want)
		}
	}
}

func TestImportOptions(t *testing.T) {
	t.Parallel()
	from := sessions.NewMemory()
	mustAppend(t, from, keyA, manyEntries(7, 1)...)
	side := keyA
	side.Subpath = "subagents/agent-a"
	mustAppend(t, from, side, manyEntries(2, 1)...)
	to := &countingStore{Store: sessions.NewMemory()}
	err := sessions.Import(t.Context(), to, idA, &sessions.ImportOptions{Store: from, OnlyMain: true, BatchEntries: 3})
	if err != nil || !slices.Equal(to.sizes, []int{3, 3, 1}) {
		t.Errorf("appends %v, %v", to.sizes, err)
	}
	if subpaths, err := to.Subpaths(t.Context(), wire.SessionKey{Project: keyA.Project, SessionID: idA}); err != nil || len(subpaths) > 0 {
		t.Errorf("subagents %q, %v", subpaths, err)
	}
	if err := sessions.Import(t.Context(), to, idA, &sessions.ImportOptions{Store: from, BatchEntries: -1}); err == nil {
		t.Error("a negative batch is no error")
	}
}
