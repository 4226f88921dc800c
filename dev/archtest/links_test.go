package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link      = regexp.MustCompile(`\]\(([^)\s#]*)(#[^)\s]*)?\)`)
	heading   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	namedFile = regexp.MustCompile("`([\\w./]+/[\\w.]+\\.(?:go|js|css))`")
)

// The links of the documents lead to files and headings that exist, and so do the names of files in
// the map.
func TestDocumentLinks(t *testing.T) {
	t.Parallel()
	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(documents) == 0 {
		t.Fatalf("%d documents, error %v", len(documents), err)
	}
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md"} {
		documents = append(documents, filepath.Join(root, name))
	}
	for _, document := range documents {
		text := readText(t, document)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target := document
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(document), m[1])
			}
			if !strings.Contains(m[1], "://") {
				checkLink(t, document, target, m[2])
			}
		}
	}
	for _, document := range []string{filepath.Join(root, "docs", "map.md"), filepath.Join(root, "CONTRIBUTING.md")} {
		for _, m := range namedFile.FindAllStringSubmatch(readText(t, document), -1) {
			checkLink(t, document, filepath.Join(root, m[1]), "")
		}
	}
}

// checkLink checks that a file exists, and has the heading of a fragment such as "#releases".
func checkLink(t *testing.T, document, target, fragment string) {
	t.Helper()
	if _, err := os.Stat(target); err != nil {
		t.Errorf("%s: %v", document, err)
		return
	}
	if fragment == "" || !strings.HasSuffix(target, ".md") {
		return
	}
	for _, m := range heading.FindAllStringSubmatch(readText(t, target), -1) {
		slug := strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if "#"+slug == fragment {
			return
		}
	}
	t.Errorf("%s: %s has no heading %s", document, target, fragment)
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
