package engine

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/clewdev/clew/cmd/clew/internal/clikit"
	"github.com/clewdev/clew/nats/natsfleet"
)

// connectNATS connects to NATS servers.
func connectNATS(ctx context.Context, p Place) (Engine, error) {
	opts, err := p.options()
	if err != nil {
		return nil, err
	}
	return openNATS(ctx, opts)
}

// runsNATS reports whether a server runs in a directory, as far as that is known.
func runsNATS(ctx context.Context, dir string) bool {
	_, err := natsfleet.Find(ctx, dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// connectDirNATS connects to the server that runs in a directory.
func connectDirNATS(ctx context.Context, dir string) (Engine, error) {
	opts, err := natsfleet.Find(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	if err != nil {
		return nil, err
	}
	return openNATS(ctx, opts)
}

// serveNATS connects to the server that runs in a directory, or starts one.
func serveNATS(ctx context.Context, dir string, s Server) (Engine, error) {
	opts := &natsfleet.Options{Dir: dir, Listen: s.Listen, Certificate: s.Certificate, Key: s.Key}
	var err error
	if opts.Users, err = readUsers(s.Users); err != nil {
		return nil, err
	}
	e, err := openNATS(ctx, opts)
	return e, s.explain(err)
}

// openNATS opens an engine.
func openNATS(ctx context.Context, opts *natsfleet.Options) (Engine, error) {
	e, err := natsfleet.Open(ctx, opts)
	if err != nil {
		return nil, err
	}
	return natsEngine{e}, nil
}

// A natsEngine is an [Engine] with NATS servers.
type natsEngine struct{ *natsfleet.Engine }

// Doctor implements [Engine].
func (e natsEngine) Doctor(ctx context.Context) ([]Finding, error) {
	found, err := e.Engine.Doctor(ctx)
	var findings []Finding
	for _, f := range found {
		findings = append(findings, Finding(f))
	}
	return findings, err
}

// Remote implements [Engine].
func (e natsEngine) Remote(listen, host string) string {
	_, port, err := net.SplitHostPort(listen)
	if err != nil || port == "" {
		return ""
	}
	if at, err := url.Parse(e.URL()); err == nil && at.Port() != "" {
		port = at.Port() // listen may leave it to the system, with 0
	}
	return "tls://" + net.JoinHostPort(host, port) + "?sync=always"
}

const syncHint = `Add ?sync=always to the URL if the servers have "sync_interval: always" in the section
jetstream of their configuration, as that of "clew worker --listen" does. Add
?sync=later to accept that a loss of power loses jobs.`

// invalidURL returns an error that has nothing of the URL, which may have a password.
func invalidURL() error {
	return clikit.UsageError("--fleet is not a valid URL", `Give one such as "tls://fleet.example:4222?sync=always".`)
}

// options returns the options for a URL.
func (p Place) options() (*natsfleet.Options, error) {
	opts := &natsfleet.Options{}
	var servers []string
	for _, text := range strings.Split(p.Name, ",") {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return nil, invalidURL()
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
	if p.Credentials == "" {
		return opts, nil
	}
	return opts, readCredentials(p.Credentials, opts)
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

// readCredentials adds who connects to the options. Its errors have nothing of the file.
func readCredentials(path string, opts *natsfleet.Options) error {
	text, err := clikit.ReadConfig(path)
	if err != nil {
		return err
	}
	if bytes.Contains(text, []byte("BEGIN NATS USER JWT")) {
		opts.Credentials = path
		return nil
	}
	var c credentials
	if err := clikit.DecodeStrictly(text, &c); err != nil {
		return clikit.Unreadable(path, err)
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

// A listedUser is a user in the file of --users.
type listedUser struct {
	Name     string         `json:"name"`
	Password string         `json:"password"`
	Role     natsfleet.Role `json:"role"`
}

// readUsers reads the file of --users. Its errors have nothing of the file.
func readUsers(path string) ([]natsfleet.User, error) {
	if path == "" {
		return nil, nil
	}
	text, err := clikit.ReadConfig(path)
	if err != nil {
		return nil, err
	}
	var listed []listedUser
	if err := clikit.DecodeStrictly(text, &listed); err != nil {
		return nil, clikit.Unreadable(path, err)
	}
	users := make([]natsfleet.User, len(listed))
	for i, u := range listed {
		users[i] = natsfleet.User(u)
	}
	return users, nil
}

const insecureHint = `Another machine needs a URL with tls://, and --fleet-credentials. To do without in a
network that nobody else can reach, add tls=off and auth=off to the URL, such as
"nats://10.0.0.7:4222?sync=always&tls=off&auth=off".`

const forbiddenHint = `The role "watch" may only read. Submitting jobs and deciding about them needs the role
"submit", and "clew worker" the role "work". Roles are in the file of --users of the
worker with the server, and "role" in the file of --fleet-credentials must be the same.`

// explain returns the error of a server that can't be started, in the words of its flags.
func (s *Server) explain(err error) error {
	switch {
	case errors.Is(err, natsfleet.ErrListen):
		return clikit.UsageError("--listen must be HOST:PORT, such as 0.0.0.0:4222", "")
	case errors.Is(err, natsfleet.ErrHalfCertificate):
		return clikit.UsageError("--tls-cert and --tls-key belong together", "")
	case errors.Is(err, natsfleet.ErrExposed):
		return clikit.UsageError("--listen "+clikit.Printable(s.Listen)+" lets other machines reach the server",
			"Give --tls-cert and --tls-key, so that connections are encrypted, and --users, so that not\neverybody can connect. Or listen on 127.0.0.1.")
	}
	return err
}

// Explain returns the exit code, the text and the remedy for an error of an engine, or nil. A part
// that is zero is as for other errors.
func Explain(err error) *clikit.Failure {
	_, unknownServer := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, natsfleet.ErrPlaintext):
		return &clikit.Failure{Code: clikit.ExitUsage, Err: natsfleet.ErrPlaintext, Hint: insecureHint}
	case errors.Is(err, natsfleet.ErrAnonymous):
		return &clikit.Failure{Code: clikit.ExitUsage, Err: natsfleet.ErrAnonymous, Hint: insecureHint}
	case errors.Is(err, natsfleet.ErrForbidden):
		return &clikit.Failure{Err: errors.New("the server does not allow this to the user of --fleet-credentials"), Hint: forbiddenHint}
	case errors.Is(err, natsfleet.ErrUnauthorized):
		return &clikit.Failure{Hint: "Check the user, the password and the role in the file of --fleet-credentials."}
	case unknownServer:
		return &clikit.Failure{Hint: `Name the file with the certificate of the server, or of who vouches for it, as "ca"
in the file of --fleet-credentials.`}
	}
	return nil
}
