//go:build unix

package natsfleet_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/nats/natsfleet"
)

// A cluster has three servers, each in a separate process. They reach each other through cables.
type cluster struct {
	servers map[string]*serverProcess
	cables  map[string][]*cable // by the name of a server at one of its ends
	urls    string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{servers: map[string]*serverProcess{}, cables: map[string][]*cable{}}
	ports := freePorts(t, 6)
	var urls []string
	name := func(i int) string { return fmt.Sprintf("server-%d", i) }
	for i := range 3 {
		setup := serverSetup{Dir: t.TempDir(), Name: name(i), Ports: [2]int{ports[i], ports[3+i]}}
		for j := range 3 {
			if i == j {
				continue
			}
			l := newCable(t, ports[3+j])
			setup.Peers = append(setup.Peers, l.port())
			c.cables[name(i)] = append(c.cables[name(i)], l)
			c.cables[name(j)] = append(c.cables[name(j)], l)
		}
		c.servers[name(i)] = &serverProcess{setup: setup}
		c.servers[name(i)].run(t)
		urls = append(urls, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	c.urls = strings.Join(urls, ",")
	return c
}

// A cable passes connections on to a port, unless it is cut.
type cable struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	isCut bool
	conns map[net.Conn]bool
	wg    sync.WaitGroup
}

func newCable(t *testing.T, port int) *cable {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, to: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), conns: map[net.Conn]bool{}}
	c.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.wg.Go(func() { c.pass(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		c.cut(true)
		c.wg.Wait()
	})
	return c
}

func (c *cable) port() int { return c.listener.Addr().(*net.TCPAddr).Port }

// pass copies in both directions until one of them ends.
func (c *cable) pass(from net.Conn) {
	defer from.Close() //nolint:errcheck // as below
	var dialer net.Dialer
	to, err := dialer.DialContext(context.Background(), "tcp", c.to)
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // the other end sees that it is closed
	if !c.add(from, to) {
		return
	}
	c.wg.Go(func() {
		_, _ = io.Copy(to, from)
		_ = to.Close()
	})
	_, _ = io.Copy(from, to)
	c.remove(from, to)
}

func (c *cable) add(conns ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		c.conns[conn] = true
	}
	return !c.isCut
}

func (c *cable) remove(conns ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range conns {
		delete(c.conns, conn)
	}
}

// cut ends all connections and lets no other one through, or ends that.
func (c *cable) cut(isCut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = isCut
	if isCut {
		for conn := range c.conns {
			_ = conn.Close()
		}
	}
}

func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	var listeners []net.Listener
	for range n {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l) // closed at the end, so that no port comes twice
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	for _, l := range listeners {
		_ = l.Close()
	}
	return ports
}

