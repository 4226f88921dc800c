package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// A goodRequest is a request that passes the guards of a route.
type goodRequest struct {
	target string // HASH stands for the hash of the assets
	body   string // CODE stands for a code
	want   int
}

const unknownSession = "00000000-0000-4000-8000-000000000000"

// goodRequests has a request for each route. The objects that they would change don't exist.
var goodRequests = func() map[string]goodRequest {
	known := api + session("allowed")
	none := api + "sessions/" + unknownSession
	good := map[string]goodRequest{
		"GET /{$}":                     {"/", "", 200},
		"GET /s/{id}":                  {"/s/" + unknownSession, "", 200},
		"GET /search":                  {"/search?q=x", "", 200},
		"GET /usage":                   {"/usage", "", 200},
		"GET /live":                    {"/live", "", 200},
		"GET /jobs":                    {"/jobs", "", 200},
		"GET /jobs/{job}":              {"/jobs/abc", "", 200},
		"GET /open":                    {"/open", "", 200},
		"GET /assets/{hash}/{name}":    {"/assets/HASH/app.js", "", 200},
		"POST " + api + "login":        {api + "login", `{"code":"CODE"}`, 200},
		"POST " + api + "proof":        {api + "proof", `{"nonce":"` + strings.Repeat("n", 43) + `"}`, 200},
		"POST " + api + "link":         {api + "link", `{}`, 200},
		"POST " + api + "rotate":       {api + "rotate", `{}`, 200},
		"GET " + api + "me":            {api + "me", "", 200},
		"GET " + api + "events":        {api + "events?watch=" + unknownSession, "", 200},
		"GET " + api + "sessions":      {api + "sessions?tab=recent", "", 200},
		"GET " + api + "search":        {api + "search?q=file", "", 200},
		"GET " + api + "usage":         {api + "usage?by=day", "", 200},
		"GET " + api + "running":       {api + "running", "", 200},
		"GET " + api + "jobs":          {api + "jobs?filter=x", "", 200},
		"GET " + api + "driven":        {api + "driven", "", 200},
		"POST " + api + "hook":         {api + "hook", `{}`, 400},
		"POST " + api + "agents":       {api + "agents", `{}`, 400},
		"GET " + api + "sessions/{id}": {known, "", 200},
	}
	for name, query := range map[string]string{
		"rows": "", "row": "?row=3&part=body", "where": "?row=3", "find": "?q=a", "outline": "", "files": "", "agents": "", "context": "", "usage": "",
		"branches": "", "markdown": "", "export": "?format=json",
	} {
		good["GET "+api+"sessions/{id}/"+name] = goodRequest{known + "/" + name + query, "", 200}
	}
	for name, body := range map[string]string{"rename": `{"title":"x"}`, "tag": `{"tag":"x"}`, "delete": `{}`, "restore": `{}`} {
		good["POST "+api+"sessions/{id}/"+name] = goodRequest{none + "/" + name, body, 404}
	}
	for _, name := range []string{"", "/patch"} {
		good["GET "+api+"jobs/{job}"+name] = goodRequest{api + "jobs/abc" + name, "", 404}
	}
	for name, body := range map[string]string{"answers": `{"question":"q","answer":{"kind":"once"}}`, "cancel": `{}`, "resume": `{"budget":1}`, "retry": `{}`} {
		good["POST "+api+"jobs/{job}/"+name] = goodRequest{api + "jobs/abc/" + name, body, 404}
	}
	for name, body := range map[string]string{
		"prompts": `{"id":"1","text":"x"}`, "prompts/{prompt}/withdraw": `{"id":"1"}`, "interrupt": `{"id":"1"}`, "mode": `{"id":"1","mode":"plan"}`,
		"model": `{"id":"1","model":"opus"}`, "answers": `{"id":"1","question":"q","digest":"d","answer":{}}`, "rewind": `{"id":"1","to":"x"}`,
		"end": `{"id":"1"}`,
	} {
		target := api + "agents/a/" + strings.ReplaceAll(name, "{prompt}", "p")
		good["POST "+api+"agents/{agent}/"+name] = goodRequest{target, body, 404}
	}
	return good
}()

