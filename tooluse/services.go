package tooluse

import "github.com/clewdev/clew/wire"

// A ListMCPResourcesInput asks which resources MCP servers have.
type ListMCPResourcesInput struct {
	// Server is the name of the server to ask. Empty means all of them.
	Server string `json:"server"`
}

// A ReadMCPResourceInput reads a resource of an MCP server.
type ReadMCPResourceInput struct {
	// Server is the name of the server.
	Server string `json:"server"`
	// URI is the address of the resource.
	URI string `json:"uri"`
}

// A ReadMCPResourceDirInput lists the resources in a directory of an MCP server.
type ReadMCPResourceDirInput struct {
	// Server is the name of the server.
	Server string `json:"server"`
	// URI is the address of the directory.
	URI string `json:"uri"`
}

// A RefreshMCPToolsInput asks MCP servers for their tools again.
type RefreshMCPToolsInput struct {
	// Server is the name of the server to ask. Empty means all that are connected.
	Server string `json:"server"`
}

// An EnterPlanModeInput starts plan mode. It has no members.
type EnterPlanModeInput struct{}

// An EnterWorktreeInput moves the session to a worktree of Git. At most one of its fields is set.
type EnterWorktreeInput struct {
	// Name is the name of a new worktree. Empty lets the agent choose one.
	Name string `json:"name"`
	// Path is the path of a worktree that exists, or "".
	Path string `json:"path"`
}

// An ExitWorktreeInput leaves a worktree.
type ExitWorktreeInput struct {
	// Action is keep or remove.
	Action string `json:"action"`
	// DiscardChanges allows removing a worktree with changes that are nowhere else.
	DiscardChanges bool `json:"discard_changes"`
}

// A CronCreateInput schedules a prompt.
type CronCreateInput struct {
	// Cron is the schedule of the prompt: minute, hour, day, month and weekday, in local time.
	Cron string `json:"cron"`
	// Prompt is the prompt to send.
	Prompt string `json:"prompt"`
	// Recurring is false for a prompt that is sent once. Nil means true.
	Recurring *bool `json:"recurring"`
	// Durable keeps the schedule in a file, so that it outlives the session.
	Durable bool `json:"durable"`
}

// A CronDeleteInput removes a scheduled prompt.
type CronDeleteInput struct {
	// ID is the ID of the job, from the result of CronCreate.
	ID string `json:"id"`
}

// A CronListInput lists the scheduled prompts. It has no members.
type CronListInput struct{}

// A ScheduleWakeupInput decides when a loop continues.
type ScheduleWakeupInput struct {
	// DelaySeconds is the delay, from 60 to 3,600 seconds.
	DelaySeconds float64 `json:"delaySeconds"`
	// Reason explains why, for people.
	Reason string `json:"reason"`
	// Prompt is the prompt to send then.
	Prompt string `json:"prompt"`
	// Stop ends the loop instead.
	Stop bool `json:"stop"`
	// Noop reports whether nothing changed since the last time. It is nil if the model did not say.
	Noop *bool `json:"noop"`
}

// A RemoteTriggerInput works with triggers that start sessions in the cloud.
type RemoteTriggerInput struct {
	// Action is list, get, create, update, run, create_webhook_trigger, list_runs or get_run_log.
	Action string `json:"action"`
	// TriggerID is the trigger, for the actions that are about one.
	TriggerID string `json:"trigger_id"`
	// SessionID is the run, for get_run_log.
	SessionID string `json:"session_id"`
	// Cursor is the start of the next page of a list, or "".
	Cursor string `json:"cursor"`
	// Body is the content of the request, an object, or "".
	Body wire.JSON `json:"body"`
}

// A PushNotificationInput notifies the user.
type PushNotificationInput struct {
	// Message is the text.
	Message string `json:"message"`
	// Status is proactive, or "".
	Status string `json:"status"`
}

// A ReadNotificationsInput reads the notifications that wait. It has no members.
type ReadNotificationsInput struct{}

