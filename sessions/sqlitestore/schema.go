package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// An entry needs no column for its position: its ID is greater than all earlier ones, and the index
// of a transcript's entries is sorted by ID.
const schema = `
CREATE TABLE transcripts (
	id       INTEGER PRIMARY KEY,
	project  TEXT NOT NULL,
	session  TEXT NOT NULL,
	subpath  TEXT NOT NULL,              -- empty for the main transcript of a session
	appended INTEGER NOT NULL,           -- the time of the last append, in nanoseconds since 1970
	summary  TEXT NOT NULL DEFAULT '{}', -- of the session, as JSON; only with the main transcript
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
	// application identifies files of this package. It spells "clew".
	application = 0x636c6577
	version     = 1
)

// setUp creates the tables in a new file, and returns an error for a file of another program.
func (s *Store) setUp(ctx context.Context) error {
	if err := s.write(ctx, func(tx *sql.Tx) error { return setUpTables(ctx, tx) }); err != nil {
		return err
	}
	// The journal mode is a property of the file, and can't be set in a transaction. In WAL mode,
	// readers and the writer don't wait for each other.
	mode, err := retryLocked(s, func() (mode string, err error) {
		err = s.writer.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		return mode, err
	})
	if err == nil && mode != "wal" {
		err = fmt.Errorf("write-ahead log not available: journal mode is %q", mode)
	}
	return s.wrapError(ctx, err)
}

func setUpTables(ctx context.Context, tx *sql.Tx) error {
	var ofFile struct{ application, version, tables int }
	err := tx.QueryRowContext(ctx, `SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&ofFile.application, &ofFile.version, &ofFile.tables)
	switch {
	case err != nil:
		return err
	case ofFile.application == application && ofFile.version == version:
		_, err := tx.ExecContext(ctx, "DELETE FROM transcripts WHERE false") // it fails if the file can't be written
		return err
	case ofFile.application == application:
		return fmt.Errorf("store has version %d; this program supports only version %d", ofFile.version, version)
	case ofFile.application != 0 || ofFile.version != 0 || ofFile.tables != 0:
		return errors.New("database is not a session store")
	}
	_, err = tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d",
		schema, application, version))
	return err
}
