package clew

import (
	"io"
	"log/slog"
	"time"

	"github.com/clewdev/clew/hook"
	"github.com/clewdev/clew/permission"
	"github.com/clewdev/clew/sandbox"
	"github.com/clewdev/clew/wire"
)

// Options configure how an agent is started, what it may do, and which callbacks answer its
// questions. Nil, the zero value and every zero field mean the agent's defaults. The comment of a
// field mentions it where nil and empty differ.
//
// The defaults suit a person at a terminal: all tools, and a permission mode that may let them run.
// A program that serves other people must set Tools, PermissionMode, VerbatimPrompts and
// Settings.Sources.
//
// Functions that take Options copy them first, so that later changes have no effect, and check them
// before anything starts: an invalid option is an [*OptionsError]. [Options.Warnings] reports
// combinations that are valid but probably a mistake.
//
// The comment of each field names the flag, the variable or the field of the initialize request
// that it becomes. Values that can be long or secret are not on the command line, which every user
// of the machine can read, but in a request or in a file. Settings.Managed and, with some
// transports, Settings.JSON are the exceptions.
type Options struct {
	// Where the agent runs.

	// AgentPath is the agent binary. Empty means the binary named by the variable CLEW_AGENT, or
	// else the first one in PATH and in the directories of the usual installers. See [FindAgent].
	AgentPath string
	// AgentVersion is the version of the agent, such as "2.1.325". Options travel to older versions
	// in another way, and an option that a version would ignore is an [*OptionsError]. Empty means
	// that the binary is asked with --version, once until it changes; a Transport of your own and a
	// [ProcessTransport.Wrap] are not asked, and their agents are taken for new ones.
	AgentVersion string
	// AllowOldAgent starts agents that are older than [MinAgentVersion] as well, with a warning to
	// Logger: they are not tested, and may ignore more than the options that are refused. False
	// makes such an agent an [*OptionsError].
	AllowOldAgent bool
	// Transport starts the agent. Nil means as a child process.
	Transport Transport
	// Dir is the agent's working directory, and becomes PWD. Empty means the working directory of
	// this process. It must exist, unless a Transport is set, which may have other directories.
	//
	// The agent runs what the directory brings without asking: hooks of .claude/settings.json and
	// .claude/settings.local.json, and the servers of .mcp.json, there and in directories above. If
	// it may be someone else's, set Settings.Sources.
	Dir string
	// Env are variables of the agent, each as KEY=VALUE, in addition to inherited ones. If a key
	// repeats, the last one counts. They override the variables that Clew sets, except
	// CLAUDE_AGENT_SDK_VERSION and variables that belong to a field of Options.
	Env []string
	// InheritEnv names the variables of this process that the agent inherits. Empty means none. Nil
	// means all except NODE_OPTIONS, BUN_OPTIONS, variables that start with CLEW_, and variables
	// that an agent sets for its own child processes, such as CLAUDECODE. Of several directories in
	// CLAUDE_CONFIG_DIR, separated by commas, the agent gets the first.
	InheritEnv []string
	// ExtraArgs are more arguments, for flags that have no field here, each as "--flag" or
	// "--flag=value". A flag that has a field is an error.
	ExtraArgs []string
	// KeepBackground keeps the processes that commands of the agent left running, such as a server
	// started with "nohup server &", when the agent ends. Without it they get SIGTERM, and SIGKILL
	// 2 seconds later: see [ProcessTransport] for how they are found. Tasks that the agent itself
	// has in the background end with it in any case, and so does everything if the agent is killed,
	// or on Windows.
	KeepBackground bool

	// The session.

	// Session selects the session to resume, or describes the new one.
	Session SessionOptions
	// Store configures a second copy of the session. The zero value keeps none.
	Store StoreOptions
	// Reconnect makes the session start a new agent when the old one dies, and resume the
	// conversation. Nil means that the session ends with its agent. One-shot runs ignore it. Not
	// together with Session.Ephemeral.
	Reconnect *ReconnectOptions
	// EnableFileCheckpointing makes the agent keep copies of the files that it changes, for
	// [Session.RewindFiles]: CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true.
	EnableFileCheckpointing bool
	// AddDirs are directories that tools may use in addition to the working directory: --add-dir,
	// once for each.
	AddDirs []string

	// The model and its answers.

	// Model is an alias such as "opus", or the full name of a model: --model.
	Model string
	// FallbackModels are tried in this order while Model is overloaded or not available:
	// --fallback-model, joined by commas. Model can't be one of them.
	FallbackModels []string
	// Betas are beta features of the API: --betas, joined by commas.
	Betas []string
	// Thinking specifies whether and how much the model thinks before it answers. Nil leaves it to
	// the agent.
	Thinking *ThinkingConfig
	// Effort is the model's effort level: --effort.
	Effort Effort
	// OutputSchema is a JSON schema, an object, for the final answer: initialize jsonSchema. The
	// answer is in [wire.ResultMessage.StructuredOutput]. [SchemaFor] makes a schema from a Go
	// type, and [RunAs] decodes the answer.
	OutputSchema wire.JSON
	// SystemPrompt changes the system prompt. Nil means Claude Code's own prompt.
	SystemPrompt *SystemPrompt
	// Limits bound the cost, the time and the memory of the session.
	Limits Limits

	// Tools and permissions.

	// Tools are the built-in tools that the agent has: --tools, joined by commas. Nil means the
	// usual ones, which read and write files, run commands and use the network, and so does the
	// single name "default"; empty means none. A server should always set it.
	Tools []string
	// AllowedTools are permission rules, such as "Read" or "Bash(git log:*)", for tools that run
	// without a question: --allowedTools. See also Skills.
	AllowedTools []string
	// DisallowedTools are permission rules for tools that never run: --disallowedTools. A rule that
	// is only a name removes the tool.
	DisallowedTools []string
	// Restricted removes the tools that run code, unless Tools names them, and confines the others
	// to the working directories: --restricted.
	Restricted bool
	// ToolAliases replace tools by others, by name: initialize toolAliases. The model calls the
	// key, and the value runs.
	ToolAliases map[string]string
	// PermissionMode determines how the agent decides whether a tool may run: --permission-mode.
	// Empty means the one in the settings, or else [PermissionModeAuto], in which a model decides
	// about most tools, where that is available, and [PermissionModeDefault] where it is not. A
	// server should always set it.
	PermissionMode PermissionMode
	// AllowDangerouslySkipPermissions allows switching to [PermissionModeBypassPermissions] later:
	// --allow-dangerously-skip-permissions. It does not switch by itself.
	AllowDangerouslySkipPermissions bool
	// CanUseTool decides about tools that no rule and no mode decides about. It becomes
	// --permission-prompt-tool=stdio. Nil means that such tools are denied. Not together with
	// PermissionPromptTool.
	CanUseTool permission.Func
	// OnQuestion answers the agent's questions to the user, the tool AskUserQuestion. It becomes
	// --permission-prompt-tool=stdio. Nil leaves them to CanUseTool; without either, the agent does
	// not have the tool.
	OnQuestion QuestionFunc
	// PermissionPromptTool is an MCP tool that decides in place of CanUseTool:
	// --permission-prompt-tool.
	PermissionPromptTool string
	// PermissionPrompts specifies whether anybody is asked: --permission-prompts. Empty means
	// [PermissionPromptsHost].
	PermissionPrompts PermissionPrompts
	// QuestionPreview is the format of the previews in questions to the user:
	// CLAUDE_CODE_QUESTION_PREVIEW_FORMAT. Empty means [PreviewMarkdown].
	QuestionPreview PreviewFormat
	// PlanModeInstructions replace the agent's own for [PermissionModePlan]: initialize
	// planModeInstructions.
	PlanModeInstructions string
	// Sandbox confines the commands that the agent runs. It becomes the member "sandbox" of
	// Settings.JSON, which can't have that member then. Nil leaves it to the settings. Not together
	// with Settings.File.
	Sandbox *sandbox.Settings

	// Agents, MCP servers, plugins, skills, hooks.

	// Agent is the name of the agent that leads the session: --agent. Empty means the usual one.
	Agent string
	// Agents are subagents by name, in addition to the ones in the settings: initialize agents.
	Agents map[string]AgentDefinition
	// MCPServers are MCP servers by name, in addition to the ones in the settings. They become an
	// mcp_set_servers request after initialize, so that their secrets are not on the command line.
	// The names of in-process servers are also in initialize sdkMcpServers. Connect waits until the
	// other servers are connected or fail; in-process servers connect meanwhile.
	MCPServers map[string]MCPServer
	// MCPConfigFiles are files with MCP servers: --mcp-config, once for each.
	MCPConfigFiles []string
	// StrictMCPConfig ignores the MCP servers of the settings: --strict-mcp-config.
	StrictMCPConfig bool
	// Plugins are loaded for this session.
	Plugins []PluginConfig
	// PluginDelivery determines how the agent gets Plugins. Empty means [PluginsByFlag].
	PluginDelivery PluginDelivery
	// Skills are the skills that the agent uses without a question: a rule in --allowedTools for
	// each, and initialize skills. Nil leaves them to the settings, empty means none, and the
	// single name [AllSkills] all of them.
	Skills []string
	// Hooks are called at events of the session: initialize hooks. Not together with Settings.Bare.
	// Connect returns an [*OptionsError] if the agent reports that it did not apply them.
	Hooks map[hook.Event][]hook.Matcher
	// OnElicitation answers questions of MCP servers to the user. Nil declines them.
	OnElicitation ElicitationFunc
	// OnUserDialog answers dialogs that the agent would show to the user. Nil leaves them
	// unanswered.
	OnUserDialog UserDialogFunc
	// SupportedDialogKinds are the dialogs that OnUserDialog can answer: initialize
	// supportedDialogKinds. It needs OnUserDialog.
	SupportedDialogKinds []string
	// OnOAuthToken returns a fresh access token when the agent's own is refused:
	// CLAUDE_CODE_SDK_HAS_OAUTH_REFRESH=1. Nil leaves that to the agent.
	OnOAuthToken OAuthTokenFunc
	// OnHostAuthToken returns a fresh token for the gateway of the host:
	// CLAUDE_CODE_SDK_HAS_HOST_AUTH_REFRESH=1. Nil means that the agent keeps the token that it was
	// started with.
	OnHostAuthToken HostAuthTokenFunc
	// PerTaskStop declares that the caller stops background tasks one by one, so that an interrupt
	// does not stop them: initialize perTaskStopAffordance.
	PerTaskStop bool

	// Reports of the agent.

	// IncludePartialMessages makes the agent send answers while they are written, as
	// [StreamEventMessage]s: --include-partial-messages. A [Collector] adds them up.
	IncludePartialMessages bool
	// IncludeHookEvents makes the agent report the hooks that it runs: --include-hook-events.
	IncludeHookEvents bool
	// ForwardSubagentText makes the agent send the text of its subagents, and everything that their
	// own subagents do: initialize forwardSubagentText.
	ForwardSubagentText bool
	// PromptSuggestions makes the agent suggest a next prompt after each turn: initialize
	// promptSuggestions.
	PromptSuggestions bool
	// AgentProgressSummaries makes the agent sum up the work of its subagents about every 30
	// seconds: initialize agentProgressSummaries.
	AgentProgressSummaries bool
	// ReplayUserMessages makes the agent send back the prompts that it starts with:
	// --replay-user-messages.
	ReplayUserMessages bool
	// VerbatimPrompts marks prompts as written by a program, to be taken literally: client_composed
	// on each. Without it, a prompt that starts with "/" is a command, such as /compact or a skill
	// of the user, and "@name" adds the content of a file. Set it where prompts come from other
	// people, such as in a web server.
	VerbatimPrompts bool

	// Settings.

	// Settings select the agent's settings, and modes that leave out customizations.
	Settings SettingsOptions
	// DisableSlashCommands turns all skills and commands off: --disable-slash-commands.
	DisableSlashCommands bool

	// Watching.

	// Logger gets warnings and debug messages about the session. Nil logs nothing.
	Logger *slog.Logger
	// Trace observes the sessions, for spans and metrics; see package clewotel. Nil means nothing
	// does.
	Trace *Trace
	// Debug helps to find faults: the agent's stderr and debug log, and a recording.
	Debug DebugOptions
}

