package natsfleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/internal/natsserver"
	"github.com/clewdev/clew/nats/natsfleet"
)

// serverVariable is the environment variable with which the test program is a server.
const serverVariable = "CLEW_TEST_NATS_SERVER"

// A serverSetup configures a server: the server of an engine on a directory, or a server in a
// cluster.
type serverSetup struct {
	Dir   string
	Name  string // "" for an engine's server
	Ports [2]int // for clients and for the cluster
	Peers []int  // the ports at which it reaches the other servers of the cluster

	Queue string // of a worker that has the engine, or ""
}

// runServer runs a server until its standard input ends. It prints a line when it is ready.
func runServer(text string) int {
	var setup serverSetup
	err := json.Unmarshal([]byte(text), &setup)
	var stop func() error
	if err == nil {
		stop, err = setup.start(context.Background())
	}
	if err == nil {
		fmt.Println("started")
		_, _ = io.Copy(io.Discard, os.Stdin)
		err = stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (s *serverSetup) start(ctx context.Context) (stop func() error, err error) {
	switch {
	case s.Queue != "":
		return s.work(ctx)
	case s.Name == "":
		e, err := natsfleet.Open(ctx, &natsfleet.Options{Dir: s.Dir})
		if err != nil {
			return nil, err
		}
		return e.Close, nil
	}
	opts := server.Options{ServerName: s.Name, Host: "127.0.0.1", Port: s.Ports[0]}
	opts.Cluster.Name, opts.Cluster.Host, opts.Cluster.Port = "three", "127.0.0.1", s.Ports[1]
	// Servers gossip about third servers. They must reach each other only by the configured ports,
	// so they advertise an address that does not work.
	opts.Cluster.Advertise, opts.Cluster.NoAdvertise = "127.0.0.1:1", true
	for _, port := range s.Peers {
		opts.Routes = append(opts.Routes, &url.URL{Scheme: "nats", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))})
	}
	srv, err := natsserver.New(ctx, s.Dir, opts)
	if err != nil {
		return nil, err
	}
	if err := srv.Start(ctx); err != nil {
		return nil, errors.Join(err, srv.Stop(polltest.Limit))
	}
	return func() error { return srv.Stop(polltest.Limit) }, nil
}

// A serverProcess is a server in a separate process.
type serverProcess struct {
	setup serverSetup
	cmd   *exec.Cmd
	stdin io.Closer
}

// run starts the process, and waits until the server is ready.
func (p *serverProcess) run(t testing.TB) {
	t.Helper()
	text, err := json.Marshal(p.setup)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(program) //nolint:noctx // the cleanup ends it
	p.cmd.Env = append(os.Environ(), serverVariable+"="+string(text))
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = stdin
	cmd := p.cmd
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the server does not start: %q, %v", line, err)
	}
}

// kill ends the process at once.
func (p *serverProcess) kill(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait() // the error is that the process was killed
}

// end lets the server end by itself.
func (p *serverProcess) end(t testing.TB) {
	t.Helper()
	_ = p.stdin.Close()
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// A ledger has all writes that an engine acknowledged.
type ledger struct {
	mu      sync.Mutex
	acked   map[string]map[uint64]string // the data by key and revision
	count   int
	unknown int // writes of which it is not known whether they were done
	changed chan struct{}
}

func newLedger() *ledger {
	return &ledger{acked: map[string]map[uint64]string{}, changed: make(chan struct{})}
}

func (l *ledger) add(key string, revision uint64, data string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.acked[key] == nil {
		l.acked[key] = map[uint64]string{}
	}
	l.acked[key][revision] = data
	l.count++
	close(l.changed)
	l.changed = make(chan struct{})
}

// await waits for n more writes that are acknowledged.
func (l *ledger) await(t testing.TB, n int) {
	t.Helper()
	l.mu.Lock()
	want := l.count + n
	l.mu.Unlock()
	late := time.After(polltest.Limit)
	for {
		l.mu.Lock()
		count, changed := l.count, l.changed
		l.mu.Unlock()
		if count >= want {
			return
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("only %d writes are acknowledged", count)
		}
	}
}

// write changes a record again and again, each time to something that was never there.
func (l *ledger) write(ctx context.Context, e fleet.Engine, key, name string) {
	tick := time.NewTicker(5 * time.Millisecond) // it need not be fast
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		<-tick.C
		data := name + " " + strconv.Itoa(n)
		revision, err := change(ctx, e, key, data)
		switch {
		case err == nil:
			l.add(key, revision, data)
		case !errors.Is(err, fleet.ErrConflict):
			l.mu.Lock()
			l.unknown++
			l.mu.Unlock()
		}
	}
}

// lostTime is after which time a request of a test is taken for lost: a server that has just lost its leader does not
// answer. It is sent again.
const lostTime = polltest.Again

// change replaces the record that is there.
func change(ctx context.Context, e fleet.Engine, key, data string) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, lostTime)
	defer cancel()
	r, err := e.Get(ctx, fleet.Jobs, key)
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		return 0, errors.Join(fleet.ErrConflict, err) // nothing was written
	}
	revisions, err := e.Set(ctx, fleet.Jobs, fleet.Record{Key: key, Revision: r.Revision, Data: []byte(data)})
	if err != nil {
		return 0, err
	}
	return revisions[0], nil
}

// writers starts writers, of which two share each record. The function stops them.
func (l *ledger) writers(t testing.TB, n int, engine func() fleet.Engine) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	remover := engine()
	wg.Go(func() { createAndRemove(ctx, remover) })
	for i := range n {
		e := engine()
		wg.Go(func() { l.write(ctx, e, "key-"+strconv.Itoa(i/2), "writer-"+strconv.Itoa(i)) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// createAndRemove creates and removes records, some of them several times.
func createAndRemove(ctx context.Context, e fleet.Engine) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		<-tick.C
		key := "short-" + strconv.Itoa(i%100)
		if r, err := e.Get(ctx, fleet.Jobs, key); err == nil {
			_ = e.Remove(ctx, fleet.Jobs, key, r.Revision)
		} else if errors.Is(err, fleet.ErrNotFound) {
			_, _ = e.Set(ctx, fleet.Jobs, fleet.Record{Key: key, Data: []byte("data")})
		}
	}
}

// check looks for each acknowledged write in the history of its record. The engine checks that each change there
// follows the one before.
func (l *ledger) check(t testing.TB, e fleet.Engine) {
	t.Helper()
	for key, acked := range l.acked {
		there := map[uint64]string{}
		for r, err := range e.History(t.Context(), fleet.Jobs, key) {
			if err != nil {
				t.Error(err)
				break
			}
			there[r.Revision] = string(r.Data)
		}
		lost := 0
		for revision, data := range acked {
			if there[revision] != data {
				lost++
				t.Logf("%s has %q at %d, and %q was acknowledged", key, there[revision], revision, data)
			}
		}
		if lost > 0 {
			t.Errorf("%d of %d acknowledged writes of %s are lost", lost, len(acked), key)
		}
	}
	t.Logf("%d writes were acknowledged, of %d it is not known", l.count, l.unknown)
}
