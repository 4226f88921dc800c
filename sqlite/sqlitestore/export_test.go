package sqlitestore

import (
	"context"
	"database/sql"
)

// Writer returns the connection that a store writes with.
func (s *Store) Writer(ctx context.Context) (*sql.Conn, error) { return s.writer.Conn(ctx) }
