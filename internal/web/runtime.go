package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A Running is a server that runs, as its file describes it. With it, other commands of the same
// user reach the server.
type Running struct {
	// URL is where its pages are.
	URL string `json:"url"`
	// Address is where it listens: an address with a port, or the path of a socket.
	Address string `json:"address"`
	// Certificate is the hash of its certificate, or "" if it does not use TLS.
	Certificate string `json:"certificate,omitempty"`
	// Token is what requests need.
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
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file, err := os.CreateTemp(dir, ".serve-") // with 0600
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, runningFile(r.PID))
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	return path, nil
}

// FindRunning returns the servers whose files are in a directory and which answer. It removes the
// files of others.
func FindRunning(ctx context.Context, dir string) ([]*Running, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []*Running
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "serve-") || filepath.Ext(e.Name()) != ".json" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		r, err := readRunning(path)
		if err == nil && r.get(ctx) == nil {
			found = append(found, r)
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		_ = os.Remove(path) // it is only in the way
	}
	return found, nil
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

// get returns an error unless the server answers with the token.
func (r *Running) get(ctx context.Context) error {
	return r.request(ctx, http.MethodGet, "me", nil)
}

// NewLink returns the address of the first page with a code that logs a browser in.
func (r *Running) NewLink(ctx context.Context) (url string, err error) {
	var l link
	err = r.request(ctx, http.MethodPost, "link", &l)
	return r.URL + "#" + l.Code, err
}

// Rotate replaces the token of the server, which logs all pages out, and returns a new link.
func (r *Running) Rotate(ctx context.Context) (url string, err error) {
	var l link
	if err := r.request(ctx, http.MethodPost, "rotate", &l); err != nil {
		return "", err
	}
	r.Token = l.Token
	return r.URL + "#" + l.Code, nil
}

// request sends a request to the server, and decodes the answer.
func (r *Running) request(ctx context.Context, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var body []byte
	if method == http.MethodPost {
		body = []byte("{}")
	}
	return r.send(ctx, method, path, body, into)
}

// send sends a request with a body to the server, and decodes the answer.
func (r *Running) send(ctx context.Context, method, path string, body []byte, into any) error {
	base := r.URL
	if base == "" { // a socket that nothing forwards to
		base = "http://localhost/"
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(base, "/")+api+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.Token)
	req.Header.Set("Content-Type", "application/json")
	transport := r.transport(req)
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server has answered %s", resp.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(into)
}

// transport connects to where the server listens, whatever the name in its URL means. It knows the
// server by its certificate, which need not be known to the system.
func (r *Running) transport(req *http.Request) *http.Transport {
	network := "tcp"
	if filepath.IsAbs(r.Address) {
		network = "unix"
	}
	if r.Certificate == "" {
		host := req.URL.Host
		req.URL.Scheme, req.Host = "http", host // a proxy has the certificate of a public URL
	} else {
		req.URL.Scheme = "https"
	}
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, r.Address)
		},
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
