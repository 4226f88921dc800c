package web

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/newid"
)

// policy restricts pages in the browser. All script and style comes from this server, HTML gets
// into a page only through the client's one Trusted Types policy, and requests go nowhere else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
	"form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types clew"

// features lists the features denied to all pages. Pages copy to the clipboard, which is not in the
// list.
const features = "accelerometer=(), autoplay=(), camera=(), clipboard-read=(), display-capture=(), " +
	"encrypted-media=(), fullscreen=(), gamepad=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), " +
	"local-fonts=(), magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), " +
	"publickey-credentials-create=(), publickey-credentials-get=(), screen-wake-lock=(), serial=(), storage-access=(), " +
	"sync-xhr=(), usb=(), window-management=(), xr-spatial-tracking=()"

// setHeaders sets what every response has, also an error.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Permissions-Policy", features)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// maxQuery limits what follows the question mark of a URL.
const maxQuery = 8 << 10

// requestTimeout limits the time of a response that is not a stream.
const requestTimeout = 2 * time.Minute

// check refuses a request that may not come from a page of this server, or that does not suit the
// route. It runs before the handler of every route, whatever the method is.
func (s *Server) check(to *route, r *http.Request) error {
	if err := s.origins.check(r, to.need == needOpening && s.access.isOpening()); err != nil {
		return err
	}
	if r.Method == http.MethodOptions || to.method != "" && r.Method != to.method {
		return &refusal{status: http.StatusMethodNotAllowed, reason: "the method " + clip.Marked(r.Method, maxQuoted) + " is not for this page", allow: to.method}
	}
	if len(r.URL.RawQuery) > maxQuery {
		return refused(http.StatusRequestURITooLong, "the query is longer than %d bytes", maxQuery)
	}
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return refused(http.StatusBadRequest, "the query is not valid")
	}
	if to.need == needToken || to.need == needDrive {
		if err := s.access.check(r); err != nil {
			return err
		}
		keepConnection(r)
	}
	if to.need == needDrive && s.opts.Drive == nil {
		return &refusal{
			status: http.StatusForbidden, reason: "this server only shows sessions",
			hint: `Start it with "clew serve --drive" to drive agents.`,
		}
	}
	if id := r.PathValue("id"); id != "" && !isSessionID(id) {
		return refused(http.StatusNotFound, "there is no such session")
	}
	if id := r.PathValue("job"); id != "" && !isJobID(id) {
		return refused(http.StatusNotFound, "there is no such job")
	}
	return takeBody(to, r)
}

// takeBody reads the body of a request, so that a handler never waits for it.
func takeBody(to *route, r *http.Request) error {
	if to.maxBody == 0 {
		if r.ContentLength != 0 {
			return refused(http.StatusRequestEntityTooLarge, "this request has no body")
		}
		return nil
	}
	if err := checkContentType(r); err != nil {
		return err
	}
	tooLong := refused(http.StatusRequestEntityTooLarge, "the body is longer than %d bytes", to.maxBody)
	if r.ContentLength > to.maxBody {
		return tooLong
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, to.maxBody+1))
	switch {
	case err != nil:
		return refused(http.StatusBadRequest, "the body could not be read")
	case int64(len(data)) > to.maxBody:
		return tooLong
	}
	r.Body = io.NopCloser(bytes.NewReader(data))
	return nil
}

// checkContentType refuses a body that is not called JSON. A form of another page can't call it so.
func checkContentType(r *http.Request) error {
	values := r.Header.Values("Content-Type")
	if len(values) == 1 {
		if kind, _, err := mime.ParseMediaType(values[0]); err == nil && kind == "application/json" {
			return nil
		}
	}
	return refused(http.StatusUnsupportedMediaType, "the content type must be application/json")
}

// isSessionID reports whether id has the form of a session in an address: a UUID and, if several
// projects have the same one, the name of the project after an @. It is looked up, and never used
// as a path.
func isSessionID(id string) bool {
	const most = 300
	uuid, _, _ := strings.Cut(id, "@")
	return len(id) <= most && newid.IsUUID(uuid)
}

