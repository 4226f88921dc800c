package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
)

// The variables of a child that saves and is killed.
const (
	killedRoot    = "TEST_KILLED_ROOT"
	killedArchive = "TEST_KILLED_ARCHIVE"
	killedStep    = "TEST_KILLED_STEP"  // before which step of a write
	killedAfter   = "TEST_KILLED_AFTER" // or after which time
)

// TestKilled kills a process that saves, without a chance to tidy up, before each step of its writes.
// After each, all that is in the archive is whole; after a last run, it is complete.
func TestKilled(t *testing.T) {
	t.Parallel()
	d := newAgentDir(t)
	d.write(mainOf(1), line("first"))
	for step := 0; ; step++ {
		a, dir := newArchive(t)
		d.remove(mainOf(2))
		d.save(a)
		d.append(mainOf(1), line(fmt.Sprint("more ", step)))
		d.write(mainOf(2), line("new"))
		killed := killChild(t, d, dir, killedStep+"="+strconv.Itoa(step))
		checkWhole(t, d, a)
		d.save(a)
		checkComplete(t, d, a)
		if !killed {
			if step < 15 {
				t.Errorf("the run had only %d steps", step)
			}
			return
		}
	}
}

// TestKilledAtRandom kills processes at random moments of a run.
func TestKilledAtRandom(t *testing.T) {
	rnd := soak.Search(t)
	d := newAgentDir(t)
	a, dir := newArchive(t)
	for n := range 8 {
		d.fill(n)
		d.write(mainOf(n), noise(300<<10))
	}
	other, _ := newArchive(t)
	begun := time.Now()
	d.save(other)
	once := time.Since(begun)
	partial := 0
	for i := range 20 {
		after := time.Duration(rnd.Float64() * 1.5 * float64(once))
		if !killChild(t, d, dir, killedAfter+"="+after.String()) {
			t.Fatal("the child was not killed")
		}
		if !checkWhole(t, d, a) {
			partial++
		}
		for n := range 8 {
			d.append(mainOf(n), line(fmt.Sprint("more ", i)))
		}
		d.write(mainOf(100+i), noise(100<<10))
	}
	t.Logf("a run takes %s; %d of 20 were killed before they had saved everything", once, partial)
	d.save(a)
	checkComplete(t, d, a)
}

// checkWhole checks that everything in an archive is the start of a file, and reports whether all
// files are complete.
func checkWhole(t *testing.T, d *agentDir, a *archive.Archive) (complete bool) {
	t.Helper()
	report, err := a.Verify(t.Context(), nil)
	if err != nil || len(report.Problems) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	live, there := files(t, d.root), saved(t, a)
	complete = len(there) >= len(live)
	for path, text := range there {
		now := live[strings.TrimPrefix(path, "box/")]
		if !strings.HasPrefix(now, text) {
			t.Fatalf("%s has bytes that it never had", path)
		}
		complete = complete && now == text
	}
	return complete
}

// checkComplete checks that an archive has everything.
func checkComplete(t *testing.T, d *agentDir, a *archive.Archive) {
	t.Helper()
	want := map[string]string{}
	for path, text := range files(t, d.root) {
		want["box/"+path] = text
	}
	if diff := cmp.Diff(want, saved(t, a)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// killChild saves in another process, and reports whether it was killed.
func killChild(t *testing.T, d *agentDir, dir *archive.Dir, when string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), killedRoot+"="+d.root, killedArchive+"="+dir.Path(), when)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || len(out) > 0 {
		t.Fatalf("the child: %v\n%s", err, out)
	}
	return err != nil
}

// TestMain runs the tests, or is the child of TestKilled.
func TestMain(m *testing.M) {
	if os.Getenv(killedRoot) == "" {
		os.Exit(m.Run())
	}
	if err := saveUntilKilled(os.Getenv(killedRoot), os.Getenv(killedArchive)); err != nil {
		fmt.Println(err)
	}
	os.Exit(0)
}

// saveUntilKilled saves until this process kills itself: once if a step is given, and again and again
// if a time is given.
func saveUntilKilled(root, path string) error {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	dir, err := archive.OpenDir(path)
	if err != nil {
		return err
	}
	save := func() error {
		_, err := archive.New(dir).Save(context.Background(), &archive.SaveOptions{Roots: []string{root}, Machine: "box"})
		return err
	}
	if step, err := strconv.ParseInt(os.Getenv(killedStep), 10, 64); err == nil {
		var steps atomic.Int64
		dir.SetStep(func() {
			if steps.Add(1) > step {
				_ = self.Kill()
				polltest.Forever()
			}
		})
		return save()
	}
	limit, err := time.ParseDuration(os.Getenv(killedAfter))
	if err != nil {
		return err
	}
	time.AfterFunc(limit, func() { _ = self.Kill() })
	for {
		if err := save(); err != nil {
			return err
		}
	}
}
