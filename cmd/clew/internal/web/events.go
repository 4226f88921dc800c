package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/clewdev/clew/internal/clip"
	"github.com/clewdev/clew/internal/pause"
)

// Limits of the streams.
const (
	maxEvents  = 1024 // that a client can get afterwards
	maxStreams = 64
	maxWatched = 32 // sessions of a stream

	heartbeat     = 15 * time.Second
	streamTimeout = 30 * time.Second // for one write: a client that does not read is cut off
	mergeInterval = 50 * time.Millisecond
)

// A rowsChange describes the change of a watched session.
type rowsChange struct {
	Session  string `json:"session"`
	Revision int    `json:"revision"` // as GET sessions/{id}/rows returns it
	First    int    `json:"first"`    // the first row at depth 0 that may have changed
	Total    int    `json:"total"`    // rows at depth 0
	Ended    string `json:"-"`        // the text of an answer that just ended, or ""
}

// A listChange reports a change of the session list.
type listChange struct {
	Revision int `json:"revision"` // as GET sessions returns it
}

// A turnEnd reports the end of an answer, for screen readers.
type turnEnd struct {
	Session string `json:"session"`
	Text    string `json:"text"`
}

// An event is something that pages get.
type event struct {
	id      uint64
	name    string
	session string // streams that do not watch it don't get the event; "" is for all
	data    []byte // JSON
	rows    *rowsChange
}

// A feed holds the last events and wakes the streams that wait for more. Nobody waits for a stream:
// a slow one misses events, and learns of it.
type feed struct {
	start string // of event IDs: IDs from another server are not known here

	mu      sync.Mutex
	last    uint64 // the ID of the newest event, 0 for none
	ring    [maxEvents]event
	deltas  []delta // the last one of each session, the oldest first: it supersedes the earlier ones
	written uint64  // number of deltas so far
	readers map[chan struct{}]bool
}

// A delta is an event that has no place in the ring: many of them come while an answer is written,
// and would push out important events.
type delta struct {
	event

	number uint64 // counts deltas
	after  uint64 // the event that was the newest one when it came
}

// A place is the position of a stream.
type place struct {
	event uint64 // the ID of the last one
	delta uint64 // the number of the last one
}

func newFeed() *feed {
	return &feed{start: newSecret(6), readers: map[chan struct{}]bool{}}
}

// add adds an event.
func (f *feed) add(e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.name == deltaEvent {
		f.addDelta(e)
	} else {
		f.last++
		e.id = f.last
		f.ring[e.id%maxEvents] = e
	}
	for wake := range f.readers {
		select {
		case wake <- struct{}{}:
		default: // it did not see the last one yet
		}
	}
}

// maxDeltas is the number of sessions with a delta, larger than the number driven at the same time.
const maxDeltas = 64

// addDelta adds an event that supersedes earlier deltas of its session. The lock is held.
func (f *feed) addDelta(e event) {
	f.written++
	f.deltas = slices.DeleteFunc(f.deltas, func(d delta) bool { return d.session == e.session })
	f.deltas = append(f.deltas, delta{e, f.written, f.last})
	f.deltas = f.deltas[max(0, len(f.deltas)-maxDeltas):]
}

// join returns a channel on which something comes after each event, unless there are too many.
func (f *feed) join() (wake chan struct{}, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.readers) >= maxStreams {
		return nil, false
	}
	wake = make(chan struct{}, 1)
	f.readers[wake] = true
	return wake, true
}

func (f *feed) leave(wake chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, wake)
}

// since returns the events after a place in their order, and the place after them. It returns false
// if some are lost.
func (f *feed) since(at place) (events []event, next place, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next = place{f.last, f.written}
	ok = at.event <= f.last && f.last-at.event <= maxEvents
	if !ok {
		at.event = f.last
	}
	for _, d := range f.deltas {
		if d.number <= at.delta {
			continue
		}
		for ; at.event < d.after; at.event++ {
			events = append(events, f.ring[(at.event+1)%maxEvents])
		}
		events = append(events, d.event)
	}
	for ; at.event < f.last; at.event++ {
		events = append(events, f.ring[(at.event+1)%maxEvents])
	}
	return events, next, ok
}

// position returns the start of a stream: after the client's last event, or at the next one. It
// returns false if that event is unknown to this feed, or if later events are lost.
func (f *feed) position(lastEventID string) (id uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if lastEventID == "" {
		return f.last, true
	}
	start, number, _ := strings.Cut(lastEventID, ".")
	id, err := strconv.ParseUint(number, 10, 64)
	if err != nil || start != f.start || id > f.last || f.last-id > maxEvents {
		return f.last, false
	}
	return id, true
}

// eventID returns the ID that clients see.
func (f *feed) eventID(id uint64) string { return f.start + "." + strconv.FormatUint(id, 10) }

// publish sends all streams an event. Its data becomes JSON. If session is not empty, only
// streams that watch that session get it.
func (s *Server) publish(name, session string, data any) {
	e := event{name: name, session: session}
	if change, ok := data.(rowsChange); ok {
		e.rows = &change
	}
	var err error
	if e.data, err = json.Marshal(data); err != nil { // a value that can't be JSON
		e = event{name: reloadEvent, data: []byte("{}")}
	}
	s.feed.add(e)
}

