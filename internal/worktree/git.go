package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/version"
)

const (
	// endTimeout is the time that git has to end after a signal, and that a program left by git may
	// hold its output open.
	endTimeout = 2 * time.Second
	// maxStderr is the minimum number of bytes kept of git's standard error.
	maxStderr = 64 << 10
	// maxReason is the maximum number of its bytes in an error.
	maxReason = 1000
)

// protocols are the ways to a repository. Among others it leaves out ext, which runs a command.
const protocols = "file:git:http:https:ssh"

// settings override the settings in every file, including the user's where those are read.
var settings = []string{
	"core.hooksPath=" + os.DevNull,
	"core.fsmonitor=false",
	"core.untrackedCache=false",
	"core.protectHFS=true",
	"core.protectNTFS=true",
	"core.longPaths=true",
	// An agent could write such files beside its objects, and lie in them.
	"core.commitGraph=false",
	"core.multiPackIndex=false",
	"core.logAllRefUpdates=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"protocol.ext.allow=never",
	"submodule.recurse=false",
	"fetch.recurseSubmodules=false",
	"fetch.unpackLimit=1",
	"push.recurseSubmodules=no",
	"push.gpgSign=false",
	"push.followTags=false",
	"apply.whitespace=nowarn",
	"apply.ignoreWhitespace=no",
}

// ownSettings are for commands that don't read the user's settings.
var ownSettings = []string{
	// Their defaults are files in the home directory.
	"core.excludesFile=" + os.DevNull,
	"core.attributesFile=" + os.DevNull,
	"core.autocrlf=false",
}

// A command is one run of git.
type command struct {
	args   []string
	dir    string   // the directory that it runs in
	env    []string // in addition
	stdin  io.Reader
	stdout io.Writer
	stderr string // the end of it, cleaned, after the command
	user   bool   // it reads the settings of the user
}

// A git runs the program git.
type git struct{ path string }

func findGit() (*git, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("worktree: git is not installed, or not in PATH: %w", err)
	}
	return &git{path: path}, nil
}

// minVersion is the first version that can ignore the user's settings.
const minVersion = "2.32"

// check returns an error if git is too old.
func (g *git) check() error {
	text, err := g.output(context.Background(), &command{args: []string{"version"}})
	if err != nil {
		return fmt.Errorf("worktree: %w", err)
	}
	return checkVersion(strings.TrimPrefix(text, "git version "))
}

func checkVersion(found string) error {
	if version.Compare(found, minVersion) < 0 {
		return fmt.Errorf("worktree: git %.100q is too old: install %s or newer", found, minVersion)
	}
	return nil
}

// run runs a command until it ends. When the context ends, so does git, with the programs that it
// started. The error has git's message.
func (g *git) run(ctx context.Context, c *command) error {
	list := settings
	if !c.user {
		list = slices.Concat(settings, ownSettings)
	}
	var args []string
	for _, setting := range list {
		args = append(args, "-c", setting)
	}
	cmd := exec.CommandContext(ctx, g.path, append(args, c.args...)...) //nolint:gosec // callers check their arguments
	stderr := new(tail)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, environment(c), c.stdin, c.stdout, stderr
	cmd.WaitDelay = 2 * endTimeout
	err := runInGroup(cmd)
	c.stderr = cleaned(string(stderr.text))
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay): // git succeeded, and left a credential helper
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return &gitError{command: c.args[0], stderr: c.stderr, err: err}
}

// output runs a command and returns its standard output, up to a limit, without white space at its
// ends.
func (g *git) output(ctx context.Context, c *command) (string, error) {
	out := &cappedWriter{w: new(bytes.Buffer), limit: maxOutput}
	c.stdout = out
	if err := g.run(ctx, c); err != nil {
		return "", errors.Join(out.exceeded("the output of git "+c.args[0]), err)
	}
	return strings.TrimSpace(out.w.(*bytes.Buffer).String()), nil
}

// maxOutput is the maximum size of git's output in memory.
const maxOutput = 64 << 20