// SessionOptions select the session: a new one, or one to resume. See [Options.Session].
type SessionOptions struct {
	// Continue resumes the newest session of the working directory: --continue. If the directory
	// has none, Connect returns an [*OptionsError], as far as it can find out: the agent would
	// silently start a new one. Not together with Resume.
	Continue bool
	// Resume is the ID or the title of the session to resume: --resume.
	Resume string
	// Fork gives the resumed session a new ID and leaves the old session as it is: --fork-session.
	Fork bool
	// ID is the ID of the new session, a UUID: --session-id. Empty lets the agent choose
	// one. With Resume or Continue it needs Fork.
	ID string
	// ResumeAt resumes only up to the message with this UUID: --resume-session-at. It needs Resume.
	ResumeAt string
	// ResumeDropsTurn is the turn that ResumeAt is meant to drop, so that the agent can refuse to
	// drop another one: --resume-drops-turn. Nil means no such check; an empty string is sent. It
	// needs ResumeAt.
	ResumeDropsTurn *string
	// Ephemeral keeps the session off the disk, so that it can't be resumed:
	// --no-session-persistence.
	Ephemeral bool
	// Title is the title of the session: initialize title. Empty lets the agent generate one.
	Title string
}

// StoreOptions configure the store of a session. See [Options.Store].
type StoreOptions struct {
	// Store keeps a copy of the session in addition to the agent's own files: --session-mirror.
	// Each entry is in the store before the caller sees the turn's result, and the last ones
	// when the agent ends. Entries that can't be copied in three attempts are reported by a
	// [*wire.MirrorErrorMessage] before the next result, or by [Session.Close], and the session
	// continues.
	//
	// [SessionOptions.Resume], with the ID of a session, and [SessionOptions.Continue] read from
	// the store. The session is written to a temporary directory, which is CLAUDE_CONFIG_DIR until
	// the agent ends. The directory also has those settings of the user that the agent needs:
	// credentials without refresh tokens, .claude.json, and settings.json without plugins, but not
	// the user's CLAUDE.md, agents or skills. This needs an agent on this machine: no
	// [Options.Transport] except a ProcessTransport without Wrap. A session that is not in the
	// store is resumed as without a store, with a warning to [Options.Logger]; then the store gets
	// only what is new, unless sessions.Import copied the rest.
	//
	// Nil means no store. Not together with [SessionOptions.Ephemeral] and
	// [Options.EnableFileCheckpointing].
	Store Store
	// Project is the project in Store that the session belongs to. Empty means the name that
	// the agent gives to its working directory, so that the session is found again only from the
	// same directory.
	Project string
	// Eager copies each entry at once, in the background, instead of in batches.
	Eager bool
	// Timeout limits each call of Store, and all calls together when the agent ends. A call
	// that takes longer is not repeated and not waited for, but delays the calls for the same
	// transcript. 0 means 60 seconds.
	Timeout time.Duration
}

