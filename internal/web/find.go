package web

import "net/http"

func (s *Server) find(http.ResponseWriter, *http.Request) error { return errNotBuilt }
