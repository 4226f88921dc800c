package tooluse

import (
	"github.com/clewdev/clew/wire"
)

// A BashInput is the input of Bash and PowerShell.
type BashInput struct {
	// Command is the command line, for the shell.
	Command string `json:"command"`
	// Description says in a few words what the command does, or is "".
	Description string `json:"description"`
	// Timeout is the time the command may run. 0 means the agent's default.
	Timeout wire.Millis `json:"timeout"`
	// RunInBackground asks the agent not to wait for the command.
	RunInBackground bool `json:"run_in_background"`
	// DisableSandbox asks the agent to run the command outside its sandbox.
	DisableSandbox bool `json:"dangerouslyDisableSandbox"`
}

// A BashResult is the result of Bash and PowerShell. A command that failed has a [*TextResult] in
// its place, as a rule; [ExitCode] reads both.
type BashResult struct {
	// Stdout is the output of the command, including standard error where the agent does not
	// separate them.
	Stdout string `json:"stdout"`
	// Stderr is the standard error of the command, or "". The agent may put that into Stdout.
	Stderr string `json:"stderr"`
	// Interrupted reports whether the command was stopped before its end.
	Interrupted bool `json:"interrupted"`
	// IsImage reports whether Stdout is a picture, as a data URL.
	IsImage bool `json:"isImage"`
	// NoOutputExpected reports whether such a command prints nothing if it succeeds, like mv.
	NoOutputExpected bool `json:"noOutputExpected"`
	// ReturnCodeInterpretation explains the exit code, such as "No matches found". It is "" for
	// most commands.
	ReturnCodeInterpretation string `json:"returnCodeInterpretation"`
	// TimedOutAfter is the timeout of a command that reached it and was moved to the background, or
	// 0.
	TimedOutAfter wire.Millis `json:"timedOutAfterMs"`

	// BackgroundTaskID is set if the command continues in the background, and "" if it ended.
	BackgroundTaskID string `json:"backgroundTaskId"`
	// BackgroundedByUser reports whether the user moved the command to the background.
	BackgroundedByUser bool `json:"backgroundedByUser"`

	// PersistedOutputPath is the file with the whole output, if that was too long: see [SpillPath].
	PersistedOutputPath string `json:"persistedOutputPath"`
	// PersistedOutputSize is the size of that file in bytes, or 0 if there is none.
	PersistedOutputSize int64 `json:"persistedOutputSize"`

	// GitOperation is nil unless the command changed a git repository in a way that the agent
	// noticed.
	GitOperation *GitOperation `json:"gitOperation"`
	// EditDiff is nil if the agent does not report which files the command changed.
	EditDiff *BashEditDiff `json:"bashEditDiff"`
}

// ExitCode returns the exit code of the command. The agent does not write it down, but reports
// failures in another way, so it is 0 for a command that ended. It returns false for a command that
// was interrupted or continues in the background, and for a command whose code
// ReturnCodeInterpretation explains instead, as for a grep without matches.
func (r *BashResult) ExitCode() (code int, ok bool) {
	return 0, !r.Interrupted && r.BackgroundTaskID == "" && r.TimedOutAfter == 0 && r.ReturnCodeInterpretation == ""
}

// ExitCode returns the exit code of the command that a result is of. It returns false if the result
// does not come from a command, if the command still runs, and if the agent does not report the
// code.
func ExitCode(result Result) (code int, ok bool) {
	var reported *int
	switch r := result.(type) {
	case *BashResult:
		return r.ExitCode()
	case *TextResult:
		return r.ExitCode()
	case *BashOutputResult:
		reported = r.ExitCode
	case *TaskOutputResult:
		if r.Task != nil {
			reported = r.Task.ExitCode
		}
	}
	if reported == nil {
		return 0, false
	}
	return *reported, true
}

// A GitOperation is a command's operation on a repository. Operations that it did not perform are
// nil.
type GitOperation struct {
	Commit *GitCommit `json:"commit"` // git commit or git cherry-pick
	Push   *GitPush   `json:"push"`   // git push
	Branch *GitBranch `json:"branch"` // git merge or git rebase
	PR     *GitPR     `json:"pr"`     // a gh pr command
}

// A GitCommit is a commit that was made.
type GitCommit struct {
	SHA    string `json:"sha"`    // the hash, which may be abbreviated
	Kind   string `json:"kind"`   // committed, amended or cherry-picked
	Branch string `json:"branch"` // the branch of the commit, or ""
}

// A GitPush is a branch that was pushed.
type GitPush struct {
	Branch string `json:"branch"` // the branch that was pushed
}

// A GitBranch is a branch that was merged or rebased.
type GitBranch struct {
	Ref    string `json:"ref"`    // the branch or commit in the command
	Action string `json:"action"` // merged or rebased
}

// A GitPR is a pull request that was created, merged or changed in another way.
type GitPR struct {
	// Number is the number of the pull request, such as 123.
	Number int `json:"number"`
	// URL is its web page, or "".
	URL string `json:"url"`
	// Action is a word such as created, edited, merged, commented, closed or reopened.
	Action string `json:"action"`
}