// A ReportFindingsInput reports what a review found.
type ReportFindingsInput struct {
	// Level is the effort of the review, such as "high", or "".
	Level string `json:"level"`
	// Findings are the defects, the worst first.
	Findings []Finding `json:"findings"`
}

// A Finding is a defect that a review found.
type Finding struct {
	// File is the path of the file in the repository.
	File string `json:"file"`
	// Line is the line in the file, from 1, or 0 if there is none.
	Line int `json:"line"`
	// Summary says in a sentence what is wrong, and ShortSummary in a few words.
	Summary      string `json:"summary"`
	ShortSummary string `json:"short_summary"`
	// FailureScenario describes the failure and the input that causes it.
	FailureScenario string `json:"failure_scenario"`
	// Category is the kind of the finding, such as "correctness", or "".
	Category string `json:"category"`
	// Verdict is CONFIRMED or PLAUSIBLE, or "" if the finding was not verified.
	Verdict string `json:"verdict"`
	// Outcome is fixed, skipped or no_change_needed, or "" before the finding was dealt with.
	Outcome string `json:"outcome"`
}

// A SendFeedbackInput sends feedback about the agent to its makers.
type SendFeedbackInput struct {
	// Type is bug, idea or missing_capability.
	Type string `json:"type"`
	// Title is the feedback in one line, and Details is all of it.
	Title   string `json:"title"`
	Details string `json:"details"`
	// Area is the part of the agent, FailureMode how the model behaved, and TaskCategory what it
	// was doing. Each may be "".
	Area         string `json:"area"`
	FailureMode  string `json:"failure_mode"`
	TaskCategory string `json:"task_category"`
}

// An ArtifactInput publishes a page, or works with pages that were published.
type ArtifactInput struct {
	// Action is a word such as list, read, watch, upload_asset or pin. Empty means publish.
	Action string `json:"action"`
	// FilePath is the page to publish, or the file of another action.
	FilePath string `json:"file_path"`
	// FilePaths are the files of an upload of several.
	FilePaths []string `json:"file_paths"`
	// URL is the page that is updated or read, or "" for a new one.
	URL string `json:"url"`
	// Title, Description, Label and Icon are shown in the list of pages.
	Title       string `json:"title"`
	Description string `json:"description"`
	Label       string `json:"label"`
	Icon        string `json:"icon"`
	// Limit, PageToken and Scope select a part of a list. Scope is mine, shared or all.
	Limit     int    `json:"limit"`
	PageToken string `json:"page_token"`
	Scope     string `json:"scope"`
	// Prompt is the question about a page that is read.
	Prompt string `json:"prompt"`
	// Force replaces a newer version of the page.
	Force bool `json:"force"`
	// Pin keeps the page in the user's sidebar.
	Pin bool `json:"pin"`
	// OutDir is the directory in which an asset is saved, and AssetID names the asset. After is the
	// position from which a list continues.
	OutDir  string `json:"out_dir"`
	AssetID string `json:"asset_id"`
	After   string `json:"after"`
	// Capabilities and Contract describe the rights of the page, as JSON.
	Capabilities wire.JSON `json:"capabilities"`
	Contract     wire.JSON `json:"contract"`
}

// An ArtifactResult is the outcome of publishing a page. The results of other actions have other
// members, of which this type has none.
type ArtifactResult struct {
	// URL is the address of the page, and Path the file that was published.
	URL  string `json:"url"`
	Path string `json:"path"`
	// ArtifactID is the ID of the page, and Version the ID of the published version.
	ArtifactID string `json:"artifact_id"`
	Version    string `json:"version"`
	// Title is the title of the page.
	Title string `json:"title"`
	// Updated reports whether the page existed, and Unchanged whether it had this content already.
	Updated   bool `json:"updated"`
	Unchanged bool `json:"unchanged"`
	// Audience is the group of people who can read the page, such as "owner".
	Audience string `json:"audience"`
	// FolderAudience is "others" if more people can read the folder of a page whose Audience is its
	// owner, "unknown" if the agent can't tell, and else empty. It is empty up to Claude Code
	// 2.1.325.
	FolderAudience string `json:"folder_audience"`
	// Warnings are remarks for people.
	Warnings []string `json:"warnings"`
}

