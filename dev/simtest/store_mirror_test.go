package simtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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

// Entries from several frames are appended at once for each transcript, in order, and are not
// messages.
func TestMirrorBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		s, _ := simulate(t, oneTurn(
			mirrorFrame("s", `{"a":1}`), mirrorFrame("s/subagents/a", `{"b":1}`), mirrorFrame("s"),
			assistantFrame("well"), mirrorFrame("s", `{"a":2}`, `{"a": 3}`),
		), &clew.Options{Store: clew.StoreOptions{Store: store}})
		wantTurn(t, s, "one", "well", "result: one")
		store.want(t, sessionKey+`: {"a":1} {"a":2} {"a": 3}`, subagentKey+`: {"b":1}`)
	})
}

// A result is seen only when what came before it is in the store, and until then everything else
// works.
func TestMirrorBeforeResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 30 * time.Second
		store := &fakeStore{before: func(context.Context, int) error { time.Sleep(slow); return nil }}
		s, _ := simulate(t, oneTurn(assistantFrame("well"), mirrorFrame("s", `{"a":1}`)).
			Expect(controlRequest("m", `{"subtype":"set_model","model":"opus"}`)).Send(controlSuccess("m", `{}`)),
			&clew.Options{Store: clew.StoreOptions{Store: store}})
		began := time.Now()
		for msg, err := range s.Turn(t.Context(), clew.Text("one")) {
			if err != nil {
				t.Fatal(err)
			}
			if textOf(msg) == "well" {
				synctest.Wait()
				if _, err := s.SetModel(t.Context(), "opus"); err != nil || time.Since(began) > 0 {
					t.Errorf("a request took %v: %v", time.Since(began), err)
				}
				store.want(t)
				continue
			}
			store.want(t, sessionKey+`: {"a":1}`)
			if took := time.Since(began); took != slow {
				t.Errorf("the result came after %v", took)
			}
		}
	})
}

// A context that ends while a result waits for the store loses nothing.
func TestContextEndsBeforeStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{before: func(context.Context, int) error { time.Sleep(time.Second); return nil }}
		s, _ := simulate(t, oneTurn(mirrorFrame("s", `{"a":1}`)), &clew.Options{Store: clew.StoreOptions{Store: store}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := textsOf(s.Turn(ctx, clew.Text("one")))
		wantError(t, err, context.DeadlineExceeded)
		if texts, err := textsUntil(s, "result: one"); err != nil || len(texts) != 1 {
			t.Errorf("then %q, error %v", texts, err)
		}
		store.want(t, sessionKey+`: {"a":1}`)
	})
}

// Entries that come when no result is due wait, unless there are many or the store is eager.
func TestMirrorWithoutResult(t *testing.T) {
	many := make([]string, 501)
	for i := range many {
		many[i] = `{}`
	}
	tests := []struct {
		name  string
		eager bool
		frame string
		calls int
	}{
		{"a little", false, mirrorFrame("s", `{"a":1}`), 0},
		{"a little, eagerly", true, mirrorFrame("s", `{"a":1}`), 1},
		{"500 entries", false, mirrorFrame("s", many[:500]...), 0},
		{"more than 500 entries", false, mirrorFrame("s", many...), 1},
		{"more than a megabyte", false, mirrorFrame("s", `"`+strings.Repeat("a", 1<<20)+`"`), 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{}
				s, _ := simulate(t, connected().Send(test.frame), &clew.Options{Store: clew.StoreOptions{Store: store, Eager: test.eager}})
				synctest.Wait()
				store.wantCalls(t, test.calls)
				wantClosed(t, s)
				store.wantCalls(t, 1)
			})
		})
	}
}

// Entries that the agent writes after its last result are in the store before the session ends.
func TestMirrorOfTheEnd(t *testing.T) {
	scenario := func() *clewtest.Scenario {
		return oneTurn(mirrorFrame("s", `{"a":1}`)).CloseStdin().
			Send(mirrorFrame("s", `{"z":1}`), mirrorFrame("s", `{"z":2}`))
	}
	want := []string{sessionKey + `: {"a":1}`, sessionKey + `: {"z":1} {"z":2}`}
	t.Run("of a session", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &fakeStore{}
			s, _ := simulate(t, scenario(), &clew.Options{Store: clew.StoreOptions{Store: store}})
			wantTurn(t, s, "one", "result: one")
			store.want(t, want[:1]...)
			wantClosed(t, s)
			store.want(t, want...)
		})
	})
	t.Run("of a run", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &fakeStore{}
			opts := inMemory(clewtest.NewAgent(t, scenario()), &clew.Options{Store: clew.StoreOptions{Store: store}})
			if _, err := clew.Run(t.Context(), "one", opts); err != nil {
				t.Error(err)
			}
			store.wantEntries(t, `{"a":1} {"z":1} {"z":2}`)
		})
	})
	t.Run("of a loop that is left", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			store := &fakeStore{}
			opts := inMemory(clewtest.NewAgent(t, scenario()), &clew.Options{Store: clew.StoreOptions{Store: store}})
			for _, err := range clew.Query(t.Context(), "one", opts) {
				if err != nil {
					t.Error(err)
				}
				break
			}
			store.wantEntries(t, `{"a":1} {"z":1} {"z":2}`)
		})
	})
}