// open opens an engine. A cluster that has just started has no leader yet.
func (c *cluster) open(t *testing.T) *natsfleet.Engine {
	t.Helper()
	for deadline := time.Now().Add(polltest.Limit); ; {
		ctx, cancel := context.WithTimeout(t.Context(), lostTime)
		e, err := natsfleet.Open(ctx, &natsfleet.Options{URL: c.urls, Replicas: 3, SyncAlways: true})
		cancel()
		if err == nil {
			t.Cleanup(func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
			return e
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// leader waits until the stream of jobs has a leader other than one, and returns its name.
func (c *cluster) leader(t *testing.T, js jetstream.JetStream, other string) string {
	t.Helper()
	for deadline := time.Now().Add(polltest.Limit); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		stream, err := js.Stream(ctx, "CLEW_JOBS")
		cancel()
		if err == nil {
			info := stream.CachedInfo().Cluster
			if info != nil && info.Leader != "" && info.Leader != other {
				return info.Leader
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no leader: %v", err)
		}
	}
}

// settle waits until the doctor finds nothing.
func settle(t *testing.T, e *natsfleet.Engine) {
	t.Helper()
	for deadline := time.Now().Add(polltest.Limit); ; {
		ctx, cancel := context.WithTimeout(t.Context(), lostTime)
		findings, err := e.Doctor(ctx)
		cancel()
		bad := 0
		for _, f := range findings {
			if !f.OK {
				bad++
			}
		}
		if err == nil && bad == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, %v", findings, err)
		}
	}
}

// TestCluster kills, pauses and restarts servers of a cluster while others write. All that was acknowledged is
// there after that.
func TestCluster(t *testing.T) {
	t.Parallel()
	soak.Search(t)
	c := startCluster(t)
	e := c.open(t)
	js := raw(t, c.urls, nats.MaxReconnects(-1), nats.PingInterval(time.Second)) // so that it leaves a server that is paused
	l := newLedger()
	stop := l.writers(t, 6, func() fleet.Engine { return c.open(t) })
	faults := []func(){
		func() { c.killLeader(t, js, l) },
		func() { c.pauseLeader(t, js, l) },
		func() { c.killTwo(t, e, js, l) },
		func() { c.restartAll(t, e) },
		func() { c.isolateLeader(t, js, l) },
	}
	rounds := soak.Size(1, 3)
	for range rounds {
		// All clients may be at one server after killTwo. restartAll spreads them before a leader is isolated: writers
		// that give up early don't leave their server.
		for _, fault := range faults {
			l.await(t, 50)
			fault()
			settle(t, e)
		}
	}
	l.await(t, 50)
	stop()
	l.check(t, c.open(t))
	soak.Figure(t, "%d writes acknowledged by a cluster in %d faults, none lost", l.count, rounds*len(faults))
}

func (c *cluster) killLeader(t *testing.T, js jetstream.JetStream, l *ledger) {
	t.Helper()
	leader := c.leader(t, js, "")
	c.servers[leader].kill(t)
	l.await(t, 20) // the others elect another leader
	c.servers[leader].run(t)
}

// pauseLeader pauses the leader until there is another one. When it continues, it still takes
// itself for the leader.
func (c *cluster) pauseLeader(t *testing.T, js jetstream.JetStream, l *ledger) {
	t.Helper()
	leader := c.leader(t, js, "")
	process := c.servers[leader].cmd.Process
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.leader(t, js, leader)
	l.await(t, 20)
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// leaveTime is after which time a client goes to another server, if its own does not answer: a half of the time that an
// answer may take here.
const leaveTime = 32 * time.Second

// isolateLeader cuts the leader off the other servers, but not off its clients. It must not acknowledge anything that
// the others don't know, and the others elect a leader.
func (c *cluster) isolateLeader(t *testing.T, js jetstream.JetStream, l *ledger) {
	t.Helper()
	leader := c.leader(t, js, "")
	e := c.open(t)
	for !strings.HasSuffix(e.URL(), fmt.Sprintf(":%d", c.servers[leader].setup.Ports[0])) {
		e = c.open(t)
	}
	for _, cable := range c.cables[leader] {
		cable.cut(true)
	}
	before := e.URL()
	if err := writeNew(t, e, l, 3*time.Second); err == nil && e.URL() == before {
		t.Errorf("%s, which is cut off, has acknowledged a write", leader)
	}
	for deadline := time.Now().Add(polltest.Limit); ; { // its client goes to another server after a while
		err := writeNew(t, e, l, leaveTime)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	l.await(t, 20)
	for _, cable := range c.cables[leader] {
		cable.cut(false)
	}
}

// killTwo kills two servers. The third one must not acknowledge anything.
func (c *cluster) killTwo(t *testing.T, e *natsfleet.Engine, js jetstream.JetStream, l *ledger) {
	t.Helper()
	leader := c.leader(t, js, "")
	killed := []*serverProcess{c.servers[leader]}
	for name, p := range c.servers {
		if name != leader && len(killed) < 2 {
			killed = append(killed, p)
		}
	}
	for _, p := range killed {
		p.kill(t)
	}
	if err := writeNew(t, e, l, 3*time.Second); err == nil {
		t.Errorf("one server of three has acknowledged a write")
	}
	for _, p := range killed {
		p.run(t)
	}
	l.await(t, 20)
}

// writeNew writes a new record. If that is acknowledged, the ledger has it.
func writeNew(t *testing.T, e *natsfleet.Engine, l *ledger, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	key := "new-" + rand.Text()
	revisions, err := e.Set(ctx, fleet.Jobs, fleet.Record{Key: key, Data: []byte("data")})
	if errors.Is(err, fleet.ErrConflict) {
		t.Error(err)
	}
	if err == nil {
		l.add(key, revisions[0], "data")
	}
	return err
}

// restartAll restarts one server after the other.
func (c *cluster) restartAll(t *testing.T, e *natsfleet.Engine) {
	t.Helper()
	for _, p := range c.servers {
		p.end(t)
		p.run(t)
		settle(t, e)
	}
}
