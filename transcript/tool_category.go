package transcript

import "strings"

// A Category says what kind of thing a tool does. There may be others than those below.
type Category string

// The categories of tools.
const (
	CategoryRead  Category = "Read"
	CategoryEdit  Category = "Edit"
	CategoryWrite Category = "Write"
	CategoryBash  Category = "Bash"
	CategoryGrep  Category = "Grep"
	CategoryGlob  Category = "Glob"
	CategoryTask  Category = "Task"
	CategoryTool  Category = "Tool"
	CategoryWeb   Category = "Web"
	CategoryOther Category = "Other"
)

// ToolCategory returns the category of a tool, also for tools of other agents. Those of MCP servers are in
// CategoryTool.
func ToolCategory(name string) Category {
	switch name {
	case "Read", "read_file", "read", "view", "LS", "NotebookRead":
		return CategoryRead
	case "Edit", "MultiEdit", "apply_patch", "edit", "StrReplace":
		return CategoryEdit
	case "Write", "NotebookEdit", "write_file", "edit_file", "write":
		return CategoryWrite
	case "Bash", "PowerShell", "BashOutput", "KillShell", "KillBash", "shell_command", "exec_command", "write_stdin",
		"shell", "run_command", "execute_command", "bash", "Shell":
		return CategoryBash
	case "Grep", "search_files", "grep":
		return CategoryGrep
	case "Glob":
		return CategoryGlob
	case "Task", "Agent", "Workflow", "task":
		return CategoryTask
	case "Skill", "report_intent":
		return CategoryTool
	case "WebFetch", "WebSearch":
		return CategoryWeb
	}
	if strings.HasPrefix(name, "mcp__") {
		return CategoryTool
	}
	return CategoryOther
}
