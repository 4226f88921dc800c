package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/config"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/internal/pricelist"
	agentsettings "github.com/clewdev/clew/settings"
)

// settingsName is the name of settings files.
const settingsName = "clew.yaml"

// The directories of settings files other than the working directory. Tests replace them.
var (
	userSettingsDir   = os.UserConfigDir
	systemSettingsDir = "/etc"
)

// The settings are values for flags, from files and from environment variables.
type settings struct {
	streams Streams
	file    string      // named by --config
	keys    *keymap.Map // of the viewer; nil means the usual ones
	agent   string      // the agent binary in a file
	from    string      // the archive that --from names
	values  map[string]config.Value
}

// agentPath returns the agent binary of the settings, or "" if a variable or the path decide.
func (s *settings) agentPath() string { return s.agent }

func (s *settings) addFlag(root *cobra.Command) {
	root.PersistentFlags().StringVar(&s.file, "config", "", "read settings only from this `file`")
	_ = root.PersistentFlags().MarkHidden("config")
	addFromFlag(root, &s.from)
	clikit.AddColorFlag(root)
}

// hideGlobalFlags hides flags that all commands have from the help of cmd: --config unless cmd is
// about settings, and --color unless cmd is the program.
func hideGlobalFlags(cmd *cobra.Command) {
	verb := verbOf(cmd)
	hide := func(name string, hidden bool) {
		if flag := cmd.Root().PersistentFlags().Lookup(name); flag != nil {
			flag.Hidden = hidden
		}
	}
	hide("config", verb != "" && verb != "config" && verb != "doctor")
	hide("color", verb != "")
	hide("from", verb != "" && verb != "restore")
}

// places returns where settings are looked for.
func (s *settings) places() config.Sources {
	p := config.Sources{File: s.file, Project: settingsName, Getenv: os.Getenv}
	if dir, err := userSettingsDir(); err == nil {
		p.User = filepath.Join(dir, "clew", settingsName)
	}
	if runtime.GOOS != "windows" {
		p.System = filepath.Join(systemSettingsDir, "clew", settingsName)
	}
	p.Home, _ = os.UserHomeDir() // without one, ~ is not expanded
	return p
}

// setKeys takes the keys from the settings, or reports which of them can't be used.
func (s *settings) setKeys(cmd *cobra.Command, c *config.Config) error {
	value, ok := c.Values["keys"]
	if !ok {
		return nil
	}
	keys, err := keymapOf(value)
	if err != nil {
		return settingsFailure(cmd, []config.Problem{keysProblem(value, err)})
	}
	s.keys = keys
	return nil
}

func keysProblem(value config.Value, err error) config.Problem {
	return config.Problem{
		Origin: value.Origin, Reason: "keys: " + err.Error(), Hint: `Run "clew view --help" for the actions and their keys.`,
	}
}

func keymapOf(value config.Value) (*keymap.Map, error) {
	changed := map[string][]string{}
	for _, text := range value.Texts {
		action, keys, _ := config.CutPair(text) // it was checked
		changed[action] = strings.Fields(keys)
	}
	return keymap.New(changed)
}

func (s *settings) load(ctx context.Context) (*config.Config, error) {
	return clikit.Await(ctx, func() (*config.Config, error) { return config.Load(s.places()), nil })
}

// A settingsPolicy determines how a command treats invalid settings.
type settingsPolicy int

const (
	failOnInvalid settingsPolicy = iota
	warnOnInvalid                // and continue without settings
	useIfValid                   // and continue without settings otherwise
	ignoreSettings
)

// settingsPolicies lists the commands that work even if settings are invalid. Some of them load the
// settings themselves.
var settingsPolicies = map[string]settingsPolicy{
	"version": warnOnInvalid, "help": warnOnInvalid, "config": ignoreSettings, "doctor": ignoreSettings,
	"completion": ignoreSettings, "man": ignoreSettings, "demo": ignoreSettings, "statusline": useIfValid,
	cobra.ShellCompRequestCmd: ignoreSettings, cobra.ShellCompNoDescRequestCmd: ignoreSettings,
}

