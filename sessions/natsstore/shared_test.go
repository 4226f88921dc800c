package natsstore_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/sessions/natsstore"
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

	// A store forgets a transcript that another has deleted, whether or not it was written again.
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

// A writer continues while another deletes.
func TestDeletesOfAnother(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	a, b := open(t, &natsstore.Options{AllowUnsynced: true, URL: url}), open(t, &natsstore.Options{AllowUnsynced: true, URL: url})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 60 {
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

// If there are more writers than the server accepts batches, they wait for each other.
func TestManyBatches(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: serve(t, &server.Options{
		MaxPayload: smallPayload, JetStreamLimits: server.JSLimitOpts{MaxBatchInflightPerStream: 2},
	})})
	entries := kilobytes(0, 100)
	var wg sync.WaitGroup
	for i := range 10 {
		key := wire.SessionKey{Project: "p", SessionID: fmt.Sprint(i)}
		wg.Go(func() {
			if err := s.Append(t.Context(), key, entries); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkLoad(t, s, wire.SessionKey{Project: "p", SessionID: "9"}, entries)
}

// A cluster of three servers keeps everything three times, and works with two.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := startCluster(t, 3)
	var stores []*natsstore.Store
	for _, srv := range cluster {
		opts := &natsstore.Options{AllowUnsynced: true, URL: srv.ClientURL(), Replicas: 3}
		stores = append(stores, inTime.open(t, opts))
	}
	writeTogether(t, inTime, stores...)
	large := kilobytes(0, 300)
	for i, s := range stores {
		inTime.append(t, s, other, large[i*100:(i+1)*100])
		for _, reader := range stores {
			inTime.checkLoad(t, reader, other, large[:(i+1)*100])
		}
	}
	stop(cluster[2])
	for i, s := range stores[:2] {
		key := wire.SessionKey{Project: "after", SessionID: fmt.Sprint(i)}
		inTime.append(t, s, key, large)
		inTime.checkLoad(t, s, key, large)
		inTime.checkLoad(t, s, other, large)
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
var inTime attempt = func(t *testing.T, call func(context.Context) error) error {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := call(ctx)
		cancel()
		if err == nil || namesDamage(err) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
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
	ports := make([]int, size)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local listener
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = listener.Addr().(*net.TCPAddr).Port
		routes = append(routes, &url.URL{Scheme: "nats", Host: listener.Addr().String()})
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
