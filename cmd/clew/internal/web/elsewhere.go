package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/wire"
)

// HookWait is the time for which a question from a session elsewhere is shown. It is shorter than
// the server's limit for a response.
const HookWait = 100 * time.Second

// A HookQuestion is asked by a session that another process runs, and passed on by its hook.
type HookQuestion struct {
	Session  string    `json:"session"`
	Dir      string    `json:"dir"`
	Tool     string    `json:"tool"`
	Input    wire.JSON `json:"input"`
	Subagent string    `json:"subagent"`
}

// A HookAnswer is the answer to it. Without a behavior there is none: the other process asks its own
// user.
type HookAnswer struct {
	Behavior permission.Behavior `json:"behavior"`
	Message  string              `json:"message"` // why it was denied
}

// Ask asks the server's pages, until one answers or the time is up.
func (r *Running) Ask(ctx context.Context, q *HookQuestion) (*HookAnswer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	answer := &HookAnswer{}
	return answer, r.send(ctx, "hook", body, answer)
}

// askElsewhere asks the pages a question from a session that another process runs.
func (s *Server) askElsewhere(w http.ResponseWriter, r *http.Request) error {
	var q HookQuestion
	if err := decodeBody(r, &q); err != nil {
		return err
	}
	if !isSessionID(q.Session) || q.Tool == "" {
		return refused(http.StatusBadRequest, "the question has no session or no tool")
	}
	if !s.feed.isRead() { // nobody would see it
		return reply(w, HookAnswer{})
	}
	ctx, stop := s.untilEnd(r.Context())
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, HookWait)
	defer cancel()
	result, err := s.opts.Drive.AskElsewhere(ctx, &drive.ElsewhereRequest{
		Session: s.listing.address(r.Context(), q.Session, q.Dir), Dir: q.Dir, Tool: q.Tool, Input: q.Input, Subagent: q.Subagent,
	})
	if err != nil {
		return s.driveError(err, "")
	}
	switch result := result.(type) {
	case *permission.AllowResult:
		return reply(w, HookAnswer{Behavior: permission.BehaviorAllow})
	case *permission.DenyResult:
		return reply(w, HookAnswer{permission.BehaviorDeny, result.Message})
	}
	return reply(w, HookAnswer{})
}

// isRead reports whether any page gets the events.
func (f *feed) isRead() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.readers) > 0
}
