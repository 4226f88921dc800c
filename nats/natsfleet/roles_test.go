package natsfleet_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/fleet"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsfleet"
	"github.com/clewdev/clew/wire"
)

// manyRecords is so many records with the longest labels that the server waits for readers, even of
// labels alone.
const manyRecords = 1000

// TestRoles does with each role what others may do, and sees what the server refuses.
func TestRoles(t *testing.T) {
	t.Parallel()
	const password = "0123456789abcdef"
	var users []natsfleet.User
	roles := []natsfleet.Role{natsfleet.Watch, natsfleet.Submit, natsfleet.Work}
	for _, r := range roles {
		users = append(users, natsfleet.User{Name: string(r), Password: password, Role: r})
	}
	dir := t.TempDir()
	all := open(t, &natsfleet.Options{Dir: dir, Users: users})
	transcripts, err := all.Store(t.Context()) // it creates the stream
	if err != nil {
		t.Fatal(err)
	}
	if err := transcripts.Append(t.Context(), wire.SessionKey{Project: "p", SessionID: "session"}, []wire.JSON{`{"uuid":"u"}`}); err != nil {
		t.Fatal(err)
	}
	revision := set(t, all, "job", "data")
	records := benchRecords(0, manyRecords)
	for i := range records {
		records[i].Label = strings.Repeat("l", 2<<10)
	}
	if _, err := all.Set(t.Context(), fleet.Jobs, records...); err != nil {
		t.Fatal(err)
	}
	if err := all.Put(t.Context(), "job/patch", strings.NewReader("a patch")); err != nil {
		t.Fatal(err)
	}
	as := func(r natsfleet.Role) *natsfleet.Engine {
		return open(t, &natsfleet.Options{URL: all.URL(), User: string(r), Password: password, Role: r, SyncAlways: true})
	}
	for _, r := range roles {
		mayRead(t, as(r))
	}
	for _, test := range []struct {
		role      natsfleet.Role
		table     fleet.Table
		mayChange bool
	}{
		{natsfleet.Watch, fleet.Jobs, false},
		{natsfleet.Watch, fleet.Workers, false},
		{natsfleet.Watch, fleet.Questions, false},
		{natsfleet.Submit, fleet.Jobs, true},
		{natsfleet.Submit, fleet.Questions, true},
		{natsfleet.Submit, fleet.Accounts, true},
		{natsfleet.Submit, fleet.Workers, false},
		{natsfleet.Work, fleet.Jobs, true},
		{natsfleet.Work, fleet.Workers, true},
		{natsfleet.Work, fleet.Questions, true},
	} {
		_, err := as(test.role).Set(t.Context(), test.table, fleet.Record{Key: "of-" + string(test.role), Data: []byte("data")})
		if (err == nil) != test.mayChange || err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s writes to %s: got %v", test.role, test.table, err)
		}
		if _, there := all.Get(t.Context(), test.table, "of-"+string(test.role)); (there == nil) != test.mayChange {
			t.Errorf("%s has written to %s: %v", test.role, test.table, there)
		}
	}
	watcher := as(natsfleet.Watch)
	for name, call := range map[string]func(ctx context.Context) error{
		"remove": func(ctx context.Context) error { return watcher.Remove(ctx, fleet.Jobs, "job", revision) },
		"put":    func(ctx context.Context) error { return watcher.Put(ctx, "job/patch", strings.NewReader("another")) },
		"delete": func(ctx context.Context) error { return watcher.Delete(ctx, "job/") },
	} {
		if err := call(t.Context()); !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("a watcher may %s: %v", name, err)
		}
	}
	decided, err := all.Set(t.Context(), fleet.Decisions, fleet.Record{Key: "job.decision", Data: []byte("data")})
	if err != nil {
		t.Fatal(err)
	}
	if err := as(natsfleet.Submit).Remove(t.Context(), fleet.Decisions, "job.decision", decided[0]); err == nil {
		t.Error("a decision can be removed")
	}
	if _, err := all.Get(t.Context(), fleet.Decisions, "job.decision"); err != nil {
		t.Error(err)
	}
	store, err := watcher.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), polltest.ToPass) // the store does not know why there is no answer
	defer cancel()
	if store.Append(ctx, wire.SessionKey{Project: "p", SessionID: "s"}, []wire.JSON{`{"uuid":"u"}`}) == nil {
		t.Error("a watcher may append to a transcript")
	}
	check(t, all, "job", "data")
	if got := readAll(t, all, "job/patch"); got != "a patch" {
		t.Errorf("got %q", got)
	}
	mayPublish(t, as(natsfleet.Work), as(natsfleet.Submit), watcher)
}

