package clew

import (
	"context"
	"time"

	"github.com/clewdev/clew/wire"
)

// appendPauses are those before each attempt to append something.
var appendPauses = []time.Duration{0, 200 * time.Millisecond, 800 * time.Millisecond}

// An appender appends to a store, one call after the other.
//
// A call that has not returned when its time is over may still reach the store. Until it returns, nothing else is
// appended to the same transcript, so that entries never change places: who comes next waits for it, within his own
// time.
type appender struct {
	store   Store
	timeout time.Duration
	running map[wire.SessionKey]<-chan struct{} // calls that were not waited for

	ctx    context.Context // ended by giveUp
	giveUp context.CancelCauseFunc
}

func newAppender(opts *Options) *appender {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &appender{
		store: opts.Store, timeout: opts.storeTimeout(), running: make(map[wire.SessionKey]<-chan struct{}),
		ctx: ctx, giveUp: cancel,
	}
}

// append appends entries. What fails is tried again, unless it took too long.
func (a *appender) append(key wire.SessionKey, entries []wire.JSON) (err error) {
	for _, pause := range appendPauses {
		if !sleep(a.ctx, pause) {
			return join(err, context.Cause(a.ctx))
		}
		late, failure := a.try(key, entries)
		if err = failure; err == nil || late {
			break
		}
	}
	return err
}

func (a *appender) try(key wire.SessionKey, entries []wire.JSON) (late bool, err error) {
	ctx, cancel := withStoreTimeout(a.ctx, a.timeout)
	defer cancel()
	if running := a.running[key]; running != nil {
		select {
		case <-running:
			delete(a.running, key)
		case <-ctx.Done():
			return true, context.Cause(ctx)
		}
	}
	running, err := callStore(ctx, func(ctx context.Context) error { return a.store.Append(ctx, key, entries) })
	if ctx.Err() == nil {
		return false, err
	}
	a.running[key] = running
	return true, err
}
