package fleetcli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/fleet/natsfleet"
	"github.com/clewdev/clew/internal/clikit"
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
	cmd.Flags().StringVar(&p.fleet, "fleet", "", "`URL` or directory of the fleet (default: this machine's)")
	cmd.Flags().StringVar(&p.credentials, "fleet-credentials", "", "`file` that says who connects to the URL of --fleet")
}

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

// dir returns the directory of the fleet, or "" if it has a URL.
func (p *place) dir() (string, error) {
	switch {
	case strings.Contains(p.fleet, "://"):
		return "", nil
	case p.fleet != "":
		return p.fleet, nil
	}
	dir, err := p.StateFile(dirName)
	if err != nil {
		return "", &clikit.Failure{Code: clikit.ExitInput, Err: err, Hint: "Set HOME or XDG_STATE_HOME, or name a fleet with --fleet."}
	}
	return dir, nil
}

// A connection is a fleet that a command uses.
type connection struct {
	*fleet.Fleet
	engine *natsfleet.Engine
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
	dir, err := p.dir()
	if err != nil {
		return nil, err
	}
	var opts *natsfleet.Options
	if dir != "" {
		opts, err = natsfleet.Find(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &clikit.Failure{Code: clikit.ExitFailed, Err: fmt.Errorf("no fleet runs in %s", clikit.Printable(dir)), Hint: startHint}
		}
	} else {
		opts, err = p.remote()
	}
	if err != nil {
		return nil, failure(ctx, err)
	}
	activity := clikit.StartActivity(p.Err, "connecting")
	defer activity.End()
	engine, err := natsfleet.Open(ctx, opts)
	if err != nil {
		return nil, failure(ctx, err)
	}
	return &connection{fleet.Open(engine, who()), engine, engine, p.flags()}, nil
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
		dir, err := at.dir()
		if err != nil {
			return nil, nil, err
		}
		if _, err := natsfleet.Find(ctx, dir); errors.Is(err, fs.ErrNotExist) {
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

const syncHint = `Add ?sync=always to the URL if the servers have "sync_interval: always" in the section
jetstream of their configuration, as that of "clew worker --listen" does. Add
?sync=later to accept that a loss of power loses jobs.`

// remote returns the options for a URL.
func (p *place) remote() (*natsfleet.Options, error) {
	opts := &natsfleet.Options{}
	var servers []string
	for _, text := range strings.Split(p.fleet, ",") {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, clikit.UsageError("--fleet is not a valid URL", `Give one such as "tls://fleet.example:4222?sync=always".`)
		}
		if _, has := u.User.Password(); has || u.User.Username() != "" {
			return nil, clikit.UsageError("--fleet has a user, and others can read command lines",
				"Put the user and the password into a file, and give that with --fleet-credentials.")
		}
		if err := addQuery(u.Query(), opts); err != nil {
			return nil, err
		}
		u.RawQuery = ""
		servers = append(servers, u.String())
	}
	if !opts.SyncAlways && !opts.AllowUnsynced {
		return nil, clikit.UsageError("a loss of power may lose jobs that this fleet has accepted", syncHint)
	}
	opts.URL = strings.Join(servers, ",")
	if p.credentials == "" {
		return opts, nil
	}
	return opts, readCredentials(p.credentials, opts)
}

// addQuery adds what the query of a URL says to the options.
func addQuery(query url.Values, opts *natsfleet.Options) error {
	for name, values := range query {
		switch name + "=" + strings.Join(values, ",") {
		case "sync=always":
			opts.SyncAlways = true
		case "sync=later":
			opts.AllowUnsynced = true
		case "tls=off":
			opts.AllowPlaintext = true
		case "auth=off":
			opts.AllowAnonymous = true
		case "replicas=1":
			opts.Replicas = 1
		case "replicas=3":
			opts.Replicas = 3
		case "replicas=5":
			opts.Replicas = 5
		default:
			return clikit.UsageError(fmt.Sprintf("the URL of --fleet has %s with a value that is unknown", clikit.Printable(clikit.Clip(name))),
				"It can have sync=always or sync=later, replicas=1, 3 or 5, tls=off and auth=off.")
		}
	}
	return nil
}

// credentials is the content of the file of --fleet-credentials, unless it is a NATS credentials
// file.
type credentials struct {
	User        string         `json:"user"`
	Password    string         `json:"password"`
	Token       string         `json:"token"`
	Role        natsfleet.Role `json:"role"`
	CA          string         `json:"ca"`
	Certificate string         `json:"certificate"`
	Key         string         `json:"key"`
}

const maxConfig = 1 << 20

// readCredentials adds who connects to the options. Its errors have nothing of the file.
func readCredentials(path string, opts *natsfleet.Options) error {
	text, err := clikit.ReadAtMost(path, maxConfig)
	if err != nil {
		return unreadable(path, err)
	}
	if bytes.Contains(text, []byte("BEGIN NATS USER JWT")) {
		opts.Credentials = path
		return nil
	}
	var c credentials
	if err := decodeStrictly(text, &c); err != nil {
		return unreadable(path, err)
	}
	opts.User, opts.Password, opts.Token, opts.Role = c.User, c.Password, c.Token, c.Role
	opts.RootCA, opts.Certificate, opts.Key = beside(path, c.CA), beside(path, c.Certificate), beside(path, c.Key)
	return nil
}

// beside returns the path of a file that another one names: a relative one is relative to that.
func beside(path, name string) string {
	if name == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(path), name)
}

