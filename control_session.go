package clew

import (
	"cmp"
	"context"
)

// Rename gives the session a title, as if its user did. The agent refuses an empty one.
func (s *Session) Rename(ctx context.Context, title string) error {
	return s.RenameWith(ctx, title, nil)
}

// RenameWith gives the session a title, with options; nil means those of [Session.Rename].
func (s *Session) RenameWith(ctx context.Context, title string, opts *RenameOptions) error {
	req := renameRequest{Title: title}
	if opts != nil {
		req.RenameOptions = *opts
	}
	req.Source = cmp.Or(req.Source, RenamedByHost)
	return s.Control(ctx, "rename_session", req, nil)
}

type renameRequest struct {
	Title string `json:"title"`
	RenameOptions
}

// RenameOptions say who renames which session.
type RenameOptions struct {
	// Source is who chose the title. Empty means [RenamedByHost].
	Source RenameSource `json:"source,omitempty"`
	// SessionID has the agent refuse unless it is the ID of the session as it is now. Empty means no such check.
	SessionID string `json:"session_id,omitempty"`
}

// A RenameSource is where a title was chosen.
type RenameSource string

// The sources that the agent knows.
const (
	RenamedByHost   RenameSource = "host"
	RenamedRemotely RenameSource = "remote"
)

// GenerateTitle has the model make a title of a description, such as the first prompt, and gives it to the session. A
// session that has a title keeps it. It returns the title, or nothing if the model has found none.
func (s *Session) GenerateTitle(ctx context.Context, description string) (string, error) {
	return s.generateTitle(ctx, titleRequest{description, true})
}

// SuggestTitle has the model make a title of a description, such as the first prompt. The session stays as it is. It
// returns nothing if the model has found none.
func (s *Session) SuggestTitle(ctx context.Context, description string) (string, error) {
	return s.generateTitle(ctx, titleRequest{description, false})
}

func (s *Session) generateTitle(ctx context.Context, req titleRequest) (string, error) {
	answer, err := call[titleAnswer](ctx, s, "generate_session_title", req)
	if err != nil {
		return "", err
	}
	return answer.Title, nil
}

type titleRequest struct {
	Description string `json:"description"`
	Persist     bool   `json:"persist"`
}

type titleAnswer struct {
	Title string `json:"title"`
}

// SetColor sets the colour of the session, such as "red", or "default". Claude Code 2.1.325 does not support it in a
// session that a program drives: see [ControlError.Unsupported].
func (s *Session) SetColor(ctx context.Context, color string) error {
	return s.Control(ctx, "set_color", setColorRequest{color}, nil)
}

type setColorRequest struct {
	Color string `json:"color"`
}

// SetHasSubscribers tells the agent whether anybody watches the messages. It matters only to an agent that was started
// with the variables CLAUDE_CODE_STREAM_EVENT_HOLD_MS and CLAUDE_CODE_STREAM_EVENT_NO_SUBSCRIBER_HOLD_MS: while nobody
// watches, it joins partial messages for longer.
func (s *Session) SetHasSubscribers(ctx context.Context, watched bool) error {
	return s.Control(ctx, "set_has_subscribers", setHasSubscribersRequest{&watched}, nil)
}

// ResetHasSubscribers takes back what [Session.SetHasSubscribers] has said: it is not known whether anybody watches.
func (s *Session) ResetHasSubscribers(ctx context.Context) error {
	return s.Control(ctx, "set_has_subscribers", setHasSubscribersRequest{}, nil)
}

type setHasSubscribersRequest struct {
	HasSubscribers *bool `json:"has_subscribers"`
}

// PausePromptSuggestions has the agent make no suggestions for the next prompt, or go on with them: see
// [Options.PromptSuggestions].
func (s *Session) PausePromptSuggestions(ctx context.Context, paused bool) error {
	return s.Control(ctx, "set_prompt_suggestions_paused", pauseSuggestionsRequest{paused}, nil)
}

type pauseSuggestionsRequest struct {
	Paused bool `json:"paused"`
}

// SideQuestion asks the model something about the conversation without making it a part of it: no tools, no turn, also
// while one is running. It waits for the answer. earlier are side questions that this one follows up, in their order.
func (s *Session) SideQuestion(ctx context.Context, question string, earlier ...SideExchange) (*SideAnswer, error) {
	return call[SideAnswer](ctx, s, "side_question", sideQuestionRequest{question, earlier})
}

type sideQuestionRequest struct {
	Question string         `json:"question"`
	History  []SideExchange `json:"history,omitempty"`
}

// A SideExchange is a side question and its answer.
type SideExchange struct {
	Question string `json:"question"`
	Response string `json:"response"`
}

// A SideAnswer is the answer to a side question.
type SideAnswer struct {
	// Response is empty if there was none.
	Response string `json:"response"`
	// Synthetic is true for a text of the agent, such as an error, in place of one of the model.
	Synthetic bool `json:"synthetic"`
	// RefusalFallback is nil unless another model answered because the first one refused to.
	RefusalFallback *SideFallback `json:"refusal_fallback"`
}

// A SideFallback says which model answered in place of which.
type SideFallback struct {
	OriginalModel string `json:"original_model"`
	FallbackModel string `json:"fallback_model"`
	// Content is a notice for people.
	Content string `json:"content"`
}

// Plan returns the plan that the agent has written in plan mode.
func (s *Session) Plan(ctx context.Context) (*SessionPlan, error) {
	return call[SessionPlan](ctx, s, "get_plan", nil)
}

// A SessionPlan is the plan of a session.
type SessionPlan struct {
	// Exists is false as long as there is no plan. The rest is empty then.
	Exists bool `json:"exists"`
	// Content is Markdown, and Path its file.
	Content string `json:"content"`
	Path    string `json:"path"`
}

// ExportConversation returns the conversation as plain text for people.
func (s *Session) ExportConversation(ctx context.Context) (*ConversationExport, error) {
	return call[ConversationExport](ctx, s, "export_conversation", nil)
}

// A ConversationExport is a conversation as plain text.
type ConversationExport struct {
	Text string `json:"text"`
	// DefaultFilename is a name for a file of it, made of time and first prompt.
	DefaultFilename string `json:"default_filename"`
}

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
