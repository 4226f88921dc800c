package stores_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/cmd/clew/dev/realtest/scene"
	"github.com/clewdev/clew/sessions"
)

// TestRealRestore archives a session, deletes it as the agent would, restores it, and continues it
// with "claude --resume" itself.
func TestRealRestore(t *testing.T) {
	t.Parallel()
	model := clewtest.NewModel(t)
	delegates(model)
	model.Reply("It is 7.")
	dir := scene.Dir(t)
	s := connect(t, over(t, model, clew.Options{Dir: dir, AllowedTools: []string{"Agent"}}))
	ask(t, s, "Delegate")
	ask(t, s, "My number is 7")
	closeSession(t, s)
	root := model.ConfigDir()
	projects := filepath.Join(root, "projects")
	age(t, projects, 60*24*time.Hour)

	target, err := archive.OpenDir(filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	a := archive.New(target)
	saved, err := a.Save(t.Context(), &archive.SaveOptions{Roots: []string{root}})
	if err != nil || saved.New != 1 || len(saved.Problems) > 0 {
		t.Fatalf("got %+v, %v", saved, err)
	}
	session, err := a.Find(t.Context(), s.ID()[:8], nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(session.Files) < 3 { // with the transcript and the metadata of the subagent
		t.Errorf("got only %v", session.Files)
	}
	if err := os.RemoveAll(projects); err != nil {
		t.Fatal(err)
	}
	if out, err := resume(t, model, dir, s.ID(), "What was it?"); err == nil {
		t.Fatalf("a session that is gone was resumed: %s", out)
	}
	report, err := a.Restore(t.Context(), session, &archive.RestoreOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	out, err := resume(t, model, dir, s.ID(), "What was my number?")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said := strings.Join(scene.Said(scene.Newest(model)), "\n")
	for _, text := range []string{"My number is 7", "It is 7.", "What was my number?"} {
		if !strings.Contains(said, text) {
			t.Errorf("the model was not told %q, but\n%s", text, said)
		}
	}
	if _, err := os.Stat(report.Path); err != nil {
		t.Errorf("the agent has deleted it again: %v", err)
	}
	// The next run saves what was added.
	again, err := a.Save(t.Context(), &archive.SaveOptions{Roots: []string{root}})
	if err != nil || again.Changed != 1 || again.Rewritten != 0 || again.NewBytes == 0 {
		t.Errorf("got %+v, %v", again, err)
	}
	resumeElsewhere(t, a, model, s.ID())
}

// resumeElsewhere restores a session for another directory, and continues it there.
func resumeElsewhere(t *testing.T, a *archive.Archive, model *clewtest.Model, id string) {
	t.Helper()
	root, dir := model.ConfigDir(), scene.Dir(t)
	name, err := sessions.ProjectName(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "projects")); err != nil {
		t.Fatal(err)
	}
	session, err := a.Find(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Restore(t.Context(), session, &archive.RestoreOptions{Root: root, Project: name}); err != nil {
		t.Fatal(err)
	}
	if out, err := resume(t, model, dir, id, "And here?"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	said := strings.Join(scene.Said(scene.Newest(model)), "\n")
	for _, text := range []string{"My number is 7", "What was my number?", "And here?"} {
		if !strings.Contains(said, text) {
			t.Errorf("the model was not told %q, but\n%s", text, said)
		}
	}
}

// age makes files older.
func age(t *testing.T, dir string, by time.Duration) {
	t.Helper()
	at := time.Now().Add(-by)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, at, at))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// resume runs the agent as its users do.
func resume(t *testing.T, model *clewtest.Model, dir, id, prompt string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), clewtest.RealAgent(t), "--resume", id, "-p", prompt)
	cmd.Dir, cmd.Env = dir, append(model.Env(), "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}
