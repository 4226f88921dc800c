package storetest

import (
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// uuidTests are about appends that are repeated.
var uuidTests = map[string]func(*testing.T, sessions.Store){
	"a repeated append adds nothing": func(t *testing.T, s sessions.Store) {
		for range 3 {
			mustAppend(t, s, main, numbered(0, 4)...)
		}
		checkLoad(t, s, main, numbered(0, 4))
	},
	"an append that overlaps adds the rest": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 4)...)
		mustAppend(t, s, main, numbered(2, 7)...)
		checkLoad(t, s, main, numbered(0, 7))
	},
	"the first of two in one append stays": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, `{"uuid":"u","n":1}`, `{"uuid":"u","n":2}`)
		checkLoad(t, s, main, []wire.JSON{`{"uuid":"u","n":1}`})
	},
	"entries without a UUID are added again": func(t *testing.T, s sessions.Store) {
		entries := []wire.JSON{
			`{"type":"tag","tag":"x"}`, `{"uuid":""}`, `{"uuid":7}`, `{"uuid":null}`, `{"UUID":"x"}`,
			`{"message":{"uuid":"inside"}}`,
		}
		mustAppend(t, s, main, entries...)
		mustAppend(t, s, main, entries...)
		checkLoad(t, s, main, append(entries[:len(entries):len(entries)], entries...))
	},
	"each transcript counts for itself": func(t *testing.T, s sessions.Store) {
		for range 2 {
			for _, key := range []wire.SessionKey{main, agent, other, away} {
				mustAppend(t, s, key, numbered(0, 2)...)
			}
		}
		for _, key := range []wire.SessionKey{main, agent, other, away} {
			checkLoad(t, s, key, numbered(0, 2))
		}
	},
	"a UUID is compared as what it says": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, `{"uuid":"abc"}`, `{"uuid":"\u0061bc"}`, `{"uuid":"ABC"}`, `{"uuid":"ab"}`)
		checkLoad(t, s, main, []wire.JSON{`{"uuid":"abc"}`, `{"uuid":"ABC"}`, `{"uuid":"ab"}`})
	},
	"odd UUIDs": func(t *testing.T, s sessions.Store) {
		entries := []wire.JSON{`{"uuid":"a.b*c>d e/f\u0000\n"}`, `{"uuid":"😀"}`, `{"uuid":"'; --"}`}
		mustAppend(t, s, main, entries...)
		mustAppend(t, s, main, entries...)
		checkLoad(t, s, main, entries)
	},
}
