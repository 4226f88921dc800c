package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/hookedit"
	"github.com/clewdev/clew/cmd/clew/internal/statusline"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
	agentsettings "github.com/clewdev/clew/settings"
)

type statuslineOptions struct {
	streams Streams
	settingsChange
	format, prices, timezone string
	json, refresh            bool
}

const statuslineHelp = `Print the line that Claude Code shows below its prompt: the model, the use of the
context, limits and time to reset, the cost of the session and of the day, and the
branch.

"clew statusline --install" sets it in your settings.json, and --remove restores what
was there before. Both show what they change, and ask before they do it. Claude Code
then runs the command after each answer, and once a minute.

--format has the names of values in braces, and words between them. A value that is not
known is left out, with the words around it, and so are the least important values if
the line is wider than the terminal (COLUMNS, or 80).

%s
Costs of the day are those of all sessions. They come from a small file, which a process
in the background replaces at most every 30 seconds; it reads only what was added to
transcripts since. Nothing here uses the network, or starts git.

The line has colors unless NO_COLOR is set. Run without Claude Code, at a terminal, the
command shows a line with example values.`

const statuslineName = "statusline"

func newStatusline(s Streams) *cobra.Command {
	o := &statuslineOptions{streams: s}
	cmd := &cobra.Command{
		Use: statuslineName, Short: "Print a status line for Claude Code",
		Long: fmt.Sprintf(statuslineHelp, statusline.Describe()),
		Example: `  clew statusline --install --yes
  clew statusline --install --yes --format "{model} {context} {5h} {today}"
  clew statusline --remove --yes`,
		Args: clikit.AtMost(0), RunE: clikit.RunE(o.run),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.format, "format", "", "what the line shows, such as \"{model} {today}\"")
	flags.StringVar(&o.prices, "prices", "", "`file` with prices that extend or replace the built-in ones")
	flags.StringVar(&o.timezone, "timezone", "", "time `zone` in which the day starts, such as Europe/Berlin")
	clikit.AddOnOff(cmd, &o.json, "json", "print the line and the costs as JSON")
	clikit.AddOnOff(cmd, &o.refresh, "refresh", "compute the costs, and print nothing")
	_ = flags.MarkHidden("refresh") // the flag exists
	o.addFlags(cmd, "the status line")
	return cmd
}

func (o *statuslineOptions) run(ctx context.Context, _ []string) error {
	change, err := o.wanted()
	if err != nil {
		return err
	}
	format, wrong := statusline.ParseFormat(cmp.Or(o.format, statusline.DefaultFormat))
	byHand := clikit.IsTerminal(o.streams.In)
	if wrong != nil && (change || byHand) {
		return clikit.UsageError("--format: "+clikit.Printable(wrong.Error()), "")
	}
	switch {
	case change:
		return o.change(ctx)
	case o.refresh:
		return o.compute(ctx)
	case byHand:
		line := format.Line(statusline.Example(o.now()), o.columns(), clikit.Colored(o.streams.Out))
		return say(o.streams, "With example values, at "+fmt.Sprint(o.columns())+" columns:\n"+line)
	}
	return o.print(ctx, format)
}

// now returns the time in the user's zone.
func (o *statuslineOptions) now() time.Time {
	zone, err := clikit.ParseZone(o.timezone)
	if err != nil {
		zone = time.Local
	}
	return clikit.Now().In(zone)
}

// agentMargin is the number of columns that Claude Code leaves free beside the line.
const agentMargin = 4

func (o *statuslineOptions) columns() int {
	return max(clikit.TextWidth(o.streams.Out, 80)-agentMargin, 1)
}

