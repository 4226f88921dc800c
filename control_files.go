package clew

import (
	"context"
	"encoding/base64"
	"encoding/json"
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
