package screens

import (
	"context"
	"time"

	"github.com/clewdev/clew/internal/rawjson"
)

// A Controller sends control requests to an agent. A [clew.Session] is one.
type Controller interface {
	// Control sends a request with the fields of in and decodes the answer into out.
	Control(ctx context.Context, subtype string, in, out any) error
}

// ask sends a control request and returns the answer. A field that does not fit its type is zero.
func ask[T any](ctx context.Context, c Controller, subtype string, in any) (*T, error) {
	answer := new(T)
	if err := c.Control(ctx, subtype, in, &rawjson.Loose{Value: answer}); err != nil {
		return nil, err
	}
	return answer, nil
}

// Status returns the sections of the agent's status screen: version, session, account, model and
// more, as texts for people.
func Status(ctx context.Context, c Controller) ([]StatusSection, error) {
	answer, err := ask[statusAnswer](ctx, c, "get_status", nil)
	if err != nil {
		return nil, err
	}
	return answer.Sections, nil
}

type statusAnswer struct {
	Sections []StatusSection `json:"sections"`
}

// A StatusSection is one part of the status screen.
type StatusSection struct {
	// Title is the heading, such as "Session".
	Title string `json:"title"`
	// Rows are the lines below the heading.
	Rows []StatusRow `json:"rows"`
}

// A StatusRow is one line of the status screen.
type StatusRow struct {
	// Label names the value, such as "cwd". It is empty for a value that is a sentence by itself.
	Label string `json:"label"`
	// Value is the text after the label.
	Value string `json:"value"`
}

// Binary returns the version of the agent binary. [clew.Session.Info] has the version as well,
// without a request.
func Binary(ctx context.Context, c Controller) (*BinaryVersion, error) {
	return ask[BinaryVersion](ctx, c, "get_binary_version", nil)
}

// A BinaryVersion is the version of an agent binary.
type BinaryVersion struct {
	// Version is the version of Claude Code, such as "2.1.325".
	Version string `json:"version"`
	// BuildTime is zero if the agent does not report it.
	BuildTime time.Time `json:"buildTime"`
}

// CostText returns the cost of the session so far as several lines for people. For numbers, see
// [AccountUsage] and the [clew.ResultMessage] of each turn.
func CostText(ctx context.Context, c Controller) (string, error) {
	answer, err := ask[costAnswer](ctx, c, "get_session_cost", nil)
	if err != nil {
		return "", err
	}
	return answer.Text, nil
}

type costAnswer struct {
	Text string `json:"text"`
}

// Plan returns the plan that the agent wrote in plan mode.
func Plan(ctx context.Context, c Controller) (*SessionPlan, error) {
	return ask[SessionPlan](ctx, c, "get_plan", nil)
}

// A SessionPlan is the plan of a session.
type SessionPlan struct {
	// Exists is false as long as there is no plan. The other fields are empty then.
	Exists bool `json:"exists"`
	// Content is the plan in Markdown.
	Content string `json:"content"`
	// Path is the file that holds the plan.
	Path string `json:"path"`
}

// Conversation returns the conversation as plain text for people, as /export writes it.
func Conversation(ctx context.Context, c Controller) (*ConversationText, error) {
	return ask[ConversationText](ctx, c, "export_conversation", nil)
}

// A ConversationText is a conversation as plain text.
type ConversationText struct {
	// Text is the whole conversation.
	Text string `json:"text"`
	// DefaultFilename is a name for a file with the text, made of the time and the first prompt.
	DefaultFilename string `json:"default_filename"`
}

// SuggestFiles returns the files and directories of the project whose path starts with query, the
// best match first, as the agent completes a path after "@".
func SuggestFiles(ctx context.Context, c Controller, query string) (*FileSuggestions, error) {
	return ask[FileSuggestions](ctx, c, "file_suggestions", filesRequest{query})
}

type filesRequest struct {
	Query string `json:"query"`
}

