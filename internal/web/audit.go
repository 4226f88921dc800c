package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// audit writes a line about a request that answers a question or drives an agent: what was done, and
// to what. The words may be untrusted.
func (s *Server) audit(r *http.Request, action string, words ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", s.opts.Now().UTC().Format(time.RFC3339), r.RemoteAddr, action)
	for _, w := range words {
		fmt.Fprintf(&b, " %q", w)
	}
	_, _ = fmt.Fprintln(s.opts.Audit, b.String()) // a full disk must not stop an answer
}