// decodeStrictly decodes one JSON value without unknown members. Its errors quote no value.
func decodeStrictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = fmt.Errorf("more than one JSON value, at offset %d", d.InputOffset())
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%s, at offset %d", strings.TrimPrefix(err.Error(), "json: "), syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("%s can't be a JSON %s, at offset %d", cmp.Or(kind.Field, "it"), strings.Fields(kind.Value)[0], kind.Offset)
	case err != nil:
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// unreadable reports a file that can't be used.
func unreadable(path string, err error) error {
	return &clikit.Failure{
		Code: clikit.ExitInput,
		Err:  fmt.Errorf("cannot read %s: %s", clikit.Printable(path), clikit.Printable(clikit.Cause(err).Error())),
	}
}

// A shownError is an error with a text that a terminal can show.
type shownError struct {
	text string
	err  error
}

func (e *shownError) Error() string { return e.text }

func (e *shownError) Unwrap() error { return e.err }

// failure turns a fleet error into an error for people.
func failure(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*clikit.Failure](err); ok || err == nil {
		return err
	}
	if ctx.Err() != nil {
		return clikit.Stopped()
	}
	text := err.Error()
	for _, prefix := range []string{"fleet: ", "natsfleet: ", "agents: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	f := &clikit.Failure{Code: clikit.ExitFailed, Err: &shownError{clikit.Printable(text), err}}
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		f.Code, f.Hint = clikit.ExitInput, `Run "clew jobs --all" to list all jobs.`
	case errors.Is(err, fleet.ErrAmbiguous):
		f.Code = clikit.ExitUsage
	case errors.Is(err, natsfleet.ErrPlaintext):
		f.Code, f.Err, f.Hint = clikit.ExitUsage, natsfleet.ErrPlaintext, insecureHint
	case errors.Is(err, natsfleet.ErrAnonymous):
		f.Code, f.Err, f.Hint = clikit.ExitUsage, natsfleet.ErrAnonymous, insecureHint
	case errors.Is(err, natsfleet.ErrUnauthorized):
		f.Hint = "Check the user, the password and the role in the file of --fleet-credentials."
	case isUnknownServer(err):
		f.Hint = `Name the file with the certificate of the server, or of who vouches for it, as "ca"
in the file of --fleet-credentials.`
	}
	return f
}

const insecureHint = `Another machine needs a URL with tls://, and --fleet-credentials. To do without in a
network that nobody else can reach, add tls=off and auth=off to the URL, such as
"nats://10.0.0.7:4222?sync=always&tls=off&auth=off".`

// isUnknownServer reports whether nobody vouches for the certificate of the server.
func isUnknownServer(err error) bool {
	_, is := errors.AsType[*tls.CertificateVerificationError](err)
	return is
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
