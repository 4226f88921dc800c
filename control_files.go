package clew

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"
)

// ReadFile reads a file on the machine that the agent runs on. A relative path starts from the
// agent's working directory. maxBytes is the most that is read; 0 means 1,000,000, and 10,000,000
// is the limit. The agent refuses files that it may not read and files that do not exist, with the
// same error.
func (s *Session) ReadFile(ctx context.Context, path string, maxBytes int) (*FileContents, error) {
	return call[FileContents](ctx, s, "read_file", readFileRequest{Path: path, MaxBytes: maxBytes, Encoding: "base64"})
}

type readFileRequest struct {
	Path     string `json:"path"`
	MaxBytes int    `json:"max_bytes,omitempty"`
	Encoding string `json:"encoding"`
}

// FileContents is the result of [Session.ReadFile].
type FileContents struct {
	// Path is the absolute path of the file.
	Path string `json:"absPath"`
	// Data is the beginning of the file, or all of it.
	Data []byte `json:"contents"`
	// Truncated is true when the file has more than Data.
	Truncated bool `json:"truncated"`
}

// UnmarshalJSON decodes base64 if the answer is encoded. An older agent sends text.
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

// SeedReadState marks a file as read, so that the agent may edit it. The agent ignores the request
// if it may not read the file or if the file changed after modTime, and does not report which.
func (s *Session) SeedReadState(ctx context.Context, path string, modTime time.Time) error {
	return s.Control(ctx, "seed_read_state", seedReadStateRequest{path, modTime.UnixMilli()}, nil)
}

type seedReadStateRequest struct {
	Path  string `json:"path"`
	MTime int64  `json:"mtime"`
}

// RewindFiles restores the files that the agent changed since the prompt with this UUID. The
// conversation stays as it is: see [Session.RewindConversation]. The agent refuses a prompt that it
// has no checkpoint of; it keeps checkpoints only with [Options.EnableFileCheckpointing].
func (s *Session) RewindFiles(ctx context.Context, uuid string) (*FileRewind, error) {
	return call[FileRewind](ctx, s, "rewind_files", rewindFilesRequest{UserMessageID: uuid})
}

// PreviewRewind returns what [Session.RewindFiles] would do, and changes nothing. A prompt without
// a checkpoint is not an error here: see [FileRewind.CanRewind].
func (s *Session) PreviewRewind(ctx context.Context, uuid string) (*FileRewind, error) {
	return call[FileRewind](ctx, s, "rewind_files", rewindFilesRequest{UserMessageID: uuid, DryRun: true})
}

type rewindFilesRequest struct {
	UserMessageID string `json:"user_message_id"`
	DryRun        bool   `json:"dry_run,omitempty"`
}

// A FileRewind is the outcome of [Session.RewindFiles] or [Session.PreviewRewind].
type FileRewind struct {
	// CanRewind is false when the files can't be restored.
	CanRewind bool `json:"canRewind"`
	// Error explains why the files can't be restored.
	Error string `json:"error"`
	// FilesChanged are the paths of the files that would change. Only a preview has them.
	FilesChanged []string `json:"filesChanged"`
	// Insertions is the number of lines that would be added. Only a preview has it.
	Insertions int `json:"insertions"`
	// Deletions is the number of lines that would be removed. Only a preview has it.
	Deletions int `json:"deletions"`
	// SkippedLinks is the number of symbolic links that were left as they are.
	SkippedLinks int `json:"skippedLinks"`
}

// SetCWD moves the session to another working directory. It can move only between turns. After the
// first turn the agent adds a note to the conversation, so that a result that answers no prompt can
// follow. opts may be nil.
//
// The error is an [*UntrustedError] when the user has to trust the directory first, and a
// [*ControlError] whose Code is busy, not_found, not_a_directory, blocked_by_rule, unsafe_path or a
// newer one when the agent refuses the directory.
func (s *Session) SetCWD(ctx context.Context, path string, opts *CWDOptions) (*CWDChange, error) {
	req := setCWDRequest{Path: path}
	if opts != nil && opts.TrustedDirectory != "" {
		req.TrustAccepted, req.TrustedDirectory = true, opts.TrustedDirectory
	}
	answer, err := call[setCWDAnswer](ctx, s, cwdSubtype, req)
	if err != nil {
		return nil, err
	}
	change, err := answer.change()
	if err == nil {
		s.agent.rememberAlways(cwdSubtype, req)
	}
	return change, err
}

// CWDOptions configure [Session.SetCWD].
type CWDOptions struct {
	// TrustedDirectory is a directory that the user trusts: the Directory of the [UntrustedError].
	// Ask the user first, because settings, hooks and servers of a trusted directory run.
	TrustedDirectory string
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

// change returns the change, or an error for every status except ok.
func (a *setCWDAnswer) change() (*CWDChange, error) {
	switch a.Status {
	case "ok":
		return &a.CWDChange, nil
	case "needs_trust":
		return nil, &UntrustedError{Directory: a.Directory, Root: a.TrustRoot}
	}
	return nil, &ControlError{Subtype: "set_cwd", Message: a.Message, Code: a.Reason}
}

// A CWDChange is the outcome of [Session.SetCWD].
type CWDChange struct {
	// CWD is the working directory of the session now.
	CWD string `json:"cwd"`
	// Changed is false if it was the working directory before.
	Changed bool `json:"changed"`
	// TranscriptRelocated is false if the transcript could not be moved to the project of the new
	// directory.
	TranscriptRelocated bool `json:"transcript_relocated"`
}

// An UntrustedError reports that the user has to trust a directory before a session can move there:
// see [CWDOptions.TrustedDirectory].
type UntrustedError struct {
	// Directory is the directory to be trusted, with symbolic links resolved. It is safe to show.
	Directory string
	// Root is the repository that would be trusted with it, or empty.
	Root string
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("clew: directory %s is not trusted", e.Directory)
}

// RegisterRepoRoot adds a directory to the agent's working directories and returns it with symbolic
// links resolved. The agent refuses a directory that it already has, and a directory that is
// neither below its working directory nor below a directory that it was started with. Nil options
// reload nothing.
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

// RepoRootOptions configure [Session.RegisterRepoRoot].
type RepoRootOptions struct {
	// ReloadClaudeMD reads the CLAUDE.md of the directory.
	ReloadClaudeMD bool `json:"reload_claude_md,omitempty"`
	// ReloadPlugins reads the plugins of the directory.
	ReloadPlugins bool `json:"reload_plugins,omitempty"`
	// ReloadSkills reads the skills of the directory.
	ReloadSkills bool `json:"reload_skills,omitempty"`
}

type repoRootRequest struct {
	Directory string `json:"directory"`
	RepoRootOptions
}

type repoRootAnswer struct {
	Directory string `json:"directory"`
}
