package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/internal/config"
)

type configOptions struct {
	streams  Streams
	settings *settings
	json     bool
}

const configHelp = `Shows the settings, and where each one comes from: the default, a line of a file,
or a variable. A flag wins over a variable, a variable over the file. The variable
of model is CLEW_MODEL, and so on; only agent_path has CLEW_AGENT, and config_dirs
CLAUDE_CONFIG_DIR.

The file is the first one there is:
  ./clew.yaml            that of the project
  clew/clew.yaml         in your own folder of settings, such as ~/.config
  /etc/clew/clew.yaml    that of the machine
or the one that --config names. Only one is read, and what it does not set has its
default. Paths in it begin in its folder, or with ~ in your home.

A project may be somebody else's. So its file cannot set what runs programs, widens
permissions or names files: allowed_tools, add_dirs, mcp_config, settings,
setting_sources, agent_path, config_dirs, prices and color; and permission_mode
only to default, plan or dontAsk.

An unknown key or a wrong type is an error with its line, and all commands but
doctor, demo, man, completion, version and help end there, with code 4; with code 2
where it is a variable. This one shows all that is wrong before.

Of ANTHROPIC_API_KEY, which the agent gets, it is only shown whether it is set.`

func newConfig(s Streams, st *settings) *cobra.Command {
	o := &configOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings, and where each one comes from",
		Long:  configHelp,
		Example: `  clew config
  clew config --json | jq '.settings[] | select(.from != "default")'
  clew config init --user`,
		Args: noSuchCommand,
		RunE: runE(o.run),
	}
	addOnOff(cmd, &o.json, "json", "print one JSON object")
	cmd.AddCommand(newConfigInit(s, st))
	return cmd
}

func (o *configOptions) run(ctx context.Context, _ []string) error {
	c, err := o.settings.load(ctx)
	if err != nil {
		return errStopped()
	}
	text := o.text(c)
	if o.json {
		line, err := jsonLine(newConfigReport(c))
		if err != nil {
			return err
		}
		text = string(line)
	}
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return outputError(err)
	}
	if len(c.Problems) == 0 {
		return nil
	}
	if !o.json {
		o.complain(c.Problems)
	}
	return &failure{code: problemCode(c.Problems[0]), err: fmt.Errorf("wrong settings: %d", len(c.Problems))}
}

// complain tells what is wrong, if stderr can be written.
func (o *configOptions) complain(problems []config.Problem) {
	for _, p := range problems {
		text := "clew config: " + printable(p.Error())
		if p.Hint != "" {
			text += "\n" + escaped(p.Hint)
		}
		_, _ = fmt.Fprintln(o.streams.Err, text)
	}
}

func (o *configOptions) text(c *config.Config) string {
	var b strings.Builder
	columns := textWidth(o.streams.Out, 0)
	b.WriteString(wrapped("File: "+printable(cmp.Or(c.File, "none")), columns))
	for _, path := range c.PassedOver {
		b.WriteString(wrapped("Not read, since that one comes first: "+printable(path), columns))
	}
	t := newTable("SETTING", "VALUE", "FROM")
	for _, s := range config.All() {
		shown, from := cmp.Or(s.Default, "-"), "default"
		if v, ok := c.Values[s.Key]; ok {
			shown, from = cmp.Or(v.String(), `""`), v.Origin.String()
		}
		t.add(s.Key, shown, from)
	}
	t.add(keyVariable, isSet(keyVariable), "environment")
	b.WriteString("\n")
	t.print(&b, columns)
	return b.String()
}

// keyVariable has the key of the API, which the agent inherits.
const keyVariable = "ANTHROPIC_API_KEY"

func isSet(variable string) string {
	if os.Getenv(variable) == "" {
		return "not set"
	}
	return "set"
}

// A configReport is the settings in JSON.
type configReport struct {
	File       string          `json:"file"`
	PassedOver []string        `json:"passed_over"`
	APIKeySet  bool            `json:"api_key_set"`
	Settings   []settingRecord `json:"settings"`
	Problems   []problemRecord `json:"problems"`
}

