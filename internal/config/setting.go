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

// A Kind is what sort of value a setting has.
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
)

// A Setting is something that can be set.
type Setting struct {
	// Key is its name in a file.
	Key  string
	Kind Kind
	// Choices are the values that a Choice can have.
	Choices []string
	// Variable is the one that sets it, too.
	Variable string
	// Shared says that the variable is also read where it counts, so that nobody needs to pass its value on.
	Shared bool
	// Flag is the flag of the commands that it is the value of, unless that is given. Some settings have none.
	Flag     string
	Commands []string
	// Rivals are other flags that decide the same: where one of them is given, the setting does not count.
	Rivals []string
	// Default is what it is unless it is set, or "" if that is nothing, or decided elsewhere.
	Default string
	Doc     string
	// Example is a value as it stands in a file.
	Example string
	// Personal says that the file of a project can't set it.
	Personal bool
	// Harmless are the only values that the file of a project can set it to, if there are some.
	Harmless []string
}

// IsList reports whether it has any number of texts.
func (s *Setting) IsList() bool { return s.Kind == List || s.Kind == FileList }

// All returns the settings, in an order for people to read.
func All() []Setting { return slices.Clone(table) }

// mayBeInProject reports whether the file of a project, which may be somebody else's, can set it to that.
func (s *Setting) mayBeInProject(texts []string) bool {
	if s.Personal {
		return false
	}
	return len(s.Harmless) == 0 || len(texts) == 1 && slices.Contains(s.Harmless, texts[0])
}

// wants says what the value has to be.
func (s *Setting) wants() string {
	switch s.Kind {
	case Choice:
		return "has to be " + joined(s.Choices)
	case Switch:
		return "has to be true or false"
	case Count:
		return "has to be a whole number, 0 or more"
	case Amount:
		return "has to be a number, 0 or more"
	case Duration:
		return "has to be a duration such as 90s or 5m"
	case Zone:
		return "has to be a time zone such as UTC or Europe/Paris"
	case File, Program:
		return "has to be a path"
	case List:
		return "has to be a list of texts, such as " + s.Example
	case FileList:
		return "has to be a list of paths, such as " + s.Example
	}
	return "has to be a text, such as " + s.Example
}

func joined(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// fault says what is wrong with a value, or nothing.
func (s *Setting) fault(texts []string) string {
	for _, text := range texts {
		if !s.fits(text) {
			return s.Key + " " + s.wants()
		}
		if hidden := strings.IndexFunc(text, isHidden); hidden >= 0 || !utf8.ValidString(text) {
			return s.Key + " has a character that cannot be seen"
		}
	}
	if s.Kind == FileList && len(texts) > 1 && s.Flag == "" {
		for _, text := range texts {
			if strings.Contains(text, ",") {
				return fmt.Sprintf("a comma cannot be in one of several %s", s.Key)
			}
		}
	}
	return ""
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
	}
	return true
}

