package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

const defaultStoreTimeout = time.Minute

func (o *Options) storeTimeout() time.Duration { return cmp.Or(o.StoreTimeout, defaultStoreTimeout) }

// errStoreReturn is the error of a store that ended its goroutine, as the Fatal of a test does.
var errStoreReturn = errors.New("it did not return")

// callStore calls a method of a store and waits until it returns or ctx ends. A store may not look at its context, so
// it runs on a goroutine of its own: running is closed when it has returned, and what it changes must not be looked at
// before. A panic is an error.
func callStore(ctx context.Context, method func(context.Context) error) (running <-chan struct{}, err error) {
	done := make(chan struct{})
	outcome := errStoreReturn
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				outcome = fmt.Errorf("panic: %v", p)
			}
		}()
		outcome = method(ctx)
	}()
	select {
	case <-done:
		return done, outcome
	case <-ctx.Done():
		return done, context.Cause(ctx)
	}
}

// withStoreTimeout bounds a call of a store.
func withStoreTimeout(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	late := fmt.Errorf("no answer within %v: %w", limit, context.DeadlineExceeded)
	return context.WithTimeoutCause(ctx, limit, late)
}