func readAll(t *testing.T, e *natsfleet.Engine, name string) string {
	t.Helper()
	r, err := e.Open(t.Context(), name)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer r.Close() //nolint:errcheck // nothing was written
	data, err := io.ReadAll(r)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func mayRead(t *testing.T, e *natsfleet.Engine) {
	t.Helper()
	check(t, e, "job", "data")
	if got := readAll(t, e, "job/patch"); got != "a patch" {
		t.Errorf("got %q", got)
	}
	for _, wants := range []func(string) bool{nil, func(string) bool { return true }} {
		n := 0
		for r, err := range e.Watch(t.Context(), fleet.Jobs, "", wants) {
			if err != nil {
				t.Error(err)
			}
			if r.Key == "" {
				break
			}
			n++
		}
		if n <= manyRecords {
			t.Errorf("got %d records", n)
		}
	}
	for _, err := range e.History(t.Context(), fleet.Jobs, "job") {
		if err != nil {
			t.Error(err)
		}
	}
	store, err := e.Store(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	n := 0
	for _, err := range store.Load(t.Context(), wire.SessionKey{Project: "p", SessionID: "session"}) {
		if n++; err != nil {
			t.Error(err)
		}
	}
	if there, err := store.Sessions(t.Context(), "p"); err != nil || len(there) != 1 || n != 1 {
		t.Errorf("got %v, %v, and %d entries", there, err, n)
	}
}

// mayPublish lets each publish in turn. Only the messages of a worker arrive.
func mayPublish(t *testing.T, worker *natsfleet.Engine, others ...*natsfleet.Engine) {
	t.Helper()
	messages := others[0].Listen(t.Context(), "job")
	for _, e := range others {
		if err := e.Publish(t.Context(), "job", []byte("of another")); err != nil {
			t.Error(err)
		}
		if _, err := e.Get(t.Context(), fleet.Jobs, "job"); err != nil { // so the server saw the message
			t.Error(err)
		}
	}
	if err := worker.Publish(t.Context(), "job", []byte("of the worker")); err != nil {
		t.Error(err)
	}
	for m, err := range messages {
		if err != nil || string(m) != "of the worker" {
			t.Errorf("got %q, %v", m, err)
		}
		break
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	if _, _, err := natsfleet.Permissions("", "king"); err == nil {
		t.Error("there is a king")
	}
	if _, _, err := natsfleet.Permissions("A.>", natsfleet.Watch); err == nil {
		t.Error("a name has wildcards")
	}
	publish, _, err := natsfleet.Permissions("TEAM", natsfleet.Watch)
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range publish {
		if !strings.HasPrefix(subject, "$JS.") && subject != "TEAM_SERVER.DISK" && subject != "$SYS.REQ.USER.INFO" {
			t.Errorf("a watcher may publish to %s", subject)
		}
	}
}

// TestRoleWithoutStreams opens a fleet for a role, which may not create its streams. The error
// comes at once.
func TestRoleWithoutStreams(t *testing.T) {
	t.Parallel()
	publish, subscribe, err := natsfleet.Permissions("", natsfleet.Work)
	if err != nil {
		t.Fatal(err)
	}
	const password = "0123456789abcdef"
	address := rawURL(t, server.Options{Users: []*server.User{
		{Username: "admin", Password: password},
		{Username: "work", Password: password, Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Allow: publish}, Subscribe: &server.SubjectPermission{Allow: subscribe},
		}},
	}})
	worker := &natsfleet.Options{URL: address, User: "work", Password: password, Role: natsfleet.Work, SyncAlways: true}
	const want = "the role work may not create it"
	if e, err := natsfleet.Open(t.Context(), worker); err == nil {
		_ = e.Close()
		t.Error("a fleet without streams is open")
	} else if !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	admin := open(t, &natsfleet.Options{URL: address, User: "admin", Password: password, SyncAlways: true})
	e := open(t, worker)
	set(t, e, "a", "data")
	if _, err := e.Store(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if _, err := admin.Store(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Store(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestIdentity asks the server who is connected. It names users, and has no name for the programs of the user who owns
// the directory, nor for anybody if it has no users.
func TestIdentity(t *testing.T) {
	t.Parallel()
	const password = "0123456789abcdef"
	dir := t.TempDir()
	owner := open(t, &natsfleet.Options{Dir: dir, Users: []natsfleet.User{
		{Name: "alice", Password: password, Role: natsfleet.Submit}, {Name: "bob", Password: password, Role: natsfleet.Watch},
	}})
	engines := map[string]*natsfleet.Engine{
		"alice": open(t, &natsfleet.Options{URL: owner.URL(), User: "alice", Password: password, Role: natsfleet.Submit, SyncAlways: true}),
		"bob":   open(t, &natsfleet.Options{URL: owner.URL(), User: "bob", Password: password, Role: natsfleet.Watch, SyncAlways: true}),
		"":      owner,
	}
	for want, e := range engines {
		if got, err := e.Identity(t.Context()); got != want || err != nil {
			t.Errorf("got %q, want %q, %v", got, want, err)
		}
	}
	alice := fleet.Open(engines["alice"], "root@build")
	j, err := alice.Submit(t.Context(), &fleet.Spec{Prompt: "Work."})
	if err != nil || j.User != "alice" {
		t.Fatalf("%+v, %v", j, err)
	}
	if _, err := alice.Cancel(t.Context(), j.ID, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.Open(engines["bob"], "bob").Cancel(t.Context(), j.ID, ""); !errors.Is(err, natsfleet.ErrForbidden) {
		t.Errorf("a watcher cancels: %v", err)
	}
	all, err := fleet.Open(engines["bob"], "bob").Decisions(t.Context(), j.ID)
	if err != nil || len(all) != 1 || all[0].User != "alice" || all[0].What != "cancel" {
		t.Errorf("%+v, %v", all, err)
	}
}
