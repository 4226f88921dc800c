package web

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/view"
)

// newServer returns a server over the sessions that the environment names.
func newServer(t *testing.T) *Server {
	t.Helper()
	source := view.New(view.Options{Dir: t.TempDir()})
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

// A page names the scripts that it needs, and no others.
func TestShellScripts(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	all := []string{"api.js", "dom.js", "events.js", "keys.js"} // of app.js
	for path, want := range map[string][]string{
		"/": {"list.js"}, "/s/00000000-0000-4000-8000-000000000001": {"session.js", "find.js", "panels.js", "place.js", "segment.js"},
		"/search": {"search.js"}, "/usage": {"usage.js"}, "/live": {"usage.js"},
		"/jobs": {"jobs.js", "question.js", "send.js", "usage.js"}, "/jobs/abc": {"jobs.js", "question.js", "send.js", "usage.js"},
	} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		var got []string
		for _, link := range strings.Split(w.Body.String(), `<link rel="modulepreload" href="/assets/`+s.assets.hash+"/")[1:] {
			name, _, _ := strings.Cut(link, `"`)
			got = append(got, name)
			if s.assets.files[name] == nil {
				t.Errorf("%s: there is no %s", path, name)
			}
		}
		slices.Sort(got)
		want = append(want, all...)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}
