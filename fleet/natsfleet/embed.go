package natsfleet

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/clewdev/clew/internal/natsserver"
)

// noticeName is the name of the file that says where the server of a directory is.
const noticeName = "fleet.json"

// A notice says where the server of a directory is, and has the secret of those who may do anything. They
// prove that they know it and never send it, so that another program on that port does not learn it.
type notice struct {
	URL     string    `json:"url"`
	NKey    string    `json:"nkey"`
	Name    string    `json:"name"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Shared  bool      `json:"shared,omitempty"` // it has other users

	Certificate string `json:"certificate,omitempty"` // the file with that of the server
}

// Find returns the options for the server that runs on a directory, in this or another process. If there is
// none, the error wraps [fs.ErrNotExist].
func Find(ctx context.Context, dir string) (*Options, error) {
	n, err := readNotice(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("natsfleet: no server has run in %s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("natsfleet: %w", err)
	}
	u, err := url.Parse(n.URL)
	if err != nil {
		return nil, fmt.Errorf("natsfleet: %s has no valid URL; remove the file", filepath.Join(dir, noticeName))
	}
	dialer := net.Dialer{Timeout: answerTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("natsfleet: the server of %s, process %d since %s, is gone; start it again: %w",
			dir, n.PID, n.Started.Local().Format(time.DateTime), errors.Join(fs.ErrNotExist, err))
	}
	_ = conn.Close()
	return &Options{URL: n.URL, NKey: n.NKey, Name: n.Name, SyncAlways: true, pinned: n.Certificate, shared: n.Shared}, nil
}

func readNotice(dir string) (*notice, error) {
	path := filepath.Join(dir, noticeName)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := new(notice)
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("%s is damaged; remove it: %w", path, err)
	}
	return n, nil
}

func (n *notice) write(dir string) error {
	text, err := json.MarshalIndent(n, "", "\t")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(dir, noticeName), append(text, '\n'))
}

// checkListen returns an error if the server of a directory would be open to others without protection.
func (o *Options) checkListen() error {
	if o.Listen == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return fmt.Errorf("Listen must be HOST:PORT: %w", err)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("Listen has no valid port: %s", o.Listen)
	}
	if (o.Certificate == "") != (o.Key == "") {
		return errors.New("only one of Certificate and Key is set")
	}
	if isLoopback(host) || o.Certificate != "" && len(o.Users) > 0 {
		return nil
	}
	return fmt.Errorf("others can reach %s: set Certificate and Key, so that connections are encrypted, and Users, "+
		"so that not everybody can connect; or listen on 127.0.0.1", o.Listen)
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
		if join == nil {
			return nil
		}
		// The other one is just starting, or just ending: then this process can start one.
		if pauseErr := pause(ctx); pauseErr != nil {
			return fmt.Errorf("another program uses %s, but its server can't be reached: %w", e.opts.Dir, join)
		}
	}
}

// startTimeout is how long Open waits for a server of another process. It starts slowly if it has much to
// check.
const startTimeout = time.Minute

// joinServer connects to the server that another process runs on the directory.
func (e *Engine) joinServer(ctx context.Context) error {
	found, err := Find(ctx, e.opts.Dir)
	if err != nil {
		return err
	}
	if found.Name != e.name {
		return fmt.Errorf("its streams are named %s, not %s", found.Name, e.name)
	}
	e.opts.URL, e.opts.NKey, e.opts.pinned, e.shared = found.URL, found.NKey, found.pinned, found.shared
	e.opts.RootCA, e.opts.Certificate, e.opts.Key = "", "", "" // they are those of a server
	return e.dial(ctx)
}

// startServer starts a server on the directory and connects to it in memory.
func (e *Engine) startServer(ctx context.Context) error {
	n, err := e.prepare()
	if err != nil {
		return err
	}
	opts, err := e.serverOptions(ctx, n)
	if err != nil {
		return err
	}
	srv, err := natsserver.New(ctx, e.opts.Dir, *opts)
	if err != nil {
		return err
	}
	if err = srv.Start(ctx); err == nil && srv.Addr() == nil {
		err = fmt.Errorf("it does not listen: %w", srv.LastError())
	}
	if err == nil {
		n.URL, n.Name, n.PID, n.Started = localURL(srv.ClientURL()), e.name, os.Getpid(), time.Now().Truncate(time.Second)
		n.Shared = len(e.opts.Users) > 0
		e.shared = n.Shared
		if n.Certificate = e.opts.Certificate; n.Certificate != "" {
			n.Certificate, err = filepath.Abs(n.Certificate)
		}
	}
	if err == nil {
		err = n.write(e.opts.Dir)
	}
	if err == nil {
		e.srv, e.opts.NKey = srv, n.NKey
		err = e.dial(ctx)
	}
	if err != nil {
		e.srv = nil
		return errors.Join(fmt.Errorf("starting a server in %s: %w", e.opts.Dir, err), srv.Stop(answerTimeout))
	}
	return nil
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

// pin returns the option of a client that accepts a server with the certificate in a file, and no other.
func pin(path string) (nats.Option, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the certificate of the server: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("the certificate of the server: %s has none", path)
	}
	return nats.Secure(&tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // the certificate itself is compared
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
				return fmt.Errorf("the server does not have the certificate in %s", path)
			}
			return nil
		},
	}), nil
}

// prepare returns the notice of the server that ran last on the directory, so that its clients find the next
// one, or a new one.
func (e *Engine) prepare() (*notice, error) {
	n, err := readNotice(e.opts.Dir)
	if err == nil {
		_, err = nkeys.FromSeed([]byte(n.NKey))
	}
	if err == nil {
		return n, nil
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	seed, err := user.Seed()
	return &notice{NKey: string(seed)}, err
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
	opts := &server.Options{ServerName: "clew-fleet", Nkeys: []*server.NkeyUser{{Nkey: public}}, Users: users}
	if e.opts.Certificate != "" {
		opts.TLS, opts.TLSTimeout = true, answerTimeout.Seconds()
		opts.TLSConfig, err = e.opts.serverTLS()
		if err != nil {
			return nil, err
		}
	}
	opts.Host, opts.Port = e.opts.address(ctx, n)
	return opts, nil
}

// serverTLS returns the TLS settings of the server.
func (o *Options) serverTLS() (*tls.Config, error) {
	return server.GenTLSConfig(&server.TLSConfigOpts{CertFile: o.Certificate, KeyFile: o.Key, CaFile: o.RootCA, Verify: o.RootCA != ""})
}

// address returns where the server listens: where the options say, where the last one did, or at any free port.
func (o *Options) address(ctx context.Context, n *notice) (host string, port int) {
	if o.Listen != "" {
		host, text, _ := net.SplitHostPort(o.Listen)
		if port, _ = strconv.Atoi(text); port == 0 {
			port = server.RANDOM_PORT
		}
		return host, port
	}
	host = "127.0.0.1"
	if u, err := url.Parse(n.URL); err == nil && u.Hostname() == host {
		if l, err := new(net.ListenConfig).Listen(ctx, "tcp", u.Host); err == nil { // otherwise another program has it
			_ = l.Close()
			port, _ = strconv.Atoi(u.Port())
			return host, port
		}
	}
	return host, server.RANDOM_PORT
}

// signer returns the option of a client that has the seed of a key.
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
