package clew_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

// A fakeStore keeps what is appended, and can fail on the way.
type fakeStore struct {
	// before, if it is not nil, is called before the nth Append, from 1, and may fail in its place.
	before func(ctx context.Context, n int) error
	// load, sessions and subpaths, if they are not nil, stand in for what was appended.
	load     func(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error]
	sessions func(ctx context.Context, project string) (map[string]time.Time, error)
	subpaths func(ctx context.Context, key wire.SessionKey) ([]string, error)

	mu       sync.Mutex
	calls    int
	appended []string // for each Append that succeeded the key and its entries
	entries  map[wire.SessionKey][]wire.JSON
}

func (s *fakeStore) Append(ctx context.Context, key wire.SessionKey, entries []wire.JSON) error {
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.mu.Unlock()
	if s.before != nil {
		if err := s.before(ctx, n); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries == nil {
		s.entries = make(map[wire.SessionKey][]wire.JSON)
	}
	s.appended = append(s.appended, fmt.Sprintf("%s: %s", key, joined(entries)))
	s.entries[key] = append(s.entries[key], entries...)
	return nil
}

func joined(entries []wire.JSON) string {
	var texts []string
	for _, entry := range entries {
		texts = append(texts, string(entry))
	}
	return strings.Join(texts, " ")
}

func (s *fakeStore) Load(ctx context.Context, key wire.SessionKey) iter.Seq2[wire.JSON, error] {
	if s.load != nil {
		return s.load(ctx, key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return entriesOf(s.entries[key]...)
}

func entriesOf(entries ...wire.JSON) iter.Seq2[wire.JSON, error] {
	return func(yield func(wire.JSON, error) bool) {
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (s *fakeStore) Sessions(ctx context.Context, project string) (map[string]time.Time, error) {
	if s.sessions != nil {
		return s.sessions(ctx, project)
	}
	return nil, nil
}

func (s *fakeStore) Subpaths(ctx context.Context, key wire.SessionKey) ([]string, error) {
	if s.subpaths != nil {
		return s.subpaths(ctx, key)
	}
	return nil, nil
}

// want checks what was appended, call by call.
func (s *fakeStore) want(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, s.appended); diff != "" {
		t.Errorf("appended (-want +got):\n%s", diff)
	}
}

// wantEntries checks the entries of the session, in however many calls they came.
func (s *fakeStore) wantEntries(t *testing.T, want string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if diff := cmp.Diff(want, joined(s.entries[theSession])); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func (s *fakeStore) wantCalls(t *testing.T, want int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls != want {
		t.Errorf("Append was called %d times, want %d", s.calls, want)
	}
}

// mirrorFrame is what an agent on another machine writes down in the transcript of a session, or below it.
func mirrorFrame(transcript string, entries ...string) string {
	return fmt.Sprintf(`{"type":"transcript_mirror","filePath":"/home/me/.claude/projects/p/%s.jsonl","entries":[%s]}`,
		transcript, strings.Join(entries, ","))
}

// The key of mirrorFrame("s") and that of mirrorFrame("s/subagents/a"), as text.
const (
	sessionKey  = "p/s"
	subagentKey = "p/s/subagents/a"
)

var theSession = wire.SessionKey{Project: "p", SessionID: "s"}

var errStore = errors.New("the store is full")

// always is a fakeStore that fails like this.
func always(err error) *fakeStore {
	return &fakeStore{before: func(context.Context, int) error { return err }}
}

// oneTurn returns a scenario of one turn, whose prompt is "one", with frames before its result.
func oneTurn(frames ...any) *clewtest.Scenario {
	return connected().Expect(promptFrame("p1", "one")).Send(frames...).Send(resultFrame("one", "p1"))
}

// lossOf returns what a message says of entries that were lost.
func lossOf(t *testing.T, msg clew.Message) *wire.MirrorErrorMessage {
	t.Helper()
	loss, ok := msg.(*wire.MirrorErrorMessage)
	if !ok {
		t.Fatalf("message %T, want one about a loss", msg)
	}
	if loss.Raw() == "" || loss.UUID == "" {
		t.Errorf("message %+v has no text, or no id", loss)
	}
	return loss
}

// messagesOf returns the messages of a turn that succeeds.
func messagesOf(t *testing.T, s *clew.Session, prompt string) []clew.Message {
	t.Helper()
	var msgs []clew.Message
	for msg, err := range s.Turn(t.Context(), prompt) {
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, msg)
	}
	return msgs
}

// wantLostEntries checks that closing a session says that entries were lost.
func wantLostEntries(t *testing.T, err error, lost int, cause error) {
	t.Helper()
	loss, ok := errors.AsType[*clew.StoreError](err)
	if !ok {
		t.Fatalf("error %v, want a StoreError", err)
	}
	if loss.Lost != lost || !errors.Is(err, cause) || loss.Method != "Append" {
		t.Errorf("error %v of %+v, want %d entries lost by %v", err, loss, lost, cause)
	}
}
