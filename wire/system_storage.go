package wire

// A FilesPersistedMessage says which of the session's files have been stored
// and which could not be.
//
//wire:message system files_persisted
type FilesPersistedMessage struct {
	raw string

	Files       []PersistedFile `json:"files"`
	Failed      []FailedFile    `json:"failed"`
	ProcessedAt string          `json:"processed_at"`
	UUID        string          `json:"uuid"`
	SessionID   string          `json:"session_id" wire:"intern"`
}

// A PersistedFile is a file that was stored, under an id.
type PersistedFile struct {
	raw string

	Filename string `json:"filename"`
	FileID   string `json:"file_id"`
}

// A FailedFile is a file that could not be stored.
type FailedFile struct {
	raw string

	Filename string `json:"filename"`
	Error    string `json:"error"`
}

// A MirrorErrorMessage says that transcript entries could not be copied to the
// session store. The library that drives the agent makes it, not the agent.
//
//wire:message system mirror_error
type MirrorErrorMessage struct {
	raw string

	Error     string     `json:"error"`
	Key       *MirrorKey `json:"key"`
	UUID      string     `json:"uuid"`
	SessionID string     `json:"session_id" wire:"intern"`
}

// A MirrorKey names the transcript in a session store.
type MirrorKey struct {
	raw string

	ProjectKey string `json:"projectKey" wire:"intern"`
	SessionID  string `json:"sessionId" wire:"intern"`
	// Subpath names a transcript below the session's own, such as a subagent's.
	Subpath string `json:"subpath"`
}

// A SessionWritesLostMessage says that the disk was full and part of the
// session was not written. It comes at most once, when the agent exits, and the
// exit code is 0 all the same.
//
//wire:message system session_writes_lost
type SessionWritesLostMessage struct {
	raw string

	ErrorCode WriteErrorCode `json:"error_code" wire:"intern"`
	// Lost names what is incomplete: "transcript", "global_config".
	Lost []string `json:"lost"`
	// TranscriptSessionIDs are the sessions whose transcripts have gaps.
	TranscriptSessionIDs []string `json:"transcript_session_ids"`
	UUID                 string   `json:"uuid"`
	SessionID            string   `json:"session_id" wire:"intern"`
}

// A WriteErrorCode is the system's reason for a failed write.
type WriteErrorCode string

// The reasons: no space left on the disk, or none left to the user.
const (
	WriteErrorNoSpace WriteErrorCode = "ENOSPC"
	WriteErrorQuota   WriteErrorCode = "EDQUOT"
)
