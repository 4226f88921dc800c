package web

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

// page is the shell of all pages: it has no data. The browser gets all scripts of the page at once, and
// not one after the other as each names the next.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Clew</title>
<link rel="icon" href="/assets/{{.Hash}}/icon.svg">
<link rel="stylesheet" href="/assets/{{.Hash}}/page.css">
<link rel="stylesheet" href="/assets/{{.Hash}}/app.css">
<script type="module" src="/assets/{{.Hash}}/app.js"></script>
{{range .Scripts}}<link rel="modulepreload" href="/assets/{{$.Hash}}/{{.}}">
{{end}}</head>
<body>
<noscript>This page needs JavaScript. To read sessions without it, run: clew</noscript>
</body>
</html>
`))

// pageScripts are the scripts of pages, by the first parts of their paths. app.js imports them when it
// knows the page.
var pageScripts = map[string]string{
	"": "list.js", "s": "session.js", "search": "search.js", "usage": "usage.js", "live": "usage.js", "jobs": "jobs.js",
}

// shell answers with the page. Its script looks at the URL.
func (s *Server) shell(w http.ResponseWriter, r *http.Request) error {
	if id := r.PathValue("id"); id != "" {
		s.followed.background(func() { s.expect(id) })
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	scripts := s.assets.imports("app.js", cmp.Or(pageScripts[first], pageScripts[""]))
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return page.Execute(w, struct {
		Hash    string
		Scripts []string
	}{s.assets.hash, scripts[1:]})
}

// imports returns scripts and everything that they import. Each import is on a separate line.
func (a *assets) imports(scripts ...string) []string {
	for i := 0; i < len(scripts); i++ {
		for line := range bytes.Lines(a.files[scripts[i]]) {
			if !bytes.HasPrefix(line, []byte("import ")) {
				continue
			}
			_, from, _ := strings.Cut(string(line), ` from "./`)
			if name, _, ok := strings.Cut(from, `"`); ok && !slices.Contains(scripts, name) {
				scripts = append(scripts, name)
			}
		}
	}
	return scripts
}

// bridge is the page at /open. Its script continues to the first page, with the code in the
// fragment: so that page is loaded from this origin, and can be loaded again.
var bridge = template.Must(template.New("bridge").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Clew</title>
<script type="module" src="/assets/{{.}}/open.js"></script>
</head>
</html>
`))

// opening answers with the page that "clew serve --open" opens.
func (s *Server) opening(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return bridge.Execute(w, s.assets.hash)
}
