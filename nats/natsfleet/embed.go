package natsfleet

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/clewdev/clew/internal/pause"
	"github.com/clewdev/clew/internal/port"
	"github.com/clewdev/clew/nats/internal/natsserver"
)

// checkListen returns an error if the server of a directory would be open to others without protection.
func (o *Options) checkListen() error {
	if o.Listen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if n, failed := strconv.Atoi(port); err != nil || failed != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%w, got %s", ErrListen, o.Listen)
	}
	if (o.Certificate == "") != (o.Key == "") {
		return ErrHalfCertificate
	}
	if isLoopback(host) || o.Certificate != "" && len(o.Users) > 0 {
		return nil
	}
	return fmt.Errorf("listen at %s: %w: set Certificate and Key, so that connections are encrypted, and Users, "+
		"so that not everybody can connect; or listen on 127.0.0.1", o.Listen, ErrExposed)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// openDir starts a server on the directory and connects to it, or connects to the server that another process
// runs there.
func (e *Engine) openDir(ctx context.Context) error {
	starting := ctx // the own server may take as long as the caller lets it
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := e.startServer(starting)
		if !errors.Is(err, natsserver.ErrInUse) {
			return err
		}
		join := e.joinServer(ctx)
		if join == nil || errors.Is(join, errOtherName) {
			return join
		}
		// The other one is just starting, or just ending: then this process can start one.
		if pauseErr := pause.For(ctx, retryDelay); pauseErr != nil {
			return fmt.Errorf("another program uses %s, but its server can't be reached: %w", e.opts.Dir, join)
		}
	}
}

// errOtherName is wrapped by the error for a server whose streams have another name.
var errOtherName = errors.New("another program uses the directory with other streams")

// startTimeout is the time that Open waits for a server of another process. It starts slowly if it
// has much to check.
const startTimeout = time.Minute

// joinServer connects to the server that another process runs on the directory.
func (e *Engine) joinServer(ctx context.Context) error {
	found, err := Find(ctx, e.opts.Dir)
	if err != nil {
		return err
	}
	if found.Name != e.name {
		return fmt.Errorf("%s: %w: they are named %s, not %s", e.opts.Dir, errOtherName, found.Name, e.name)
	}
	e.client, e.shared = found, found.finder.first.Shared
	return e.dial(ctx)
}

// startServer starts a server on the directory and connects to it in memory.
func (e *Engine) startServer(ctx context.Context) error {
	srv, n, err := e.serve(ctx, func() bool { return true })
	if err != nil {
		return err
	}
	e.srv.Store(srv)
	e.client, e.shared = &Options{NKey: n.NKey}, n.Shared
	if err := e.dial(ctx); err != nil {
		e.srv.Store(nil)
		return errors.Join(e.startError(err), srv.Stop(answerTimeout))
	}
	return nil
}

func (e *Engine) startError(err error) error {
	return fmt.Errorf("starting a server in %s: %w", e.opts.Dir, err)
}

// serve starts a server on the directory, and writes its address there. It reads the directory only
// while this process has the lock, so that nobody else changes it, and calls may under the lock.
func (e *Engine) serve(ctx context.Context, may func() bool) (*natsserver.Server, *notice, error) {
	var n *notice
	srv, err := natsserver.NewWith(ctx, e.opts.Dir, func() (opts *server.Options, err error) {
		if !may() {
			return nil, errors.New("meanwhile another program has started the server with other settings")
		}
		if n, err = e.prepare(); err != nil {
			return nil, err
		}
		return e.serverOptions(ctx, n)
	})
	if err != nil {
		return nil, nil, err
	}
	if err = srv.Start(ctx); err == nil {
		n.URL, n.PID, n.Started = localURL(srv.ClientURL()), os.Getpid(), time.Now().Truncate(time.Second)
		err = n.write(e.opts.Dir)
	}
	if err != nil {
		return nil, nil, errors.Join(e.startError(err), srv.Stop(answerTimeout))
	}
	return srv, n, nil
}

// localURL returns the URL of a server for programs on the same machine.
func localURL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	return u.String()
}

