package natsfleet_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsfleet"
)

// rawEngine returns an engine with its own streams on the shared server, their name, and an
// interface to the server.
func rawEngine(t *testing.T) (e *natsfleet.Engine, name string, js jetstream.JetStream) {
	t.Helper()
	name = newName()
	return open(t, &natsfleet.Options{URL: sharedURL(t), Name: name, SyncAlways: true}), name, raw(t, sharedURL(t))
}

// publish stores a message.
func publish(t *testing.T, js jetstream.JetStream, m *nats.Msg) {
	t.Helper()
	if _, err := js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// keys returns a list's keys, and its error.
func keys(ctx context.Context, e fleet.Engine, wants func(string) bool) (keys []string, err error) {
	for r, err := range e.List(ctx, fleet.Jobs, "", wants) {
		if err != nil {
			return keys, err
		}
		keys = append(keys, r.Key)
	}
	return keys, nil
}

// TestForeignMessages stores messages that the engine did not write. They cost only their own
// record, and the error names the message.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]*nats.Msg{
		"plain":          {Data: []byte("hello")},
		"empty":          {},
		"wrong checksum": {Data: []byte("hello"), Header: nats.Header{"Clew-Label": {`"label"`}, "Clew-Checksum": {"1"}}},
		"odd label":      {Data: []byte("hello"), Header: nats.Header{"Clew-Label": {`"`}, "Clew-Checksum": {"1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, name, js := rawEngine(t)
			set(t, e, "a", "good")
			set(t, e, "z", "good")
			message.Subject = name + "_JOBS.m"
			publish(t, js, message)
			if _, err := e.Get(t.Context(), fleet.Jobs, "m"); err == nil || !strings.Contains(err.Error(), "message 3") {
				t.Errorf("got %v", err)
			}
			for _, wants := range []func(string) bool{nil, func(string) bool { return true }} {
				got, err := keys(t.Context(), e, wants)
				if diff := cmp.Diff([]string{"a", "z"}, got); diff != "" || err == nil || !strings.Contains(err.Error(), "message 3") {
					t.Errorf("got %v (-want +got):\n%s", err, diff)
				}
			}
			for r, err := range e.Watch(t.Context(), fleet.Jobs, "", nil) {
				if err != nil || r.Key == "m" && r.Data != nil {
					t.Errorf("got %+v, %v", r, err)
				}
				if r.Key == "" {
					break
				}
			}
			if _, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "m", Revision: 3, Data: []byte("again")}); err != nil {
				t.Error(err)
			}
			check(t, e, "m", "again")
		})
	}
}

// TestHistoryGap removes a message in the middle of a history, as a server does that has damaged files.
func TestHistoryGap(t *testing.T) {
	t.Parallel()
	e, name, js := rawEngine(t)
	revision := set(t, e, "key", "0")
	for i := range 3 {
		revisions, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "key", Revision: revision, Data: fmt.Append(nil, i+1)})
		if err != nil {
			t.Fatal(err)
		}
		revision = revisions[0]
	}
	stream, err := js.Stream(t.Context(), name+"_JOBS")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), revision-1); err != nil {
		t.Fatal(err)
	}
	var got []string
	var failed error
	for r, err := range e.History(t.Context(), fleet.Jobs, "key") {
		if failed = err; err == nil {
			got = append(got, string(r.Data))
		}
	}
	if diff := cmp.Diff([]string{"0", "1", "3"}, got); diff != "" || failed == nil || !strings.Contains(failed.Error(), "are missing") {
		t.Errorf("got %v (-want +got):\n%s", failed, diff)
	}
}

