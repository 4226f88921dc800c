package natsstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/clewdev/clew/nats/internal/natsclient"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

// maxKnown is the number of UUIDs a [Store] remembers.
const maxKnown = 1 << 20

// A transcript is a [Store]'s knowledge of a transcript, up to some message of its subject. It may
// be outdated; then the server refuses the append.
type transcript struct {
	subject string
	turn    chan struct{} // holds one value; the goroutine that receives it may use the fields below

	last    uint64 // the sequence number of the last message, or 0
	uuids   map[uuidHash]struct{}
	summary sessions.Summary // for a main transcript

	counted int // guarded by transcripts.mu
}

// An entry is an entry that was checked, with its UUID.
type entry struct {
	text wire.JSON
	uuid string
}

// A uuidHash stands for a UUID, and takes less memory.
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

// forget resets the transcript to one without messages.
func (t *transcript) forget() {
	t.last, t.uuids, t.summary = 0, map[uuidHash]struct{}{}, sessions.Summary{}
}

// isMain reports whether it is the main transcript of a session.
func (t *transcript) isMain() bool { return strings.HasSuffix(t.subject, "."+mainToken) }

// fresh returns the entries that the transcript does not have, each once.
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

// summaryWith returns the summary after more entries.
func (t *transcript) summaryWith(entries ...entry) sessions.Summary {
	summary := t.summary
	if t.isMain() {
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

// transcripts are the transcripts that a [Store] knows. Any of them can be forgotten at any time;
// it is then read again.
type transcripts struct {
	mu        sync.Mutex
	bySubject map[string]*transcript
	total     int // number of UUIDs
}

// acquire waits until no other goroutine uses the transcript, and returns it. The caller has to
// release it.
func (ts *transcripts) acquire(ctx context.Context, subject string) (*transcript, error) {
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

// release lets the next goroutine use the transcript. If there are too many UUIDs, it forgets all
// other transcripts.
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

// mainToken stands for the empty subpath. No other subpath is a slash.
const mainToken = "/"

// maxSubject is the longest subject that leaves enough room in a protocol line of 4096 bytes.
const maxSubject = 2048

// subject returns the subject of a transcript, or an error if the key is invalid or too long.
func (s *Store) subject(key wire.SessionKey) (string, error) {
	if err := key.Check(); err != nil {
		return "", err
	}
	last := mainToken
	if key.Subpath != "" {
		last = natsclient.Escape(key.Subpath)
	}
	subject := s.pattern(natsclient.Escape(key.Project), natsclient.Escape(key.SessionID), last)
	if len(subject) > maxSubject {
		return "", fmt.Errorf("natsstore: key of %d bytes is too long", len(key.String()))
	}
	return subject, nil
}

// pattern joins the tokens of a subject.
func (s *Store) pattern(project, session, subpath string) string {
	return strings.Join([]string{s.name, project, session, subpath}, ".")
}

// key returns the key for a subject. It is the inverse of subject.
func (s *Store) key(subject string) (wire.SessionKey, error) {
	var key wire.SessionKey
	tokens := strings.Split(subject, ".")
	if len(tokens) != 4 {
		return key, fmt.Errorf("%q is not the subject of a transcript", subject)
	}
	if tokens[3] == mainToken {
		tokens[3] = ""
	}
	for i, field := range []*string{&key.Project, &key.SessionID, &key.Subpath} {
		var err error
		if *field, err = natsclient.Unescape(tokens[i+1]); err != nil {
			return key, fmt.Errorf("%q is not the subject of a transcript: %w", subject, err)
		}
	}
	return key, key.Check()
}