// With a project, that is the one of every key.
func TestStoreProject(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		s, _ := simulate(t, oneTurn(mirrorFrame("s", `{}`), mirrorFrame("s/subagents/a", `{}`)),
			&clew.Options{Store: clew.StoreOptions{Store: store, Project: "ours"}})
		wantTurn(t, s, "one", "result: one")
		store.want(t, "ours/s: {}", "ours/s/subagents/a: {}")
	})
}

// A file that is not a transcript is reported, and does not keep others out of the store.
func TestMirrorOfAnotherFile(t *testing.T) {
	frame := func(path string) string {
		return fmt.Sprintf(`{"type":"transcript_mirror","filePath":%q,"entries":[{},{}]}`, path)
	}
	for name, path := range map[string]string{
		"beside the transcripts": "/home/me/.claude/projects/p/s/x.jsonl",
		"elsewhere":              "/home/me/s.jsonl",
		"a way out":              "/home/me/.claude/projects/../s.jsonl",
		"no name":                "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := &fakeStore{}
				s, _ := simulate(t, oneTurn(frame(path), mirrorFrame("s", `{"a":1}`)), &clew.Options{Store: clew.StoreOptions{Store: store}})
				msgs := messagesOf(t, s, "one")
				loss := lossOf(t, msgs[0])
				if loss.Key != nil || !strings.Contains(loss.Error, "entries lost: 2") || len(msgs) != 2 {
					t.Errorf("message %s of %d", loss.Raw(), len(msgs))
				}
				store.want(t, sessionKey+`: {"a":1}`)
			})
		})
	}
}

// An agent on Windows has other paths.
func TestMirrorOfWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &fakeStore{}
		s, _ := simulate(t, oneTurn(
			`{"type":"transcript_mirror","filePath":"C:\\projects\\.claude\\projects\\p\\s\\subagents\\a.jsonl","entries":[{}]}`,
		), &clew.Options{Store: clew.StoreOptions{Store: store}})
		wantTurn(t, s, "one", "result: one")
		store.want(t, subagentKey+": {}")
	})
}

// However much the agent writes down while the store is stuck, control requests are answered, and
// all of it gets there: what finds no room holds up the agent, but no answer.
func TestMirrorFlood(t *testing.T) {
	for name, room := range map[string]int64{"with room": 0, "without room": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				store := &fakeStore{before: func(context.Context, int) error { <-release; return nil }}
				scenario, want := flooding(connected().Expect(promptFrame("p1", "one")))
				s, _ := simulate(t, scenario.Expect(controlRequest("m", `{"subtype":"set_model","model":"opus"}`)).
					Send(controlSuccess("m", `{}`), resultFrame("one", "p1")), &clew.Options{Store: clew.StoreOptions{Store: store}, Limits: clew.Limits{MaxBacklogBytes: room}})
				if _, err := s.Send(t.Context(), clew.Text("one")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // whatever can be read is
				began := time.Now()
				if _, err := s.SetModel(t.Context(), "opus"); err != nil || time.Since(began) > time.Second {
					t.Errorf("a request took %v, error %v", time.Since(began), err)
				}
				close(release)
				if texts, err := textsUntil(s, "result: one"); err != nil || len(texts) != 1 {
					t.Errorf("heard %q, error %v", texts, err)
				}
				got := store.entries[theSession]
				if diff := cmp.Diff(len(want), len(got)); diff != "" || !cmp.Equal(want, got) {
					t.Errorf("the entries are not the same, numbers (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// flooding adds to a scenario that much is written down, more than is kept in memory, and returns
// the entries.
func flooding(scenario *clewtest.Scenario) (*clewtest.Scenario, []wire.JSON) {
	text := strings.Repeat("a", 100<<10)
	var entries []wire.JSON
	for i := range 120 {
		entry := fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, text)
		entries = append(entries, wire.JSON(entry))
		scenario.Send(mirrorFrame("s", entry))
	}
	return scenario, entries
}

// Nor does it hold up Close for longer than the store may take.
func TestCloseInAMirrorFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		store := &fakeStore{before: func(context.Context, int) error { <-release; return nil }}
		scenario, entries := flooding(connected())
		agent := clewtest.NewAgent(t, scenario.CloseStdin())
		s, err := clew.Connect(t.Context(), inMemory(agent, &clew.Options{
			Store: clew.StoreOptions{Store: store, Timeout: 10 * time.Second}, Limits: clew.Limits{MaxBacklogBytes: 1},
		}))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // whatever can be read is
		began := time.Now()
		err = s.Close()
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("it took %v", took)
		}
		lost := 0
		for _, loss := range allLosses(err) {
			lost += loss.Lost
		}
		if lost != len(entries) {
			t.Errorf("%d entries are said to be lost, error %v", lost, err)
		}
	})
}

