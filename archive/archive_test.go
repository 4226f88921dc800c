package archive_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/archive/archivetest"
	"github.com/clewdev/clew/sessions"
)

func TestDirTarget(t *testing.T) {
	t.Parallel()
	archivetest.Run(t, func(t *testing.T) func() archive.Target {
		path := filepath.Join(t.TempDir(), "archive")
		return func() archive.Target {
			dir, err := archive.OpenDir(path)
			if err != nil {
				t.Fatal(err)
			}
			return dir
		}
	})
}

func TestSaveKeepsEveryFile(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	d.fill(1)
	d.fill(2)
	d.write("settings.json", "not of a session")
	d.write("projects/"+project+"/memory/notes.md", "not of a session")
	report := d.save(a)
	if report.Sessions != 2 || report.New != 2 || report.Blobs != 2 || len(report.Problems) > 0 {
		t.Errorf("got %+v", report)
	}
	want := map[string]string{}
	for path, text := range files(t, d.root) {
		if !strings.HasSuffix(path, "settings.json") && !strings.HasSuffix(path, "notes.md") {
			want["box/"+path] = text
		}
	}
	if diff := cmp.Diff(want, saved(t, a)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	before := files(t, dir.Path())
	report = d.save(a)
	if report.New+report.Changed+report.Blobs != 0 || report.NewBytes != 0 {
		t.Errorf("nothing is new: got %+v", report)
	}
	after := files(t, dir.Path())
	delete(before, "sessions/box.json") // has the time of the last run
	delete(after, "sessions/box.json")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("a run with nothing new has written (-want +got)\n", diff)
	}
}

