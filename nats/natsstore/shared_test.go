package natsstore_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/wire"
)

func TestTwoStores(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	a, b := open(t, &natsstore.Options{AllowUnsynced: true, URL: url}), open(t, &natsstore.Options{AllowUnsynced: true, URL: url})
	appendTo(t, a, main, numbered(0, 3)...)
	appendTo(t, b, main, numbered(1, 5)...)
	appendTo(t, a, main, numbered(0, 6)...)
	checkLoad(t, b, main, numbered(0, 6))
	title := wire.JSON(`{"type":"custom-title","customTitle":"together"}`)
	appendTo(t, b, main, title)
	appendTo(t, a, main, numbered(6, 7)...)
	summaries, err := b.Summaries(t.Context(), main.Project)
	if err != nil || summaries[main.SessionID].CustomTitle != "together" {
		t.Errorf("got %+v, %v", summaries, err)
	}

	// A store forgets a transcript that another deleted, whether or not it was written again.
	for range 2 {
		if err := b.Delete(t.Context(), main); err != nil {
			t.Fatal(err)
		}
		appendTo(t, a, main, numbered(0, 3)...)
		checkLoad(t, b, main, numbered(0, 3))
	}
	if err := b.Delete(t.Context(), main); err != nil {
		t.Fatal(err)
	}
	appendTo(t, b, main, numbered(2, 3)...)
	appendTo(t, a, main, numbered(0, 4)...)
	checkLoad(t, b, main, []wire.JSON{numbered(2, 3)[0], numbered(0, 1)[0], numbered(1, 2)[0], numbered(3, 4)[0]})
	summaries, err = a.Summaries(t.Context(), main.Project)
	if err != nil || summaries[main.SessionID].CustomTitle != "" {
		t.Errorf("got %+v, %v", summaries, err)
	}
}

