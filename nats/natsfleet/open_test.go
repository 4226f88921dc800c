package natsfleet_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsfleet"
	"github.com/clewdev/clew/wire"
)

// set writes a record that is not there yet.
func set(t testing.TB, e fleet.Engine, key, data string) uint64 {
	t.Helper()
	revisions, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: key, Data: []byte(data)})
	if err != nil {
		t.Fatal(err)
	}
	return revisions[0]
}

// check checks the data of a record.
func check(t testing.TB, e fleet.Engine, key, want string) {
	t.Helper()
	r, err := e.Get(t.Context(), fleet.Jobs, key)
	if err != nil || string(r.Data) != want {
		t.Errorf("got %q, %v; want %q", r.Data, err, want)
	}
}

// reconnect waits until engines notice the end of their server, and have another one.
func reconnect(t testing.TB, engines ...fleet.Engine) {
	t.Helper()
	for _, e := range engines {
		polltest.Until(t, "the server answers", func() bool {
			_, err := e.Get(t.Context(), fleet.Jobs, "nothing")
			return errors.Is(err, fleet.ErrNotFound)
		})
	}
}

// find returns the options for the server of a directory.
func find(t testing.TB, dir string) *natsfleet.Options {
	t.Helper()
	opts, err := natsfleet.Find(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return opts
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		opts *natsfleet.Options
		want string
	}{
		"nothing":      {nil, "exactly one of URL and Dir"},
		"both":         {&natsfleet.Options{URL: "nats://127.0.0.1:1", Dir: "x"}, "exactly one of URL and Dir"},
		"unknown sync": {&natsfleet.Options{URL: "nats://127.0.0.1:1"}, "sync_interval: always"},
		"no server":    {&natsfleet.Options{URL: "nats://me:hunter2@127.0.0.1:1", SyncAlways: true}, "connect to 127.0.0.1:1"},
		"bad URL":      {&natsfleet.Options{URL: "nats://me:hunter2%@127.0.0.1:1", SyncAlways: true}, "invalid URL"},
		"bad name":     {&natsfleet.Options{Dir: "x", Name: "A.B"}, "must consist of letters"},
		"bad key":      {&natsfleet.Options{URL: "nats://127.0.0.1:1", SyncAlways: true, NKey: "hunter2"}, "not a seed"},
		"plaintext":    {&natsfleet.Options{URL: "nats://127.0.0.1:1,example.invalid:4222", User: "me", Password: "hunter2", SyncAlways: true}, "example.invalid:4222: " + natsfleet.ErrPlaintext.Error()},
		"nobody":       {&natsfleet.Options{URL: "tls://example.invalid", SyncAlways: true}, "example.invalid: " + natsfleet.ErrAnonymous.Error()},
		"encrypted":    {&natsfleet.Options{URL: "tls://me:hunter2@example.invalid", SyncAlways: true}, "connect to example.invalid"},
		"accepted":     {&natsfleet.Options{URL: "nats://example.invalid", SyncAlways: true, AllowPlaintext: true, AllowAnonymous: true}, "connect to example.invalid"},
		"open":         {&natsfleet.Options{Dir: "x", Listen: "0.0.0.0:0"}, "set Certificate and Key"},
		"open by name": {&natsfleet.Options{Dir: "x", Listen: "example.com:0"}, "or listen on 127.0.0.1"},
		"open to all":  {&natsfleet.Options{Dir: "x", Listen: ":0", Certificate: "c", Key: "k"}, "Users"},
		"no port":      {&natsfleet.Options{Dir: "x", Listen: "127.0.0.1"}, "HOST:PORT"},
		"bad role":     {&natsfleet.Options{Dir: "x", Users: []natsfleet.User{{Name: "u", Password: "0123456789abcdef", Role: "king"}}}, `no role "king"`},
		"short password": {
			&natsfleet.Options{Dir: "x", Users: []natsfleet.User{{Name: "u", Password: "hunter2", Role: natsfleet.Work}}},
			"at least 16 characters",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.opts != nil && test.opts.Dir != "" && test.opts.URL == "" {
				test.opts.Dir = t.TempDir()
			}
			e, err := natsfleet.Open(t.Context(), test.opts)
			if err == nil {
				_ = e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// checkPort fails unless the server of an engine has the address that it had before.
func checkPort(t *testing.T, e *natsfleet.Engine, address string) {
	t.Helper()
	if e.URL() != address {
		t.Errorf("the server is at %s, and was at %s", e.URL(), address)
	}
}

// lastPort is the last port that steadyDir chose.
var lastPort atomic.Int64

// steadyDir returns a directory whose server had a port that systems do not usually give to a program that
// asks for any free one. So nobody takes it while the server is not there. A test process has ten such ports.
func steadyDir(t *testing.T) string {
	t.Helper()
	lastPort.CompareAndSwap(0, int64(15_000+os.Getpid()%1000*10)) // for tests in two processes
	dir := t.TempDir()
	for range 9 {
		address := fmt.Sprintf("127.0.0.1:%d", lastPort.Add(1))
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		_ = l.Close()
		e, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir, Listen: address})
		if err == nil {
			err = e.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Fatal("no port is free")
	return ""
}

// takePort listens at an address, and closes all connections, unless another program has just taken
// the port.
func takePort(t *testing.T, address string) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Log(err)
		return
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
}

// TestRestart closes the only engine of a directory, and opens another one. All that was written is
// there.
func TestRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	first := set(t, e, "job", "first")
	_, setErr := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "job", Revision: first, Label: "label", Data: []byte("second")})
	removeErr := e.Remove(t.Context(), fleet.Jobs, "other", set(t, e, "other", "gone"))
	putErr := e.Put(t.Context(), "job/1/patch", strings.NewReader("a patch"))
	before, getErr := e.Get(t.Context(), fleet.Jobs, "job")
	if err := errors.Join(setErr, removeErr, putErr, getErr, e.Close()); err != nil {
		t.Fatal(err)
	}
	e = open(t, &natsfleet.Options{Dir: dir})
	after, err := e.Get(t.Context(), fleet.Jobs, "job")
	if diff := cmp.Diff(before, after); diff != "" || err != nil {
		t.Errorf("error %v, record (-before +after):\n%s", err, diff)
	}
	if _, err := e.Get(t.Context(), fleet.Jobs, "other"); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("a removed record: got %v", err)
	}
	checkHistory(t, e, "job", "first", "second")
	if got := readAll(t, e, "job/1/patch"); got != "a patch" {
		t.Errorf("the file has %q", got)
	}
	revisions, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "job", Revision: after.Revision, Data: []byte("third")})
	if err != nil || revisions[0] <= after.Revision {
		t.Errorf("revision %d comes after %d, %v", revisions, after.Revision, err)
	}
	checkHistory(t, e, "job", "first", "second", "third")
}

