package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
	"github.com/clewdev/clew/wire"
)

// agentsOf returns the subagents at the items of a transcript, as id(ids below), and the unlinked
// ones.
func agentsOf(t *transcript.Transcript) (linked, unlinked []string) {
	for _, c := range t.Chunks {
		for _, item := range c.Items {
			for _, a := range item.Agents {
				below, _ := agentsOf(a.Transcript)
				linked = append(linked, a.ID+"("+strings.Join(below, " ")+")")
			}
		}
	}
	for _, a := range t.Unlinked {
		unlinked = append(unlinked, a.ID)
	}
	slices.Sort(linked)
	slices.Sort(unlinked)
	return linked, unlinked
}

// said is a line of a session's transcript.
func said(kind, uuid, parent, content, more string) string {
	return string(entry(kind, uuid, parent, `,"sessionId":"`+idA+`","timestamp":"2026-01-01T00:00:00Z","message":{"role":"`+kind+
		`","content":`+content+`}`+more)) + "\n"
}

// spawn is a line that starts a subagent, or a teammate.
func spawn(uuid, parent, call, input string) string {
	return said("assistant", uuid, parent, `[{"type":"tool_use","id":"`+call+`","name":"Agent","input":`+input+`}]`, "")
}

// makeAgents makes a session with subagents everywhere they may be.
func makeAgents(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	write(t, dir, "p/"+idA+".jsonl", said("user", "1", "", `"Go"`, "")+
		spawn("2", "1", "t1", `{"description":"One"}`)+
		spawn("3", "2", "t2", `{"description":"Old"}`)+
		spawn("4", "3", "t3", `{"description":"Mate","name":"scout","team_name":"red"}`)+
		said("assistant", "5", "4", `[{"type":"text","text":"Done."}]`, ""))
	agent := func(name, id, meta string) {
		write(t, dir, "p/"+name+"agent-"+id+".jsonl", said("user", "u"+id, "", `"Work"`, `,"isSidechain":true,"agentId":"`+id+`"`)+
			said("assistant", "v"+id, "u"+id, `[{"type":"tool_use","id":"in-`+id+`","name":"Agent","input":{}}]`,
				`,"isSidechain":true,"agentId":"`+id+`"`))
		if meta != "" {
			write(t, dir, "p/"+name+"agent-"+id+".meta.json", meta)
		}
	}
	agent(idA+"/subagents/", "one", `{"toolUseId":"t1"}`)
	agent(idA+"/subagents/", "nested", `{"toolUseId":"in-one","parentAgentId":"one"}`)
	agent(idA+"/subagents/workflows/run/", "flow", `{"toolUseId":"nobody"}`)
	agent("", "old", `{"toolUseId":"t2"}`)
	mate := strings.NewReplacer(idA, idB, `"sessionId"`, `"teamName":"red","agentName":"scout","sessionId"`)
	write(t, dir, "p/"+idB+".jsonl", mate.Replace(said("user", "m", "", `"Scout"`, "")))
	write(t, dir, "p/"+id(1)+".jsonl", strings.ReplaceAll(mate.Replace(said("user", "n", "", `"x"`, "")), "red", "blue"))
	write(t, dir, "p/agent-stranger.jsonl", strings.ReplaceAll(said("user", "s", "", `"x"`, ""), idA, idB))
	write(t, dir, "p/"+idA+"/subagents/agent-empty.jsonl", "")
	write(t, dir, "p/"+idA+"/subagents/notes.jsonl", "{}\n")
	return dir
}

