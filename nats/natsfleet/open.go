package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/timelimit"
	"github.com/clewdev/clew/nats/internal/natsclient"
	"github.com/clewdev/clew/nats/internal/natsserver"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/sessions"
)

// DefaultName is the prefix of all streams if [Options] does not have another.
const DefaultName = "CLEW"

// answerTimeout is the time that a server has for one answer.
var answerTimeout = 10 * time.Second

var _ = timelimit.Register(&answerTimeout, &pingInterval)

// Options locates the records. Exactly one of URL and Dir must be set.
type Options struct {
	// URL is the URL of a server, such as "nats://localhost:4222", or of several servers of a
	// cluster, separated by commas. A lost connection is made again, however long that takes.
	URL string
	// User and Password, Token, the file Credentials (of a user with a JWT) or the seed NKey
	// authenticate the connection to URL. The URL may have a user and a password as well.
	User, Password string
	Token          string
	Credentials    string
	NKey           string
	// Role is the role of that user, if it has the permissions that [Permissions] returns. Empty
	// means that it may do anything.
	Role Role
	// RootCA is a file with the certificates that vouch for the server. Empty means the system's.
	// With Dir, clients need a certificate that one of these vouches for. The programs of this user
	// have another one, in the file fleet.json.
	RootCA string
	// Certificate and Key are the files of the client's certificate, if the server wants one. With
	// Dir they belong to the server.
	Certificate, Key string
	// SyncAlways states that the servers of URL sync records to disk before they acknowledge them,
	// as with the line sync_interval: always in the section jetstream of their configuration. By
	// default a server syncs every two minutes, and a power failure loses everything acknowledged
	// since. Clients can't see the setting, so Open needs this or AllowUnsynced. Dir needs neither:
	// its server always syncs.
	SyncAlways bool
	// AllowUnsynced accepts servers and streams that acknowledge records before they are on disk: a
	// loss of power may lose them, and a job may then run twice. With several replicas, that takes a
	// loss of several servers at once.
	AllowUnsynced bool
	// AllowPlaintext accepts a connection to another machine without TLS: anyone who sees it can
	// read the password and all jobs, and change them. Otherwise a host of URL that is not loopback
	// needs the scheme tls, RootCA or Certificate.
	AllowPlaintext bool
	// AllowAnonymous accepts to connect to another machine as nobody, so to a server where everybody can
	// do anything.
	AllowAnonymous bool

	// Dir is the directory of a server that runs in this process. It is created if it does not exist.
	// If a server of another process uses the directory already, Open connects to that one, which has
	// its own settings: Listen, Users, Certificate, Key and RootCA are not used then. When that process
	// ends, this one starts the server again, if Listen, Users and Certificate are the same.
	Dir string
	// Listen is the address of the server of Dir, such as "127.0.0.1:4222". Empty means a port of
	// the loopback interface that stays the same where it can. The programs of this user find it in
	// the file fleet.json of the directory, which has a secret for them and which nobody else can
	// read. An address that others can reach needs Certificate, Key and Users.
	Listen string
	// Users may connect to the server of Dir from elsewhere.
	Users []User

	// Name is the prefix of all streams and subjects. Empty means [DefaultName].
	Name string
	// Replicas is the number of servers in a cluster that keep the streams that Open and
	// [Engine.Store] create: 1, 3 or 5. 0 means 1, so that the loss of one server is a loss of the
	// records; 3 survives the loss of one. No role may create streams: a user that may do anything
	// has to open the fleet first.
	Replicas int

	finder *finder // if it is the server of a directory
}

// An Engine is a [fleet.Engine] in NATS JetStream. Several engines, on several machines, may use the
// same streams at the same time.
//
// Its methods wait for the server until the context ends, but at most ten seconds for each answer.
// While there is no connection they wait as long for that; once a request is sent, a lost
// connection is an error, since the server may have acted on it.
type Engine struct {
	name   string
	opts   Options
	client *Options // how to connect, which is not opts if Dir is set
	conn   *nats.Conn
	link   *link
	js     jetstream.JetStream
	srv    atomic.Pointer[natsserver.Server] // nil unless the server is in this process

	shared bool   // the server of a directory has other users
	mark   *mark  // of the server in this process
	guard  *guard // of its disk

	standing sync.WaitGroup // standIn
	gaveUp   atomic.Int32   // how often it stopped a server that it could not check
	leave    context.CancelFunc

	mu     sync.Mutex
	closed bool
	extra  []*nats.Conn // of stores
}

var _ fleet.Engine = (*Engine)(nil)

