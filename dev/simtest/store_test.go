package simtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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
	// load, sessions and subpaths, if they are not nil, stand in for the appended entries.
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

// mirrorFrame is a frame with the entries that an agent on another machine adds to the transcript
// of a session, or below it.
func mirrorFrame(transcript string, entries ...string) string {
	return fmt.Sprintf(`{"type":"transcript_mirror","filePath":"/home/me/.claude/projects/p/%s.jsonl","entries":[%s]}`,
		transcript, strings.Join(entries, ","))
}

// The keys of mirrorFrame("s") and mirrorFrame("s/subagents/a"), as text.
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
	for msg, err := range s.Turn(t.Context(), clew.Text(prompt)) {
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, msg)
	}
	return msgs
}

// wantLostEntries checks that a closed session's error reports lost entries.
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

// A failed write is tried again. If it is lost, a message before the result reports it, and the
// session continues.
func TestStoreFails(t *testing.T) {
	tests := []struct {
		name   string
		before func(ctx context.Context, n int) error
		calls  int // for the first of two turns
		took   time.Duration
		reason string // of the loss, or empty for none
	}{
		{"once", failing(errStore, 1), 2, 200 * time.Millisecond, ""},
		{"twice", failing(errStore, 1, 2), 3, time.Second, ""},
		{"three times", failing(errStore, 1, 2, 3), 3, time.Second, "the store is full; entries lost: 2"},
		{"with a secret", failing(errors.New("postgres://me:hidden@host refused"), 1, 2, 3), 3, time.Second,
			"postgres://***@host refused; entries lost: 2"},
		{"by a panic", func(_ context.Context, n int) error {
			if n <= 3 {
				panic("broken")
			}
			return nil
		}, 3, time.Second, "panic: broken; entries lost: 2"},
		{"by its goroutine's end", func(_ context.Context, n int) error {
			if n <= 3 {
				runtime.Goexit()
			}
			return nil
		}, 3, time.Second, "the method did not return; entries lost: 2"},
		{"by its time-out", func(ctx context.Context, n int) error {
			if n == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}, 1, time.Minute, "no answer within 1m0s: context deadline exceeded; entries lost: 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{before: test.before}
				s, _ := simulate(t, oneTurn(mirrorFrame("s", `{"a":1}`, `{"a":2}`)).Expect(promptFrame("p2", "two")).
					Send(mirrorFrame("s", `{"b":1}`), resultFrame("two", "p2")), &clew.Options{Store: clew.StoreOptions{Store: store}})
				began := time.Now()
				msgs := messagesOf(t, s, "one")
				if took := time.Since(began); took != test.took {
					t.Errorf("it took %v, want %v", took, test.took)
				}
				store.wantCalls(t, test.calls)
				want := []string{sessionKey + `: {"a":1} {"a":2}`, sessionKey + `: {"b":1}`}
				if test.reason != "" {
					want = want[1:]
					loss := lossOf(t, msgs[0])
					if loss.Error != test.reason || loss.Key == nil || loss.Key.ProjectKey != "p" ||
						loss.Key.SessionID != "s" || loss.Key.Subpath != "" {
						t.Errorf("message %s", loss.Raw())
					}
					msgs = msgs[1:]
				}
				if len(msgs) != 1 || textOf(msgs[0]) != "result: one" {
					t.Errorf("then %v", msgs)
				}
				wantTurn(t, s, "two", "result: two")
				store.want(t, want...)
			})
		})
	}
}

// failing fails the nth calls.
func failing(err error, calls ...int) func(context.Context, int) error {
	return func(_ context.Context, n int) error {
		for _, call := range calls {
			if n == call {
				return err
			}
		}
		return nil
	}
}

// A store that ignores its context is not waited for. Until it returns, nothing else goes to the
// same transcript, and so nothing changes places.
func TestStoreThatDoesNotReturn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		store := &fakeStore{before: func(_ context.Context, n int) error {
			if n == 1 {
				<-release
			}
			return nil
		}}
		s, _ := simulate(t, oneTurn(mirrorFrame("s", `{"a":1}`)).
			Expect(promptFrame("p2", "two")).
			Send(mirrorFrame("s", `{"b":1}`), mirrorFrame("s/subagents/a", `{"b":2}`), resultFrame("two", "p2")).
			Expect(promptFrame("p3", "three")).Send(mirrorFrame("s", `{"c":1}`), resultFrame("three", "p3")),
			&clew.Options{Store: clew.StoreOptions{Store: store, Timeout: 10 * time.Second}})
		for _, prompt := range []string{"one", "two"} {
			began := time.Now()
			wantTurn(t, s, prompt, "*wire.MirrorErrorMessage", "result: "+prompt)
			if took := time.Since(began); took != 10*time.Second {
				t.Errorf("the turn took %v", took)
			}
		}
		store.want(t, subagentKey+`: {"b":2}`)
		time.AfterFunc(time.Second, func() { close(release) })
		wantTurn(t, s, "three", "result: three")
		store.want(t, subagentKey+`: {"b":2}`, sessionKey+`: {"a":1}`, sessionKey+`: {"c":1}`)
	})
}

