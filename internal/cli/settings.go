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
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/internal/config"
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
	file    string // named by --config
}

func (s *settings) addFlag(root *cobra.Command) {
	root.PersistentFlags().StringVar(&s.file, "config", "", "read settings only from this `file`")
	_ = root.PersistentFlags().MarkHidden("config")
	addColorFlag(root)
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

func (s *settings) load(ctx context.Context) (*config.Config, error) {
	return await(ctx, func() (*config.Config, error) { return config.Load(s.places()), nil })
}

// A settingsPolicy says what a command does about invalid settings.
type settingsPolicy int

const (
	failOnInvalid settingsPolicy = iota
	warnOnInvalid                // and continue without settings
	ignoreSettings
)

// settingsPolicies lists the commands that work even if settings are invalid. Some of them load the
// settings themselves.
var settingsPolicies = map[string]settingsPolicy{
	"version": warnOnInvalid, "help": warnOnInvalid, "config": ignoreSettings, "doctor": ignoreSettings,
	"completion": ignoreSettings, "man": ignoreSettings, "demo": ignoreSettings,
	cobra.ShellCompRequestCmd: ignoreSettings, cobra.ShellCompNoDescRequestCmd: ignoreSettings,
}

// prepare gives a command its settings, before it runs.
func (s *settings) prepare(cmd *cobra.Command, _ []string) error {
	policy := settingsPolicies[verbOf(cmd)]
	if policy == ignoreSettings {
		return nil
	}
	c, err := s.load(cmd.Context())
	if err != nil {
		return &failure{code: exitInterrupted, command: cmd.CommandPath(), err: errors.New("interrupted")}
	}
	switch {
	case len(c.Problems) == 0 && policy == failOnInvalid:
		return applySettings(cmd, c)
	case len(c.Problems) == 0:
		return nil
	case policy == failOnInvalid:
		return settingsFailure(cmd, c.Problems)
	}
	printError(s.streams.Err, settingsFailure(cmd, c.Problems))
	return nil
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
		return exitUsage
	}
	return exitInput
}

// settingsFailure reports the first problem.
func settingsFailure(cmd *cobra.Command, problems []config.Problem) *failure {
	first := problems[0]
	f := &failure{
		code: problemCode(first), command: cmd.CommandPath(), err: errors.New(printable(first.Error())),
		hint: escaped(first.Hint),
	}
	if more := len(problems) - 1; more > 0 {
		f.hint = strings.TrimSpace(f.hint + fmt.Sprintf("\nRun \"clew config\" to see %d more.", more))
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
			err = applyToProgram(cmd, value)
		} else {
			err = applyToFlag(cmd, value)
		}
		if err != nil {
			problem := config.Problem{Origin: value.Origin, Reason: setting.Key + ": " + err.Error()}
			return settingsFailure(cmd, []config.Problem{problem})
		}
	}
	return nil
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
	flag.Annotations = map[string][]string{settingAnnotation: {value.Setting.Key}}
	if list, ok := flag.Value.(interface{ Replace(values []string) error }); ok {
		return list.Replace(value.Texts)
	}
	return flag.Value.Set(strings.Join(value.Texts, ","))
}

// settingAnnotation marks a flag whose value comes from a setting.
const settingAnnotation = "clew_setting"

func setBySetting(flag *pflag.Flag) bool { return flag.Annotations[settingAnnotation] != nil }

// hasSetting reports whether a setting applies to the command. Another command may have a flag of
// the same name with a different meaning.
func hasSetting(cmd *cobra.Command, setting *config.Setting) bool {
	return slices.Contains(setting.Commands, verbOf(cmd))
}

// applyToProgram sets a setting that has no flag. It is kept in the environment, where it is looked
// up; agents do not inherit the variables of clew.
func applyToProgram(cmd *cobra.Command, value config.Value) error {
	texts := value.Texts
	if value.Setting.Key == "config_dirs" && startsAgent(cmd) {
		texts = texts[:min(1, len(texts))] // an agent takes only one
	}
	return os.Setenv(value.Setting.Variable, strings.Join(texts, value.Setting.Separator()))
}

func startsAgent(cmd *cobra.Command) bool { return cmd.Flags().Lookup("agent-path") != nil }
