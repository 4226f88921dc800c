package worktree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// checkCopy checks the names of files that are copied into a tree.
func checkCopy(names []string) error {
	for _, name := range names {
		local := filepath.FromSlash(name)
		clean := path.Clean(filepath.ToSlash(name))
		first, _, _ := strings.Cut(clean, "/")
		if !filepath.IsLocal(local) || clean == "." || strings.EqualFold(first, ".git") || strings.ContainsAny(name, "\n\r\x00") {
			return fmt.Errorf("worktree: %.100q can't be copied: name a file or directory in the repository by its relative path", name)
		}
	}
	return nil
}

// copyFiles copies files that git does not have from a directory. They may be secrets: snapshots
// leave them out, whatever .gitignore says, and for the agent git ignores them.
func (t *Tree) copyFiles(ctx context.Context, from string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("worktree: the directory to copy from: %w", err)
	}
	defer source.Close()
	target, err := os.OpenRoot(t.Dir)
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	defer target.Close()
	c := &copier{source: source, target: target, limit: t.root.opts}
	var patterns strings.Builder
	for _, name := range names {
		name = path.Clean(filepath.ToSlash(name))
		tracked, err := t.root.git.output(ctx, t.indexed("ls-files", "--cached", "--", name))
		if err == nil && tracked != "" {
			err = errors.New("it is in the repository")
		}
		if err == nil {
			err = c.copy(ctx, name)
		}
		if err != nil {
			return fmt.Errorf("worktree: copy %q from %s: %w", name, from, err)
		}
		patterns.WriteString("/" + literalPattern(name) + "\n")
		t.copied = append(t.copied, name)
	}
	if err := appendFile(filepath.Join(t.Dir, ".git", "info", "exclude"), patterns.String()); err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	return nil
}

// isCopied reports whether a path was copied into the tree, or is below a directory that was.
func (t *Tree) isCopied(name string) bool {
	return slices.ContainsFunc(t.copied, func(copied string) bool {
		return name == copied || strings.HasPrefix(name, copied+"/")
	})
}

// literalPattern returns the pattern of .gitignore for a path.
func literalPattern(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`\*?[]!# `, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func appendFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// A copier copies files from one directory to another and leaves neither: a repository can have a
// link in the place of a directory.
type copier struct {
	source, target *os.Root
	limit          Options
	size, files    int64
}

func (c *copier) copy(ctx context.Context, name string) error {
	if err := c.target.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	return fs.WalkDir(c.source.FS(), name, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case entry.IsDir():
			return c.target.MkdirAll(name, 0o700)
		case !entry.Type().IsRegular():
			return fmt.Errorf("%q is neither a file nor a directory", name)
		}
		return c.file(name)
	})
}

func (c *copier) file(name string) error {
	if c.files++; c.files > c.limit.MaxFiles {
		return &LimitError{What: "the number of copied files", Limit: c.limit.MaxFiles}
	}
	in, err := c.source.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := c.target.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, c.limit.MaxSize-c.size+1))
	if c.size += n; c.size > c.limit.MaxSize {
		err = &LimitError{What: "the size of the copied files", Limit: c.limit.MaxSize}
	}
	return errors.Join(err, out.Close())
}
