package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clewdev/clew/internal/port"
	"github.com/clewdev/clew/internal/timelimit"
)

// DefaultPort is the port of a server without an explicit address: CLEW on the keys of a telephone.
const DefaultPort = 2539

const (
	portsToTry   = 20 // from DefaultPort on
	shutdownTime = 5 * time.Second
)

// An Address configures where a server listens. The zero value means the loopback addresses and the
// default port, or the next free one.
type Address struct {
	// Port is a port of the loopback addresses: a number, or "0" for any that is free.
	Port string
	// Socket is the path of a Unix socket, which only this user can use.
	Socket string
	// Listen is an IP address with a port. One that other machines reach needs a certificate.
	Listen string
	// CertFile and KeyFile are the certificate and the key for TLS.
	CertFile, KeyFile string
	// PublicURL is an additional URL of the pages, such as a proxy's.
	PublicURL string
}

// An AddressError is the reason why a server can't listen at an address.
type AddressError struct{ Reason, Hint string }

func (e *AddressError) Error() string { return e.Reason }

// A Listener accepts the connections of a server.
type Listener struct {
	// Origins are the origins of the pages. The first one is for the user.
	Origins []string
	// Forwarded means that other programs forward requests to a socket.
	Forwarded bool
	// Socket is the path of the socket, or "".
	Socket string

	listeners   []net.Listener
	certificate *tls.Certificate
	closeSocket func() error
}

// Listen starts to listen. The caller closes the listener, or gives it to [Server.Serve].
func Listen(ctx context.Context, a Address) (*Listener, error) {
	l := &Listener{}
	if err := l.setUp(&a); err != nil {
		return nil, err
	}
	var err error
	switch {
	case a.Socket != "":
		err = l.listenSocket(ctx, a.Socket)
	case a.Listen != "":
		err = l.listenAt(ctx, &a)
	default:
		err = l.listenLoopback(ctx, a.Port)
	}
	if err != nil {
		return nil, err
	}
	if a.PublicURL != "" { // it was checked
		origin, _ := ParseOrigin(a.PublicURL)
		l.Origins = append([]string{origin}, l.Origins...)
	}
	return l, nil
}

// setUp checks what does not need the network.
func (l *Listener) setUp(a *Address) error {
	if a.PublicURL != "" {
		origin, err := ParseOrigin(a.PublicURL)
		if err != nil {
			return &AddressError{Reason: "--public-url: " + err.Error()}
		}
		if host, ok := strings.CutPrefix(origin, "http://"); ok && !isLoopbackHost(host) {
			return &AddressError{
				Reason: "--public-url " + origin + " would send the token through the network in clear", Hint: "Give a URL with https.",
			}
		}
	}
	if a.CertFile == "" && a.KeyFile == "" {
		return nil
	}
	if a.CertFile == "" || a.KeyFile == "" {
		return &AddressError{Reason: "--tls-cert and --tls-key are needed together"}
	}
	pair, err := tls.LoadX509KeyPair(a.CertFile, a.KeyFile)
	if err != nil {
		return &AddressError{Reason: "the certificate can't be used: " + err.Error()}
	}
	l.certificate = &pair
	return nil
}

// scheme returns the scheme of the URLs.
func (l *Listener) scheme() string {
	if l.certificate != nil {
		return "https"
	}
	return "http"
}

// addOrigin adds the origin of a host with a port.
func (l *Listener) addOrigin(host string) {
	origin, err := ParseOrigin(l.scheme() + "://" + host)
	if err == nil { // it is an address that a listener has
		l.Origins = append(l.Origins, origin)
	}
}

// listenLoopback listens on the loopback addresses.
func (l *Listener) listenLoopback(ctx context.Context, chosen string) error {
	if chosen != "" {
		n, err := strconv.ParseUint(chosen, 10, 16)
		if err != nil {
			return &AddressError{Reason: "--port must be a number from 0 to 65535"}
		}
		return l.listenPort(ctx, int(n))
	}
	for p := DefaultPort; p < DefaultPort+portsToTry; p++ {
		if err := l.listenPort(ctx, p); !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
	}
	return &AddressError{
		Reason: fmt.Sprintf("the ports %d to %d are in use", DefaultPort, DefaultPort+portsToTry-1), Hint: "Give another one with --port, or --port 0.",
	}
}

// listenPort listens on one port of both loopback addresses. If another program had it in one of
// them, the browser could get that program's page for "localhost".
func (l *Listener) listenPort(ctx context.Context, wanted int) error {
	var config net.ListenConfig
	first, err := config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(wanted)))
	if err != nil {
		return inUse(wanted, err)
	}
	addr, _ := netip.ParseAddrPort(first.Addr().String()) // of an IP network
	number := strconv.Itoa(int(addr.Port()))
	second, err := config.Listen(ctx, "tcp6", net.JoinHostPort("::1", number))
	switch {
	case err == nil:
		l.listeners = []net.Listener{first, second}
	case port.InUse(err):
		return errors.Join(inUse(int(addr.Port()), err), first.Close())
	default: // there is no IPv6
		l.listeners = []net.Listener{first}
	}
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]"} {
		l.addOrigin(host + ":" + number)
	}
	return nil
}

