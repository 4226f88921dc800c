package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/clewdev/clew/cmd/clew/internal/drive"
	"github.com/clewdev/clew/internal/files"
	"github.com/clewdev/clew/internal/timelimit"
)

// A Running is a running server, as its file describes it. With it, other commands of the same user
// reach the server.
type Running struct {
	// URL is the address of its pages.
	URL string `json:"url"`
	// Address is its listening address: an address with a port, or the path of a socket.
	Address string `json:"address"`
	// Certificate is the hash of its certificate, or "" if it does not use TLS.
	Certificate string `json:"certificate,omitempty"`
	// Token authorizes requests.
	Token string `json:"token"`
	// PID is the ID of its process.
	PID int `json:"pid"`
}

// Describe returns what other commands need to reach a server.
func (s *Server) Describe(l *Listener) *Running {
	r := &Running{URL: l.URL(), Address: l.listeners[0].Addr().String(), Token: s.Token(), PID: os.Getpid()}
	if l.Socket != "" {
		r.Address = l.Socket
	}
	if l.certificate != nil {
		r.Certificate = fingerprint(l.certificate.Certificate[0])
	}
	return r
}

// URL returns the address of the first page. A socket has none, unless a program forwards to it.
func (l *Listener) URL() string {
	if len(l.Origins) == 0 {
		return ""
	}
	return l.Origins[0] + "/"
}

func fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// runningFile returns the name of the file of a process.
func runningFile(pid int) string { return "serve-" + strconv.Itoa(pid) + ".json" }

// Write writes the file of a server, which only this user can read, into a directory. It replaces
// the file as a whole.
func (r *Running) Write(dir string) (path string, err error) {
	data, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	if err := cmp.Or(os.MkdirAll(dir, 0o700), checkPrivate(dir)); err != nil {
		return "", err
	}
	path = filepath.Join(dir, runningFile(r.PID))
	// Its process does not survive a crash of the machine either.
	if err := files.Write(path, data, files.WriteOptions{NoSync: true}); err != nil {
		return "", err
	}
	return path, nil
}

// FindRunning returns the servers whose files are in a directory and which proved their identity.
// It removes the files of servers that ended: a server that was killed could not.
func FindRunning(ctx context.Context, dir string) ([]*Running, error) {
	return findRunning(ctx, dir, func(*Running) bool { return true })
}

// RemoveDead removes the files that servers left which were killed: with their tokens, and pages with codes that are no
// longer valid. It asks no process that is alive.
func RemoveDead(ctx context.Context, dir string) error {
	_, err := findRunning(ctx, dir, func(r *Running) bool { return !drive.Alive(r.PID) })
	if err != nil {
		return err
	}
	pages, err := filepath.Glob(filepath.Join(dir, OpenPattern))
	for _, path := range pages {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > CodeLifetime {
			_ = os.Remove(path) // it is only in the way
		}
	}
	return err
}

// OpenPattern is the pattern of the names of pages that lead a browser to a server.
const OpenPattern = "open-*.html"

// findRunning is [FindRunning] for some of the servers.
func findRunning(ctx context.Context, dir string, wanted func(*Running) bool) ([]*Running, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err = cmp.Or(err, checkPrivate(dir)); err != nil {
		return nil, err
	}
	var found []*Running
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "serve-") || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		r, err := readRunning(path)
		if err != nil || !wanted(r) {
			continue
		}
		switch err := r.probe(ctx); {
		case err == nil:
			found = append(found, r)
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case isNobody(err) && !drive.Alive(r.PID):
			_ = os.Remove(path) // it is only in the way
		}
	}
	return found, nil
}

// isNobody reports whether an error means that nobody listens.
func isNobody(err error) bool {
	const refusedOnWindows = syscall.Errno(10061)
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, refusedOnWindows) || errors.Is(err, fs.ErrNotExist)
}

// readRunning reads the file of a server.
func readRunning(path string) (*Running, error) {
	const most = 64 << 10
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return nil, err
	}
	r := &Running{}
	return r, json.Unmarshal(data, r)
}

// probe returns an error unless the server runs.
func (r *Running) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	c, err := r.connect(ctx)
	if err != nil {
		return err
	}
	c.close()
	return nil
}

// NewLink returns the address of the first page with a code that logs a browser in.
func (r *Running) NewLink(ctx context.Context) (url string, err error) {
	var l link
	err = r.request(ctx, "link", &l)
	return r.URL + "#" + l.Code, err
}

// Rotate replaces the token of the server, which logs all pages out, and returns a new link.
func (r *Running) Rotate(ctx context.Context) (url string, err error) {
	var l link
	if err := r.request(ctx, "rotate", &l); err != nil {
		return "", err
	}
	r.Token = l.Token
	return r.URL + "#" + l.Code, nil
}

// callTime limits a request that nobody has to answer.
var callTime = 5 * time.Second

var _ = timelimit.Register(&callTime)

// request sends a request without parameters to the server, and decodes the answer.
func (r *Running) request(ctx context.Context, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return r.send(ctx, path, []byte("{}"), into)
}

// send has the server prove who it is, sends a request with a body, and decodes the answer.
func (r *Running) send(ctx context.Context, path string, body []byte, into any) error {
	c, err := r.connect(ctx)
	if err != nil {
		return err
	}
	defer c.close()
	return c.send(ctx, path, r.Token, body, into)
}

// dial connects to where the server listens, whatever the name in its URL means.
func (r *Running) dial(ctx context.Context) (net.Conn, error) {
	network := "tcp"
	if filepath.IsAbs(r.Address) {
		network = "unix"
	}
	return (&net.Dialer{}).DialContext(ctx, network, r.Address)
}

// transport uses one connection. It knows the server by its certificate, which need not be known to
// the system.
func (r *Running) transport(conn net.Conn) *http.Transport {
	return &http.Transport{
		DialContext: onlyConn(conn),
		TLSClientConfig: &tls.Config{
			MinVersion:            tls.VersionTLS12,
			InsecureSkipVerify:    true, //nolint:gosec // the certificate is compared instead
			VerifyPeerCertificate: r.verify,
		},
	}
}

// verify accepts only the certificate that the file names.
func (r *Running) verify(certificates [][]byte, _ [][]*x509.Certificate) error {
	if len(certificates) > 0 && subtle.ConstantTimeCompare([]byte(fingerprint(certificates[0])), []byte(r.Certificate)) == 1 {
		return nil
	}
	return errors.New("the server has another certificate")
}