// A BashEditDiff lists the files that a command changed.
type BashEditDiff struct {
	// Files are the changes. There may be more than the agent reports: see MoreFiles.
	Files []BashFileDiff `json:"files"`
	// MoreFiles is the number of changed files that are not in Files.
	MoreFiles int `json:"moreFiles"`
	// ChangedFiles are the paths of the changed files that the agent noticed.
	ChangedFiles []string `json:"changedFiles"`
}

// A BashFileDiff describes a command's changes to a file.
type BashFileDiff struct {
	FilePath string `json:"filePath"` // the path of the file
	Hunks    []Hunk `json:"hunks"`    // the changed pieces of the file
	Created  bool   `json:"created"`  // the file did not exist before
	Deleted  bool   `json:"deleted"`  // the file does not exist any more
}

// A BashOutputInput asks for the output of a command in the background.
type BashOutputInput struct {
	// BashID is the [BashResult.BackgroundTaskID] of the command.
	BashID string `json:"bash_id"`
	// Filter is a regular expression for the lines to return. Empty means all lines.
	Filter string `json:"filter"`
}

// A BashOutputResult is the output of a background command since it was last asked.
type BashOutputResult struct {
	// ShellID is the ID of the command that the input named.
	ShellID string `json:"shellId"`
	// Command is the command line.
	Command string `json:"command"`
	// Status is running, completed, failed or killed.
	Status string `json:"status"`
	// ExitCode is nil while the command runs.
	ExitCode *int `json:"exitCode"`
	// Stdout is the new output.
	Stdout string `json:"stdout"`
	// Stderr is the new error output.
	Stderr string `json:"stderr"`
}

// A TaskStopInput ends what runs in the background. It belongs to TaskStop, and to KillShell before
// it.
type TaskStopInput struct {
	// TaskID is the task to end, as in [BashResult.BackgroundTaskID].
	TaskID string `json:"task_id"`
	// ShellID is KillShell's name for TaskID. Current agents call this member deprecated.
	ShellID string `json:"shell_id"`
}

// A TaskStopResult names the task that was ended.
type TaskStopResult struct {
	// Message describes the outcome, for people.
	Message string `json:"message"`
	// TaskID is the task that was ended. KillShell has ShellID.
	TaskID string `json:"task_id"`
	// ShellID is the command that KillShell ended, or "".
	ShellID string `json:"shell_id"`
	// TaskType is the kind of task, such as "local_bash".
	TaskType string `json:"task_type"`
	// Command is the command line, or the description of another task. It may be "".
	Command string `json:"command"`
}

// A TaskOutputInput asks for the output of a background task.
type TaskOutputInput struct {
	// TaskID is the task, as in [BashResult.BackgroundTaskID].
	TaskID string `json:"task_id"`
	// Block asks the agent to wait until the task ends. It is also false if the model left it out.
	Block bool `json:"block"`
	// Timeout is the maximum time to wait. 0 means the agent's default.
	Timeout wire.Millis `json:"timeout"`
}

// A TaskOutputResult is the output of a background task.
type TaskOutputResult struct {
	// Status reports whether there was output to be had, such as success or timeout.
	Status string `json:"retrieval_status"`
	// Task is nil if there is no such task.
	Task *BackgroundTask `json:"task"`
}

// A BackgroundTask is something that runs in the background, or did.
type BackgroundTask struct {
	// ID is the task that the input named.
	ID string `json:"task_id"`
	// Type is the kind of task, such as "local_bash" or "local_agent".
	Type string `json:"task_type"`
	// Status is running, completed, failed or another word.
	Status string `json:"status"`
	// Description is the purpose of the task.
	Description string `json:"description"`
	// Output is the output of the task, or a part of it.
	Output string `json:"output"`
	// ExitCode is nil while a command runs, and for a task that is not a command.
	ExitCode *int `json:"exitCode"`
}

// A MonitorInput has a command or a web socket watched.
type MonitorInput struct {
	// Description describes the watched thing, for people.
	Description string `json:"description"`
	// Command is the command whose output is watched, or "" with Socket.
	Command string `json:"command"`
	// Socket is nil if a command is watched.
	Socket *MonitorSocket `json:"ws"`
	// Timeout is the time to watch. 0 means the agent's default.
	Timeout wire.Millis `json:"timeout_ms"`
}

// A MonitorSocket is a web socket.
type MonitorSocket struct {
	// URL is the address of the socket.
	URL string `json:"url"`
	// Protocols are the subprotocols to ask for, or nil.
	Protocols []string `json:"protocols"`
}

// A MonitorResult names the task that watches.
type MonitorResult struct {
	// TaskID is the task that watches, for TaskStop.
	TaskID string `json:"taskId"`
	// Timeout is the time it watches, or 0 if Persistent is set.
	Timeout wire.Millis `json:"timeoutMs"`
	// Persistent reports whether the watch continues until it is stopped or the session ends.
	Persistent bool `json:"persistent"`
}
