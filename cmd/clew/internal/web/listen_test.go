package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/view"
)

// certificate writes a certificate that no system knows.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// listen listens, until the test ends.
func listen(t *testing.T, a Address) *Listener {
	t.Helper()
	l, err := Listen(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // a server may have closed it
	return l
}

// By default, only this machine reaches the server, on both loopback addresses.
func TestListenLoopback(t *testing.T) {
	t.Parallel()
	l := listen(t, Address{Port: "0"})
	for _, one := range l.listeners {
		addr, ok := one.Addr().(*net.TCPAddr)
		if !ok || !addr.IP.IsLoopback() || !strings.HasSuffix(l.Origins[0], one.Addr().String()[strings.LastIndexByte(one.Addr().String(), ':'):]) {
			t.Errorf("%v is not a loopback address with the port of %q", one.Addr(), l.Origins)
		}
	}
	if len(l.Origins) != 3 || !strings.HasPrefix(l.Origins[0], "http://127.0.0.1:") {
		t.Errorf("the origins are %q", l.Origins)
	}
}

// A port that another program has on either address is not used.
func TestListenTakenPort(t *testing.T) {
	t.Parallel()
	for _, taken := range []string{"127.0.0.1:0", "[::1]:0"} {
		var config net.ListenConfig
		other, err := config.Listen(t.Context(), "tcp", taken)
		if err != nil {
			t.Logf("%s: %v", taken, err) // no IPv6
			continue
		}
		t.Cleanup(func() { _ = other.Close() })
		_, port, err := net.SplitHostPort(other.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if l, err := Listen(t.Context(), Address{Port: port}); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v, %v", taken, l, err)
		}
	}
	first, second := listen(t, Address{}), listen(t, Address{})
	if first.Origins[0] == second.Origins[0] {
		t.Errorf("two servers are at %s", first.Origins[0])
	}
}

// A server that other machines can reach needs a certificate and a name. The refusal explains the
// remedy.
func TestListenRefuses(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	for _, c := range []struct {
		a    Address
		want string
	}{
		{Address{Listen: "0.0.0.0:0"}, "other machines reach"},
		{Address{Listen: "[::]:0"}, "other machines reach"},
		{Address{Listen: "192.0.2.7:0"}, "other machines reach"},
		{Address{Listen: "[::ffff:192.0.2.7]:0"}, "other machines reach"},
		{Address{Listen: ":2539"}, "must be an IP address"},
		{Address{Listen: "localhost:2539"}, "must be an IP address"},
		{Address{Listen: "0.0.0.0:0", CertFile: cert, KeyFile: key}, "has no name"},
		{Address{Listen: "127.0.0.1:0", CertFile: cert}, "together"},
		{Address{Listen: "127.0.0.1:0", CertFile: key, KeyFile: key}, "the certificate can't be used"},
		{Address{Port: "0", PublicURL: "http://clew.example.com"}, "in clear"},
		{Address{Port: "0", PublicURL: "https://clew.example.com/x"}, "is not a URL"},
		{Address{Port: "-1"}, "must be a number"},
		{Address{Port: "http"}, "must be a number"},
	} {
		l, err := Listen(t.Context(), c.a)
		if why, ok := errors.AsType[*AddressError](err); !ok || !strings.Contains(why.Reason, c.want) {
			t.Errorf("%+v: %v, %v", c.a, l, err)
		}
	}
	wildcard := listen(t, Address{Listen: "0.0.0.0:0", CertFile: cert, KeyFile: key, PublicURL: "https://clew.example.com"})
	if want := "https://clew.example.com"; len(wildcard.Origins) != 1 || wildcard.Origins[0] != want {
		t.Errorf("the origins are %q", wildcard.Origins)
	}
}

// socketDir returns a directory whose path is short enough for sockets.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "clew-") //nolint:usetesting // its directory has the name of the test
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Only the user can use the socket. The socket of a server that is gone is replaced, and nothing
// else is.
//
// The test is not parallel: a process that another test starts meanwhile has the listener of the closed socket as
// well until it runs its own program, and then the socket is still in use.
func TestListenSocket(t *testing.T) { //nolint:paralleltest // see above
	if runtime.GOOS == "windows" {
		t.Skip("there are none")
	}
	dir := socketDir(t)
	path := filepath.Join(dir, "s")
	first := listen(t, Address{Socket: path})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if l, err := Listen(t.Context(), Address{Socket: path}); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("a second server: %v, %v", l, err)
	}
	first.closeSocket = nil // its server is killed
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := listen(t, Address{Socket: path})
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(t.Context(), Address{Socket: path}); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file: %v, %v", l, err)
	}
}

