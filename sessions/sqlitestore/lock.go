package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// lockWait is how long SQLite waits for a lock before it says that the file is locked. A context can't end this, so
	// it is short, and the waiting goes on here.
	lockWait = 50 * time.Millisecond
	// lockPause is for the cases in which SQLite does not wait.
	lockPause = time.Millisecond
)

// patiently calls f again while other processes lock the file, until the store's time-out. That begins with the first
// refusal: before it, f may have waited for other goroutines. When its context has ended, f must return another error.
func patiently[T any](s *Store, f func() (T, error)) (T, error) {
	var deadline time.Time
	for {
		v, err := f()
		if !isLocked(err) {
			return v, err
		}
		now := time.Now()
		if deadline.IsZero() {
			deadline = now.Add(s.lockTimeout)
		}
		if now.After(deadline) {
			return v, fmt.Errorf("other processes keep the file locked: %w", err)
		}
		time.Sleep(lockPause)
	}
}

func isLocked(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// failed adds the path to an error, and passes nil on. When the context has ended, that is why.
func (s *Store) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("sqlitestore: %s: %w", s.path, err)
}