// Limits bound a session: its cost, its time and its memory. See [Options.Limits].
type Limits struct {
	// MaxTurns ends a prompt after this many answers of the model: --max-turns. 0 means no limit.
	MaxTurns int
	// MaxBudgetUSD ends a prompt when the session has cost this much: --max-budget-usd. 0 means no
	// limit.
	MaxBudgetUSD float64
	// Budget is an amount of money that this run shares with others: --max-budget-usd, with the
	// remaining amount. It is not copied. Nil means none.
	Budget *Budget
	// TaskBudget is the number of tokens the model is asked to stay below: --task-budget. 0 means
	// no budget.
	TaskBudget int
	// AutoCompactTokens is the length at which the conversation is compacted, in tokens:
	// --autocompact. 0 leaves it to the agent.
	AutoCompactTokens int
	// IdleTimeout is the time the agent may be silent during a turn. Time in which it waits for an
	// answer or for a slow reader does not count. After it, OnIdle is called or, without OnIdle,
	// the session ends with [ErrIdle]. 0 means no limit.
	IdleTimeout time.Duration
	// OnIdle is called with the length of the silence so far. It needs IdleTimeout.
	OnIdle func(silence time.Duration)
	// InitializeTimeout is the time the agent may take to start and answer. 0 means 60 seconds.
	InitializeTimeout time.Duration
	// ControlTimeout is the time the agent may take to answer a control request, unless the answer
	// depends on a model, a server or a person, such as that to [Session.SideQuestion]. Older
	// agents never answer requests that they do not know. 0 means 60 seconds.
	ControlTimeout time.Duration
	// CloseTimeout is the time the agent may take to exit by itself, and then how long after
	// SIGTERM. In a one-shot run the first one starts with the last result. 0 means 5 seconds.
	CloseTimeout time.Duration
	// MaxFrameBytes is the length of the longest frame that is read. 0 means
	// [wire.DefaultMaxFrameBytes].
	MaxFrameBytes int
	// MaxBacklogBytes limits the unread messages in temporary files, in addition to some megabytes
	// in memory. When it is reached, the agent has to wait as well, unless a control request of the
	// caller waits for its answer. 0 means 256 MiB.
	MaxBacklogBytes int64
}

