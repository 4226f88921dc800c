package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/internal/demo"
	"github.com/clewdev/clew/internal/render"
)

type demoOptions struct {
	streams  Streams
	settings *settings
	yes      bool
	fast     bool
	real     bool
	dir      string
	agent    string // the agent binary, or "" for the usual one
}

const demoHelp = `Shows what clew does, in a minute, with no key, no network and no agent installed.

A simulated agent plays a recording of Claude Code: it mends a script whose test
fails, sends a subagent to look for the cause, and asks before it changes the
file. What it wrote down is then listed, shown, searched, counted and exported to
a page. The commands are those that you would type, and they are really run.

The question is put to you, and a no is a no. With --yes, and where there is no
terminal, the demo answers it. Pauses are only made on a terminal.

With --real, Claude Code itself does the task: its tools, its permissions and its
transcript are real, and only the model is scripted, on this machine. It gets
nothing of your settings, and needs no key either.

All files are in one folder, a temporary one unless --dir names another, and stay
there for you to go on with.`

func newDemo(s Streams, st *settings) *cobra.Command {
	o := &demoOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what clew does, without key, network or agent",
		Long:  demoHelp,
		Example: `  clew demo
  clew demo --yes --fast | less
  clew demo --real --dir /tmp/tour`,
		Args: atMost(0),
		RunE: runE(o.run),
	}
	addOnOff(cmd, &o.yes, "yes", "answer the question with yes")
	addOnOff(cmd, &o.fast, "fast", "make no pauses")
	addOnOff(cmd, &o.real, "real", "have the installed Claude Code do it, over a scripted model")
	cmd.Flags().StringVar(&o.dir, "dir", "", "`folder` for all files, a new or an empty one (default a temporary one)")
	return cmd
}

func (o *demoOptions) run(ctx context.Context, _ []string) error {
	if !isTerminal(o.streams.Out) {
		o.fast = true
	}
	if err := o.takeSettings(ctx); err != nil {
		return err
	}
	dir, err := o.folder()
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "claude")
	t := &tour{demoOptions: o, ctx: ctx, dir: dir, config: config}
	t.print(o.introduction())
	if err := t.task(); err != nil { //nolint:contextcheck // a tour has its own
		o.discard(dir)
		return err
	}
	defer withEnv(demoEnv(dir, config))()
	for _, step := range t.steps() {
		if err := t.command(step); err != nil { //nolint:contextcheck // commands get theirs when they run
			return err
		}
	}
	t.print(t.closing())
	if t.err != nil {
		return outputError(t.err)
	}
	return nil
}

// takeSettings takes what is about this machine, and not about the commands: colours, and where the agent is. A wrong
// file is no reason not to have a tour.
func (o *demoOptions) takeSettings(ctx context.Context) error {
	c, err := o.settings.load(ctx)
	if err != nil {
		return errStopped()
	}
	if path := c.Values["agent_path"]; path.File != "" { // the variable is read elsewhere
		o.agent = path.String()
	}
	if color, ok := c.Values["color"]; ok {
		return os.Setenv(color.Setting.Variable, color.String())
	}
	return nil
}

// folder makes the folder for all files.
func (o *demoOptions) folder() (string, error) {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "clew-demo-")
		if err != nil {
			return "", &failure{
				code: exitFailed, err: fmt.Errorf("there is no temporary folder: %w", cause(err)), hint: "Name a folder with --dir.",
			}
		}
		return dir, nil
	}
	dir, err := filepath.Abs(o.dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("the folder %s cannot be made: %w", printable(o.dir), cause(err))
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		return "", &failure{
			code: exitUsage, err: fmt.Errorf("the folder %s is not empty", printable(o.dir)), hint: "Name a new one with --dir.",
		}
	}
	return dir, nil
}

// discard removes a folder in which there is nothing to go on with, unless the user has named it.
func (o *demoOptions) discard(dir string) {
	if o.dir == "" {
		_ = os.RemoveAll(dir) // what can't be removed is one more temporary folder
	}
}

func (o *demoOptions) introduction() string {
	who := "A simulated agent plays a recording of Claude Code: no key, no network, nothing to install."
	if o.real {
		who = "Claude Code does the task, over a scripted model on this machine: no key, no network."
	}
	columns := textWidth(o.streams.Out, 100)
	lines := render.Wrap(who, columns)
	lines = append(lines, render.Wrap("The task: slug.sh makes titles fit for addresses, and its test fails.", columns)...)
	return strings.Join(lines, "\n") + "\n"
}

// tourEnv keeps the commands of a tour away from the files of the user.
func demoEnv(dir, config string) map[string]string {
	home := filepath.Join(dir, "home")
	return map[string]string{
		"CLAUDE_CONFIG_DIR": config, "HOME": home, "USERPROFILE": home,
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "AppData": filepath.Join(home, "AppData", "Roaming"),
		"XDG_CACHE_HOME": filepath.Join(home, ".cache"), "LocalAppData": filepath.Join(home, "AppData", "Local"),
	}
}

// withEnv sets variables of this process, and returns what sets them back.
func withEnv(variables map[string]string) (restore func()) {
	old := map[string]*string{}
	for name, value := range variables {
		if was, ok := os.LookupEnv(name); ok {
			old[name] = &was
		} else {
			old[name] = nil
		}
		_ = os.Setenv(name, value) // it fails for names and values that no system takes
	}
	return func() {
		for name, was := range old {
			if was == nil {
				_ = os.Unsetenv(name)
			} else {
				_ = os.Setenv(name, *was)
			}
		}
	}
}