// TestServerGone kills the process of the server. Watchers get an error, and each method returns
// when its context ends. When the server is back, everything that it acknowledged is there.
func TestServerGone(t *testing.T) {
	t.Parallel()
	p := &serverProcess{setup: serverSetup{Dir: t.TempDir()}}
	p.run(t)
	e := open(t, find(t, p.setup.Dir))
	var want []string
	for i, revision := 0, uint64(0); i < 20; i++ {
		want = append(want, fmt.Sprint("change ", i))
		revisions, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "a", Revision: revision, Data: []byte(want[i])})
		if err != nil {
			t.Fatal(err)
		}
		revision = revisions[0]
	}
	killed := false
	var failed error
	for r, err := range e.Watch(t.Context(), fleet.Jobs, "", nil) {
		failed = err
		if err == nil && r.Key == "" && !killed {
			p.kill(t)
			killed = true
		}
	}
	if !errors.Is(failed, nats.ErrDisconnected) {
		t.Errorf("got %v", failed)
	}
	callWithoutServer(t, e)
	p.run(t)
	got, err := keys(t.Context(), e, nil)
	if diff := cmp.Diff([]string{"a"}, got); diff != "" || err != nil {
		t.Errorf("got %v (-want +got):\n%s", err, diff)
	}
	checkHistory(t, e, "a", want...)
}

// callWithoutServer calls each method while the server is gone.
func callWithoutServer(t *testing.T, e *natsfleet.Engine) {
	t.Helper()
	last := func(all func(func(fleet.Record, error) bool)) (failed error) {
		for _, err := range all {
			failed = err
		}
		return failed
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"set": func(ctx context.Context) error {
			_, err := e.Set(ctx, fleet.Jobs, fleet.Record{Key: "a"})
			return err
		},
		"set many": func(ctx context.Context) error {
			_, err := e.Set(ctx, fleet.Jobs, fleet.Record{Key: "a"}, fleet.Record{Key: "b"}, fleet.Record{Key: "c"})
			return err
		},
		"get":     func(ctx context.Context) error { _, err := e.Get(ctx, fleet.Jobs, "a"); return err },
		"list":    func(ctx context.Context) error { return last(e.List(ctx, fleet.Jobs, "", nil)) },
		"watch":   func(ctx context.Context) error { return last(e.Watch(ctx, fleet.Jobs, "", nil)) },
		"history": func(ctx context.Context) error { return last(e.History(ctx, fleet.Jobs, "a")) },
		"remove":  func(ctx context.Context) error { return e.Remove(ctx, fleet.Jobs, "a", 1) },
		"put":     func(ctx context.Context) error { return e.Put(ctx, "a/b", strings.NewReader("data")) },
		"open":    func(ctx context.Context) error { _, err := e.Open(ctx, "a/b"); return err },
		"delete":  func(ctx context.Context) error { return e.Delete(ctx, "a/") },
		"doctor":  func(ctx context.Context) error { _, err := e.Doctor(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := call(ctx); err == nil || errors.Is(err, fleet.ErrConflict) || errors.Is(err, fleet.ErrNotFound) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestReplacedFile counts the messages that the server keeps for a replaced file, and for a removed
// one.
func TestReplacedFile(t *testing.T) {
	t.Parallel()
	e, name, js := rawEngine(t)
	large := strings.Repeat("x", 1<<20)
	for range 5 {
		if err := e.Put(t.Context(), "a/b", strings.NewReader(large)); err != nil {
			t.Fatal(err)
		}
	}
	messages := func() uint64 {
		stream, err := js.Stream(t.Context(), name+"_FILES")
		if err != nil {
			t.Fatal(err)
		}
		return stream.CachedInfo().State.Msgs
	}
	if n := messages(); n != 9 {
		t.Errorf("the server keeps %d messages", n)
	}
	if err := e.Delete(t.Context(), "a/"); err != nil {
		t.Error(err)
	}
	if n := messages(); n != 0 {
		t.Errorf("the server keeps %d messages", n)
	}
}

// TestDamagedFile removes a part of a file. Its reader gets an error and not the end of the file.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	e, name, js := rawEngine(t)
	for _, number := range []uint64{1, 4, 8} {
		stream, err := js.Stream(t.Context(), name+"_FILES")
		if err != nil {
			t.Fatal(err)
		}
		before := stream.CachedInfo().State.LastSeq
		file := fmt.Sprint("a/", number)
		if err := e.Put(t.Context(), file, strings.NewReader(strings.Repeat("x", 1<<20))); err != nil {
			t.Fatal(err)
		}
		if err := stream.DeleteMsg(t.Context(), before+number); err != nil {
			t.Fatal(err)
		}
		r, err := e.Open(t.Context(), file)
		if err == nil {
			_, err = io.Copy(io.Discard, r)
			err = errors.Join(err, r.Close())
		}
		if err == nil {
			t.Errorf("part %d is missing, and nobody says so", number)
		}
	}
}

// TestDamagedServer changes a byte in the files of a server, which drops half of the records then.
// Nobody works with the rest until a person looks at it.
func TestDamagedServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Set(t.Context(), fleet.Jobs, benchRecords(0, 100)...); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	messages := filepath.Join(dir, "jetstream", "$G", "streams", "CLEW_JOBS", "msgs")
	block := filepath.Join(messages, "1.blk")
	text, err := os.ReadFile(block)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 0xff
	if err := os.WriteFile(block, text, 0o600); err != nil {
		t.Fatal(err)
	}
	// First the server still knows how many there should be; without its index, only the mark does.
	for _, step := range []struct{ want, remove string }{
		{"99 of the 100 records", filepath.Join(messages, "index.db")},
		{"stream CLEW_JOBS had messages up to number 100", filepath.Join(dir, "fleet.mark")},
	} {
		for range 2 { // the second one must not take what is left for all
			if e, err = natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir}); err == nil {
				_ = e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), step.want) {
				t.Errorf("got %v, want %q", err, step.want)
			}
		}
		if err := os.Remove(step.remove); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := keys(t.Context(), open(t, &natsfleet.Options{Dir: dir}), nil); err != nil || len(got) == 0 || len(got) == 100 {
		t.Errorf("got %d records, %v", len(got), err)
	}
}

