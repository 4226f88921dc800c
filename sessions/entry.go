package sessions

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/jsonlex"
	"github.com/clewdev/clew/wire"
)

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
