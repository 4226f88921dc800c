package web

import "net/http"

// session answers with what is above the rows of a session.
func (s *Server) session(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) renameSession(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) tagSession(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) deleteSession(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) restoreSession(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) markdown(http.ResponseWriter, *http.Request) error { return errNotBuilt }
