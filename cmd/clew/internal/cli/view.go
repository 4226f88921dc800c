package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/fleetcli"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/cmd/clew/internal/keymap"
	"github.com/clewdev/clew/cmd/clew/internal/termio"
	"github.com/clewdev/clew/cmd/clew/internal/tui"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/sessions"
)

// A viewOptions configures the viewer for bare clew and clew view.
type viewOptions struct {
	streams  Streams
	settings *settings
	all      bool
	noMouse  bool
	project  string

	fleet, fleetCredentials string
	cmd                     *cobra.Command
}

const viewHelp = `Read a session in the terminal: its prompts, answers, tools and subagents, as it
grows. Name the session as for "clew show"; without an argument, it is the newest
session of this project, or of all projects if this one has none. FILE is a
transcript.

"clew" without a command opens the list of sessions. Press ? for the keys of a
screen. The setting "keys" changes them: it is a map from actions, which are in the
first column of the tables below, to keys.

If stdin or stdout is not a terminal, or TERM is dumb or not set, view prints what
"clew show" prints. The same applies to stdin (-) and to other files.`

func newView(s Streams, st *settings) *cobra.Command {
	o := &viewOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "view [ID|FILE|-]",
		Short: "Read a session in the terminal",
		Long:  viewHelp + keysHelp(),
		Example: `  clew view
  clew view 4f1c
  clew view last --project website`,
		Args: clikit.AtMost(1),
		RunE: clikit.RunE(o.run),
	}
	input.AddProjectFlag(cmd, &o.project)
	o.addFlags(cmd)
	return cmd
}

// addFlags adds the flags that bare clew has as well.
func (o *viewOptions) addFlags(cmd *cobra.Command) {
	clikit.AddOnOff(cmd, &o.noMouse, "no-mouse", "leave the mouse to the terminal, which can then select text with it")
	fleetcli.AddFlags(cmd, &o.fleet, &o.fleetCredentials)
	o.cmd = cmd
}

func (o *viewOptions) run(ctx context.Context, args []string) error {
	word := "last"
	if len(args) > 0 {
		word = args[0]
	}
	src, err := input.Find(ctx, o.project, word)
	if err != nil {
		return err
	}
	info, ok, err := o.viewable(ctx, src)
	if err != nil {
		return err
	}
	if !ok {
		show := &showOptions{streams: o.streams, format: "text", most: input.MaxWhole, project: o.project}
		return show.run(ctx, []string{word})
	}
	return o.start(ctx, func(ctx context.Context, t tui.Terminal, from tui.Source, opts tui.Options) error {
		return tui.ShowSession(ctx, t, from, opts, info)
	})
}

// viewable returns the session of a source, and whether the viewer can show it.
func (o *viewOptions) viewable(ctx context.Context, src *input.Source) (info sessions.SessionInfo, ok bool, err error) {
	if !o.onTerminal() || src.Stdin || src.Info.ID != "" {
		return src.Info, o.onTerminal() && !src.Stdin, nil
	}
	if err := src.Open(ctx, o.streams.In); err != nil {
		return info, false, err
	}
	defer src.Close()
	path, err := filepath.Abs(src.Path)
	if err != nil || !src.IsFile() {
		return info, false, err
	}
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	info = sessions.SessionInfo{ID: name, Path: path, Project: filepath.Base(filepath.Dir(path)), Size: src.Size()}
	return sessions.Summarize(ctx, []sessions.SessionInfo{info})[0], true, nil
}

// browse shows the session list.
func (o *viewOptions) browse(ctx context.Context) error {
	return o.start(ctx, func(ctx context.Context, t tui.Terminal, from tui.Source, opts tui.Options) error {
		return tui.ShowSessions(ctx, t, from, opts, o.all)
	})
}

