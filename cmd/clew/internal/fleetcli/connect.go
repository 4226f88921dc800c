package fleetcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/engine"
	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/tty"
	"github.com/clewdev/clew/sessions"
)

// A place locates the job records.
type place struct {
	*Program
	cmd         *cobra.Command
	fleet       string // a URL or a directory; "" means the directory of the program
	credentials string // a file
}

func (p *place) addFlags(cmd *cobra.Command) {
	p.cmd = cmd
	addFlags(cmd, &p.fleet, &p.credentials, "`URL` or directory of the fleet (default: this machine's)")
}

// AddFlags adds --fleet and --fleet-credentials to a command that shows jobs among other things.
func AddFlags(cmd *cobra.Command, name, credentials *string) {
	addFlags(cmd, name, credentials, "show the jobs of the fleet at this `URL` or directory (default: this machine's, if it runs)")
}

func addFlags(cmd *cobra.Command, name, credentials *string, usage string) {
	cmd.Flags().StringVar(name, "fleet", "", usage)
	cmd.Flags().StringVar(credentials, "fleet-credentials", "", "`file` with the credentials for the URL of --fleet")
}

// isRemote reports whether the fleet is at a URL, not in a directory of this machine.
func (p *place) isRemote() bool { return engine.Place{Name: p.fleet}.IsURL() }

// fleetFlags are the flags that select the same fleet in another command, quoted for a shell.
type fleetFlags string

// Flags returns the typed flags that select the same fleet in other commands, quoted for a shell.
// Settings apply to all commands.
func Flags(cmd *cobra.Command) (text string) {
	for _, name := range []string{"fleet", "fleet-credentials"} {
		if f := cmd.Flags().Lookup(name); clikit.Typed(f) {
			text += " --" + name + " " + tty.ShellWord(f.Value.String())
		}
	}
	return clikit.Printable(text)
}

func (p *place) flags() fleetFlags {
	if p.cmd == nil {
		return ""
	}
	return fleetFlags(Flags(p.cmd))
}

// command returns a command to copy.
func (f fleetFlags) command(words ...string) string {
	text := "clew"
	for _, word := range words {
		text += " " + tty.ShellWord(word)
	}
	return clikit.Printable(text) + string(f)
}

// dirName is the directory of the fleet of this machine, among the files of the program.
const dirName = "fleet"

// at returns where the fleet is.
func (p *place) at() (engine.Place, error) {
	if p.fleet != "" {
		return engine.Place{Name: p.fleet, Credentials: p.credentials}, nil
	}
	dir, err := clikit.StateFile(dirName)
	if err != nil {
		return engine.Place{}, &clikit.Failure{Code: clikit.ExitInput, Err: err, Hint: "Set HOME or XDG_STATE_HOME, or name a fleet with --fleet."}
	}
	return engine.Place{Name: dir}, nil
}

// A connection is a fleet that a command uses.
type connection struct {
	*fleet.Fleet
	engine engine.Engine
	closer io.Closer // the engine, which waits for no context
	flags  fleetFlags
}

// Close closes the connection.
func (c *connection) Close() { _ = c.closer.Close() } // what was written is written

// store returns the transcripts of jobs.
func (c *connection) store(ctx context.Context) (sessions.Store, error) {
	store, err := c.engine.Store(ctx)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return store, nil
}

const startHint = `Start one with "clew worker", or name another one with --fleet.`

// connect connects to the fleet. The caller has to close it.
func (p *place) connect(ctx context.Context) (*connection, error) {
	at, err := p.at()
	if err != nil {
		return nil, err
	}
	activity := clikit.StartActivity(p.Err, "connecting")
	defer activity.End()
	e, err := at.Connect(ctx)
	if errors.Is(err, engine.ErrNotRunning) {
		return nil, &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("no fleet runs in %s", clikit.Printable(at.Name)), Hint: startHint}
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	return &connection{fleet.Open(e, who()), e, e, p.flags()}, nil
}

// connectTo connects to the fleet, and finds the job that an ID or the beginning of one names. The caller
// has to close the connection.
func (p *place) connectTo(ctx context.Context, id string) (*connection, *fleet.Job, error) {
	c, err := p.connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	j, err := c.find(ctx, id)
	if err != nil {
		c.Close()
		return nil, nil, err
	}
	return c, j, nil
}

// Connect connects another command to a fleet until end is called: to the fleet of --fleet and
// --fleet-credentials or, without a name, to this machine's. If none runs there, it returns nil. It
// refuses the agents of jobs, as people decide about jobs with these commands.
func Connect(ctx context.Context, p *Program, name, credentials string) (f *fleet.Fleet, end func(), err error) {
	at := &place{Program: p, fleet: name, credentials: credentials}
	if name == "" {
		this, err := at.at()
		if err != nil {
			return nil, nil, err
		}
		if !this.Runs(ctx) {
			return nil, func() {}, nil
		}
	}
	c, err := at.connectToDecide(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c.Fleet, c.Close, nil
}

// who is in whose name decisions are made.
func who() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// failure turns a fleet error into an error for people.
func failure(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*clikit.Failure](err); ok || err == nil {
		return err
	}
	if ctx.Err() != nil {
		return clikit.Stopped()
	}
	text := engine.TrimName(strings.TrimPrefix(err.Error(), "fleet: "))
	text = clikit.Printable(strings.TrimPrefix(text, "agents: "))
	f := &clikit.Failure{Code: clikit.ExitFailed, Err: &clikit.ShownError{Text: text, Err: err}}
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		f.Code, f.Hint = clikit.ExitInput, `Run "clew jobs --all" to list all jobs.`
	case errors.Is(err, fleet.ErrAmbiguous):
		f.Code = clikit.ExitUsage
	default:
		if advice := engine.Explain(err); advice != nil {
			f.Code, f.Hint = cmp.Or(advice.Code, f.Code), advice.Hint
			if advice.Err != nil {
				f.Err = advice.Err
			}
		}
	}
	return f
}

// find returns the job that an ID or the beginning of one names.
func (c *connection) find(ctx context.Context, id string) (*fleet.Job, error) {
	if id == "" {
		return nil, clikit.UsageError("the ID of the job is empty", "")
	}
	j, err := c.Job(ctx, id)
	if errors.Is(err, fleet.ErrNotFound) {
		err = &clikit.Failure{
			Code: clikit.ExitInput, Err: notFoundError{id},
			Hint: fmt.Sprintf("Run %q to list all jobs.", c.flags.command("jobs", "--all")),
		}
	}
	return j, failure(ctx, err)
}

// A notFoundError is a [fleet.ErrNotFound] in the words of a command.
type notFoundError struct{ id string }

func (e notFoundError) Error() string { return "no job has the ID " + clikit.Printable(e.id) }

func (e notFoundError) Unwrap() error { return fleet.ErrNotFound }
