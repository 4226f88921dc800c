package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/config"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
	agentsettings "github.com/clewdev/clew/settings"
)

// checkLimit is the time limit of a doctor check.
var checkLimit = 10 * time.Second

type doctorOptions struct {
	streams  Streams
	settings *settings
	now      func() time.Time
	limit    time.Duration // for each check
	json     bool
}

const doctorHelp = `Check what clew and the agent need on this machine, and suggest how to fix problems:
the agent binary and its version, the key or login, settings files, the
directories of transcripts and their sizes, when the agent deletes old
transcripts, transcript entries that clew does not know, and the terminal.

Each line is ok, a note, a warning or a problem. The exit code is 1 if there is a
problem. Doctor changes nothing, shows no secrets, and stops a check after 10
seconds. It runs the agent only to ask for its version.

With --json, print one object with the list "checks". Each check has the members
check, state, found and advice, and some have details.`

func newDoctor(s Streams, st *settings) *cobra.Command {
	o := &doctorOptions{streams: s, settings: st, now: time.Now, limit: checkLimit}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine for problems",
		Long:  doctorHelp,
		Example: `  clew doctor
  clew doctor --json | jq '.checks[] | select(.state == "problem")'`,
		Args: clikit.AtMost(0),
	}
	cmd.RunE = clikit.RunE(func(ctx context.Context, _ []string) error { return o.run(ctx, cmd) })
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object")
	return cmd
}

// A diagnosis is a finding of a check.
type diagnosis struct {
	Check   string     `json:"check"`
	State   checkState `json:"state"`
	Found   string     `json:"found"`
	Advice  string     `json:"advice,omitempty"`
	Details any        `json:"details,omitempty"`
}

// A checkState is the severity of a finding.
type checkState string

const (
	stateOK      checkState = "ok"
	stateNote    checkState = "note"
	stateWarning checkState = "warning"
	stateProblem checkState = "problem"
)

// A check examines one subject until its context ends.
type check struct {
	name string
	run  func(ctx context.Context) []diagnosis
}

func (o *doctorOptions) run(ctx context.Context, cmd *cobra.Command) error {
	c, err := o.settings.load(ctx)
	if err != nil {
		return clikit.Stopped()
	}
	if err := applySettings(cmd, c); err != nil {
		return err
	}
	found := o.examine(ctx, o.checks(c))
	if ctx.Err() != nil {
		return clikit.Stopped()
	}
	if err := o.print(found); err != nil {
		return clikit.OutputError(err)
	}
	problems := 0
	for _, d := range found {
		if d.State == stateProblem {
			problems++
		}
	}
	switch problems {
	case 0:
		return nil
	case 1:
		return errors.New("found 1 problem")
	}
	return fmt.Errorf("found %d problems", problems)
}

func (o *doctorOptions) checks(c *config.Config) []check {
	transcripts := newTranscriptSet(o.now())
	return []check{
		{"clew", checkBuild},
		{"agent", func(ctx context.Context) []diagnosis { return checkAgent(ctx, c.Values["agent_path"]) }},
		{"login", func(context.Context) []diagnosis { return checkLogin() }},
		{"settings", func(context.Context) []diagnosis { return checkSettings(c) }},
		{"agent settings", func(context.Context) []diagnosis { return checkAgentSettings() }},
		{"transcripts", transcripts.checkFolders},
		{"retention", transcripts.checkRetention},
		{"format", transcripts.checkFormat},
		{"search index", func(context.Context) []diagnosis { return checkIndex(view.IndexPath) }},
		{"terminal", func(context.Context) []diagnosis { return checkTerminal(o.streams) }},
	}
}

// examine runs the checks concurrently, and returns their findings in order.
func (o *doctorOptions) examine(ctx context.Context, checks []check) []diagnosis {
	results := make([]chan []diagnosis, len(checks))
	limited, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	for i, c := range checks {
		results[i] = make(chan []diagnosis, 1)
		go func() { results[i] <- c.run(limited) }()
	}
	activity := clikit.StartActivity(o.streams.Err, "checking")
	defer activity.End()
	end := time.NewTimer(o.limit + grace)
	defer end.Stop()
	var all []diagnosis
	for i, c := range checks {
		activity.Now("checking: " + c.name)
		all = append(all, o.await(ctx, results[i], c.name, end)...)
	}
	return all
}

// grace is the time for a check to notice that its time is over.
const grace = 500 * time.Millisecond

// await waits for a check. It gives up a check that hangs in a system call.
func (o *doctorOptions) await(ctx context.Context, result <-chan []diagnosis, name string, end *time.Timer) []diagnosis {
	select {
	case found := <-result:
		return named(found, name)
	case <-end.C:
		end.Reset(0) // for the others
	case <-ctx.Done():
		return nil
	}
	select {
	case found := <-result: // it ended just now
		return named(found, name)
	default:
	}
	return []diagnosis{{
		Check: name, State: stateWarning, Found: fmt.Sprintf("gave up after %v", o.limit),
		Advice: "Check whether the disk is slow or a network directory is unreachable.",
	}}
}