// runInGroup runs a command in a separate session, so that it has no terminal to ask at and ends
// with every program that it started. It keeps the thread: Linux signals git when the thread that
// started it ends, which must not be before this process.
func runInGroup(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ended := make(chan struct{})
	defer close(ended)
	group := newGroup(cmd)
	cmd.Cancel = func() error {
		group.terminate()
		go func() {
			select {
			case <-ended:
			case <-time.After(endTimeout):
			}
			group.kill() // programs that git started may outlive it
		}()
		return nil
	}
	return cmd.Run()
}

// environment returns the variables of this process, except variables that change git's behavior.
// If the command may know the user, the variables for reaching a repository stay.
func environment(c *command) []string {
	env := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "GIT_") && !(c.user && ofUser(name)) || strings.HasPrefix(name, "LC_") ||
			name == "LANGUAGE"
	})
	env = append(env,
		"LC_ALL=C", // some of the texts are read
		"GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_ALLOW_PROTOCOL="+protocols, "GIT_PAGER=cat", "GIT_EDITOR=false", "GIT_LITERAL_PATHSPECS=1")
	if !c.user {
		env = append(env, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1")
	} else if os.Getenv("GIT_ASKPASS") == "" {
		env = append(env, "GIT_ASKPASS=", "SSH_ASKPASS=") // a window that nobody looks at
	}
	return append(env, c.env...)
}

// ofUser reports whether a variable of git configures how to reach and use repositories.
func ofUser(name string) bool {
	for _, prefix := range []string{"GIT_SSH", "GIT_ASKPASS", "GIT_SSL_", "GIT_HTTP_", "GIT_PROXY_", "GIT_CONFIG_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// A gitError is a command that failed.
type gitError struct {
	command string
	stderr  string
	err     error
}

func (e *gitError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, reason(e.stderr))
}

func (e *gitError) Unwrap() error { return e.err }

// reason returns the error lines in git's output, or all lines, in one line.
func reason(stderr string) string {
	var all, errs []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		all = append(all, line)
		if text, ok := strings.CutPrefix(line, "fatal: "); ok {
			errs = append(errs, text)
		} else if text, ok := strings.CutPrefix(line, "error: "); ok {
			errs = append(errs, text)
		} else if strings.HasPrefix(line, "remote: ") || strings.HasPrefix(line, "ssh: ") {
			errs = append(errs, line)
		}
	}
	if len(errs) == 0 {
		errs = all
	}
	return clip.Marked(strings.Join(errs, "; "), maxReason)
}

// userinfo matches the part before the host of a URL.
var userinfo = regexp.MustCompile(`://[^/@\s]*@`)

// cleaned returns a text without credentials and terminal control characters: a server wrote some
// of it.
func cleaned(text string) string {
	text = userinfo.ReplaceAllString(text, "://")
	return strings.Map(func(r rune) rune {
		if r != '\n' && !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}

// A tail keeps the end of the data written to it, which has git's reason for a failure.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if len(t.text) > 2*maxStderr {
		t.text = append(t.text[:0], t.text[len(t.text)-maxStderr:]...)
	}
	return len(p), nil
}

// A cappedWriter fails when more is written than its limit.
type cappedWriter struct {
	w     io.Writer
	limit int64
	n     int64
	over  bool
	err   error // of w
}

var errOver = errors.New("worktree: over the limit")

func (w *cappedWriter) Write(p []byte) (int, error) {
	if w.n += int64(len(p)); w.n > w.limit {
		w.over = true
		return 0, errOver
	}
	n, err := w.w.Write(p)
	if err != nil {
		w.err = err
	}
	return n, err
}

// exceeded returns the error for a writer that was over its limit, or nil.
func (w *cappedWriter) exceeded(what string) error {
	if !w.over {
		return nil
	}
	return &LimitError{What: what, Limit: w.limit}
}

// A LimitError reports that something is larger than allowed.
type LimitError struct {
	What  string
	Limit int64 // in bytes, or a number of files
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("worktree: %s is over the limit of %d", e.What, e.Limit)
}