// A guardTest sends requests for one route.
type guardTest struct {
	*driven
	to   *route
	good goodRequest
}

// request returns a request that passes.
func (g *guardTest) request() *http.Request {
	target := strings.ReplaceAll(g.good.target, "HASH", g.assets.hash)
	var body io.Reader
	if g.to.maxBody > 0 {
		body = strings.NewReader(strings.ReplaceAll(g.good.body, "CODE", g.NewCode()))
	}
	ctx, cancel := context.WithCancel(g.t.Context())
	r := httptest.NewRequestWithContext(ctx, g.to.method, target, body)
	if g.to.maxBody > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if g.to.need == needToken || g.to.need == needDrive {
		r.Header.Set("Authorization", "Bearer "+g.Token())
	}
	if g.to.path == api+"events" { // it would not end
		cancel()
	}
	g.t.Cleanup(cancel)
	return r
}

// check sends a request that was changed, and checks the status and the headers of the response.
func (g *guardTest) check(name string, want int, change func(r *http.Request)) *httptest.ResponseRecorder {
	g.t.Helper()
	r := g.request()
	change(r)
	w := httptest.NewRecorder()
	g.Handler().ServeHTTP(w, r)
	if w.Code != want {
		g.t.Errorf("%s: status %d, want %d: %.300s", name, w.Code, want, w.Body)
	}
	checkHeaders(g.t, name, w.Header(), g.to.need == needNothing && w.Code == http.StatusOK)
	return w
}

// checkHeaders checks the headers that every response must have, and the headers that none may
// have.
func checkHeaders(t *testing.T, name string, h http.Header, mayBeKept bool) {
	t.Helper()
	for header, want := range map[string]string{
		"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Permissions-Policy": features,
	} {
		if got := h.Values(header); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %s is %q", name, header, got)
		}
	}
	if kept := h.Get("Cache-Control"); kept != "no-store" && !mayBeKept {
		t.Errorf("%s: Cache-Control is %q", name, kept)
	}
	for header := range h {
		if strings.HasPrefix(header, "Access-Control-") || header == "Set-Cookie" {
			t.Errorf("%s: it has the header %s", name, header)
		}
	}
}

// Every route refuses bad requests. A route that has no request above fails.
func TestRoutesAreGuarded(t *testing.T) {
	t.Parallel()
	if len(goodRequests) != len(routes) {
		t.Errorf("there are %d requests for %d routes", len(goodRequests), len(routes))
	}
	for i := range routes {
		to := &routes[i]
		name := to.method + " " + to.path
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, ok := goodRequests[name]
			if !ok {
				t.Fatal("add a request for this route to goodRequests")
			}
			g := &guardTest{driven: newDriven(t), to: to, good: good}
			g.checkSites()
			g.checkToken()
			g.checkMethods()
			g.checkBodies()
			g.checkQueries()
			if to.need == needDrive {
				g.checkWithoutDrive()
			}
		})
	}
}

// set returns what sets a header.
func set(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}

