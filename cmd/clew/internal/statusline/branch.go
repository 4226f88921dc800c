package statusline

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/files"
)

// maxHead is the size of the largest git file that is read.
const maxHead = 4096

// Branch returns the branch that is checked out in the repository of a directory, or the first
// digits of the commit if there is no branch. Outside of a repository it returns "". It reads one
// or two small files, and starts no process.
func Branch(dir string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, ".git")
		if info, err := os.Stat(path); err == nil {
			if !info.IsDir() {
				path = linkedDir(path)
			}
			return headOf(path)
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
	}
}

// linkedDir returns the directory that a .git file names, as in a working tree or submodule.
func linkedDir(path string) string {
	dir, ok := bytes.CutPrefix(content(path), []byte("gitdir:"))
	if !ok {
		return ""
	}
	name := strings.TrimSpace(string(dir))
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(path), name)
	}
	return name
}

// headOf returns the branch of the HEAD in a directory of git.
func headOf(dir string) string {
	if dir == "" {
		return ""
	}
	head := strings.TrimSpace(string(content(filepath.Join(dir, "HEAD"))))
	if ref, ok := strings.CutPrefix(head, "ref:"); ok {
		ref = strings.TrimPrefix(strings.TrimSpace(ref), "refs/")
		if ref == "heads/.invalid" { // of a repository that keeps its refs in another form
			return ""
		}
		return strings.TrimPrefix(ref, "heads/")
	}
	const digits = 40 // of SHA-1; SHA-256 has more
	if len(head) < digits || strings.Trim(head, "0123456789abcdef") != "" {
		return ""
	}
	return head[:7]
}

// content returns the content of a file of git, or nil.
func content(path string) []byte {
	data, _ := files.ReadSmall(path, maxHead)
	return data
}
