package prompts

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits of a search for files.
const (
	maxVisited = 50_000 // files and directories that are looked at
	minVisited = 1000   // those that are looked at however long it takes
	maxFound   = 50
	filesLimit = 300 * time.Millisecond
)

// Files returns the paths below a directory that have a word in them, with slashes, the best match
// first. Directories end in a slash. It does not look into hidden directories or package directories,
// and ends early in a large tree.
func Files(ctx context.Context, dir, word string) []string {
	end := time.Now().Add(filesLimit)
	word = strings.ToLower(word)
	var found []string
	visited := 0
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		visited++
		if visited > maxVisited || ctx.Err() != nil || visited > minVisited && time.Now().After(end) {
			return fs.SkipAll
		}
		if err != nil || name == dir {
			return nil //nolint:nilerr // what can't be read is left out
		}
		base := entry.Name()
		hidden := strings.HasPrefix(base, ".") && !strings.HasPrefix(word, ".") || base == ".git" || base == "node_modules"
		if hidden && entry.IsDir() {
			return fs.SkipDir
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || hidden {
			return nil //nolint:nilerr // it is not below the directory
		}
		if rel = filepath.ToSlash(rel); entry.IsDir() {
			rel += "/"
		}
		if strings.Contains(strings.ToLower(rel), word) {
			found = append(found, rel)
		}
		return nil
	}) // the function returns no error
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(fileRank(a, word), fileRank(b, word)) })
	return found[:min(len(found), maxFound)]
}

// fileRank returns the distance of a path from a word: a short path that begins with it is the nearest.
func fileRank(name, word string) int {
	name = strings.ToLower(name)
	rank := len(name) + 100*strings.Count(name, "/")
	switch {
	case strings.HasPrefix(name, word):
	case strings.HasPrefix(path.Base(name), word):
		rank += 10_000
	default:
		rank += 20_000
	}
	return rank
}
