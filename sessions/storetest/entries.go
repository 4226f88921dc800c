package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// entryTests append to one transcript and load it.
var entryTests = map[string]func(*testing.T, sessions.Store){
	"order is kept over appends": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 3)...)
		mustAppend(t, s, main, numbered(3, 4)...)
		mustAppend(t, s, main, numbered(4, 9)...)
		checkLoad(t, s, main, numbered(0, 9))
	},
	"order is that of appends, not of names": func(t *testing.T, s sessions.Store) {
		entries := []wire.JSON{
			`{"uuid":"z","timestamp":"2026-02-01T00:00:00Z"}`,
			`{"uuid":"a","timestamp":"2026-01-01T00:00:00Z"}`,
		}
		mustAppend(t, s, main, entries...)
		checkLoad(t, s, main, entries)
	},
	"what was never written is empty": func(t *testing.T, s sessions.Store) {
		checkLoad(t, s, main, nil)
		checkLoad(t, s, agent, nil)
		checkSessions(t, s, main.Project)
		checkSubpaths(t, s, main)
	},
	"an empty append changes nothing": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main)
		mustAppend(t, s, agent, []wire.JSON{}...)
		checkSessions(t, s, main.Project)
		checkSubpaths(t, s, main)
		mustAppend(t, s, main, numbered(0, 1)...)
		mustAppend(t, s, main)
		checkLoad(t, s, main, numbered(0, 1))
	},
	"JSON of every kind comes back": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, oddEntries...)
		checkLoad(t, s, main, oddEntries)
	},
	"half a surrogate comes back": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, `{"text":"half \ud800 an emoji"}`)
		got := mustLoad(t, s, main)
		if len(got) != 1 || !strings.Contains(strings.ToLower(string(got[0])), `\ud800`) {
			t.Errorf("got %q", got)
		}
	},
	"an entry of 5 MB": func(t *testing.T, s sessions.Store) {
		large := wire.JSON(`{"uuid":"large","text":"` + strings.Repeat("0123456789abcdef", 5<<16) + `"}`)
		mustAppend(t, s, main, numbered(0, 1)...)
		mustAppend(t, s, main, large)
		mustAppend(t, s, main, numbered(1, 2)...)
		got := mustLoad(t, s, main)
		if len(got) != 3 {
			t.Fatalf("got %d entries, want 3", len(got))
		}
		var value struct{ Text string }
		if err := got[1].Decode(&value); err != nil || len(value.Text) != 5<<20 {
			t.Errorf("got %d bytes of text, want %d: %v", len(value.Text), 5<<20, err)
		}
	},
	"2000 entries in one append": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 2000)...)
		checkLoad(t, s, main, numbered(0, 2000))
	},
	"the entries are the store's own": func(t *testing.T, s sessions.Store) {
		entries := numbered(0, 2)
		mustAppend(t, s, main, entries...)
		entries[0] = `{"changed":"later"}`
		checkLoad(t, s, main, numbered(0, 2))
	},
	"what is said of a subagent": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, agent, `{"type":"agent_metadata","toolUseId":"t","spawnDepth":1}`)
		mustAppend(t, s, agent, numbered(0, 2)...)
		last := wire.JSON(`{"type":"agent_metadata","toolUseId":"t","spawnDepth":2}`)
		mustAppend(t, s, agent, last)
		var metadata, rest []wire.JSON
		for _, entry := range mustLoad(t, s, agent) {
			if strings.Contains(string(entry), "agent_metadata") {
				metadata = []wire.JSON{entry}
				continue
			}
			rest = append(rest, entry)
		}
		checkValues(t, rest, numbered(0, 2))
		checkValues(t, metadata, []wire.JSON{last})
	},
	"a loop can be left, and run again": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 50)...)
		for range 100 { // more than a connection pool has
			for _, err := range s.Load(t.Context(), main) {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
		}
		entries := s.Load(t.Context(), main)
		for range 2 {
			n := 0
			for entry, err := range entries {
				if err != nil {
					t.Fatal(err)
				}
				checkValues(t, []wire.JSON{entry}, numbered(n, n+1))
				n++
			}
			if n != 50 {
				t.Errorf("got %d entries, want 50", n)
			}
		}
		mustAppend(t, s, main, numbered(50, 51)...)
		checkLoad(t, s, main, numbered(0, 51))
	},
	"other methods can be called in a loop": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 20)...)
		n := 0
		for entry, err := range s.Load(t.Context(), main) {
			if err != nil {
				t.Fatal(err)
			}
			mustAppend(t, s, other, entry)
			checkLoad(t, s, other, numbered(0, n+1))
			n++
		}
		checkLoad(t, s, other, numbered(0, 20))
	},
	"a transcript can be changed in its own loop": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 20)...)
		n := 0
		for _, err := range s.Load(t.Context(), main) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 {
				mustAppend(t, s, main, numbered(20, 21)...)
			}
		}
		if n != 20 && n != 21 {
			t.Errorf("got %d entries", n)
		}
		checkLoad(t, s, main, numbered(0, 21))
	},
}

// oddEntries are JSON objects that a careless store would change.
var oddEntries = []wire.JSON{
	`{}`,
	`{"":""}`,
	`{"null":null,"list":[],"object":{},"false":false}`,
	`{"large":12345678901234567890123,"small":0.1000000000000000055511151231257827,"far":1e400}`,
	`{"negative":-9007199254740993,"zero":0,"text":"1"}`,
	`{"escapes":"\"\\\/\b\f\n\r\t\u001b[31m","null byte":"a\u0000b","name \u0000":1}`,
	`{"unicode":"grüße 😀 \ud83d\ude00 e\u0301 é \u2028 \ufeff","html":"<a href='x'>&amp;</a>"}`,
	`{"uuid":null,"type":7}`,
	`{"uuid":{"not":"a string"}}`,
	wire.JSON(`{"deep":` + strings.Repeat(`[{"a":`, 100) + "1" + strings.Repeat("}]", 100) + "}"),
	"\n{\n\t\"spread\": [\n\t\t1,\r\n\t\t2\n\t]\n}\n",
	wire.JSON(fmt.Sprintf(`{"many":{%s"last":0}}`, manyMembers())),
	`{"text":"{\"type\":\"user\",\"uuid\":\"inside\"}"}`,
}

func manyMembers() string {
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, `"member %d":%d,`, i, i)
	}
	return b.String()
}

// uuidTests repeat appends.
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
			for _, key := range []wire.SessionKey{main, agent, other, elsewhere} {
				mustAppend(t, s, key, numbered(0, 2)...)
			}
		}
		for _, key := range []wire.SessionKey{main, agent, other, elsewhere} {
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
