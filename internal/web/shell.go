package web

import (
	"html/template"
	"net/http"
)

// page is the shell of all pages: it has no data.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Clew</title>
<link rel="icon" href="/assets/{{.}}/icon.svg">
<link rel="stylesheet" href="/assets/{{.}}/page.css">
<link rel="stylesheet" href="/assets/{{.}}/app.css">
<script type="module" src="/assets/{{.}}/app.js"></script>
</head>
<body>
<noscript>This page needs JavaScript. To read sessions without it, run: clew</noscript>
</body>
</html>
`))

// shell answers with the page. Its script looks at the URL.
func (s *Server) shell(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return page.Execute(w, s.assets.hash)
}

// bridge is the page of /open. Its script goes on to the first page, with the code in the fragment: so
// that page is loaded from this origin, and can be loaded again.
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
