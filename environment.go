package clew

import (
	"cmp"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clewdev/clew/internal/sessionfile"
	"github.com/clewdev/clew/redact"
)

// agentEntrypoint is the entrypoint of an agent without a terminal. The agent accepts other names,
// and puts them into the User-Agent of its requests, but then offers the model tools that are meant
// for a person at a terminal.
const agentEntrypoint = "sdk-cli"

// foreignVariables are meant for other programs: for the tools, hooks and servers of an agent, of
// which this process may be one; for an agent that another program drives; for an editor; for other
// programs on the same JavaScript runtime. An agent that inherits them behaves like part of another
// session, or does not start.
var foreignVariables = []string{
	"AI_AGENT",
	"BUN_OPTIONS",
	"CLAUDECODE",
	"CLAUDE_AGENT_SDK_VERSION",
	"CLAUDE_CODE_AGENT_PROGRESS_SUMMARIES",
	"CLAUDE_CODE_CHILD_SESSION",
	"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
	"CLAUDE_CODE_ENTRYPOINT",
	"CLAUDE_CODE_EXECPATH",
	"CLAUDE_CODE_MESSAGING_SOCKET",
	"CLAUDE_CODE_MESSAGING_TOKEN",
	"CLAUDE_CODE_QUESTION_EXTENDED",
	"CLAUDE_CODE_QUESTION_OPTIONAL_DESCRIPTIONS",
	"CLAUDE_CODE_QUESTION_PREVIEW_FORMAT",
	"CLAUDE_CODE_SDK_HAS_HOST_AUTH_REFRESH",
	"CLAUDE_CODE_SDK_HAS_OAUTH_REFRESH",
	"CLAUDE_CODE_SDK_READS_SESSION_STATE",
	"CLAUDE_CODE_SDK_READS_STARTUP_MARKS",
	"CLAUDE_CODE_SESSION_ATTENDED",
	"CLAUDE_CODE_SESSION_ID",
	"CLAUDE_CODE_SESSION_KIND",
	"CLAUDE_CODE_SSE_PORT",
	"CLAUDE_EFFORT",
	"CLAUDE_ENV_FILE",
	"CLAUDE_PID",
	"CLAUDE_PLUGIN_DATA",
	"CLAUDE_PLUGIN_ROOT",
	"CLAUDE_PROJECT_DIR",
	"NODE_OPTIONS",
}

// agentEnv returns the whole environment of the agent. inherited is the environment of this
// process.
func agentEnv(o *Options, inherited []string) []string {
	env := environment{fold: runtime.GOOS == "windows"}
	for _, entry := range inherited {
		if inherits(o.InheritEnv, &env, entry) {
			env.set(entry)
		}
	}
	if dirs := env.value("CLAUDE_CONFIG_DIR"); dirs != "" {
		env.set("CLAUDE_CONFIG_DIR=" + sessionfile.AgentConfigDir(dirs))
	}
	for _, entry := range o.Env {
		env.set(entry)
	}
	env.setDefault("CLAUDE_CODE_ENTRYPOINT=" + agentEntrypoint)
	env.setDefault("CLAUDE_CODE_SDK_READS_SESSION_STATE=1")
	env.set("CLAUDE_AGENT_SDK_VERSION=" + sdkVersion())
	if o.EnableFileCheckpointing {
		env.set("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=true")
	}
	if o.OnOAuthToken != nil {
		env.set("CLAUDE_CODE_SDK_HAS_OAUTH_REFRESH=1")
	}
	if o.OnHostAuthToken != nil {
		env.set("CLAUDE_CODE_SDK_HAS_HOST_AUTH_REFRESH=1")
	}
	if o.QuestionPreview != "" {
		env.set("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT=" + string(o.QuestionPreview))
	}
	if dir, err := agentDir(o); err == nil && dir != "" {
		env.set("PWD=" + dir)
	}
	return env.entries
}

// inherits reports whether the agent gets a variable of this process. names are
// [Options.InheritEnv].
func inherits(names []string, env *environment, entry string) bool {
	name := env.name(entry)
	same := func(other string) bool { return env.name(other) == name }
	if names != nil {
		return slices.ContainsFunc(names, same)
	}
	return !strings.HasPrefix(name, "CLEW_") && !slices.ContainsFunc(foreignVariables, same)
}

// An environment holds entries KEY=VALUE, each key once.
type environment struct {
	fold    bool // keys that differ only in case are the same
	entries []string
}

// name returns the key of an entry as it is compared. The hidden keys of Windows start with "=".
func (e *environment) name(entry string) string {
	end := len(entry)
	if i := strings.Index(entry[min(1, end):], "="); i >= 0 {
		end = i + 1
	}
	if e.fold {
		return strings.ToUpper(entry[:end])
	}
	return entry[:end]
}

