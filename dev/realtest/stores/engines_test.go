package stores_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sqlite/sqlitestore"
	"github.com/clewdev/clew/wire"
)

// engines open a store in a directory. They also return the function that closes it.
var engines = map[string]func(t *testing.T, dir string) (store sessions.Store, end func() error){
	"folder": func(_ *testing.T, dir string) (sessions.Store, func() error) {
		return sessions.NewFolder(dir), func() error { return nil }
	},
	"SQLite": func(t *testing.T, dir string) (sessions.Store, func() error) {
		store, err := sqlitestore.Open(t.Context(), filepath.Join(dir, "sessions.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return store, store.Close
	},
	"JetStream": func(t *testing.T, dir string) (sessions.Store, func() error) {
		store, err := natsstore.Open(t.Context(), &natsstore.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return store, store.Close
	},
}

// With a store, a session moves from one machine to another: nothing is left of the first one's
// directory, and if the agent dies in the middle of a turn on the second one, only that turn is
// lost.
func TestRealEngines(t *testing.T) {
	t.Parallel()
	for name, open := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			id := haveSession(t, dir, open)
			goOnAfterDeath(t, dir, id, open)
		})
	}
}

// haveSession runs a session with a subagent, and removes the agent's directory.
func haveSession(t *testing.T, dir string, open func(*testing.T, string) (sessions.Store, func() error)) (id string) {
	t.Helper()
	store, end := open(t, dir)
	model := clewtest.NewModel(t)
	delegates(model)
	model.Reply("Yes.")
	s := connect(t, over(t, model, clew.Options{Store: clew.StoreOptions{Store: store, Project: "p"}, AllowedTools: []string{"Agent"}}))
	ask(t, s, "First")
	ask(t, s, "Delegate")
	closeSession(t, s)
	if err := end(); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(model.ConfigDir()); err != nil {
		t.Fatal(err)
	}
	return s.ID()
}

// goOnAfterDeath resumes the session from the store, kills the agent in the middle of a turn, and
// continues.
func goOnAfterDeath(t *testing.T, dir, id string, open func(*testing.T, string) (sessions.Store, func() error)) {
	t.Helper()
	store, end := open(t, dir)
	model := clewtest.NewModel(t)
	model.On("Hang").Hang()
	model.Reply("Indeed.")
	s := connect(t, over(t, model, clew.Options{
		Store: clew.StoreOptions{Store: store, Project: "p"}, Session: clew.SessionOptions{Resume: id}, Reconnect: new(clew.ReconnectOptions),
	}))
	ask(t, s, "Second")
	dieInTurn(t, s, model)
	ask(t, s, "Last")
	closeSession(t, s)
	got := said(model, "Last")
	if len(got) < 6 || !cmp.Equal(got[:6], []string{"First", "Yes.", "Delegate", "It is three.", "Second", "Indeed."}) {
		t.Errorf("the conversation is %q", got)
	}
	main := wire.SessionKey{Project: "p", SessionID: id}
	below, err := store.Subpaths(t.Context(), main)
	if err != nil || len(below) != 1 {
		t.Errorf("subpaths %q, %v", below, err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// dieInTurn kills the agent while the model does not answer.
func dieInTurn(t *testing.T, s *clew.Session, model *clewtest.Model) {
	t.Helper()
	var failure error
	killed := false
	for _, err := range s.Turn(t.Context(), clew.Text("Hang")) {
		failure = err
		if killed || err != nil {
			continue
		}
		if _, err := model.WaitRequest(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		kill(t, s)
		killed = true
	}
	if _, lost := errors.AsType[*clew.LostError](failure); !lost {
		t.Errorf("the turn ended with %v", failure)
	}
}