// checkHistory compares the data of all changes of a job.
func checkHistory(t testing.TB, e fleet.Engine, key string, want ...string) {
	t.Helper()
	var got []string
	for r, err := range e.History(t.Context(), fleet.Jobs, key) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(r.Data))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history of %s (-want +got):\n%s", key, diff)
	}
}

// TestTakeOver opens the same directory several times. The server ends with the first engine, and another one
// starts it again, at the same port. When that one ends as well, the last one does.
func TestTakeOver(t *testing.T) { // not parallel: a process that another test starts may have a copy of the socket
	dir := steadyDir(t)
	first, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	address := first.URL()
	set(t, first, "a", "of the first")
	second := open(t, &natsfleet.Options{Dir: dir})
	check(t, second, "a", "of the first")
	found := open(t, find(t, dir))
	check(t, found, "a", "of the first")

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	reconnect(t, second, found)
	set(t, second, "b", "of the second")
	if !second.Serves() {
		t.Error("the second engine does not have the server")
	}
	checkPort(t, second, address)
	// The connections of the others come back.
	check(t, found, "b", "of the second")
	third := open(t, &natsfleet.Options{Dir: dir})
	check(t, third, "b", "of the second")
	if third.Serves() || found.Serves() {
		t.Error("there are two servers")
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	reconnect(t, third, found)
	check(t, found, "b", "of the second")
	if !third.Serves() {
		t.Error("the last engine does not have the server")
	}
	checkPort(t, third, address)
}

// TestGone closes the only engine that can have the server.
func TestGone(t *testing.T) { // not parallel: a process that another test starts may have a copy of the socket
	dir := steadyDir(t)
	only, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	address := only.URL()
	found := open(t, find(t, dir))
	if err := only.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := natsfleet.Find(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("got %v", err)
	}
	again := open(t, &natsfleet.Options{Dir: dir})
	checkPort(t, again, address)
	reconnect(t, found)
	set(t, found, "a", "data")
	check(t, again, "a", "data")
}

func TestFindNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := natsfleet.Find(t.Context(), dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "fleet.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := natsfleet.Find(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "fleet.json is damaged") {
		t.Errorf("got %v", err)
	}
}

// TestPortTaken starts a server again after another program took its port.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	set(t, first, "a", "data")
	address := strings.TrimPrefix(first.URL(), "nats://")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	takePort(t, address)
	check(t, open(t, &natsfleet.Options{Dir: dir}), "a", "data")
	check(t, open(t, find(t, dir)), "a", "data")
}

// TestSecret connects without the secret, which only the user can read.
func TestSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, &natsfleet.Options{Dir: dir})
	if _, err := natsfleet.Open(t.Context(), &natsfleet.Options{URL: e.URL(), SyncAlways: true}); !errors.Is(err, nats.ErrAuthorization) {
		t.Errorf("got %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, "fleet.json"))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
}

// certificate writes a certificate for the address 127.0.0.1 that vouches for itself.
func certificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", private)
}

