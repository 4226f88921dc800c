package web

import "net/http"

// login exchanges the code of the printed URL for the token.
func (s *Server) login(http.ResponseWriter, *http.Request) error { return errNotBuilt }
