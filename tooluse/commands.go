package tooluse

import (
	"github.com/clewdev/clew/wire"
)

// A BashInput is that of Bash, and of PowerShell.
type BashInput struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	// Timeout is 0 for the agent's default.
	Timeout         wire.Millis `json:"timeout"`
	RunInBackground bool        `json:"run_in_background"`
	DisableSandbox  bool        `json:"dangerouslyDisableSandbox"`
}

// A BashResult is that of Bash, and of PowerShell.
type BashResult struct {
	// Stdout is what the command wrote, its errors included where the agent does not part them.
	Stdout      string `json:"stdout"`
	Stderr      string `json:"stderr"`
	Interrupted bool   `json:"interrupted"`
	// IsImage says that Stdout is a picture, as a data URL.
	IsImage          bool `json:"isImage"`
	NoOutputExpected bool `json:"noOutputExpected"`
	// ReturnCodeInterpretation says what the exit code means, such as "No matches found".
	ReturnCodeInterpretation string      `json:"returnCodeInterpretation"`
	TimedOutAfter            wire.Millis `json:"timedOutAfterMs"`

	// BackgroundTaskID is set if the command goes on in the background.
	BackgroundTaskID   string `json:"backgroundTaskId"`
	BackgroundedByUser bool   `json:"backgroundedByUser"`

	// PersistedOutputPath is the file with the whole output, if that was too long: see [SpillPath].
	PersistedOutputPath string `json:"persistedOutputPath"`
	PersistedOutputSize int64  `json:"persistedOutputSize"`

	GitOperation *GitOperation `json:"gitOperation"`
	EditDiff     *BashEditDiff `json:"bashEditDiff"`
}

// A GitOperation is what a command did to a repository. Operations that it did not perform are nil.
type GitOperation struct {
	Commit *GitCommit `json:"commit"`
	Push   *GitPush   `json:"push"`
	Branch *GitBranch `json:"branch"`
	PR     *GitPR     `json:"pr"`
}

// A GitCommit is a commit that was made. Kind is committed, amended or cherry-picked.
type GitCommit struct {
	SHA    string `json:"sha"`
	Kind   string `json:"kind"`
	Branch string `json:"branch"`
}

// A GitPush is a branch that was pushed.
type GitPush struct {
	Branch string `json:"branch"`
}

// A GitBranch is a branch that was merged or rebased.
type GitBranch struct {
	Ref    string `json:"ref"`
	Action string `json:"action"`
}

// A GitPR is a pull request that was created, merged or changed in another way.
type GitPR struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Action string `json:"action"`
}

// A BashEditDiff lists the files that a command changed.
type BashEditDiff struct {
	Files []BashFileDiff `json:"files"`
	// MoreFiles is how many others there are.
	MoreFiles int `json:"moreFiles"`
	// ChangedFiles are the paths of those that the agent noticed.
	ChangedFiles []string `json:"changedFiles"`
}

// A BashFileDiff is what a command changed in a file.
type BashFileDiff struct {
	FilePath string `json:"filePath"`
	Hunks    []Hunk `json:"hunks"`
	Created  bool   `json:"created"`
	Deleted  bool   `json:"deleted"`
}

// A BashOutputInput asks for the output of a command in the background.
type BashOutputInput struct {
	BashID string `json:"bash_id"`
	Filter string `json:"filter"`
}

// A BashOutputResult is what a command in the background has written since it was last asked.
type BashOutputResult struct {
	ShellID string `json:"shellId"`
	Command string `json:"command"`
	// Status is running, completed, failed or killed.
	Status string `json:"status"`
	// ExitCode is nil while the command runs.
	ExitCode *int   `json:"exitCode"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// A TaskStopInput ends what runs in the background. It is that of TaskStop, and of KillShell before
// it.
type TaskStopInput struct {
	TaskID  string `json:"task_id"`
	ShellID string `json:"shell_id"`
}

// A TaskStopResult says what was ended.
type TaskStopResult struct {
	Message  string `json:"message"`
	TaskID   string `json:"task_id"`
	ShellID  string `json:"shell_id"`
	TaskType string `json:"task_type"`
	Command  string `json:"command"`
}

// A TaskOutputInput asks for the output of what runs in the background.
type TaskOutputInput struct {
	TaskID  string      `json:"task_id"`
	Block   bool        `json:"block"`
	Timeout wire.Millis `json:"timeout"`
}

// A TaskOutputResult is the output of what runs in the background.
type TaskOutputResult struct {
	// Status says whether there was output to be had, such as success or timeout.
	Status string `json:"retrieval_status"`
	// Task is nil if there is no such task.
	Task *BackgroundTask `json:"task"`
}

// A BackgroundTask is something that runs in the background, or did.
type BackgroundTask struct {
	ID          string `json:"task_id"`
	Type        string `json:"task_type"`
	Status      string `json:"status"`
	Description string `json:"description"`
	Output      string `json:"output"`
	ExitCode    *int   `json:"exitCode"`
}

// A MonitorInput has a command or a web socket watched.
type MonitorInput struct {
	Description string         `json:"description"`
	Command     string         `json:"command"`
	Socket      *MonitorSocket `json:"ws"`
	Timeout     wire.Millis    `json:"timeout_ms"`
}

// A MonitorSocket is a web socket.
type MonitorSocket struct {
	URL       string   `json:"url"`
	Protocols []string `json:"protocols"`
}

// A MonitorResult names the task that watches.
type MonitorResult struct {
	TaskID     string      `json:"taskId"`
	Timeout    wire.Millis `json:"timeoutMs"`
	Persistent bool        `json:"persistent"`
}