func named(found []diagnosis, name string) []diagnosis {
	for i := range found {
		found[i].Check = name
	}
	return found
}

func (o *doctorOptions) print(found []diagnosis) error {
	text := ""
	if o.json {
		line, err := clikit.JSONLine(map[string][]diagnosis{"checks": found})
		if err != nil {
			return err
		}
		text = string(line)
	} else {
		text = doctorText(found, clikit.TextWidth(o.streams.Out, 0), clikit.Colored(o.streams.Out))
	}
	_, err := io.WriteString(o.streams.Out, text)
	return err
}

// doctorText returns the findings in two columns or, on a narrow terminal, as paragraphs.
func doctorText(found []diagnosis, columns int, color bool) string {
	const label = len("problem  agent settings  ")
	indent := label
	if columns > 0 && columns < clikit.Narrow {
		indent = min(2, columns/4)
	}
	room, advice := 0, "> "
	if columns > 0 {
		room = max(columns-indent, 1)
	}
	if columns > 0 && columns < 8 {
		advice = ""
	}
	var b strings.Builder
	for _, d := range found {
		head := fmt.Sprintf("%-7s  %-14s  ", d.State, d.Check)
		if indent < label {
			head = strings.TrimSpace(head)
			if tty.Width(head) > columns {
				head = strings.Join(tty.Wrap(strings.Join(strings.Fields(head), " "), columns), "\n")
			}
			head += "\n" + strings.Repeat(" ", indent)
		}
		lines := clikit.WrapMarked(clikit.Printable(d.Found), "", room)
		if d.Advice != "" {
			lines = append(lines, clikit.WrapMarked(clikit.Printable(d.Advice), advice, room)...)
		}
		text := head + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
		b.WriteString(painted(text, d.State, color))
	}
	return b.String()
}

// painted colors the first word of a text by its state.
func painted(text string, state checkState, color bool) string {
	styles := map[checkState]tty.Style{
		stateOK: tty.Success, stateNote: tty.Path, stateWarning: tty.Waiting, stateProblem: tty.Failure,
	}
	rest, ok := strings.CutPrefix(text, string(state))
	if !ok {
		return text
	}
	return styles[state].Paint(string(state), color) + rest
}

type terminalDetails struct {
	Stdin   bool   `json:"stdin"` // whether it is a terminal
	Stdout  bool   `json:"stdout"`
	Stderr  bool   `json:"stderr"`
	Columns int    `json:"columns,omitempty"`
	Term    string `json:"term"`
	Colors  string `json:"colors"`
	UTF8    bool   `json:"utf8"`
}

// checkTerminal reports the abilities of the terminal.
func checkTerminal(s Streams) []diagnosis {
	d := terminalDetails{
		Stdin: clikit.IsTerminal(s.In), Stdout: clikit.IsTerminal(s.Out), Stderr: clikit.IsTerminal(s.Err), Term: os.Getenv("TERM"),
		Colors: colorDepth(s), UTF8: speaksUTF8(),
	}
	if !d.Stdout {
		return []diagnosis{{State: stateOK, Found: "stdout is not a terminal: plain output", Details: d}}
	}
	d.Columns = clikit.TerminalWidth(s.Out)
	found := fmt.Sprintf("%d columns, TERM is %s, colors: %s", d.Columns, cmp.Or(d.Term, "not set"), d.Colors)
	state, advice := stateOK, ""
	switch {
	case !d.UTF8:
		state, found = stateWarning, found+"; the locale is not UTF-8"
		advice = "Set LANG to a UTF-8 locale such as C.UTF-8, or characters may look wrong."
	case clikit.Dumb():
		state, advice = stateNote, "Set TERM to a terminal that can clear a line to get colors and progress."
	case d.Columns < clikit.Narrow:
		state, advice = stateNote, fmt.Sprintf("Lists show more with %d or more columns.", clikit.Narrow)
	case !d.Stdin || !d.Stderr:
		state, advice = stateNote, "To answer permission requests, stdin and stderr must also be terminals."
	}
	return []diagnosis{{State: state, Found: found, Advice: advice, Details: d}}
}

// colorDepth returns the number of colors or, if the terminal does not decide, the reason.
func colorDepth(s Streams) string {
	switch color, by := clikit.DecideColor(clikit.GivenColor, os.Getenv, clikit.IsTerminal(s.Out)); {
	case color && by != "":
		return "always, from " + by
	case by != "":
		return "none, from " + by
	case !color:
		return "none"
	}
	switch os.Getenv("COLORTERM") {
	case "truecolor", "24bit":
		return "16 million"
	}
	if strings.Contains(os.Getenv("TERM"), "256color") {
		return "256"
	}
	return "16"
}

// speaksUTF8 reports whether the locale uses UTF-8. On Windows and macOS, terminals always do.
func speaksUTF8() bool {
	return runtime.GOOS == "windows" || runtime.GOOS == "darwin" || termio.UTF8Locale()
}