// set adds an entry, or replaces the one with the same key.
func (e *environment) set(entry string) {
	if i := e.index(entry); i >= 0 {
		e.entries[i] = entry
		return
	}
	e.entries = append(e.entries, entry)
}

// value returns the value of a key, or "".
func (e *environment) value(key string) string {
	i := e.index(key + "=")
	if i < 0 {
		return ""
	}
	_, value, _ := strings.Cut(e.entries[i], "=")
	return value
}

// setDefault adds an entry unless the key is set.
func (e *environment) setDefault(entry string) {
	if e.index(entry) < 0 {
		e.entries = append(e.entries, entry)
	}
}

func (e *environment) index(entry string) int {
	name := e.name(entry)
	return slices.IndexFunc(e.entries, func(other string) bool { return e.name(other) == name })
}

// sdkVersion returns the version of this module in the running program. The modules of Clew have the same
// version, and the program may be built from a clone, where only its own module has one.
var sdkVersion = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return develVersion
	}
	return moduleVersion(info)
})

const (
	modulePath   = "github.com/clewdev/clew"
	develVersion = "0.0.0-devel"
)

func moduleVersion(info *debug.BuildInfo) string {
	for _, module := range append([]*debug.Module{&info.Main}, info.Deps...) {
		ours := module.Path == modulePath || module == &info.Main && strings.HasPrefix(module.Path, modulePath+"/")
		if ours && strings.HasPrefix(module.Version, "v") {
			return module.Version[1:]
		}
	}
	return develVersion
}

// CommandLine returns the command that starts the agent, for people: the variables set by Clew and
// by [Options.Env], the agent binary, and its arguments, quoted for a POSIX shell. It hides the
// values of Env, and other values that look like secrets. It contains neither inherited variables
// nor the contents of requests.
//
// It also works for invalid options. Nil options give the default.
func (o *Options) CommandLine() string {
	if o == nil {
		o = &Options{}
	}
	var words []string
	for _, entry := range agentEnv(o, nil) {
		name, value, ok := strings.Cut(entry, "=")
		if !ok {
			continue
		}
		if slices.Contains(o.Env, entry) {
			value = redact.Masked
		}
		words = append(words, name+"="+quote(value))
	}
	words = append(words, quote(cmp.Or(o.AgentPath, "claude")))
	for _, f := range append(agentFlags(o), agentFlag{args: o.ExtraArgs}) {
		for _, arg := range f.args {
			words = append(words, quote(maskArg(arg)))
		}
	}
	return strings.Join(words, " ")
}

func maskArg(arg string) string {
	name, value, ok := strings.Cut(arg, "=")
	switch {
	case !ok:
		return redact.Mask(arg)
	case redact.SecretName(name):
		return name + "=" + redact.Masked
	}
	return name + "=" + redact.MaskJSON(value)
}

// plainCharacters need no quotes in a shell.
const plainCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+:,./@%"

// quote returns one word of a POSIX shell. Characters that do not print are escaped: a terminal
// could obey them.
func quote(word string) string {
	switch {
	case word != "" && strings.Trim(word, plainCharacters) == "":
		return word
	case !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }):
		quoted := strconv.Quote(word)
		return "$'" + strings.NewReplacer(`\"`, `"`, `'`, `\'`).Replace(quoted[1:len(quoted)-1]) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// configDirs locates an agent's settings on this machine.
type configDirs struct {
	env      environment // the environment of the agent
	settings string      // the directory of its settings
	home     string      // the directory of .claude.json
	fromEnv  bool        // CLAUDE_CONFIG_DIR names them
}

func (o *Options) configDirs() configDirs {
	p := configDirs{env: environment{fold: runtime.GOOS == "windows", entries: agentEnv(o, os.Environ())}}
	if dir := p.env.value("CLAUDE_CONFIG_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(o.workingDir(), dir)
		}
		p.settings, p.home, p.fromEnv = dir, dir, true
		return p
	}
	p.home = homeDir(&p.env)
	p.settings = filepath.Join(p.home, ".claude")
	return p
}

// homeDir returns the home directory of the user, as the agent sees it.
func homeDir(env *environment) string {
	variable := "HOME"
	if runtime.GOOS == "windows" {
		variable = "USERPROFILE"
	}
	if home := env.value(variable); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// workingDir returns the real path of the agent's working directory.
func (o *Options) workingDir() string {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return o.Dir
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// projectNamePattern matches valid values of CLAUDE_CODE_PROJECT_DIR_NAME.
var projectNamePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
})

// project returns the agent's name for the project of a working directory. fromEnv reports whether
// CLAUDE_CONFIG_DIR is set for the agent: only then does it use CLAUDE_CODE_PROJECT_DIR_NAME.
func (p *configDirs) project(dir string, fromEnv bool) string {
	if name := p.env.value("CLAUDE_CODE_PROJECT_DIR_NAME"); fromEnv && projectNamePattern().MatchString(name) {
		return name
	}
	return sessionfile.ProjectName(dir)
}