type settingRecord struct {
	Key      string `json:"key"`
	Value    any    `json:"value"` // null unless it is set
	From     string `json:"from"`  // default, file or variable
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Variable string `json:"variable"`
	Flag     string `json:"flag,omitempty"`
	Personal bool   `json:"personal"` // the file of a project cannot set it
}

type problemRecord struct {
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Variable string `json:"variable,omitempty"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint,omitempty"`
}

func newConfigReport(c *config.Config) configReport {
	r := configReport{
		File: c.File, PassedOver: append([]string{}, c.PassedOver...), APIKeySet: os.Getenv(keyVariable) != "",
		Problems: []problemRecord{},
	}
	for _, s := range config.All() {
		record := settingRecord{Key: s.Key, From: "default", Variable: s.Variable, Personal: s.Personal}
		if s.Flag != "" {
			record.Flag = "--" + s.Flag
		}
		if v, ok := c.Values[s.Key]; ok {
			record.Value, record.From, record.File, record.Line = v.Data(), "file", v.File, v.Line
			if v.Origin.Variable != "" {
				record.From = "variable"
			}
		}
		r.Settings = append(r.Settings, record)
	}
	for _, p := range c.Problems {
		r.Problems = append(r.Problems, problemRecord{
			File: p.File, Line: p.Line, Column: p.Column, Variable: p.Variable, Reason: p.Reason, Hint: p.Hint,
		})
	}
	return r
}

type configInitOptions struct {
	streams  Streams
	settings *settings
	user     bool
	force    bool
}

const configInitHelp = `Writes a file with all settings as comments: ./clew.yaml, or with --user the one in
your own folder of settings. Nobody else can read it. A file that is there is left
alone, unless --force is given.`

func newConfigInit(s Streams, st *settings) *cobra.Command {
	o := &configInitOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a file of settings, all of them as comments",
		Long:  configInitHelp,
		Example: `  clew config init --user
  clew config init`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	addOnOff(cmd, &o.user, "user", "write the file for yourself instead of that of the project")
	addOnOff(cmd, &o.force, "force", "replace a file that is there")
	return cmd
}

func (o *configInitOptions) run(context.Context, []string) error {
	places := o.settings.places()
	path, project := places.Project, true
	switch {
	case places.File != "" && o.user:
		return &failure{
			code: exitUsage, err: errors.New("--config and --user exclude each other"), hint: "Leave out one of them.",
		}
	case places.File != "":
		path, project = places.File, false
	case o.user && places.User == "":
		return &failure{
			code: exitFailed,
			err:  errors.New("you have no folder of settings: there is no home"),
			hint: "Set HOME, or name a file with --config.",
		}
	case o.user:
		path, project = places.User, false
	}
	if err := writePrivate(path, config.Template(project), o.force); err != nil {
		return o.failure(path, err)
	}
	if _, err := fmt.Fprintln(o.streams.Out, printable(path)); err != nil {
		return outputError(err)
	}
	return nil
}

func (o *configInitOptions) failure(path string, err error) error {
	f := &failure{code: exitFailed, err: fmt.Errorf("%s cannot be written: %w", printable(path), cause(err))}
	if errors.Is(err, fs.ErrExist) {
		f.err = fmt.Errorf("there is a file %s already", printable(path))
		f.hint = "Use --force to replace it."
	}
	return f
}

// writePrivate writes a file that only the user can read, with the folders above it. A file that is there is replaced,
// or makes it fail.
func writePrivate(path, text string, replace bool) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if !replace {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return fill(file, text)
	}
	temp, err := os.CreateTemp(dir, "."+settingsName+"-*") // for the user alone
	if err != nil {
		return err
	}
	if err := fill(temp, text); err != nil {
		return err
	}
	if err := os.Rename(temp.Name(), path); err != nil {
		_ = os.Remove(temp.Name()) // the first error says more
		return err
	}
	return nil
}

// fill writes a new file, which is not left behind half.
func fill(file *os.File, text string) error {
	_, err := file.WriteString(text)
	err = errors.Join(err, file.Close())
	if err != nil {
		_ = os.Remove(file.Name()) // the first error says more
	}
	return err
}
