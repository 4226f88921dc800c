package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"

	"github.com/clewdev/clew/export"
)

//go:embed assets
var embedded embed.FS

// contentTypes maps extensions of client files to content types. The system's tables may differ.
var contentTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
}

// assets are the files of the client.
type assets struct {
	hash  string // of all files: their URLs change with it
	files map[string][]byte
}

// loadAssets reads the embedded files. They refer to each other by relative URLs.
func loadAssets() (*assets, error) {
	a := &assets{files: map[string][]byte{}}
	entries, err := fs.ReadDir(embedded, "assets")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		data, err := fs.ReadFile(embedded, "assets/"+e.Name())
		if err != nil {
			return nil, err
		}
		a.files[e.Name()] = withoutComments(data)
	}
	a.files["page.css"] = []byte(export.Style())
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(a.files)) {
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(a.files[name])) // never fails
		sum.Write(a.files[name])
	}
	a.hash = hex.EncodeToString(sum.Sum(nil)[:8])
	return a, nil
}

// withoutComments empties the comment lines in a client file, so that lines keep their numbers. The
// comments, mostly types for the checker, were a sixth of the client.
func withoutComments(text []byte) []byte {
	lines := bytes.Split(text, []byte("\n"))
	inside := false
	for i, line := range lines {
		line = bytes.TrimSpace(line)
		begins, ends := bytes.HasPrefix(line, []byte("/*")), bytes.HasSuffix(line, []byte("*/"))
		if begins && bytes.Contains(line, []byte("*/")) && !ends { // code follows
			continue
		}
		if inside = inside || begins; inside || bytes.HasPrefix(line, []byte("//")) {
			lines[i] = nil
		}
		inside = inside && !ends
	}
	return bytes.Join(lines, []byte("\n"))
}

// asset answers with a file of the client.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	data, ok := s.assets.files[name]
	if !ok || r.PathValue("hash") != s.assets.hash {
		return refused(http.StatusNotFound, "there is no such file; load the page again")
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(data) // the client is gone if this fails
	return nil
}
