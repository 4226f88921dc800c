package natsfleet

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/internal/files"
)

// noticeName is the name of the file with the address of a directory's server.
const noticeName = "fleet.json"

// A notice has the address of a directory's server, and the secret of users who may do anything.
// They prove that they know it and never send it, so that another program on that port does not
// learn it.
type notice struct {
	URL     string    `json:"url"`
	NKey    string    `json:"nkey"`
	Name    string    `json:"name"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Listen  string    `json:"listen,omitempty"` // Options.Listen
	Shared  bool      `json:"shared,omitempty"` // it has other users
	Users   string    `json:"users,omitempty"`  // which those are: see usersSum

	Certificate string `json:"certificate,omitempty"` // the file with the server's certificate
	// The certificate and the key of clients in PEM, if the server wants one.
	ClientCertificate string `json:"client_certificate,omitempty"`
	ClientKey         string `json:"client_key,omitempty"`
}

// addClient makes a certificate that vouches for itself, for programs that can read the notice.
func (n *notice) addClient() (*x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "clew"},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(100, 0, 0), // the next server has another one
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	n.ClientCertificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	n.ClientKey = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
	return x509.ParseCertificate(der)
}

// Find returns the options for the server that runs on a directory, in this or another process. An engine
// with these options follows the server when another process starts it again, wherever that listens. If there
// is no server, the error wraps [fs.ErrNotExist].
func Find(ctx context.Context, dir string) (*Options, error) {
	n, err := readNotice(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("natsfleet: no server has run in %s: %w", dir, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("natsfleet: %w", err)
	}
	conn, err := n.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("natsfleet: the server of %s, process %d since %s, is gone; start it again: %w",
			dir, n.PID, n.Started.Local().Format(time.DateTime), errors.Join(fs.ErrNotExist, err))
	}
	_ = conn.Close()
	return &Options{URL: n.URL, NKey: n.NKey, Name: n.Name, SyncAlways: true, finder: &finder{dir: dir, first: *n}}, nil
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
	if _, err := url.Parse(n.URL); err != nil {
		return nil, fmt.Errorf("%s has no valid URL; remove it", path)
	}
	return n, nil
}

func (n *notice) write(dir string) error {
	text, err := json.MarshalIndent(n, "", "\t")
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, noticeName), append(text, '\n'), files.WriteOptions{})
}

// dial connects to the server.
func (n *notice) dial(ctx context.Context) (net.Conn, error) {
	u, err := url.Parse(n.URL)
	if err != nil {
		return nil, errors.New("the server has no valid URL")
	}
	dialer := net.Dialer{Timeout: answerTimeout}
	return dialer.DialContext(ctx, "tcp", u.Host)
}

// A finder dials the server of a directory, wherever that listens now.
type finder struct {
	dir   string
	first notice // when it was found

	mu sync.Mutex
	at string // the URL of the server that was dialed last
}

// notice returns the notice of the server. A client can't follow a server to another key, and must
// not follow it if it became less private.
func (f *finder) notice() (*notice, error) {
	n, err := readNotice(f.dir)
	if err != nil {
		return nil, err
	}
	with := ""
	switch {
	case n.NKey != f.first.NKey:
		with = "another secret"
	case n.Name != f.first.Name:
		with = "other streams"
	case n.Shared && !f.first.Shared:
		with = "users that it did not have"
	case f.first.Certificate != "" && n.Certificate == "":
		with = "no certificate"
	case f.first.Certificate == "" && n.Certificate != "":
		with = "a certificate"
	default:
		return n, nil
	}
	return nil, fmt.Errorf("the server of %s was started again with %s; start this program again, too", f.dir, with)
}

// Dial implements [nats.CustomDialer]. The address is the one at which the server was found at first.
func (f *finder) Dial(string, string) (net.Conn, error) {
	n, err := f.notice()
	if err != nil {
		return nil, err
	}
	conn, err := n.dial(context.Background())
	if err == nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.at = n.URL
	}
	return conn, err
}

// url returns where the server was that was dialed last.
func (f *finder) url() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at
}

// options returns the options of a connection to a URL. It follows the server unless the caller set
// another URL, such as a proxy's.
func (f *finder) options(address string) []nats.Option {
	var opts []nats.Option
	if address == f.first.URL {
		opts = append(opts, nats.SetCustomDialer(f))
	}
	if f.first.Certificate != "" {
		opts = append(opts, nats.Secure(&tls.Config{
			InsecureSkipVerify:   true, //nolint:gosec // the certificate itself is compared
			VerifyConnection:     f.verify,
			GetClientCertificate: f.certificate,
		}))
	}
	return opts
}

// certificate returns the client's certificate, or an empty one if the server has none for it.
func (f *finder) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	n, err := f.notice()
	if err != nil || n.ClientCertificate == "" {
		return new(tls.Certificate), err
	}
	pair, err := tls.X509KeyPair([]byte(n.ClientCertificate), []byte(n.ClientKey))
	if err != nil {
		return nil, fmt.Errorf("the certificate for clients in %s: %w", noticeName, err)
	}
	return &pair, nil
}

// verify returns an error unless the server has the certificate in the file that the notice names.
func (f *finder) verify(state tls.ConnectionState) error {
	n, err := f.notice()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(n.Certificate)
	if err != nil {
		return fmt.Errorf("the certificate of the server: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return fmt.Errorf("the certificate of the server: %s has none", n.Certificate)
	}
	if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
		return fmt.Errorf("the server does not have the certificate in %s", n.Certificate)
	}
	return nil
}