// Close waits for the store no longer than one call may take, whatever is left, and reports the
// loss.
func TestCloseWithAStoreThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		store := &fakeStore{before: func(context.Context, int) error { <-release; return nil }}
		agent := clewtest.NewAgent(t, connected().CloseStdin().
			Send(mirrorFrame("s", `{}`, `{}`), mirrorFrame("s/subagents/a", `{}`), mirrorFrame("s2", `{}`)))
		s, err := clew.Connect(t.Context(), inMemory(agent, &clew.Options{Store: clew.StoreOptions{Store: store, Timeout: 7 * time.Second}}))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = s.Close()
		if took := time.Since(began); took != 7*time.Second {
			t.Errorf("it took %v", took)
		}
		wantLostEntries(t, err, 2, context.DeadlineExceeded)
		for _, key := range []string{sessionKey, subagentKey, "p/s2"} {
			if !strings.Contains(err.Error(), "Append of "+key+":") {
				t.Errorf("the error has nothing about %s: %v", key, err)
			}
		}
		if again := s.Close(); again == nil || again.Error() != err.Error() {
			t.Errorf("and again %v", again)
		}
	})
}

// Losses that no reader saw are in Close's error and in the log.
func TestLossAfterTheResult(t *testing.T) {
	scenario := func() *clewtest.Scenario { return oneTurn().CloseStdin().Send(mirrorFrame("s", `{}`)) }
	t.Run("of a session that is closed", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			opts := &clew.Options{Store: clew.StoreOptions{Store: always(errStore)}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			s, err := clew.Connect(t.Context(), inMemory(clewtest.NewAgent(t, scenario()), opts))
			if err != nil {
				t.Fatal(err)
			}
			wantTurn(t, s, "one", "result: one")
			wantLostEntries(t, s.Close(), 1, errStore)
			if !strings.Contains(log.String(), "the store is full") {
				t.Errorf("the log is %s", &log)
			}
		})
	})
	t.Run("of a loop that goes on", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			opts := inMemory(clewtest.NewAgent(t, scenario()), &clew.Options{Store: clew.StoreOptions{Store: always(errStore)}})
			texts, err := textsOf(clew.Query(t.Context(), "one", opts))
			slices.Sort(texts) // the loss may be known before the result is read
			if diff := cmp.Diff([]string{"*wire.MirrorErrorMessage", "result: one"}, texts); diff != "" || err != nil {
				t.Errorf("error %v, messages (-want +got):\n%s", err, diff)
			}
		})
	})
	t.Run("of a run", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			opts := inMemory(clewtest.NewAgent(t, scenario()), &clew.Options{Store: clew.StoreOptions{Store: always(errStore)}})
			result, err := clew.Run(t.Context(), "one", opts)
			loss, ok := errors.AsType[*clew.StoreError](err)
			if !ok || result == nil || result.Result != "one" || loss.Key.String() != sessionKey {
				t.Errorf("result %v, error %v", result, err)
			}
		})
	})
	t.Run("of a run with an answer of a type", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p1", "one")).Send(mirrorFrame("s", `{}`),
				`{"type":"result","subtype":"success","structured_output":{"N":3},"user_message_uuids":["p1"]}`))
			opts := inMemory(agent, &clew.Options{Store: clew.StoreOptions{Store: always(errStore)}})
			answer, _, err := clew.RunAs[struct{ N int }](t.Context(), "one", opts)
			if _, ok := errors.AsType[*clew.StoreError](err); !ok || answer.N != 3 {
				t.Errorf("answer %v, error %v", answer, err)
			}
		})
	})
	t.Run("of a loop whose context ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p1", "one")).Send(mirrorFrame("s", `{}`)).Do(clewtest.Hang()))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := textsOf(clew.Query(ctx, "one", inMemory(agent, &clew.Options{Store: clew.StoreOptions{Store: always(errStore)}})))
			wantLostEntries(t, err, 1, errStore)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("of an agent that dies", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			agent := clewtest.NewAgent(t, connected().Expect(promptFrame("p1", "one")).Send(mirrorFrame("s", `{}`)).Exit(3))
			s := connectTo(t, inMemory(agent, &clew.Options{Store: clew.StoreOptions{Store: always(errStore)}}))
			texts, err := textsOf(s.Turn(t.Context(), clew.Text("one")))
			if diff := cmp.Diff([]string{"*wire.MirrorErrorMessage"}, texts); diff != "" || wantExit(t, err).Code != 3 {
				t.Errorf("error %v, messages (-want +got):\n%s", err, diff)
			}
			wantClosed(t, s)
		})
	})
}

// Whoever skips the rest of a turn that was left still learns of a loss in it.
func TestLossInATurnThatWasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{before: failing(errStore, 1, 2, 3)}
		s, _ := simulate(t, connected().Expect(promptFrame("p1", "one")).Send(assistantFrame("1")).
			Expect(promptFrame("p2", "two")).Send(mirrorFrame("s", `{}`), assistantFrame("2"), resultFrame("one", "p1"),
			resultFrame("two", "p2")), &clew.Options{Store: clew.StoreOptions{Store: store}})
		for range s.Turn(t.Context(), clew.Text("one")) {
			break
		}
		wantTurn(t, s, "two", "*wire.MirrorErrorMessage", "result: two")
	})
}

// Losses of the same kind that nobody saw are one message.
func TestManyLosses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := always(errStore)
		both := []any{mirrorFrame("s", `{}`), mirrorFrame("s/subagents/a", `{}`)}
		s, _ := simulate(t, connected().Send(both...).
			Expect(promptFrame("p1", "one")).Send(both...).Send(resultFrame("one", "p1")),
			&clew.Options{Store: clew.StoreOptions{Store: store, Eager: true}})
		synctest.Wait()
		time.Sleep(time.Minute)
		msgs := messagesOf(t, s, "one")
		if len(msgs) != 3 {
			t.Fatalf("%d messages", len(msgs))
		}
		for _, msg := range msgs[:2] {
			if loss := lossOf(t, msg); !strings.Contains(loss.Error, "entries lost: 2") {
				t.Errorf("message %s", loss.Raw())
			}
		}
	})
}
