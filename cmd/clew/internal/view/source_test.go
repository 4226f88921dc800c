package view

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/search"
)

const (
	one = "11111111-0000-4000-8000-000000000001"
	two = "22222222-0000-4000-8000-000000000002"
)

// entries are lines of a transcript: a prompt, an answer, and a call without a result.
func entries(id, cwd string) string {
	user := `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Fix the parser, my key is sk-ant-api03-` +
		strings.Repeat("aB3dE5gH7jK9mN1pQ3s", 5) + `"},"uuid":"u1","timestamp":"2026-11-15T10:00:01Z","cwd":"` + cwd + `","sessionId":"` + id + `"}`
	text := `{"parentUuid":"u1","isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-5-5",` +
		`"content":[{"type":"text","text":"I look at **it**."}]},"uuid":"u2","timestamp":"2026-11-15T10:00:02Z","cwd":"` + cwd + `","sessionId":"` + id + `"}`
	call := `{"parentUuid":"u2","isSidechain":false,"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-opus-5-5",` +
		`"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test"}}]},"uuid":"u3","timestamp":"2026-11-15T10:00:03Z","cwd":"` +
		cwd + `","sessionId":"` + id + `"}`
	return user + "\n" + text + "\n" + call + "\n"
}

// newSource returns a source in a home with two sessions, in a directory of the first one.
func newSource(t *testing.T) (s *Source, dir string) {
	t.Helper()
	home := t.TempDir()
	dir = filepath.Join(home, "work")
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, ".claude"))
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	for i, id := range []string{one, two} {
		cwd := dir
		if i > 0 {
			cwd = filepath.Join(home, "other")
		}
		if err := os.MkdirAll(cwd, 0o700); err != nil {
			t.Fatal(err)
		}
		name, err := sessions.ProjectName(cwd)
		if err != nil {
			t.Fatal(err)
		}
		project := filepath.Join(home, ".claude", "projects", name)
		if err := os.MkdirAll(project, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(project, id+".jsonl"), []byte(entries(id, cwd)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = New(Options{Dir: dir, AgentPath: os.Args[0]})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

// info returns the info of a session.
func info(t *testing.T, s *Source, id string) sessions.SessionInfo {
	t.Helper()
	for infos, err := range s.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range s.Summarize(t.Context(), infos) {
			if i.ID == id {
				return i
			}
		}
		break
	}
	t.Fatalf("no session %s", id)
	return sessions.SessionInfo{}
}

func TestSource(t *testing.T) {
	s, dir := newSource(t)
	ctx := t.Context()
	first := info(t, s, one)
	if first.CWD != dir || !strings.HasPrefix(first.Title(), "Fix the parser") {
		t.Errorf("the first session is %+v", first)
	}
	if here := s.Here(ctx); len(here) != 1 || !here[first.Project] {
		t.Errorf("the projects of this directory are %v", here)
	}
	got, err := s.Glance(ctx, first)
	if want := (Glance{Prompt: got.Prompt, Answer: "I look at **it**.", Call: "Bash go test"}); err != nil || got != want {
		t.Errorf("at a glance: %+v, %v", got, err)
	}
	if figures := s.Measure(ctx, []sessions.SessionInfo{first}); figures[0].Turns != 1 {
		t.Errorf("figures: %+v", figures)
	}
	if running, err := s.Running(ctx); err != nil || len(running) > 0 {
		t.Errorf("running: %v, %v", running, err)
	}
	if _, err := s.Glance(ctx, sessions.SessionInfo{Path: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("at a glance at nothing: %v", err)
	}
}

func TestFollow(t *testing.T) {
	s, _ := newSource(t)
	f := s.Follow(info(t, s, one))
	defer f.Close()
	for {
		n, err := f.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Transcript != nil && !n.Loading {
			if len(n.Transcript.Chunks) != 2 {
				t.Errorf("%d chunks", len(n.Transcript.Chunks))
			}
			return
		}
	}
}

func TestChange(t *testing.T) {
	s, _ := newSource(t)
	ctx, first := t.Context(), info(t, s, one)
	if err := errors.Join(s.Rename(ctx, first, "Another title"), s.Tag(ctx, first, "done")); err != nil {
		t.Fatal(err)
	}
	if got := info(t, s, one); got.Title() != "Another title" || got.Tag != "done" {
		t.Errorf("it is %+v", got.Summary)
	}
	if err := s.Delete(ctx, first); err != nil {
		t.Fatal(err)
	}
	trash, err := s.Trash(ctx)
	if err != nil || len(trash) != 1 || trash[0].ID != one || trash[0].Title != "Another title" {
		t.Fatalf("the trash has %+v, %v", trash, err)
	}
	if err := s.Restore(ctx, trash[0]); err != nil {
		t.Fatal(err)
	}
	info(t, s, one)
}

// A page has no secrets, only the user can read it, and it replaces no file.
func TestExport(t *testing.T) {
	s, dir := newSource(t)
	first := info(t, s, one)
	for _, name := range []string{"clew-11111111.html", "clew-11111111-2.html"} {
		path, err := s.Export(t.Context(), first, false)
		if err != nil || path != filepath.Join(dir, name) {
			t.Fatalf("exported to %s, %v", path, err)
		}
		page, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(page), "Fix the parser") || strings.Contains(string(page), "sk-ant-api03-a") {
			t.Errorf("the page: %v", err)
		}
		if stat, err := os.Stat(path); err != nil || stat.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", stat.Mode(), err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if path, err := s.Export(canceled, first, false); err == nil {
		t.Errorf("exported to %s although it was canceled", path)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 {
		t.Errorf("there are %q", left)
	}
}

// A page for the browser is in a directory that only the user can read, and is removed when it is a
// day old and another one is made.
func TestExportShown(t *testing.T) {
	s, _ := newSource(t)
	t.Setenv("PATH", t.TempDir()) // there is no browser
	show := func() string {
		t.Helper()
		path, err := s.Export(t.Context(), info(t, s, one), true)
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Fatalf("shown at %q, %v", path, err)
		}
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "clew", "pages")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // it is made private
		t.Fatal(err)
	}
	old, kept := show(), show()
	if filepath.Dir(old) != dir || filepath.Dir(kept) != dir || old == kept {
		t.Errorf("the pages are %s and %s", old, kept)
	}
	if stat, err := os.Stat(dir); err != nil || stat.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", stat.Mode(), err)
	}
	yesterday := time.Now().Add(-pageAge)
	if err := os.Chtimes(old, yesterday, yesterday); err != nil {
		t.Fatal(err)
	}
	if again := show(); again != old {
		t.Errorf("the old page is still there, and the new one is %s", again)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

func TestMarkdown(t *testing.T) {
	s, _ := newSource(t)
	first := info(t, s, one)
	whole, err := s.Markdown(t.Context(), first, nil)
	if err != nil || !strings.Contains(whole, "Fix the parser") || !strings.Contains(whole, "I look at **it**.") {
		t.Errorf("as Markdown: %v\n%s", err, whole)
	}
	part, err := s.Markdown(t.Context(), first, []int{2, 9})
	if err != nil || strings.Contains(part, "Fix the parser") || !strings.Contains(part, "I look at **it**.") {
		t.Errorf("a line as Markdown: %v\n%s", err, part)
	}
}

func TestEntry(t *testing.T) {
	s, _ := newSource(t)
	first := info(t, s, one)
	f := s.Follow(first)
	defer f.Close()
	n, err := f.Next(t.Context())
	for err == nil && n.Transcript == nil {
		n, err = f.Next(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	at := n.Transcript.Chunks[1].Items[0].At
	entry, err := s.Entry(t.Context(), first, "", at)
	if err != nil || !strings.Contains(string(entry), `"uuid":"u2"`) {
		t.Errorf("the entry is %s, %v", entry, err)
	}
	if _, err := s.Spill(t.Context(), first, "../../../etc/passwd"); err == nil {
		t.Error("a file elsewhere was read")
	}
}

func TestSearch(t *testing.T) {
	s, _ := newSource(t)
	for words, want := range map[string]int{
		"parser": 2, "pars": 2, "parser zzz": 2, "zzz": 0, "parser -look": 0, "parser -zzz": 2, `"parser zzz"`: 0, "role:prompt parser": 2, "role:answer parser": 0, "tool:Bash test": 2, "tool:Read test": 0,
		"project:work look": 1, `"look at" it`: 2, "": 0, "role:prompt": 0,
	} {
		found, err := s.Search(t.Context(), words, 10, nil)
		if err != nil {
			t.Errorf("%q: %v", words, err)
			continue
		}
		if got := len(found.Sessions); got != want {
			t.Errorf("%q is in %d sessions, want %d", words, got, want)
		}
		for _, f := range found.Sessions {
			if f.Info.Path == "" || f.Info.Title() == "" || len(f.Hits) == 0 {
				t.Errorf("%q: %+v", words, f)
			}
		}
	}
	if _, err := s.Search(t.Context(), "role:nobody x", 10, nil); err == nil {
		t.Error("there is no role nobody")
	}
	if _, err := s.Search(t.Context(), "+++", 10, nil); err == nil {
		t.Error("punctuation was searched for")
	}
}

// A search during the first update finds the sessions in the index so far, and a later one the
// rest.
func TestSearchWhileTheIndexGrows(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	index := filepath.Join(t.TempDir(), "search.db")
	project := filepath.Join(dir, "-project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{one, two} {
		path := filepath.Join(project, id+".jsonl")
		text := entries(id, dir) + strings.Repeat("x", quickUpdate/2) + "\n" // a step for each
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 11, 15-i, 10, 0, 0, 0, time.UTC)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	list := func() (files []sessions.File, size int64) {
		t.Helper()
		for f, err := range sessions.Files(t.Context(), &sessions.Options{Store: sessions.NewFolder(dir)}) {
			if err != nil {
				t.Fatal(err)
			}
			files, size = append(files, f), size+f.Info.Size()
		}
		slices.SortFunc(files, func(a, b sessions.File) int { return strings.Compare(a.Path, b.Path) })
		return files, size
	}
	query, err := search.Parse("parser")
	if err != nil {
		t.Fatal(err)
	}
	files, size := list()
	s := New(Options{})
	inSecond, release := make(chan struct{}), make(chan struct{})
	announce := sync.OnceFunc(func() { close(inSecond) })
	s.index.read = func(done int64) {
		if done > size/2 {
			announce()
			<-release
		}
	}
	goOn := sync.OnceFunc(func() { close(release) })
	t.Cleanup(func() {
		goOn()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	find := func(want ...string) *Indexing {
		t.Helper()
		result, indexing, err := s.lookUp(t.Context(), index, files, query, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, h := range result.Hits {
			got = append(got, h.SessionID)
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		return indexing
	}

	if indexing := find(); indexing == nil {
		t.Error("nothing is known of the first update")
	}
	<-inSecond
	for range 2 {
		if indexing := find(one); indexing == nil || indexing.Percent() < 40 || indexing.Percent() > 60 {
			t.Errorf("in the middle: %+v", indexing)
		}
	}
	goOn()
	polltest.Until(t, "the update", func() bool { return !s.index.runs() })
	if indexing := find(one, two); indexing != nil {
		t.Errorf("at the end: %+v", indexing)
	}

	// Only what is new in a long transcript counts.
	file, err := os.OpenFile(files[0].Path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString(strings.Repeat("y", quickUpdate-100) + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	files, _ = list()
	if indexing := find(one, two); indexing != nil {
		t.Errorf("of a transcript that grows: %+v", indexing)
	}

	// A file that can't be read is tried once.
	files[0].Info = sized{files[0].Info, 4 * quickUpdate}
	files[0].Path = filepath.Join(files[1].Path, "below.jsonl")
	if indexing := find(two); indexing == nil {
		t.Error("a long file is read before the results are shown")
	}
	polltest.Until(t, "the update", func() bool { return !s.index.runs() })
	for range 2 {
		if indexing := find(two); indexing != nil || s.index.runs() {
			t.Errorf("it is tried again: %+v", indexing)
		}
	}
	result, _, err := s.lookUp(t.Context(), index, files, query, nil)
	if err != nil || len(result.Unread) != 1 {
		t.Errorf("unread %v, error %v", result.Unread, err)
	}
}

// A sized is about a file of another size.
type sized struct {
	os.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }

func TestParseQuery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`a b`: {"a", "b"}, `"a b" c`: {`"a b"`, "c"}, `"a b`: {`"a b`}, "  ": nil, "x:y": {"x:y"}, "\ta  b ": {"a", "b"},
	} {
		if diff := cmp.Diff(want, splitWords(text), cmp.Transformer("", func(s []string) string { return strings.Join(s, "|") })); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	q, project, err := parseQuery("role:tool tool:Bash project:x word")
	if err != nil || project != "x" || q.Role != search.Tool || q.Tool != "Bash" {
		t.Errorf("%+v, %s, %v", q, project, err)
	}
}

// TestOtherConfigDir resumes sessions of a directory that an agent would not look in by itself.
func TestOtherConfigDir(t *testing.T) {
	s, _ := newSource(t)
	first := info(t, s, one)
	home, own := os.Getenv("HOME"), os.Getenv("CLAUDE_CONFIG_DIR")
	command := func() (line string, env []string) {
		t.Helper()
		r, err := s.Command(Program{Kind: ResumeAgent, Info: first})
		if err != nil {
			t.Fatal(err)
		}
		return ResumeCommand(one, "", first.Path), r.(*program).cmd.Env //nolint:forcetypeassert // it is one
	}
	for config, isOwn := range map[string]bool{
		own: true, "": true, own + string(filepath.Separator): true, own + "," + home: true, home + "," + own: false,
		home: true, // its agents don't look there, and a directory that nobody named may have anybody's settings
	} {
		t.Setenv("CLAUDE_CONFIG_DIR", config)
		line, env := command()
		want := "CLAUDE_CONFIG_DIR=" + own
		if strings.HasPrefix(line, "CLAUDE_CONFIG_DIR="+tty.ShellWord(own)+" claude --resume ") == isOwn || strings.HasPrefix(line, "claude --resume ") != isOwn {
			t.Errorf("CLAUDE_CONFIG_DIR=%s: %s", config, line)
		}
		if got := len(env) > 0 && env[len(env)-1] == want; got == isOwn {
			t.Errorf("CLAUDE_CONFIG_DIR=%s: %q", config, env)
		}
	}
	sessions.SetArchiveRoots([]string{own})
	t.Cleanup(func() { sessions.SetArchiveRoots(nil) })
	if line := ResumeCommand(one, "", first.Path); line != "claude --resume "+one {
		t.Errorf("in an archive: %s", line)
	}
}

func TestCommand(t *testing.T) {
	s, dir := newSource(t)
	first := info(t, s, one)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[ProgramKind]string{
		ResumeAgent: os.Args[0] + " --resume " + one, ContinueChat: self + " chat --resume " + one,
		ForkChat: self + " chat --resume " + one + " --fork-session",
	} {
		r, err := s.Command(Program{Kind: kind, Info: first})
		if err != nil {
			t.Fatal(err)
		}
		cmd := r.(*program).cmd //nolint:forcetypeassert // it is one
		if got := strings.Join(cmd.Args, " "); got != want || cmd.Dir != dir {
			t.Errorf("%s runs %s in %s, want %s", kind, got, cmd.Dir, want)
		}
	}
	first.CWD = filepath.Join(dir, "gone")
	if _, err := s.Command(Program{Kind: ResumeAgent, Info: first}); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("in a directory that is gone: %v", err)
	}
	if _, err := s.Command(Program{Kind: "dance"}); err == nil {
		t.Error("it can dance")
	}
}

// A text is in a private file while it is shown, and nowhere afterwards.
func TestShow(t *testing.T) {
	if _, err := exec.LookPath("stat"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no stat with these options")
	}
	s, dir := newSource(t)
	t.Setenv("TMPDIR", dir)
	for _, name := range []string{"row.txt", "", "../../etc/x", "/"} {
		out := filepath.Join(dir, "out")
		t.Setenv("OUT", out)
		t.Setenv("VISUAL", `sh -c 'cat "$0" >"$OUT"; stat -c %a "$0" >>"$OUT"'`)
		r, err := s.Command(Program{Kind: ShowText, Text: "the text\n", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Run(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(out); err != nil || string(got) != "the text\n600\n" {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "clew-*")); len(left) > 0 {
			t.Errorf("it leaves %q", left)
		}
	}
	t.Setenv("VISUAL", "exit 3; true")
	r, err := s.Command(Program{Kind: ShowText, Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(); err == nil || !strings.Contains(err.Error(), "ended with code 3") {
		t.Errorf("a program that fails: %v", err)
	}
}

func TestUserProgram(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	standard := userProgram(none, "less")
	for _, tt := range []struct {
		env        map[string]string
		show, edit string
	}{
		{map[string]string{"VISUAL": "vi", "EDITOR": "ed", "PAGER": "more"}, "vi", "vi"},
		{map[string]string{"EDITOR": "ed", "PAGER": "more"}, "ed", "ed"},
		{map[string]string{"EDITOR": " ", "PAGER": "more"}, "more", standard},
		{map[string]string{"EDITOR": `""`}, standard, standard},
		{map[string]string{"PAGER": "cat"}, standard, standard},
		{nil, standard, standard},
	} {
		lookup := func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok }
		if got := userProgram(lookup, "less", "VISUAL", "EDITOR", "PAGER"); got != tt.show {
			t.Errorf("%v: %s shows a text, want %s", tt.env, got, tt.show)
		}
		if got := userProgram(lookup, "less", "VISUAL", "EDITOR"); got != tt.edit {
			t.Errorf("%v: %s edits, want %s", tt.env, got, tt.edit)
		}
	}
}

// The path of an editor can have blanks, and so can that of the file.
func TestEditor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My Editors")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	editor, text := filepath.Join(dir, "an editor"), filepath.Join(dir, "a text")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf '%s|' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", "")
	if runtime.GOOS == "windows" {
		t.Skip("it has no scripts of sh")
	}
	for _, command := range []string{`"` + editor + `" -w "two words"`, "'" + editor + "' -w 'two words'"} {
		t.Setenv("EDITOR", command)
		out, err := Editor(t.Context(), text).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(out), "-w|two words|"+text+"|"; got != want {
			t.Errorf("%s got %s, want %s", command, got, want)
		}
	}
}

func TestQuotedWords(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`notepad`: `notepad`,
		`"C:\Program Files\Vim\gvim.exe" -f --cmd "set x"`: `C:\Program Files\Vim\gvim.exe|-f|--cmd|set x`,
		`  code   --wait `:               `code|--wait`,
		`C:\"Program Files"\code --wait`: `C:\Program Files\code|--wait`,
	} {
		if got := strings.Join(quotedWords(command), "|"); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// The name of a file that is viewed could be taken for a flag of the agent.
func TestCommandRefusesOtherFiles(t *testing.T) {
	t.Parallel()
	s := New(Options{AgentPath: os.Args[0]})
	defer s.Close()
	for _, kind := range []ProgramKind{ResumeAgent, ContinueChat, ForkChat} {
		for _, id := range []string{"", "notes", "--dangerously-skip-permissions"} {
			if _, err := s.Command(Program{Kind: kind, Info: sessions.SessionInfo{ID: id}}); err == nil {
				t.Errorf("%s of %q: no error", kind, id)
			}
		}
		if _, err := s.Command(Program{Kind: kind, Info: sessions.SessionInfo{ID: "de1b4c1c-0000-4000-8000-000000000001"}}); err != nil {
			t.Errorf("%s of a session: %v", kind, err)
		}
	}
}

// TestAgentEnv gives an agent the environment of the options, and the chat of this program its own.
func TestAgentEnv(t *testing.T) {
	t.Parallel()
	src := New(Options{AgentPath: os.Args[0], AgentEnv: []string{"A=b"}})
	defer src.Close()
	job := Program{Info: sessions.SessionInfo{ID: one}}
	agent, err := src.agentCommand(job)
	if err != nil {
		t.Fatal(err)
	}
	chat, err := chatCommand(job)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A=b"}, agent.Env); diff != "" || chat.Env != nil {
		t.Errorf("(-want +got)\n%s, chat %q", diff, chat.Env)
	}
}
