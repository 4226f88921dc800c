package sqlite

import (
	"errors"
	"path/filepath"
	"sync"
	"testing"
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
