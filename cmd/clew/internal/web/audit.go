package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
)

// An auditNote records whether a request is in the audit.
type auditNote struct{ written bool }

type auditKey struct{}

// audit writes a line about a request that answers a question or drives an agent: the action and
// its object. The words may be untrusted.
func (s *Server) audit(r *http.Request, action string, words ...string) {
	if note, ok := r.Context().Value(auditKey{}).(*auditNote); ok {
		note.written = true
	}
	s.auditLine(r.RemoteAddr, action, words...)
}

// auditLine writes a line about an effect of the page at an address. The page may be gone.
func (s *Server) auditLine(from, action string, words ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", s.opts.Now().UTC().Format(time.RFC3339), from, action)
	for _, w := range words {
		fmt.Fprintf(&b, " %q", w)
	}
	s.auditing.Lock()
	defer s.auditing.Unlock()
	_, _ = fmt.Fprintln(s.opts.Audit, b.String()) // a full disk must not stop an answer
}

// audited makes a request to an agent with call, whose context ensures a line about the outcome,
// even if the page is gone by then. Done returns the words about a request that succeeded.
func audited[R any](s *Server, r *http.Request, action, about string, call func(ctx context.Context) (R, error), done func(result any) []string) (R, error) {
	if note, ok := r.Context().Value(auditKey{}).(*auditNote); ok {
		note.written = true // now or later
	}
	var written atomic.Bool
	from := r.RemoteAddr
	result, err := call(drive.WithOutcome(r.Context(), func(result any, err error) {
		written.Store(true)
		if err != nil {
			s.auditLine(from, action+" refused", about, err.Error())
			return
		}
		s.auditLine(from, action, done(result)...)
	}))
	switch {
	case written.Load() || err != nil && r.Context().Err() != nil:
	case err != nil:
		s.auditLine(from, action+" refused", about, err.Error())
	default:
		s.auditLine(from, action+" repeated", about)
	}
	return result, err
}

// outcome describes the result of a request in a word.
func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return "refused"
}
