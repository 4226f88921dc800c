package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// An entry needs no column for its place: its ID is greater than those that were there before it, and the index of a
// transcript's entries is in the order of their IDs.
const schema = `
CREATE TABLE transcripts (
	id       INTEGER PRIMARY KEY,
	project  TEXT NOT NULL,
	session  TEXT NOT NULL,
	subpath  TEXT NOT NULL,              -- empty for the session's own transcript
	appended INTEGER NOT NULL,           -- the time of the last append, in nanoseconds since 1970
	summary  TEXT NOT NULL DEFAULT '{}', -- of the session, as JSON, beside its own transcript
	UNIQUE (project, session, subpath)
) STRICT;

CREATE TABLE entries (
	id         INTEGER PRIMARY KEY,
	transcript INTEGER NOT NULL REFERENCES transcripts (id) ON DELETE CASCADE,
	uuid       TEXT,
	body       TEXT NOT NULL
) STRICT;
CREATE INDEX entries_transcript ON entries (transcript);
CREATE UNIQUE INDEX entries_uuid ON entries (transcript, uuid) WHERE uuid IS NOT NULL;
`

const (
	// application marks files of this package. It spells "clew".
	application = 0x636c6577
	version     = 1
)

// setUp makes the tables of a new file, and refuses a file that is not one of ours.
func (s *Store) setUp(ctx context.Context) error {
	if err := s.write(ctx, func(tx *sql.Tx) error { return setUpTables(ctx, tx) }); err != nil {
		return err
	}
	// The mode is a property of the file, but outside of transactions. With it, readers and the writer don't wait for
	// each other.
	mode, err := patiently(s, func() (mode string, err error) {
		err = s.writer.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		return mode, err
	})
	if err == nil && mode != "wal" {
		err = fmt.Errorf("the file can't have a write-ahead log, only journal mode %q", mode)
	}
	return s.failed(ctx, err)
}

func setUpTables(ctx context.Context, tx *sql.Tx) error {
	var ofFile struct{ application, version, tables int }
	err := tx.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&ofFile.application, &ofFile.version, &ofFile.tables)
	switch {
	case err != nil:
		return err
	case ofFile.application == application && ofFile.version == version:
		_, err := tx.ExecContext(ctx, "DELETE FROM transcripts WHERE false") // which fails if the file can't be written
		return err
	case ofFile.application == application:
		return fmt.Errorf("the store has version %d, and this program knows version %d only", ofFile.version, version)
	case ofFile.application != 0 || ofFile.version != 0 || ofFile.tables != 0:
		return errors.New("the database is not a store of sessions")
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d",
		schema, application, version))
	return err
}
