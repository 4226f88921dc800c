package cli

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/clewdev/clew/cmd/clew/internal/agentcli"
	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/cmd/clew/internal/fleetcli"
	"github.com/clewdev/clew/cmd/clew/internal/input"
	"github.com/clewdev/clew/cmd/clew/internal/view"
	"github.com/clewdev/clew/cmd/clew/internal/web"
	"github.com/clewdev/clew/sessions"
)

type serveOptions struct {
	streams  Streams
	settings *settings
	address  web.Address
	drive    bool
	roots    []string
	flags    agentcli.Flags
	open     bool
	json     bool
	link     bool
	rotate   bool

	cmd                     *cobra.Command
	fleet, fleetCredentials string
}

const serveHelp = `Show all sessions in a browser, as they are written: read, filter, find, search, count
and compare them. It prints a link that opens the first page: once, within two
minutes. For another browser, "clew serve --link" prints a new one.

Only this machine reaches the server. A page of another site can't: every request
needs a token, which a page gets for the code in the link, and has to name the host
and come from the origin of the server. For another machine, forward the port, or the
socket of --socket, with ssh -L. An address that other machines reach needs --listen
and a certificate.

Without --drive, pages can only view, rename, tag, delete and restore sessions, like
the terminal viewer. With --drive, they also start agents in the directories of known
projects and below those of --root, send prompts, answer questions, and continue
sessions that no other program has open. Agents get the settings of "clew
chat", and serve accepts its flags about the agent. No page can choose a permission
mode that asks nothing, unless --permission-mode names it here. Hooks and MCP servers
of a directory run only if you have trusted it: see "clew run --help".

While the fleet of this machine runs, or with --fleet, there is a page with jobs. With
--drive, pages also answer their questions, and cancel, resume and retry them.

Each answer to a question, and each other change, is a line on stderr and in
$XDG_STATE_HOME/clew/audit.log, or ~/.local/state/clew/audit.log. Prompts are in
files beside it until they are answered: the next server shows those that were not.

Ctrl-C ends the server, and the agents that it has started.`

func newServe(s Streams, st *settings) *cobra.Command {
	o := &serveOptions{streams: s, settings: st}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Show sessions in a browser",
		Long:  serveHelp,
		Example: `  clew serve --open
  clew serve --drive --root .
  clew serve --socket clew.sock --public-url http://localhost:8000
  clew serve --port 0 --json`,
		Args: clikit.AtMost(0),
		RunE: clikit.RunE(o.run),
	}
	o.cmd = cmd
	o.addAgentFlags(cmd)
	clikit.AddOnOff(cmd, &o.open, "open", "open the first page in the browser")
	clikit.AddOnOff(cmd, &o.json, "json", "print one JSON object about the server")
	clikit.AddOnOff(cmd, &o.link, "link", "print a new link of the server that runs")
	clikit.AddOnOff(cmd, &o.rotate, "rotate", "replace the token of the server that runs, which logs its pages out, and print a new link")
	clikit.AddOnOff(cmd, &o.drive, "drive", "let pages start agents and answer their questions")
	set := cmd.Flags()
	set.StringArrayVar(&o.roots, "root", nil, "with --drive, let agents work in this `directory` and below it; repeatable")
	set.StringVar(&o.address.Port, "port", "", fmt.Sprintf("listen on this `number`; 0 means any that is free (default %d, or the next that is free)", web.DefaultPort))
	set.StringVar(&o.address.Socket, "socket", "", "listen on a Unix socket at this `path`, which only you can use")
	set.StringVar(&o.address.Listen, "listen", "", "listen at this `address`, such as 192.0.2.7:2539; others than loopback need a certificate")
	set.StringVar(&o.address.CertFile, "tls-cert", "", "`file` with the certificate for TLS")
	set.StringVar(&o.address.KeyFile, "tls-key", "", "`file` with the key of the certificate")
	fleetcli.AddFlags(cmd, &o.fleet, &o.fleetCredentials)
	set.StringVar(&o.address.PublicURL, "public-url", "", "`URL` by which a proxy reaches the server")
	return cmd
}

