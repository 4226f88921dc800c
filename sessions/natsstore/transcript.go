package natsstore

import (
	"context"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// maxKnown is how many UUIDs a [Store] remembers.
const maxKnown = 1 << 20

// A transcript is what a [Store] knows of one, up to some message of its subject. It may be out of date: the server
// refuses what is appended then.
type transcript struct {
	subject string
	turn    chan struct{} // has one value, for the goroutine that may use the rest

	last    uint64 // the sequence of the last message, 0 if there is none
	uuids   map[uuidHash]struct{}
	summary sessions.Summary // of a session's own

	counted int // guarded by the lock of the transcripts
}

// An entry is one that was checked.
type entry struct {
	text wire.JSON
	uuid string
}

// A uuidHash stands for a UUID in less memory.
type uuidHash [2]uint64

var uuidSeeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashUUID(uuid string) uuidHash {
	return uuidHash{maphash.String(uuidSeeds[0], uuid), maphash.String(uuidSeeds[1], uuid)}
}

func newTranscript(subject string) *transcript {
	t := &transcript{subject: subject, turn: make(chan struct{}, 1)}
	t.forget()
	t.turn <- struct{}{}
	return t
}

// forget makes the transcript one that has no messages.
func (t *transcript) forget() {
	t.last, t.uuids, t.summary = 0, map[uuidHash]struct{}{}, sessions.Summary{}
}

// own reports whether it is a session's own transcript.
func (t *transcript) own() bool { return strings.HasSuffix(t.subject, "."+own) }

// fresh returns the entries that are not there, each once.
func (t *transcript) fresh(entries []entry) []entry {
	var fresh []entry
	added := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e.uuid != "" {
			if _, known := t.uuids[hashUUID(e.uuid)]; known || added[e.uuid] {
				continue
			}
			added[e.uuid] = true
		}
		fresh = append(fresh, e)
	}
	return fresh
}

// summaryWith returns the summary with further entries.
func (t *transcript) summaryWith(entries ...entry) sessions.Summary {
	summary := t.summary
	if t.own() {
		for _, e := range entries {
			summary.Add(e.text)
		}
	}
	return summary
}

func (t *transcript) addUUIDs(entries ...entry) {
	for _, e := range entries {
		if e.uuid != "" {
			t.uuids[hashUUID(e.uuid)] = struct{}{}
		}
	}
}

// transcripts are those that a [Store] knows. Each can be forgotten at any time: it is read again then.
type transcripts struct {
	mu        sync.Mutex
	bySubject map[string]*transcript
	total     int // UUIDs
}

// take waits for its turn and returns the transcript, which must be released.
func (ts *transcripts) take(ctx context.Context, subject string) (*transcript, error) {
	t := ts.of(subject)
	select {
	case <-t.turn:
		return t, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (ts *transcripts) of(subject string) *transcript {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	t := ts.bySubject[subject]
	if t == nil {
		t = newTranscript(subject)
		if ts.bySubject == nil {
			ts.bySubject = map[string]*transcript{}
		}
		ts.bySubject[subject] = t
	}
	return t
}

// release gives the turn to the next. When there are too many UUIDs, all other transcripts are forgotten.
func (ts *transcripts) release(t *transcript) {
	defer func() { t.turn <- struct{}{} }()
	count := len(t.uuids) + 1
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.bySubject[t.subject] != t {
		return
	}
	ts.total += count - t.counted
	t.counted = count
	if ts.total > maxKnown {
		ts.bySubject, ts.total = map[string]*transcript{t.subject: t}, count
	}
}
