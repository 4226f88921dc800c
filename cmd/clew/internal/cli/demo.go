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
	"github.com/clewdev/clew/cmd/clew/internal/agentcli"
	"github.com/clewdev/clew/cmd/clew/internal/ask"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/demo"
	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/internal/wording"
	"github.com/clewdev/clew/sessions"
)

type demoOptions struct {
	streams  Streams
	settings *settings
	yes      bool
	fast     bool
	real     bool
	web      bool
	dir      string
	agent    string // the agent binary, or "" for the usual one
}

const demoHelp = `Show what clew does in a minute, without a key, a network or an installed agent.

A simulated agent plays a recording of Claude Code: it fixes a script whose test
fails, starts a subagent to find the cause, and asks before it changes the file.
Its session is then listed with others, shown, searched, counted and exported to a
page, by the commands that you would type.

You answer the agent's question. With --yes, or without a terminal, the demo
answers yes. The demo pauses only on a terminal.

With --real, Claude Code itself does the task: its tools, its permissions and its
transcript are real, and only the model is scripted, on this machine. It does not
use your settings and needs no key.

At a terminal, the demo ends in the viewer, where you can browse its sessions: press q
to leave it. --fast leaves it out.

With --web, there is no tour: the sessions are shown in a browser, by "clew serve".

All files are in one directory, a temporary one or --dir, and stay there for you to
explore.`

func newDemo(s Streams, st *settings) *cobra.Command {
	o := &demoOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what clew does, without a key, network or agent",
		Long:  demoHelp,
		Example: `  clew demo
  clew demo --yes --fast | less
  clew demo --web
  clew demo --real --dir /tmp/tour`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	clikit.AddOnOff(cmd, &o.yes, "yes", "answer the question with yes")
	clikit.AddOnOff(cmd, &o.fast, "fast", "do not pause")
	clikit.AddOnOff(cmd, &o.real, "real", "use the installed Claude Code with a scripted model")
	clikit.AddOnOff(cmd, &o.web, "web", "show the sessions of the demo in a browser")
	cmd.Flags().StringVar(&o.dir, "dir", "", "new or empty `directory` for all files (default a temporary one)")
	return cmd
}

func (o *demoOptions) run(ctx context.Context, _ []string) error {
	if err := clikit.AtMostOne([]clikit.GivenFlag{{Name: "web", On: o.web}, {Name: "real", On: o.real}}); err != nil {
		return err
	}
	if !clikit.IsTerminal(o.streams.Out) {
		o.fast = true
	}
	if err := o.takeSettings(ctx); err != nil {
		return err
	}
	dir, err := o.directory()
	if err != nil {
		return err
	}
	config := filepath.Join(dir, "claude")
	t := &tour{demoOptions: o, ctx: ctx, dir: dir, config: config}
	if o.web {
		return t.serve() //nolint:contextcheck // commands get theirs when they run
	}
	t.print(o.introduction())
	if err := t.task(); err != nil {
		o.discard(dir)
		return err
	}
	if err := demo.LayPasts(config, time.Now()); err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("cannot write the sessions of the tour: %w", err)}
	}
	if err := t.show(); err != nil { //nolint:contextcheck // commands get theirs when they run
		return err
	}
	t.print(t.closing() + ownSessions(ctx))
	if t.err != nil {
		return clikit.OutputError(t.err)
	}
	return nil
}

// show runs the commands that follow the task, away from the files of the user.
func (t *tour) show() error {
	defer withEnv(demoEnv(t.dir, t.config))()
	for _, step := range t.steps() {
		if err := t.command(step); err != nil {
			return err
		}
	}
	return nil
}

// serve shows the sessions of the tour in a browser. That has its own home, so only what serve itself
// uses is kept away from the files of the user.
func (t *tour) serve() error {
	now := time.Now()
	if err := errors.Join(demo.AllowedRecording.Lay(t.config, now), demo.LayPasts(t.config, now)); err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("cannot write the sessions of the tour: %w", err)}
	}
	defer withEnv(map[string]string{
		"CLAUDE_CONFIG_DIR": t.config, "XDG_STATE_HOME": filepath.Join(t.dir, "state"), "XDG_CACHE_HOME": filepath.Join(t.dir, "cache"),
	})()
	args := []string{"serve", "--port", "0"}
	if clikit.IsTerminal(t.streams.Out) {
		args = append(args, "--open")
	}
	return t.command(args)
}

// takeSettings uses the settings about this machine: colors, and the path of the agent. It ignores
// errors in the file.
func (o *demoOptions) takeSettings(ctx context.Context) error {
	c, err := o.settings.load(ctx)
	if err != nil {
		return clikit.Stopped()
	}
	if path := c.Values["agent_path"]; path.File != "" { // the variable is read elsewhere
		o.agent = path.String()
	}
	if color, ok := c.Values["color"]; ok {
		return os.Setenv(color.Setting.Variable, color.String())
	}
	return nil
}

// directory creates the directory for all files.
func (o *demoOptions) directory() (string, error) {
	if o.dir == "" {
		dir, err := os.MkdirTemp("", "clew-demo-")
		if err != nil {
			return "", &clikit.Failure{
				Code: clikit.ExitFailed, Err: fmt.Errorf("cannot create a temporary directory: %w", clikit.Cause(err)), Hint: "Give a directory with --dir.",
			}
		}
		return dir, nil
	}
	dir, err := filepath.Abs(o.dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("cannot create directory %s: %w", clikit.Printable(o.dir), clikit.Cause(err))
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		return "", &clikit.Failure{
			Code: clikit.ExitUsage, Err: fmt.Errorf("directory %s is not empty", clikit.Printable(o.dir)), Hint: "Give a new one with --dir.",
		}
	}
	return dir, nil
}