func TestSaveAppends(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.write(mainOf(1), line("one"))
	d.save(a)
	d.append(mainOf(1), line("two"))
	report := d.save(a)
	if report.Changed != 1 || report.NewBytes != int64(len(line("two"))) || report.Rewritten != 0 {
		t.Errorf("got %+v", report)
	}
	s, err := a.Find(t.Context(), id(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Main().Segments); n != 2 {
		t.Errorf("got %d segments", n)
	}
	if got := saved(t, a)["box/"+mainOf(1)]; got != line("one")+line("two") {
		t.Errorf("got %q", got)
	}
}

// TestSaveKeepsOldContents rewrites and cuts files. The archive has the new content and each old one.
func TestSaveKeepsOldContents(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	contents := []string{line("one"), line("one") + line("two"), line("one"), line("other") + line("two"), "", line("end")}
	for _, text := range contents {
		d.write(mainOf(1), text)
		d.save(a)
		if got := saved(t, a)["box/"+mainOf(1)]; got != text {
			t.Errorf("got %q, want %q", got, text)
		}
	}
	s, err := a.Find(t.Context(), id(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	var old []string
	for _, g := range s.Main().Old {
		var b bytes.Buffer
		if err := a.Write(t.Context(), &b, s, &archive.File{Path: mainOf(1), Size: g.Size, Segments: g.Segments}); err != nil {
			t.Fatal(err)
		}
		old = append(old, b.String())
	}
	if diff := cmp.Diff([]string{contents[1], contents[2], contents[3]}, old); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestSaveWholeLines saves a transcript that an agent is writing.
func TestSaveWholeLines(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.write(mainOf(1), line("one")+`{"half`)
	path := filepath.Join(d.root, filepath.FromSlash(mainOf(1)))
	if err := os.Chtimes(path, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	d.save(a)
	if got := saved(t, a)["box/"+mainOf(1)]; got != line("one") {
		t.Errorf("of a file that is being written, got %q", got)
	}
	d.write(mainOf(1), line("one")+`{"half`) // with an old time: its agent has crashed
	d.save(a)
	if got := saved(t, a)["box/"+mainOf(1)]; got != line("one")+`{"half` {
		t.Errorf("of a file that nobody writes, got %q", got)
	}
}

func TestSaveAfterDeletion(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.fill(1)
	d.save(a)
	want := saved(t, a)
	d.remove("projects")
	d.remove("file-history")
	d.save(a)
	if diff := cmp.Diff(want, saved(t, a)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

func TestSaveOddFiles(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	d.write("secret", "not of a session")
	d.write(mainOf(1), "")
	d.write(mainOf(2), line("x"))
	dir := "projects/" + project + "/" + id(2) + "/tool-results/"
	d.write(dir+"a b ü.txt", "odd")
	d.write(dir+`back\slash`, "refused")
	d.write(dir+".clew-ABC", "a draft of a restore that has crashed")
	d.write("projects/"+project+"/agent-x.jsonl", "no JSON\n")
	for _, link := range []string{dir + "link", mainOf(3)} {
		if err := os.Symlink(filepath.Join(d.root, "secret"), filepath.Join(d.root, filepath.FromSlash(link))); err != nil {
			t.Skip("no symbolic links: ", err)
		}
	}
	report := d.save(a)
	want := map[string]string{"box/" + mainOf(1): "", "box/" + mainOf(2): line("x"), "box/" + dir + "a b ü.txt": "odd"}
	if diff := cmp.Diff(want, saved(t, a)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
	if len(report.Problems) != 2 {
		t.Errorf("got problems %v", report.Problems)
	}
}

// TestAgentsBeside saves subagents' transcripts of older agents with the session that they name.
func TestAgentsBeside(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	dir := "projects/" + project + "/agent-"
	member := `"sessionId":"` + id(1) + `"`
	texts := map[string]string{
		"first":  "{" + member + "}\n",
		"third":  "{}\nnot JSON\n{" + member + "}\n",
		"long":   `{"text":"\"sessionId\":\"` + id(2) + `\"",` + member + `,"more":"` + strings.Repeat("x", 2<<20) + `"}` + "\n",
		"no end": "{" + member + `,"half`,
	}
	want := map[string]string{}
	for name, text := range texts {
		d.write(dir+name+".jsonl", text)
		want["box/"+dir+name+".jsonl"] = text
	}
	d.write(dir+"empty.jsonl", "")
	report := d.save(a)
	if len(report.Problems) > 0 || report.Sessions != 1 {
		t.Errorf("got %+v", report)
	}
	if diff := cmp.Diff(want, saved(t, a)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// TestSaveLargeFile saves a file of several segments and blobs, appends to it, and changes its middle.
func TestSaveLargeFile(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	text := noise(11 << 20)
	d.write(mainOf(1), text)
	if report := d.save(a); report.Blobs < 2 || report.NewBytes != int64(len(text)) {
		t.Errorf("got %+v", report)
	}
	text += line("end")
	d.write(mainOf(1), text)
	if report := d.save(a); report.NewBytes != int64(len(line("end"))) {
		t.Errorf("got %+v", report)
	}
	changed := text[:5<<20] + "!" + text[5<<20+1:]
	d.write(mainOf(1), changed)
	if report := d.save(a); report.Rewritten != 1 || report.NewBytes != int64(len(text)-4<<20) {
		t.Errorf("got %+v: the first segment is the same", report)
	}
	if saved(t, a)["box/"+mainOf(1)] != changed {
		t.Error("another content was saved")
	}
}

// noise returns text that hardly can be compressed, in lines.
func noise(n int) string {
	b := make([]byte, n)
	x := uint64(1)
	for i := range b {
		x = x*6364136223846793005 + 1442695040888963407
		b[i] = byte(x>>33)%94 + 33
		if i%1000 == 999 {
			b[i] = '\n'
		}
	}
	return string(b)
}

func TestDryRun(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	d.write(mainOf(1), line("one"))
	before := files(t, dir.Path())
	report, err := a.Save(t.Context(), &archive.SaveOptions{Roots: []string{d.root}, Machine: "box", DryRun: true})
	if err != nil || report.New != 1 || report.NewBytes != int64(len(line("one"))) {
		t.Errorf("got %+v, %v", report, err)
	}
	if diff := cmp.Diff(before, files(t, dir.Path())); diff != "" {
		t.Error("it has written (-want +got)\n", diff)
	}
}

// TestDamage damages each blob in turn. Only the session that uses it suffers.
func TestDamage(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	d.fill(1)
	d.fill(2)
	d.save(a)
	blobs, err := filepath.Glob(filepath.Join(dir.Path(), "blobs", "*", "*.zst"))
	if err != nil || len(blobs) != 2 {
		t.Fatal(blobs, err)
	}
	for _, blob := range blobs {
		whole, err := os.ReadFile(blob)
		if err != nil {
			t.Fatal(err)
		}
		flipped := bytes.Clone(whole)
		flipped[len(flipped)/2] ^= 0x20
		for name, data := range map[string][]byte{"flipped": flipped, "cut": whole[:len(whole)-1], "empty": nil, "gone": nil} {
			write := os.WriteFile(blob, data, 0o600)
			if name == "gone" {
				write = os.Remove(blob)
			}
			if write != nil {
				t.Fatal(write)
			}
			report, err := a.Verify(t.Context(), nil)
			if err != nil || len(report.Problems) == 0 {
				t.Errorf("%s: the damage was not found: %v", name, err)
				continue
			}
			damage, ok := errors.AsType[*archive.DamageError](report.Problems[0])
			if !ok || damage.Blob != strings.TrimSuffix(filepath.Base(blob), ".zst") {
				t.Errorf("%s: got %v", name, report.Problems[0])
			}
			u, err := a.Unpack(t.Context(), t.TempDir(), nil)
			if err != nil || u.Sessions == 0 || len(u.Problems) == 0 {
				t.Errorf("%s: got %+v, %v", name, u, err)
			}
			for _, p := range u.Problems {
				if !strings.Contains(p.Where, damage.Key.Session) {
					t.Errorf("%s: another session suffers: %v", name, p)
				}
			}
		}
		if err := os.WriteFile(blob, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := a.Verify(t.Context(), nil); err != nil || len(report.Problems) > 0 {
		t.Errorf("got %+v, %v", report, err)
	}
}

// TestDamagedManifest is neither read nor replaced, and costs only its session.
func TestDamagedManifest(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	d.write(mainOf(1), line("one"))
	d.write(mainOf(2), line("two"))
	d.save(a)
	path := filepath.Join(dir.Path(), "sessions", "box", project, id(1)+".json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.append(mainOf(1), line("more"))
	d.append(mainOf(2), line("more"))
	report := d.save(a)
	if report.Changed != 1 || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Error(), "not saved any more: move "+path) {
		t.Errorf("got %+v", report)
	}
	if data, _ := os.ReadFile(path); string(data) != "{" {
		t.Errorf("the manifest was replaced by %s", data)
	}
	if _, err := a.Find(t.Context(), id(1), nil); err == nil || errors.Is(err, archive.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	if _, err := a.Find(t.Context(), id(2), nil); err != nil {
		t.Error(err)
	}
}

// TestManifestChecksum changes each digit and letter of a manifest. None of it passes.
func TestManifestChecksum(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	d.write(mainOf(1), line("one"))
	d.save(a)
	path := filepath.Join(dir.Path(), "sessions", "box", project, id(1)+".json")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	end := bytes.LastIndex(whole, []byte(`,"sha256":"`))
	for i := range end {
		data := bytes.Clone(whole)
		data[i] ^= 1
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if report, err := a.Verify(t.Context(), nil); err != nil || len(report.Problems) != 1 {
			t.Errorf("byte %d of %s: got %+v, %v", i, data, report, err)
		}
	}
	// Earlier versions wrote none.
	if err := os.WriteFile(path, append(whole[:end:end], '}'), 0o600); err != nil {
		t.Fatal(err)
	}
	if report, err := a.Verify(t.Context(), nil); err != nil || len(report.Problems) != 0 || report.Sessions != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
}

// TestSaveNothingUnpacked saves with the default roots while sessions of another machine are unpacked.
func TestSaveNothingUnpacked(t *testing.T) {
	d, other := newAgentDir(t), newAgentDir(t)
	a, _ := newArchive(t)
	d.write(mainOf(1), line("mine"))
	other.write(mainOf(2), line("of another machine"))
	t.Setenv("CLAUDE_CONFIG_DIR", d.root)
	sessions.SetArchiveRoots([]string{other.root})
	t.Cleanup(func() { sessions.SetArchiveRoots(nil) })
	if _, err := a.Save(t.Context(), &archive.SaveOptions{Machine: "box"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"box/" + mainOf(1): line("mine")}, saved(t, a)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

func TestTwoMachines(t *testing.T) {
	t.Parallel()
	a, _ := newArchive(t)
	one, two := newAgentDir(t), newAgentDir(t)
	one.write(mainOf(1), line("one"))
	one.write(mainOf(2), line("both"))
	two.write(mainOf(2), line("both")+line("longer"))
	two.write(mainOf(3), line("three"))
	var wg sync.WaitGroup
	for machine, d := range map[string]*agentDir{"one": one, "two": two} {
		wg.Go(func() {
			if _, err := a.Save(t.Context(), &archive.SaveOptions{Roots: []string{d.root}, Machine: machine}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	machines, problems, err := a.Machines(t.Context())
	if err != nil || len(problems) > 0 || len(machines) != 2 || machines[0].Sessions != 2 || machines[1].LastRun.IsZero() {
		t.Errorf("got %+v, %v, %v", machines, problems, err)
	}
	dir := t.TempDir()
	u, err := a.Unpack(t.Context(), dir, nil)
	if err != nil || u.Sessions != 3 {
		t.Fatalf("got %+v, %v", u, err)
	}
	want := map[string]string{
		"one/" + mainOf(1): line("one"), "two/" + mainOf(2): line("both") + line("longer"), "two/" + mainOf(3): line("three"),
	}
	got := files(t, dir)
	delete(got, "unpacked.json")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("each session once, the longest (-want +got)\n", diff)
	}
	if s, err := a.Find(t.Context(), id(2), &archive.FindOptions{Machine: "one"}); err != nil || s.Machine != "one" {
		t.Errorf("got %v, %v", s, err)
	}
	var many *archive.AmbiguousError
	if _, err := a.Find(t.Context(), "0000", nil); !errors.As(err, &many) || len(many.IDs) != 3 {
		t.Errorf("got %v", err)
	}
}

// TestSavesAtOnce lets several savers of one machine work while the files grow.
func TestSavesAtOnce(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, dir := newArchive(t)
	for n := range 4 {
		d.write(mainOf(n), line("one"))
	}
	var wg sync.WaitGroup
	for range 4 {
		other, err := archive.OpenDir(dir.Path())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for range 5 {
				_, err := archive.New(other).Save(t.Context(), &archive.SaveOptions{Roots: []string{d.root}, Machine: "box"})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		for n := range 4 {
			path := filepath.Join(d.root, filepath.FromSlash(mainOf(n)))
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteString(line("more"))
			if err := errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
	d.save(a)
	for n := range 4 {
		if got := saved(t, a)["box/"+mainOf(n)]; got != line("one")+strings.Repeat(line("more"), 5) {
			t.Errorf("session %d: got %q", n, got)
		}
	}
	found, _, _ := a.Sessions(t.Context())
	if slices.ContainsFunc(found, func(s *archive.Session) bool { return len(s.Main().Old) > 0 }) {
		t.Error("a file that only grew was taken for one that was rewritten")
	}
}

func TestOpenDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := archive.OpenExistingDir(dir); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("an empty directory: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.OpenDir(dir); err == nil {
		t.Error("a directory with other files became an archive")
	}
	odd := t.TempDir()
	for _, name := range []string{".stfolder", ".DS_Store", ".new-123"} { // the last one is left by a crash
		if err := os.WriteFile(filepath.Join(odd, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := archive.OpenDir(odd); err != nil {
		t.Error(err)
	}
	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "clew-archive.json"), []byte(`{"format":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := archive.OpenDir(newer); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("an archive of a newer format: got %v", err)
	}
}
