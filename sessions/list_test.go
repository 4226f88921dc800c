package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
)

func titles(infos []sessions.Info) []string {
	got := []string{}
	for _, info := range infos {
		got = append(got, info.Title())
	}
	return got
}

func id(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// touch sets the time of a file, in minutes.
func touch(t *testing.T, dir, name string, minute int) {
	t.Helper()
	at := time.Date(2026, 5, 1, 0, minute, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(name)), at, at); err != nil {
		t.Fatal(err)
	}
}

func TestListFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, file := range []struct{ name, content string }{
		{"p/" + id(1), `{"type":"user","message":{"content":"One"},"cwd":"/one"}`},
		{"q/" + id(2), `{"type":"user","message":{"content":"Two"}}`},
		{"p/" + id(3), `{"type":"user","isSidechain":true,"message":{"content":"A subagent"}}`},
		{"p/agent-4", `{"type":"user","message":{"content":"No UUID"}}`},
		{"p/" + id(5), `{"type":"mode"}`},
		{"p/" + id(6), ""},
		{"p/" + id(8), `{"type":"user","message":{"content":"<command-name>/clear</command-name>"}}`},
		{"p/" + id(7), "{broken\n" + `{"type":"user","message":{"content":"Seven"}}`},
	} {
		write(t, dir, file.name+".jsonl", file.content)
		touch(t, dir, file.name+".jsonl", i)
	}
	tests := map[string]struct {
		opts sessions.ListOptions
		want []string
	}{
		"all":              {sessions.ListOptions{}, []string{"Seven", "Two", "One"}},
		"one project":      {sessions.ListOptions{ProjectName: "p"}, []string{"Seven", "One"}},
		"a limit":          {sessions.ListOptions{Limit: 2}, []string{"Seven", "Two"}},
		"an offset":        {sessions.ListOptions{Offset: 1}, []string{"Two", "One"}},
		"both":             {sessions.ListOptions{Offset: 1, Limit: 1}, []string{"Two"}},
		"an offset behind": {sessions.ListOptions{Offset: 10, Limit: 1}, []string{}},
		"the most":         {sessions.ListOptions{Offset: 1, Limit: math.MaxInt}, []string{"Two", "One"}},
		"less than none":   {sessions.ListOptions{Offset: -1, Limit: -1}, []string{"Seven", "Two", "One"}},
		"another project":  {sessions.ListOptions{ProjectName: "none"}, []string{}},
	}
	for name, tt := range tests {
		tt.opts.Store = sessions.NewFolder(dir)
		infos, err := sessions.List(t.Context(), &tt.opts)
		if diff := cmp.Diff(tt.want, titles(infos)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(filepath.Join(dir, "none"))})
	if err != nil || len(infos) != 0 {
		t.Errorf("of no folder: got %v, %v", infos, err)
	}
	info, err := sessions.Get(t.Context(), id(1), &sessions.Options{Store: sessions.NewFolder(dir)})
	want := sessions.Info{
		ID: id(1), Project: "p", Path: filepath.Join(dir, "p", id(1)+".jsonl"), Modified: info.Modified, Size: 56,
		Summary: sessions.Summary{CWD: "/one", FirstPrompt: "One", Unfinished: "turn"},
	}
	if diff := cmp.Diff(want, info); diff != "" || err != nil {
		t.Errorf("Get: %v (-want +got):\n%s", err, diff)
	}
}

func TestListAgentsFolder(t *testing.T) {
	config, project := t.TempDir(), t.TempDir()
	t.Setenv("CLAUDE_CONFIG_DIR", config)
	name, err := sessions.ProjectName(project)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, "projects/"+name+"/"+idA+".jsonl", string(prompt(`"Here"`)))
	write(t, config, "projects/elsewhere/"+idB+".jsonl", string(prompt(`"There"`)))
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Project: project})
	if diff := cmp.Diff([]string{"Here"}, titles(infos)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if infos, err = sessions.List(t.Context(), nil); err != nil || len(infos) != 2 {
		t.Errorf("got %v, %v", titles(infos), err)
	}
}

