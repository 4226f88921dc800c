package statusline

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxHead is the number of bytes read from a git file.
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
	dir, ok := bytes.CutPrefix(readSmall(path), []byte("gitdir:"))
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
	head := strings.TrimSpace(string(readSmall(filepath.Join(dir, "HEAD"))))
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

// readSmall returns the start of a regular file, or nil. Opening a pipe would block.
func readSmall(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxHead))
	if err != nil {
		return nil
	}
	return data
}