// A tour is a demo that is under way.
type tour struct {
	*demoOptions
	ctx         context.Context
	dir, config string
	err         error // of stdout
}

func (t *tour) print(text string) {
	if t.err == nil {
		_, t.err = io.WriteString(t.streams.Out, text)
	}
}

// head shows a command as it would be typed.
func (t *tour) head(args ...string) error {
	t.pause(time.Second)
	line := "$ clew"
	for _, arg := range args {
		line += " " + quoteArg(arg)
	}
	if colored(t.streams.Out) {
		line = "\x1b[1;36m" + line + "\x1b[0m"
	}
	t.print("\n" + line + "\n")
	t.pause(600 * time.Millisecond)
	switch {
	case t.ctx.Err() != nil:
		return errStopped()
	case t.err != nil:
		return outputError(t.err)
	}
	return nil
}

// quoteArg returns an argument as a shell takes it.
func quoteArg(arg string) string {
	switch {
	case strings.ContainsAny(arg, `"$\`+"`"):
		arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
	case strings.ContainsAny(arg, " \t'()*?[]{}<>|&;#~!"):
		arg = `"` + arg + `"`
	}
	return printable(arg)
}

// pause gives time to read.
func (t *tour) pause(d time.Duration) {
	if t.fast {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ctx.Done():
	}
}

// task runs the agent on the task.
func (t *tour) task() error {
	if err := t.head("run", "--allowedTools", demo.Allowed, demo.Prompt); err != nil {
		return err
	}
	if t.real {
		return t.realTask()
	}
	return t.playTask()
}

func (t *tour) playTask() error {
	player := &demo.Player{}
	opts := &clew.Options{Transport: player}
	if !t.fast {
		opts.Transport = demo.AtPace(player)
	}
	if err := t.converse(opts); err != nil {
		return err
	}
	return player.Recording().Lay(t.config, time.Now())
}

// realTask runs Claude Code over a scripted model. What the model reports is an error only if the run succeeded:
// otherwise the run's own error says more.
func (t *tour) realTask() (err error) {
	work := filepath.Join(t.dir, "slug")
	if err := demo.Lay(work); err != nil {
		return err
	}
	model, err := demo.StartModel(t.ctx, work, t.fast)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, model.Close()) }()
	opts := model.Options(work, t.config)
	opts.AgentPath = t.agent
	err = t.converse(opts)
	var f *failure
	if errors.As(err, &f) && f.code == exitAgent {
		f.hint = "Install Claude Code (npm install -g @anthropic-ai/claude-code), name its binary with CLEW_AGENT,\n" +
			"or leave --real out."
	}
	return err
}

// converse is "clew run" with these options. Where stdout is no terminal, all of the tour goes there.
func (t *tour) converse(opts *clew.Options) error {
	streams := t.streams
	if !isTerminal(streams.Out) {
		streams.Err = streams.Out
	}
	scr := newScreen(streams)
	defer scr.close()
	opts.IncludePartialMessages = true
	questioner := newQuestioner(t.ctx, streams, scr)
	opts.CanUseTool = questioner.decide
	if t.yes || !isTerminal(streams.In) || !isTerminal(streams.Err) {
		opts.CanUseTool = t.sayYes(scr)
	}
	p := &textPrinter{screen: scr}
	err := explain(t.ctx, converse(t.ctx, conversation{prompt: demo.Prompt, opts: opts, printer: p, questioner: questioner}))
	scr.rest()
	return runFailure(t.ctx, errors.Join(p.finish(err), err))
}

// sayYes answers the question in place of the user, once that could have read it.
func (t *tour) sayYes(scr *screen) clew.CanUseToolFunc {
	return func(ctx context.Context, req *clew.PermissionRequest) (clew.PermissionResult, error) {
		scr.waitForTool(ctx, req.ToolUseID)
		scr.pause(true)
		defer scr.pause(false)
		scr.say(describe(req, colored(scr.err)) + "Allow it? [y]es, once / [n]o: ")
		t.pause(2 * time.Second)
		scr.say("yes (says the demo)\n")
		return clew.Allow(), nil
	}
}

// steps are the commands that follow the task.
func (t *tour) steps() [][]string {
	page := filepath.Join(t.dir, "slug.html")
	return [][]string{
		{"ls", "--all"},
		{"show", "last"},
		{"search", "hyphen"},
		{"stats", "--all"},
		{"export", "last", "-o", page},
	}
}

// command runs one.
func (t *tour) command(args []string) error {
	if err := t.head(args...); err != nil {
		return err
	}
	root := newRoot(t.streams)
	root.PersistentPreRunE = nil // the settings of the user are not those of a tour
	if code := runRoot(t.ctx, root, args, t.streams); code != exitDone {
		return &failure{code: code, err: fmt.Errorf("clew %s has failed", args[0])}
	}
	t.pause(1500 * time.Millisecond)
	return nil
}

func (t *tour) closing() string {
	setting := "CLAUDE_CONFIG_DIR=" + quoteArg(t.config) + " "
	if runtime.GOOS == "windows" {
		setting = `$env:CLAUDE_CONFIG_DIR = "` + t.config + `"; `
	}
	return "\nAll files are in " + printable(t.dir) + ". To go on:\n" +
		"  " + setting + "clew show last --expand\n" +
		"  " + setting + "clew show last --diff\n"
}
