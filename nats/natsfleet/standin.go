package natsfleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/nats/internal/natsserver"
)

// beginStandIn starts to wait for the end of the process that runs the directory's server.
func (e *Engine) beginStandIn(ctx context.Context) {
	ctx, leave := context.WithCancel(context.WithoutCancel(ctx)) // it bounds only Open
	e.leave = leave
	e.standing.Go(func() { e.standIn(ctx) })
}

// endStandIn ends that, and reports whether it ended before the context did. Otherwise a server
// that was just started stops later.
func (e *Engine) endStandIn(ctx context.Context) bool {
	if e.leave == nil {
		return true
	}
	e.leave()
	ended := make(chan struct{})
	go func() {
		e.standing.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// standIn restarts the server of the directory when the process that runs it ends. Several engines
// may try: the engine that gets the lock of the directory does it, and the others follow the notice
// that it writes.
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

// takeOver starts the server, unless another process has it or would start another one, and reports whether there is
// nothing more to do. Its clients come back at once: what is checked then is checked while they write.
func (e *Engine) takeOver(ctx context.Context) bool {
	if !e.mayServe() {
		return false
	}
	srv, _, err := e.serve(ctx, e.mayServe)
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
	if err == nil {
		return true
	}
	if _, ok := errors.AsType[damage](err); ok { // nobody else may use the rest, so the directory stays locked
		e.link.end(err)
		srv.Shutdown()
		return true
	}
	e.giveUp(ctx, srv, err)
	return false
}

// giveUp stops a server that could be started, but not checked. Another process may try next.
func (e *Engine) giveUp(ctx context.Context, srv *natsserver.Server, why error) {
	if e.mark != nil {
		e.mark.stop()
		<-e.mark.done
		e.mark = nil
	}
	e.srv.Store(nil)
	why = errors.Join(why, srv.Stop(answerTimeout))
	e.link.explain(why)
	wait := min(maxStandInWait<<min(e.gaveUp.Add(1)-1, 8), maxGiveUpWait)
	_ = pause.For(ctx, wait)
}

// maxGiveUpWait is the longest time until a server that could not be checked is started again.
const maxGiveUpWait = 16 * time.Second

// mayServe reports whether the server that this engine would start is like the last one, so that it
// can be a client of it, and has its files. Another one would shut out clients from elsewhere, or
// let them in. A directory without a mark did not belong to the last server: it was moved, or its
// disk is not mounted.
func (e *Engine) mayServe() bool {
	if _, err := os.Stat(filepath.Join(e.opts.Dir, markName)); err != nil {
		return false
	}
	own, err := e.describe()
	if err != nil {
		return false
	}
	last, err := e.client.finder.notice()
	if errors.Is(err, fs.ErrNotExist) {
		last, err = &e.client.finder.first, nil
	}
	return err == nil && last.Name == own.Name && last.Listen == own.Listen && last.Users == e.opts.usersSum(last.NKey) &&
		last.Certificate == own.Certificate && (last.ClientCertificate != "") == (e.opts.RootCA != "")
}