// merge leaves out events that later ones contain. They are of one stream, in order.
func merge(events []event) []event {
	later := map[string]*event{} // events that supersede earlier ones
	merged := make([]event, 0, len(events))
	for _, e := range slices.Backward(events) {
		key := e.name + " " + e.session
		newer, ok := later[key]
		switch {
		case e.rows != nil && ok:
			if e.rows.First < newer.rows.First {
				change := *newer.rows
				change.First = e.rows.First
				newer.rows = &change
			}
			continue
		case e.rows == nil && e.name != listEvent && e.name != runningEvent && e.name != deltaEvent:
		case ok:
			continue
		}
		merged = append(merged, e)
		later[key] = &merged[len(merged)-1]
	}
	slices.Reverse(merged)
	return merged
}

// The names of events that this file makes itself.
const (
	readyEvent   = "ready"  // the stream started
	reloadEvent  = "reload" // events are lost: everything that is shown may be out of date
	rowsEvent    = "rows"
	turnEvent    = "turn"
	listEvent    = "list"
	runningEvent = "running"
)

// A stream is one response with events.
type stream struct {
	s       *Server
	w       http.ResponseWriter
	control *http.ResponseController
	watched []string // the sessions
	seen    place    // after the last event that was written or left out
}

// events is the stream of changes, as server-sent events.
//
// It starts with "ready". The state of each watched session, and of the list, follows as soon as it
// is known, so that no change before the stream is missed: a page ignores states that are not newer
// than its own. A page that repeats its request with Last-Event-ID gets the events that it missed,
// or "reload" if they are no longer known.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	watched, err := parseWatched(r.URL.Query().Get("watch"))
	if err != nil {
		return err
	}
	lastID, err := headerOnce(r, "Last-Event-ID")
	if err != nil {
		return err
	}
	wake, ok := s.feed.join()
	if !ok {
		return &refusal{
			status: http.StatusServiceUnavailable, reason: fmt.Sprintf("%d pages are open already", maxStreams),
			hint: "Close some of them.", retryAfter: "30",
		}
	}
	defer s.feed.leave(wake)
	at := &stream{s: s, w: w, control: http.NewResponseController(w), watched: watched}
	ctx, stop := s.untilEnd(r.Context())
	defer stop()
	defer s.followed.hold(watched)() //nolint:contextcheck // other streams may need it for longer
	at.run(ctx, wake, lastID)
	return nil
}

// untilEnd returns a context that ends with the server, or when the token is no longer valid.
func (s *Server) untilEnd(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ending, cancel)
	revoked := s.access.end()
	go func() {
		select {
		case <-revoked:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); cancel() }
}

// parseWatched reads the sessions that a stream watches.
func parseWatched(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	ids := strings.Split(text, ",")
	if len(ids) > maxWatched {
		return nil, refused(http.StatusBadRequest, "a page can watch %d sessions", maxWatched)
	}
	for _, id := range ids {
		if !isSessionID(id) {
			return nil, refused(http.StatusBadRequest, "%q is not the ID of a session", clip.Marked(id, maxQuoted))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// headerOnce returns a header that must not be there twice.
func headerOnce(r *http.Request, name string) (string, error) {
	values := r.Header.Values(name)
	if len(values) > 1 || len(values) == 1 && len(values[0]) > 100 {
		return "", refused(http.StatusBadRequest, "the header %s is not valid", name)
	}
	return strings.Join(values, ""), nil
}

// run writes events until the context ends or the client does not take them.
func (at *stream) run(ctx context.Context, wake <-chan struct{}, lastID string) {
	h := at.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // for proxies
	seen, ok := at.s.feed.position(lastID)
	at.seen.event = seen
	if at.write(at.opening(ok)) != nil {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wake:
			if at.write(at.news()) != nil || pause.For(ctx, mergeInterval) != nil {
				return
			}
		case <-beat.C:
			if at.write([]byte(":\n\n")) != nil {
				return
			}
		}
	}
}

// opening returns the start of a stream. known reports whether the client can continue from its
// last event.
func (at *stream) opening(known bool) []byte {
	var b bytes.Buffer
	if known {
		at.append(&b, event{id: at.seen.event, name: readyEvent, data: []byte("{}")})
	} else {
		at.append(&b, event{id: at.seen.event, name: reloadEvent, data: []byte("{}")})
	}
	b.Write(at.news())
	for _, e := range at.s.followed.state(at.watched) {
		at.append(&b, e)
	}
	return b.Bytes()
}

// news returns the events that the client does not have.
func (at *stream) news() []byte {
	var b bytes.Buffer
	events, next, ok := at.s.feed.since(at.seen)
	at.seen = next
	if !ok {
		at.append(&b, event{id: next.event, name: reloadEvent, data: []byte("{}")})
	}
	events = slices.DeleteFunc(events, func(e event) bool {
		_, watches := slices.BinarySearch(at.watched, e.session)
		return e.session != "" && !watches
	})
	for _, e := range merge(events) {
		at.append(&b, e)
	}
	return b.Bytes()
}

// append appends an event as it is sent. One without an ID does not change where the client is.
func (at *stream) append(b *bytes.Buffer, e event) {
	if e.rows != nil { // it may have been merged
		e.data, _ = json.Marshal(e.rows) // it was JSON before
	}
	fmt.Fprintf(b, "event: %s\n", e.name)
	if e.id > 0 || e.name == readyEvent || e.name == reloadEvent {
		fmt.Fprintf(b, "id: %s\n", at.s.feed.eventID(e.id))
	}
	fmt.Fprintf(b, "data: %s\n\n", e.data)
}

// write sends bytes at once.
func (at *stream) write(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	_ = at.control.SetWriteDeadline(time.Now().Add(streamTimeout)) // a test's recorder has none
	if _, err := at.w.Write(data); err != nil {
		return err
	}
	return at.control.Flush()
}
