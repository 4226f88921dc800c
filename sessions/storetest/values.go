package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// checkValues compares entries as JSON values. A store may write 1.0 for 1, but must not round.
func checkValues(t *testing.T, got, want []wire.JSON) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		g, err := value(got[i])
		w, _ := value(want[i])
		if err != nil || !reflect.DeepEqual(g, w) {
			t.Errorf("entry %d: got %s, want %s, error %v", i, shortened(got[i]), shortened(want[i]), err)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d entries, want %d", len(got), len(want))
	}
}

// value decodes an entry with exact numbers.
func value(entry wire.JSON) (any, error) {
	d := json.NewDecoder(strings.NewReader(string(entry)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return exact(v)
}

// A fraction is an exact number. It differs from a string with the same text.
type fraction string

// exact replaces the numbers in v by fractions.
func exact(v any) (any, error) {
	var failed error
	inner := func(v any) any {
		v, err := exact(v)
		if err != nil {
			failed = err
		}
		return v
	}
	switch v := v.(type) {
	case json.Number:
		number, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return nil, fmt.Errorf("%s is not a number", v)
		}
		return fraction(number.RatString()), nil
	case []any:
		for i := range v {
			v[i] = inner(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = inner(v[name])
		}
	}
	return v, failed
}

// shortened cuts an entry that is too long to print.
func shortened(entry wire.JSON) wire.JSON {
	const most = 2000
	if len(entry) <= most {
		return entry
	}
	return entry[:most] + "[...]"
}

func keys[T any](m map[string]T) []string { return sorted(slices.Collect(maps.Keys(m))) }

// sorted returns a sorted copy that is never nil.
func sorted(names []string) []string {
	names = append([]string{}, names...)
	slices.Sort(names)
	return names
}

// faultTests make calls that must fail, and cancel others.
var faultTests = map[string]func(*testing.T, sessions.Store){
	"bad keys are refused": func(t *testing.T, s sessions.Store) {
		for _, key := range badKeys {
			if err := s.Append(t.Context(), key, numbered(0, 1)); err == nil {
				t.Errorf("Append to %q: no error", key)
			}
			if entries, err := load(t.Context(), s, key); err == nil || len(entries) != 0 {
				t.Errorf("Load %q: got %q, %v", key, entries, err)
			}
			if err := s.Delete(t.Context(), key); err == nil {
				t.Errorf("Delete %q: no error", key)
			}
			if key.Subpath == "" {
				if _, err := s.Subpaths(t.Context(), key); err == nil {
					t.Errorf("Subpaths of %q: no error", key)
				}
			}
		}
		for _, project := range []string{"", ".", "..", "a/b", `a\b`, "a\x00b", "a\xffb", "/etc"} {
			if _, err := s.Sessions(t.Context(), project); err == nil {
				t.Errorf("Sessions of %q: no error", project)
			}
		}
	},
	"what is not an entry is refused with its append": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 1)...)
		for _, bad := range []wire.JSON{
			"", " ", "null", "7", `"text"`, "[]", "[{}]", "{", `{"a":}`, `{"a":1}{"b":2}`, `{"a":1} x`, "{\"a\":\"\xff\"}",
			"{\"a\":\"\n\"}", `{'a':1}`,
		} {
			entries := append(numbered(1, 3), bad)
			if err := s.Append(t.Context(), main, append(entries, numbered(3, 4)...)); err == nil {
				t.Errorf("an append with %q: no error", bad)
			}
		}
		checkLoad(t, s, main, numbered(0, 1))
		if err := s.Append(t.Context(), other, []wire.JSON{"null"}); err == nil {
			t.Error("a first append of null: no error")
		}
		checkSessions(t, s, main.Project, main.SessionID)
	},
	"a context that has ended": func(t *testing.T, s sessions.Store) {
		mustAppend(t, s, main, numbered(0, 2)...)
		mustAppend(t, s, agent, numbered(0, 1)...)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, loadErr := load(ended, s, main)
		_, sessionsErr := s.Sessions(ended, main.Project)
		_, subpathsErr := s.Subpaths(ended, main)
		for method, err := range map[string]error{
			"Append": s.Append(ended, main, numbered(2, 3)), "Delete": s.Delete(ended, main),
			"Load": loadErr, "Sessions": sessionsErr, "Subpaths": subpathsErr,
		} {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: got %v, want context.Canceled", method, err)
			}
		}
		checkLoad(t, s, main, numbered(0, 2))
		checkLoad(t, s, agent, numbered(0, 1))
	},
	"an append that is cancelled is whole or not there": func(t *testing.T, s sessions.Store) {
		const n = 300
		for i := range 30 {
			key := wire.SessionKey{Project: main.Project, SessionID: fmt.Sprintf("cancelled-%d", i)}
			mustAppend(t, s, key, numbered(0, 1)...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*20*time.Microsecond)
			err := s.Append(ctx, key, numbered(1, n))
			cancel()
			got := len(mustLoad(t, s, key))
			if got != n && (err == nil || got != 1) {
				t.Errorf("got %d of %d entries, error %v", got, n, err)
			}
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want context.DeadlineExceeded", err)
			}
			mustAppend(t, s, key, numbered(1, n)...)
			checkLoad(t, s, key, numbered(0, n))
		}
	},
	"a load that is cancelled says so": func(t *testing.T, s sessions.Store) {
		const n = 2000
		mustAppend(t, s, main, numbered(0, n)...)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		got := 0
		var failed error
		for _, err := range s.Load(ctx, main) {
			if failed = err; err == nil {
				got++
			}
			cancel()
		}
		if got != n && failed == nil {
			t.Errorf("got %d of %d entries and no error", got, n)
		}
		if failed != nil && !errors.Is(failed, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", failed)
		}
	},
}

// badKeys are keys that lead outside of the store, or nowhere.
var badKeys = []wire.SessionKey{
	{},
	{Project: "p"},
	{SessionID: "s"},
	{Project: "..", SessionID: "s"},
	{Project: ".", SessionID: "s"},
	{Project: "p", SessionID: ".."},
	{Project: "p", SessionID: "../s"},
	{Project: "p/q", SessionID: "s"},
	{Project: "/etc", SessionID: "passwd"},
	{Project: "p", SessionID: `s\t`},
	{Project: "p", SessionID: "s\x00"},
	{Project: "C:", SessionID: "s"},
	{Project: "p\xff", SessionID: "s"},
	{Project: "p", SessionID: "s", Subpath: ".."},
	{Project: "p", SessionID: "s", Subpath: "../t"},
	{Project: "p", SessionID: "s", Subpath: "subagents/../../t"},
	{Project: "p", SessionID: "s", Subpath: "/etc/passwd"},
	{Project: "p", SessionID: "s", Subpath: "subagents//agent"},
	{Project: "p", SessionID: "s", Subpath: "subagents/"},
	{Project: "p", SessionID: "s", Subpath: `subagents\agent`},
	{Project: "p", SessionID: "s", Subpath: "./agent"},
	{Project: "p", SessionID: "s", Subpath: "subagents/a\x00"},
}