// checkSites sends requests to other hosts and from other sites.
func (g *guardTest) checkSites() {
	g.t.Helper()
	g.check("good", g.good.want, func(*http.Request) {})
	g.check("own origin", g.good.want, set("Origin", "http://example.com"))
	for _, site := range []string{"same-origin", "none"} {
		g.check(site, g.good.want, set("Sec-Fetch-Site", site))
	}
	for _, host := range []string{"evil.example", "example.com:81", "127.0.0.1", "localhost", "", "example.com.", "example.com@evil.example"} {
		w := g.check("host "+host, http.StatusForbidden, func(r *http.Request) { r.Host = host })
		if !strings.Contains(w.Body.String(), "--public-url") {
			g.t.Errorf("the refusal of a host does not name the flag: %s", w.Body)
		}
	}
	for _, origins := range [][]string{
		{"https://evil.example"}, {"null"}, {""}, {"https://example.com"}, {"http://example.com:81"}, {"http://example.com.evil.example"},
		{"http://example.com", "https://evil.example"}, {"http://example.com/"}, {"HTTP://EXAMPLE.COM@evil.example"},
	} {
		g.check(fmt.Sprintf("origin %q", origins), http.StatusForbidden, set("Origin", origins...))
	}
	for _, sites := range [][]string{{"cross-site"}, {"same-site"}, {""}, {"unknown"}, {"none", "cross-site"}} {
		g.check(fmt.Sprintf("site %q", sites), http.StatusForbidden, set("Sec-Fetch-Site", sites...))
	}
	g.check("a navigation of another site", http.StatusForbidden, func(r *http.Request) {
		set("Sec-Fetch-Site", "cross-site")(r)
		set("Sec-Fetch-Mode", "navigate")(r)
		set("Sec-Fetch-Dest", "document")(r)
	})
}

// checkToken sends requests without the token.
func (g *guardTest) checkToken() {
	g.t.Helper()
	want := http.StatusUnauthorized
	if g.to.need == needNothing || g.to.need == needOpening {
		want = g.good.want
	}
	before := g.audited.String()
	defer func() {
		if after := g.audited.String(); after != before && want == http.StatusUnauthorized {
			g.t.Errorf("requests without the token are in the audit: %s", after)
		}
	}()
	g.check("no token", want, func(r *http.Request) { r.Header.Del("Authorization") })
	g.check("wrong token", want, set("Authorization", "Bearer "+newSecret(tokenSize)))
	g.check("empty token", want, set("Authorization", "Bearer "))
	g.check("other scheme", want, set("Authorization", "Basic "+g.Token()))
	g.check("two tokens", want, set("Authorization", "Bearer "+g.Token(), "Bearer x"))
	g.check("token in a cookie", want, func(r *http.Request) {
		r.Header.Del("Authorization")
		r.AddCookie(&http.Cookie{Name: "token", Value: g.Token()})
	})
	g.check("token in the query", want, func(r *http.Request) {
		r.Header.Del("Authorization")
		r.URL.RawQuery += "&token=" + g.Token()
	})
}

// checkMethods sends requests with other methods.
func (g *guardTest) checkMethods() {
	g.t.Helper()
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", "PROPFIND"} {
		if method == g.to.method {
			continue
		}
		w := g.check(method, http.StatusMethodNotAllowed, func(r *http.Request) { r.Method = method })
		if allow := w.Header().Get("Allow"); allow != g.to.method {
			g.t.Errorf("%s: Allow is %q", method, allow)
		}
	}
}

// checkBodies sends bodies that are too long, or no JSON.
func (g *guardTest) checkBodies() {
	g.t.Helper()
	long := strings.Repeat(" ", int(g.to.maxBody)+1)
	for name, size := range map[string]int64{"long body": int64(len(long)), "long body in chunks": -1} {
		g.check(name, http.StatusRequestEntityTooLarge, func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(long)), size
		})
	}
	if g.to.maxBody == 0 {
		return
	}
	for _, kind := range [][]string{
		nil, {""}, {"text/plain"}, {"application/x-www-form-urlencoded"}, {"multipart/form-data; boundary=x"}, {"application/jsonx"},
		{"application/json", "text/plain"}, {"text/plain; application/json"},
	} {
		g.check(fmt.Sprintf("content type %q", kind), http.StatusUnsupportedMediaType, set("Content-Type", kind...))
	}
	for _, body := range []string{"", "null}", "{", "[]", `{"id":"1"}{"id":"2"}`, `{"nothing":"like this"}`} {
		if g.good.body == "{}" && g.good.want == http.StatusOK { // it has no members
			continue
		}
		r := g.request()
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		w := httptest.NewRecorder()
		g.Handler().ServeHTTP(w, r)
		if w.Code < 400 || w.Code >= 500 {
			g.t.Errorf("body %q: status %d: %s", body, w.Code, w.Body)
		}
	}
}

