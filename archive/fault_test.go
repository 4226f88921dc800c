package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/internal/soak"
)

// A faultyTarget fails from its n-th write on, before or after that write was done.
type faultyTarget struct {
	archive.Target
	left  atomic.Int64
	after bool
}

var errFault = errors.New("the disk is on fire")

func (f *faultyTarget) write(do func() error) error {
	left := f.left.Add(-1)
	if left < 0 {
		return errFault
	}
	err := do()
	if left == 0 && f.after && err == nil {
		err = errFault
	}
	return err
}

func (f *faultyTarget) Put(ctx context.Context, name string, data []byte) error {
	return f.write(func() error { return f.Target.Put(ctx, name, data) })
}

func (f *faultyTarget) Swap(ctx context.Context, key archive.Key, data []byte, old string) error {
	return f.write(func() error { return f.Target.Swap(ctx, key, data, old) })
}

// TestCrashes ends a run at each of its writes. Each file then has its content from before or after,
// and the next run completes.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{false, true} {
		for n := int64(0); ; n++ {
			d := newAgentDir(t)
			a, dir := newArchive(t)
			d.fill(1)
			d.write(mainOf(2), line("rewritten"))
			d.save(a)
			before := saved(t, a)
			d.append(mainOf(1), line("more"))
			d.write(mainOf(2), line("another content"))
			d.write(mainOf(3), line("new")+noise(3<<10))
			d.write("projects/"+project+"/"+id(3)+"/tool-results/a.txt", noise(3<<10))
			faulty := &faultyTarget{Target: dir, after: after}
			faulty.left.Store(n)
			opts := &archive.SaveOptions{Roots: []string{d.root}, Machine: "box"}
			opts.SetBatch(2 << 10) // the third session has two blobs
			_, err := archive.New(faulty).Save(t.Context(), opts)
			if err != nil && !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			for path, text := range saved(t, a) {
				live := d.read(strings.TrimPrefix(path, "box/"))
				if text != live && text != before[path] {
					t.Errorf("after %d writes, %s has %d bytes that it never had", n, path, len(text))
				}
			}
			if len(saved(t, a)) < len(before) {
				t.Errorf("after %d writes, files are missing", n)
			}
			d.save(a)
			for path, text := range saved(t, a) {
				if live := d.read(strings.TrimPrefix(path, "box/")); text != live {
					t.Errorf("after %d writes and another run, %s has another content", n, path)
				}
			}
			if report, err := a.Verify(t.Context(), nil); err != nil || len(report.Problems) > 0 {
				t.Errorf("after %d writes: %+v, %v", n, report, err)
			}
			if err == nil {
				if n < 8 {
					t.Errorf("the run had only %d writes", n)
				}
				break
			}
		}
	}
}

// A busyTarget always has another manifest of one session than expected.
type busyTarget struct {
	archive.Target
	busy string
	data string
}

func (b *busyTarget) Swap(ctx context.Context, key archive.Key, data []byte, old string) error {
	if key.Session == b.busy {
		return archive.ErrChanged
	}
	return b.Target.Swap(ctx, key, data, old)
}

func (b *busyTarget) Manifest(ctx context.Context, key archive.Key) (archive.Manifest, error) {
	if key.Session == b.busy {
		return archive.Manifest{Key: key, Data: []byte(b.data), Revision: "1"}, nil
	}
	return b.Target.Manifest(ctx, key)
}

// TestProblemOfOneSession saves all others if the manifest of one can't be written.
func TestProblemOfOneSession(t *testing.T) {
	t.Parallel()
	whole := `{"format":1,"machine":"box","project":"` + project + `","session":"` + id(3) + `"}`
	for name, data := range map[string]string{"damaged meanwhile": "{", "changed again and again": whole} {
		d := newAgentDir(t)
		a, dir := newArchive(t)
		for n := range 20 {
			d.write(mainOf(n), line("x"))
		}
		busy := archive.New(&busyTarget{dir, id(3), data})
		report, err := busy.Save(t.Context(), &archive.SaveOptions{Roots: []string{d.root}, Machine: "box"})
		if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Problems[0].Where, id(3)) {
			t.Errorf("%s: got %+v, %v", name, report, err)
		}
		if n := len(saved(t, a)); n != 19 {
			t.Errorf("%s: %d sessions were saved", name, n)
		}
	}
}