// print prints the line. The agent shows nothing if that fails, so bad input costs only the fields
// that depend on it.
func (o *statuslineOptions) print(ctx context.Context, format *statusline.Format) error {
	view := o.read(ctx)
	view.Branch = statusline.Branch(view.Dir())
	cache, err := statuslineCache()
	if err == nil {
		view.Facts = cache.Facts()
	}
	// The agent reads the output through a pipe, and shows colors.
	color, _ := clikit.DecideColor(clikit.GivenColor, os.Getenv, true)
	line := format.Line(view, o.columns(), color)
	if o.json {
		line = format.Line(view, o.columns(), false)
		err = clikit.WriteJSON(o.streams.Out, map[string]any{"line": line, "facts": view.Facts, "problem": view.Problem})
	} else {
		_, err = io.WriteString(o.streams.Out, line+"\n")
	}
	if cache != nil && view.Facts.Stale(view.Now) {
		o.startRefresh(cache, view.Now) //nolint:contextcheck // the process outlives this one
	}
	if err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// maxStatusInput limits the size of the input.
const maxStatusInput = 1 << 20

// read reads the agent's input.
func (o *statuslineOptions) read(ctx context.Context) *statusline.View {
	view := &statusline.View{Now: o.now()}
	data, err := clikit.Await(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(o.streams.In, maxStatusInput+1)) })
	switch {
	case err != nil:
		view.Problem = "no input"
	case len(data) > maxStatusInput:
		view.Problem = "input too long"
	case strings.TrimSpace(string(data)) == "":
		view.Problem = "no input"
	default:
		input, err := agentsettings.DecodeStatusLineInput(data)
		if err != nil {
			view.Problem = "invalid input"
			break
		}
		view.Input = *input
	}
	return view
}

// statuslineCache returns the cache for the sessions of this user.
func statuslineCache() (*statusline.Cache, error) {
	dir, err := view.CachePath("statusline")
	if err != nil {
		return nil, err
	}
	roots, err := sessions.Roots()
	if err != nil {
		return nil, err
	}
	return statusline.NewCache(dir, roots), nil
}

// startRefresh starts a process that computes the costs, unless one was started just now. If that
// fails, the line keeps its old values: there is nowhere to report it.
func (o *statuslineOptions) startRefresh(cache *statusline.Cache, now time.Time) {
	start, err := cache.Claim(now)
	if err != nil || !start {
		return
	}
	program, err := executable()
	if err != nil {
		return
	}
	args := []string{statuslineName, "--refresh"}
	for flag, value := range map[string]string{"--prices=": o.prices, "--timezone=": o.timezone} {
		if value != "" {
			args = append(args, flag+value)
		}
	}
	_ = statusline.Start(program, args...) // the next one tries again
}

// compute computes the costs. It takes one processor at most, and ends by itself.
func (o *statuslineOptions) compute(ctx context.Context) error {
	runtime.GOMAXPROCS(1)
	ctx, cancel := context.WithTimeout(ctx, statusline.RefreshTimeout)
	defer cancel()
	prices, err := readPrices(ctx, o.prices)
	if err != nil {
		return err
	}
	cache, err := statuslineCache()
	if err == nil {
		err = cache.Refresh(ctx, prices, o.now())
	}
	if err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	}
	return nil
}

// statusLineSetting is the name of the status line in the agent's settings.
const statusLineSetting = "statusLine"

// refreshSeconds is the interval at which the agent runs the command if nothing happens, so that
// the time until a limit resets is right.
const refreshSeconds = 60

// ownStatusline matches a command that only runs this program, wherever it is, with flags that
// --install writes, quoted in any way. Whatever a user added, such as a pipe, makes it another one.
var ownStatusline = sync.OnceValue(func() *regexp.Regexp {
	const (
		single = `'(?:[^']|'\\'')*`
		word   = "[^\\s'\"|&;<>()$`\\\\]*"
		double = "\"[^\"$`\\\\]*\""
		name   = `clew(?:\.exe)?`
	)
	return regexp.MustCompile(`^(?:` + single + `[/\\]` + name + `'|(?:` + word + `/)?` + name + `) statusline` +
		`(?: +--(?:format|prices|timezone)(?:=| +)(?:` + single + `'|` + double + `|` + word + `))* *$`)
})

