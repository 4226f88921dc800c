package web

import "net/http"

func (s *Server) startAgent(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) sendPrompt(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) withdrawPrompt(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) interruptAgent(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) setMode(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) setModel(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) answerQuestion(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) rewindAgent(http.ResponseWriter, *http.Request) error { return errNotBuilt }

func (s *Server) endAgent(http.ResponseWriter, *http.Request) error { return errNotBuilt }