func TestReadFamily(t *testing.T) {
	t.Parallel()
	dir := makeAgents(t)
	opts := &sessions.ReadOptions{Store: sessions.NewFolder(dir)}
	check := func(name string, got *transcript.Transcript, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		linked, unlinked := agentsOf(got)
		if diff := cmp.Diff([]string{"old()", "one(nested())", "scout@red()"}, linked); diff != "" {
			t.Errorf("%s: linked (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"flow"}, unlinked); diff != "" {
			t.Errorf("%s: unlinked (-want +got):\n%s", name, diff)
		}
		if len(got.Unlinked) == 1 && got.Unlinked[0].Workflow != "run" {
			t.Errorf("%s: got workflow %q", name, got.Unlinked[0].Workflow)
		}
	}
	got, err := sessions.Read(t.Context(), idA, opts)
	check("Read", got, err)
	got, err = sessions.ReadFile(t.Context(), filepath.Join(dir, "p", idA+".jsonl"), nil)
	check("ReadFile", got, err)
	got, err = openSession(t, dir).Read(t.Context(), nil)
	check("Session.Read", got, err)
	got, err = sessions.Read(t.Context(), idA, &sessions.ReadOptions{Store: opts.Store, OnlyMain: true})
	if linked, unlinked := agentsOf(got); err != nil || len(linked)+len(unlinked) != 0 || len(got.Chunks) == 0 {
		t.Errorf("only the session: got %q and %q, %v", linked, unlinked, err)
	}
}

// A store has the same subagents, except those outside of the session's directory.
func TestReadStore(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	from := &sessions.ImportOptions{Store: sessions.NewFolder(makeAgents(t))}
	if err := sessions.Import(t.Context(), memory, idA, from); err != nil {
		t.Fatal(err)
	}
	got, err := sessions.Read(t.Context(), idA, &sessions.ReadOptions{Store: memory})
	if err != nil {
		t.Fatal(err)
	}
	linked, unlinked := agentsOf(got)
	if diff := cmp.Diff([]string{"one(nested())"}, linked); diff != "" {
		t.Errorf("linked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"flow"}, unlinked); diff != "" {
		t.Errorf("unlinked (-want +got):\n%s", diff)
	}
}

func TestReadProgress(t *testing.T) {
	t.Parallel()
	var last, calls, busy atomic.Int64
	opts := &sessions.ReadOptions{Store: sessions.NewFolder(makeAgents(t))}
	opts.Progress = func(done, total int64) {
		if busy.Add(1) != 1 {
			t.Error("two calls at the same time")
		}
		if done <= last.Load() || done > total {
			t.Errorf("%d of %d after %d", done, total, last.Load())
		}
		last.Store(done)
		calls.Add(1)
		busy.Add(-1)
	}
	if _, err := sessions.Read(t.Context(), idA, opts); err != nil {
		t.Fatal(err)
	}
	if calls.Load() < 6 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	dir := makeAgents(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(dir, "p", idA+".jsonl")
	for name, read := range map[string]func() error{
		"no session": func() error {
			_, err := sessions.Read(t.Context(), id(9), &sessions.ReadOptions{Store: sessions.NewFolder(dir)})
			if !errors.Is(err, sessions.ErrNotFound) {
				t.Errorf("got %v, want ErrNotFound", err)
			}
			return err
		},
		"no file":     func() error { _, err := sessions.ReadFile(t.Context(), file+"x.jsonl", nil); return err },
		"no folder":   func() error { _, err := sessions.ReadFile(t.Context(), file+"/x.jsonl", nil); return err },
		"another end": func() error { _, err := sessions.ReadFile(t.Context(), file+".txt", nil); return err },
	} {
		if read() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got, err := sessions.ReadFile(ended, file, nil); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("got %v, %v, want context.Canceled", got, err)
	}
}

// An error names the file by its path, and explains why.
func TestReadFileNamesThePath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop.jsonl")
	if err := os.Symlink(loop, loop); err != nil {
		t.Skip(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"loop": "too many", "folder": "not a regular file", "missing": "no such file"} {
		path := filepath.Join(dir, name+".jsonl")
		_, err := sessions.ReadFile(t.Context(), path, nil)
		if err == nil || !strings.Contains(err.Error(), path) || runtime.GOOS != "windows" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A failingStore can't load one transcript.
type failingStore struct {
	*sessions.Memory
	subpath string
}

func (s failingStore) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	if key.Subpath == s.subpath {
		return func(yield func(wire.JSON, error) bool) { yield("", errBroken) }
	}
	return s.Memory.Load(ctx, key)
}

// Read returns everything it could read together with the error.
func TestReadWithoutOneAgent(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	for i := range 5 {
		key := keyA
		key.Subpath = fmt.Sprintf("subagents/agent-%d", i)
		mustAppend(t, memory, key, user("1", ""))
	}
	mustAppend(t, memory, keyA, user("1", ""))
	for subpath, want := range map[string]int{"subagents/agent-3": 4, "": -1} {
		opts := &sessions.ReadOptions{Store: failingStore{memory, subpath}}
		got, err := sessions.Read(t.Context(), idA, opts)
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v, want %v", err, errBroken)
		}
		if want < 0 && got != nil || want > 0 && (got == nil || len(got.Unlinked) != want) {
			t.Errorf("without %q: got %+v", subpath, got)
		}
	}
}

// All options name the store and the project in the same way.
func TestOptionsNameProjectsAlike(t *testing.T) {
	t.Parallel()
	for _, options := range []any{
		sessions.Options{}, sessions.ListOptions{}, sessions.ReadOptions{}, sessions.TailOptions{}, sessions.UsageOptions{},
		sessions.ImportOptions{}, sessions.ForkOptions{},
	} {
		typ := reflect.TypeOf(options)
		for _, name := range []string{"Store", "Project", "ProjectName"} {
			if field, ok := typ.FieldByName(name); !ok || len(field.Index) > 1 {
				t.Errorf("%v has no field %s of its own", typ, name)
			}
		}
	}
}
