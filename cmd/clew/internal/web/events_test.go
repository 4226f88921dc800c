package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/view"
)

// A reader is a client of a stream, in memory. It can stop reading.
type reader struct {
	header http.Header
	status int

	mu      sync.Mutex
	text    bytes.Buffer
	blocked chan struct{} // closed when it reads again, or nil
}

func (r *reader) Header() http.Header    { return r.header }
func (r *reader) WriteHeader(status int) { r.status = status }
func (r *reader) Flush()                 {}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.blocked != nil {
		blocked := r.blocked
		r.mu.Unlock()
		<-blocked
		r.mu.Lock()
	}
	return r.text.Write(p)
}

// take returns the names and the data of the received events, and the last ID.
func (r *reader) take() (events []string, lastID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for block := range strings.SplitSeq(r.text.String(), "\n\n") {
		var name, data string
		for line := range strings.Lines(block + "\n") {
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch field {
			case "event":
				name = value
			case "data":
				data = value
			case "id":
				lastID = value
			case ":":
				name = "heartbeat"
			}
		}
		if name != "" {
			events = append(events, strings.TrimSpace(name+" "+strings.ReplaceAll(data, "{}", "")))
		}
	}
	r.text.Reset()
	return events, lastID
}

// A streamTest is a server whose events come from the test.
type streamTest struct {
	*Server
	t *testing.T
}

func newStreamTest(t *testing.T) *streamTest {
	t.Helper()
	source := view.New(view.Options{Dir: t.TempDir()})
	s, err := New(Options{Source: source, Origins: []string{"http://example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	s.followed.closed = true // nothing else makes events
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := source.Close(); err != nil {
			t.Error(err)
		}
	})
	return &streamTest{s, t}
}

// open opens a stream. It ends when stop is called.
func (s *streamTest) open(watch, lastID string) (r *reader, stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, api+"events?watch="+watch, nil)
	req.Header.Set("Authorization", "Bearer "+s.Token())
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	r = &reader{header: http.Header{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Handler().ServeHTTP(r, req)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	s.t.Cleanup(stop)
	return r, stop
}

// expectEvents checks the events received until the stream is quiet.
func (s *streamTest) expectEvents(r *reader, want ...string) (lastID string) {
	s.t.Helper()
	synctest.Wait()
	time.Sleep(mergeInterval)
	synctest.Wait()
	got, lastID := r.take()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("events (-want +got):\n%s", diff)
	}
	return lastID
}

const (
	watchedID = "aaaaaaaa-0000-4000-8000-000000000001"
	otherID   = "aaaaaaaa-0000-4000-8000-000000000002"
)

func (s *streamTest) rows(id string, revision, first, total int) {
	s.publish(rowsEvent, id, rowsChange{Session: id, Revision: revision, First: first, Total: total})
}

func rowsText(id string, revision, first, total int) string {
	return fmt.Sprintf(`rows {"session":%q,"revision":%d,"first":%d,"total":%d}`, id, revision, first, total)
}

// A stream gets the events of its watched sessions, and resumes where it left off.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		s.rows(watchedID, 1, 0, 1) // before the stream
		r, stop := s.open(watchedID, "")
		s.expectEvents(r, "ready")
		s.rows(watchedID, 2, 1, 2)
		s.rows(otherID, 9, 9, 9)
		s.publish("running", "", struct{}{})
		last := s.expectEvents(r, rowsText(watchedID, 2, 1, 2), "running")
		stop()
		s.rows(watchedID, 3, 2, 3)
		s.publish("turn", watchedID, turnEnd{watchedID, "Done."})
		r, stop = s.open(watchedID, last)
		last = s.expectEvents(r, "ready", rowsText(watchedID, 3, 2, 3), `turn {"session":"`+watchedID+`","text":"Done."}`)
		stop()
		r, stop = s.open(watchedID, last)
		s.expectEvents(r, "ready")
		stop()
	})
}

// Events between two writes are sent once.
func TestStreamMerges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		r, stop := s.open(watchedID+","+otherID, "")
		defer stop()
		s.expectEvents(r, "ready")
		s.rows(watchedID, 1, 5, 6)
		synctest.Wait() // it is written, and the next ones wait
		s.rows(watchedID, 2, 6, 7)
		s.publish("list", "", listChange{1})
		s.rows(otherID, 1, 0, 3)
		s.rows(watchedID, 3, 2, 8)
		s.rows(watchedID, 4, 7, 9)
		s.publish("list", "", listChange{2})
		s.publish("question", "", struct{}{})
		s.publish("question", "", struct{}{})
		time.Sleep(mergeInterval)
		s.expectEvents(r, rowsText(watchedID, 1, 5, 6), rowsText(otherID, 1, 0, 3), rowsText(watchedID, 4, 2, 9), `list {"revision":2}`, "question", "question")
	})
}

