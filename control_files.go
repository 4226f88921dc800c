package clew

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// ReadFile reads a file of the machine that the agent runs on. A relative path counts from the agent's working folder.
// maxBytes limits what is read; 0 means 1,000,000, and 10,000,000 is the most. The agent refuses files that it may not
// read or that are not there, and does not say which of the two.
func (s *Session) ReadFile(ctx context.Context, path string, maxBytes int) (*FileContents, error) {
	return call[FileContents](ctx, s, "read_file", readFileRequest{Path: path, MaxBytes: maxBytes, Encoding: "base64"})
}

type readFileRequest struct {
	Path     string `json:"path"`
	MaxBytes int    `json:"max_bytes,omitempty"`
	Encoding string `json:"encoding"`
}

// FileContents is what [Session.ReadFile] has read.
type FileContents struct {
	// Path is the absolute path of the file.
	Path string `json:"absPath"`
	Data []byte `json:"contents"`
	// Truncated is true when there is more in the file.
	Truncated bool `json:"truncated"`
}

// UnmarshalJSON reads the contents as base64 where the answer says so. An older agent sends text.
func (f *FileContents) UnmarshalJSON(data []byte) error {
	type plain FileContents
	in := struct {
		*plain
		Contents string `json:"contents"`
		Encoding string `json:"encoding"`
	}{plain: (*plain)(f)}
	err := json.Unmarshal(data, &in)
	if err != nil {
		return err
	}
	f.Data = []byte(in.Contents)
	if in.Encoding == "base64" {
		f.Data, err = base64.StdEncoding.DecodeString(in.Contents)
	}
	return err
}

// SeedReadState has the agent count a file as read, so that it may edit it. The agent does so only if it may read the
// file and if the file has not changed after modTime; it never says whether it did.
func (s *Session) SeedReadState(ctx context.Context, path string, modTime time.Time) error {
	return s.Control(ctx, "seed_read_state", seedReadStateRequest{path, modTime.UnixMilli()}, nil)
}

type seedReadStateRequest struct {
	Path  string `json:"path"`
	MTime int64  `json:"mtime"`
}

// RewindFiles brings the files that the agent has changed since a prompt back to what they were, where uuid is that of
// the prompt. The conversation stays as it is. The agent refuses a prompt that it has no record of; it keeps records
// with [Options.EnableFileCheckpointing] only.
func (s *Session) RewindFiles(ctx context.Context, uuid string) (*FileRewind, error) {
	return call[FileRewind](ctx, s, "rewind_files", rewindFilesRequest{UserMessageID: uuid})
}

// PreviewRewind returns what [Session.RewindFiles] would do, and changes nothing. Files that can't be rewound are not
// an error: see [FileRewind.CanRewind].
func (s *Session) PreviewRewind(ctx context.Context, uuid string) (*FileRewind, error) {
	return call[FileRewind](ctx, s, "rewind_files", rewindFilesRequest{UserMessageID: uuid, DryRun: true})
}

type rewindFilesRequest struct {
	UserMessageID string `json:"user_message_id"`
	DryRun        bool   `json:"dry_run,omitempty"`
}

// A FileRewind is what a rewind of files does.
type FileRewind struct {
	// CanRewind is false when the files can't be rewound, and Error says why.
	CanRewind bool   `json:"canRewind"`
	Error     string `json:"error"`
	// FilesChanged, Insertions and Deletions are what would change, in a preview only.
	FilesChanged []string `json:"filesChanged"`
	Insertions   int      `json:"insertions"`
	Deletions    int      `json:"deletions"`
	// SkippedLinks are links that were left as they are.
	SkippedLinks int `json:"skippedLinks"`
}

// FileSuggestions returns files and folders of the project for a beginning of their path, the best first.
func (s *Session) FileSuggestions(ctx context.Context, query string) (*FileSuggestions, error) {
	return call[FileSuggestions](ctx, s, "file_suggestions", fileSuggestionsRequest{query})
}

type fileSuggestionsRequest struct {
	Query string `json:"query"`
}

// FileSuggestions are paths that complete what somebody has typed.
type FileSuggestions struct {
	Suggestions []FileSuggestion `json:"suggestions"`
	// CWD is the folder that relative paths count from, or empty if the agent does not say.
	CWD string `json:"cwd"`
}

// A FileSuggestion is one path.
type FileSuggestion struct {
	// Path ends with a separator if it is a folder.
	Path string `json:"path"`
	// Score is how well the path fits, or nil if the agent does not say.
	Score *float64 `json:"score"`
}

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