// shownAgentFlags are the flags about agents that the help lists. The others are documented with
// chat.
var shownAgentFlags = []string{
	"model", "permission-mode", "allowedTools", "disallowedTools", "add-dir", "trust", "agent-path",
}

// addAgentFlags adds the flags about agents, but none about one session.
func (o *serveOptions) addAgentFlags(cmd *cobra.Command) {
	o.flags.AddTo(cmd)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = true
	})
	for _, name := range shownAgentFlags {
		cmd.Flags().Lookup(name).Hidden = false
	}
}

func (o *serveOptions) run(ctx context.Context, _ []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.link || o.rotate {
		return o.callRunning(ctx)
	}
	if _, err := sessions.Roots(); err != nil {
		return input.SessionsError(err)
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	agents, err := o.agents(ctx)
	if err != nil {
		return ofServe(err)
	}
	listener, err := web.Listen(ctx, o.address)
	if err != nil {
		return listenFailure(err)
	}
	return ofServe(o.serve(ctx, listener, agents))
}

// check refuses flags that make no sense together.
func (o *serveOptions) check() error {
	port, socket, listen := o.address.Port != "", o.address.Socket != "", o.address.Listen != ""
	tls := o.address.CertFile != "" || o.address.KeyFile != ""
	err := errors.Join(
		clikit.AtMostOne([]clikit.GivenFlag{{Name: "port", On: port}, {Name: "socket", On: socket}, {Name: "listen", On: listen}}),
		clikit.AtMostOne([]clikit.GivenFlag{{Name: "socket", On: socket}, {Name: "tls-cert", On: tls}}),
		clikit.AtMostOne([]clikit.GivenFlag{{Name: "link", On: o.link}, {Name: "rotate", On: o.rotate}, {Name: "open", On: o.open}}),
	)
	switch {
	case err != nil:
		return err
	case len(o.roots) > 0 && !o.drive:
		return clikit.UsageError("--root needs --drive", "")
	case o.open && socket && o.address.PublicURL == "":
		return clikit.UsageError("--open can't be used with --socket", "Say with --public-url how the browser reaches the socket.")
	}
	return nil
}

// ofServe changes the hint of a failure from run to serve.
func ofServe(err error) error {
	if f, ok := errors.AsType[*clikit.Failure](err); ok {
		f.Hint = strings.ReplaceAll(f.Hint, `"clew run --help"`, `"clew serve --help"`)
	}
	return err
}

// listenFailure explains why the server can't listen.
func listenFailure(err error) error {
	f := &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	if why, ok := errors.AsType[*web.AddressError](err); ok {
		f.Code, f.Hint = clikit.ExitUsage, clikit.Printable(why.Hint)
	} else if errors.Is(err, syscall.EADDRINUSE) {
		f.Err = errors.New(strings.TrimSuffix(f.Err.Error(), ": "+syscall.EADDRINUSE.Error()))
		f.Hint = "Give another port, or --port 0 for any that is free."
	}
	return f
}

// agents returns what drives agents, or nil without --drive.
func (o *serveOptions) agents(ctx context.Context) (*drive.Agents, error) {
	if !o.drive {
		return nil, nil //nolint:nilnil // pages drive nothing
	}
	base, err := o.flags.Options(ctx)
	if err != nil {
		return nil, err
	}
	roots := make([]string, len(o.roots))
	for i, root := range o.roots {
		if roots[i], err = filepath.Abs(root); err != nil {
			return nil, err
		}
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return nil, clikit.UsageError("--root "+clikit.Printable(root)+" is not a directory", "")
		}
	}
	mode := base.PermissionMode
	if known := flagValues["chat permission-mode"]; mode != "" && !slices.Contains(known, string(mode)) {
		return nil, clikit.UsageError("--permission-mode must be one of "+strings.Join(known, ", "), "")
	}
	base.PermissionMode = ""
	keep, err := clikit.StateFile("prompts")
	if err != nil {
		return nil, err
	}
	agents := drive.New(drive.Options{Base: *base, Roots: roots, Mode: mode, Keep: keep, Trust: o.flags.TrustIn})
	if err := agents.Restore(); err != nil {
		o.say("! prompts of an earlier server are not shown: %s", clikit.Printable(err.Error()))
	}
	return agents, nil
}

