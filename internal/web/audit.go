package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// An auditNote says whether a request is in the audit.
type auditNote struct{ written bool }

type auditKey struct{}

// audit writes a line about a request that answers a question or drives an agent: what was done, and
// to what. The words may be untrusted.
func (s *Server) audit(r *http.Request, action string, words ...string) {
	if note, ok := r.Context().Value(auditKey{}).(*auditNote); ok {
		note.written = true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", s.opts.Now().UTC().Format(time.RFC3339), r.RemoteAddr, action)
	for _, w := range words {
		fmt.Fprintf(&b, " %q", w)
	}
	s.auditing.Lock()
	defer s.auditing.Unlock()
	_, _ = fmt.Fprintln(s.opts.Audit, b.String()) // a full disk must not stop an answer
}

// outcome says in a word how a request has ended.
func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return "refused"
}
