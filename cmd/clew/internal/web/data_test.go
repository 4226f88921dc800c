package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/golden"
)

// A dataServer answers requests for data, without the guards.
type dataServer struct {
	*Server
	t   testing.TB
	mux *http.ServeMux
	end func()

	held atomic.Int64 // bytes of the sessions in memory
}

func newDataServer(t testing.TB) *dataServer {
	t.Helper()
	d := &dataServer{t: t, mux: http.NewServeMux()}
	source := view.New(view.Options{Dir: t.TempDir(), Held: d.held.Store})
	s, err := New(Options{
		Source: source, Zone: time.UTC, Now: func() time.Time { return testNow }, Origins: []string{"http://example.com"},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.Server = s
	d.end = sync.OnceFunc(func() {
		if err := errors.Join(s.Close(), source.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(d.end)
	for i := range routes {
		to := &routes[i]
		d.mux.HandleFunc(to.method+" "+to.path, func(w http.ResponseWriter, r *http.Request) {
			if err := to.handle(s, w, r); err != nil {
				refuse(w, err)
			}
		})
	}
	return d
}

// do answers a request.
func (d *dataServer) do(method, path, body string) *httptest.ResponseRecorder {
	d.t.Helper()
	w := httptest.NewRecorder()
	d.mux.ServeHTTP(w, httptest.NewRequestWithContext(d.t.Context(), method, api+path, strings.NewReader(body)))
	return w
}

// get answers a request for data, which must not fail.
func (d *dataServer) get(path string, into any) {
	d.t.Helper()
	w := d.do(http.MethodGet, path, "")
	if w.Code != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
}

// html returns the HTML of an answer.
func (d *dataServer) html(path string) string {
	d.t.Helper()
	var f fragment
	d.get(path, &f)
	return f.HTML
}

// session returns the path of a fixture.
func session(name string) string { return "sessions/" + fixtureID(name) }

// allRows calls each for all rows of a session with their depths.
func (d *dataServer) allRows(path, parent string, depth int, each func(depth int, row *rowData)) {
	d.t.Helper()
	d.html(path + "/agents") // waits for them
	var page rowsPage
	d.get(path+"/rows?n=200&parent="+url.QueryEscape(parent), &page)
	for i := range page.Rows {
		each(depth, &page.Rows[i])
		if page.Rows[i].Below > 0 {
			d.allRows(path, string(page.Rows[i].ID), depth+1, each)
		}
	}
}

func TestRowsGolden(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for _, name := range []string{"rewound", "allowed", "subagent", "compact", "error", "thinking", "hostile", "pictures", "torn"} {
		var b strings.Builder
		d.allRows(session(name), "", 0, func(depth int, row *rowData) {
			fmt.Fprintf(&b, "%s%s %s, %s, open %v, %d below\n\t%s\n", strings.Repeat("  ", depth), row.ID, row.Kind, row.State, row.Open, row.Below, row.HTML)
			body := ""
			if row.Body != nil {
				body = *row.Body
			} else {
				body = d.html(session(name) + "/row?part=body&row=" + url.QueryEscape(string(row.ID)))
			}
			b.WriteString("\t" + strings.ReplaceAll(body, "\n", "\n\t") + "\n")
		})
		checkMarkup(t, name, b.String())
		golden.Check(t, "rows_"+name, b.String())
	}
}

func TestPanelsGolden(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	for _, name := range []string{"rewound", "allowed", "subagent", "compact", "hostile"} {
		var b strings.Builder
		for _, panel := range []string{"/outline", "", "/files", "/files?turn=1", "/agents", "/context", "/usage", "/branches"} {
			fmt.Fprintf(&b, "=== %s\n%s\n", panel, d.html(session(name)+panel))
		}
		checkMarkup(t, name, b.String())
		golden.Check(t, "panels_"+name, b.String())
	}
}

func TestListGolden(t *testing.T) {
	t.Parallel()
	d := newDataServer(t)
	var b strings.Builder
	for _, query := range []string{"project=-home-dev-shop", "project=-home-dev-shop&filter=hello", "tab=projects&filter=upload"} {
		var page listPage
		d.get("sessions?"+query, &page)
		for page.Unread > 0 {
			page = listPage{}
			d.get("sessions?"+query, &page)
		}
		fmt.Fprintf(&b, "=== %s\n", query)
		for _, row := range page.Rows {
			b.WriteString(row.ID + "\n\t" + figuresOf.ReplaceAllString(row.HTML, "") + "\n")
		}
	}
	checkMarkup(t, "list", b.String())
	golden.Check(t, "list", b.String())
}

// figuresOf matches the figures that may or may not be counted yet.
var figuresOf = regexp.MustCompile(`<span class="fact-(turns|tokens|files|cost)">[^<]*</span>`)

var (
	tags       = regexp.MustCompile(`<(/?)([a-zA-Z0-9]+)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*>`)
	attributes = regexp.MustCompile(`([a-zA-Z-]+)(?:="([^"]*)")?`)
	ours       = regexp.MustCompile(`^(a|article|aside|blockquote|br|caption|code|dd|del|details|div|dl|dt|em|figure|g|h[1-6]|hr|img|input|li|` +
		`mark|ol|p|pre|rect|section|span|strong|summary|svg|table|tbody|td|text|th|thead|time|title|tr|ul)$`)
	allowed = regexp.MustCompile(`^(alt|aria-[a-z]+|align|checked|class|data-(row|n|command)|datetime|disabled|height|href|open|rel|role|scope|` +
		`start|tabindex|title|type|viewBox|width|x|y)$`)
	safe = regexp.MustCompile(`^(https?://|mailto:|#row=|/s/|/jobs/|/\?project=)`)
)

// checkMarkup checks that markup has only our own elements and attributes, and only safe links.
func checkMarkup(t testing.TB, name, html string) {
	t.Helper()
	for _, tag := range tags.FindAllStringSubmatch(html, -1) {
		if !ours.MatchString(tag[2]) {
			t.Errorf("%s: element %s", name, tag[0])
		}
		for _, a := range attributes.FindAllStringSubmatch(tag[3], -1) {
			if !allowed.MatchString(a[1]) || a[1] == "href" && !safe.MatchString(a[2]) {
				t.Errorf("%s: attribute %s in %s", name, a[0], tag[0])
			}
		}
	}
	if rest := tags.ReplaceAllString(html, ""); strings.Contains(rest, "<") {
		at := strings.Index(rest, "<")
		t.Errorf("%s: an angle that is not escaped: %q", name, rest[max(at-60, 0):min(at+60, len(rest))])
	}
	for _, bad := range []string{"\x1b", "\u202e", "\x00", "\u2066"} {
		if strings.Contains(html, bad) {
			t.Errorf("%s: %q is as it was", name, bad)
		}
	}
}