// TestTLS reaches a server from outside with a password, and from the same machine by its directory.
func TestTLS(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	dir := t.TempDir()
	e := open(t, &natsfleet.Options{
		Dir: dir, Listen: "0.0.0.0:0", Certificate: cert, Key: key,
		Users: []natsfleet.User{{Name: "anna", Password: "0123456789abcdef", Role: natsfleet.Work}},
	})
	set(t, e, "a", "data")
	near := open(t, &natsfleet.Options{Dir: dir})
	check(t, near, "a", "data")

	address := find(t, dir).URL
	far := open(t, &natsfleet.Options{
		URL: address, RootCA: cert, User: "anna", Password: "0123456789abcdef", Role: natsfleet.Work, SyncAlways: true,
	})
	check(t, far, "a", "data")
	set(t, far, "b", "more")
	check(t, e, "b", "more")

	plain := strings.Replace(address, "tls://", "nats://", 1)
	for name, opts := range map[string]*natsfleet.Options{
		"no root":        {URL: address, User: "anna", Password: "0123456789abcdef", SyncAlways: true},
		"not encrypted":  {URL: plain, User: "anna", Password: "0123456789abcdef", SyncAlways: true},
		"wrong password": {URL: address, RootCA: cert, User: "anna", Password: "0123456789abcdeF", SyncAlways: true},
		"no password":    {URL: address, RootCA: cert, SyncAlways: true},
	} {
		if e, err := natsfleet.Open(t.Context(), opts); err == nil {
			_ = e.Close()
			t.Errorf("%s: connected", name)
		} else if strings.Contains(err.Error(), "0123456789") {
			t.Errorf("%s: the error has the password: %v", name, err)
		}
	}
}

// TestClientCertificate has a server that wants client certificates. Programs of the same user have
// one, and others need a certificate that RootCA vouches for, in addition to their password.
func TestClientCertificate(t *testing.T) {
	t.Parallel()
	cert, key := certificate(t)
	clientCert, clientKey := certificate(t)
	dir := t.TempDir()
	e := open(t, &natsfleet.Options{
		Dir: dir, Listen: "127.0.0.1:0", Certificate: cert, Key: key, RootCA: clientCert,
		Users: []natsfleet.User{{Name: "anna", Password: "0123456789abcdef", Role: natsfleet.Work}},
	})
	set(t, e, "a", "data")
	check(t, open(t, &natsfleet.Options{Dir: dir}), "a", "data")
	near := find(t, dir)
	check(t, open(t, near), "a", "data")

	far := natsfleet.Options{URL: near.URL, RootCA: cert, User: "anna", Password: "0123456789abcdef", Role: natsfleet.Work, SyncAlways: true}
	if e, err := natsfleet.Open(t.Context(), &far); err == nil {
		_ = e.Close()
		t.Error("connected without a certificate")
	}
	far.Certificate, far.Key = clientCert, clientKey
	check(t, open(t, &far), "a", "data")
}

// TestStreamSettings refuses streams that would drop, refuse or lose records.
func TestStreamSettings(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*jetstream.StreamConfig)
		want   string
	}{
		"old":     {func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "drops old messages"},
		"age":     {func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "drops old messages"},
		"subject": {func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }, "drops old messages"},
		"memory":  {func(c *jetstream.StreamConfig) { c.Storage = jetstream.MemoryStorage }, "in memory only"},
		"async": {func(c *jetstream.StreamConfig) {
			c.PersistMode, c.AllowAtomicPublish = jetstream.AsyncPersistMode, false
		}, "before they are on disk"},
		"batches": {func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }, "atomic batches"},
		"rollup":  {func(c *jetstream.StreamConfig) { c.AllowRollup = false }, "remove records"},
		"others":  {func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:1] }, "other subjects"},
		"small":   {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, "refuses large messages"},
		"queue":   {func(c *jetstream.StreamConfig) { c.Retention = jetstream.WorkQueuePolicy }, "drops messages that were read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := newName()
			jobs := name + "_JOBS"
			config := jetstream.StreamConfig{
				Name: jobs, Subjects: []string{jobs + ".*", jobs + ".*.*"}, Discard: jetstream.DiscardNew,
				AllowDirect: true, AllowAtomicPublish: true, AllowRollup: true, AllowMsgTTL: true,
			}
			test.change(&config)
			if _, err := raw(t, sharedURL(t)).CreateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			_, err := natsfleet.Open(t.Context(), &natsfleet.Options{URL: sharedURL(t), Name: name, SyncAlways: true})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestSmallPayload refuses a server that takes no large records.
func TestSmallPayload(t *testing.T) {
	t.Parallel()
	url := rawURL(t, server.Options{MaxPayload: 64 << 10})
	_, err := natsfleet.Open(t.Context(), &natsfleet.Options{URL: url, SyncAlways: true})
	if err == nil || !strings.Contains(err.Error(), "set max_payload") {
		t.Errorf("got %v", err)
	}
}

// TestStore keeps transcripts on the same server. They are there for a store with another connection.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := open(t, &natsfleet.Options{Dir: dir}), open(t, &natsfleet.Options{Dir: dir})
	key := wire.SessionKey{Project: "-home-me", SessionID: "6f1d6a1c-9d0f-4a57-8a3a-3c6c0f3b2a11"}
	store, err := first.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Append(t.Context(), key, []wire.JSON{`{"type":"user","uuid":"u"}`}); err != nil {
		t.Fatal(err)
	}
	other, err := second.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range other.Load(t.Context(), key) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("got %d entries", n)
	}
}
