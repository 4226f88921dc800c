package web

import "net/http"

func (s *Server) search(http.ResponseWriter, *http.Request) error { return errNotBuilt }
