package natsstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/wire"
)

// A client that may write to the stream may write anything.
func TestForeignMessages(t *testing.T) {
	t.Parallel()
	const after = "Nats-Expected-Last-Subject-Sequence"
	url := serve(t, &server.Options{})
	var streams atomic.Int32
	for name, m := range map[string]struct {
		header nats.Header
		body   string
	}{
		"no headers":                 {nil, `{"uuid":"x"}`},
		"nothing":                    {nats.Header{after: {"1"}}, ""},
		"no JSON":                    {nats.Header{after: {"1"}}, "garbage\x00\xff"},
		"no object":                  {nats.Header{after: {"1"}}, "[]"},
		"an empty line":              {nats.Header{after: {"1"}}, "{}\n"},
		"JSON without an end":        {nats.Header{after: {"1"}}, `{"a":`},
		"other lines":                {nats.Header{after: {"1"}}, "{}\ngarbage"},
		"a forged sequence":          {nats.Header{"Nats-Sequence": {"1"}}, "{}"},
		"a sequence that is no such": {nats.Header{"Nats-Sequence": {"many"}}, "{}"},
		"another checksum":           {nats.Header{after: {"1"}, "Clew-Checksum": {"0"}}, `{"uuid":"x"}`},
		"half a batch":               {nats.Header{after: {"1"}, "Nats-Batch-Sequence": {"2"}}, "garbage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprint("S", streams.Add(1))
			s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url, Stream: name})
			appendTo(t, s, main, numbered(0, 1)...)
			conn, _ := rawStreamNamed(t, url, name)
			if _, err := conn.RequestMsgWithContext(t.Context(), &nats.Msg{
				Subject: name + mainTokens, Header: m.header, Data: []byte(m.body),
			}); err != nil {
				t.Fatal(err)
			}
			checkForeign(t, s)
		})
	}
}

// Headers that mean the end of a list hide nothing.
func TestForgedEnd(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	for _, status := range []string{"100", "204", "404", "408", "503"} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url, Stream: status})
			appendTo(t, s, main, numbered(0, 1)...)
			conn, _ := rawStreamNamed(t, url, status)
			forged := &nats.Msg{Subject: status + mainTokens, Header: nats.Header{"Status": {status}, "Nats-Num-Pending": {"0"}}}
			if _, err := conn.RequestMsgWithContext(t.Context(), forged); err != nil {
				t.Fatal(err)
			}
			appendTo(t, s, other, numbered(0, 1)...)
			if got, err := tryLoad(t.Context(), s, main); err == nil {
				t.Errorf("Load: got %q", got)
			}
			if got, err := s.Sessions(t.Context(), main.Project); err == nil {
				t.Errorf("Sessions: got %v", got)
			}
			checkLoad(t, s, other, numbered(0, 1))
		})
	}
}

// checkForeign checks a store whose second message was not written by a store.
func checkForeign(t *testing.T, s *natsstore.Store) {
	t.Helper()
	got, err := tryLoad(t.Context(), s, main)
	if len(got) < 1 || err == nil || !strings.Contains(err.Error(), "message 2") {
		t.Errorf("Load: got %q, %v", got, err)
	}
	if err := s.Append(t.Context(), main, numbered(1, 2)); err == nil || !strings.Contains(err.Error(), "message 2") {
		t.Errorf("Append: got %v", err)
	}
	if _, err := s.Summaries(t.Context(), main.Project); err == nil || !strings.Contains(err.Error(), "message 2") {
		t.Errorf("Summaries: got %v", err)
	}
	if got, err := s.Sessions(t.Context(), main.Project); err != nil || len(got) != 1 {
		t.Errorf("Sessions: got %v, %v", got, err)
	}
	appendTo(t, s, other, numbered(0, 1)...)
	if err := s.Delete(t.Context(), main); err != nil {
		t.Fatal(err)
	}
	appendTo(t, s, main, numbered(1, 2)...)
	checkLoad(t, s, main, numbered(1, 2))
}

func TestForeignSubjects(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	for i, token := range []string{"=", "=4", "=zz", "=2E=2E", "=2F"} {
		name := fmt.Sprint("S", i)
		s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url, Stream: name})
		appendTo(t, s, main, numbered(0, 1)...)
		conn, _ := rawStreamNamed(t, url, name)
		if _, err := conn.Request(name+"."+main.Project+"."+token+"./", []byte("{}"), polltest.Limit); err != nil {
			t.Fatal(err)
		}
		_, sessionsErr := s.Sessions(t.Context(), main.Project)
		_, projectsErr := s.Projects(t.Context())
		if err := errors.Join(sessionsErr, projectsErr); err == nil || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("%s: got %v", token, err)
		}
		checkLoad(t, s, main, numbered(0, 1))
	}
}

// A deleted message is noticed.
func TestMissingMessage(t *testing.T) {
	t.Parallel()
	large := wire.JSON(`{"uuid":"large","text":"` + strings.Repeat("x", 7*smallPayload/2) + `"}`)
	url := serve(t, &server.Options{MaxPayload: smallPayload})
	for name, sequence := range map[string]uint64{
		"the first append": 1, "the first of a batch": 2, "one of a batch": 4, "the last of a batch": 6, "an append": 7,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name := fmt.Sprint("S", sequence)
			s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url, Stream: name})
			appendTo(t, s, main, numbered(0, 1)...)
			appendTo(t, s, main, large)
			appendTo(t, s, main, numbered(1, 2)...)
			appendTo(t, s, main, numbered(2, 3)...)
			_, raw := rawStreamNamed(t, url, name)
			if last := raw.CachedInfo().State.LastSeq; last != 8 {
				t.Fatalf("there are %d messages", last)
			}
			if err := raw.DeleteMsg(t.Context(), sequence); err != nil {
				t.Fatal(err)
			}
			got, err := tryLoad(t.Context(), s, main)
			if err == nil || !strings.Contains(err.Error(), "earlier messages are missing") {
				t.Errorf("got %d entries and %v", len(got), err)
			}
		})
	}
}