// prepare gives a command its settings, before it runs.
func (s *settings) prepare(cmd *cobra.Command, _ []string) error {
	if err := checkFrom(cmd); err != nil {
		return err
	}
	policy := settingsPolicies[verbOf(cmd)]
	if policy == ignoreSettings {
		return nil
	}
	c, err := s.load(cmd.Context())
	if err != nil {
		return &clikit.Failure{Code: clikit.ExitInterrupted, Command: cmd.CommandPath(), Err: errors.New("interrupted")}
	}
	s.values = c.Values
	switch {
	case len(c.Problems) == 0 && policy == failOnInvalid:
		if path := c.Values["agent_path"]; path.File != "" { // the variable is read elsewhere
			s.agent = path.Texts[0]
		}
		if err := s.setKeys(cmd, c); err != nil {
			return err
		}
		if err := applySettings(cmd, c); err != nil {
			return err
		}
		if err := applyPrices(cmd, c); err != nil {
			return err
		}
		return s.readArchive(cmd)
	case len(c.Problems) == 0 && policy == useIfValid:
		clikit.PrintError(s.streams.Err, applySettings(cmd, c))
		return nil
	case len(c.Problems) == 0:
		return nil
	case policy == failOnInvalid:
		return settingsFailure(cmd, c.Problems)
	}
	clikit.PrintError(s.streams.Err, settingsFailure(cmd, c.Problems))
	return nil
}

// applyFolders applies the directories of sessions in the settings.
func (s *settings) applyFolders(ctx context.Context, cmd *cobra.Command) {
	c, err := s.load(ctx)
	if err != nil {
		return
	}
	if dirs := c.Values["config_dirs"]; dirs.File != "" {
		_ = applyToProgram(dirs) // without them, there are fewer sessions
	}
	_ = keepConfigDir(cmd) // otherwise, there are more of them
}

// applyFleet applies the settings that locate the jobs.
func (s *settings) applyFleet(ctx context.Context, cmd *cobra.Command) {
	c, err := s.load(ctx)
	if err != nil {
		return
	}
	for _, key := range []string{"fleet", "fleet_credentials"} {
		if value, ok := c.Values[key]; ok {
			_ = applyToFlag(cmd, value) // without it, this machine's jobs are used
		}
	}
}

// verbOf returns the name of the command below the root that cmd belongs to, or "" for the root.
func verbOf(cmd *cobra.Command) string {
	name := ""
	for ; cmd.HasParent(); cmd = cmd.Parent() {
		name = cmd.Name()
	}
	return name
}

// problemCode returns the exit code: an invalid file is bad input, an invalid variable bad usage.
func problemCode(p config.Problem) int {
	if p.Variable != "" {
		return clikit.ExitUsage
	}
	return clikit.ExitInput
}

// settingsFailure reports the first problem.
func settingsFailure(cmd *cobra.Command, problems []config.Problem) *clikit.Failure {
	first := problems[0]
	f := &clikit.Failure{
		Code: problemCode(first), Command: cmd.CommandPath(), Err: errors.New(clikit.Printable(first.Error())),
		Hint: clikit.Printable(first.Hint),
	}
	if more := len(problems) - 1; more > 0 {
		f.Hint = strings.TrimSpace(f.Hint + fmt.Sprintf("\nRun \"clew config\" to see %d more.", more))
	}
	return f
}

// applySettings sets the flags of cmd that were not given. They count as given afterwards.
func applySettings(cmd *cobra.Command, c *config.Config) error {
	for _, setting := range config.All() {
		value, ok := c.Values[setting.Key]
		if !ok || setting.Shared && value.Variable != "" {
			continue
		}
		var err error
		if setting.Flag == "" {
			err = applyToProgram(value)
		} else {
			err = applyToFlag(cmd, value)
		}
		if err != nil {
			problem := config.Problem{Origin: value.Origin, Reason: setting.Key + ": " + err.Error()}
			return settingsFailure(cmd, []config.Problem{problem})
		}
	}
	return keepConfigDir(cmd)
}

