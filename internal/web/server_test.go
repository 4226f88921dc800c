package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/clewdev/clew/internal/viewer"
)

// newServer returns a server over the sessions that the environment names.
func newServer(t *testing.T) *Server {
	t.Helper()
	source := viewer.New(viewer.Options{Dir: t.TempDir()})
	t.Cleanup(func() {
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := New(Options{Source: source, Version: "1.2.3", Origins: []string{"http://example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestShell(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	if body := w.Body.String(); w.Code != http.StatusOK || !strings.Contains(body, s.assets.hash+"/app.js") {
		t.Errorf("%d %s", w.Code, body)
	}
}
