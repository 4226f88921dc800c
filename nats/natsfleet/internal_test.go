package natsfleet

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/internal/natsserver"
	"github.com/nats-io/nats.go/jetstream"
)

func init() {
	answerTimeout = time.Minute // the machine may be busy
	markInterval = 100 * time.Millisecond
}

// TestSync asks the server in this process whether it syncs.
func TestSync(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), &Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close() //nolint:errcheck // nothing was written
	info, err := e.srv.Load().Jsz(&server.JSzOptions{})
	if err != nil || !info.Config.SyncAlways {
		t.Errorf("got %+v, %v", info, err)
	}
}

// TestRemovedMeanwhile removes records after their heads came: they don't return without data.
func TestRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	e := start(t, &Options{Dir: t.TempDir()})
	defer end(t, e)
	var heads []message
	for _, key := range []string{"a", "b", "c", "d"} {
		revisions, err := e.Set(t.Context(), fleet.Questions, fleet.Record{Key: key, Data: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, message{subject: e.subject(fleet.Questions, key), sequence: revisions[0]})
	}
	if err := e.Remove(t.Context(), fleet.Questions, "a", heads[0].sequence); err != nil {
		t.Fatal(err)
	}
	f := follower{engine: e, table: fleet.Questions, wants: func(string) bool { return true }, ahead: map[string]uint64{}}
	var keys []string
	f.yield = func(r fleet.Record, err error) bool {
		keys = append(keys, r.Key)
		return err == nil
	}
	if err := f.deliver(t.Context(), heads); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b", "c", "d"}, keys); diff != "" || len(f.ahead) > 0 {
		t.Errorf("records (-want +got):\n%s\nahead: %v", diff, f.ahead)
	}
}

// TestRemovedBeforeReady removes a record that a live follower has yielded, before it has yielded all: the removal
// follows. Records that it did not yield are not reported as removed, and nothing is in a list.
func TestRemovedBeforeReady(t *testing.T) {
	t.Parallel()
	e := start(t, &Options{Dir: t.TempDir()})
	defer end(t, e)
	set := func(key string) message {
		if _, err := e.Set(t.Context(), fleet.Questions, fleet.Record{Key: key, Data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		return lastOf(t, e, key)
	}
	remove := func(m message, key string) message {
		if err := e.Remove(t.Context(), fleet.Questions, key, m.sequence); err != nil {
			t.Fatal(err)
		}
		return lastOf(t, e, key)
	}
	unseen, a, b := set("unseen"), set("a"), set("b")
	unseen, removed := remove(unseen, "unseen"), remove(a, "a")
	for name, tt := range map[string]struct {
		live bool
		want []string
	}{"watch": {true, []string{"a", "b", "a removed", "ready"}}, "list": {false, []string{"a", "b"}}} {
		f := follower{
			engine: e, table: fleet.Questions, live: tt.live, target: removed.sequence,
			ahead: map[string]uint64{}, early: map[string]bool{},
		}
		var got []string
		f.yield = func(r fleet.Record, err error) bool {
			switch {
			case r.Key == "":
				got = append(got, "ready")
			case r.Revision == 0:
				got = append(got, r.Key+" removed")
			default:
				got = append(got, r.Key)
			}
			return err == nil
		}
		for _, m := range []message{a, b, unseen, removed} {
			if err := f.deliver(t.Context(), []message{m}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// lastOf returns the last message of a key among the questions.
func lastOf(t *testing.T, e *Engine, key string) message {
	t.Helper()
	m, err := e.last(t.Context(), e.tableStream(fleet.Questions), e.subject(fleet.Questions, key))
	if err != nil || m == nil {
		t.Fatalf("%s: %v, %v", key, m, err)
	}
	return *m
}

// TestForeignSubjects has messages of another program among the records: they are none, and cost nobody a list.
func TestForeignSubjects(t *testing.T) {
	t.Parallel()
	e := start(t, &Options{Dir: t.TempDir()})
	defer end(t, e)
	for _, key := range []string{"a", "b.c"} {
		if _, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: key, Data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	for subject, taken := range map[string]bool{"CLEW_JOBS.=zz": true, "CLEW_JOBS.=61": true, "CLEW_JOBS.b=2Ec": true, "CLEW_JOBS.b.c.d": false} {
		_, err := e.js.Publish(t.Context(), subject, []byte("x"))
		if taken != (err == nil) {
			t.Errorf("%s: got %v", subject, err)
		}
	}
	for name, wants := range map[string]func(string) bool{"whole": nil, "heads": func(string) bool { return true }} {
		var keys []string
		for r, err := range e.List(t.Context(), fleet.Jobs, "", wants) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			keys = append(keys, r.Key)
		}
		if diff := cmp.Diff([]string{"a", "b.c"}, keys); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := e.readRecords(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestDiskRefused asks a server that does not permit it for its disk once, and blames nothing on that.
func TestDiskRefused(t *testing.T) {
	t.Parallel()
	deny := &server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"CLEW_SERVER.DISK"}}}
	srv, err := natsserver.New(t.Context(), t.TempDir(), server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Users: []*server.User{{Username: "me", Password: "secret", Permissions: deny}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Stop(polltest.Limit) //nolint:errcheck // nothing is kept
	if err := srv.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := start(t, &Options{URL: srv.ClientURL(), User: "me", Password: "secret", SyncAlways: true})
	defer end(t, e)
	if _, err := e.Set(t.Context(), fleet.Jobs, fleet.Record{Key: "a", Data: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := e.link.refused(); err != nil {
		t.Errorf("later errors blame %v", err)
	}
	if !e.link.isSilent() {
		t.Error("the server is asked again at once")
	}
	e.link.disconnected(nats.ErrDisconnected)
	e.link.connected()
	if e.link.isSilent() {
		t.Error("the next server is not asked")
	}
}

// One message is not "1 messages".
func TestClusterFault(t *testing.T) {
	t.Parallel()
	for lag, want := range map[uint64]string{
		1: "The server b is 1 message behind, last seen 2.0 s ago.", 1200: "The server b is 1,200 messages behind, last seen 2.0 s ago.",
	} {
		c := &jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{{Name: "b", Lag: lag, Active: 2 * time.Second}}}
		if got := clusterFault(c); got != want {
			t.Errorf("%d: %q, want %q", lag, got, want)
		}
	}
}
