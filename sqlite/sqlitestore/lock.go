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
	// lockWait is the time SQLite waits for a lock before it returns an error. A context can't
	// interrupt that wait, so it is short, and retryLocked repeats the call.
	lockWait = 50 * time.Millisecond
	// lockPause is the time between two calls, in case SQLite does not wait.
	lockPause = time.Millisecond
)

// retryLocked calls f again while other processes lock the file, until the lock timeout of the
// store. The timeout starts with the first refusal, since f may have waited for other goroutines
// before. When its context ends, f must return another error.
func retryLocked[T any](s *Store, f func() (T, error)) (T, error) {
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
			return v, fmt.Errorf("file is locked by another process: %w", err)
		}
		time.Sleep(lockPause)
	}
}

func isLocked(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// wrapError adds the path to an error, and returns nil for nil. If the context ended, its error is
// the reason.
func (s *Store) wrapError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("sqlitestore: %s: %w", s.path, err)
}