// allLosses returns the losses in a joined error.
func allLosses(err error) []*clew.StoreError {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var losses []*clew.StoreError
		for _, err := range many.Unwrap() {
			losses = append(losses, allLosses(err)...)
		}
		return losses
	}
	if loss, ok := errors.AsType[*clew.StoreError](err); ok {
		return []*clew.StoreError{loss}
	}
	return nil
}

// A flood is an agent that answers each prompt with the same frames as fast as they are read.
type flood struct {
	frames []byte // of a turn, without its result

	mu     sync.Mutex
	wake   chan struct{} // one slot
	unread []byte
	ended  bool
}

// newFlood returns an agent whose turns have so many answers: for each 20 pieces of it, the answer,
// and, if it is mirrored, what is written down of it.
func newFlood(answers int, mirrored bool) *flood {
	var b bytes.Buffer
	text := strings.Repeat("All work and no play makes a dull answer. ", 25)
	for i := range answers {
		for range 20 {
			fmt.Fprintf(&b, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":`+
				`{"type":"text_delta","text":%q}},"session_id":"s","uuid":"e"}`+"\n", text[:50])
		}
		fmt.Fprintln(&b, assistantFrame(text))
		if mirrored {
			fmt.Fprintln(&b, mirrorFrame("s", fmt.Sprintf(`{"uuid":"%d","message":%s}`, i, assistantFrame(text))))
		}
	}
	return &flood{frames: b.Bytes(), wake: make(chan struct{}, 1)}
}

func (f *flood) Read(p []byte) (int, error) {
	for {
		f.mu.Lock()
		n, ended := copy(p, f.unread), f.ended
		f.unread = f.unread[n:]
		f.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if ended {
			return 0, io.EOF
		}
		<-f.wake
	}
}

func (f *flood) Write(p []byte) (int, error) {
	switch msg := wire.Decode(bytes.TrimSpace(p)).(type) {
	case *wire.ControlRequestMessage:
		f.say([]byte(controlSuccess(msg.RequestID, `{}`)+"\n"), false)
	case *wire.UserMessage:
		f.say(append(f.frames[:len(f.frames):len(f.frames)], resultFrame("done", msg.UUID)+"\n"...), false)
	}
	return len(p), nil
}

func (f *flood) say(frames []byte, last bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unread, f.ended = append(f.unread, frames...), last
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *flood) CloseWrite() error {
	f.say(nil, true)
	return nil
}

func (f *flood) Close() error { return f.CloseWrite() }

// BenchmarkMirror has turns of 200 answers: without a store, with an agent that mirrors and the
// caller gets the frames, and with a store in memory. The difference in MB/s is the cost of the
// store.
func BenchmarkMirror(b *testing.B) {
	for _, bench := range []struct {
		name     string
		mirrored bool
		opts     clew.Options
	}{
		{"without", false, clew.Options{}},
		{"frames only", true, clew.Options{}},
		{"store", true, clew.Options{Store: clew.StoreOptions{Store: &keepingStore{}}}},
		{"eager store", true, clew.Options{Store: clew.StoreOptions{Store: &keepingStore{}, Eager: true}}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			conn := newFlood(200, bench.mirrored)
			bench.opts.Transport = clew.TransportFunc(func(context.Context, *clew.Launch) (clew.Connection, error) {
				return conn, nil
			})
			s, err := clew.Connect(b.Context(), &bench.opts)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			b.SetBytes(int64(len(conn.frames)))
			for b.Loop() {
				for _, err := range s.Turn(b.Context(), clew.Text("go")) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// A keepingStore keeps the newest entries, so that a benchmark does not fill the memory.
type keepingStore struct {
	mu      sync.Mutex
	entries []wire.JSON
}

func (s *keepingStore) Append(_ context.Context, _ wire.SessionKey, entries []wire.JSON) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = entries
	return nil
}

func (*keepingStore) Load(context.Context, wire.SessionKey) iter.Seq2[wire.JSON, error] {
	return entriesOf()
}

func (*keepingStore) Sessions(context.Context, string) (map[string]time.Time, error) { return nil, nil }

func (*keepingStore) Subpaths(context.Context, wire.SessionKey) ([]string, error) { return nil, nil }
