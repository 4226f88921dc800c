package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/config"
	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/internal/tty"
)

type configOptions struct {
	streams  Streams
	settings *settings
	json     bool
}

const configHelp = `Show all settings and where each value comes from: the default, a line of a file,
or an environment variable. Flags take precedence over variables, and variables
over files. The variable for model is CLEW_MODEL, and so on, with two exceptions:
CLEW_AGENT for agent_path and CLAUDE_CONFIG_DIR for config_dirs.

Clew reads only the file that --config names, or all of these that exist:
  /etc/clew/clew.yaml    settings of the machine
  clew/clew.yaml         your settings, in a directory such as ~/.config
  ./clew.yaml            settings of the project
Your file overrides that of the machine. Relative paths in a file start from its
directory, and ~ is your home directory.

Since a project may come from someone else, its file cannot set anything that runs
programs, widens permissions or names files: allowed_tools, add_dirs, mcp_config,
settings, setting_sources, agent_path, config_dirs, archive, machine, fleet,
fleet_credentials, trusted_dirs, prices, project_aliases, keys, color and notify. It
can set permission_mode only to default, plan or dontAsk. It can make a restriction in
your file stricter, but not looser. Clew uses the stricter permission_mode; the lower
timeout, max_turns and max_budget_usd; the tools that both files have in tools; the
tools that either has in disallowed_tools; and strict_mcp_config if either file turns
it on. All other settings of the project override yours.

project_aliases names projects in the statistics, by directory or by name:
  project_aliases:
    ~/code/shop-v2: shop
    "~/clients/acme/*": acme
In CLEW_PROJECT_ALIASES, the first of them is ~/code/shop-v2=shop, and a comma
separates it from the next one.

An unknown key or a value of the wrong type is an error. Except for doctor, demo,
man, completion, version and help, all commands then exit with code 4, or with
code 2 if a variable is wrong. This command shows all errors first.

ANTHROPIC_API_KEY is passed to the agent; only whether it is set is shown.`

func newConfig(s Streams, st *settings) *cobra.Command {
	o := &configOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings and where they come from",
		Long:  configHelp,
		Example: `  clew config
  clew config --json | jq '.settings[] | select(.from != "default")'
  clew config init --user`,
		Args: clikit.NoSuchCommand,
		RunE: clikit.RunE(o.run),
	}
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object")
	cmd.AddCommand(newConfigInit(s, st))
	return cmd
}

func (o *configOptions) run(ctx context.Context, _ []string) error {
	c, err := o.settings.load(ctx)
	if err != nil {
		return clikit.Stopped()
	}
	if v, ok := c.Values["keys"]; ok {
		if _, err := keymapOf(v); err != nil {
			c.Problems = append(c.Problems, keysProblem(v, err))
		}
	}
	if v, ok := c.Values["color"]; ok {
		if err := os.Setenv(v.Setting.Variable, v.Texts[0]); err != nil {
			return err
		}
	}
	text := configText(c, isSet(keyVariable), canvas{width: clikit.TextWidth(o.streams.Out, 0), color: clikit.Colored(o.streams.Out)})
	if o.json {
		line, err := clikit.JSONLine(newConfigReport(c))
		if err != nil {
			return err
		}
		text = string(line)
	}
	if _, err := io.WriteString(o.streams.Out, text); err != nil {
		return clikit.OutputError(err)
	}
	if len(c.Problems) == 0 {
		return nil
	}
	if !o.json {
		o.printProblems(c.Problems)
	}
	return &clikit.Failure{Code: problemCode(c.Problems[0]), Err: fmt.Errorf("invalid settings: %d", len(c.Problems))}
}

// printProblems prints invalid settings.
func (o *configOptions) printProblems(problems []config.Problem) {
	for _, p := range problems {
		text := clikit.Printable(p.Error())
		if p.Hint != "" {
			text += "\n" + clikit.Printable(p.Hint)
		}
		clikit.Remark(o.streams.Err, tty.Failure, "clew config", text)
	}
}