// A servedFleet is the fleet whose jobs are shown.
type servedFleet struct {
	*serveOptions

	mu    sync.Mutex
	end   func()    // or nil
	tried time.Time // when it was looked for in vain
	said  string
}

// Close leaves the fleet.
func (f *servedFleet) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end != nil {
		f.end()
	}
}

// find connects to the fleet. It returns nil if there is none, and an error only for a fleet named
// with --fleet.
func (f *servedFleet) find(ctx context.Context, streams Streams) (web.Fleet, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &fleetcli.Program{Streams: streams, Version: readBuild().Version}
	jobs, end, err := fleetcli.Connect(ctx, p, f.fleet, f.fleetCredentials)
	switch {
	case err != nil && (f.fleet != "" || ctx.Err() != nil):
		return nil, err
	case err != nil: // nobody asked for jobs
		if text := clikit.Printable(err.Error()); text != f.said {
			f.said = text
			f.say("! jobs are not shown: %s", text)
		}
		return nil, nil //nolint:nilnil // there is none
	case jobs == nil: // an interface with a nil pointer is not nil
		return nil, nil //nolint:nilnil // there is none
	}
	f.end = end
	return jobs, nil
}

// later looks again for the fleet of this machine, which may be running by now, but not all the
// time.
func (f *servedFleet) later(ctx context.Context) web.Fleet {
	const pause = time.Second
	if f.fleet != "" || time.Since(f.tried) < pause {
		return nil
	}
	jobs, err := f.find(ctx, Streams{In: f.streams.In, Out: io.Discard, Err: io.Discard})
	if err != nil || jobs == nil { // the error is the context's
		f.tried = time.Now()
		return nil
	}
	return jobs
}

// serve runs the server until the context ends.
func (o *serveOptions) serve(ctx context.Context, listener *web.Listener, agents *drive.Agents) (err error) {
	dir, err := os.Getwd()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	fleet := &servedFleet{serveOptions: o}
	defer fleet.Close()
	jobs, err := fleet.find(ctx, o.streams)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	source := view.New(view.Options{Dir: dir, AgentPath: o.settings.agentPath(), Held: boundMemory})
	log := &auditLog{screen: o.streams.Err}
	place := &servePlace{}
	server, err := web.New(web.Options{
		Source: source, Drive: agents, Fleet: jobs, FindFleet: fleet.later, FleetFlags: fleetcli.Flags(o.cmd), Machine: thisMachine(), Keys: o.settings.keys, Version: readBuild().Version, Audit: log,
		Origins: listener.Origins, Forwarded: listener.Forwarded, Rotated: place.setToken,
	})
	if err != nil {
		return errors.Join(err, listener.Close(), source.Close())
	}
	defer func() { //nolint:contextcheck // the context ended
		if agents != nil {
			o.tellEnded(agents.Close())
		}
		err = errors.Join(err, server.Close(), source.Close(), log.Close(), place.Close())
	}()
	if err := place.write(ctx, server.Describe(listener)); err != nil { // other commands don't find the server then
		o.say("! cannot write the file for \"clew serve --link\": %s", clikit.Printable(err.Error()))
	}
	if err := o.greet(ctx, server, listener, place); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := server.Serve(ctx, listener); err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	}
	return nil
}

// say prints a line about the server.
func (o *serveOptions) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.streams.Err, format+"\n", args...) // without stderr, the server continues
}

// tellEnded lists the agents that ended with the server.
func (o *serveOptions) tellEnded(open []drive.Status) {
	for i := range open {
		if id := open[i].Session; id != "" {
			o.say("An agent has ended with the server. To go on: clew chat --resume %s", clikit.Printable(id))
		}
	}
}

// A serving is the --json output about a server.
type serving struct {
	URL     string    `json:"url,omitempty"` // with the code
	Socket  string    `json:"socket,omitempty"`
	Code    string    `json:"code"`
	Expires time.Time `json:"expires"` // the code
	Drive   bool      `json:"drive"`
	PID     int       `json:"pid"`
}

