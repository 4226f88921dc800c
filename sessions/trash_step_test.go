package sessions_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// A movedSession is a session that several processes delete, restore and append to. Each process has
// its own Folder.
type movedSession struct {
	t         *testing.T
	dir       string
	newFolder func(dir string) *sessions.Folder
	written   []string // the texts that must not get lost
}

// newMovedSession makes a session with two transcripts.
func newMovedSession(t *testing.T, newFolder func(dir string) *sessions.Folder) *movedSession {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "") //nolint:usetesting // only its user may use it, unlike t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	m := &movedSession{t: t, dir: filepath.Join(dir, "projects"), newFolder: newFolder, written: []string{`"uuid":"uuid-0"`, `"uuid":"uuid-1"`}}
	write(t, m.dir, "p/"+idA+".jsonl", string(user("uuid-0", ""))+"\n")
	write(t, m.dir, "p/"+idA+"/subagents/agent-1.jsonl", string(user("uuid-1", ""))+"\n")
	return m
}

func (m *movedSession) folder() *sessions.Folder { return m.newFolder(m.dir) }

func (m *movedSession) options() *sessions.Options { return &sessions.Options{Store: m.folder()} }

// append appends an entry, which must not get lost if Append succeeds.
func (m *movedSession) append(folder *sessions.Folder, subpath string) {
	uuid := fmt.Sprintf("uuid-%d", len(m.written))
	key := wire.SessionKey{Project: "p", SessionID: idA, Subpath: subpath}
	if folder.Append(m.t.Context(), key, []wire.JSON{user(uuid, "")}) == nil {
		m.written = append(m.written, `"uuid":"`+uuid+`"`)
	}
}

// agent appends a text as an agent does, which opens the file for each line. An empty text creates
// the file.
func (m *movedSession) agent(text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Join(m.dir, "p"), 0o700); err != nil {
		m.t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(m.dir, "p", idA+".jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		m.t.Fatal(err)
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		m.t.Fatal(err)
	}
	if text != "" {
		m.written = append(m.written, strings.TrimSpace(text))
	}
}

func (m *movedSession) delete() { _ = sessions.Delete(m.t.Context(), idA, m.options()) }

func (m *movedSession) restore() { _ = sessions.Restore(m.t.Context(), idA, m.options()) }

// movedActions are the actions of another process between two steps. Their errors don't matter: a
// session can't be deleted while it is in the trash.
var movedActions = []struct {
	name string
	do   func(m *movedSession)
}{
	{"append", func(m *movedSession) { m.append(m.folder(), "") }},
	{"append to a subagent", func(m *movedSession) { m.append(m.folder(), "subagents/agent-1") }},
	{"agent appends", func(m *movedSession) { m.agent(fmt.Sprintf("{\"agent\":%d}\n", len(m.written))) }},
	{"agent creates a file", func(m *movedSession) { m.agent("") }},
	{"delete", (*movedSession).delete},
	{"restore", (*movedSession).restore},
	{"delete and append", func(m *movedSession) {
		m.delete()
		m.append(m.folder(), "")
	}},
	{"delete and restore", func(m *movedSession) {
		m.delete()
		m.restore()
	}},
	{"delete, append and delete", func(m *movedSession) {
		m.delete()
		m.append(m.folder(), "")
		m.delete()
	}},
	{"crash", func(*movedSession) { panic(errCrash) }},
}

var errCrash = errors.New("the process crashes")

// movedOperations are interrupted at each of their steps.
var movedOperations = []struct {
	name   string
	before func(m *movedSession)
	do     func(m *movedSession, folder *sessions.Folder)
}{
	{"append", func(*movedSession) {}, func(m *movedSession, f *sessions.Folder) { m.append(f, "") }},
	{"append to a deleted session", (*movedSession).delete, func(m *movedSession, f *sessions.Folder) { m.append(f, "") }},
	{"delete", func(*movedSession) {}, func(m *movedSession, f *sessions.Folder) {
		_ = sessions.Delete(m.t.Context(), idA, &sessions.Options{Store: f})
	}},
	{"restore", (*movedSession).delete, func(m *movedSession, f *sessions.Folder) {
		_ = sessions.Restore(m.t.Context(), idA, &sessions.Options{Store: f})
	}},
	{"restore over an empty file", func(m *movedSession) {
		m.delete()
		m.agent("")
	}, func(m *movedSession, f *sessions.Folder) {
		_ = sessions.Restore(m.t.Context(), idA, &sessions.Options{Store: f})
	}},
}

