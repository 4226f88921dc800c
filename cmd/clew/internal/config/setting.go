package config

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Kind is the type of the value of a setting.
type Kind int

// The kinds of values.
const (
	Text Kind = iota
	Choice
	Switch
	Count
	Amount
	Duration
	Zone
	File
	Program // a file, or the name of one in PATH
	List
	FileList
	Map    // from projects to names, each as PROJECT=NAME
	KeyMap // from actions to keys, each as ACTION=KEYS with spaces between the keys
)

// A Setting describes one setting.
type Setting struct {
	// Key is its name in a file.
	Key  string
	Kind Kind
	// Choices are the possible values of a Choice.
	Choices []string
	// Variable is the environment variable that also sets it.
	Variable string
	// Shared means that the code which uses the value reads the variable itself.
	Shared bool
	// Flag is the flag of Commands that gets the value, unless the flag is given. Some settings
	// have none.
	Flag     string
	Commands []string
	// OverriddenBy are other flags for the same thing. If one of them is given, the setting is
	// ignored.
	OverriddenBy []string
	// Default is the value of a setting that is not set, or "" if it has none or other code
	// decides.
	Default string
	Doc     string
	// Example is a value as it is written in a file.
	Example string
	// Personal means that the file of a project can't set it.
	Personal bool
	// Harmless, if not empty, are the only values that a project's file can set it to.
	Harmless []string
	// Merge determines the effect of a project's file on a value of the user.
	Merge Merge
}

// IsList reports whether the value has any number of elements.
func (s *Setting) IsList() bool { return s.Kind == List || s.Kind == FileList || s.isMap() }

func (s *Setting) isMap() bool { return s.Kind == Map || s.Kind == KeyMap }

// All returns the settings, grouped by subject.
func All() []Setting { return slices.Clone(table) }

// mayBeInProject reports whether a project's file can set the setting to this value.
func (s *Setting) mayBeInProject(texts []string) bool {
	if s.Personal {
		return false
	}
	return len(s.Harmless) == 0 || len(texts) == 1 && slices.Contains(s.Harmless, texts[0])
}

// requirement describes valid values.
func (s *Setting) requirement() string {
	switch s.Kind {
	case Choice:
		return "must be " + joined(s.Choices)
	case Switch:
		return "must be true or false"
	case Count:
		return "must be a whole number, 0 or more"
	case Amount:
		return "must be a number, 0 or more"
	case Duration:
		return "must be a duration such as 90s or 5m"
	case Zone:
		return "must be a time zone such as UTC or Europe/Paris"
	case File, Program:
		return "must be a path"
	case List:
		return "must be a list of texts, such as " + s.Example
	case FileList:
		return "must be a list of paths, such as " + s.Example
	case Map:
		return "must be a map from projects to names, such as " + s.Example
	case KeyMap:
		return "must be a map from actions to keys, such as " + s.Example
	}
	return "must be a text, such as " + s.Example
}

