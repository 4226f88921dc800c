package sqlitefile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/clewdev/clew/sqlite/internal/sqlitefile"
)

// A file may have any name, and the path means that file.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain.db", "a b.db", "a%20b.db", "a+b&c=d.db", "ä.db"} {
		testOpen(t, filepath.Join(t.TempDir(), name))
	}
	if runtime.GOOS != "windows" {
		testOpen(t, filepath.Join(t.TempDir(), "a?mode=memory#b.db"))
	}
}

func testOpen(t *testing.T, path string) {
	t.Helper()
	exec := func(mode sqlitefile.Mode, statement string) error {
		db, err := sqlitefile.Open(path, mode)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		_, err = db.ExecContext(t.Context(), statement)
		return err
	}
	if err := exec(sqlitefile.ReadWrite, "CREATE TABLE t (a)"); err == nil {
		t.Errorf("%s: a file was created", path)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Errorf("%s: the file is there", path)
	}
	for range 2 { // the second time, it exists
		if err := sqlitefile.Create(path); err != nil {
			t.Error(err)
		}
	}
	if err := exec(sqlitefile.ReadWrite, "CREATE TABLE t (a)"); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%s: %v, %v", path, info, err)
	}
	if err := exec(sqlitefile.ReadOnly, "INSERT INTO t VALUES (1)"); err == nil {
		t.Errorf("%s: written in the mode ReadOnly", path)
	}
	if err := sqlitefile.Create(path); err != nil {
		t.Error(err)
	}
	if err := exec(sqlitefile.ReadOnly, "SELECT a FROM t"); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}
