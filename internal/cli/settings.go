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

	"github.com/clewdev/clew/internal/config"
)

// settingsName is what files of settings are called.
const settingsName = "clew.yaml"

// Where files of settings are, besides the working folder. Tests have others.
var (
	userSettingsDir   = os.UserConfigDir
	systemSettingsDir = "/etc"
)

// The settings are what files and variables say about the flags of commands.
type settings struct {
	streams Streams
	file    string // that --config names
}

func (s *settings) addFlag(root *cobra.Command) {
	root.PersistentFlags().StringVar(&s.file, "config", "", "`file` of settings to read, and no other one")
	_ = root.PersistentFlags().MarkHidden("config")
}

// hideConfigFlag keeps a flag that all commands have out of the help of cmd, unless that is about it.
func hideConfigFlag(cmd *cobra.Command) {
	if flag := cmd.Root().PersistentFlags().Lookup("config"); flag != nil {
		verb := verbOf(cmd)
		flag.Hidden = verb != "" && verb != "config" && verb != "doctor"
	}
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
	p.Home, _ = os.UserHomeDir() // without one, ~ stays as it is
	return p
}

func (s *settings) load(ctx context.Context) (*config.Config, error) {
	return await(ctx, func() (*config.Config, error) { return config.Load(s.places()), nil })
}

// A tolerance is what a command does about wrong settings.
type tolerance int

const (
	ends  tolerance = iota
	tells           // and goes on without settings
	ignores
)

// tolerances are those of the commands that work whatever is wrong. Some of them look at the settings themselves.
var tolerances = map[string]tolerance{
	"version": tells, "help": tells, "config": ignores, "doctor": ignores, "completion": ignores, "man": ignores,
	"demo":                    ignores,
	cobra.ShellCompRequestCmd: ignores, cobra.ShellCompNoDescRequestCmd: ignores,
}

// prepare gives a command its settings, before it runs.
func (s *settings) prepare(cmd *cobra.Command, _ []string) error {
	tolerance := tolerances[verbOf(cmd)]
	if tolerance == ignores {
		return nil
	}
	c, err := s.load(cmd.Context())
	if err != nil {
		return &failure{code: exitInterrupted, command: cmd.CommandPath(), err: errors.New("interrupted")}
	}
	switch {
	case len(c.Problems) == 0 && tolerance == ends:
		return applySettings(cmd, c)
	case len(c.Problems) == 0:
		return nil
	case tolerance == ends:
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

// problemCode is the code to exit with: a file that is wrong is a bad input, a variable bad usage.
func problemCode(p config.Problem) int {
	if p.Variable != "" {
		return exitUsage
	}
	return exitInput
}

// settingsFailure tells of the first problem.
func settingsFailure(cmd *cobra.Command, problems []config.Problem) *failure {
	first := problems[0]
	f := &failure{
		code: problemCode(first), command: cmd.CommandPath(), err: errors.New(printable(first.Error())),
		hint: escaped(first.Hint),
	}
	if more := len(problems) - 1; more > 0 {
		f.hint = strings.TrimSpace(f.hint + fmt.Sprintf("\nRun \"clew config\" to see %d more of this.", more))
	}
	return f
}

// applySettings sets the flags of cmd that were not given. They count as given from then on.
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
	if list, ok := flag.Value.(interface{ Replace(values []string) error }); ok {
		return list.Replace(value.Texts)
	}
	return flag.Value.Set(strings.Join(value.Texts, ","))
}

// hasSetting reports whether a setting is about that command: another one may have a flag of the same name that means
// something else.
func hasSetting(cmd *cobra.Command, setting *config.Setting) bool {
	return slices.Contains(setting.Commands, verbOf(cmd))
}

// applyToProgram sets what no flag stands for. It is kept in the environment, where it is looked up; agents do not
// inherit variables of clew.
func applyToProgram(cmd *cobra.Command, value config.Value) error {
	texts := value.Texts
	if value.Setting.Key == "config_dirs" && startsAgent(cmd) {
		texts = texts[:min(1, len(texts))] // an agent can have one only
	}
	return os.Setenv(value.Setting.Variable, strings.Join(texts, ","))
}

func startsAgent(cmd *cobra.Command) bool { return cmd.Flags().Lookup("agent-path") != nil }