// checkQueries sends queries that are not valid.
func (g *guardTest) checkQueries() {
	g.t.Helper()
	g.check("broken query", http.StatusBadRequest, func(r *http.Request) { r.URL.RawQuery = "q=%zz" })
	g.check("long query", http.StatusRequestURITooLong, func(r *http.Request) { r.URL.RawQuery = strings.Repeat("a", maxQuery+1) })
}

// checkWithoutDrive sends the request to a server that was started without --drive.
func (g *guardTest) checkWithoutDrive() {
	g.t.Helper()
	reader := *g
	reader.driven = &driven{Server: newServer(g.t), t: g.t}
	w := reader.check("without --drive", http.StatusForbidden, func(*http.Request) {})
	if !strings.Contains(w.Body.String(), "clew serve --drive") {
		g.t.Errorf("the refusal does not name the flag: %s", w.Body)
	}
}

// No address leads out of the routes.
func TestPathsAreKnown(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, target := range []string{
		"/none", "//", "/./", "/s/", "/s/x/y", "/assets/", "/assets/x/app.js", "/assets/" + s.assets.hash + "/..%2fserver.go", "/assets/" + s.assets.hash + "/",
		"/../etc/passwd", "/%2e%2e/etc/passwd", "/s/..", "/api/v1", "/api/v1/", "/api/v1/none", "/api/v1/sessions/", "/index.html", "/.git/config",
		"/jobs/", "/jobs/a/b", "/jobs/a.b", "/jobs/..%2fx", api + "jobs/%00", api + "jobs/" + strings.Repeat("a", 65),
		"/s/not-an-id", api + "sessions/..%2f..%2fetc%2fpasswd", api + "sessions/" + strings.Repeat("a", 36), api + "sessions/%00",
		api + "sessions/" + strings.ReplaceAll(unknownSession, "0", "%10"),
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
		r.Header.Set("Authorization", "Bearer "+s.Token())
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d: %s", target, w.Code, w.Body)
		}
		checkHeaders(t, target, w.Header(), false)
	}
}

// A socket that another program forwards to is known by the names of this machine, which no name
// server can change.
func TestForwardedHosts(t *testing.T) {
	t.Parallel()
	o, err := newOrigins([]string{"https://clew.example.com"}, true)
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"localhost:8000": true, "127.0.0.1:1": true, "[::1]:8000": true, "localhost": true, "LOCALHOST:8000": true, "clew.example.com": true,
		"clew.example.com:443": false, "evil.example": false, "localhost.evil.example:80": false, "127.0.0.1.evil.example": false,
		"127.0.0.2:8000": false, "::1:8000": false, "[localhost]:80": false, "localhost:": false, "localhost:80x": false, "0.0.0.0:80": false, "[::1": false,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = host
		if err := o.check(r, false); (err == nil) != want {
			t.Errorf("host %q: %v", host, err)
		}
		r.Header.Set("Origin", "http://evil.example")
		if o.check(r, false) == nil {
			t.Errorf("host %q: a foreign origin is accepted", host)
		}
	}
}

// A refusal quotes whole characters, wherever it cuts.
func TestRefusalQuotesCharacters(t *testing.T) {
	t.Parallel()
	for offset := range 4 {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Host = strings.Repeat("a", offset) + strings.Repeat("é😀", 50)
		err := new(origins).check(r, false)
		if err == nil || strings.Contains(err.Error(), `\x`) || !strings.Contains(err.Error(), "é😀") {
			t.Errorf("%d: %v", offset, err)
		}
	}
}

func TestParseOrigin(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://127.0.0.1:2539": "http://127.0.0.1:2539", "https://Clew.Example.com:443/": "https://clew.example.com", "http://[::1]:80": "http://[::1]",
		"https://a:80": "https://a:80", "": "", "clew.example.com": "", "ftp://a": "", "https://": "", "https://me@a": "", "https://a/x": "", "https://a?": "",
		"https://a#x": "", "https://a:": "", "javascript:alert(1)": "",
	} {
		if got, err := ParseOrigin(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