// Events that are no longer known, or that another server sent, make the page load everything
// again.
func TestStreamReloads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		r, stop := s.open("", "")
		s.expectEvents(r, "ready")
		s.publish("question", "", struct{}{})
		last := s.expectEvents(r, "question")
		stop()
		for range maxEvents + 1 {
			s.publish("question", "", struct{}{})
		}
		for _, id := range []string{last, "other.1", s.feed.start + ".99999", s.feed.start + ".-1", "x", s.feed.start + "."} {
			r, stop := s.open("", id)
			if known := s.expectEvents(r, "reload"); known != s.feed.eventID(s.feed.last) {
				t.Errorf("after %q, the ID is %q", id, known)
			}
			stop()
		}
	})
}

// A client that does not read delays nobody, and learns that it missed something.
func TestStreamSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		slow, stop := s.open("", "")
		fast, stopFast := s.open("", "")
		s.expectEvents(slow, "ready")
		s.expectEvents(fast, "ready")
		slow.mu.Lock()
		slow.blocked = make(chan struct{})
		slow.mu.Unlock()
		s.publish("question", "", struct{}{})
		synctest.Wait() // slow is in the middle of a write
		for range 2 * maxEvents {
			s.publish("list", "", listChange{1})
		}
		time.Sleep(mergeInterval)
		synctest.Wait()
		if events, _ := fast.take(); len(events) == 0 {
			t.Error("the other stream waits")
		}
		close(slow.blocked)
		slow.mu.Lock()
		slow.blocked = nil
		slow.mu.Unlock()
		s.expectEvents(slow, "question", "reload")
		s.publish("question", "", struct{}{})
		s.expectEvents(slow, "question")
		stop()
		stopFast()
	})
}

// A stream without events has heartbeats, and ends with the server, the token or the client.
func TestStreamEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		r, stop := s.open("", "")
		s.expectEvents(r, "ready")
		time.Sleep(2*heartbeat - mergeInterval)
		s.expectEvents(r, "heartbeat", "heartbeat")
		stop()
		for _, end := range []func(){func() { s.rotate() }, s.end} {
			for range 3 {
				r, _ := s.open("", "")
				s.expectEvents(r, "ready")
			}
			if n := len(s.feed.readers); n != 3 {
				t.Errorf("there are %d streams", n)
			}
			end()
			synctest.Wait()
			if n := len(s.feed.readers); n != 0 {
				t.Errorf("%d streams are left", n)
			}
		}
	})
}

// There are at most 64 streams, and the end of a stream makes room.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStreamTest(t)
		var stops []func()
		for range maxStreams {
			r, stop := s.open("", "")
			stops = append(stops, stop)
			s.expectEvents(r, "ready")
		}
		r, stop := s.open("", "")
		stop()
		if r.status != http.StatusServiceUnavailable {
			t.Errorf("status %d", r.status)
		}
		stops[0]()
		r, stop = s.open("", "")
		s.expectEvents(r, "ready")
		stop()
	})
}

// Requests for streams with any queries and headers are answered.
func FuzzStreamRequest(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"watch=" + watchedID, "x.1"}, {"watch=" + watchedID + "," + otherID + "@a", ".."}, {"watch=,,,", "9"}, {"watch=%zz&watch=a", "\x00"},
		{"watch=" + strings.Repeat(watchedID+",", 40), strings.Repeat("9", 200)},
	} {
		f.Add(seed[0], seed[1])
	}
	source := view.New(view.Options{Dir: f.TempDir()})
	s, err := New(Options{Source: source, Origins: []string{"http://example.com"}})
	if err != nil {
		f.Fatal(err)
	}
	s.followed.closed = true
	for range 5 {
		s.publish("question", "", struct{}{})
	}
	f.Fuzz(func(t *testing.T, query, lastID string) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, api+"events", nil)
		r.URL.RawQuery = query
		r.Header.Set("Authorization", "Bearer "+s.Token())
		r.Header["Last-Event-Id"] = []string{strings.ReplaceAll(lastID, "START", s.feed.start)}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK:
			if text := w.Body.String(); !strings.HasPrefix(text, "event: ready\n") && !strings.HasPrefix(text, "event: reload\n") {
				t.Errorf("the stream begins with %q", text)
			}
		case http.StatusBadRequest, http.StatusRequestURITooLong:
		default:
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}

// Of the text that is being written, only the newest state of each session is kept.
func TestFeedKeepsOneDelta(t *testing.T) {
	t.Parallel()
	f := newFeed()
	f.add(event{name: turnEvent})
	for range 3 * maxEvents {
		f.add(event{name: deltaEvent, session: "a"})
		f.add(event{name: deltaEvent, session: "b"})
	}
	f.add(event{name: listEvent})
	f.add(event{name: deltaEvent, session: "a"})
	names := func(at place) (text string, next place) {
		t.Helper()
		events, next, ok := f.since(at)
		if !ok {
			t.Errorf("events after %+v are lost", at)
		}
		for _, e := range events {
			text += e.name + e.session + " "
		}
		return text, next
	}
	got, next := names(place{}) // they push nothing out, and stay where they came
	if want := "turn deltab list deltaa "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, _ := names(next); got != "" {
		t.Errorf("%q came twice", got)
	}
	for i := range 2 * maxDeltas {
		f.add(event{name: deltaEvent, session: strconv.Itoa(i)})
	}
	if len(f.deltas) != maxDeltas {
		t.Errorf("%d deltas are kept", len(f.deltas))
	}
}
