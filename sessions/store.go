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

// A Store keeps transcripts. Each transcript is a list of entries under a key, and only grows.
// Every Store is also a clew.Store, which clew.Options.Store.Store takes. A store may also implement
// [ProjectLister] and [Summarizer]. Test one with package storetest.
//
// All methods may be called from several goroutines, also inside a loop over Load. They return an
// error if the context ended (the error of the context, possibly wrapped), if the key does not pass
// [wire.SessionKey.Check], or if no valid key can have that project. To check a project name, check
// a key with any session ID.
type Store interface {
	// Append adds entries to the end of a transcript, in order. Either all of them are added or
	// none, and no reader sees only some of them. Appending no entries changes nothing.
	//
	// An entry whose member "uuid" is already in the transcript is left out, so an append can be
	// repeated safely. An entry that is not a JSON object in UTF-8 is an error: see [EntryUUID].
	//
	// If the context ends during the call, the entries may have been added, but then all of them.
	Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error
	// Load returns the entries of a transcript in order. A transcript that does not exist has none.
	// An entry is the JSON value that was appended, though not necessarily the same text.
	//
	// Entries of type agent_metadata stand for the metadata file next to a subagent's transcript.
	// They may come in another position, and only the last one need be there.
	//
	// An error is the last pair.
	Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	// Sessions returns the sessions of a project by ID, each with the time of the last append to
	// its main transcript. A session that has only transcripts of subagents is not included.
	Sessions(ctx context.Context, project string) (map[string]time.Time, error)
	// Subpaths returns the subpaths of a session's other transcripts, sorted, such as
	// "subagents/agent-1f3a". It ignores the subpath of the key.
	Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error)
	// Delete removes a transcript and forgets its UUIDs. If the key has no subpath, it removes the
	// session with all of its transcripts. Deleting something that does not exist is not an error.
	Delete(ctx context.Context, key wire.SessionKey) error
}

// A ProjectLister is a [Store] that can list its projects. With such a store, the options of this
// package need no project: [Get] and the other functions then look for a session in all projects.
// All stores of Clew are ProjectListers.
//
// The other functions return an error about it if they need one and the store is not a
// ProjectLister.
type ProjectLister interface {
	// Projects returns the names of all projects that have sessions, sorted, such as
	// "-home-me-code". An empty store has none, which is not an error.
	Projects(ctx context.Context) ([]string, error)
}

// A Summarizer is a [Store] that keeps a [Summary] of each session, so that [List] need not load
// the sessions. The store calls [Summary.Add] for each entry that is appended to the main
// transcript of a session, and keeps the result in whatever form it likes; a Summary can be
// marshaled to JSON.
//
// A store that keeps no summaries works as well: then List loads each session.
type Summarizer interface {
	// Summaries returns the summaries of a project's sessions, by ID. List loads sessions that are
	// missing from the map.
	Summaries(ctx context.Context, project string) (map[string]Summary, error)
}

// EntryUUID returns the member "uuid" of an entry, or "" if the entry has none or it is not a
// string. It returns an error unless the entry is one JSON object in UTF-8. A [Store] calls it for
// each entry that is appended. If the member comes more than once, the last one counts.
func EntryUUID(entry wire.JSON) (string, error) { return entryUUID([]byte(entry)) }

// entryUUID is EntryUUID for bytes. It reads the whole entry, since a key may come more than once,
// and the last one counts.
func entryUUID(entry []byte) (string, error) {
	if !utf8.Valid(entry) {
		return "", errors.New("sessions: entry is not valid UTF-8")
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
		return "", fmt.Errorf("sessions: entry is not a JSON object: %w", err)
	}
	return uuid, nil
}

// entryUUIDs returns the UUID of each entry, or an error with the index of an invalid entry.
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

// checkKey returns an error if the context ended or the key is invalid.
func checkKey(ctx context.Context, key wire.SessionKey) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return key.Check()
}

// projectKey returns a key of the project, to check the project's name with.
func projectKey(project string) wire.SessionKey {
	return wire.SessionKey{Project: project, SessionID: "any"}
}