// run runs an operation, and an action before each of the given steps. It returns the number of
// steps.
func (m *movedSession) run(op func(m *movedSession, f *sessions.Folder), actions map[int]func(m *movedSession)) (steps int) {
	defer func() {
		r := recover()
		if err, ok := r.(error); r != nil && (!ok || !errors.Is(err, errCrash)) {
			panic(r)
		}
	}()
	folder := m.folder()
	folder.SetStep(func(string) {
		steps++
		if do := actions[steps-1]; do != nil {
			do(m)
		}
	})
	op(m, folder)
	return steps
}

// check returns an error unless everything that was written can be read or restored, and the trash has
// no other transcripts.
func (m *movedSession) check() error {
	trashed, err := sessions.Trash(m.t.Context(), m.options())
	if err != nil {
		return err
	}
	var all strings.Builder
	for name, text := range tree(m.t, filepath.Dir(m.dir)) {
		isListed := strings.HasPrefix(name, "projects/") || slices.ContainsFunc(trashed, func(s sessions.TrashedSession) bool {
			return strings.HasPrefix(name, "projects-trash/"+filepath.Base(s.Path)+"/")
		})
		if isListed {
			all.WriteString(text)
		} else if strings.HasSuffix(name, ".jsonl") {
			return fmt.Errorf("%s of the trash belongs to no session", name)
		}
	}
	for _, text := range m.written {
		if !strings.Contains(all.String(), text) {
			return fmt.Errorf("%s is lost", text)
		}
	}
	return nil
}

// checkRestore returns an error unless the session is there, or can be restored.
func (m *movedSession) checkRestore() error {
	info, err := os.Stat(filepath.Join(m.dir, "p", idA+".jsonl"))
	if err == nil && info.Size() > 0 {
		return nil
	}
	err = sessions.Restore(m.t.Context(), idA, m.options())
	if _, dirErr := os.Stat(filepath.Join(m.dir, "p", idA)); dirErr == nil && errors.Is(err, fs.ErrExist) {
		return nil // somebody appended to a subagent, so there is another directory
	}
	if err != nil {
		return fmt.Errorf("neither there nor restored: %w", err)
	}
	return m.check()
}

var movedFolders = map[string]func(string) *sessions.Folder{"links": sessions.NewFolder, "no links": folderWithoutLinks}

// Another process does something before each step of an append, a deletion and a restore. Nothing
// that was written is lost.
func TestMovedSessionLosesNothing(t *testing.T) {
	t.Parallel()
	for name, newFolder := range movedFolders {
		for _, op := range movedOperations {
			m := newMovedSession(t, newFolder)
			op.before(m)
			steps := m.run(op.do, nil)
			if err := errors.Join(m.check(), m.checkRestore()); err != nil || steps < 2 {
				t.Fatalf("%s, %s: %d steps: %v", name, op.name, steps, err)
			}
			for step := range steps {
				for _, a := range movedActions {
					m := newMovedSession(t, newFolder)
					op.before(m)
					m.run(op.do, map[int]func(*movedSession){step: a.do})
					if err := errors.Join(m.check(), m.checkRestore()); err != nil {
						t.Errorf("%s, %s, with %q before step %d: %v", name, op.name, a.name, step, err)
					}
				}
			}
		}
	}
}

// Other processes do something before several random steps.
func TestMovedSessionAtRandomSteps(t *testing.T) {
	rnd := soak.Search(t)
	for range 2000 {
		for name, newFolder := range movedFolders {
			op := movedOperations[rnd.IntN(len(movedOperations))]
			m := newMovedSession(t, newFolder)
			op.before(m)
			actions, names := map[int]func(*movedSession){}, map[int]string{}
			for range 2 + rnd.IntN(3) {
				step, a := rnd.IntN(8), movedActions[rnd.IntN(len(movedActions))]
				actions[step], names[step] = a.do, a.name
			}
			m.run(op.do, actions)
			if err := errors.Join(m.check(), m.checkRestore()); err != nil {
				t.Errorf("%s, %s, with %v: %v", name, op.name, names, err)
			}
		}
	}
}

