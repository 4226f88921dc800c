package web

import (
	"context"
	"net/http"
)

// rows answers with the rows of a session below one of its rows.
func (s *Server) rows(http.ResponseWriter, *http.Request) error { return errNotBuilt }

// row answers with a part of a row.
func (s *Server) row(http.ResponseWriter, *http.Request) error { return errNotBuilt }

// followRows calls changed with the first state of a session, which has First 0, and with each new
// one, until ctx ends. The event stream calls it once for each session that is watched.
func (s *Server) followRows(ctx context.Context, session string, changed func(rowsChange)) error {
	_, _ = session, changed
	<-ctx.Done()
	return nil
}