// greet prints the link, and opens it if the user wants that.
func (o *serveOptions) greet(ctx context.Context, server *web.Server, l *web.Listener, place *servePlace) error {
	code := server.NewCode()
	var text []byte
	if o.json {
		at := serving{Socket: l.Socket, Code: code, Expires: time.Now().Add(web.CodeLifetime).UTC(), Drive: o.drive, PID: os.Getpid()}
		if l.URL() != "" {
			at.URL = l.URL() + "#" + code
		}
		line, err := clikit.JSONLine(at)
		if err != nil {
			return err
		}
		text = line
	} else {
		text = []byte(o.greeting(l, code, clikit.TextWidth(o.streams.Out, 0)))
	}
	if _, err := o.streams.Out.Write(text); err != nil {
		return clikit.OutputError(err)
	}
	if !o.open {
		return nil
	}
	if err := place.openPage(ctx, l.URL()+"open#"+server.NewOpening()); err != nil {
		o.say("! %s; open the link yourself", clikit.Printable(err.Error()))
	}
	return nil
}

// greeting returns the text for a person. A width of 0 means that lines are not filled.
func (o *serveOptions) greeting(l *web.Listener, code string, width int) string {
	url, after := l.URL(), ""
	if url == "" {
		url, after = "http://localhost:8000/", fmt.Sprintf("\nafter: ssh -L 8000:%s HOST", clikit.Printable(l.Socket))
	}
	safe := "Only this machine reaches it, and no page of another site: requests need a token."
	switch {
	case l.Socket != "":
		safe = "Only you can use the socket, and no page of another site: requests need a token."
	case o.address.Listen != "":
		safe = "No page of another site reaches it: requests need a token."
	}
	drives := "Pages can't start agents: that needs --drive."
	if o.drive {
		drives = "Pages can start agents and answer their questions."
	}
	ends := "Click the link, or copy it to a browser; --open does that for you. Ctrl-C ends the server."
	if o.open {
		ends = "The browser opens it. Ctrl-C ends the server."
	}
	text := "Your sessions are at\n  " + url + "#" + code + after + "\n"
	for _, line := range []string{`The link works once, within two minutes: "clew serve --link" prints another.`, safe, drives, ends} {
		if width > 0 {
			text += clikit.Wrapped(line, width)
		} else {
			text += line + "\n"
		}
	}
	return text
}

// callRunning prints a new link of a server that runs.
func (o *serveOptions) callRunning(ctx context.Context) error {
	dir, err := runtimeDir()
	if err != nil {
		return err
	}
	found, err := web.FindRunning(ctx, dir)
	if err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	}
	server, err := o.choose(found)
	if err != nil {
		return err
	}
	call := server.NewLink
	if o.rotate {
		call = server.Rotate
	}
	link, err := call(ctx)
	if err != nil {
		return &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New(clikit.Printable(err.Error()))}
	}
	if o.json {
		line, err := clikit.JSONLine(serving{URL: link, Code: link[strings.LastIndexByte(link, '#')+1:], Expires: time.Now().Add(web.CodeLifetime).UTC(), PID: server.PID})
		if err != nil {
			return err
		}
		link = strings.TrimSuffix(string(line), "\n")
	}
	if _, err := fmt.Fprintln(o.streams.Out, link); err != nil {
		return clikit.OutputError(err)
	}
	return nil
}

// choose returns the server that the flags name.
func (o *serveOptions) choose(found []*web.Running) (*web.Running, error) {
	var fit []*web.Running
	for _, r := range found {
		socket, _ := filepath.Abs(o.address.Socket) // without a working directory, none fits
		switch {
		case o.address.Port != "" && !strings.HasSuffix(r.Address, ":"+o.address.Port):
		case o.address.Listen != "" && r.Address != o.address.Listen:
		case o.address.Socket != "" && r.Address != socket:
		default:
			fit = append(fit, r)
		}
	}
	switch len(fit) {
	case 0:
		return nil, &clikit.Failure{Code: clikit.ExitFailed, Err: errors.New("no server runs"), Hint: `Start one with "clew serve".`}
	case 1:
		return fit[0], nil
	}
	hint := "Name one of them with --port, --listen or --socket:"
	for _, r := range fit {
		hint += "\n  " + clikit.Printable(r.Address)
	}
	return nil, &clikit.Failure{Code: clikit.ExitUsage, Err: fmt.Errorf("%d servers run", len(fit)), Hint: hint}
}

