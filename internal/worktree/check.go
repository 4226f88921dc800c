package worktree

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"

	"github.com/clewdev/clew/internal/gitaddress"
)

// maxName is the length of a name, so that its files and branch fit everywhere.
const maxName = 100

// checkName checks the name of a tree, which becomes the name of a directory, a file and a branch
// on any system.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("worktree: a tree needs a name")
	case len(name) > maxName:
		return fmt.Errorf("worktree: the name of a tree has %d bytes, and %d are the most", len(name), maxName)
	case !plainName.MatchString(name), strings.Contains(name, ".."), hasLockSuffix(name), reservedName.MatchString(name):
		return fmt.Errorf("worktree: %q can't be the name of a tree: use letters, digits and single \".\", \"_\" and \"-\" between them", name)
	}
	return nil
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	// reservedName matches devices, which Windows has in every directory.
	reservedName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)
)

func hasLockSuffix(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".lock") }

// maxRef is the length of a ref.
const maxRef = 1000

// checkRef checks the name of a branch, a tag, a commit or a full ref by the rules of git. It
// refuses names that git would read as an expression or an option.
func checkRef(ref string) error {
	bad := len(ref) > maxRef || ref == "@" || strings.HasPrefix(ref, "-") || strings.HasSuffix(ref, ".") ||
		strings.Contains(ref, "..") || strings.Contains(ref, "@{") ||
		strings.ContainsFunc(ref, func(r rune) bool {
			return r <= ' ' || r == 0x7f || r == unicode.ReplacementChar || strings.ContainsRune(`~^:?*[\`, r)
		})
	for part := range strings.SplitSeq(ref, "/") {
		bad = bad || part == "" || strings.HasPrefix(part, ".") || hasLockSuffix(part)
	}
	if bad {
		return fmt.Errorf("worktree: %.100q is not the name of a branch, a tag or a commit", ref)
	}
	return nil
}

var (
	fullHash  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	shortHash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

// maxRepo is the length of the address of a repository.
const maxRepo = 2000

// scpForm matches addresses such as git@host:path. A letter before a colon is a drive of Windows, and
// an @ after it may follow a password.
var scpForm = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_.+-]*@)?[A-Za-z0-9][A-Za-z0-9.-]+:[^:@]*$`)

// Directory returns the directory of this machine that the address of a repository names, a path or a file URL, or "".
func Directory(repo string) string {
	_, path, _ := checkRepo(repo) // "" with an error
	return path
}

// checkRepo checks the address of a repository, and returns it as git gets it and its path if it is
// a directory of this machine. Its errors don't repeat an address, which may have a password.
func checkRepo(repo string) (address, path string, err error) {
	switch {
	case repo == "":
		return "", "", errors.New("worktree: a repository is missing")
	case len(repo) > maxRepo:
		return "", "", fmt.Errorf("worktree: the address of a repository has %d bytes, and %d are the most", len(repo), maxRepo)
	case strings.ContainsFunc(repo, unicode.IsControl):
		return "", "", errors.New("worktree: the address of a repository has control characters")
	case strings.HasPrefix(repo, "-"), strings.Contains(repo, "::"):
		return "", "", errBadRepo
	case filepath.IsAbs(repo):
		path = filepath.Clean(repo)
		return path, path, nil
	case strings.Contains(repo, "://"):
		return checkURL(repo)
	case scpForm.MatchString(repo):
		return repo, "", nil
	}
	return "", "", errBadRepo
}

var errBadRepo = errors.New("worktree: a repository is named by an https or ssh URL, by user@host:path or by an absolute path")

// checkURL refuses credentials: git would pass the URL to its helpers on a command line, and write it
// where the agent can read it.
func checkURL(repo string) (address, path string, err error) {
	u, err := url.Parse(repo)
	if err != nil {
		return "", "", errBadRepo // the error of Parse has the URL
	}
	switch u.Scheme {
	case "http", "https", "git", "ssh":
	case "file":
		if u.Host != "" && u.Host != "localhost" || u.User != nil || !filepath.IsAbs(filepath.FromSlash(u.Path)) {
			return "", "", errBadRepo
		}
		path = filepath.Clean(filepath.FromSlash(u.Path))
		return path, path, nil
	default:
		return "", "", errBadRepo
	}
	if gitaddress.HasCredentials(repo) {
		return "", "", errors.New("worktree: the URL of a repository has credentials: remove them, and set up a credential helper of git on this machine")
	}
	if u.Host == "" || strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") || strings.HasPrefix(u.Path, "/-") {
		return "", "", errBadRepo
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), "", nil
}