func joined(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// problem describes why a value is not valid, or returns "".
func (s *Setting) problem(texts []string) string {
	for _, text := range texts {
		if !s.fits(text) {
			return s.Key + " " + s.requirement()
		}
		if hidden := strings.IndexFunc(text, isHidden); hidden >= 0 || !utf8.ValidString(text) {
			return s.Key + " has an invisible character"
		}
	}
	if s.Kind == FileList && s.Flag == "" {
		return s.separatorProblem(texts)
	}
	return ""
}

// separatorProblem describes why paths can't be kept in a variable, or returns "".
func (s *Setting) separatorProblem(texts []string) string {
	for _, text := range texts {
		switch {
		case !strings.Contains(text, s.Separator()):
		case s.Key != configDirs:
			return fmt.Sprintf("%q cannot be in a path of %s", s.Separator(), s.Key)
		case len(texts) > 1:
			return fmt.Sprintf("a comma cannot be in one of several %s", s.Key)
		}
	}
	return ""
}

// configDirs is the key of the setting whose variable is the agent's.
const configDirs = "config_dirs"

// Separator returns the separator of list elements in the variable: a comma or, for paths, the
// separator in PATH.
func (s *Setting) Separator() string {
	if s.Kind == FileList && s.Key != configDirs {
		return string(filepath.ListSeparator)
	}
	return ","
}

func isHidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

func (s *Setting) fits(text string) bool {
	switch s.Kind {
	case Choice:
		return slices.Contains(s.Choices, text)
	case Switch:
		_, err := strconv.ParseBool(text)
		return err == nil
	case Count:
		n, err := strconv.Atoi(text)
		return err == nil && n >= 0
	case Amount:
		x, err := strconv.ParseFloat(text, 64)
		return err == nil && x >= 0 && !math.IsInf(x, 0)
	case Duration:
		d, err := time.ParseDuration(text)
		return err == nil && d >= 0
	case Zone:
		_, err := time.LoadLocation(text)
		return err == nil && text != ""
	case Map:
		_, _, ok := CutPair(text)
		return ok
	case KeyMap:
		action, _, _ := CutPair(text)
		return action != ""
	}
	return true
}

// CutPair cuts an element of a [Map] into its two parts, at the last sign of equality: a directory
// may contain one, and a name may not. It returns false if one of them is empty.
func CutPair(text string) (from, to string, ok bool) {
	i := strings.LastIndexByte(text, '=')
	if i < 0 {
		return "", "", false
	}
	from, to = strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
	return from, to, from != "" && to != ""
}

// split splits the value of a variable. Paths are separated as in PATH, and other lists by commas,
// except inside parentheses: "Read,Bash(ls a,b)" has two elements.
func (s *Setting) split(text string) []string {
	switch {
	case s.Key == configDirs:
		return splitWords(text, func(r rune) bool { return r == ',' })
	case s.Kind == FileList:
		return filepath.SplitList(text)
	case s.isMap():
		return splitWords(text, func(r rune) bool { return r == ',' })
	case s.Kind != List:
		return []string{text}
	}
	depth := 0
	return splitWords(text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(depth-1, 0)
		}
		return r == ',' && depth == 0
	})
}