// runtimeDir returns the directory of files about servers that run.
func runtimeDir() (string, error) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "clew"), nil
	}
	return clikit.StateFile("run")
}

// A servePlace is the files of a server that runs. Only the user can read them.
type servePlace struct {
	mu      sync.Mutex
	dir     string
	running *web.Running
	files   []string
}

// write writes the file by which other commands find the server.
func (p *servePlace) write(ctx context.Context, r *web.Running) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = r
	if p.dir, err = runtimeDir(); err != nil {
		return err
	}
	_ = web.RemoveDead(ctx, p.dir) // what stays is only in the way
	path, err := r.Write(p.dir)
	if err == nil {
		p.files = append(p.files, path)
	}
	return err
}

// setToken writes the file again, with a new token.
func (p *servePlace) setToken(token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil && len(p.files) > 0 {
		p.running.Token = token
		_, _ = p.running.Write(p.dir) // the program that asked for the token gets it
	}
}

// openPage opens a URL that contains a code. The command line of a browser is public, so that it gets
// the name of a file, which leads there.
func (p *servePlace) openPage(ctx context.Context, url string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir == "" {
		return errors.New("there is no directory for the page")
	}
	file, err := os.CreateTemp(p.dir, web.OpenPattern) // with 0600
	if err != nil {
		return err
	}
	p.files = append(p.files, file.Name())
	_, err = fmt.Fprintf(file, `<!DOCTYPE html><title>Clew</title><meta http-equiv="refresh" content="0;url=%s">`, html.EscapeString(url))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	time.AfterFunc(web.CodeLifetime, func() { _ = os.Remove(file.Name()) }) // the code is no longer valid
	return view.Browse(ctx, file.Name())
}

// Close removes the files.
func (p *servePlace) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, path := range p.files {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// maxAudit is the size at which a new audit log is started. One old log is kept.
const maxAudit = 10 << 20

// An auditLog writes lines to the screen and to a file, which it creates with the first one.
type auditLog struct {
	screen io.Writer
	file   *os.File
	size   int64
	failed bool
}

func (l *auditLog) Write(line []byte) (int, error) {
	if l.file != nil && l.size > maxAudit {
		_ = l.Close() // the lines are written
		l.file = nil
	}
	if l.file == nil && !l.failed {
		if err := l.create(); err != nil {
			l.failed = true
			_, _ = fmt.Fprintf(l.screen, "! cannot write the audit log: %s\n", clikit.Printable(err.Error())) // there is nowhere else
		}
	}
	_, err := l.screen.Write(line)
	if l.file != nil {
		n, failed := l.file.Write(line)
		l.size += int64(n)
		err = errors.Join(err, failed)
	}
	return len(line), err
}

func (l *auditLog) create() error {
	path, err := clikit.StateFile("audit.log")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	l.size = 0
	if info, err := os.Stat(path); err == nil {
		l.size = info.Size()
	}
	if l.size > maxAudit {
		if err := os.Rename(path, path+".1"); err != nil {
			return err
		}
		l.size = 0
	}
	l.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

// Close closes the file.
func (l *auditLog) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// serveAllowance is the approximate memory that the server may take in addition to the transcripts,
// in bytes.
const serveAllowance = 40 << 20

// boundMemory adapts garbage collection to the size of the transcripts that the server holds. The
// more these take, the sooner unused memory is collected: the usual 100 percent would take all of
// it a second time.
func boundMemory(bytes int64) {
	percent := usualGC
	if bytes > serveAllowance {
		percent = max(int(usualGC*serveAllowance/bytes), sessionGC)
	}
	setGCPercent(percent)
}
