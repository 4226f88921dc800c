package web

import "net/http"

func (s *Server) running(http.ResponseWriter, *http.Request) error { return errNotBuilt }