func TestListLongProjectName(t *testing.T) {
	t.Parallel()
	dir, long := t.TempDir(), "/"+strings.Repeat("long/", 50)
	name, err := sessions.ProjectName(long)
	if err != nil || len(name) <= 200 {
		t.Fatalf("got %q, %v", name, err)
	}
	write(t, dir, name[:200]+"-otherhash/"+idA+".jsonl", string(prompt(`"Found"`)))
	write(t, dir, strings.Repeat("x", 200)+"-otherhash/"+idB+".jsonl", string(prompt(`"Other"`)))
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir), Project: long})
	if diff := cmp.Diff([]string{"Found"}, titles(infos)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestListLargeFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	noise := `{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat("x", 1000) + `"}]}}` + "\n"
	write(t, dir, "p/"+idA+".jsonl", string(prompt(`"First"`))+"\n"+
		`{"type":"custom-title","customTitle":"Early"}`+"\n"+strings.Repeat(noise, 100)+
		`{"type":"custom-title","customTitle":"In the middle"}`+"\n"+strings.Repeat(noise, 100)+
		`{"type":"tag","tag":"late"}`+"\n")
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir)})
	if err != nil || len(infos) != 1 {
		t.Fatalf("got %v, %v", infos, err)
	}
	want := sessions.Summary{FirstPrompt: "First", CustomTitle: "Early", Tag: "late"}
	if diff := cmp.Diff(want, infos[0].Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// A file in which there is no title for a long time is not read to its end, nor into memory.
func TestListFileOfNULs(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "p", idA+".jsonl")
	write(t, dir, "p/"+idA+".jsonl", "")
	if err := os.Truncate(name, 256<<20); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("\n" + `{"type":"custom-title","customTitle":"At the end"}` + "\n")
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir)})
	runtime.ReadMemStats(&after)
	if diff := cmp.Diff([]string{"At the end"}, titles(infos)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 128 {
		t.Errorf("it took %d MiB", took)
	}
}

// What was said first is found behind long lines, and in one: a prompt may have pictures.
func TestListLongFirstLines(t *testing.T) {
	t.Parallel()
	picture := `{"type":"image","data":"` + strings.Repeat("x", 200<<10) + `"},`
	first := `{"type":"user","timestamp":"2026-05-01T00:00:00Z","cwd":"/first","message":{"content":[` + picture +
		`{"type":"text","text":"Look"}]}}` + "\n"
	later := `{"type":"assistant","timestamp":"2026-05-02T00:00:00Z","cwd":"/later","isSidechain":true}` + "\n"
	tests := map[string]string{
		"a long line":        first,
		"behind a long line": `{"type":"mode","text":"` + strings.Repeat("x", 200<<10) + `"}` + "\n" + first,
		"behind many lines":  strings.Repeat(`{"type":"progress"}`+"\n", 10_000) + first,
	}
	for name, content := range tests {
		dir := t.TempDir()
		write(t, dir, "p/"+idA+".jsonl", content+strings.Repeat(later, 2000))
		infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir)})
		if err != nil || len(infos) != 1 {
			t.Errorf("%s: got %v, %v", name, infos, err)
			continue
		}
		want := sessions.Summary{
			Created: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), LastTime: time.Date(2026, 5, 2, 0, 0, 0, 0, time.UTC),
			CWD: "/first", FirstPrompt: "Look",
		}
		if diff := cmp.Diff(want, infos[0].Summary); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A plainStore has nothing but the methods of a store, and may fail.
type plainStore struct {
	sessions.Store
	failing string
	loads   atomic.Int32
	loading atomic.Int32
	most    atomic.Int32
}

var errBroken = errors.New("broken")

func (s *plainStore) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		s.loads.Add(1)
		now := s.loading.Add(1)
		defer s.loading.Add(-1)
		for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
		}
		if key.SessionID == s.failing {
			yield("", errBroken)
			return
		}
		s.Store.Load(ctx, key)(yield)
	}
}

func TestListStores(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	for i := range 100 {
		mustAppend(t, memory, wire.SessionKey{Project: "p", SessionID: id(i)}, prompt(fmt.Sprintf(`"Prompt %d"`, i)))
	}
	plain := &plainStore{Store: memory, failing: id(7)}
	if infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: plain}); err == nil {
		t.Errorf("a store that does not know its projects lists %d sessions", len(infos))
	}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: plain, ProjectName: "p"})
	if err != nil || len(infos) != 100 {
		t.Fatalf("got %d sessions, %v", len(infos), err)
	}
	if most := plain.most.Load(); most > 16 {
		t.Errorf("%d loads at the same time", most)
	}
	kept, err := sessions.List(t.Context(), &sessions.ListOptions{Store: memory})
	if err != nil || len(kept) != 100 {
		t.Fatalf("got %d sessions, %v", len(kept), err)
	}
	for i, info := range infos {
		if failed := errors.Is(info.Err, errBroken); failed != (info.ID == id(7)) {
			t.Errorf("%s: got error %v", info.ID, info.Err)
		}
		if kept[i].ID != info.ID || info.Err == nil && kept[i].Summary != info.Summary {
			t.Errorf("loaded %+v, kept %+v", info, kept[i])
		}
		if i > 0 && info.Modified.After(infos[i-1].Modified) {
			t.Errorf("%s is newer than the one before it", info.ID)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sessions.List(ended, &sessions.ListOptions{Store: memory}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// A summaryStore counts how often it is asked for summaries.
type summaryStore struct {
	plainStore
	memory *sessions.Memory
	asked  int
}

func (s *summaryStore) Summaries(ctx context.Context, project string) (map[string]sessions.Summary, error) {
	s.asked++
	return s.memory.Summaries(ctx, project)
}

// A list of many sessions asks the store for each of them once, or for all of them at once.
func TestListMany(t *testing.T) {
	t.Parallel()
	const count = 10_000
	memory := sessions.NewMemory()
	for i := range count {
		mustAppend(t, memory, wire.SessionKey{Project: "p", SessionID: id(i)}, prompt(`"Said"`))
	}
	for limit, want := range map[int]struct{ listed, loads int32 }{0: {count, count}, 20: {20, 32}, count: {count, count}} {
		plain := &plainStore{Store: memory}
		infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: plain, ProjectName: "p", Limit: limit})
		if err != nil || len(infos) != int(want.listed) {
			t.Fatalf("got %d sessions, %v", len(infos), err)
		}
		if loads, most := plain.loads.Load(), plain.most.Load(); loads != want.loads || most > 16 {
			t.Errorf("a limit of %d: %d loads, %d at the same time", limit, loads, most)
		}
	}
	summaries := &summaryStore{plainStore: plainStore{Store: memory}, memory: memory}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: summaries, ProjectName: "p"})
	if err != nil || len(infos) != count || summaries.asked != 1 || summaries.loads.Load() != 0 {
		t.Errorf("got %d sessions, asked %d times for summaries, %d loads, %v",
			len(infos), summaries.asked, summaries.loads.Load(), err)
	}
}

