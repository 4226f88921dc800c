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
	unverified INTEGER NOT NULL DEFAULT 0, -- the number of entries from before there were checksums
	last     INTEGER,                    -- the checksum of the last entry
	sum      INTEGER,                    -- the checksum of this row
	UNIQUE (project, session, subpath)
) STRICT;

CREATE TABLE entries (
	id         INTEGER PRIMARY KEY,
	transcript INTEGER NOT NULL REFERENCES transcripts (id) ON DELETE CASCADE,
	uuid       TEXT,
	body       TEXT NOT NULL,
	sum        INTEGER -- the checksum of this entry and those before it
) STRICT;
CREATE INDEX entries_transcript ON entries (transcript);
CREATE UNIQUE INDEX entries_uuid ON entries (transcript, uuid) WHERE uuid IS NOT NULL;
`

// migration upgrades the tables of version 1 to version 2, which has checksums.
const migration = `
ALTER TABLE transcripts ADD COLUMN unverified INTEGER NOT NULL DEFAULT 0;
ALTER TABLE transcripts ADD COLUMN last INTEGER;
ALTER TABLE transcripts ADD COLUMN sum INTEGER;
ALTER TABLE entries ADD COLUMN sum INTEGER;
UPDATE transcripts SET unverified = (SELECT count(*) FROM entries WHERE transcript = transcripts.id);
`

const (
	// application identifies files of this package. It spells "clew".
	application = 0x636c6577
	version     = 2
)

// setUp creates the tables in a new file, brings an older one up to date, and returns an error for
// a file of another program.
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
		if _, err := tx.ExecContext(ctx, "DELETE FROM transcripts WHERE false"); err != nil { // the file can't be written
			return err
		}
		return checkNames(ctx, tx)
	case ofFile.application == application && ofFile.version == 1:
		_, err := tx.ExecContext(ctx, fmt.Sprintf("%s PRAGMA user_version = %d", migration, version))
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

// checkNames compares the names of transcripts with their index. Without it, a damaged name would
// refer to a transcript that does not exist, which is not an error.
func checkNames(ctx context.Context, tx *sql.Tx) error {
	var found string
	err := tx.QueryRowContext(ctx, "PRAGMA integrity_check(transcripts)").Scan(&found)
	if err == nil && found != "ok" {
		err = fmt.Errorf("%w: %s", errDamaged, found)
	}
	return err
}
