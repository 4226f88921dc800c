package web

import "net/http"

func (s *Server) outline(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) files(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) subagents(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) contextUse(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) sessionUsage(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) branches(http.ResponseWriter, *http.Request) error { return errNotBuilt }