// split returns the texts that a variable has. Paths are apart as in PATH, other lists have commas, of which those
// within brackets belong to a text: "Read,Bash(ls a,b)" is two.
func (s *Setting) split(text string) []string {
	switch {
	case s.Key == "config_dirs":
		return splitWords(text, func(r rune) bool { return r == ',' })
	case s.Kind == FileList:
		return filepath.SplitList(text)
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

// Data returns the value as it would be in JSON.
func (v Value) Data() any {
	if v.Setting.IsList() {
		return append([]string{}, v.Texts...)
	}
	text := v.Texts[0]
	switch v.Setting.Kind {
	case Switch:
		on, _ := strconv.ParseBool(text) // Load has read it before
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

// String returns the value for people to read.
func (v Value) String() string {
	if v.Setting.IsList() {
		return "[" + strings.Join(v.Texts, ", ") + "]"
	}
	return v.Texts[0]
}

var (
	toAgent = []string{"run", "chat"}
	toShow  = []string{"show", "tail"}
	toStats = []string{"stats"}
)

// table has all settings. A file or a folder is personal, since it may hold programs, or what should not be read; so is
// what lets the agent do more.
var table = []Setting{
	{
		Key: "model", Variable: "CLEW_MODEL", Flag: "model", Commands: toAgent, Example: "opus",
		Doc: "Alias or name of the model.",
	},
	{
		Key: "fallback_model", Kind: List, Variable: "CLEW_FALLBACK_MODEL", Flag: "fallback-model", Commands: toAgent,
		Example: "[sonnet, haiku]", Doc: "Models to try while that one is overloaded.",
	},
	{
		Key: "effort", Variable: "CLEW_EFFORT", Flag: "effort", Commands: toAgent, Example: "high",
		Doc: "How much work an answer is worth: low, medium, high, xhigh or max.",
	},
	{
		Key: "timeout", Kind: Duration, Variable: "CLEW_TIMEOUT", Flag: "timeout", Commands: toAgent, Example: "10m",
		Doc: "How long a turn may take; 0s is for ever.",
	},
	{
		Key: "max_turns", Kind: Count, Variable: "CLEW_MAX_TURNS", Flag: "max-turns", Commands: toAgent, Example: "50",
		Doc: "How many answers of the model a prompt may take; 0 is any number.",
	},
	{
		Key: "max_budget_usd", Kind: Amount, Variable: "CLEW_MAX_BUDGET_USD", Flag: "max-budget-usd", Commands: toAgent,
		Example: "2.5", Doc: "How many dollars a session may cost; 0 is no limit.",
	},
	{
		Key: "permission_mode", Variable: "CLEW_PERMISSION_MODE", Flag: "permission-mode", Commands: toAgent,
		Rivals: []string{"dangerously-skip-permissions"}, Example: "plan", Harmless: []string{"default", "plan", "dontAsk"},
		Doc: "What decides whether a tool may run: default, acceptEdits, plan, dontAsk,\nauto or bypassPermissions.",
	},
	{
		Key: "tools", Kind: List, Variable: "CLEW_TOOLS", Flag: "tools", Commands: toAgent,
		Example: "[Read, Grep, Glob]", Doc: "The built-in tools that the agent has; an empty list means none.",
	},
	{
		Key: "allowed_tools", Kind: List, Variable: "CLEW_ALLOWED_TOOLS", Flag: "allowedTools", Commands: toAgent,
		Rivals: []string{"allowed-tools"}, Example: `[Read, "Bash(git log:*)"]`, Personal: true,
		Doc: "Rules for tools that may run without a question.",
	},
	{
		Key: "disallowed_tools", Kind: List, Variable: "CLEW_DISALLOWED_TOOLS", Flag: "disallowedTools", Commands: toAgent,
		Rivals:  []string{"disallowed-tools"},
		Example: "[WebFetch]", Doc: "Rules for tools that may not run.",
	},
	{
		Key: "add_dirs", Kind: FileList, Variable: "CLEW_ADD_DIRS", Flag: "add-dir", Commands: toAgent,
		Example: "[~/notes]", Personal: true, Doc: "Other folders that tools may use.",
	},
	{
		Key: "mcp_config", Kind: FileList, Variable: "CLEW_MCP_CONFIG", Flag: "mcp-config", Commands: toAgent,
		Example: "[servers.json]", Personal: true, Doc: "Files with MCP servers.",
	},
	{
		Key: "strict_mcp_config", Kind: Switch, Variable: "CLEW_STRICT_MCP_CONFIG", Flag: "strict-mcp-config",
		Commands: toAgent, Default: "false", Example: "true",
		Doc: "Whether to use no MCP servers but those of --mcp-config and mcp_config.",
	},
	{
		Key: "settings", Kind: File, Variable: "CLEW_SETTINGS", Flag: "settings", Commands: toAgent,
		Example: "agent.json", Personal: true, Doc: "File with settings of the agent that win over its others.",
	},
	{
		Key: "setting_sources", Kind: List, Variable: "CLEW_SETTING_SOURCES", Flag: "setting-sources", Commands: toAgent,
		Example: "[user, project]", Personal: true,
		Doc: "The agent's own settings that it reads: user, project, local.",
	},
	{
		Key: "agent_path", Kind: Program, Variable: "CLEW_AGENT", Shared: true, Flag: "agent-path", Commands: toAgent,
		Example: "~/bin/claude", Personal: true, Doc: "File of the agent binary.",
	},
	{
		Key: "config_dirs", Kind: FileList, Variable: "CLAUDE_CONFIG_DIR", Shared: true, Example: "[~/.claude]",
		Personal: true,
		Doc:      "Folders in which agents keep their settings and sessions. Agents that clew\nstarts use the first one.",
	},
	{
		Key: "expand", Kind: Switch, Variable: "CLEW_EXPAND", Flag: "expand", Commands: toShow, Default: "false",
		Example: "true", Doc: "Whether to show inputs and results of tools whole.",
	},
	{
		Key: "thinking", Kind: Switch, Variable: "CLEW_THINKING", Flag: "thinking", Commands: toShow, Default: "false",
		Example: "true", Doc: "Whether to show what the agent thought.",
	},
	{
		Key: "timezone", Kind: Zone, Variable: "CLEW_TIMEZONE", Flag: "timezone", Commands: toStats,
		Example: "Europe/Paris", Doc: "Time zone of days in the statistics.",
	},
	{
		Key: "prices", Kind: File, Variable: "CLEW_PRICES", Flag: "prices", Commands: toStats, Example: "prices.json",
		Personal: true, Doc: "File with prices to use besides the built-in ones.",
	},
	{
		Key: "color", Kind: Choice, Choices: []string{"auto", "always", "never"}, Variable: "CLEW_COLOR", Default: "auto",
		Example: "never", Personal: true,
		Doc: "Whether to use colours: auto is on a terminal, without NO_COLOR.",
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

const head = `# Settings of clew. A line without its # counts. Flags win over variables, and
# those over this file. "clew config" shows what is set, and where.
`

const projectHead = `#
# This file belongs to a project: whoever uses that gets these settings in place
# of those of the own file. What could run programs, widen permissions or name
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
			doc += "\nHere it is " + joined(s.Harmless) + "."
		}
		b.WriteString("\n# " + strings.ReplaceAll(doc, "\n", "\n# ") + "\n")
		b.WriteString("#" + s.Key + ": " + s.Example + "\n")
	}
	return b.String()
}
