package stores_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/wire"
)

// delegates makes "Delegate" a prompt for which the agent starts a subagent.
func delegates(model *clewtest.Model) {
	model.On("Delegate").Reply(clewtest.ToolUse("Agent", map[string]any{
		"description": "Count", "prompt": "INNER count", "subagent_type": "general-purpose", "run_in_background": false,
	}))
	model.On("INNER count").Reply(clewtest.Text("Three."))
	model.OnToolResult("Three.").Reply(clewtest.Text("It is three."))
}

func TestRealMirror(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]clew.Options{
		"in batches": {},
		"eagerly":    {Store: clew.StoreOptions{Eager: true}},
		"elsewhere":  {Store: clew.StoreOptions{Project: "elsewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			delegates(model)
			model.Reply("Yes.")
			store := newMemory()
			opts.Store.Store, opts.AllowedTools = store, []string{"Agent"}
			s := connect(t, over(t, model, opts))
			for _, prompt := range []string{"Hello", "Delegate"} {
				result := ask(t, s, prompt)
				wantAnswer(t, store, s.ID(), result.Result)
			}
			closeSession(t, s)
			if n := wantSame(t, store, model.ConfigDir(), opts.Store.Project); n != 2 {
				t.Errorf("%d transcripts, want that of the session and that of the subagent", n)
			}
		})
	}
}

// Nothing is lost that an agent writes when it ends, also in the middle of a turn or killed.
func TestRealMirrorOfTheEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *clew.Session){
		"closed": func(*testing.T, *clew.Session) {},
		"killed": func(t *testing.T, s *clew.Session) {
			kill(t, s)
			for _, err := range s.Messages(t.Context()) {
				if _, died := errors.AsType[*clew.ExitError](err); err != nil && !died {
					t.Error(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := clewtest.NewModel(t)
			model.On("Hello").Reply(clewtest.Text("Yes."))
			model.On("Wait").Hang()
			store := newMemory()
			s := connect(t, over(t, model, clew.Options{Store: clew.StoreOptions{Store: store}}))
			ask(t, s, "Hello")
			if _, err := s.Send(t.Context(), clew.Text("Wait")); err != nil {
				t.Fatal(err)
			}
			if _, err := model.WaitRequest(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			end(t, s)
			closeSession(t, s)
			wantSame(t, store, model.ConfigDir(), "")
		})
	}
}

// A long session whose agent is killed and replaced is in the store once: nothing is missing, and
// nothing is there twice.
func TestRealMirrorOfTwoAgents(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	model.On("Wait").Hang()
	model.Reply("Yes.")
	store := newMemory()
	s := connect(t, over(t, model, clew.Options{Store: clew.StoreOptions{Store: store}, Reconnect: new(clew.ReconnectOptions), Session: clew.SessionOptions{Title: "Mine"}}))
	const turns = 25
	for range turns {
		ask(t, s, "Hello")
	}
	if _, err := s.Send(t.Context(), clew.Text("Wait")); err != nil {
		t.Fatal(err)
	}
	if _, err := model.WaitRequest(t.Context(), turns+1); err != nil {
		t.Fatal(err)
	}
	kill(t, s)
	for msg, err := range s.Messages(t.Context()) {
		if _, ok := msg.(*wire.SessionReconnectedMessage); ok || err != nil {
			break
		}
	}
	ask(t, s, "Hello again")
	closeSession(t, s)
	wantSame(t, store, model.ConfigDir(), "")
}

// kill kills the agent of a session.
func kill(t *testing.T, s *clew.Session) {
	agent, err := os.FindProcess(s.Info().PID)
	if err == nil {
		err = agent.Kill()
	}
	if err != nil {
		t.Error(err)
	}
}

// wantAnswer checks that the transcript of a session is in the store up to an answer.
func wantAnswer(t *testing.T, store *memory, id, answer string) {
	t.Helper()
	for _, key := range store.keys() {
		if key.SessionID != id || key.Subpath != "" {
			continue
		}
		for _, entry := range store.entries(key) {
			if strings.Contains(string(entry), `"role":"assistant"`) && strings.Contains(string(entry), answer) {
				return
			}
		}
	}
	t.Errorf("the answer %q was seen before it was in the store", answer)
}

// wantSame checks that all transcripts in a settings directory are in the store, entry by entry and
// nothing else, and returns their number. In the store they belong to project, unless that is
// empty.
func wantSame(t *testing.T, store *memory, config, project string) int {
	t.Helper()
	root := filepath.Join(config, sessionfile.Folder)
	found := 0
	for _, name := range filesBelow(t, root) {
		if filepath.Ext(name) != ".jsonl" {
			continue
		}
		found++
		key, err := sessionfile.Key(filepath.ToSlash(name))
		if err != nil {
			t.Error(err)
			continue
		}
		sidecar := filepath.Join(root, sessionfile.SidecarPath(key))
		if project != "" {
			key.Project = project
		}
		lines, content := onDisk(store.entries(key))
		wantSameLines(t, key, strings.SplitAfter(readFile(t, filepath.Join(root, name)), "\n"), lines)
		if key.Subpath != "" {
			wantSameJSON(t, readFile(t, sidecar), content)
		}
	}
	if keys := store.keys(); len(keys) != found {
		t.Errorf("%d transcripts on disk, and in the store %v", found, keys)
	}
	return found
}

// onDisk returns the entries of a file, and its metadata.
func onDisk(entries []wire.JSON) (lines []string, sidecar string) {
	for _, entry := range entries {
		if content, ok := sessionfile.Sidecar(entry); ok {
			sidecar = string(content)
			continue
		}
		lines = append(lines, string(entry)+"\n")
	}
	return append(lines, ""), sidecar
}

// wantSameLines checks that a file and the store have the same lines, and the conversation in the
// same order. The agent may write the other lines at the end of the file in any order.
func wantSameLines(t *testing.T, key wire.SessionKey, file, store []string) {
	t.Helper()
	talk := func(line string) bool { return strings.HasPrefix(line, `{"parentUuid"`) }
	if diff := cmp.Diff(briefly(file, talk), briefly(store, talk)); diff != "" {
		t.Errorf("the conversation of %s (-file +store):\n%s", key, diff)
	}
	slices.Sort(file)
	slices.Sort(store)
	mirrored := func(line string) bool { return !strings.HasPrefix(line, `{"type":"api-request`) }
	if diff := cmp.Diff(briefly(file, mirrored), briefly(store, mirrored)); diff != "" {
		t.Errorf("%s (-file +store):\n%s", key, diff)
	}
}

// briefly returns the lines that are wanted, shortened so that a difference can be read.
func briefly(lines []string, wanted func(string) bool) []string {
	var brief []string
	for _, line := range lines {
		if wanted(line) {
			brief = append(brief, fmt.Sprintf("%.60s ... %d bytes, %x", line, len(line), sha256.Sum256([]byte(line))))
		}
	}
	return brief
}

func wantSameJSON(t *testing.T, a, b string) {
	t.Helper()
	var x, y any
	if err := wire.JSON(a).Decode(&x); err != nil {
		t.Fatal(err)
	}
	if err := wire.JSON(b).Decode(&y); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(x, y); diff != "" {
		t.Errorf("beside a transcript (-file +store):\n%s", diff)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// filesBelow returns the paths of all files in a directory.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
