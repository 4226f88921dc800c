package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// attempts are the requests that a page of another origin may try. Each resolves to a text that
// starts with "read" if it got something.
const attempts = `
const target = %[1]q;
const results = [];
const attempt = async (name, f) => {
	try { results.push(name + ": " + await f()); } catch (e) { results.push(name + ": failed"); }
};
const element = (tag, properties) => new Promise((done) => {
	const e = Object.assign(document.createElement(tag), properties);
	e.onload = () => done(tag === "iframe" ? (() => { try { return "read " + e.contentDocument.body.innerText } catch { return "opaque" } })() : "read it");
	e.onerror = () => done("failed");
	document.body.append(e);
});
for (const path of ["/", "/api/v1/me", "/api/v1/sessions", "/assets/0/app.js"]) {
	await attempt("fetch " + path, async () => "read " + await (await fetch(target + path)).text());
	await attempt("token " + path, async () => "read " + await (await fetch(target + path, {headers: {Authorization: "Bearer " + %[2]q}})).text());
	await attempt("no-cors " + path, async () => {
		const r = await fetch(target + path, {mode: "no-cors"});
		return r.type === "opaque" ? "opaque" : "read " + await r.text();
	});
}
for (const type of ["application/json", "text/plain"]) {
	await attempt("post " + type, async () => {
		const r = await fetch(target + "/api/v1/login", {method: "POST", mode: "no-cors", headers: {"Content-Type": type}, body: JSON.stringify({code: %[3]q})});
		return r.type === "opaque" ? "opaque" : "read " + await r.text();
	});
}
await attempt("image", () => element("img", {src: target + "/"}));
await attempt("script", () => element("script", {src: target + %[4]q, type: "module"}));
await attempt("style", () => element("link", {rel: "stylesheet", href: target + %[5]q}));
await attempt("frame", () => element("iframe", {src: target + "/"}));
await attempt("socket", () => new Promise((done) => {
	const s = new WebSocket(target.replace("http", "ws") + "/api/v1/events");
	s.onopen = () => done("read it");
	s.onerror = () => done("failed");
}));
return results;
`

// A page of another port reads nothing and changes nothing, even if it knows the token.
func TestForeignPage(t *testing.T) {
	t.Parallel()
	s := newViewerSite(t)
	own := s.enter("/")
	assets := value[[]string](own, `[...document.querySelectorAll("script[src], link[rel=stylesheet]")].map(e => new URL(e.src || e.href).pathname)`)
	token := value[string](own, `localStorage.getItem("clew-token")`)
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><title>foreign</title><body>")) // the browser may have gone
	}))
	t.Cleanup(foreign.Close)
	// A page that is idle loads the modules of a session: they must be there before the page is left.
	if !value[bool](own, fmt.Sprintf(`import(new URL("session.js", location.origin + %q).href).then(() => true)`, assets[0])) {
		t.Fatal("the modules of a session are not loaded")
	}
	page := own // the same browser, which is logged in at the viewer
	page.wait("one stream is open", func() bool { return s.streams.Load() == 1 })
	page.open(foreign.URL)
	page.until(`document.title === "foreign"`)
	page.wait("all requests of the viewer's page have ended", func() bool { return s.running.Load() == 0 })
	s.statuses()
	code := s.web.NewCode()
	got := value[[]string](page, "(async () => {"+fmt.Sprintf(attempts, s.URL, token, code, assets[0], assets[1])+"})()")
	for _, result := range got {
		if _, what, _ := strings.Cut(result, ": "); strings.HasPrefix(what, "read") {
			t.Errorf("a foreign page got something: %s", result)
		}
	}
	if len(got) != 19 {
		t.Errorf("%d attempts: %q", len(got), got)
	}
	seen := s.statuses()
	for _, line := range seen {
		if !strings.HasPrefix(line, "4") {
			t.Errorf("the server answered a foreign page: %s", line)
		}
	}
	if len(seen) < len(got)-3 { // files of the viewer may be in the cache, and are not given from there
		t.Errorf("only %d requests reached the server: %q", len(seen), seen)
	}
	other := newBrowser(t) // the code was not used up
	other.open(s.URL + "/#" + code)
	other.until(`document.querySelector(".bar")`)
}

// A name of another site that leads to this machine gets nothing: neither the page nor its files.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s := newViewerSite(t)
	evil := strings.Replace(s.URL, "127.0.0.1", foreignHost, 1)
	p := newTab(t, evil)
	p.open(evil + "/#" + s.web.NewCode())
	p.see(foreignHost)
	got := value[[]int](p, `Promise.all(["/", "/api/v1/me", "/api/v1/login", "/assets/0/app.js"].map(async (path) =>
		(await fetch(path, {method: path.endsWith("login") ? "POST" : "GET", headers: {Authorization: "Bearer `+s.web.Token()+`"}})).status))`)
	for i, status := range got {
		if status < 400 {
			t.Errorf("request %d got %d", i, status)
		}
	}
	for _, line := range s.statuses() {
		if !strings.HasPrefix(line, "4") {
			t.Errorf("the server answered another host: %s", line)
		}
	}
}
