package archive_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/archive"
)

// The variables of a child that saves and is killed.
const (
	killedRoot    = "TEST_KILLED_ROOT"
	killedArchive = "TEST_KILLED_ARCHIVE"
	killedAfter   = "TEST_KILLED_AFTER"
)

// TestKilled kills processes that save, without a chance to tidy up, at random moments of a run. After
// each, all that is in the archive is whole; after a last run, it is complete.
func TestKilled(t *testing.T) {
	t.Parallel()
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
	r := rand.New(rand.NewPCG(1, 2))
	var partial int
	for i := range 20 {
		after := time.Duration(r.Float64() * 1.5 * float64(once))
		killChild(t, d, dir, after)
		report, err := a.Verify(t.Context(), nil)
		if err != nil || len(report.Problems) > 0 {
			t.Fatalf("run %d, killed after %s: %+v, %v", i, after, report, err)
		}
		isComplete := true
		live := files(t, d.root)
		for path, text := range saved(t, a) {
			if !strings.HasPrefix(live[strings.TrimPrefix(path, "box/")], text) {
				t.Fatalf("run %d, killed after %s: %s has bytes that it never had", i, after, path)
			}
			isComplete = isComplete && live[strings.TrimPrefix(path, "box/")] == text
		}
		if !isComplete || len(saved(t, a)) < len(live) {
			partial++
		}
		for n := range 8 {
			d.append(mainOf(n), line(fmt.Sprint("more ", i)))
		}
		d.write(mainOf(100+i), noise(100<<10))
	}
	t.Logf("a run takes %s; %d of 20 were killed before they had saved everything", once, partial)
	d.save(a)
	want := map[string]string{}
	for path, text := range files(t, d.root) {
		want["box/"+path] = text
	}
	if diff := cmp.Diff(want, saved(t, a)); diff != "" {
		t.Error("(-want +got)\n", diff)
	}
}

// killChild saves in another process, which is killed after some time.
func killChild(t *testing.T, d *agentDir, dir *archive.Dir, after time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0]) //nolint:gosec // this program
	cmd.Env = append(os.Environ(), killedRoot+"="+d.root, killedArchive+"="+dir.Path(), killedAfter+"="+after.String())
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); !ended || len(out) > 0 || ctx.Err() != nil {
		t.Fatalf("the child was not killed: %v\n%s", err, out)
	}
}

// TestMain runs the tests, or is the child of TestKilled.
func TestMain(m *testing.M) {
	if os.Getenv(killedRoot) == "" {
		os.Exit(m.Run())
	}
	fmt.Println(saveUntilKilled(os.Getenv(killedRoot), os.Getenv(killedArchive), os.Getenv(killedAfter)))
	os.Exit(0)
}

// saveUntilKilled saves again and again. It returns only if something fails.
func saveUntilKilled(root, path, after string) error {
	limit, err := time.ParseDuration(after)
	if err != nil {
		return err
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	dir, err := archive.OpenDir(path)
	if err != nil {
		return err
	}
	time.AfterFunc(limit, func() { _ = self.Kill() })
	for {
		if _, err := archive.New(dir).Save(context.Background(), &archive.SaveOptions{Roots: []string{root}, Machine: "box"}); err != nil {
			return err
		}
	}
}
