package web

import (
	"context"
	"net/http"
	"time"
)

// A handler answers a request. An error is written as a refusal, so a handler that returns one must
// not write anything before.
type handler func(s *Server, w http.ResponseWriter, r *http.Request) error

// A need is a requirement for a request, in addition to the right Host and origin.
type need int

// The needs.
const (
	needNothing need = iota
	needToken        // the bearer token
	needDrive        // the token, and a server that was started with --drive
	needOpening      // nothing, and while --open opens a page, that may come from a file
)

// The longest bodies.
const (
	maxBody       = 1 << 20
	maxPromptBody = 10 << 20 // prompts have images
)

// A route is a kind of request.
type route struct {
	method, path string // no method means any
	handle       handler
	need         need
	maxBody      int64 // of a POST, which is JSON; 0 means that it has none
}

const api = "/api/v1/"

// routes are all requests that the server answers.
var routes = []route{
	{"GET", "/{$}", (*Server).shell, needNothing, 0},
	{"GET", "/s/{id}", (*Server).shell, needNothing, 0},
	{"GET", "/search", (*Server).shell, needNothing, 0},
	{"GET", "/usage", (*Server).shell, needNothing, 0},
	{"GET", "/live", (*Server).shell, needNothing, 0},
	{"GET", "/jobs", (*Server).shell, needNothing, 0},
	{"GET", "/jobs/{job}", (*Server).shell, needNothing, 0},
	{"GET", "/open", (*Server).opening, needOpening, 0},
	{"GET", "/assets/{hash}/{name}", (*Server).asset, needNothing, 0},

	{"POST", api + "login", (*Server).login, needNothing, maxBody},
	{"POST", api + "proof", (*Server).prove, needNothing, maxBody},
	{"POST", api + "link", (*Server).newLink, needToken, maxBody},
	{"POST", api + "rotate", (*Server).rotateToken, needToken, maxBody},
	{"GET", api + "me", (*Server).me, needToken, 0},
	{"GET", api + "events", (*Server).events, needToken, 0},

	{"GET", api + "sessions", (*Server).sessions, needToken, 0},
	{"GET", api + "sessions/{id}", (*Server).session, needToken, 0},
	{"POST", api + "sessions/{id}/rename", (*Server).renameSession, needToken, maxBody},
	{"POST", api + "sessions/{id}/tag", (*Server).tagSession, needToken, maxBody},
	{"POST", api + "sessions/{id}/delete", (*Server).deleteSession, needToken, maxBody},
	{"POST", api + "sessions/{id}/restore", (*Server).restoreSession, needToken, maxBody},
	{"GET", api + "sessions/{id}/rows", (*Server).rows, needToken, 0},
	{"GET", api + "sessions/{id}/row", (*Server).row, needToken, 0},
	{"GET", api + "sessions/{id}/where", (*Server).where, needToken, 0},
	{"GET", api + "sessions/{id}/find", (*Server).find, needToken, 0},
	{"GET", api + "sessions/{id}/outline", (*Server).outline, needToken, 0},
	{"GET", api + "sessions/{id}/files", (*Server).files, needToken, 0},
	{"GET", api + "sessions/{id}/agents", (*Server).subagents, needToken, 0},
	{"GET", api + "sessions/{id}/context", (*Server).contextUse, needToken, 0},
	{"GET", api + "sessions/{id}/usage", (*Server).sessionUsage, needToken, 0},
	{"GET", api + "sessions/{id}/branches", (*Server).branches, needToken, 0},
	{"GET", api + "sessions/{id}/markdown", (*Server).markdown, needToken, 0},
	{"GET", api + "sessions/{id}/export", (*Server).export, needToken, 0},
	{"GET", api + "search", (*Server).search, needToken, 0},
	{"GET", api + "usage", (*Server).usage, needToken, 0},
	{"GET", api + "running", (*Server).running, needToken, 0},

	{"GET", api + "jobs", (*Server).jobList, needToken, 0},
	{"GET", api + "jobs/{job}", (*Server).job, needToken, 0},
	{"GET", api + "jobs/{job}/patch", (*Server).jobPatch, needToken, 0},
	{"POST", api + "jobs/{job}/answers", (*Server).answerJob, needDrive, maxBody},
	{"POST", api + "jobs/{job}/cancel", (*Server).cancelJob, needDrive, maxBody},
	{"POST", api + "jobs/{job}/resume", (*Server).resumeJob, needDrive, maxBody},
	{"POST", api + "jobs/{job}/retry", (*Server).retryJob, needDrive, maxBody},

	{"GET", api + "driven", (*Server).drivenAgents, needDrive, 0},
	{"POST", api + "hook", (*Server).askElsewhere, needDrive, maxPromptBody},
	{"POST", api + "agents", (*Server).startAgent, needDrive, maxPromptBody},
	{"POST", api + "agents/{agent}/prompts", (*Server).sendPrompt, needDrive, maxPromptBody},
	{"POST", api + "agents/{agent}/prompts/{prompt}/withdraw", (*Server).withdrawPrompt, needDrive, maxBody},
	{"POST", api + "agents/{agent}/interrupt", (*Server).interruptAgent, needDrive, maxBody},
	{"POST", api + "agents/{agent}/mode", (*Server).setMode, needDrive, maxBody},
	{"POST", api + "agents/{agent}/model", (*Server).setModel, needDrive, maxBody},
	{"POST", api + "agents/{agent}/answers", (*Server).answerQuestion, needDrive, maxBody},
	{"POST", api + "agents/{agent}/rewind", (*Server).rewindAgent, needDrive, maxBody},
	{"POST", api + "agents/{agent}/end", (*Server).endAgent, needDrive, maxBody},
}

// unknown is the route for all other paths.
var unknown = route{path: "/", handle: (*Server).notFound}

func (s *Server) notFound(http.ResponseWriter, *http.Request) error {
	return refused(http.StatusNotFound, "there is no such page")
}

// serve returns what answers the requests of a route.
func (s *Server) serve(to *route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// A client that does not read must not keep the handler. A stream sets this for each write.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTimeout)) // a test's recorder has none
		note := &auditNote{}
		r = r.WithContext(context.WithValue(r.Context(), auditKey{}, note))
		err := s.check(to, r)
		if err == nil { // requests from strangers are not worth a line, and would fill the disk
			err = to.handle(s, w, r)
			if to.isChange() && !note.written {
				s.audit(r, outcome(err), r.URL.Path)
			}
		}
		if err != nil {
			refuse(w, err)
		}
	}
}

// isChange reports whether the requests of a route do something, which is in the audit.
func (to *route) isChange() bool { return to.method == http.MethodPost && to.need != needNothing }
