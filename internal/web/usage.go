package web

import "net/http"

func (s *Server) usage(http.ResponseWriter, *http.Request) error { return errNotBuilt }
