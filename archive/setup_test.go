package archive_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/archive"
)

// An agentDir is the directory of an agent, with sessions that a test writes.
type agentDir struct {
	t    *testing.T
	root string
	tick int
}

func newAgentDir(t *testing.T) *agentDir {
	t.Helper()
	return &agentDir{t: t, root: t.TempDir()}
}

func id(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

const project = "-home-me-code"

func mainOf(n int) string { return "projects/" + project + "/" + id(n) + ".jsonl" }

func line(text string) string { return `{"type":"user","text":"` + text + `"}` + "\n" }

// write replaces a file. Its time differs from all before.
func (d *agentDir) write(rel, text string) {
	d.t.Helper()
	path := filepath.Join(d.root, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.tick++
	at := time.Date(2026, 1, 2, 3, 4, d.tick, 5, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		d.t.Fatal(err)
	}
}

func (d *agentDir) read(rel string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.root, filepath.FromSlash(rel)))
	if err != nil {
		d.t.Fatal(err)
	}
	return string(data)
}

func (d *agentDir) append(rel, text string) {
	d.t.Helper()
	d.write(rel, d.read(rel)+text)
}

func (d *agentDir) remove(rel string) {
	d.t.Helper()
	if err := os.RemoveAll(filepath.Join(d.root, filepath.FromSlash(rel))); err != nil {
		d.t.Fatal(err)
	}
}

// files returns the contents of all files below a directory, by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func newArchive(t *testing.T) (*archive.Archive, *archive.Dir) {
	t.Helper()
	dir, err := archive.OpenDir(filepath.Join(t.TempDir(), "archive"))
	if err != nil {
		t.Fatal(err)
	}
	return archive.New(dir), dir
}

func (d *agentDir) save(a *archive.Archive) *archive.SaveReport {
	d.t.Helper()
	report, err := a.Save(d.t.Context(), &archive.SaveOptions{Roots: []string{d.root}, Machine: "box"})
	if err != nil {
		d.t.Fatal(err)
	}
	return report
}

// saved returns all that is in an archive, by machine and path.
func saved(t *testing.T, a *archive.Archive) map[string]string {
	t.Helper()
	all := map[string]string{}
	found, problems, err := a.Sessions(t.Context())
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for _, s := range found {
		for i := range s.Files {
			var b strings.Builder
			if err := a.Write(context.WithoutCancel(t.Context()), &b, s, &s.Files[i]); err != nil {
				t.Error(err)
			}
			all[s.Machine+"/"+s.Files[i].Path] = b.String()
		}
	}
	return all
}

// fill writes a session with one file of each kind.
func (d *agentDir) fill(n int) {
	d.t.Helper()
	d.write(mainOf(n), line("first")+line("second"))
	dir := "projects/" + project + "/" + id(n) + "/"
	d.write(dir+"subagents/agent-a1.jsonl", line("of a subagent"))
	d.write(dir+"subagents/agent-a1.meta.json", `{"agentType":"x"}`)
	d.write(dir+"subagents/workflows/run1/agent-a2.jsonl", line("of a workflow"))
	d.write(dir+"tool-results/t1.txt", "long")
	d.write(dir+"custom-title.json", `{"customTitle":"T"}`)
	d.write(dir+"archived.json", `{"archived":true}`)
	d.write(dir+"job.json", `{"id":"cqrshifid5z2"}`)
	d.write("file-history/"+id(n)+"/0a1b@v1", "package x\n")
	d.write("tasks/"+id(n)+"/1.json", "{}")
	d.write("todos/"+id(n)+"-agent-"+id(n)+".json", "[]")
	d.write(fmt.Sprintf("projects/%s/agent-old%d.jsonl", project, n), `{"sessionId":"`+id(n)+`"}`+"\n")
}
