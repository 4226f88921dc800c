package engine

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/archive"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/nats/natsarchive"
	"github.com/clewdev/clew/sqlite/sqlitearchive"
)

// An Archive locates an archive.
type Archive struct {
	// Name is a URL, several separated by commas, a scheme and a file, or a directory.
	Name string
}

// An archiveKind opens archives of one kind.
type archiveKind struct {
	create, open func(ctx context.Context, name string) (archive.Target, error) // of a path, or of the URL of a server
	shown        func(name string) string                                       // the URL without its password; nil if name is a path
}

var natsArchive = &archiveKind{
	create: func(ctx context.Context, url string) (archive.Target, error) { return natsarchive.Open(ctx, url, nil) },
	open: func(ctx context.Context, url string) (archive.Target, error) {
		return natsarchive.OpenExisting(ctx, url, nil)
	},
	shown: natsarchive.Redacted,
}

// archiveSchemes maps schemes to kinds of archives.
var archiveSchemes = map[string]*archiveKind{
	"nats": natsArchive, "tls": natsArchive, "ws": natsArchive, "wss": natsArchive,
	"sqlite": {
		create: func(ctx context.Context, path string) (archive.Target, error) { return sqlitearchive.Open(ctx, path) },
		open: func(ctx context.Context, path string) (archive.Target, error) {
			return sqlitearchive.OpenExisting(ctx, path)
		},
	},
}

// dirArchive opens archives without a scheme.
var dirArchive = &archiveKind{
	create: func(_ context.Context, path string) (archive.Target, error) { return archive.OpenDir(path) },
	open:   func(_ context.Context, path string) (archive.Target, error) { return archive.OpenExistingDir(path) },
}

// kind returns the kind of an archive, and its name for that kind, which follows the prefix.
func (a Archive) kind() (kind *archiveKind, prefix, name string) {
	scheme, rest, ok := strings.Cut(a.Name, ":")
	if !ok {
		return dirArchive, "", a.Name
	}
	scheme = strings.ToLower(strings.TrimSpace(scheme))
	kind = archiveSchemes[scheme]
	if kind == nil && len(scheme) > 1 && strings.HasPrefix(rest, "//") && schemePattern.MatchString(scheme) {
		kind = natsArchive // a URL with a misspelled scheme may contain a password
	}
	switch {
	case kind == nil: // such as a drive of Windows
		return dirArchive, "", a.Name
	case kind.shown != nil:
		return kind, "", a.Name
	}
	return kind, scheme + ":", rest
}

// Shown returns the name of an archive without a password.
func (a Archive) Shown() string {
	if kind, _, _ := a.kind(); kind.shown != nil {
		return kind.shown(a.Name)
	}
	return a.Name
}

// HasPassword reports whether the name of an archive has a user or a password, or may have one.
func (a Archive) HasPassword() bool {
	kind, _, _ := a.kind()
	return kind.shown != nil && kind.shown(a.Name) != strings.TrimRight(a.Name, "/")
}

// Absolute returns an archive with an absolute path, so that it is the same from any directory.
func (a Archive) Absolute() Archive {
	kind, prefix, path := a.kind()
	if kind.shown != nil {
		return a
	}
	path = clikit.ExpandHome(path)
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return Archive{prefix + path}
}

// Open opens an archive, and may create it. The error wraps [archive.ErrNotFound] if there is none.
func (a Archive) Open(ctx context.Context, create bool) (archive.Target, error) {
	kind, _, name := a.kind()
	open := kind.open
	if create {
		open = kind.create
	}
	target, err := open(ctx, name)
	if err == nil {
		return target, nil
	}
	text := strings.TrimSuffix(strings.TrimPrefix(err.Error(), "archive: "), ": "+archive.ErrNotFound.Error())
	f := &clikit.Failure{Code: clikit.ExitInput, Err: &clikit.ShownError{Text: clikit.Printable(text), Err: err}}
	if errors.Is(err, archive.ErrNotFound) {
		f.Hint = `Run "clew archive" to create one, or name another archive.`
	}
	return nil, f
}
