package clew

import "context"

// RewindConversation takes a prompt, by its UUID, and all that came after it out of the conversation. Files stay as
// they are: see [Session.RewindFiles].
func (s *Session) RewindConversation(ctx context.Context, promptUUID string) (*ConversationRewind, error) {
	req := rewindConversationRequest{promptUUID}
	rewind, err := call[ConversationRewind](ctx, s, rewindSubtype, req)
	if err == nil && rewind.Rewound {
		s.rememberThat(rewindSubtype, req)
	}
	return rewind, err
}

type rewindConversationRequest struct {
	TargetMessageUUID string `json:"target_message_uuid"`
}

// A ConversationRewind says what became of a conversation.
type ConversationRewind struct {
	// Rewound is false if nothing has changed. Error says why, and Reason is a word for it, such as target_not_found.
	Rewound bool   `json:"rewound"`
	Error   string `json:"error"`
	Reason  string `json:"reason"`
	// Prompt is the text of the prompt that was taken out, to be edited and sent again.
	Prompt string `json:"prefillText"`
	// PrecedingAssistantUUID is the message that is the last one now, or empty if none is left.
	PrecedingAssistantUUID string `json:"precedingAssistantUuid"`
}

// WorkspaceDiff returns what has changed in the repository of the working folder since its last commit.
func (s *Session) WorkspaceDiff(ctx context.Context) (*WorkspaceDiff, error) {
	answer, err := call[workspaceDiffAnswer](ctx, s, "get_workspace_diff", nil)
	if err != nil {
		return nil, err
	}
	answer.Diff.NoDiffReason = answer.NoDiffReason
	return &answer.Diff, nil
}

type workspaceDiffAnswer struct {
	Diff         WorkspaceDiff `json:"diff"`
	NoDiffReason string        `json:"noDiffReason"`
}

// A WorkspaceDiff is what has changed in a working folder.
type WorkspaceDiff struct {
	// NoDiffReason says why there is nothing, such as no-repository. The rest is zero then.
	NoDiffReason string        `json:"-"`
	Stats        DiffStats     `json:"stats"`
	Files        []ChangedFile `json:"perFileStats"`
	Hunks        []FileHunks   `json:"hunks"`
	// SkippedLarge and Restricted are files whose hunks are left out, Omitted those that are not listed at all.
	SkippedLarge []string     `json:"skippedLarge"`
	Restricted   []string     `json:"restricted"`
	Omitted      OmittedFiles `json:"omitted"`
	Source       DiffSource   `json:"source"`
}

// DiffStats are the sums of a diff.
type DiffStats struct {
	Files        int `json:"filesCount"`
	LinesAdded   int `json:"linesAdded"`
	LinesRemoved int `json:"linesRemoved"`
}

// A ChangedFile is a file that has changed.
type ChangedFile struct {
	Path      string `json:"path"`
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
	Binary    bool   `json:"isBinary"`
	Untracked bool   `json:"isUntracked"`
	// Status is modified, or what else became of the file.
	Status string `json:"status"`
}

// FileHunks are the changes of a file.
type FileHunks struct {
	Path  string     `json:"path"`
	Hunks []DiffHunk `json:"hunks"`
}

// A DiffHunk is a change of lines that follow each other. Each of Lines begins with a space, "+" or "-".
type DiffHunk struct {
	OldStart int      `json:"oldStart"`
	OldLines int      `json:"oldLines"`
	NewStart int      `json:"newStart"`
	NewLines int      `json:"newLines"`
	Lines    []string `json:"lines"`
}

// OmittedFiles is how many files a diff does not list: at least, unless Exact.
type OmittedFiles struct {
	Files int  `json:"files"`
	Exact bool `json:"exact"`
}

// A DiffSource says what a diff compares: its Kind is working-tree or a newer one.
type DiffSource struct {
	Kind string `json:"kind"`
}