// keepConfigDir leaves a command that starts an agent only the directory of that agent, which finds
// no sessions elsewhere. The pages of serve show the others as well.
func keepConfigDir(cmd *cobra.Command) error {
	dir := firstConfigDir()
	if dir == "" || !startsAgent(cmd) || verbOf(cmd) == "serve" {
		return nil
	}
	return os.Setenv("CLAUDE_CONFIG_DIR", dir)
}

// costVerbs are the commands without --prices that show costs which they compute.
var costVerbs = []string{"", "chat", "export", "ls", "mcp", "run", "search", "serve", "show", "tail", "view", "worker"}

// applyPrices makes the commands with costs compute them with the prices of the settings.
func applyPrices(cmd *cobra.Command, c *config.Config) error {
	value, ok := c.Values["prices"]
	if !ok || !slices.Contains(costVerbs, verbOf(cmd)) {
		return nil
	}
	prices, err := readPrices(cmd.Context(), value.Texts[0])
	if f, ok := errors.AsType[*clikit.Failure](err); ok {
		f.Command = cmd.CommandPath()
	}
	if err == nil {
		pricelist.Use(prices)
	}
	return err
}

func applyToFlag(cmd *cobra.Command, value config.Value) error {
	flag := cmd.Flags().Lookup(value.Setting.Flag)
	if flag == nil || flag.Changed || !hasSetting(cmd, value.Setting) {
		return nil
	}
	for _, rival := range value.Setting.OverriddenBy {
		if cmd.Flags().Changed(rival) {
			return nil
		}
	}
	flag.Changed = true
	flag.Annotations = map[string][]string{clikit.SettingAnnotation: {value.Setting.Key}}
	if list, ok := flag.Value.(interface{ Replace(values []string) error }); ok {
		return list.Replace(value.Texts)
	}
	return flag.Value.Set(strings.Join(value.Texts, ","))
}

// hasSetting reports whether a setting applies to the command. Another command may have a flag of
// the same name with a different meaning.
func hasSetting(cmd *cobra.Command, setting *config.Setting) bool {
	return slices.Contains(setting.Commands, verbOf(cmd))
}

// applyToProgram sets a setting that has no flag. It is kept in the environment, where it is looked
// up; agents do not inherit the variables of clew.
func applyToProgram(value config.Value) error {
	name := value.Setting.Variable
	if value.File != "" && strings.HasPrefix(name, "CLEW_") {
		ownVariables = append(ownVariables, name)
	}
	return os.Setenv(name, strings.Join(value.Texts, value.Setting.Separator()))
}

// ownVariables are the variables that applyToProgram set to a value from a file.
var ownVariables []string

// agentEnviron returns the environment for an agent that runs as its users run it: without the values
// from files, such as the archive with its password, which the agent's tools could print, and with
// one directory in CLAUDE_CONFIG_DIR, as package clew gives it to agents.
func agentEnviron() []string {
	environ := slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(ownVariables, name)
	})
	if dir := firstConfigDir(); dir != "" {
		environ = append(environ, "CLAUDE_CONFIG_DIR="+dir) // the last one counts
	}
	return environ
}

// firstConfigDir returns the directory that an agent gets of several in CLAUDE_CONFIG_DIR, or "" if
// it does not have several.
func firstConfigDir() string {
	if !strings.Contains(os.Getenv("CLAUDE_CONFIG_DIR"), ",") {
		return ""
	}
	dir, _ := agentsettings.Dir() // without a home, it is ""
	return dir
}

func startsAgent(cmd *cobra.Command) bool { return cmd.Flags().Lookup("agent-path") != nil }

// variable returns the value of a setting that comes from an environment variable, or "".
func (s *settings) variable(key string) string {
	if v, ok := s.values[key]; ok && v.Variable != "" {
		return strings.Join(v.Texts, v.Setting.Separator())
	}
	return ""
}