// prepare returns the notice of the next server: it has the secret and the address of the last
// server on the directory, so that its clients find it.
func (e *Engine) prepare() (*notice, error) {
	n, err := e.describe()
	if err != nil {
		return nil, err
	}
	if last, err := readNotice(e.opts.Dir); err == nil {
		n.NKey, n.URL = last.NKey, last.URL
	} else if e.client != nil && e.client.finder != nil { // somebody removed it while the last server ran
		n.NKey, n.URL = e.client.NKey, e.client.URL
	}
	if _, err := nkeys.FromSeed([]byte(n.NKey)); err != nil {
		user, err := nkeys.CreateUser()
		if err != nil {
			return nil, err
		}
		seed, err := user.Seed()
		if err != nil {
			return nil, err
		}
		n.NKey = string(seed)
	}
	n.Users = e.opts.usersSum(n.NKey)
	return n, nil
}

// usersSum returns a sum of the users with their passwords and roles, or "" without users. It takes
// the secret to compute it, so that it does not help to guess a password.
func (o *Options) usersSum(secret string) string {
	if len(o.Users) == 0 {
		return ""
	}
	sum := hmac.New(sha256.New, []byte(secret))
	byName := func(a, b User) int { return strings.Compare(a.Name, b.Name) }
	for _, u := range slices.SortedStableFunc(slices.Values(o.Users), byName) {
		_, _ = fmt.Fprintf(sum, "%q %q %q\n", u.Name, u.Password, u.Role)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// describe returns what a notice says about the server that this engine would start.
func (e *Engine) describe() (*notice, error) {
	n := &notice{Name: e.name, Listen: e.opts.Listen, Shared: len(e.opts.Users) > 0}
	if e.opts.Certificate == "" {
		return n, nil
	}
	var err error
	n.Certificate, err = filepath.Abs(e.opts.Certificate)
	return n, err
}

// serverOptions returns how the server listens, and who may connect.
func (e *Engine) serverOptions(ctx context.Context, n *notice) (*server.Options, error) {
	key, err := nkeys.FromSeed([]byte(n.NKey))
	if err != nil {
		return nil, err
	}
	public, err := key.PublicKey()
	if err != nil {
		return nil, err
	}
	users, err := e.opts.serverUsers(e.name)
	if err != nil {
		return nil, err
	}
	opts := &server.Options{
		ServerName: "clew-fleet", Nkeys: []*server.NkeyUser{{Nkey: public}}, Users: users,
		JetStreamMaxStore: math.MaxInt64 / 2, // what is free on the disk is the limit: see checkDisk
	}
	if e.opts.Certificate != "" {
		opts.TLS, opts.TLSTimeout = true, answerTimeout.Seconds()
		opts.TLSConfig, err = e.opts.serverTLS(n)
		if err != nil {
			return nil, err
		}
	}
	opts.Host, opts.Port = e.opts.address(ctx, n)
	return opts, nil
}

// serverTLS returns the TLS settings of the server. If clients need a certificate, the notice gets one for the
// programs of this user.
func (o *Options) serverTLS(n *notice) (*tls.Config, error) {
	config, err := server.GenTLSConfig(&server.TLSConfigOpts{CertFile: o.Certificate, KeyFile: o.Key, CaFile: o.RootCA, Verify: o.RootCA != ""})
	if err != nil || o.RootCA == "" {
		return config, err
	}
	vouched, err := n.addClient()
	if err != nil {
		return nil, err
	}
	config.ClientCAs.AddCert(vouched)
	return config, nil
}

// address returns where the server listens: where the options say, where the last one did, or at any free port.
func (o *Options) address(ctx context.Context, n *notice) (host string, number int) {
	if o.Listen != "" {
		host, text, _ := net.SplitHostPort(o.Listen)
		if number, _ = strconv.Atoi(text); number == 0 {
			number = server.RANDOM_PORT
		}
		return host, number
	}
	host = "127.0.0.1"
	if u, err := url.Parse(n.URL); err == nil && u.Hostname() == host && port.BecomesFree(ctx, u.Host, maxPortWait) {
		last, _ := strconv.Atoi(u.Port())
		return host, last
	}
	return host, server.RANDOM_PORT
}

// maxPortWait is the time for the address of the last server to become free.
const maxPortWait = 2 * time.Second

// signer returns the client option for the seed of a key.
func signer(seed string) (nats.Option, error) {
	key, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return nil, errors.New("NKey is not a seed")
	}
	public, err := key.PublicKey()
	if err != nil {
		return nil, err
	}
	return nats.Nkey(public, key.Sign), nil
}