// isClean reports whether a path has no element that would be left out, such as "..".
func isClean(p string) bool { return strings.HasPrefix(p, "/") && path.Clean(p) == p }

// origins lists the origins of the server, such as http://127.0.0.1:2539.
type origins struct {
	list     []string
	loopback bool // any port of a loopback name, for a socket that other programs forward to
}

// newOrigins checks origins.
func newOrigins(list []string, loopback bool) (*origins, error) {
	o := &origins{loopback: loopback}
	for _, text := range list {
		origin, err := ParseOrigin(text)
		if err != nil {
			return nil, err
		}
		o.list = append(o.list, origin)
	}
	if len(o.list) == 0 && !loopback {
		return nil, errors.New("web: no origin is given")
	}
	return o, nil
}

// ParseOrigin returns the origin of a URL that has nothing but one, as a browser writes it.
func ParseOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(u.Host, ":") {
		return "", fmt.Errorf("%q is not a URL such as https://clew.example.com", text)
	}
	host := strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if u.Scheme == scheme {
			host = strings.TrimSuffix(host, port)
		}
	}
	return u.Scheme + "://" + host, nil
}

// check refuses a request to another host, or from a page of another origin. If opening is set, the
// user may navigate here from a page of another origin.
func (o *origins) check(r *http.Request, opening bool) error {
	host := strings.ToLower(r.Host)
	if !o.hasHost(host) {
		return &refusal{
			status: http.StatusForbidden, reason: fmt.Sprintf("this server is not known as %q", clip.Marked(r.Host, maxQuoted)),
			hint: `If you reach it by that name, start it with "clew serve --public-url URL".`,
		}
	}
	if values, ok := r.Header["Origin"]; ok && (len(values) != 1 || !o.has(values[0], host)) {
		return refused(http.StatusForbidden, "requests from pages of other origins are refused: %q", clip.Marked(strings.Join(values, ", "), maxQuoted))
	}
	site, ok := r.Header["Sec-Fetch-Site"]
	switch {
	case !ok, len(site) == 1 && (site[0] == "same-origin" || site[0] == "none"):
		return nil
	case opening && isNavigation(r):
		return nil
	}
	return &refusal{
		status: http.StatusForbidden, reason: "requests from pages of other sites are refused",
		hint: "Enter the address of this page yourself instead of following a link.",
	}
}

// isNavigation reports whether the user leaves another page for this one, according to the browser.
func isNavigation(r *http.Request) bool {
	is := func(name, value string) bool { return slices.Equal(r.Header[name], []string{value}) }
	return is("Sec-Fetch-Mode", "navigate") && is("Sec-Fetch-Dest", "document")
}

// hasHost reports whether the server is known as that host, with its port.
func (o *origins) hasHost(host string) bool {
	for _, origin := range o.list {
		if _, own, _ := strings.Cut(origin, "://"); own == host {
			return true
		}
	}
	return o.loopback && isLoopbackHost(host)
}

// has reports whether the request with that host was sent to origin.
func (o *origins) has(origin, host string) bool {
	scheme, of, ok := strings.Cut(origin, "://")
	if !ok || of != host {
		return false
	}
	return slices.Contains(o.list, origin) || o.loopback && scheme == "http" && isLoopbackHost(host)
}

// isLoopbackHost reports whether a Host header names this machine in a way that no name server can
// change.
func isLoopbackHost(host string) bool {
	if name, port, err := net.SplitHostPort(host); err == nil && isPort(port) {
		if strings.Contains(name, ":") != strings.HasPrefix(host, "[") {
			return false
		}
		return name == "localhost" || name == "127.0.0.1" || name == "::1"
	}
	return host == "localhost" || host == "127.0.0.1" || host == "[::1]"
}

func isPort(text string) bool {
	return len(text) > 0 && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}

// maxQuoted is the number of bytes that an answer or the audit log quotes of a request.
const maxQuoted = 100
