package clew

import (
	"context"
	"fmt"
)

// SetCWD moves the session to another working folder. It moves only between turns, and after the first one the agent
// notes the move in the conversation: a result that answers no prompt can follow.
//
// The error is an [*UntrustedError] when somebody has to trust the folder first, and a [*ControlError] whose Code is
// busy, not_found, not_a_directory, blocked_by_rule, unsafe_path or a newer one when the folder is refused.
func (s *Session) SetCWD(ctx context.Context, path string) (*CWDChange, error) {
	return s.setCWD(ctx, setCWDRequest{Path: path})
}

// SetTrustedCWD does what [Session.SetCWD] does, and tells the agent that its user trusts the folder. Ask the user:
// settings, hooks and servers of a trusted folder run. trusted must be the Directory of the [UntrustedError].
func (s *Session) SetTrustedCWD(ctx context.Context, path, trusted string) (*CWDChange, error) {
	return s.setCWD(ctx, setCWDRequest{Path: path, TrustAccepted: true, TrustedDirectory: trusted})
}

func (s *Session) setCWD(ctx context.Context, req setCWDRequest) (*CWDChange, error) {
	answer, err := call[setCWDAnswer](ctx, s, cwdSubtype, req)
	if err != nil {
		return nil, err
	}
	change, err := answer.change()
	if err == nil {
		s.rememberThat(cwdSubtype, req)
	}
	return change, err
}

type setCWDRequest struct {
	Path             string `json:"path"`
	TrustAccepted    bool   `json:"trust_accepted,omitempty"`
	TrustedDirectory string `json:"trusted_directory,omitempty"`
}

type setCWDAnswer struct {
	// Status is ok, needs_trust or rejected.
	Status string `json:"status"`
	CWDChange
	Directory string `json:"directory"`
	TrustRoot string `json:"trust_root"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
}

// change returns what the answer says, with everything but ok as an error.
func (a *setCWDAnswer) change() (*CWDChange, error) {
	switch a.Status {
	case "ok":
		return &a.CWDChange, nil
	case "needs_trust":
		return nil, &UntrustedError{Directory: a.Directory, Root: a.TrustRoot}
	}
	return nil, &ControlError{Subtype: "set_cwd", Message: a.Message, Code: a.Reason}
}

// A CWDChange is where a session works now.
type CWDChange struct {
	CWD string `json:"cwd"`
	// Changed is false if the session was there before.
	Changed bool `json:"changed"`
	// TranscriptRelocated is false if the transcript could not be moved to the project of the new folder.
	TranscriptRelocated bool `json:"transcript_relocated"`
}

// An UntrustedError says that the agent's user has to trust a folder before a session can move there.
type UntrustedError struct {
	// Directory is the folder to be trusted, with links followed. It is safe to show.
	Directory string
	// Root is the repository that is trusted along with it, as a whole, or empty.
	Root string
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("clew: the folder %s is not trusted", e.Directory)
}

// RegisterRepoRoot adds a folder to those that the agent works in, and returns it with links followed. The agent
// refuses one that it has already, and one that lies neither below its working folder nor below a folder that it was
// started with. Nil options reload nothing.
func (s *Session) RegisterRepoRoot(ctx context.Context, dir string, opts *RepoRootOptions) (string, error) {
	req := repoRootRequest{Directory: dir}
	if opts != nil {
		req.RepoRootOptions = *opts
	}
	answer, err := call[repoRootAnswer](ctx, s, "register_repo_root", req)
	if err != nil {
		return "", err
	}
	return answer.Directory, nil
}

// RepoRootOptions say what the agent reads from a folder that is added.
type RepoRootOptions struct {
	ReloadClaudeMD bool `json:"reload_claude_md,omitempty"`
	ReloadPlugins  bool `json:"reload_plugins,omitempty"`
	ReloadSkills   bool `json:"reload_skills,omitempty"`
}

type repoRootRequest struct {
	Directory string `json:"directory"`
	RepoRootOptions
}

type repoRootAnswer struct {
	Directory string `json:"directory"`
}