// setting returns the value of the setting.
func (o *statuslineOptions) setting() (value, program string, err error) {
	program, err = quotedProgram()
	if err != nil {
		return "", "", err
	}
	prices := o.prices
	if prices != "" {
		if prices, err = filepath.Abs(prices); err != nil { // the agent runs it in other directories
			return "", "", err
		}
	}
	command := program + " " + statuslineName
	for _, flag := range [][2]string{{"--format", o.format}, {"--prices", prices}, {"--timezone", o.timezone}} {
		if flag[1] != "" {
			command += " " + flag[0] + " " + tty.ShellWord(flag[1])
		}
	}
	line, err := clikit.JSONLine(struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Refresh int    `json:"refreshInterval"`
	}{"command", command, refreshSeconds})
	return strings.TrimSpace(string(line)), program, err
}

// change installs or removes the status line.
func (o *statuslineOptions) change(ctx context.Context) error {
	path, before, err := readUserSettings()
	if err != nil {
		return err
	}
	old, err := hookedit.Member(before, statusLineSetting)
	if err != nil {
		return invalidSettings(path, err)
	}
	value, program, err := o.setting()
	if err != nil {
		return err
	}
	kept, err := readReplaced()
	if err != nil {
		return err
	}
	own := isStatusline(old, program)
	switch {
	case o.remove && !own:
		return say(o.streams, "The status line is not installed.")
	case o.remove:
		value = kept[path]
	case compacted(old) == value:
		return say(o.streams, "The status line is installed already.")
	case own: // with other flags: the earlier setting is kept already
	default:
		kept[path] = old
	}
	after, err := hookedit.SetMember(before, statusLineSetting, value)
	if err != nil {
		return invalidSettings(path, err)
	}
	if yes, err := o.confirm(ctx, o.streams, changeText(path, old, value)); err != nil || !yes {
		return err
	}
	if err := o.replace(path, before, after, kept); err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	}
	return say(o.streams, "Done.")
}

// replace writes the settings, and saves the replaced ones.
func (o *statuslineOptions) replace(path, before, after string, kept map[string]string) error {
	if o.remove {
		if err := replaceSettings(path, before, after); err != nil {
			return err
		}
		delete(kept, path)
		return writeReplaced(kept)
	}
	if err := writeReplaced(kept); err != nil {
		return err
	}
	return replaceSettings(path, before, after)
}

// changeText shows a change of the setting.
func changeText(path, old, value string) string {
	text := fmt.Sprintf("This changes the status line in %s:\n", clikit.Printable(path))
	for _, line := range []struct{ sign, value string }{{"-", old}, {"+", value}} {
		if line.value != "" {
			text += fmt.Sprintf("%s %q: %s\n", line.sign, statusLineSetting, clikit.Printable(compacted(line.value)))
		}
	}
	return text
}

// compacted returns JSON without spaces.
func compacted(text string) string {
	var v json.RawMessage
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	line, err := clikit.JSONLine(v)
	if err != nil {
		return text
	}
	return strings.TrimSpace(string(line))
}

// isStatusline reports whether the value of the setting runs this program.
func isStatusline(value, program string) bool {
	var setting struct{ Command string }
	if json.Unmarshal([]byte(value), &setting) != nil {
		return false
	}
	command := setting.Command
	if rest, ok := strings.CutPrefix(command, program+" "); ok { // it may have another name
		command = "clew " + rest
	}
	return ownStatusline().MatchString(command)
}

// replacedName is the name of the file with the settings that the status line replaced, by the path
// of the settings.
const replacedName = "statusline.json"

func readReplaced() (map[string]string, error) {
	kept := map[string]string{}
	path, err := clikit.StateFile(replacedName)
	if err == nil {
		err = clikit.ReadJSON(path, &kept, 1<<20)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &clikit.Failure{
			Code: clikit.ExitInput, Err: fmt.Errorf("what was your status line before can't be read: %s: %s", clikit.Printable(path), clikit.Printable(err.Error())),
			Hint: "Set HOME, or remove the file if you don't need it.",
		}
	}
	if kept == nil { // the file is null
		kept = map[string]string{}
	}
	return kept, nil
}

func writeReplaced(kept map[string]string) error {
	path, err := clikit.StateFile(replacedName)
	if err != nil {
		return err
	}
	for name, value := range kept {
		if value == "" {
			delete(kept, name)
		}
	}
	if len(kept) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	return clikit.WritePrivate(path, string(text)+"\n", true)
}