// discard removes the temporary directory of a demo that failed.
func (o *demoOptions) discard(dir string) {
	if o.dir == "" {
		_ = os.RemoveAll(dir) // the system removes it later
	}
}

func (o *demoOptions) introduction() string {
	who := "A simulated agent plays a recording of Claude Code: no key, no network, nothing to install."
	if o.real {
		who = "Claude Code does the task with a scripted model on this machine: no key, no network."
	}
	columns := clikit.TextWidth(o.streams.Out, 100)
	lines := tty.Wrap(who, columns)
	lines = append(lines, tty.Wrap("The task: slug.sh turns titles into URL slugs, and its test fails.", columns)...)
	return strings.Join(lines, "\n") + "\n"
}

// demoEnv keeps a tour's commands away from the user's files.
func demoEnv(dir, config string) map[string]string {
	home := filepath.Join(dir, "home")
	return map[string]string{
		"CLAUDE_CONFIG_DIR": config, "HOME": home, "USERPROFILE": home,
		"XDG_CONFIG_HOME": filepath.Join(home, ".config"), "AppData": filepath.Join(home, "AppData", "Roaming"),
		"XDG_CACHE_HOME": filepath.Join(home, ".cache"), "LocalAppData": filepath.Join(home, "AppData", "Local"),
		"CLEW_PAGER": "cat", // a tour continues by itself
	}
}

// withEnv sets environment variables, and returns a function that restores them.
func withEnv(variables map[string]string) (restore func()) {
	old := map[string]*string{}
	for name, value := range variables {
		if was, ok := os.LookupEnv(name); ok {
			old[name] = &was
		} else {
			old[name] = nil
		}
		_ = os.Setenv(name, value) // it fails only for invalid names and values
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

// A tour is a running demo.
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

// head prints a command as the user would type it.
func (t *tour) head(args ...string) error {
	t.pause(time.Second)
	line := "$ clew"
	for _, arg := range args {
		line += " " + clikit.Printable(tty.ShellWord(arg))
	}
	t.print("\n" + tty.Prompt.Paint(line, clikit.Colored(t.streams.Out)) + "\n")
	t.pause(600 * time.Millisecond)
	switch {
	case t.ctx.Err() != nil:
		return clikit.Stopped()
	case t.err != nil:
		return clikit.OutputError(t.err)
	}
	return nil
}

// pause waits, so that the user can read.
func (t *tour) pause(d time.Duration) {
	if t.fast {
		return
	}
	_ = pause.For(t.ctx, d)
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

// realTask runs Claude Code with a scripted model. A model error counts only if the run succeeded:
// otherwise the run's error is more useful.
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
	var f *clikit.Failure
	if errors.As(err, &f) && f.Code == clikit.ExitAgent {
		f.Hint = "Install Claude Code (npm install -g @anthropic-ai/claude-code), set CLEW_AGENT to its binary,\n" +
			"or leave out --real."
	}
	return err
}

// converse is like "clew run" with these options. If stdout is not a terminal, stderr goes there.
func (t *tour) converse(opts *clew.Options) error {
	turn := agentcli.Turn{Streams: t.streams, Prompt: demo.Prompt, Options: opts, Workspace: t.workspace()}
	if !clikit.IsTerminal(turn.Out) {
		turn.Err = turn.Out
	}
	if t.yes || !clikit.IsTerminal(turn.In) || !clikit.IsTerminal(turn.Err) {
		turn.Yes = func() string {
			t.pause(2 * time.Second)
			return "yes (says the demo)"
		}
	}
	return turn.Run(t.ctx)
}

// workspace returns where the agent of the demo works.
func (t *tour) workspace() ask.Workspace {
	if t.real {
		return ask.NewWorkspace(filepath.Join(t.dir, "slug"))
	}
	return ask.Workspace{Dir: demo.RecordedDir, Read: demo.ReadFile}
}

// steps are the commands that follow the task.
func (t *tour) steps() [][]string {
	page := filepath.Join(t.dir, "slug.html")
	steps := [][]string{
		{"ls", "--all"},
		{"show", "last"},
		{"search", "hyphen"},
		{"stats"},
		{"export", "last", "-o", page},
	}
	if v := (&viewOptions{streams: t.streams}); v.onTerminal() && !t.fast {
		steps = append(steps, []string{"--all"}) // the viewer
	}
	return steps
}

// command runs one command.
func (t *tour) command(args []string) error {
	if err := t.head(args...); err != nil {
		return err
	}
	root := newRoot(t.streams)
	root.PersistentPreRunE = nil // a demo does not use the user's settings
	if code := runRoot(t.ctx, root, args, t.streams); code != clikit.ExitDone {
		return &clikit.Failure{Code: code, Err: fmt.Errorf("clew %s failed", args[0])}
	}
	t.pause(1500 * time.Millisecond)
	return nil
}

func (t *tour) closing() string {
	setting := "CLAUDE_CONFIG_DIR=" + clikit.Printable(tty.ShellWord(t.config)) + " "
	if runtime.GOOS == "windows" {
		setting = `$env:CLAUDE_CONFIG_DIR = "` + t.config + `"; `
	}
	return "\nAll files are in " + clikit.Printable(t.dir) + ". To continue:\n" +
		"  " + setting + "clew show last --expand\n" +
		"  " + setting + "clew show last --diff\n"
}

// ownSessions explains how to see the user's own sessions.
func ownSessions(ctx context.Context) string {
	infos, err := sessions.Names(ctx, nil)
	if err != nil || len(infos) == 0 {
		return "\nWhen you have used Claude Code, clew shows your own sessions.\n"
	}
	return "\nTo browse your own " + wording.Count(len(infos), "session") + ":\n  clew --all\n"
}