// Open connects to the server, or starts one, and creates the streams that do not exist. It returns an
// error if a stream has settings with which it would drop or refuse records, or unless allowed lose them
// with the power of the server. The context bounds only Open. The caller has to close the engine.
func Open(ctx context.Context, opts *Options) (*Engine, error) {
	if opts == nil {
		opts = &Options{}
	}
	e := &Engine{name: cmp.Or(opts.Name, DefaultName), opts: *opts}
	e.client = &e.opts
	if err := e.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("natsfleet: %w", err), e.Close()) //nolint:contextcheck // it must close even after the context ends
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context) error {
	if err := e.check(); err != nil {
		return err
	}
	var err error
	if e.opts.Dir != "" {
		err = e.openDir(ctx)
	} else {
		err = e.dial(ctx)
	}
	if err != nil {
		return err
	}
	if e.js, err = jetstream.New(e.conn); err != nil {
		return err
	}
	if e.opts.Dir != "" && e.client.finder != nil {
		e.beginStandIn(ctx)
		return e.openStreams(ctx)
	}
	if err := e.openStreams(ctx); err != nil || e.opts.Dir == "" {
		return err
	}
	if err := e.openMark(ctx); err != nil {
		return err
	}
	return e.watchDisk(ctx)
}

// errUnknownSync is the error for a server that may lose acknowledged records.
var errUnknownSync = errors.New("a power failure of the server may lose jobs that it has acknowledged: " +
	"start it with \"jetstream { sync_interval: always }\" and set Options.SyncAlways, " +
	"or set Options.AllowUnsynced to accept that")

// Errors that [Open] wraps for a server of another machine, unless [Options] allows it.
var (
	ErrPlaintext = errors.New("the connection would not be encrypted, so others could read the password and the jobs, and change them")
	ErrAnonymous = errors.New("nothing says who connects, so everybody could")
)

// ErrUnauthorized is wrapped by the error of [Open] if the server does not accept the user or the password.
var ErrUnauthorized = nats.ErrAuthorization

// ErrForbidden is wrapped by the errors of requests that the server does not allow the user: see [Role].
var ErrForbidden = nats.ErrPermissionViolation

// Errors that [Open] wraps for the server of a directory. ErrExposed reports that other machines could reach it without
// TLS or without users.
var (
	ErrListen          = errors.New("Listen must be HOST:PORT")
	ErrHalfCertificate = errors.New("only one of Certificate and Key is set")
	ErrExposed         = errors.New("others can reach it")
)

// checkURL returns an error if a connection would not be safe from others.
func (o *Options) checkURL() error {
	if o.URL == "" || o.finder != nil { // a directory has its own checks
		return nil
	}
	servers, err := natsclient.Servers(o.URL)
	if err != nil {
		return err
	}
	for _, u := range servers {
		isEncrypted := u.Scheme == "tls" || u.Scheme == "wss" || o.RootCA != "" || o.Certificate != ""
		isNobody := o.User == "" && o.Token == "" && o.Credentials == "" && o.NKey == "" && o.Certificate == "" && u.User == nil
		switch {
		case isLoopback(u.Hostname()):
		case !isEncrypted && !o.AllowPlaintext:
			return fmt.Errorf("%s: %w: give a URL with tls://, or set Options.AllowPlaintext to accept that", u.Host, ErrPlaintext)
		case isNobody && !o.AllowAnonymous:
			return fmt.Errorf("%s: %w: set User, Token, Credentials, NKey or Certificate, or Options.AllowAnonymous to accept that",
				u.Host, ErrAnonymous)
		}
	}
	return nil
}

// check returns an error if the options contradict each other.
func (e *Engine) check() error {
	o := &e.opts
	switch {
	case (o.URL == "") == (o.Dir == ""):
		return errors.New("exactly one of URL and Dir must be set")
	case o.URL != "" && !o.SyncAlways && !o.AllowUnsynced:
		return errUnknownSync
	case o.URL != "" && (o.Listen != "" || len(o.Users) > 0):
		return errors.New("Listen and Users are for the server of Dir")
	case !isName(e.name):
		return fmt.Errorf("name %q must consist of letters, digits, '-' and '_'", e.name)
	case o.Dir != "":
		return o.checkListen()
	}
	return o.checkURL()
}

func isName(s string) bool {
	return s != "" && len(s) <= 64 && natsclient.Escape(s) == s && !strings.Contains(s, "/")
}

