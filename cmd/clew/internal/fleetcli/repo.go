package fleetcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/gitaddress"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
)

// repository returns the repository of the job, or nil if it has none.
func (o *submitOptions) repository(ctx context.Context) (*fleet.Repo, error) {
	repo := o.repo
	if err := clikit.AtMostOne([]clikit.GivenFlag{{Name: "here", On: o.here}, {Name: "repo", On: repo.URL != ""}}); err != nil {
		return nil, err
	}
	if o.here {
		repo.URL = "."
	}
	_, _, isRemote := gitaddress.Split(repo.URL)
	switch {
	case repo.URL == "" && (repo.Ref != "" || repo.Branch != ""):
		return nil, clikit.UsageError("--ref and --branch need --repo or --here", "")
	case repo.URL == "":
		return nil, nil //nolint:nilnil // the agent works in an empty directory
	case isRemote:
		return &repo, checkURL(repo.URL)
	}
	return &repo, o.localRepository(ctx, &repo)
}

// checkURL refuses a URL with credentials: everybody who sees the job would see them.
func checkURL(address string) error {
	if !gitaddress.HasCredentials(address) {
		return nil
	}
	return clikit.UsageError("the URL of --repo has a user or a password, which all who see the job could read",
		"Leave it out, and let git on the worker know it, by a credential helper or a key.")
}

// localRepository completes the path of a repository of this machine.
func (o *submitOptions) localRepository(ctx context.Context, repo *fleet.Repo) error {
	given := repo.URL
	top, err := git(ctx, given, "rev-parse", "--show-toplevel")
	if err != nil {
		return clikit.UsageError(fmt.Sprintf("%s is not a git repository: %s", clikit.Printable(given), clikit.Printable(err.Error())), "")
	}
	if repo.URL, err = filepath.Abs(filepath.FromSlash(top)); err != nil {
		return err
	}
	if repo.Ref == "" {
		if repo.Ref, err = git(ctx, given, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
			return clikit.UsageError(clikit.Printable(given)+" has no commit yet", "Commit what the agent should see.")
		}
	}
	changes, err := git(ctx, given, "status", "--porcelain")
	if err == nil && changes != "" {
		n := strings.Count(changes, "\n") + 1
		clikit.Remark(o.Err, tty.Waiting, "clew submit",
			fmt.Sprintf("the agent does not see uncommitted changes: %s in %s", wording.Count(n, "file"), clikit.Printable(repo.URL)))
	}
	if o.isRemote() {
		clikit.Remark(o.Err, tty.Waiting, "clew submit",
			"the repository is a path: a worker on another machine needs it at the same place, and a policy that allows it")
	}
	return nil
}

const gitTimeout = time.Minute

// git returns the output of git in a directory.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	out, err := gitWith(ctx, nil, dir, args...)
	return strings.TrimSpace(out), err
}

// gitWith returns all of the output of git, which reads an input.
func gitWith(ctx context.Context, input io.Reader, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	cmd.Stdin, cmd.WaitDelay = input, 30*time.Second
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		first, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
		err = errors.New(strings.TrimPrefix(first, "fatal: "))
	}
	return string(out), err
}
