package clew

import (
	"context"
	"iter"
	"time"

	"github.com/clewdev/clew/wire"
)

// A Store keeps transcripts outside of the agent's own folder, such as in a database, so that a session can be resumed
// on another machine: see [Options.Store]. The packages sessions, sessions/sqlitestore and sessions/natsstore have stores,
// and sessions/storetest tests one. Its methods may be called from several goroutines.
type Store interface {
	// Append adds entries, each a JSON object, to the end of a transcript, in order and all or none. No entries is no
	// change. An entry whose member "uuid" is that of one that is there already is left out, so that an append can be
	// repeated.
	Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error
	// Load returns the entries of a transcript in order, and none for one that is not there. An entry is the same JSON
	// value that was appended, not necessarily the same text. An error is the last pair.
	Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	// Sessions returns the sessions of a project by ID, with the time of the last append to each one's own transcript.
	Sessions(ctx context.Context, project string) (map[string]time.Time, error)
	// Subpaths returns the subpaths of the transcripts below a session's own, sorted. The key's own subpath is ignored.
	Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error)
}
