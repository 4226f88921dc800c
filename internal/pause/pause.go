// Package pause waits for some time, or until a context ends.
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