// inUse explains why a port can't be used.
func inUse(number int, err error) error {
	if !port.InUse(err) {
		return err
	}
	return fmt.Errorf("port %d is in use: %w", number, syscall.EADDRINUSE)
}

// listenAt listens at an address given by the user.
func (l *Listener) listenAt(ctx context.Context, a *Address) error {
	addr, err := netip.ParseAddrPort(a.Listen)
	if err != nil {
		return &AddressError{Reason: "--listen must be an IP address with a port, such as 192.0.2.7:2539"}
	}
	ip := addr.Addr().Unmap()
	if !ip.IsLoopback() && l.certificate == nil {
		return &AddressError{
			Reason: "other machines reach " + a.Listen + ", and could read what is sent",
			Hint:   "Give --tls-cert and --tls-key, or use --socket and forward it with ssh -L.",
		}
	}
	named := !ip.IsUnspecified() && ip.Zone() == ""
	if !named && a.PublicURL == "" {
		return &AddressError{Reason: a.Listen + " has no name that a browser could use", Hint: "Say with --public-url how pages are reached."}
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", netip.AddrPortFrom(ip, addr.Port()).String())
	if err != nil {
		return inUse(int(addr.Port()), err)
	}
	l.listeners = []net.Listener{listener}
	if named {
		l.addOrigin(listener.Addr().String())
	}
	return nil
}

// listenSocket listens on a Unix socket. It gets its permissions before it has its name.
func (l *Listener) listenSocket(ctx context.Context, path string) error {
	if runtime.GOOS == "windows" {
		return &AddressError{Reason: "--socket can't be used on Windows", Hint: "Use --port."}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := checkSocket(ctx, path); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".clew-")
	if err != nil {
		return &AddressError{Reason: "the socket can't be created: " + err.Error()}
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is empty
	hidden := filepath.Join(dir, "s")
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", hidden)
	if err != nil {
		return err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) //nolint:forcetypeassert // of the network unix
	if err := errors.Join(os.Chmod(hidden, 0o600), os.Rename(hidden, path)); err != nil {
		return errors.Join(err, listener.Close())
	}
	own, err := os.Lstat(path)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	l.listeners, l.Socket, l.Forwarded = []net.Listener{listener}, path, true
	l.closeSocket = func() error { return removeSame(path, own) }
	return nil
}

// checkSocket returns an error if there is something at the path, unless it is a socket that nobody
// listens on.
func checkSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return &AddressError{Reason: "the socket can't be created: " + err.Error()}
	}
	if info.Mode().Type() != fs.ModeSocket {
		return &AddressError{Reason: path + " exists, and is not a socket", Hint: "Give another path with --socket."}
	}
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil // its server is gone, and it is replaced
	}
	if err == nil {
		err = conn.Close()
	}
	return errors.Join(&AddressError{Reason: path + " is in use", Hint: "Give another path with --socket."}, err)
}

// removeSame removes a file unless it was replaced.
func removeSame(path string, own fs.FileInfo) error {
	now, err := os.Lstat(path)
	if err != nil || !os.SameFile(own, now) {
		return nil //nolint:nilerr // somebody else removed it
	}
	return os.Remove(path)
}

// Close ends listening.
func (l *Listener) Close() error {
	var errs []error
	for _, one := range l.listeners {
		if err := one.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if l.closeSocket != nil {
		errs = append(errs, l.closeSocket())
	}
	return errors.Join(errs...)
}

// Limits for a client that sends the head of a request, and for a connection without requests.
var (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
)

var _ = timelimit.Register(&headTime, &idleTime)

// Serve answers requests until the context ends, and then ends the streams and waits for the other
// requests for some seconds.
func (s *Server) Serve(ctx context.Context, l *Listener) error {
	server := &http.Server{
		Handler:                      s.Handler(),
		ReadHeaderTimeout:            headTime,
		ReadTimeout:                  time.Minute,
		IdleTimeout:                  idleTime,
		MaxHeaderBytes:               16 << 10,
		DisableGeneralOptionsHandler: true,
		ConnContext:                  withConnection,
		ErrorLog:                     log.New(io.Discard, "", 0), // it quotes input from strangers
	}
	serve := server.Serve
	if l.certificate != nil {
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*l.certificate}, MinVersion: tls.VersionTLS12}
		serve = func(one net.Listener) error { return server.ServeTLS(one, "", "") }
	}
	failed := make(chan error, len(l.listeners))
	for _, one := range l.listeners {
		go func() { failed <- serve(&limitedListener{Listener: one, connections: &s.connections}) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	s.end()
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	if server.Shutdown(rest) != nil { // a request takes too long
		err = errors.Join(err, server.Close())
	}
	return errors.Join(err, l.Close())
}