// SettingsOptions select the agent's settings, and modes that leave out customizations. See [Options.Settings].
type SettingsOptions struct {
	// File is a file with settings that override the user's and the project's: --settings.
	// Not together with JSON.
	File string
	// JSON are such settings as a JSON object: --settings, with a temporary file that only the user
	// can read. With a Transport of your own or a [ProcessTransport.Wrap], the agent may not see
	// that file: then they are on the command line, where other users of the machine can read them.
	JSON wire.JSON
	// Managed are settings that only restrict, like an administrator's, as a JSON object:
	// --managed-settings. The agent ignores them if an administrator made some, unless those allow
	// it.
	Managed wire.JSON
	// Sources are the settings files that the agent reads: --setting-sources, joined by
	// commas. Nil means all, empty none. CLAUDE.md is read only with [SettingSourceProject].
	//
	// With only [SettingSourceUser] the agent uses nothing that [Options.Dir] brings: no settings
	// and hooks, no MCP servers of .mcp.json, no agents, commands, skills and CLAUDE.md.
	Sources []SettingSource
	// ProjectConfigRoot is the directory that the project's settings are read from, such as the
	// trusted checkout that the working directory is a worktree of: --project-config-root. Empty
	// means the working directory.
	ProjectConfigRoot string
	// Bare starts the agent without hooks, plugins, memory, CLAUDE.md and other extras, and without
	// most tools: --bare. Not together with [Options.Hooks].
	Bare bool
	// SafeMode starts the agent without any customization: --safe-mode.
	SafeMode bool
}

// DebugOptions help to find faults. See [Options.Debug].
type DebugOptions struct {
	// Stderr gets the lines that the agent writes to its standard error, without their line ends. The
	// agent never waits for it: while more than a megabyte waits, further lines are left out, and
	// one line in their place has their number. Calls don't overlap. Nil keeps only the end of the
	// output, for errors.
	Stderr func(line string)
	// Enabled makes the agent write a debug log: --debug.
	Enabled bool
	// Categories are the parts of the debug log that are written or, with a "!" in front, are
	// not: --debug=LIST. They turn the log on.
	Categories []string
	// File is the file of the debug log: --debug-file. It turns the log on. Empty means a file
	// below the directory of the agent's settings.
	File string
	// Record gets the dialogue with the agent, a line for each frame in each direction, in the
	// format that clewtest.ReadDialogue reads. Anything that looks like a secret or has the name of
	// one is replaced by ***, in both directions, including in prompts, answers and tool results;
	// personal data stays. A frame that Close cuts off is left out. A write that fails ends the
	// recording. A write that blocks blocks the session, including Close. Nil means no recording.
	Record io.Writer
}