// configText returns the files, the values that are not used, and all settings.
func configText(c *config.Config, apiKey string, on canvas) string {
	var b strings.Builder
	note := func(label, text string, style tty.Style) {
		lines := tty.Wrap(label+clikit.Printable(text), on.width)
		rest, whole := strings.CutPrefix(lines[0], label)
		if !whole {
			label, rest = "", lines[0]
		}
		lines[0] = rest
		b.WriteString(tty.Dim.Paint(label, on.color) + style.Paint(strings.Join(lines, "\n"), on.color) + "\n")
	}
	for _, path := range c.Files {
		note("File: ", path, tty.Path)
	}
	if len(c.Files) == 0 {
		note("File: ", "none", tty.Dim)
	}
	for _, v := range c.Ignored {
		text := fmt.Sprintf("%s %s of %s, because %s is stricter", v.Setting.Key, v.String(), v.Sources(), v.For.Sources())
		note("Not used: ", text, tty.Waiting)
	}
	b.WriteString("\n")
	rows := settingRows(c, apiKey)
	if on.width > 0 && on.width < clikit.Narrow {
		for i := range rows {
			rows[i].list(&b, on)
		}
		return b.String()
	}
	t := clikit.NewTable("SETTING", "VALUE", "FROM")
	t.Color = on.color
	for _, row := range rows {
		t.AddClean(row.key, row.value, row.from)
		t.Style(row.styles()...)
	}
	t.Print(&b, on.width)
	return b.String()
}

// A settingRow is a setting on the screen, in clean texts.
type settingRow struct {
	key, value, from string
	isSet            bool
}

func settingRows(c *config.Config, apiKey string) []settingRow {
	var rows []settingRow
	for _, s := range config.All() {
		row := settingRow{key: s.Key, value: cmp.Or(s.Default, "-"), from: "default"}
		if v, ok := c.Values[s.Key]; ok {
			v = shownValue(v)
			row = settingRow{key: s.Key, value: clikit.Printable(cmp.Or(v.String(), `""`)), from: clikit.Printable(v.Sources()), isSet: true}
		}
		rows = append(rows, row)
	}
	return append(rows, settingRow{key: keyVariable, value: apiKey, from: "environment", isSet: apiKey == "set"})
}

// shownValue returns a value without the archive's password.
func shownValue(v config.Value) config.Value {
	if v.Setting.Key == "archive" && len(v.Texts) > 0 {
		v.Texts = []string{engine.Archive{Name: v.Texts[0]}.Shown()}
	}
	return v
}

// styles returns the styles of the key, the value and its origin. A value that is not set is secondary.
func (r *settingRow) styles() []tty.Style {
	if r.isSet {
		return []tty.Style{tty.Plain, tty.Strong, tty.Path}
	}
	return []tty.Style{tty.Plain, tty.Dim, tty.Dim}
}

// list writes a setting on a narrow screen: the value beside the key or, if it is long, below it, and
// then where a value that is set comes from. Nothing is cut.
func (r *settingRow) list(b *strings.Builder, on canvas) {
	const column, indented, minIndented = len(keyVariable) + clikit.CellGap, 2, 12
	indent := indented
	if on.width < minIndented {
		indent = 0
	}
	styles := r.styles()
	below := func(text string, style tty.Style) {
		for _, line := range tty.Wrap(text, on.width-indent) {
			b.WriteString(strings.Repeat(" ", indent) + style.Paint(line, on.color) + "\n")
		}
	}
	if column+tty.Width(r.value) <= on.width {
		b.WriteString(clikit.Pad(r.key, column, false) + styles[1].Paint(r.value, on.color) + "\n")
	} else {
		b.WriteString(clikit.Wrapped(r.key, on.width))
		below(r.value, styles[1])
	}
	if r.isSet {
		below("from "+r.from, styles[2])
	}
}

// keyVariable is the variable with the API key, which the agent inherits.
const keyVariable = "ANTHROPIC_API_KEY"

func isSet(variable string) string {
	if os.Getenv(variable) == "" {
		return "not set"
	}
	return "set"
}

