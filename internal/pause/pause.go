// Package pause waits for some time, or until a context ends or a channel is closed.
package pause

import (
	"context"
	"time"
)

// For waits for a duration. It returns the cause of the context if that has ended by then.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return context.Cause(ctx)
}

// Until waits until c is closed, at most for a duration. It reports whether c was closed.
func Until(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}
