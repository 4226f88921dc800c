package sessions

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/clewdev/clew/internal/files"
)

// Limits for reading the files of a git repository.
const (
	maxWorktrees = 256
	maxGitFile   = 4 << 10
	maxGitConfig = 256 << 10
)

// withWorktrees returns dir and, if it is in a git repository, the same directory in each of the
// other working trees, and these trees themselves. A session that was started in one tree is often
// wanted in another, since they belong to the same work. It reads git's files and does not run git:
//
//	.git                           a directory in the main tree, a file "gitdir: PATH" in others
//	.git/worktrees/NAME/gitdir     the path of the .git file of a linked tree
//	.git/worktrees/NAME/commondir  the path of the shared git directory
//
// These files may come with someone else's directory. So two trees belong together only if each of
// them names the other: a directory that reports that it is a tree of another repository, or that
// another directory is one of its trees, is not believed.
func withWorktrees(dir string) []string {
	dirs := []string{dir}
	root, common := repositoryOf(dir)
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

// repositoryOf returns the working tree that dir is in, and the git directory that it shares with the
// other trees of its repository. The git directory is "" if it does not know the tree.
func repositoryOf(dir string) (root, common string) {
	for root = dir; ; root = filepath.Dir(root) {
		git := filepath.Join(root, ".git")
		if info, err := os.Lstat(git); err == nil {
			if info.IsDir() {
				return root, resolved(git)
			}
			return root, commonOf(git)
		}
		if root == filepath.Dir(root) {
			return "", ""
		}
	}
}

// commonOf returns the shared git directory of the linked tree with this .git file, or "" unless
// that directory has the tree in its list. The directory of a submodule has no such list.
func commonOf(git string) string {
	admin := adminOf(git)
	if filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return ""
	}
	back := gitFile(filepath.Join(admin, "gitdir"), maxGitFile)
	if back == "" || resolved(from(admin, back)) != resolved(git) {
		return ""
	}
	return filepath.Dir(filepath.Dir(admin))
}

// adminOf returns the directory that the .git file of a tree names, without symbolic links, or ""
// if there is none.
func adminOf(git string) string {
	if info, err := os.Lstat(git); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	target, ok := strings.CutPrefix(gitFile(git, maxGitFile), "gitdir:")
	if !ok {
		return ""
	}
	admin, err := filepath.EvalSymlinks(from(filepath.Dir(git), strings.TrimSpace(target)))
	if err != nil {
		return ""
	}
	return admin
}

// resolved returns a path without symbolic links in its directory. The last element may be one.
func resolved(path string) string {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return path
	}
	return filepath.Join(dir, filepath.Base(path))
}

// worktrees returns the working trees of a repository. One of them is already known.
func worktrees(known, common string) []string {
	trees := []string{known}
	if common == "" {
		return trees
	}
	linked := filepath.Join(common, "worktrees")
	entries, err := os.ReadDir(linked)
	if err != nil {
		return trees
	}
	if filepath.Base(common) == ".git" {
		trees = append(trees, filepath.Dir(common))
	}
	for _, entry := range entries[:min(len(entries), maxWorktrees)] {
		admin := filepath.Join(linked, entry.Name())
		path := gitFile(filepath.Join(admin, "gitdir"), maxGitFile)
		if path == "" {
			continue
		}
		if git := from(admin, path); adminOf(git) == admin {
			trees = append(trees, filepath.Dir(git))
		}
	}
	return trees
}

// from returns the path that a file in dir refers to, which may be relative to dir.
func from(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// gitFile returns the trimmed content of a file of at most some bytes, or "" if it can't be read.
func gitFile(name string, most int64) string {
	content, err := files.ReadSmall(name, most)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(content))
}
