package natsfleet

import (
	"context"
	"errors"
	"time"

	"github.com/clewdev/clew/internal/natsserver"
)

// beginStandIn begins to wait for the end of the process that runs the server of the directory.
func (e *Engine) beginStandIn(ctx context.Context) {
	ctx, leave := context.WithCancel(context.WithoutCancel(ctx)) // it bounds only Open
	e.leave = leave
	e.standing.Go(func() { e.standIn(ctx) })
}

// standIn starts the server of the directory again when the process that runs it has ended. Several engines may
// try: the one that gets the lock of the directory does it, and the others follow the notice that it writes.
func (e *Engine) standIn(ctx context.Context) {
	for wait := retryDelay; ctx.Err() == nil; {
		life, up, over := e.link.state()
		if over != nil {
			return
		}
		if life.Err() == nil {
			wait = retryDelay
			select {
			case <-life.Done():
			case <-ctx.Done():
			}
			continue
		}
		if e.takeOver(ctx) {
			return
		}
		select {
		case <-up: // it runs somewhere else, or runs on
		case <-time.After(wait):
		case <-ctx.Done():
		}
		wait = min(2*wait, maxStandInWait)
	}
}

// maxStandInWait is the longest time between two attempts to get the lock of the directory.
const maxStandInWait = time.Second

// takeOver starts the server, unless another process has it or would start another one, and reports whether it
// has. Its clients come back at once: what is checked then is checked while they write.
func (e *Engine) takeOver(ctx context.Context) bool {
	if !e.mayServe() {
		return false
	}
	srv, _, err := e.serve(ctx)
	if err != nil {
		if !errors.Is(err, natsserver.ErrInUse) {
			e.link.explain(err)
		}
		return false
	}
	e.srv.Store(srv)
	for again := true; again; {
		err = e.openStreams(ctx)
		if err == nil {
			err = e.openMark(ctx)
		}
		again = ctx.Err() == nil && (isLost(err) || errors.Is(err, errNoAnswer))
	}
	if err == nil {
		err = e.watchDisk(ctx)
	}
	if err != nil && ctx.Err() == nil {
		e.link.end(err)
		srv.Shutdown()
	}
	return true
}

// mayServe reports whether the server that this engine would start is like the last one. Another one would shut
// out those who connect from elsewhere, or let them in.
func (e *Engine) mayServe() bool {
	own, err := e.describe()
	if err != nil {
		return false
	}
	last, err := readNotice(e.opts.Dir)
	if err != nil {
		last = &e.client.finder.first
	}
	return last.Name == own.Name && last.Listen == own.Listen && last.Shared == own.Shared &&
		last.Certificate == own.Certificate && (last.ClientCertificate != "") == (e.opts.RootCA != "")
}
