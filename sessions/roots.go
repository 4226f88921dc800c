package sessions

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/internal/sessionfile"
	"golang.org/x/text/unicode/norm"
)

// Roots returns the folders in which agents of this user keep their settings and sessions, as far as they exist, each
// once. With CLAUDE_CONFIG_DIR, those are the folders that it names: one, or several with commas between them. Otherwise
// they are .claude in the user's home, and claude below XDG_CONFIG_HOME, which some agents have used.
func Roots() ([]string, error) {
	candidates, err := rootCandidates()
	if err != nil {
		return nil, err
	}
	var roots []string
	var known []fs.FileInfo
	for _, dir := range candidates {
		dir, info := existing(dir)
		if info == nil || containsFile(known, info) {
			continue
		}
		roots, known = append(roots, dir), append(known, info)
	}
	return roots, nil
}

func containsFile(files []fs.FileInfo, info fs.FileInfo) bool {
	for _, file := range files {
		if os.SameFile(file, info) {
			return true
		}
	}
	return false
}

// existing returns a folder under the name by which it exists: the agent composes the letters of its path, and some
// systems decompose them. The info is nil if there is none.
func existing(dir string) (string, fs.FileInfo) {
	for _, dir := range []string{dir, norm.NFC.String(dir)} {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, info
		}
	}
	return dir, nil
}

// rootCandidates returns the folders that may be roots, the agent's own first. There is at least one.
func rootCandidates() ([]string, error) {
	home, err := os.UserHomeDir()
	if config := configured(home); len(config) > 0 {
		return config, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: the agent's folder: %w", err)
	}
	shared := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(shared) {
		shared = filepath.Join(home, ".config")
	}
	return []string{filepath.Join(home, ".claude"), filepath.Join(shared, "claude")}, nil
}

// configured returns the folders that CLAUDE_CONFIG_DIR names. A comma may also be part of the name of one that exists.
func configured(home string) []string {
	value := os.Getenv("CLAUDE_CONFIG_DIR")
	names := []string{value}
	if _, info := existing(value); info == nil {
		names = strings.Split(value, ",")
	}
	var dirs []string
	for _, name := range names {
		if name = strings.TrimSpace(name); name != "" {
			dirs = append(dirs, rootOf(expandHome(name, home)))
		}
	}
	return dirs
}

func expandHome(name, home string) string {
	rest, ok := strings.CutPrefix(name, "~")
	if ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(home, rest)
	}
	return name
}

// rootOf returns the root that is meant by a folder, which may be that of the projects inside it.
func rootOf(dir string) string {
	dir = filepath.Clean(dir)
	if filepath.Base(dir) != sessionfile.Folder {
		return dir
	}
	if _, inside := existing(filepath.Join(dir, sessionfile.Folder)); inside != nil {
		return dir
	}
	return filepath.Dir(dir)
}

// AgentFolder returns the store that stands on the agent's own files: those below the first of [Roots], or below the
// folder that would be that if there is none yet. Functions that are given no store look below all of them.
func AgentFolder() (*Folder, error) {
	folders, err := agentFolders()
	if err != nil {
		return nil, err
	}
	return folders[0], nil
}

// agentFolders returns the stores below all roots. There is at least one.
func agentFolders() ([]*Folder, error) {
	roots, err := Roots()
	if err == nil && len(roots) == 0 {
		roots, err = rootCandidates()
		roots = roots[:min(1, len(roots))]
	}
	if err != nil {
		return nil, err
	}
	var folders []*Folder
	for _, root := range roots {
		folders = append(folders, NewFolder(filepath.Join(root, sessionfile.Folder)))
	}
	return folders, nil
}