// TestLargeList lists records that are too large to be requested all at once.
func TestLargeList(t *testing.T) {
	t.Parallel()
	e, name, js := rawEngine(t)
	requests, err := js.Conn().SubscribeSync("$JS.API.DIRECT.GET." + name + "_JOBS")
	if err != nil {
		t.Fatal(err)
	}
	const count = 30
	for i := range count {
		set(t, e, fmt.Sprint("key-", i), strings.Repeat(string(rune('a'+i%26)), fleet.MaxRecord))
	}
	listed := 0
	for r, err := range e.List(t.Context(), fleet.Jobs, "", func(string) bool { return true }) {
		if err != nil || len(r.Data) != fleet.MaxRecord {
			t.Fatalf("%s has %d bytes: %v", r.Key, len(r.Data), err)
		}
		listed++
	}
	if listed != count {
		t.Errorf("got %d records", listed)
	}
	if err := js.Conn().Flush(); err != nil {
		t.Fatal(err)
	}
	n, _, err := requests.Pending()
	if err != nil || n == 0 {
		t.Fatalf("%d requests, %v", n, err)
	}
	for range n {
		m, err := requests.NextMsg(polltest.Limit)
		if err != nil || !strings.Contains(string(m.Data), `"max_bytes":`) {
			t.Errorf("the request %.80s has no limit, %v", m.Data, err)
		}
	}
}

// TestNames opens a directory with one name after the other. The server has the streams of both,
// and notices the loss of unused streams.
func TestNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	with := func(name string, use func(*natsfleet.Engine)) {
		e, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir, Name: name})
		if err != nil {
			t.Fatalf("with the name %s: %v", name, err)
		}
		use(e)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	with("A", func(e *natsfleet.Engine) { set(t, e, "a", "data") })
	with("B", func(e *natsfleet.Engine) { set(t, e, "b", "data") })
	with("A", func(e *natsfleet.Engine) { check(t, e, "a", "data") })
	with("B", func(e *natsfleet.Engine) { check(t, e, "b", "data") })
	if err := os.RemoveAll(filepath.Join(dir, "jetstream", "$G", "streams", "A_JOBS")); err != nil {
		t.Fatal(err)
	}
	e, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir, Name: "B"})
	if err == nil {
		_ = e.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "stream A_JOBS had messages up to number 1") {
		t.Errorf("got %v", err)
	}
}

