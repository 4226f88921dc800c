package natsstore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/clewdev/clew/nats/natsstore"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/sessions/storetest"
	"github.com/clewdev/clew/wire"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.RunDurable(t, func(t *testing.T, dir string) sessions.Store {
		return open(t, &natsstore.Options{Dir: dir})
	})
}

// With a server that accepts only small messages, most appends are batches.
func TestStoreOfBatches(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{MaxPayload: smallPayload})
	streams := 0
	storetest.Run(t, func(t *testing.T) sessions.Store {
		streams++
		return open(t, &natsstore.Options{AllowUnsynced: true, URL: url, Stream: fmt.Sprintf("S%d", streams)})
	})
}

func TestLargeAppends(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{Dir: t.TempDir()})
	var want []wire.JSON
	for i, size := range []int{2 << 20, 1 << 10, 768<<10 - 30, 768<<10 - 20, 768 << 10} {
		entry := wire.JSON(fmt.Sprintf(`{"uuid":"u%d","text":"%s"}`, i, strings.Repeat("x", size)))
		want = append(want, entry)
		appendTo(t, s, main, entry)
	}
	appendTo(t, s, other, want[1:]...)
	checkLoad(t, s, main, want)
	checkLoad(t, s, other, want[1:])
}

func TestOddKeys(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: serve(t, &server.Options{})})
	names := []string{
		"a.b", "*", ">", "a b", "a\tb\r\n", "=", "=41", "A", "a", "ü 😀", "$JS.API", "-", "_", ".a", "a..",
		"%2F", strings.Repeat("x", 200),
	}
	keys := func(name string) []wire.SessionKey {
		return []wire.SessionKey{
			{Project: name, SessionID: "s"},
			{Project: "p", SessionID: name},
			{Project: "p", SessionID: "s", Subpath: "x/" + name},
		}
	}
	for i, name := range names {
		for _, key := range keys(name) {
			appendTo(t, s, key, numbered(i, i+1)...)
		}
	}
	for i, name := range names {
		for _, key := range keys(name) {
			checkLoad(t, s, key, numbered(i, i+1))
		}
		if got, err := s.Sessions(t.Context(), name); err != nil || len(got) != 1 {
			t.Errorf("Sessions of %q: got %v, %v", name, got, err)
		}
	}
	if got, err := s.Projects(t.Context()); err != nil || len(got) != len(names)+1 { // and p
		t.Errorf("got projects %q, %v", got, err)
	}
	if got, err := s.Subpaths(t.Context(), keys("p")[0]); err != nil || len(got) != len(names) {
		t.Errorf("got subpaths %q, %v", got, err)
	}
}

func TestLongKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{Dir: t.TempDir()})
	long := wire.SessionKey{Project: "p", SessionID: strings.Repeat("x", 5000)}
	if err := s.Append(t.Context(), long, numbered(0, 1)); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("Append: got %v", err)
	}
	appendTo(t, s, main, numbered(0, 1)...)
}

// Long summaries are kept, although a header has room only for short ones.
func TestLongSummary(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{Dir: t.TempDir()})
	text := strings.Repeat("\\u0001", 4000)
	entries := []wire.JSON{
		wire.JSON(`{"type":"custom-title","customTitle":"` + text + `"}`),
		wire.JSON(`{"type":"ai-title","aiTitle":"` + text + `"}`),
		wire.JSON(`{"type":"last-prompt","lastPrompt":"` + text + `"}`),
	}
	appendTo(t, s, main, entries...)
	var want sessions.Summary
	for _, entry := range entries {
		want.Add(entry)
	}
	got, err := s.Summaries(t.Context(), main.Project)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got[main.SessionID]); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// More sessions than one page.
func TestManySessions(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: serve(t, &server.Options{})})
	const count = 300
	for i := range count {
		appendTo(t, s, wire.SessionKey{Project: "p", SessionID: fmt.Sprintf("s%d", i)}, numbered(i, i+1)...)
	}
	got, err := s.Sessions(t.Context(), "p")
	if err != nil || len(got) != count {
		t.Errorf("got %d sessions, want %d: %v", len(got), count, err)
	}
}

// A list leaves no consumer on the server.
func TestListsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	url := serve(t, &server.Options{})
	s := open(t, &natsstore.Options{AllowUnsynced: true, URL: url})
	appendTo(t, s, main, numbered(0, 1)...)
	for range 10 {
		if _, err := s.Sessions(t.Context(), main.Project); err != nil {
			t.Fatal(err)
		}
	}
	_, raw := rawStream(t, url)
	if got := raw.CachedInfo().State.Consumers; got > 0 {
		t.Errorf("there are %d consumers", got)
	}
}

func TestLoadIsOfItsBeginning(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{Dir: t.TempDir()})
	appendTo(t, s, main, numbered(0, 3)...)
	var got []wire.JSON
	for entry, err := range s.Load(t.Context(), main) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry)
		appendTo(t, s, main, numbered(10+len(got), 11+len(got))...)
	}
	if diff := cmp.Diff(numbered(0, 3), got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// A loop over a transcript that is deleted must not end as if it were complete.
func TestLoadOfWhatIsDeleted(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(*testing.T, *natsstore.Store){
		"for good":             func(*testing.T, *natsstore.Store) {},
		"and written again":    func(t *testing.T, s *natsstore.Store) { appendTo(t, s, main, numbered(0, 1)...) },
		"and another is there": func(t *testing.T, s *natsstore.Store) { appendTo(t, s, other, numbered(0, 1)...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, &natsstore.Options{AllowUnsynced: true, URL: serve(t, &server.Options{})})
			const appends = 6 // more than one page
			for i := range appends {
				appendTo(t, s, main, wire.JSON(fmt.Sprintf(`{"uuid":"u%d","text":"%s"}`, i, strings.Repeat("x", 700<<10))))
			}
			n := 0
			var failed error
			for _, err := range s.Load(t.Context(), main) {
				if failed = err; err != nil {
					break
				}
				if n++; n == 1 {
					if err := s.Delete(t.Context(), main); err != nil {
						t.Fatal(err)
					}
					after(t, s)
				}
			}
			if failed == nil || n >= appends {
				t.Errorf("got %d entries and %v", n, failed)
			}
		})
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{Dir: t.TempDir()})
	appendTo(t, s, main, numbered(0, 1)...)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	err := s.Append(t.Context(), main, numbered(1, 2))
	if err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("Append: got %v", err)
	}
	if _, err := s.Projects(t.Context()); err == nil {
		t.Error("Projects: no error")
	}
}

func TestCloseDuringCalls(t *testing.T) {
	t.Parallel()
	s := open(t, &natsstore.Options{Dir: t.TempDir()})
	begun, done := make(chan struct{}), make(chan error)
	go func() {
		for i := 0; ; i++ {
			if err := s.Append(context.Background(), main, numbered(i, i+1)); err != nil {
				done <- err
				return
			}
			if i == 0 {
				close(begun)
			}
		}
	}()
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