type indexDetails struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// checkIndex reports on the search index. The next search repairs it.
func checkIndex(place func() (string, error)) []diagnosis {
	path, err := place()
	if err != nil {
		return []diagnosis{{
			State: stateNote, Found: "no directory for it: " + err.Error(),
			Advice: "Set XDG_CACHE_HOME or HOME, or search with --no-index.",
		}}
	}
	d := indexDetails{Path: path}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []diagnosis{{State: stateOK, Found: "not built yet; the first search builds it", Details: d}}
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("not a file")
	case err == nil:
		d.Bytes = info.Size()
		err = looksLikeSQLite(path)
	}
	if err != nil {
		return []diagnosis{{
			State: stateWarning, Found: fmt.Sprintf("%s: %v", path, clikit.Cause(err)),
			Advice: "Delete it: the next search builds it again.", Details: d,
		}}
	}
	found := fmt.Sprintf("%s, written %s, %s", wording.Size(d.Bytes), info.ModTime().Local().Format(wording.DateTime), path)
	return []diagnosis{{State: stateOK, Found: found, Details: d}}
}

func looksLikeSQLite(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	magic := []byte("SQLite format 3\x00")
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(file, head); err != nil || !bytes.Equal(head, magic) {
		return errors.New("damaged")
	}
	return nil
}

// checkSettings reports on clew's settings.
func checkSettings(c *config.Config) []diagnosis {
	var all []diagnosis
	for _, p := range c.Problems {
		all = append(all, diagnosis{State: stateProblem, Found: p.Error(), Advice: p.Hint})
	}
	if len(all) > 0 {
		return all
	}
	found := "no clew.yaml; \"clew config init --user\" writes one"
	switch len(c.Files) {
	case 0:
	case 1:
		found = c.Files[0] + " is valid"
	default:
		found = strings.Join(c.Files, " and ") + " are valid"
	}
	all = append(all, diagnosis{State: stateOK, Found: found})
	for _, v := range c.Ignored {
		all = append(all, diagnosis{
			State:  stateNote,
			Found:  fmt.Sprintf("%s of %s not used, because %s is stricter", v.Setting.Key, v.Sources(), v.For.Sources()),
			Advice: "Your own settings hold in every project. Use a flag for a single run.",
		})
	}
	return append(all, strangeVariables(os.Environ())...)
}

// strangeVariables reports variables that look like settings but are not.
func strangeVariables(environ []string) []diagnosis {
	strangers := config.UnknownVariables(environ)
	var all []diagnosis
	for _, name := range slices.Sorted(maps.Keys(strangers)) {
		d := diagnosis{State: stateNote, Found: name + " is set, but is not a variable of clew", Advice: "Unset it."}
		if near := strangers[name]; near != "" {
			d.Advice = "Did you mean " + near + "?"
		}
		all = append(all, d)
	}
	return all
}

// agentSettingsFiles returns the files that an agent reads in this directory, the weakest first.
func agentSettingsFiles() []agentsettings.File {
	var files []agentsettings.File
	if roots, err := sessions.Roots(); err == nil {
		for _, root := range roots {
			files = append(files, userSettings(root)...)
		}
	}
	sources := []agentsettings.Source{agentsettings.Project, agentsettings.Local}
	here, err := os.Getwd()
	if err != nil {
		sources = []agentsettings.Source{} // only the administrator's
	}
	others, err := agentsettings.Resolve(&agentsettings.Options{Dir: here, Sources: sources})
	if err != nil {
		return files
	}
	for _, f := range others.Files {
		if rel, err := filepath.Rel(here, f.Path); err == nil && f.Source != agentsettings.Managed {
			f.Path = rel
		}
		files = append(files, f)
	}
	return files
}

// userSettings returns the user's settings file in a directory of the agent, if there is one.
func userSettings(root string) []agentsettings.File {
	resolved, err := agentsettings.Resolve(&agentsettings.Options{ConfigDir: root, Sources: []agentsettings.Source{agentsettings.User}})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(resolved.Files, func(f agentsettings.File) bool { return f.Source != agentsettings.User })
}

// setting decodes a member of a settings file, and reports whether the file has it with that type.
func setting[T any](f agentsettings.File, name string) (value T, ok bool) {
	var object map[string]json.RawMessage
	_ = json.Unmarshal([]byte(f.Settings), &object) // an invalid file has none
	member, ok := object[name]
	return value, ok && json.Unmarshal(member, &value) == nil
}

// checkAgentSettings checks whether the agent can read its settings.
func checkAgentSettings() []diagnosis {
	var all []diagnosis
	var right []string
	for _, f := range agentSettingsFiles() {
		if f.Err == nil {
			right = append(right, f.Path)
			continue
		}
		all = append(all, diagnosis{
			State: stateWarning, Found: fmt.Sprintf("%s: %v", f.Path, clikit.Cause(errors.Unwrap(f.Err))),
			Advice: "Fix it: the agent ignores it or refuses to start.",
		})
	}
	if len(all) > 0 {
		return all
	}
	if len(right) == 0 {
		return []diagnosis{{State: stateOK, Found: "none"}}
	}
	return []diagnosis{{State: stateOK, Found: strings.Join(right, ", ")}}
}