// A ProjectsInput works with the documents of a project in the cloud.
type ProjectsInput struct {
	// Method is project_info, project_read, project_search, project_write, project_delete,
	// project_memory_list or project_memory_read.
	Method string `json:"method"`
	// Path is the path of the document.
	Path string `json:"path"`
	// Content is the text to write, or LocalPath the file that has it.
	Content   string `json:"content"`
	LocalPath string `json:"local_path"`
	// PresentToUser reports whether the user asked for the document.
	PresentToUser bool `json:"present_to_user"`
	// Query is the search text, and N the number of hits to return. 0 means the agent's default.
	Query string `json:"query"`
	N     int    `json:"n"`
}

// A ClaudeDesignInput calls an operation of Claude Design.
type ClaudeDesignInput struct {
	// Operation is the name of the operation.
	Operation string `json:"operation"`
	// Arguments are its input, an object.
	Arguments wire.JSON `json:"arguments"`
}

// A ProposeSkillsInput proposes skills to the user.
type ProposeSkillsInput struct {
	// Proposals are one to three of them.
	Proposals []SkillProposal `json:"proposals"`
}

// A SkillProposal is a new skill, or the change of one.
type SkillProposal struct {
	// Name is the name of the skill.
	Name string `json:"name"`
	// Kind is new or improvement.
	Kind string `json:"kind"`
	// Target is the skill that is improved, or "".
	Target string `json:"target"`
	// Description describes when to use the skill.
	Description string `json:"description"`
	// Evidence are files of the agent's memory in which the work was seen.
	Evidence []string `json:"evidence"`
	// Edits are the changes of an improvement, in order.
	Edits []SkillEdit `json:"edits"`
	// SkillMD is the whole text of the skill, in place of Edits.
	SkillMD string `json:"skillMd"`
}

// A SkillEdit replaces a text in a skill, which has it once.
type SkillEdit struct {
	// OldString is the text, and NewString what it becomes.
	OldString string `json:"old_string"`
	NewString string `json:"new_string"`
}

// A SetGoalInput sets a goal that the agent works towards. Up to Claude Code 2.1.325 the tool is
// ProposeGoal.
type SetGoalInput struct {
	// Condition is the condition under which the goal is reached.
	Condition string `json:"condition"`
	// AskUser is false if the goal is set without asking. Nil means true, and while a goal is active
	// the user is asked in any case.
	AskUser *bool `json:"ask_user"`
}

// An OfferChromeSetupInput offers to set up the browser extension.
type OfferChromeSetupInput struct {
	// Reason is the purpose of the browser.
	Reason string `json:"reason"`
}

// A ShowOnboardingRolePickerInput asks the user for their role. It has no members.
type ShowOnboardingRolePickerInput struct{}

func (*ListMCPResourcesInput) toolInput()         {}
func (*ReadMCPResourceInput) toolInput()          {}
func (*ReadMCPResourceDirInput) toolInput()       {}
func (*RefreshMCPToolsInput) toolInput()          {}
func (*EnterPlanModeInput) toolInput()            {}
func (*EnterWorktreeInput) toolInput()            {}
func (*ExitWorktreeInput) toolInput()             {}
func (*CronCreateInput) toolInput()               {}
func (*CronDeleteInput) toolInput()               {}
func (*CronListInput) toolInput()                 {}
func (*ScheduleWakeupInput) toolInput()           {}
func (*RemoteTriggerInput) toolInput()            {}
func (*PushNotificationInput) toolInput()         {}
func (*ReadNotificationsInput) toolInput()        {}
func (*ReportFindingsInput) toolInput()           {}
func (*SendFeedbackInput) toolInput()             {}
func (*ArtifactInput) toolInput()                 {}
func (*ProjectsInput) toolInput()                 {}
func (*ClaudeDesignInput) toolInput()             {}
func (*ProposeSkillsInput) toolInput()            {}
func (*SetGoalInput) toolInput()                  {}
func (*OfferChromeSetupInput) toolInput()         {}
func (*ShowOnboardingRolePickerInput) toolInput() {}
