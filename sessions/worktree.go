package sessions

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The limits of what is read of a repository.
const (
	maxWorktrees = 256
	maxGitFile   = 4 << 10
)

// withWorktrees returns dir and, if it lies in a git repository, the folders that are its other working trees, and the
// places in them that correspond to dir. It reads git's files and starts nothing.
func withWorktrees(dir string) []string {
	dirs := []string{dir}
	root, common := repository(dir)
	if root == "" {
		return dirs
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return dirs
	}
	for _, tree := range worktrees(root, common) {
		for _, at := range []string{filepath.Join(tree, rel), tree} {
			if !slices.Contains(dirs, at) {
				dirs = append(dirs, at)
			}
		}
	}
	return dirs
}

// repository returns the working tree in which dir lies, and the folder that it shares with the others of its repository.
func repository(dir string) (root, common string) {
	for root = dir; ; root = filepath.Dir(root) {
		git := filepath.Join(root, ".git")
		if info, err := os.Stat(git); err == nil && info.IsDir() {
			return root, git
		}
		if target, ok := strings.CutPrefix(gitFile(git), "gitdir:"); ok {
			git = from(root, strings.TrimSpace(target))
			if shared := gitFile(filepath.Join(git, "commondir")); shared != "" {
				return root, from(git, shared)
			}
			return root, git
		}
		if root == filepath.Dir(root) {
			return "", ""
		}
	}
}

// worktrees returns the working trees of a repository, of which one is known.
func worktrees(known, common string) []string {
	trees := []string{known}
	if filepath.Base(common) == ".git" {
		trees = append(trees, filepath.Dir(common))
	}
	linked := filepath.Join(common, "worktrees")
	entries, err := os.ReadDir(linked)
	if err != nil {
		return trees
	}
	for _, entry := range entries[:min(len(entries), maxWorktrees)] {
		admin := filepath.Join(linked, entry.Name())
		if git := gitFile(filepath.Join(admin, "gitdir")); git != "" {
			trees = append(trees, filepath.Dir(from(admin, git)))
		}
	}
	return trees
}

// from returns the path that a file in dir names.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// gitFile returns the content of a small file on one line, or "".
func gitFile(name string) string {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxGitFile))
	if err != nil || len(content) == maxGitFile {
		return ""
	}
	return strings.TrimSpace(string(content))
}