// TestCanceledSave interrupts a run.
func TestCanceledSave(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	a, _ := newArchive(t)
	for n := range 20 {
		d.write(mainOf(n), line("x"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := a.Save(ctx, &archive.SaveOptions{Roots: []string{d.root}, Machine: "box", Progress: func(archive.SaveProgress) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := len(saved(t, a)); n == 0 || n == 20 {
		t.Errorf("%d sessions were saved before the interrupt", n)
	}
}

// TestRandomHistory changes files in random ways and compares the archive with a model: each
// content that was there when a run started can be read, and the last one can be restored.
func TestRandomHistory(t *testing.T) {
	t.Parallel()
	for i := range soak.Size(8, 100) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			r := soak.Rand(t)
			h := &history{t: t, agentDir: newAgentDir(t), last: map[string]string{}, ever: map[string]map[string]bool{}}
			h.archive, _ = newArchive(t)
			for range 60 {
				h.step(r)
			}
			h.check()
		})
	}
}

// A history is a directory of an agent, an archive, and the archive's required content.
type history struct {
	*agentDir
	t       *testing.T
	archive *archive.Archive
	last    map[string]string          // the content of each file when it was last saved
	ever    map[string]map[string]bool // each content that was saved
}

func (h *history) step(r *rand.Rand) {
	n := r.IntN(3)
	path := mainOf(n)
	if r.IntN(3) == 0 {
		path = fmt.Sprintf("projects/%s/%s/tool-results/%d.txt", project, id(n), r.IntN(2))
	}
	now, err := os.ReadFile(filepath.Join(h.root, filepath.FromSlash(path)))
	text := strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(2000)) + "\n"
	switch op := r.IntN(10); {
	case op < 4:
		h.write(path, string(now)+text)
	case op == 4:
		h.write(path, text)
	case op == 5 && len(now) > 0:
		h.write(path, string(now[:r.IntN(len(now))]))
	case op == 6 && err == nil:
		h.remove(path)
	case op == 7:
		h.restore(n)
	default:
		h.run()
	}
}

func (h *history) run() {
	h.t.Helper()
	for path, text := range files(h.t, h.root) {
		if strings.Contains(path, ".before-restore-") {
			continue
		}
		h.last["box/"+path] = text
		if h.ever[path] == nil {
			h.ever[path] = map[string]bool{}
		}
		h.ever[path][text] = true
	}
	if report := h.save(h.archive); len(report.Problems) > 0 {
		h.t.Fatal(report.Problems)
	}
	if diff := cmp.Diff(h.last, saved(h.t, h.archive)); diff != "" {
		h.t.Fatal("(-want +got)\n", diff)
	}
}

// restore restores a session with force, if it is in the archive, and compares its files.
func (h *history) restore(n int) {
	h.t.Helper()
	s, err := h.archive.Find(h.t.Context(), id(n), nil)
	if errors.Is(err, archive.ErrNotFound) {
		return
	}
	if err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.archive.Restore(h.t.Context(), s, &archive.RestoreOptions{Root: h.root, Force: true}); err != nil {
		h.t.Fatal(err)
	}
	for _, f := range s.Files {
		if got := h.read(f.Path); got != h.last["box/"+f.Path] {
			h.t.Errorf("%s: another content was restored", f.Path)
		}
		at := time.Date(2026, 1, 2, 3, 4, h.tick, 5, time.UTC) // times of this test are in the past
		h.tick++
		if err := os.Chtimes(filepath.Join(h.root, filepath.FromSlash(f.Path)), at, at); err != nil {
			h.t.Fatal(err)
		}
	}
	for path := range files(h.t, h.root) {
		if strings.Contains(path, ".before-restore-") {
			h.remove(path)
		}
	}
}

// check reads each content that was ever saved. A content that is a prefix of a later one was not
// rewritten, and so is not a generation.
func (h *history) check() {
	h.t.Helper()
	all, _, err := h.archive.Sessions(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, s := range all {
		for i := range s.Files {
			f := &s.Files[i]
			contents := [][]archive.Segment{f.Segments}
			for _, old := range f.Old {
				contents = append(contents, old.Segments)
			}
			var texts []string
			for _, segments := range contents {
				var b bytes.Buffer
				if err := h.archive.Write(h.t.Context(), &b, s, &archive.File{Path: f.Path, Segments: segments}); err != nil {
					h.t.Fatal(err)
				}
				texts = append(texts, b.String())
			}
			for text := range h.ever[f.Path] {
				if !hasPrefixIn(texts, text) {
					h.t.Errorf("%s: a content of %d bytes is gone", f.Path, len(text))
				}
			}
		}
	}
}

func hasPrefixIn(texts []string, prefix string) bool {
	for _, text := range texts {
		if strings.HasPrefix(text, prefix) {
			return true
		}
	}
	return false
}