// onTerminal reports whether there is a terminal that the viewer can be shown on.
func (o *viewOptions) onTerminal() bool {
	_, in := o.streams.In.(*os.File)
	_, out := o.streams.Out.(*os.File)
	return in && out && clikit.IsTerminal(o.streams.In) && clikit.Redraws(o.streams.Out)
}

// sessionGC is the garbage collection target percentage of the viewer while sessions are in memory, and the lowest of the
// server. The usual percentage would take their memory a second time.
const sessionGC = 12

// boundViewer adapts garbage collection to the size of the transcripts that the viewer holds.
func boundViewer(bytes int64) {
	percent := usualGC
	if bytes > 0 {
		percent = sessionGC
	}
	setGCPercent(percent)
}

// A showScreen shows a screen until the user leaves it.
type showScreen func(ctx context.Context, t tui.Terminal, from tui.Source, opts tui.Options) error

// start shows something on the terminal.
func (o *viewOptions) start(ctx context.Context, show showScreen) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	in, out := o.streams.In.(*os.File), o.streams.Out.(*os.File) //nolint:forcetypeassert // onTerminal checked it
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	errFile, ok := o.streams.Err.(*os.File)
	if !ok {
		errFile = out
	}
	defer setGCPercent(setGCPercent(usualGC)) // the viewer may end while it holds sessions
	src := view.New(view.Options{
		AgentEnv: agentEnviron(), Held: boundViewer,
		Dir: dir, AgentPath: o.settings.agentPath(), In: in, Out: out, Err: errFile, HandOver: termio.HandOver,
	})
	opts := tui.Options{
		Color: clikit.Colored(out), Lines: termio.DrawsLines(), Links: clikit.Colored(out) && termio.KnowsLinks(os.Getenv("TERM"), os.Getenv("TERM_PROGRAM")),
		Mouse: !o.noMouse, Now: time.Now, Dir: dir, Machine: thisMachine(), Keys: o.settings.keys,
	}
	jobs, leave := o.jobs()
	defer leave()
	opts.Jobs = jobs
	termio.SetModes(tui.ResetModes(true))
	defer termio.SetModes("")
	err = errors.Join(show(ctx, tui.TerminalOf(in, out), src, opts), src.Close())
	switch {
	case ctx.Err() != nil, errors.Is(err, syscall.EIO): // the terminal may be gone before the signal that says so
		return clikit.Stopped()
	case err != nil:
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	}
	return nil
}

// jobs returns the viewer's access to jobs. It connects when the viewer asks for them, until end is
// called.
func (o *viewOptions) jobs() (jobs tui.Jobs, end func()) {
	quiet := o.streams
	quiet.Err = io.Discard // the screen is the viewer's
	p := &fleetcli.Program{Streams: quiet, Version: readBuild().Version}
	var mu sync.Mutex // held while it connects
	var f *fleet.Fleet
	leave := func() {}
	jobs.Connect = func(ctx context.Context) (tui.Fleet, error) {
		mu.Lock()
		defer mu.Unlock()
		if f != nil {
			return f, nil
		}
		found, end, err := fleetcli.Connect(ctx, p, o.fleet, o.fleetCredentials)
		if err != nil || found == nil { // an interface with a nil pointer is not nil
			return nil, err
		}
		f, leave = found, end
		return f, nil
	}
	jobs.IsNamed, jobs.Flags = o.fleet != "", fleetcli.Flags(o.cmd)
	return jobs, func() {
		if mu.TryLock() { // otherwise it still connects, and the program does not wait for that
			leave()
		}
	}
}

// keysHelp returns the key table: for each screen the names of the actions, their keys, and their
// effects.
func keysHelp() string {
	var b strings.Builder
	for _, section := range keymap.Sections() {
		fmt.Fprintf(&b, "\n\n%s:", section.Name)
		for _, k := range section.Bindings {
			fmt.Fprintf(&b, "\n  %-16s %-16s %s", k.Action, k.KeyNames(), k.Text)
		}
	}
	return b.String()
}
