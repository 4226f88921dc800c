package tooluse

import "slices"

// The names of the built-in tools of Claude Code 2.1.326, for permission rules, hooks, and options
// such as clew.Options.Tools. Which of them an agent has depends on its version, its settings and
// the options: wire.InitMessage.Tools lists them.
const (
	ToolAgent                    = "Agent"
	ToolArtifact                 = "Artifact"
	ToolAskUserQuestion          = "AskUserQuestion"
	ToolBash                     = "Bash"
	ToolClaudeDesign             = "ClaudeDesign"
	ToolCronCreate               = "CronCreate"
	ToolCronDelete               = "CronDelete"
	ToolCronList                 = "CronList"
	ToolEdit                     = "Edit"
	ToolEndConversation          = "EndConversation"
	ToolEnterPlanMode            = "EnterPlanMode"
	ToolEnterWorktree            = "EnterWorktree"
	ToolExitPlanMode             = "ExitPlanMode"
	ToolExitWorktree             = "ExitWorktree"
	ToolGlob                     = "Glob"
	ToolGrep                     = "Grep"
	ToolListAgents               = "ListAgents"
	ToolListMCPResources         = "ListMcpResourcesTool"
	ToolLSP                      = "LSP"
	ToolMonitor                  = "Monitor"
	ToolNotebookEdit             = "NotebookEdit"
	ToolOfferChromeSetup         = "OfferChromeSetup"
	ToolPowerShell               = "PowerShell"
	ToolProjects                 = "Projects"
	ToolProposeSkills            = "propose_skills"
	ToolPushNotification         = "PushNotification"
	ToolRead                     = "Read"
	ToolReadMCPResourceDir       = "ReadMcpResourceDirTool"
	ToolReadMCPResource          = "ReadMcpResourceTool"
	ToolReadNotifications        = "ReadNotifications"
	ToolRemoteTrigger            = "RemoteTrigger"
	ToolReportFindings           = "ReportFindings"
	ToolScheduleWakeup           = "ScheduleWakeup"
	ToolSendFeedback             = "SendFeedback"
	ToolSendMessage              = "SendMessage"
	ToolSendUserFile             = "SendUserFile"
	ToolSendUserMessage          = "SendUserMessage"
	ToolSetGoal                  = "SetGoal"
	ToolShareOnboardingGuide     = "ShareOnboardingGuide"
	ToolShowOnboardingRolePicker = "ShowOnboardingRolePicker"
	ToolSkill                    = "Skill"
	ToolSubagentHandback         = "SubagentHandback"
	ToolTaskCreate               = "TaskCreate"
	ToolTaskGet                  = "TaskGet"
	ToolTaskList                 = "TaskList"
	ToolTaskStop                 = "TaskStop"
	ToolTaskUpdate               = "TaskUpdate"
	ToolTodoWrite                = "TodoWrite"
	ToolToolSearch               = "ToolSearch"
	ToolWaitForMCPServers        = "WaitForMcpServers"
	ToolWebFetch                 = "WebFetch"
	ToolWebSearch                = "WebSearch"
	ToolWorkflow                 = "Workflow"
	ToolWrite                    = "Write"
)

// BuiltIn returns the names of the built-in tools, sorted.
func BuiltIn() []string { return slices.Clone(builtIn) }

var builtIn = []string{
	ToolAgent,
	ToolArtifact,
	ToolAskUserQuestion,
	ToolBash,
	ToolClaudeDesign,
	ToolCronCreate,
	ToolCronDelete,
	ToolCronList,
	ToolEdit,
	ToolEndConversation,
	ToolEnterPlanMode,
	ToolEnterWorktree,
	ToolExitPlanMode,
	ToolExitWorktree,
	ToolGlob,
	ToolGrep,
	ToolLSP,
	ToolListAgents,
	ToolListMCPResources,
	ToolMonitor,
	ToolNotebookEdit,
	ToolOfferChromeSetup,
	ToolPowerShell,
	ToolProjects,
	ToolPushNotification,
	ToolRead,
	ToolReadMCPResourceDir,
	ToolReadMCPResource,
	ToolReadNotifications,
	ToolRemoteTrigger,
	ToolReportFindings,
	ToolScheduleWakeup,
	ToolSendFeedback,
	ToolSendMessage,
	ToolSendUserFile,
	ToolSendUserMessage,
	ToolSetGoal,
	ToolShareOnboardingGuide,
	ToolShowOnboardingRolePicker,
	ToolSkill,
	ToolSubagentHandback,
	ToolTaskCreate,
	ToolTaskGet,
	ToolTaskList,
	ToolTaskStop,
	ToolTaskUpdate,
	ToolTodoWrite,
	ToolToolSearch,
	ToolWaitForMCPServers,
	ToolWebFetch,
	ToolWebSearch,
	ToolWorkflow,
	ToolWrite,
	ToolProposeSkills,
}

// formerNames maps tool names of older agents to the present names.
var formerNames = map[string]string{
	"ProposeGoal": ToolSetGoal,
	"Task":        ToolAgent, "KillShell": ToolTaskStop, "KillBash": ToolTaskStop, "ListPeers": ToolListAgents,
	"Brief": ToolSendUserMessage, "ListMcpResources": ToolListMCPResources, "ReadMcpResource": ToolReadMCPResource,
	"ReadMcpResourceDir": ToolReadMCPResourceDir,
}

// CurrentName returns the present name of a built-in tool that older agents called by another one,
// such as Agent for Task. Other names are returned as they are.
func CurrentName(name string) string {
	if current, ok := formerNames[name]; ok {
		return current
	}
	return name
}
