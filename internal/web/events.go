package web

import "net/http"

// publish tells all streams of an event. Its data becomes JSON. A stream gets events of a session
// only if it watches that session, which is then not empty.
func (s *Server) publish(name, session string, data any) {
	_, _, _ = name, session, data
}

// A rowsChange says what has changed in a session that is watched.
type rowsChange struct {
	Session  string `json:"session"`
	Revision int    `json:"revision"` // as GET sessions/{id}/rows returns it
	First    int    `json:"first"`    // the first row at depth 0 that may have changed
	Total    int    `json:"total"`    // rows at depth 0
	Ended    string `json:"-"`        // the text of an answer that has just ended, or ""
}

// A listChange says that the list of sessions has changed.
type listChange struct {
	Revision int `json:"revision"` // as GET sessions returns it
}

// events is the stream of changes.
func (s *Server) events(http.ResponseWriter, *http.Request) error { return errNotBuilt }