// Close closes the connection, and stops the server in this process. It waits at most ten seconds for
// that. Calls in progress fail. Close may be called more than once.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, conn := range e.extra {
		conn.Close()
	}
	e.extra = nil
	if e.closed || e.conn == nil {
		return nil
	}
	e.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	if !e.endStandIn(ctx) {
		e.conn.Close()
		return fmt.Errorf("natsfleet: the server that was just started did not stop within %v", answerTimeout)
	}
	half, cancel := context.WithTimeout(ctx, answerTimeout/2) // the rest is for the server
	defer cancel()
	e.guard.close(half)
	e.closeMark(half)
	e.conn.Close()
	if srv := e.srv.Load(); srv != nil {
		deadline, _ := ctx.Deadline()
		return srv.Stop(time.Until(deadline).Round(time.Second))
	}
	return nil
}

// Serves reports whether the server is in this process.
func (e *Engine) Serves() bool { return e.srv.Load() != nil }

// Private reports whether only programs of this user can connect: the server belongs to a
// directory, and was started without other users.
func (e *Engine) Private() bool { return e.opts.Dir != "" && !e.shared }

// URL returns the URL of the server that the engine is connected to, without a user and a password. It is
// empty while there is no connection.
func (e *Engine) URL() string {
	if srv := e.srv.Load(); srv != nil {
		return srv.ClientURL()
	}
	address := e.conn.ConnectedUrlRedacted()
	if f := e.client.finder; f != nil && address != "" {
		return cmp.Or(f.url(), address)
	}
	return address
}

// Store opens a session store on the same server, for the transcripts of jobs, with its own
// connection, so that long transcripts don't delay records. It ends with the engine.
func (e *Engine) Store(ctx context.Context) (sessions.Store, error) {
	if _, err := e.state(ctx, e.sessionStream()); e.opts.Role != "" && errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("natsfleet: stream %s: %w", e.sessionStream(), e.mayNotCreate())
	}
	conn, err := e.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("natsfleet: %w", err)
	}
	store, err := natsstore.Open(ctx, &natsstore.Options{
		Conn: conn, Stream: e.sessionStream(), Replicas: e.opts.Replicas,
		SyncAlways: e.synced(), AllowUnsynced: e.opts.AllowUnsynced,
	})
	if err != nil {
		conn.Close()
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		conn.Close()
		return nil, errors.New("natsfleet: the engine is closed")
	}
	e.extra = append(e.extra, conn)
	return store, nil
}

// synced reports whether the server syncs records that it acknowledges, according to the options.
func (e *Engine) synced() bool { return e.opts.SyncAlways || e.opts.Dir != "" }

// dial makes the connection of the engine.
func (e *Engine) dial(ctx context.Context) error {
	e.link = newLink()
	e.link.optional = e.diskSubject()
	conn, err := e.connect(ctx, e.link.options()...)
	if err != nil {
		return err
	}
	e.conn = conn
	return nil
}

// connect makes a connection to the server.
func (e *Engine) connect(ctx context.Context, more ...nats.Option) (*nats.Conn, error) {
	opts, err := e.client.connectOptions()
	if err != nil {
		return nil, err
	}
	if srv := e.srv.Load(); srv != nil && e.client.URL == "" {
		opts = append(opts, nats.InProcessServer(srv))
	}
	return natsclient.Dial(ctx, e.client.URL, append(opts, more...)...)
}

// connectOptions returns who connects, and how.
func (o *Options) connectOptions() ([]nats.Option, error) {
	opts := []nats.Option{
		nats.Timeout(answerTimeout), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(2), nats.RetryOnFailedConnect(false),
	}
	if o.Role != "" {
		opts = append(opts, nats.CustomInboxPrefix(o.Role.inbox()))
	}
	if o.User != "" {
		opts = append(opts, nats.UserInfo(o.User, o.Password))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	if o.NKey != "" {
		signed, err := signer(o.NKey)
		if err != nil {
			return nil, err
		}
		opts = append(opts, signed)
	}
	if o.URL == "" {
		return opts, nil
	}
	if o.finder != nil {
		opts = append(opts, o.finder.options(o.URL)...)
	}
	if o.RootCA != "" {
		opts = append(opts, nats.RootCAs(o.RootCA))
	}
	if o.Certificate != "" {
		opts = append(opts, nats.ClientCert(o.Certificate, o.Key))
	}
	return opts, nil
}

// reconnectWait is the delay before a connection is tried again.
const reconnectWait = 250 * time.Millisecond

// pingInterval is the interval between pings. A server that does not answer two of them is left for
// another one, before a worker loses its lease.
var pingInterval = 5 * time.Second