// A restore that crashes at any step is completed by the next one, and a simultaneous restore by
// another process leaves the same files.
func TestRestoreCompletes(t *testing.T) {
	t.Parallel()
	for name, newFolder := range movedFolders {
		for other, action := range map[string]func(*movedSession){
			"crash": func(*movedSession) { panic(errCrash) }, "restore": (*movedSession).restore,
		} {
			for step := 0; ; step++ {
				m := newMovedSession(t, newFolder)
				want := tree(t, m.dir)
				m.delete()
				steps := m.run(movedOperations[3].do, map[int]func(*movedSession){step: action})
				m.restore()
				if diff := cmp.Diff(want, tree(t, m.dir)); diff != "" {
					t.Errorf("%s, %s before step %d (-want +got):\n%s", name, other, step, diff)
				}
				if left := tree(t, m.dir+"-trash"); len(left) > 0 {
					t.Errorf("%s, %s before step %d: in the trash are still %q", name, other, step, keys(left))
				}
				if steps > 0 && step >= steps {
					break
				}
			}
		}
	}
}

// If somebody erases the file to which a transcript is copied, the session stays in the trash.
func TestRestoreOfErasedFile(t *testing.T) {
	t.Parallel()
	m := newMovedSession(t, folderWithoutLinks)
	m.delete()
	folder := m.folder()
	folder.SetStep(func(step string) {
		if step != "copy: compare names" {
			return
		}
		if err := os.Remove(filepath.Join(m.dir, "p", idA+".jsonl")); err != nil {
			t.Error(err)
		}
	})
	if err := sessions.Restore(t.Context(), idA, &sessions.Options{Store: folder}); err == nil {
		t.Error("no error")
	}
	if err := errors.Join(m.check(), m.checkRestore()); err != nil {
		t.Error(err)
	}
}

// If the directory of a session can't be moved, its transcript stays as well.
func TestDeleteWithoutDirectory(t *testing.T) {
	t.Parallel()
	for name, newFolder := range movedFolders {
		m := newMovedSession(t, newFolder)
		want := tree(t, m.dir)
		var err error
		m.run(func(m *movedSession, f *sessions.Folder) {
			err = sessions.Delete(t.Context(), idA, &sessions.Options{Store: f})
		}, map[int]func(*movedSession){1: func(m *movedSession) {
			found, err := filepath.Glob(m.dir + "-trash/*")
			if err != nil || len(found) != 1 {
				t.Fatalf("got %q, %v", found, err)
			}
			write(t, found[0], idA, "a file in the way")
		}})
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(want, tree(t, m.dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Several processes append to a session, delete it and restore it, with whatever interleaving.
func TestRandomMovesLoseNothing(t *testing.T) {
	rnd := soak.Search(t)
	for name, newFolder := range movedFolders {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "projects")
			appends := 200 + rnd.IntN(400)
			var appending, moving sync.WaitGroup
			done := make(chan struct{})
			appended := make([][]string, 3) // UUIDs
			for i := range appended {
				appending.Go(func() {
					store := sessions.NewFolder(dir)
					for n := range appends {
						uuid := fmt.Sprintf("%d-%d", i, n)
						if store.Append(t.Context(), keyA, []wire.JSON{user(uuid, "")}) == nil {
							appended[i] = append(appended[i], uuid)
						}
					}
				})
			}
			for range 3 {
				moving.Go(func() {
					opts := &sessions.Options{Store: newFolder(dir)}
					for {
						select {
						case <-done:
							return
						default: // another goroutine may be faster
							_ = sessions.Delete(t.Context(), idA, opts)
							_ = sessions.Restore(t.Context(), idA, opts)
						}
					}
				})
			}
			appending.Wait()
			close(done)
			moving.Wait()
			left := ""
			for _, where := range []string{dir, dir + "-trash"} {
				for _, text := range tree(t, where) {
					left += text
				}
			}
			for _, uuids := range appended {
				for _, uuid := range uuids {
					if !strings.Contains(left, `"uuid":"`+uuid+`"`) {
						t.Errorf("%s was appended and is lost", uuid)
					}
				}
			}
		})
	}
}
