package worktree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/clewdev/clew/internal/files"
)

const (
	maxRefFile    = 4 << 10
	maxPackedRefs = 64 << 20
)

// importHead copies the commits of the agent into the repository of the worker and returns its
// head. If that can't be read, it returns the last known head, with an error.
//
// The files are read here, since git would take the settings of the agent's repository into account.
func (t *Tree) importHead(ctx context.Context) (string, error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return t.head, err
	}
	defer root.Close()
	head, err := readHead(root)
	if err != nil || head == t.head {
		return t.head, err
	}
	if _, ok := t.resolve(ctx, head); ok {
		return head, nil
	}
	if err := t.checkObjects(root); err != nil {
		return t.head, err
	}
	if err := t.importCommits(ctx, head); err != nil {
		return t.head, err
	}
	if _, ok := t.resolve(ctx, head); !ok {
		return t.head, fmt.Errorf("%s is not a commit", head)
	}
	return head, nil
}

// checkObjects returns an error if the objects of the agent's repository are elsewhere. The agent's
// sandbox may keep it from reading other repositories of the user, but this process can read them,
// and would copy what the agent names.
func (t *Tree) checkObjects(root *os.Root) error {
	const objects = ".git/objects"
	alternates, err := readSmall(root, objects+"/info/alternates")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ours := []string{filepath.ToSlash(t.root.mirror(t.repo).objects()), filepath.ToSlash(filepath.Join(t.repoDir(), "objects"))}
	for line := range strings.SplitSeq(alternates, "\n") {
		if line != "" && !slices.Contains(ours, line) {
			return fmt.Errorf("the repository borrows objects of another one: %.200q", line)
		}
	}
	return fs.WalkDir(root.FS(), objects, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != objects: // the agent works
			return nil
		case err == nil && !entry.IsDir() && !entry.Type().IsRegular():
			return fmt.Errorf("%q is neither a file nor a directory", name)
		}
		return err
	})
}

// readHead returns the hash that the HEAD of a repository leads to.
func readHead(root *os.Root) (string, error) {
	head, err := readSmall(root, ".git/HEAD")
	if err != nil {
		return "", err
	}
	ref, ok := strings.CutPrefix(head, "ref:")
	if !ok {
		return checkHash(head)
	}
	ref = strings.TrimSpace(ref)
	if checkRef(ref) != nil || !strings.HasPrefix(ref, "refs/") || !filepath.IsLocal(filepath.FromSlash(ref)) {
		return "", fmt.Errorf("the HEAD names no branch: %.100q", ref)
	}
	hash, err := readSmall(root, path.Join(".git", ref))
	if errors.Is(err, os.ErrNotExist) {
		return readPacked(root, ref)
	}
	if err != nil {
		return "", err
	}
	return checkHash(hash)
}

func checkHash(text string) (string, error) {
	if !fullHash.MatchString(text) {
		return "", fmt.Errorf("not the hash of a commit: %.100q", text)
	}
	return text, nil
}

// readSmall returns the text of a small file without white space at its ends.
func readSmall(root *os.Root, name string) (string, error) {
	data, err := files.ReadSmallIn(root, name, maxRefFile)
	return strings.TrimSpace(string(data)), err
}

// readPacked looks a ref up in the file that has many of them.
func readPacked(root *os.Root, ref string) (string, error) {
	file, err := files.OpenRegularIn(root, ".git/packed-refs")
	if err != nil {
		return "", err
	}
	defer file.Close()
	lines := bufio.NewScanner(io.LimitReader(file, maxPackedRefs))
	for lines.Scan() {
		if hash, name, ok := strings.Cut(lines.Text(), " "); ok && name == ref {
			return checkHash(hash)
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	return "", fmt.Errorf("%.100q has no commit", ref)
}

// importCommits copies what the head has and the last known one does not. The objects of the agent
// are only read.
func (t *Tree) importCommits(ctx context.Context, head string) error {
	in, out := io.Pipe()
	pack := t.command("pack-objects", "--quiet", "--revs", "--stdout")
	pack.env = append(pack.env, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+alternate(filepath.Join(t.Dir, ".git", "objects")))
	pack.stdin = strings.NewReader(head + "\n^" + t.Base + "\n^" + t.head + "\n")
	pack.stdout = out
	index := t.command("index-pack", "--stdin", "--max-input-size="+strconv.FormatInt(t.root.opts.MaxSize, 10))
	index.stdin = in
	index.stdout = new(bytes.Buffer)

	var packed error
	var packing sync.WaitGroup
	packing.Go(func() {
		packed = t.root.git.run(ctx, pack)
		_ = out.CloseWithError(packed)
	})
	err := t.root.git.run(ctx, index)
	_ = in.CloseWithError(err)
	packing.Wait()
	if packed != nil && !errors.Is(packed, io.ErrClosedPipe) {
		return packed
	}
	return err
}

// alternate returns a path in the form of a git variable that lists directories.
func alternate(path string) string {
	if runtime.GOOS == "windows" {
		return filepath.ToSlash(path)
	}
	return `"` + strings.ReplaceAll(path, `\`, `\\`) + `"` // a root has no quotes in its path
}
