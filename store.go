package clew

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/clewdev/clew/wire"
)

// A Store keeps transcripts outside the agent's own directory, such as in a database, so that a
// session can be resumed on another machine: see [Options.Store]. The packages sessions,
// sessions/sqlitestore and sessions/natsstore have stores, and sessions/storetest tests an
// implementation. Its methods may be called from several goroutines.
type Store interface {
	// Append adds entries, each a JSON object, to the end of a transcript: all of them, in order,
	// or none. An empty list changes nothing. An entry with the same "uuid" as an existing one is
	// left out, so that an append can be repeated.
	Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error
	// Load returns the entries of a transcript in order. A transcript that does not exist has none.
	// Entries have the same JSON value as those appended, but not necessarily the same text. An
	// error is the last pair.
	Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	// Sessions returns the IDs of the sessions of a project, each with the time of the last append
	// to its main transcript.
	Sessions(ctx context.Context, project string) (map[string]time.Time, error)
	// Subpaths returns the sorted subpaths of the other transcripts of a session, such as those of
	// subagents. The subpath of the key is ignored.
	Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error)
}

const defaultStoreTimeout = time.Minute

func (o *Options) storeTimeout() time.Duration { return cmp.Or(o.StoreTimeout, defaultStoreTimeout) }

// errStoreReturn is the error of a store that ended its goroutine, as t.Fatal does.
var errStoreReturn = errors.New("it did not return")

// callStore calls a method of a store and waits until it returns or ctx ends. A store may ignore
// its context, so the method runs in a separate goroutine. running is closed when it has returned:
// before that, the caller must not use what the method changes. A panic becomes an error.
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

func (o *Options) checkStore() error {
	if o.Store == nil {
		return o.checkNoStore()
	}
	switch {
	case o.Ephemeral:
		return badOption("Store", "can't be combined with Ephemeral")
	case o.EnableFileCheckpointing:
		return badOption("Store", "can't be combined with EnableFileCheckpointing: a store does not keep the files")
	case o.Resume != "" && !uuidPattern.MatchString(o.Resume):
		return badOption("Resume", "with a Store it must be the ID of a session, not %q", o.Resume)
	case (o.Resume != "" || o.Continue) && !o.onThisMachine():
		return badOption("Store", "can't resume with this Transport: the agent may not see the directories of this machine")
	case o.StoreProject == "":
		return nil
	}
	key := wire.SessionKey{Project: o.StoreProject, SessionID: "any"}
	if key.Check() != nil {
		return badOption("StoreProject", "%q can't be the name of a directory", o.StoreProject)
	}
	return nil
}

func (o *Options) checkNoStore() error {
	switch {
	case o.StoreProject != "":
		return badOption("StoreProject", "needs Store")
	case o.StoreEager:
		return badOption("StoreEager", "needs Store")
	case o.StoreTimeout != 0:
		return badOption("StoreTimeout", "needs Store")
	}
	return nil
}

// onThisMachine reports whether the agent certainly sees the same files as this process.
func (o *Options) onThisMachine() bool {
	local, ok := o.Transport.(*ProcessTransport)
	return o.Transport == nil || ok && local.Wrap == nil
}