// A configReport is the JSON output.
type configReport struct {
	Files     []string        `json:"files"`
	APIKeySet bool            `json:"api_key_set"`
	Settings  []settingRecord `json:"settings"`
	Ignored   []ignoredRecord `json:"ignored"` // values of the project that are less strict
	Problems  []problemRecord `json:"problems"`
}

type settingRecord struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // null if it is not set
	From  string `json:"from"`  // default, file or variable
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"`
	// With lists the origins of further parts of the value.
	With     []originRecord `json:"with,omitempty"`
	Variable string         `json:"variable"`
	Flag     string         `json:"flag,omitempty"`
	Personal bool           `json:"personal"` // a project's file cannot set it
}

type originRecord struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

type ignoredRecord struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	File  string `json:"file"`
	Line  int    `json:"line"`
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
		Files: append([]string{}, c.Files...), APIKeySet: os.Getenv(keyVariable) != "",
		Ignored: []ignoredRecord{}, Problems: []problemRecord{},
	}
	for _, s := range config.All() {
		r.Settings = append(r.Settings, newSettingRecord(c, &s))
	}
	for _, v := range c.Ignored {
		r.Ignored = append(r.Ignored, ignoredRecord{Key: v.Setting.Key, Value: v.Data(), File: v.File, Line: v.Line})
	}
	for _, p := range c.Problems {
		r.Problems = append(r.Problems, problemRecord{
			File: p.File, Line: p.Line, Column: p.Column, Variable: p.Variable, Reason: p.Reason, Hint: p.Hint,
		})
	}
	return r
}

func newSettingRecord(c *config.Config, s *config.Setting) settingRecord {
	record := settingRecord{Key: s.Key, From: "default", Variable: s.Variable, Personal: s.Personal}
	if s.Flag != "" {
		record.Flag = "--" + s.Flag
	}
	v, ok := c.Values[s.Key]
	if !ok {
		return record
	}
	record.Value, record.From, record.File, record.Line = shownValue(v).Data(), "file", v.File, v.Line
	if v.Origin.Variable != "" {
		record.From = "variable"
	}
	for _, other := range v.Others {
		record.With = append(record.With, originRecord{File: other.File, Line: other.Line})
	}
	return record
}

type configInitOptions struct {
	streams  Streams
	settings *settings
	user     bool
	force    bool
}

const configInitHelp = `Write a file with all settings as comments: ./clew.yaml, or with --user the file
in your settings directory. Only you can read it. An existing file is not
overwritten without --force.`

func newConfigInit(s Streams, st *settings) *cobra.Command {
	o := &configInitOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a settings file with all settings as comments",
		Long:  configInitHelp,
		Example: `  clew config init --user
  clew config init`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	clikit.AddOnOff(cmd, &o.user, "user", "write your own settings file instead of the project's")
	clikit.AddOnOff(cmd, &o.force, "force", "overwrite an existing file")
	return cmd
}

func (o *configInitOptions) run(context.Context, []string) error {
	places := o.settings.places()
	path, project := places.Project, true
	switch {
	case places.File != "" && o.user:
		return &clikit.Failure{
			Code: clikit.ExitUsage, Err: errors.New("--config can't be used with --user"), Hint: "Leave out one of them.",
		}
	case places.File != "":
		path, project = places.File, false
	case o.user && places.User == "":
		return &clikit.Failure{
			Code: clikit.ExitFailed,
			Err:  errors.New("there is no settings directory: the home directory is not known"),
			Hint: "Set HOME, or give a file with --config.",
		}
	case o.user:
		path, project = places.User, false
	}
	if err := clikit.WritePrivate(path, config.Template(project), o.force); err != nil {
		return o.failure(path, err)
	}
	if _, err := fmt.Fprintln(o.streams.Out, clikit.Printable(path)); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

func (o *configInitOptions) failure(path string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return &clikit.Failure{
			Code: clikit.ExitFailed, Err: fmt.Errorf("%s already exists", clikit.Printable(path)), Hint: "Use --force to overwrite it.",
		}
	}
	return clikit.Unwritable(path, err)
}