// A forbiddenStore has projects that the user may not read, or that are broken.
type forbiddenStore struct {
	*sessions.Memory
	broken string
}

func (s forbiddenStore) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	switch project {
	case s.broken:
		return nil, errBroken
	case "forbidden":
		return nil, &fs.PathError{Op: "readdir", Path: project, Err: fs.ErrPermission}
	}
	return s.Memory.Sessions(ctx, project)
}

func TestListForbiddenProject(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	for i, project := range []string{"a", "forbidden", "z"} {
		mustAppend(t, memory, wire.SessionKey{Project: project, SessionID: id(i)}, prompt(`"In `+project+`"`))
	}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: forbiddenStore{Memory: memory}})
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want %v", err, fs.ErrPermission)
	}
	if diff := cmp.Diff([]string{"In a", "In z"}, slices.Sorted(slices.Values(titles(infos)))); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	infos, err = sessions.List(t.Context(), &sessions.ListOptions{Store: forbiddenStore{Memory: memory, broken: "z"}})
	if !errors.Is(err, errBroken) || len(infos) != 0 {
		t.Errorf("got %d sessions and %v, want %v", len(infos), err, errBroken)
	}
}

func TestListStrayFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", string(prompt(`"Found"`)))
	if err := os.Mkdir(filepath.Join(dir, "not \xff UTF-8"), 0o700); err != nil {
		t.Log("no such names here: ", err)
	}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder(dir)})
	if diff := cmp.Diff([]string{"Found"}, titles(infos)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestFindNewestOfSeveral(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, project := range []string{"a", "c", "b"} {
		write(t, dir, project+"/"+idA+".jsonl", string(prompt(`"In `+project+`"`)))
		touch(t, dir, project+"/"+idA+".jsonl", i)
	}
	write(t, dir, "d/"+idA+".jsonl", "") // an empty file counts as not there
	info, err := sessions.Get(t.Context(), idA, &sessions.Options{Store: sessions.NewFolder(dir)})
	if err != nil || info.Project != "b" {
		t.Errorf("got %+v, %v", info, err)
	}
}

// A session that is not found may be in a project that could not be read.
func TestFindInForbiddenProject(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	for i, project := range []string{"a", "forbidden", "z"} {
		mustAppend(t, memory, wire.SessionKey{Project: project, SessionID: id(i)}, prompt(`"In `+project+`"`))
	}
	opts := &sessions.Options{Store: forbiddenStore{Memory: memory}}
	if info, err := sessions.Get(t.Context(), id(2), opts); err != nil || info.Title() != "In z" {
		t.Errorf("got %q, %v", info.Title(), err)
	}
	if _, err := sessions.Get(t.Context(), id(1), opts); !errors.Is(err, sessions.ErrNotFound) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want %v and %v", err, sessions.ErrNotFound, fs.ErrPermission)
	}
}

// A goneStore has a session that is deleted before it can be loaded.
type goneStore struct {
	sessions.Store
	gone string
}

func (s goneStore) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	if key.SessionID == s.gone {
		return func(yield func(wire.JSON, error) bool) { yield("", fs.ErrNotExist) }
	}
	return s.Store.Load(ctx, key)
}

func TestListLeavesOutWhatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	for i := range 3 {
		mustAppend(t, memory, wire.SessionKey{Project: "p", SessionID: id(i)}, prompt(fmt.Sprintf(`"Prompt %d"`, i)))
	}
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: goneStore{memory, id(1)}, ProjectName: "p"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Prompt 0", "Prompt 2"}, slices.Sorted(slices.Values(titles(infos)))); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}