// FileSuggestions are paths that complete what a user has typed.
type FileSuggestions struct {
	// Suggestions are the paths, the best match first.
	Suggestions []FileSuggestion `json:"suggestions"`
	// CWD is the directory that relative paths start from, or empty if the agent does not report
	// it.
	CWD string `json:"cwd"`
}

// A FileSuggestion is one path.
type FileSuggestion struct {
	// Path ends with a separator if it is a directory.
	Path string `json:"path"`
	// Score is the quality of the match, or nil if the agent does not report it.
	Score *float64 `json:"score"`
}

// Skills returns the skills that come from settings and plugins.
func Skills(ctx context.Context, c Controller) ([]Skill, error) {
	answer, err := ask[skillsAnswer](ctx, c, "get_skills_dialog", nil)
	if err != nil {
		return nil, err
	}
	return answer.Skills, nil
}

type skillsAnswer struct {
	Skills []Skill `json:"skills"`
}

// A Skill is one skill that the session could use.
type Skill struct {
	// Name is the name that [clew.Options.Skills] takes.
	Name string `json:"name"`
	// DisplayName is the name for people.
	DisplayName string `json:"display_name"`
	// Description describes the skill.
	Description string `json:"description"`
	// Source is the source of the skill, such as user or project.
	Source string `json:"source"`
	// State is "on", or names the way the skill is turned off.
	State string `json:"state"`
	// Advertised is true if the description of the skill is part of the model's context.
	Advertised bool `json:"advertised"`
	// Tokens is the size of the description in the context.
	Tokens int `json:"tokens"`
}

// MemoryFiles returns the instructions and memories that the session can have.
func MemoryFiles(ctx context.Context, c Controller) (*MemoryReport, error) {
	return ask[MemoryReport](ctx, c, "get_memory_dialog", nil)
}

// A MemoryReport lists what an agent remembers, and in which files.
type MemoryReport struct {
	// Files are instructions such as CLAUDE.md, including files that do not exist yet.
	Files []MemoryFile `json:"files"`
	// Folders are the directories that hold memories.
	Folders []MemoryFile `json:"folders"`
	// Memories are the files in these directories.
	Memories []MemoryFile `json:"memories"`
	// AutoMemory reports whether the agent takes notes by itself.
	AutoMemory MemorySwitch `json:"auto_memory"`
	// AutoDream reports whether the agent tidies these notes up.
	AutoDream MemorySwitch `json:"auto_dream"`
}

// A MemoryFile is a file or a directory of memories.
type MemoryFile struct {
	// Kind is user, project, auto, other, or a newer one.
	Kind string `json:"kind"`
	// Path is the absolute path.
	Path string `json:"path"`
	// Label is the name for people.
	Label string `json:"label"`
	// Description is a sentence for people.
	Description string `json:"description"`
	// Exists is false for a file that the user could create. The agent does not report it for
	// directories.
	Exists bool `json:"exists"`
}

// A MemorySwitch specifies whether a part of the memory is on.
type MemorySwitch struct {
	// Enabled is true if the part is on.
	Enabled bool `json:"enabled"`
	// Toggleable is true if the user can change it.
	Toggleable bool `json:"toggleable"`
	// Shown is true if the agent's screen shows the switch.
	Shown bool `json:"shown"`
	// Status is the state for people, such as "on".
	Status string `json:"status"`
	// Detail explains the status to people, or is empty.
	Detail string `json:"detail"`
}

// Chrome returns whether the agent can use a Chrome browser.
func Chrome(ctx context.Context, c Controller) (*ChromeStatus, error) {
	return ask[ChromeStatus](ctx, c, "get_chrome_dialog", nil)
}