// TestLossWhileRunning takes a stream away from a server that runs. The server ends, and does not start again.
func TestLossWhileRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, &natsfleet.Options{Dir: dir})
	set(t, e, "a", "data")
	awaitFile(t, filepath.Join(dir, "fleet.mark"), `"CLEW_JOBS":1`)
	opts := find(t, dir)
	key, err := nkeys.FromSeed([]byte(opts.NKey))
	if err != nil {
		t.Fatal(err)
	}
	public, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	js := raw(t, opts.URL, nats.Nkey(public, key.Sign))
	go js.DeleteStream(t.Context(), "CLEW_JOBS") //nolint:errcheck // the server may end before it answers
	polltest.Until(t, "the server says that it has lost messages", func() bool {
		_, err := e.Get(t.Context(), fleet.Accounts, "a")
		return err != nil && strings.Contains(err.Error(), "has lost messages")
	})
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := natsfleet.Open(t.Context(), &natsfleet.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "has lost messages") {
		t.Errorf("got %v", err)
	}
}

// awaitFile waits until a file has a text.
func awaitFile(t *testing.T, path, want string) {
	t.Helper()
	polltest.Until(t, fmt.Sprintf("%s has %q", path, want), func() bool {
		text, _ := os.ReadFile(path) // it may not be there yet
		return strings.Contains(string(text), want)
	})
}

// TestWorkerHistory keeps only the last record of a worker, and one after another can be removed.
func TestWorkerHistory(t *testing.T) {
	t.Parallel()
	e, name, js := rawEngine(t)
	revision := uint64(0)
	for range 20 {
		revisions, err := e.Set(t.Context(), fleet.Workers, fleet.Record{Key: "w", Revision: revision, Data: []byte("beat")})
		if err != nil {
			t.Fatal(err)
		}
		revision = revisions[0]
	}
	stream, err := js.Stream(t.Context(), name+"_WORKERS")
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 4 {
		t.Errorf("the server keeps %d messages", n)
	}
	n := 0
	for r, err := range e.History(t.Context(), fleet.Workers, "w") {
		if n++; err != nil || r.Revision != revision {
			t.Errorf("got %+v, %v", r, err)
		}
	}
	if n != 1 {
		t.Errorf("got %d records", n)
	}
}

// TestDoctor asks about a server in this process, about a server that may not sync, and about one
// without a stream.
func TestDoctor(t *testing.T) {
	t.Parallel()
	e := open(t, &natsfleet.Options{Dir: t.TempDir()})
	findings, err := e.Doctor(t.Context())
	if err != nil || len(findings) != 4+len(fleet.Tables)+1 {
		t.Errorf("got %d findings, %v", len(findings), err)
	}
	for _, f := range findings {
		full := f.Subject == "disk" && !f.OK // this machine's disk may be
		if !full && (!f.OK || f.Text == "" || f.Fix != "") {
			t.Errorf("got %+v", f)
		}
	}
	name := newName()
	e = open(t, &natsfleet.Options{URL: sharedURL(t), Name: name, AllowUnsynced: true})
	if err := raw(t, sharedURL(t)).DeleteStream(t.Context(), name+"_ACCOUNTS"); err != nil {
		t.Fatal(err)
	}
	if findings, err = e.Doctor(t.Context()); err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, f := range findings {
		if !f.OK {
			bad = append(bad, f.Subject)
			if f.Fix == "" {
				t.Errorf("nobody knows what to do about %+v", f)
			}
		}
	}
	if diff := cmp.Diff([]string{"sync", name + "_ACCOUNTS"}, bad); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestListRenewing lists workers that renew their leases during the list. None is missing. The
// server sends at most 2 MB before the list yields the first one, so it sends many after they were
// renewed.
func TestListRenewing(t *testing.T) {
	t.Parallel()
	e := openShared(t)
	const workers = 2000
	all := make([]fleet.Record, workers)
	for i := range all {
		all[i] = fleet.Record{Key: fmt.Sprint("w", i), Data: make([]byte, 3<<10)}
	}
	renew := func() {
		for records := range slices.Chunk(all, 1000) {
			revisions, err := e.Set(t.Context(), fleet.Workers, records...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range records {
				records[i].Revision, records[i].Data = revisions[i], []byte("beat")
			}
		}
	}
	renew()
	there := map[string]bool{}
	for r, err := range e.List(t.Context(), fleet.Workers, "", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if len(there) == 0 {
			renew()
		}
		there[r.Key] = true
	}
	if len(there) != workers {
		t.Errorf("got %d workers", len(there))
	}
}
