package sqlite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Other processes see a new index as empty or as complete, never in a state that they would delete.
func TestOpenWhileAnotherBuilds(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "search.db")
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				if err := build(t, path); err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
}

// build creates an empty index, if there is none.
func build(t *testing.T, path string) error {
	db, err := Open(t.Context(), path)
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := db.Write(t.Context())
	if err != nil {
		return err
	}
	return w.Commit()
}

// A writer keeps its lock while another DB of the process is closed. The process of the second one
// would get the lock otherwise, so it is another process that tries.
func TestCloseBesideAWriter(t *testing.T) {
	t.Parallel()
	if path := os.Getenv("CLEW_TEST_WRITE"); path != "" {
		if err := write(t, path); !errors.Is(err, ErrBusy) {
			t.Errorf("error %v", err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "search.db")
	if err := build(t, path); err != nil {
		t.Fatal(err)
	}
	writer, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	w, err := writer.Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abandon()
	reader, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCloseBesideAWriter$")
	other.Env = append(os.Environ(), "CLEW_TEST_WRITE="+path)
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// write changes an index that is there.
func write(t *testing.T, path string) error {
	db, err := Open(t.Context(), path)
	if err != nil {
		return err
	}
	defer db.Close()
	w, err := db.Write(t.Context())
	if err != nil {
		return err
	}
	return w.Commit()
}

// The whole index is read for its checksum if its time changed, or if that was long ago, and not
// each time that it is opened. Then damage is noticed, even if it leaves the time as it is.
func TestChecksumIsComparedNowAndThen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "search.db")
	if err := build(t, path); err != nil {
		t.Fatal(err)
	}
	open := func(summed bool, want error) {
		t.Helper()
		db, err := Open(t.Context(), path)
		if !errors.Is(err, want) {
			t.Fatalf("error %v, want %v", err, want)
		}
		if err != nil {
			return
		}
		defer db.Close()
		if db.summed != summed {
			t.Errorf("the file was read for its checksum: %v, want %v", db.summed, summed)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	open(false, nil)
	open(false, nil)
	setTime(t, path, info.ModTime().Add(time.Hour)) // as a copy has
	open(true, nil)
	open(false, nil)
	setTime(t, path+sumSuffix, time.Now().Add(-sumInterval))
	open(true, nil)
	open(false, nil)
	setTime(t, path+sumSuffix, time.Now().Add(time.Hour)) // the clock was wrong
	open(true, nil)

	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-1] ^= 1
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	open(true, ErrDamaged)
	setTime(t, path, info.ModTime().Add(time.Hour)) // as if the disk had lost a bit
	setTime(t, path+sumSuffix, time.Now().Add(-sumInterval))
	open(true, ErrDamaged)
}

// An index where nothing can be written, as on a full disk, can be opened. It is just compared with
// its checksum again. No file is created, which a crash could leave.
func TestChecksumThatCannotBeStored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "search.db")
	if err := build(t, path); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{dir: 0o500, path + sumSuffix: 0o400} {
		setTime(t, path+sumSuffix, time.Now().Add(-sumInterval))
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		db, err := Open(t.Context(), path)
		if err := os.Chmod(name, 0o700); err != nil {
			t.Error(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil || !db.summed {
			t.Errorf("the file was read for its checksum: %v, error %v", db.summed, err)
		}
	}
}

// Processes that compare the checksum at the same time always see the whole of it.
func TestChecksumIsStoredByMany(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "search.db")
	if err := build(t, path); err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	info, err := db.file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	want, err := db.readSum()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				err := db.storeSum(want.sum, info)
				got, readErr := db.readSum()
				if err = errors.Join(err, readErr); err != nil || got.sum != want.sum || got.changed != want.changed {
					t.Errorf("got %+v, %v, want %+v", got, err, want)
					return
				}
			}
		})
	}
	group.Wait()
}

func setTime(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}
