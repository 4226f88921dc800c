package sessions

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

// A Store keeps transcripts: each is a list of entries, which only grows, under a key. It is what clew.Options.Store
// takes, and can delete besides. Package storetest tests a store; [ProjectLister] and [Summarizer] are what one may offer
// besides.
//
// The methods may be called from several goroutines, also in a loop over Load. A key that does not pass
// [wire.SessionKey.Check] is an error, as is a project that no such key can have: check one with any session ID. So is a
// context that has ended, which a method returns wrapped or as it is.
type Store interface {
	// Append adds entries to the end of a transcript, in order and all or none, for readers as well. No entries is no
	// change. An entry whose member "uuid" is that of one that is there already is left out, so that an append can be
	// repeated. One that is not a JSON object in UTF-8 is an error: see [EntryUUID].
	//
	// After the error of a context that ended meanwhile, the entries may be there, but then all of them.
	Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error
	// Load returns the entries of a transcript in order, and none for one that is not there. An entry is the same JSON
	// value that was appended, not necessarily the same text. Those of type agent_metadata, which stand for the file
	// beside a subagent's transcript, may have another place, and all but the last may be gone. An error is the last pair.
	Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	// Sessions returns the sessions of a project by ID, with the time of the last append to each one's own transcript.
	// One that has only transcripts below that is not among them.
	Sessions(ctx context.Context, project string) (map[string]time.Time, error)
	// Subpaths returns the subpaths of the transcripts below a session's own, sorted. The key's own subpath is ignored.
	Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error)
	// Delete removes a transcript with its UUIDs, and with a session's own all that are below it. One that is not there
	// is no error.
	Delete(ctx context.Context, key wire.SessionKey) error
}

// A ProjectLister is a [Store] that knows its projects.
type ProjectLister interface {
	// Projects returns the projects that have sessions, sorted.
	Projects(ctx context.Context) ([]string, error)
}

// A Summarizer is a [Store] that keeps a [Summary] of each session, so that a list of sessions needs not load them. It
// builds them with [Summary.Add] as entries are appended to a session's own transcript.
type Summarizer interface {
	// Summaries returns the summaries of the sessions of a project, by ID.
	Summaries(ctx context.Context, project string) (map[string]Summary, error)
}

// EntryUUID returns the member "uuid" of an entry, or "" if it has none that is a string. It returns an error unless
// the entry is one JSON object in UTF-8: a [Store] calls it for each entry that is appended.
func EntryUUID(entry wire.JSON) (string, error) { return entryUUID([]byte(entry)) }

func entryUUID(entry []byte) (string, error) {
	if !utf8.Valid(entry) {
		return "", errors.New("sessions: an entry is not UTF-8")
	}
	var l jsonlex.Lexer
	l.Reset(entry)
	uuid := ""
	for key, ok := l.FirstKey(); ok; key, ok = l.NextKey() {
		if string(key) == "uuid" && l.Peek() == '"' {
			uuid = l.String()
			continue
		}
		l.Skip()
	}
	l.End()
	if err := l.Err(); err != nil {
		return "", fmt.Errorf("sessions: an entry is not a JSON object: %w", err)
	}
	return uuid, nil
}

// entryUUIDs returns the UUID of each entry, or an error that says which one is no entry.
func entryUUIDs(key wire.SessionKey, entries []wire.JSON) ([]string, error) {
	uuids := make([]string, len(entries))
	for i, entry := range entries {
		uuid, err := EntryUUID(entry)
		if err != nil {
			return nil, fmt.Errorf("%w (entry %d for %s)", err, i, key)
		}
		uuids[i] = uuid
	}
	return uuids, nil
}

// ready returns an error if the context has ended or the key is bad.
func ready(ctx context.Context, key wire.SessionKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return key.Check()
}

// anyKey is a key of the project, to check its name by.
func anyKey(project string) wire.SessionKey {
	return wire.SessionKey{Project: project, SessionID: "any"}
}
