package storetest

import (
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// keyTests list transcripts, and check that transcripts do not affect each other.
var keyTests = map[string]func(*testing.T, sessions.Store){
	"transcripts are apart": func(t *testing.T, s sessions.Store) {
		for i, key := range []wire.SessionKey{main, agent, deep, other, elsewhere} {
			mustAppend(t, s, key, numbered(i, i+1)...)
		}
		for i, key := range []wire.SessionKey{main, agent, deep, other, elsewhere} {
			checkLoad(t, s, key, numbered(i, i+1))
		}
	},
	"sessions are listed by project": func(t *testing.T, s sessions.Store) {
		for _, key := range []wire.SessionKey{main, agent, deep, other, elsewhere} {
			mustAppend(t, s, key, numbered(0, 1)...)
		}
		checkSessions(t, s, main.Project, main.SessionID, other.SessionID)
		checkSessions(t, s, elsewhere.Project, elsewhere.SessionID)
		checkSessions(t, s, "-home-me")
	},
	"a session needs a main transcript": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, agent, numbered(0, 1)...)
		checkSessions(t, s, agent.Project)
		checkSubpaths(t, s, main, agent.Subpath)
		mustDelete(t, s, main)
		checkSubpaths(t, s, main)
		checkLoad(t, s, agent, nil)
	},
	"times are of now, and move on": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 1)...)
		first := sessionTime(t, s, main)
		if off := time.Since(first).Abs(); off > time.Hour {
			t.Fatalf("the time of the append is off by %v: %v", off, first)
		}
		mustAppend(t, s, other, numbered(0, 1)...)
		for i := 1; ; i++ { // until the clock of the store advances, which may have steps of two seconds
			began := time.Now()
			mustAppend(t, s, main, numbered(i, i+1)...)
			now := sessionTime(t, s, main)
			if now.Before(first) {
				t.Fatalf("the time went back from %v to %v", first, now)
			}
			if now.After(first) {
				return
			}
			if began.Sub(first) > 10*time.Second {
				t.Fatalf("the time of an append at %v is %v", began, now)
			}
		}
	},
	"an append below leaves the time of the session": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 1)...)
		first := sessionTime(t, s, main)
		mustAppend(t, s, agent, numbered(0, 1)...)
		mustDelete(t, s, agent)
		if now := sessionTime(t, s, main); !now.Equal(first) {
			t.Errorf("got %v, want %v", now, first)
		}
	},
	"subpaths are those of one session, sorted": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 1)...)
		checkSubpaths(t, s, main)
		prefix := wire.SessionKey{Project: main.Project, SessionID: main.SessionID + "0", Subpath: "subagents/agent-3"}
		elsewhere := wire.SessionKey{Project: elsewhere.Project, SessionID: main.SessionID, Subpath: "subagents/agent-4"}
		for _, key := range []wire.SessionKey{deep, agent, prefix, elsewhere} {
			mustAppend(t, s, key, numbered(0, 1)...)
		}
		checkSubpaths(t, s, main, agent.Subpath, deep.Subpath)
		checkSubpaths(t, s, deep, agent.Subpath, deep.Subpath)
		checkSubpaths(t, s, prefix, prefix.Subpath)
		checkSubpaths(t, s, other)
	},
	"patterns in names are just names": func(t *testing.T, s sessions.Store) {
		percent := wire.SessionKey{Project: "-home-me%", SessionID: "a_c", Subpath: "sub%/agent_1"}
		plain := wire.SessionKey{Project: "-home-me-code", SessionID: "abc", Subpath: "subagents/agent-1"}
		mustAppend(t, s, plain, numbered(0, 1)...)
		mustAppend(t, s, percent, numbered(1, 2)...)
		checkSubpaths(t, s, percent, percent.Subpath)
		mustDelete(t, s, wire.SessionKey{Project: percent.Project, SessionID: percent.SessionID})
		checkLoad(t, s, plain, numbered(0, 1))
		checkLoad(t, s, percent, nil)
	},
	"a session is deleted with all below it": func(t *testing.T, s sessions.Store) {
		awayAgent := wire.SessionKey{Project: elsewhere.Project, SessionID: main.SessionID, Subpath: agent.Subpath}
		keys := []wire.SessionKey{main, agent, deep, other, elsewhere, awayAgent}
		for _, key := range keys {
			mustAppend(t, s, key, numbered(0, 2)...)
		}
		mustDelete(t, s, main)
		for i, key := range keys {
			if i < 3 {
				checkLoad(t, s, key, nil)
				continue
			}
			checkLoad(t, s, key, numbered(0, 2))
		}
		checkSessions(t, s, main.Project, other.SessionID)
		checkSubpaths(t, s, main)
		checkSubpaths(t, s, elsewhere, agent.Subpath)
	},
	"a subpath is deleted alone": func(t *testing.T, s sessions.Store) {
		below := wire.SessionKey{Project: agent.Project, SessionID: agent.SessionID, Subpath: agent.Subpath + "/more"}
		for _, key := range []wire.SessionKey{main, agent, deep, below} {
			mustAppend(t, s, key, numbered(0, 2)...)
		}
		mustDelete(t, s, agent)
		checkLoad(t, s, agent, nil)
		checkLoad(t, s, main, numbered(0, 2))
		checkSubpaths(t, s, main, below.Subpath, deep.Subpath)
	},
	"deleting what is not there": func(t *testing.T, s sessions.Store) {
		mustDelete(t, s, main)
		mustDelete(t, s, agent)
		mustAppend(t, s, main, numbered(0, 1)...)
		mustDelete(t, s, agent)
		mustDelete(t, s, other)
		mustDelete(t, s, main)
		mustDelete(t, s, main)
		checkSessions(t, s, main.Project)
	},
	"a deleted transcript can be written again": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 3)...)
		mustDelete(t, s, main)
		mustAppend(t, s, main, numbered(1, 2)...)
		checkLoad(t, s, main, numbered(1, 2))
		checkSessions(t, s, main.Project, main.SessionID)
	},
}

func sessionTime(t *testing.T, s sessions.Store, key wire.SessionKey) time.Time {
	t.Helper()
	times, err := s.Sessions(t.Context(), key.Project)
	if err != nil {
		t.Fatal(err)
	}
	at, ok := times[key.SessionID]
	if !ok {
		t.Fatalf("%s is not listed", key)
	}
	return at
}