// A writer continues while another deletes. TestTwoStores has this in a fixed order.
func TestDeletesOfAnother(t *testing.T) {
	t.Parallel()
	soak.Search(t)
	url := serve(t, &server.Options{})
	a, b := open(t, &natsstore.Options{AllowUnsynced: true, URL: url}), open(t, &natsstore.Options{AllowUnsynced: true, URL: url})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 600 {
			for _, s := range []*natsstore.Store{a, b} {
				if err := s.Append(t.Context(), main, numbered(i/2, i+2)); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if err := b.Delete(t.Context(), main); err != nil {
			t.Error(err)
		}
	}
	appendTo(t, a, main, numbered(0, 2)...)
	checkLoad(t, b, main, numbered(0, 2))
}

// writeTogether appends to one transcript from all stores at once, and checks that appends are not
// mixed.
func writeTogether(t *testing.T, try attempt, stores ...*natsstore.Store) {
	t.Helper()
	const appends, size = 20, 3
	var wg sync.WaitGroup
	for w, s := range stores {
		wg.Go(func() {
			for a := range appends {
				first := (w*appends + a) * size
				entries := append(numbered(first, first+size), `{"uuid":"of all"}`)
				if err := try(t, func(ctx context.Context) error { return s.Append(ctx, main, entries) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	var got []wire.JSON
	for _, entry := range try.load(t, stores[0], main) {
		if entry != `{"uuid":"of all"}` {
			got = append(got, entry)
		}
	}
	if len(got) != len(stores)*appends*size {
		t.Fatalf("got %d entries, want %d", len(got), len(stores)*appends*size)
	}
	for i := 0; i < len(got); i += size {
		var first int
		if _, err := fmt.Sscanf(string(got[i]), `{"type":"user","uuid":"u-%d"}`, &first); err != nil {
			t.Fatal(err)
		}
		for j, want := range numbered(first, first+size) {
			if got[i+j] != want {
				t.Fatalf("an append was torn: %v", got[i:i+size])
			}
		}
	}
}

func TestStoresWriteTogether(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	var stores []*natsstore.Store
	for range 4 {
		stores = append(stores, open(t, &natsstore.Options{AllowUnsynced: true, URL: url}))
	}
	writeTogether(t, once, stores...)
}

// If the server accepts no more batches, a writer waits until another one finishes.
func TestManyBatches(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{
		MaxPayload: smallPayload, JetStreamLimits: server.JSLimitOpts{MaxBatchInflightPerStream: 1},
	})
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url})
	conn, _ := rawStream(t, url)
	part := func(number int, header string) {
		m := nats.NewMsg(stream + ".p.another./")
		m.Header.Set("Nats-Batch-Id", "another")
		m.Header.Set("Nats-Batch-Sequence", fmt.Sprint(number))
		if header != "" {
			m.Header.Set(header, "1")
		}
		if answer, err := conn.RequestMsgWithContext(t.Context(), m); err != nil || strings.Contains(string(answer.Data), "error") {
			t.Fatalf("part %d: got %v, %v", number, answer, err)
		}
	}
	part(1, "")
	answers, err := conn.SubscribeSync("_INBOX.>") // what the server says to the store
	if err == nil {
		err = conn.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	entries := kilobytes(0, 100)
	go func() { done <- s.Append(t.Context(), main, entries) }()
	for refused := false; !refused; {
		m, err := answers.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		refused = strings.Contains(string(m.Data), `"err_code":10210`)
	}
	part(2, "Nats-Batch-Commit")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkLoad(t, s, main, entries)
}

// A cluster of three servers keeps everything three times, and works with two.
func TestCluster(t *testing.T) {
	t.Parallel()
	soak.Search(t)
	try := attempt(inTime)
	cluster := startCluster(t, 3)
	var stores []*natsstore.Store
	for _, srv := range cluster {
		opts := &natsstore.Options{AllowUnsynced: true, URL: srv.ClientURL(), Replicas: 3}
		stores = append(stores, try.open(t, opts))
	}
	writeTogether(t, try, stores...)
	large := kilobytes(0, 300)
	for i, s := range stores {
		try.append(t, s, other, large[i*100:(i+1)*100])
		for _, reader := range stores {
			try.checkLoad(t, reader, other, large[:(i+1)*100])
		}
	}
	stop(cluster[2])
	for i, s := range stores[:2] {
		key := wire.SessionKey{Project: "after", SessionID: fmt.Sprint(i)}
		try.append(t, s, key, large)
		try.checkLoad(t, s, key, large)
		try.checkLoad(t, s, other, large)
	}
}

// An attempt makes a call, as often as it takes or only once.
type attempt func(t *testing.T, call func(context.Context) error) error

// once makes a call once.
func once(t *testing.T, call func(context.Context) error) error {
	t.Helper()
	return call(t.Context())
}

// inTime repeats a call while the servers of a cluster look for each other or elect a leader, which
// they also do when they get too little processor time.
func inTime(t *testing.T, call func(context.Context) error) (err error) {
	t.Helper()
	polltest.Eventually(func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err = call(ctx)
		return err == nil || namesDamage(err)
	})
	return err
}

func (a attempt) open(t *testing.T, opts *natsstore.Options) (s *natsstore.Store) {
	t.Helper()
	err := a(t, func(ctx context.Context) (err error) {
		s, err = natsstore.Open(ctx, opts)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (a attempt) append(t *testing.T, s *natsstore.Store, key wire.SessionKey, entries []wire.JSON) {
	t.Helper()
	if err := a(t, func(ctx context.Context) error { return s.Append(ctx, key, entries) }); err != nil {
		t.Fatal(err)
	}
}

func (a attempt) load(t *testing.T, s *natsstore.Store, key wire.SessionKey) (entries []wire.JSON) {
	t.Helper()
	err := a(t, func(ctx context.Context) (err error) {
		entries, err = tryLoad(ctx, s, key)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func (a attempt) checkLoad(t *testing.T, s *natsstore.Store, key wire.SessionKey, want []wire.JSON) {
	t.Helper()
	if got := a.load(t, s, key); !slices.Equal(want, got) {
		t.Errorf("entries of %s (-want +got):\n%s", key, cmp.Diff(want, got))
	}
}

// startCluster starts servers that find each other.
func startCluster(t *testing.T, size int) []*server.Server {
	t.Helper()
	var routes []*url.URL
	var listeners []net.Listener
	ports := make([]int, size)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local listener
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = listener.Addr().(*net.TCPAddr).Port
		routes = append(routes, &url.URL{Scheme: "nats", Host: listener.Addr().String()})
		listeners = append(listeners, listener)
	}
	for _, listener := range listeners { // no port came twice
		_ = listener.Close()
	}
	var cluster []*server.Server
	for i, port := range ports {
		cluster = append(cluster, start(t, &server.Options{
			ServerName: fmt.Sprint("server-", i), Routes: routes, MaxPayload: smallPayload,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: port},
		}))
	}
	return cluster
}
