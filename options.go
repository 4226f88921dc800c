package clew

import (
	"io"
	"log/slog"
	"time"

	"github.com/clewdev/clew/wire"
)

// Options say how an agent is started, what it may do, and who answers its questions. Nil and the zero value mean the
// agent's own defaults, and so does every field that is left out. Where nil and empty differ, the field says so.
//
// Whoever takes Options copies them first, so that later changes have no effect, and checks all of them before anything
// starts: what cannot be used is an [*OptionsError]. What can be used but hardly is meant is in [Options.Warnings].
//
// Each field names the flag, the variable or the field of the initialize request that it becomes. What is long or
// secret is not on the command line, which every user of the machine can read, but in a request. Settings and
// ManagedSettings are the exception.
type Options struct {
	// Where the agent runs.

	// AgentPath is the agent binary. Empty means the one that CLEW_AGENT names, or else the first one that is found in
	// PATH and in the folders of the usual installers.
	AgentPath string
	// Transport starts the agent. Nil means as a child process.
	Transport Transport
	// Dir is the agent's working folder; it becomes PWD as well. Empty means that of this process. It must exist, unless
	// a Transport is set, which may have folders of its own.
	Dir string
	// Env are variables of the agent, each as KEY=VALUE, on top of what it inherits. Of the same name the last one
	// counts. They win over all variables that Clew sets, but for CLAUDE_AGENT_SDK_VERSION and those that belong to a
	// field of Options.
	Env []string
	// InheritEnv names the variables of this process that the agent inherits. Empty means none. Nil means all but
	// NODE_OPTIONS, BUN_OPTIONS, those that begin with CLEW_, and those of an agent that this process is a part of, such
	// as CLAUDECODE.
	InheritEnv []string
	// ExtraArgs are further arguments, for flags that have no field here: each "--flag" or "--flag=value". A flag that
	// has a field is refused.
	ExtraArgs []string

	// The session.

	// Continue goes on with the newest session of the working folder: --continue. Not together with Resume.
	Continue bool
	// Resume is the ID or the title of a session to go on with: --resume.
	Resume string
	// ForkSession gives the session that is resumed or continued a new ID and leaves the old one as it is:
	// --fork-session.
	ForkSession bool
	// SessionID is the ID of the new session, a UUID: --session-id. Empty lets the agent choose one. With Resume or
	// Continue it needs ForkSession.
	SessionID string
	// ResumeAt is the UUID of the last message of the resumed session that is kept: --resume-session-at. It needs
	// Resume.
	ResumeAt string
	// ResumeDropsTurn is the turn that ResumeAt is meant to drop, so that the agent can refuse if it would drop another:
	// --resume-drops-turn. Nil means no such check; the empty text is sent. It needs ResumeAt.
	ResumeDropsTurn *string
	// Ephemeral keeps the session off the disk: it cannot be resumed. It becomes --no-session-persistence.
	Ephemeral bool
	// Store keeps the session besides the agent's own folder: what the agent writes down is copied to it before the result
	// of a turn is seen, and the rest when the agent has ended. It becomes --session-mirror. What can't be copied in three
	// attempts is told by a [*wire.MirrorErrorMessage] before the next result, or by [Session.Close], and ends nothing.
	//
	// Resume, with the ID of a session, and Continue read from it. The session is laid into a temporary folder, which is
	// CLAUDE_CONFIG_DIR until the agent has ended; in it is also what the agent needs of the user's settings: credentials
	// without refresh tokens, .claude.json, and settings.json without plugins, but no CLAUDE.md, agents or skills of the
	// user's own. That needs an agent on this machine, so no Transport but a ProcessTransport without Wrap. A session that
	// is not in the store is resumed as without one, which Logger is told; then only what is new gets into the store,
	// unless sessions.Import has brought the rest there.
	//
	// Nil means no store. Not together with Ephemeral and EnableFileCheckpointing.
	Store Store
	// StoreProject is the project in Store that the session belongs to. Empty means the name that the agent gives to its
	// working folder, so that a session is found again in the same folder only.
	StoreProject string
	// StoreEager copies each entry at once, in the background, instead of in batches.
	StoreEager bool
	// StoreTimeout is how long each call of Store may take, and all of them together when the agent has ended. A call that
	// takes longer is not repeated and not waited for, but holds up those for the same transcript. 0 means 60 seconds.
	StoreTimeout time.Duration
	// Reconnect has the session start a new agent when the old one dies, and go on with the conversation. Nil means that
	// the session ends with its agent. One-shot runs ignore it. Not together with Ephemeral.
	Reconnect *ReconnectOptions
	// EnableFileCheckpointing has the agent remember the files that it changes, so that they can be rewound:
	// CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true.
	EnableFileCheckpointing bool
	// Title is the title of the session: initialize title. Empty lets the agent make one.
	Title string
	// AddDirs are folders besides the working folder that tools may use: --add-dir, once for each.
	AddDirs []string
	// ProjectConfigRoot is the folder that the project's settings are read from, such as the trusted checkout that the
	// working folder is a worktree of: --project-config-root. Empty means the working folder.
	ProjectConfigRoot string

	// The model and its answers.

	// Model is an alias such as "opus", or the whole name of a model: --model.
	Model string
	// FallbackModels are tried in this order while Model is overloaded or not available: --fallback-model, joined by
	// commas. Model cannot be among them.
	FallbackModels []string
	// Betas are beta features of the API: --betas, joined by commas.
	Betas []string
	// Thinking says whether and how much the model thinks before it answers. Nil leaves it to the agent.
	Thinking *ThinkingConfig
	// Effort is how much work the model puts into an answer: --effort.
	Effort Effort
	// MaxTurns ends a prompt after so many answers of the model: --max-turns. 0 means no limit.
	MaxTurns int
	// MaxBudgetUSD ends a prompt when the session has cost so much: --max-budget-usd. 0 means no limit.
	MaxBudgetUSD float64
	// TaskBudget is how many tokens the model is told to make do with: --task-budget. 0 means no budget.
	TaskBudget int
	// AutoCompactTokens is how long the conversation may get before it is compacted, in tokens: --autocompact.
	// 0 leaves it to the agent.
	AutoCompactTokens int
	// OutputSchema is a JSON schema, an object, that the final answer has to fit: initialize jsonSchema. The answer is
	// in [wire.ResultMessage.StructuredOutput].
	OutputSchema wire.JSON
	// SystemPrompt changes the system prompt. Nil means Claude Code's own, as it is.
	SystemPrompt *SystemPrompt

	// Tools and permissions.

	// Tools are the built-in tools that the agent has: --tools, joined by commas. Nil means the usual ones, and so does
	// the single name "default"; empty means none.
	Tools []string
	// AllowedTools are permission rules such as "Read" or "Bash(git log:*)" for tools that run without a question:
	// --allowedTools. See also Skills.
	AllowedTools []string
	// DisallowedTools are permission rules for tools that never run: --disallowedTools. A rule that is a name alone
	// takes the tool away.
	DisallowedTools []string
	// ToolAliases has tools stand in for others, by name: initialize toolAliases. The model calls the key, and the value
	// runs.
	ToolAliases map[string]string
	// PermissionMode is how the agent decides whether a tool may run: --permission-mode. Empty means the one in the
	// settings, or else [PermissionModeAuto] where that is available, and [PermissionModeDefault] where it is not.
	PermissionMode PermissionMode
	// AllowDangerouslySkipPermissions lets the session be switched to [PermissionModeBypassPermissions] later on:
	// --allow-dangerously-skip-permissions. It does not switch by itself.
	AllowDangerouslySkipPermissions bool
	// CanUseTool decides about tools that neither a rule nor the mode decides about. It becomes
	// --permission-prompt-tool=stdio. Nil means that such tools are refused. Not together with PermissionPromptTool.
	CanUseTool CanUseToolFunc
	// OnQuestion answers the agent's questions to the user, the tool AskUserQuestion. It becomes
	// --permission-prompt-tool=stdio. Nil leaves them to CanUseTool; without either, the agent does not have that tool.
	OnQuestion QuestionFunc
	// PermissionPromptTool is an MCP tool that decides in place of CanUseTool: --permission-prompt-tool.
	PermissionPromptTool string
	// PermissionPrompts says whether anybody is asked at all: --permission-prompts. Empty means [PermissionPromptsHost].
	PermissionPrompts PermissionPrompts
	// QuestionPreview is the format of the previews in questions to the user: CLAUDE_CODE_QUESTION_PREVIEW_FORMAT. Empty
	// means [PreviewMarkdown].
	QuestionPreview PreviewFormat
	// PlanModeInstructions take the place of the agent's own for [PermissionModePlan]: initialize planModeInstructions.
	PlanModeInstructions string
	// Sandbox confines the commands that the agent runs. It becomes the member "sandbox" of Settings, which cannot have
	// one itself then. Nil leaves it to the settings. Not together with SettingsFile.
	Sandbox *SandboxSettings

	// Agents, MCP servers, plugins, skills, hooks.

	// Agent is the name of the agent that leads the session: --agent. Empty means the usual one.
	Agent string
	// Agents are subagents by name, besides those of the settings: initialize agents.
	Agents map[string]AgentDefinition
	// MCPServers are MCP servers by name, besides those of the settings. They become the request mcp_set_servers, right
	// after initialize, so that no secret in them is on the command line; the names of those of this process are in
	// initialize sdkMcpServers, too. Starting the session waits until the servers
	// outside of this process are connected or have failed; those of this process connect meanwhile.
	MCPServers map[string]MCPServer
	// MCPConfigFiles are files with MCP servers: --mcp-config, once for each.
	MCPConfigFiles []string
	// StrictMCPConfig leaves out the MCP servers of the settings: --strict-mcp-config.
	StrictMCPConfig bool
	// Plugins are loaded for this session.
	Plugins []PluginConfig
	// PluginDelivery says how the agent learns of Plugins. Empty means [PluginsByFlag].
	PluginDelivery PluginDelivery
	// Skills are the skills that the agent uses without a question: for each a rule in --allowedTools, and initialize
	// skills. Nil leaves them to the settings, empty means none, and the single name [AllSkills] all of them.
	Skills []string
	// Hooks are called at events of the session: initialize hooks. Not together with Bare. An agent that says that it did
	// not apply them is an [*OptionsError], too.
	Hooks map[HookEvent][]HookMatcher
	// OnElicitation answers questions of MCP servers to the user. Nil declines them.
	OnElicitation ElicitationFunc
	// OnUserDialog answers dialogs that the agent would show to the user. Nil leaves them unanswered.
	OnUserDialog UserDialogFunc
	// SupportedDialogKinds are the dialogs that OnUserDialog, which has to be set then, can answer: initialize
	// supportedDialogKinds.
	SupportedDialogKinds []string
	// OnOAuthToken gives the agent a fresh access token when its own is refused: CLAUDE_CODE_SDK_HAS_OAUTH_REFRESH=1. Nil
	// leaves that to the agent.
	OnOAuthToken OAuthTokenFunc
	// OnHostAuthToken gives the agent a fresh token for the gateway of its host:
	// CLAUDE_CODE_SDK_HAS_HOST_AUTH_REFRESH=1. Nil leaves the agent with the one that it was started with.
	OnHostAuthToken HostAuthTokenFunc
	// PerTaskStop says that the caller stops background tasks one by one, so that an interrupt spares them: initialize
	// perTaskStopAffordance.
	PerTaskStop bool

	// What the agent reports.

	// IncludePartialMessages has the agent send answers while they grow: --include-partial-messages.
	IncludePartialMessages bool
	// IncludeHookEvents has the agent report the hooks that it runs: --include-hook-events.
	IncludeHookEvents bool
	// ForwardSubagentText has the agent send what its subagents say: initialize forwardSubagentText.
	ForwardSubagentText bool
	// PromptSuggestions has the agent suggest a next prompt after each turn: initialize promptSuggestions.
	PromptSuggestions bool
	// AgentProgressSummaries has the agent sum up what its subagents do, about every 30 seconds: initialize
	// agentProgressSummaries.
	AgentProgressSummaries bool
	// ReplayUserMessages has the agent send back the prompts that it takes up: --replay-user-messages.
	ReplayUserMessages bool
	// VerbatimPrompts marks prompts as written by a program, to be taken as they are: client_composed on each of them.
	VerbatimPrompts bool

	// Settings.

	// SettingsFile is a file with settings that win over those of the user and the project: --settings. Not together
	// with Settings.
	SettingsFile string
	// Settings are such settings as a JSON object: --settings. Other users of the machine can read them on the command
	// line: secrets belong into Env or into a SettingsFile.
	Settings wire.JSON
	// ManagedSettings are settings that only restrict, as an administrator's, in a JSON object: --managed-settings. The
	// agent ignores them where an administrator has made some, unless those allow it.
	ManagedSettings wire.JSON
	// SettingSources are the settings files that the agent reads: --setting-sources, joined by commas. Nil means all,
	// empty none. CLAUDE.md is read with [SettingSourceProject] only.
	SettingSources []SettingSource
	// Bare leaves out hooks, plugins, memory, CLAUDE.md and other extras, and most tools: --bare. Not together with Hooks.
	Bare bool
	// SafeMode leaves out all customizations: --safe-mode.
	SafeMode bool
	// Restricted takes away the tools that run code, unless Tools names them, and confines the others to the working
	// folders: --restricted.
	Restricted bool
	// DisableSlashCommands turns all skills and commands off: --disable-slash-commands.
	DisableSlashCommands bool

	// Watching and limits.

	// Stderr gets each line that the agent writes to its standard error, without the line end, one call at a time. Nil
	// keeps only the end of it, for errors.
	Stderr func(line string)
	// Logger gets what Clew has to say about the session. Nil is silent.
	Logger *slog.Logger
	// Debug has the agent write a debug log: --debug.
	Debug bool
	// DebugCategories are the parts of the debug log that are written, or with a "!" in front are not: --debug=LIST.
	// They turn the log on.
	DebugCategories []string
	// DebugFile is the file for the debug log: --debug-file. It turns the log on. Empty means one below the folder of
	// the agent's settings.
	DebugFile string
	// IdleTimeout is how long the agent may be silent during a turn, while it does not wait for an answer or for a slow
	// reader, before OnIdle is called or, without one, the session ends with [ErrIdle]. 0 means for ever.
	IdleTimeout time.Duration
	// OnIdle is called with the length of the silence so far. It needs IdleTimeout.
	OnIdle func(silence time.Duration)
	// InitializeTimeout is how long the agent may take to start and answer. 0 means 60 seconds.
	InitializeTimeout time.Duration
	// CloseTimeout is how long the agent may take to end by itself, and again how long after it was told to terminate.
	// 0 means 5 seconds.
	CloseTimeout time.Duration
	// MaxFrameBytes is the length of the longest frame that is read. 0 means [wire.DefaultMaxFrameBytes].
	MaxFrameBytes int
	// MaxBacklogBytes is how much may wait until the caller reads it, in temporary files and besides some megabytes in
	// memory. When it is reached, the agent has to wait as well, except while a control request of the caller waits for
	// its answer. 0 means 256 MiB.
	MaxBacklogBytes int64
	// Record gets the dialogue with the agent as it passes, a line per frame in each direction, in the format that
	// clewtest.ReadDialogue reads. The secrets of MCP servers, tokens and login codes are masked; prompts and answers are
	// as they are. A write that fails ends the recording; one that blocks holds up the session, Close included. Default:
	// none.
	Record io.Writer
}