func splitWords(text string, between func(rune) bool) []string {
	var words []string
	for _, word := range strings.FieldsFunc(text, between) {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

// Data returns the value for encoding in JSON.
func (v Value) Data() any {
	if v.Setting.isMap() {
		pairs := map[string]string{}
		for _, text := range v.Texts {
			from, to, _ := CutPair(text) // Load checked it
			pairs[from] = to
		}
		return pairs
	}
	if v.Setting.IsList() {
		return append([]string{}, v.Texts...)
	}
	text := v.Texts[0]
	switch v.Setting.Kind {
	case Switch:
		on, _ := strconv.ParseBool(text) // Load checked it
		return on
	case Count:
		n, _ := strconv.Atoi(text)
		return n
	case Amount:
		x, _ := strconv.ParseFloat(text, 64)
		return x
	}
	return text
}

// String returns the value as text for people.
func (v Value) String() string {
	if v.Setting.isMap() {
		pairs := make([]string, len(v.Texts))
		for i, text := range v.Texts {
			from, to, _ := CutPair(text)
			pairs[i] = from + ": " + to
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	if v.Setting.IsList() {
		return "[" + strings.Join(v.Texts, ", ") + "]"
	}
	return v.Texts[0]
}

var (
	toAgent = []string{"run", "chat", "serve"}
	toShow  = []string{"show", "tail"}
	toStats = []string{"stats"}
	toCosts = []string{"stats", "statusline"}
	toFleet = []string{"submit", "worker", "jobs", "fleet", "serve", "view", ""} // the last one is clew without a command
)

// table has all settings. Files and directories are personal, since they may contain programs or
// private data. So are settings that let the agent do more.
var table = []Setting{
	{
		Key: "model", Variable: "CLEW_MODEL", Flag: "model", Commands: toAgent, Example: "opus",
		Doc: "Alias or name of the model.",
	},
	{
		Key: "fallback_model", Kind: List, Variable: "CLEW_FALLBACK_MODEL", Flag: "fallback-model", Commands: toAgent,
		Example: "[sonnet, haiku]", Doc: "Models to fall back to when the model is overloaded.",
	},
	{
		Key: "effort", Variable: "CLEW_EFFORT", Flag: "effort", Commands: toAgent, Example: "high",
		Doc: "Reasoning effort: low, medium, high, xhigh or max.",
	},
	{
		Key: "timeout", Kind: Duration, Variable: "CLEW_TIMEOUT", Flag: "timeout", Commands: toAgent, Example: "10m",
		Doc:   "Time limit of a turn; 0s means no limit.",
		Merge: Lowers,
	},
	{
		Key: "max_turns", Kind: Count, Variable: "CLEW_MAX_TURNS", Flag: "max-turns", Commands: toAgent, Example: "50",
		Doc:   "Maximum number of answers to a prompt; 0 means no limit.",
		Merge: Lowers,
	},
	{
		Key: "max_budget_usd", Kind: Amount, Variable: "CLEW_MAX_BUDGET_USD", Flag: "max-budget-usd", Commands: toAgent,
		Example: "2.5", Doc: "Maximum cost of a session in dollars; 0 means no limit.",
		Merge: Lowers,
	},
	{
		Key: "permission_mode", Variable: "CLEW_PERMISSION_MODE", Flag: "permission-mode", Commands: toAgent,
		OverriddenBy: []string{"dangerously-skip-permissions"}, Example: "plan", Harmless: []string{"default", "plan", "dontAsk"},
		Doc:   "Permission mode: default, acceptEdits, plan, dontAsk, auto or\nbypassPermissions.",
		Merge: Tightens,
	},
	{
		Key: "tools", Kind: List, Variable: "CLEW_TOOLS", Flag: "tools", Commands: toAgent,
		Example: "[Read, Grep, Glob]", Doc: "Built-in tools of the agent; an empty list means none.",
		Merge: Shrinks,
	},
	{
		Key: "allowed_tools", Kind: List, Variable: "CLEW_ALLOWED_TOOLS", Flag: "allowedTools", Commands: toAgent,
		OverriddenBy: []string{"allowed-tools"}, Example: `[Read, "Bash(git log:*)"]`, Personal: true,
		Doc: "Rules for tools that may run without asking.",
	},
	{
		Key: "disallowed_tools", Kind: List, Variable: "CLEW_DISALLOWED_TOOLS", Flag: "disallowedTools", Commands: toAgent,
		OverriddenBy: []string{"disallowed-tools"},
		Example:      "[WebFetch]", Doc: "Rules for tools that may not run.",
		Merge: Joins,
	},
	{
		Key: "add_dirs", Kind: FileList, Variable: "CLEW_ADD_DIRS", Flag: "add-dir", Commands: toAgent,
		Example: "[~/notes]", Personal: true, Doc: "Additional directories that tools may use.",
	},
	{
		Key: "mcp_config", Kind: FileList, Variable: "CLEW_MCP_CONFIG", Flag: "mcp-config", Commands: toAgent,
		Example: "[servers.json]", Personal: true, Doc: "Files with MCP servers.",
	},
	{
		Key: "strict_mcp_config", Kind: Switch, Variable: "CLEW_STRICT_MCP_CONFIG", Flag: "strict-mcp-config",
		Commands: toAgent, Default: "false", Example: "true",
		Doc:   "Whether to use only MCP servers from --mcp-config and mcp_config.",
		Merge: SwitchesOn,
	},
	{
		Key: "settings", Kind: File, Variable: "CLEW_SETTINGS", Flag: "settings", Commands: toAgent,
		Example: "agent.json", Personal: true, Doc: "File with settings for the agent that override its others.",
	},
	{
		Key: "setting_sources", Kind: List, Variable: "CLEW_SETTING_SOURCES", Flag: "setting-sources", Commands: toAgent,
		Example: "[user, project]", Personal: true,
		Doc: "Settings that the agent reads: user, project, local.",
	},
	{
		Key: "agent_path", Kind: Program, Variable: "CLEW_AGENT", Shared: true, Flag: "agent-path",
		Commands: append([]string{"worker"}, toAgent...),
		Example:  "~/bin/claude", Personal: true, Doc: "Path of the agent binary.",
	},
	{
		Key: "config_dirs", Kind: FileList, Variable: "CLAUDE_CONFIG_DIR", Shared: true, Example: "[~/.claude]",
		Personal: true,
		Doc:      "Directories in which agents keep their settings and sessions. Agents that\nclew starts use the first one.",
	},
	{
		Key: "archive", Variable: "CLEW_ARCHIVE", Example: "~/archive", Personal: true,
		Doc: "Archive in which \"clew archive\" keeps sessions, and which all commands that\nread sessions also read: an absolute directory, sqlite:FILE or nats://SERVER.",
	},
	{
		Key: "machine", Variable: "CLEW_MACHINE", Example: "laptop", Personal: true,
		Doc: "Name of this machine in the archive; by default the name of the host.",
	},
	{
		Key: "fleet", Variable: "CLEW_FLEET", Flag: "fleet", Commands: toFleet, Example: "nats://fleet.example:4222?sync=always",
		Personal: true, Doc: "Fleet that runs jobs: a URL or a directory; by default that of this machine.",
	},
	{
		Key: "fleet_credentials", Kind: File, Variable: "CLEW_FLEET_CREDENTIALS", Flag: "fleet-credentials", Commands: toFleet,
		Example: "~/fleet.json", Personal: true, Doc: "File that says who connects to the URL of the fleet.",
	},
	{
		Key: "trusted_dirs", Kind: FileList, Variable: "CLEW_TRUSTED_DIRS", Example: "[~/work]", Personal: true,
		Doc: "Directories whose projects may run programs as hooks and MCP servers.",
	},
	{
		Key: "expand", Kind: Switch, Variable: "CLEW_EXPAND", Flag: "expand", Commands: toShow, Default: "false",
		Example: "true", Doc: "Whether to show complete tool inputs and results.",
	},
	{
		Key: "thinking", Kind: Switch, Variable: "CLEW_THINKING", Flag: "thinking", Commands: toShow, Default: "false",
		Example: "true", Doc: "Whether to show the agent's thinking.",
	},
	{
		Key: "timezone", Kind: Zone, Variable: "CLEW_TIMEZONE", Flag: "timezone", Commands: toCosts,
		Example: "Europe/Paris", Doc: "Time zone of days in the statistics.",
	},
	{
		Key: "prices", Kind: File, Variable: "CLEW_PRICES", Flag: "prices", Commands: toCosts, Example: "prices.json",
		Personal: true, Doc: "File with prices that are added to the built-in ones.",
	},
	{
		Key: "project_aliases", Kind: Map, Variable: "CLEW_PROJECT_ALIASES", Flag: "alias", Commands: toStats,
		Example:  `{~/code/shop-v2: shop, "~/clients/acme/*": acme}`,
		Personal: true, // a project could hide the cost of another one
		Doc:      "Names for projects in the statistics, by directory or name. A * stands for\nany part of a name. Projects with the same alias are counted together.",
	},
	{
		Key: "keys", Kind: KeyMap, Variable: "CLEW_KEYS", Example: `{half-down: ctrl+d, follow: [F, ctrl+t]}`, Personal: true,
		Doc: "Keys of the viewer, by action. An action has one key or a list of them, which\nreplace the usual ones. \"clew view --help\" lists the actions.",
	},
	{
		Key: "color", Kind: Choice, Choices: []string{"auto", "always", "never"}, Variable: "CLEW_COLOR", Default: "auto",
		Example: "never", Personal: true,
		Doc: "Whether to use color: auto means on a terminal, without NO_COLOR.",
	},
	{
		Key: "notify", Kind: Switch, Variable: "CLEW_NOTIFY", Default: "true", Example: "false", Personal: true,
		Doc: "Whether run and chat notify you (by the bell and the terminal) when a turn\nends or a question waits, and you have not typed for 10 seconds.",
	},
}

// find returns the setting of that key, or nil.
func find(key string) *Setting {
	for i := range table {
		if table[i].Key == key {
			return &table[i]
		}
	}
	return nil
}

const head = `# Settings of clew. Remove the # of a line to set it. Flags override environment
# variables, and those override files. "clew config" prints the settings.
`

const projectHead = `#
# This file belongs to a project: everyone who works there gets these settings
# with those in their own file. It can restrict the agent more than their own
# file does, but not less. Settings that run programs, widen permissions or name
# files elsewhere cannot be set here.
`

// Template returns a file with all settings as comments, of a project or of a user.
func Template(project bool) string {
	var b strings.Builder
	b.WriteString(head)
	if project {
		b.WriteString(projectHead)
	}
	for i := range table {
		s := &table[i]
		if project && s.Personal {
			continue
		}
		doc := s.Doc
		if project && len(s.Harmless) > 0 {
			doc += "\nIn this file: " + joined(s.Harmless) + "."
		}
		b.WriteString("\n# " + strings.ReplaceAll(doc, "\n", "\n# ") + "\n")
		b.WriteString("#" + s.Key + ": " + s.Example + "\n")
	}
	return b.String()
}