// The user's other commands find a server by its file, whatever it listens on.
func TestFindRunning(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	dir := t.TempDir()
	addresses := map[string]Address{
		"port": {Port: "0"}, "tls": {Listen: "127.0.0.1:0", CertFile: cert, KeyFile: key, PublicURL: "https://clew.example.com"},
	}
	if runtime.GOOS != "windows" {
		addresses["socket"] = Address{Socket: filepath.Join(socketDir(t), "s")}
	}
	for name, a := range addresses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := listen(t, a)
			source := view.New(view.Options{Dir: dir})
			s, err := New(Options{Source: source, Origins: l.Origins, Forwarded: l.Forwarded})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error)
			go func() { served <- s.Serve(ctx, l) }()
			checkRunning(t, s, l, filepath.Join(t.TempDir(), "run"))
			cancel()
			if err := errors.Join(<-served, s.Close(), source.Close()); err != nil && !errors.Is(err, http.ErrServerClosed) {
				t.Error(err)
			}
		})
	}
}

// checkRunning finds a server by its file, and gets a new link and a new token.
func checkRunning(t *testing.T, s *Server, l *Listener, dir string) {
	t.Helper()
	path, err := s.Describe(l).Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "serve-1.json"), []byte(`{"address":"127.0.0.1:1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := FindRunning(t.Context(), dir)
	if err != nil || len(found) != 1 || found[0].PID != os.Getpid() {
		t.Fatalf("%v, %v", found, err)
	}
	link, err := found[0].NewLink(t.Context())
	if _, code, _ := strings.Cut(link, "#"); err != nil || code == "" || !strings.HasPrefix(link, l.URL()) {
		t.Errorf("%q, %v", link, err)
	}
	old := s.Token()
	if _, err := found[0].Rotate(t.Context()); err != nil || s.Token() == old {
		t.Errorf("the token is the old one: %v", err)
	}
	if found[0].Certificate != "" {
		found[0].Certificate = strings.Repeat("0", 64)
		if _, err := found[0].NewLink(t.Context()); err == nil {
			t.Error("another certificate is accepted")
		}
	}
	if found, err := FindRunning(t.Context(), dir); len(found) > 0 || err != nil { // the file has the old token
		t.Errorf("%v, %v", found, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file of a server that runs: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "serve-1.json")); err == nil {
		t.Error("the file of a server that has ended is still there")
	}
}

// A server that starts removes the files of servers that were killed, and leaves the files of processes that are
// alive.
func TestRemoveDead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const dead = 1<<22 + 1 // more than a process ID can be
	files := map[string]string{
		runningFile(dead):        fmt.Sprintf(`{"address":"127.0.0.1:1","token":"t","pid":%d}`, dead),
		runningFile(os.Getpid()): fmt.Sprintf(`{"address":"127.0.0.1:1","token":"t","pid":%d}`, os.Getpid()),
		"open-old.html":          "", "open-new.html": "", "other.json": "{}",
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "open-old.html"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := RemoveDead(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for name := range files {
		_, err := os.Stat(filepath.Join(dir, name))
		if isGone := name == runningFile(dead) || name == "open-old.html"; (err != nil) != isGone {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := RemoveDead(t.Context(), filepath.Join(dir, "missing")); err != nil {
		t.Error(err)
	}
}