// A ChromeStatus is the state of Claude in Chrome.
type ChromeStatus struct {
	// Allowed reports whether the account and its organization may use it.
	Allowed bool `json:"allowed"`
	// Subscriber reports whether the account pays for it.
	Subscriber bool `json:"subscriber"`
	// Installed reports whether the browser has the extension.
	Installed bool `json:"installed"`
	// Connected reports whether the session can use the browser now.
	Connected bool `json:"connected"`
	// EnabledByDefault is the setting for new sessions.
	EnabledByDefault bool `json:"enabled_by_default"`
	// AtStartup reports whether this session was started with it.
	AtStartup bool `json:"at_startup"`
	// WSL reports whether the agent runs in the Windows Subsystem for Linux.
	WSL bool `json:"wsl"`
	// URLs are pages for the user, by purpose, such as "install".
	URLs map[string]string `json:"urls"`
}

// WorkspaceDiff returns the changes in the repository of the working directory since its last
// commit.
func WorkspaceDiff(ctx context.Context, c Controller) (*Diff, error) {
	answer, err := ask[diffAnswer](ctx, c, "get_workspace_diff", nil)
	if err != nil {
		return nil, err
	}
	answer.Diff.NoDiffReason = answer.NoDiffReason
	return &answer.Diff, nil
}

type diffAnswer struct {
	Diff         Diff   `json:"diff"`
	NoDiffReason string `json:"noDiffReason"`
}

// A Diff lists the changes in a working directory.
type Diff struct {
	// NoDiffReason is the reason for a missing diff, such as "no-repository". The other fields are
	// zero then.
	NoDiffReason string `json:"-"`
	// Stats are the sums over all files.
	Stats DiffStats `json:"stats"`
	// Files are the changed files.
	Files []ChangedFile `json:"perFileStats"`
	// Hunks are the changes, by file.
	Hunks []FileHunks `json:"hunks"`
	// SkippedLarge are files that are too large for their hunks to be included.
	SkippedLarge []string `json:"skippedLarge"`
	// Restricted are files that the agent may not read. Their hunks are not included.
	Restricted []string `json:"restricted"`
	// Omitted counts the changed files that are not listed at all.
	Omitted struct {
		// Files is the number of files, or a lower bound unless Exact.
		Files int `json:"files"`
		// Exact is true if Files is the exact number.
		Exact bool `json:"exact"`
	} `json:"omitted"`
	// Source names the two sides of the diff.
	Source struct {
		// Kind is working-tree or a newer one.
		Kind string `json:"kind"`
	} `json:"source"`
}

// DiffStats are the sums of a diff.
type DiffStats struct {
	// Files is the number of changed files.
	Files int `json:"filesCount"`
	// LinesAdded is the number of new lines.
	LinesAdded int `json:"linesAdded"`
	// LinesRemoved is the number of removed lines.
	LinesRemoved int `json:"linesRemoved"`
}

// A ChangedFile is a file that changed.
type ChangedFile struct {
	// Path is relative to the repository.
	Path string `json:"path"`
	// Added is the number of new lines.
	Added int `json:"added"`
	// Removed is the number of removed lines.
	Removed int `json:"removed"`
	// Binary is true for a file without lines.
	Binary bool `json:"isBinary"`
	// Untracked is true for a file that git does not track.
	Untracked bool `json:"isUntracked"`
	// Status is the kind of change, such as "modified".
	Status string `json:"status"`
}

// FileHunks are the changes in one file.
type FileHunks struct {
	// Path is relative to the repository.
	Path string `json:"path"`
	// Hunks are the changes, in the order of the file.
	Hunks []DiffHunk `json:"hunks"`
}

// A DiffHunk is one change of consecutive lines, with the lines around it.
type DiffHunk struct {
	// OldStart is the number of the first line in the old file.
	OldStart int `json:"oldStart"`
	// OldLines is the number of lines in the old file.
	OldLines int `json:"oldLines"`
	// NewStart is the number of the first line in the new file.
	NewStart int `json:"newStart"`
	// NewLines is the number of lines in the new file.
	NewLines int `json:"newLines"`
	// Lines are the lines. Each starts with a space, "+" or "-".
	Lines []string `json:"lines"`
}
