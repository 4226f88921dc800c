package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
)

// An update reads the newest files first, in steps. Others find what the steps before have written.
func TestUpdateInSteps(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	const count = 4
	for i := range count {
		name := fmt.Sprintf("%08d-2222-4333-8444-555555555555.jsonl", i)
		d.write(name, promptLine(i, "apple"), os.O_APPEND)
		at := rankNow.AddDate(0, 0, -i)
		if err := os.Chtimes(d.path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	files := filesBelow(t, d.dir)
	size := files[0].Info.Size()
	var steps [][]string
	update := Index{Path: d.index.Path, firstStep: 1, Progress: func(done, total int64) {
		if total != count*size {
			t.Errorf("%d bytes of %d", done, total)
		}
		if done <= size { // nobody can read the index during the first step
			return
		}
		reader := Index{Path: d.index.Path}
		result, err := reader.Lookup(t.Context(), files, words(t, "apple"))
		if err != nil {
			t.Error(err)
			return
		}
		var found []string
		for _, h := range result.Hits {
			found = append(found, h.SessionID[:8])
		}
		slices.Sort(found)
		if len(found)+len(result.Outdated) != count || result.OutdatedBytes != int64(len(result.Outdated))*size {
			t.Errorf("found %v, outdated %d, %d bytes", found, len(result.Outdated), result.OutdatedBytes)
		}
		steps = append(steps, found)
	}}
	if unread, err := update.Update(t.Context(), files); err != nil || len(unread) > 0 {
		t.Fatal(unread, err)
	}
	steps = slices.CompactFunc(steps, slices.Equal)
	if got, want := fmt.Sprint(steps), "[[00000000] [00000000 00000001] [00000000 00000001 00000002]]"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
}

// The size of a step is doubled until it is the usual one.
func TestSizesOfSteps(t *testing.T) {
	t.Parallel()
	s := &steps{size: firstStep, tried: map[string]bool{}}
	var sizes []int64
	for range 6 {
		s.next(new(plan))
		sizes = append(sizes, s.size>>20)
	}
	if want := []int64{16, 32, 64, 96, 96, 96}; !slices.Equal(sizes, want) {
		t.Errorf("steps of %v MB, want %v", sizes, want)
	}
}

// A file that can't be read is not outdated until it changes, and the size of the text that was appended
// to a file is known.
func TestOutdatedFiles(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	name := deskSession + ".jsonl"
	lookup := func(files []sessions.File, outdated int, size int64, unread int) {
		t.Helper()
		got, err := d.index.Lookup(t.Context(), files, words(t, "apple"))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Outdated) != outdated || got.OutdatedBytes != size || len(got.Unread) != unread {
			t.Errorf("%d outdated with %d bytes, unread %v, want %d, %d and %d", len(got.Outdated), got.OutdatedBytes, got.Unread, outdated, size, unread)
		}
	}
	update := func(ctx context.Context, files []sessions.File, unread int, want error) {
		t.Helper()
		if got, err := d.index.Update(ctx, files); len(got) != unread || !errors.Is(err, want) {
			t.Errorf("unread %v, error %v, want %d and %v", got, err, unread, want)
		}
	}

	d.write(name, promptLine(1, "apple"), os.O_APPEND)
	update(t.Context(), filesBelow(t, d.dir), 0, nil)
	more := promptLine(2, "apple")
	d.write(name, more, os.O_APPEND)
	lookup(filesBelow(t, d.dir), 1, int64(len(more)), 0)

	files := filesBelow(t, d.dir)
	if err := errors.Join(os.RemoveAll(d.path("")), os.WriteFile(d.path(""), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	update(t.Context(), files, 1, nil)
	lookup(files, 0, 0, 1)
	if err := os.Remove(d.path("")); err != nil {
		t.Fatal(err)
	}
	d.write(name, promptLine(1, "apple"), os.O_APPEND)
	later := files[0].Info.ModTime().Add(time.Hour)
	if err := os.Chtimes(d.path(name), later, later); err != nil {
		t.Fatal(err)
	}
	files = filesBelow(t, d.dir)
	lookup(files, 1, files[0].Info.Size(), 0)

	ctx, cancel := context.WithCancel(t.Context())
	d.index.Progress = func(int64, int64) { cancel() }
	update(ctx, files, 0, context.Canceled)
	lookup(files, 1, files[0].Info.Size(), 0)
	d.index.Progress = nil
	update(t.Context(), files, 0, nil)
	lookup(files, 0, 0, 0)
}
