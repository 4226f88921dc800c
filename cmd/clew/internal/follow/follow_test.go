package follow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/internal/polltest"
	"github.com/clewdev/clew/internal/rows"
	"github.com/clewdev/clew/transcript"
)

// limit is the maximum time that a test waits for a snapshot.
const limit = polltest.Limit

const sessionID = "0b7d2c7e-5a63-4d0c-9a3c-6a1b2d9e8f10"

// A log is a session in a temporary directory that a test writes.
type log struct {
	t    testing.TB
	path string
}

func newLog(t testing.TB) log {
	return log{t, filepath.Join(t.TempDir(), "projects", "p", sessionID+".jsonl")}
}

// agent returns the log of a subagent.
func (l log) agent(id string) log {
	return log{l.t, filepath.Join(strings.TrimSuffix(l.path, ".jsonl"), "subagents", "agent-"+id+".jsonl")}
}

func (l log) write(text string) {
	l.t.Helper()
	must(l.t, os.MkdirAll(filepath.Dir(l.path), 0o700))
	file, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(l.t, err)
	_, err = file.WriteString(text)
	must(l.t, errors.Join(err, file.Close()))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// line is an entry of a conversation.
func line(kind, uuid, parent, content string) string {
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"sessionId":%q,"timestamp":"2026-01-01T00:00:00Z",`+
		`"message":{"role":%q,"content":%s}}`+"\n", kind, uuid, parent, sessionID, kind, content)
}

func ask(uuid, parent string) string { return line("user", uuid, parent, `"ask `+uuid+`"`) }

func call(uuid, parent, id string) string {
	return line("assistant", uuid, parent, `[{"type":"tool_use","id":"`+id+`","name":"Agent","input":{"prompt":"x"}}]`)
}

func newHub(t testing.TB, opts *follow.Options) *follow.Hub {
	h := follow.New(opts)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func next(t testing.TB, r *follow.Reader) *follow.Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s, err := r.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// loaded returns the first snapshot that has everything.
func loaded(t testing.TB, r *follow.Reader) *follow.Snapshot {
	t.Helper()
	for {
		if s := next(t, r); !s.Loading {
			return s
		}
	}
}

func texts(s *follow.Snapshot) []string {
	var all []string
	for _, c := range s.Transcript.Chunks[s.First:] {
		all = append(all, c.Text)
	}
	return all
}

func TestFollow(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", ""))
	h := newHub(t, nil)
	r := h.Open(l.path, 0)
	s := loaded(t, r)
	if diff := cmp.Diff([]string{"ask 1"}, texts(s)); diff != "" || s.Done != s.Total || s.Total == 0 {
		t.Fatalf("%d of %d bytes (-want +got):\n%s", s.Done, s.Total, diff)
	}
	l.write(ask("2", "1"))
	later := next(t, r)
	if diff := cmp.Diff([]string{"ask 2"}, texts(later)); diff != "" || later.Revision <= s.Revision {
		t.Errorf("revision %d after %d (-want +got):\n%s", later.Revision, s.Revision, diff)
	}
	if len(s.Transcript.Chunks) != 1 {
		t.Errorf("the first snapshot has %d chunks now", len(s.Transcript.Chunks))
	}
	second := h.Open(l.path, 0)
	if s := next(t, second); s.First != 0 || s.Transcript != later.Transcript {
		t.Errorf("the second reader begins with %+v", s)
	}
	must(t, r.Close())
	l.write(ask("3", "2"))
	if diff := cmp.Diff([]string{"ask 3"}, texts(next(t, second))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s, err := r.Next(t.Context()); s != nil || !errors.Is(err, follow.ErrClosed) {
		t.Errorf("of a closed reader: %+v, %v", s, err)
	}
}

// A session that can't be read is tried again by the next reader.
func TestFailure(t *testing.T) {
	t.Parallel()
	h := newHub(t, nil)
	for range 2 {
		if s, err := h.Open(filepath.Join(t.TempDir(), "notes.txt"), 0).Next(t.Context()); s != nil || err == nil || errors.Is(err, follow.ErrClosed) {
			t.Errorf("got %+v, %v", s, err)
		}
	}
}

// A change of a subagent counts as a change of the chunk that started it, at any depth.
func TestSubagents(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", "") + call("2", "1", "t1") + ask("3", "2") + ask("4", "3"))
	l.agent("a").write(ask("a1", "") + call("a2", "a1", "t2"))
	l.agent("b").write(ask("b1", ""))
	for id, meta := range map[string]string{"a": `{"toolUseId":"t1"}`, "b": `{"toolUseId":"t2","parentAgentId":"a"}`} {
		log{t, strings.TrimSuffix(l.agent(id).path, ".jsonl") + ".meta.json"}.write(meta)
	}
	r := newHub(t, nil).Open(l.path, 0)
	before := loaded(t, r)
	deep := func(s *follow.Snapshot) *transcript.Agent {
		return s.Transcript.Chunks[1].Items[0].Agents[0].Transcript.Chunks[1].Items[0].Agents[0]
	}
	if n := len(deep(before).Transcript.Chunks); n != 1 {
		t.Fatalf("%d chunks", n)
	}
	l.agent("b").write(ask("b2", "b1"))
	after := next(t, r)
	if after.First != 1 || len(deep(after).Transcript.Chunks) != 2 || len(deep(before).Transcript.Chunks) != 1 {
		t.Errorf("first is %d, %d and %d chunks", after.First, len(deep(before).Transcript.Chunks), len(deep(after).Transcript.Chunks))
	}
	l.write(ask("5", "4"))
	last := next(t, r)
	if diff := cmp.Diff([]string{"ask 5"}, texts(last)); diff != "" || deep(last) != deep(after) {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A reader that looks once gets everything at once, from the first changed chunk on.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("0", ""))
	h := newHub(t, nil)
	slow, quick := h.Open(l.path, 0), h.Open(l.path, 0)
	loaded(t, slow)
	loaded(t, quick)
	for i := range 20 {
		l.write(ask(fmt.Sprint(i+1), fmt.Sprint(i)))
		next(t, quick)
	}
	if s := next(t, slow); len(texts(s)) != 20 || s.First != 1 {
		t.Errorf("from %d: %q", s.First, texts(s))
	}
}

// The file may go and come back.
func TestGone(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", "") + ask("2", "1"))
	r := newHub(t, nil).Open(l.path, 0)
	loaded(t, r)
	must(t, os.Remove(l.path))
	s := next(t, r)
	for !s.Gone {
		s = next(t, r)
	}
	if len(s.Transcript.Chunks) != 2 {
		t.Errorf("got %+v", s)
	}
	l.write(ask("3", ""))
	for s.Gone || s.Loading {
		s = next(t, r)
	}
	if diff := cmp.Diff([]string{"ask 3"}, texts(s)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A waiting Next ends with its context, the reader and the hub.
func TestNextEnds(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", ""))
	for name, test := range map[string]struct {
		end  func(h *follow.Hub, r *follow.Reader, cancel func())
		want error
	}{
		"context": {func(_ *follow.Hub, _ *follow.Reader, cancel func()) { cancel() }, context.Canceled},
		"reader":  {func(_ *follow.Hub, r *follow.Reader, _ func()) { _ = r.Close() }, follow.ErrClosed},
		"hub":     {func(h *follow.Hub, _ *follow.Reader, _ func()) { _ = h.Close() }, follow.ErrClosed},
	} {
		h := newHub(t, nil)
		r := h.Open(l.path, 0)
		loaded(t, r)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := r.Next(ctx)
			done <- err
		}()
		test.end(h, r, cancel)
		if err := <-done; !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	h := newHub(t, nil)
	must(t, h.Close())
	r := h.Open(l.path, 0)
	if _, err := r.Next(t.Context()); !errors.Is(err, follow.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	must(t, errors.Join(r.Close(), r.Close(), h.Close()))
}

// Sessions without readers are followed as long as there are few and small ones.
func TestIdle(t *testing.T) { // not parallel: it counts goroutines
	var logs []log
	for range 5 {
		l := newLog(t)
		l.write(ask("1", ""))
		logs = append(logs, l)
	}
	for name, test := range map[string]struct {
		opts follow.Options
		want int
	}{
		"few":   {follow.Options{MaxIdle: 3}, 3},
		"none":  {follow.Options{MaxIdle: -1}, 0},
		"small": {follow.Options{MaxIdleBytes: 1}, 0},
		"usual": {follow.Options{}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			before := followers()
			h := newHub(t, &test.opts)
			for _, l := range logs {
				r := h.Open(l.path, 0)
				loaded(t, r)
				must(t, r.Close())
			}
			eventually(t, func() bool { return followers()-before == test.want })
			if test.want > 0 { // the last one is still there
				r := h.Open(logs[4].path, 0)
				if s := next(t, r); s.Transcript == nil || s.Loading {
					t.Errorf("got %+v", s)
				}
			}
			must(t, h.Close())
			if n := followers() - before; n != 0 {
				t.Errorf("%d loops are left", n)
			}
		})
	}
}

// followers returns how many loops over sessions run.
func followers() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return strings.Count(string(stacks), "follow.(*session).follow(")
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
	}
}

// The size of all sessions that are followed is reported when it changes.
func TestHeld(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", ""))
	var mu sync.Mutex
	var held []int64
	h := newHub(t, &follow.Options{MaxIdle: -1, Held: func(bytes int64) {
		mu.Lock()
		defer mu.Unlock()
		held = append(held, bytes)
	}})
	first, second := h.Open(l.path, 1000), h.Open(l.path, 1000)
	loaded(t, first)
	must(t, errors.Join(first.Close(), second.Close()))
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]int64{1000, 0}, held); diff != "" {
		t.Errorf("sizes (-want +got):\n%s", diff)
	}
}

// Readers share the rows, and each learns what has changed since it asked.
func TestRows(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", "") + call("2", "1", "t1"))
	h := newHub(t, nil)
	one, two := h.Open(l.path, 0), h.Open(l.path, 0)
	loaded(t, one)
	loaded(t, two)
	shown, done := one.Rows(false)
	if shown.List.Len() != 2 || len(shown.Top) != 2 || shown.List.At(1).State == rows.Running {
		t.Errorf("%d rows, %d at depth 0", shown.List.Len(), len(shown.Top))
	}
	done()
	if c := one.Change(false); c.First != 0 || c.Total != 2 || c.Revision != shown.Revision {
		t.Errorf("the first change is %+v", c)
	}
	before := one.Change(false)
	if before.First != 2 {
		t.Errorf("without a change: %+v", before)
	}
	if c := two.Change(true); c.Revision <= before.Revision { // the call runs
		t.Errorf("%+v after %+v", c, before)
	}
	next(t, one) // it learns that the session is live
	if c := one.Change(true); c.First != 1 || c.Revision <= before.Revision {
		t.Errorf("a call that runs: %+v after %+v", c, before)
	}
	l.write(strings.Replace(ask("3", "2"), "user", "assistant", 2))
	next(t, one)
	if c := one.Change(true); c.Total != 3 || c.Ended != nil {
		t.Errorf("%+v", c)
	}
	again, done := two.Rows(true)
	defer done()
	if again != shown || again.List.Len() != 3 {
		t.Errorf("%d rows", again.List.Len())
	}
}

// Revisions of rows never start again: a reader that knows an older one takes the newer rows.
func TestRowsAnew(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", ""))
	h := newHub(t, &follow.Options{MaxIdle: -1})
	last := 0
	for range 3 {
		r := h.Open(l.path, 0)
		loaded(t, r)
		if c := r.Change(false); c.First != 0 || c.Total != 1 || c.Revision <= last {
			t.Errorf("%+v after revision %d", c, last)
		} else {
			last = c.Revision
		}
		must(t, r.Close()) // the hub forgets the session
	}
}

// An answer that ended before a reader was opened is no news to it.
func TestEndedBefore(t *testing.T) {
	t.Parallel()
	ended := func(uuid, parent string) string {
		text := line("assistant", uuid, parent, `[{"type":"text","text":"Done."}]`)
		return strings.Replace(text, `"message":{`, `"message":{"id":"m`+uuid+`","stop_reason":"end_turn",`, 1)
	}
	until := func(r *follow.Reader, turn int) {
		for {
			chunks := next(t, r).Transcript.Chunks
			if last := chunks[len(chunks)-1]; last.Turn == turn && last.StopReason == "end_turn" {
				return
			}
		}
	}
	l := newLog(t)
	l.write(ask("1", ""))
	h := newHub(t, nil)
	first := h.Open(l.path, 0)
	loaded(t, first)
	if c := first.Change(false); c.Revision != 1 || c.Ended != nil {
		t.Errorf("the first change is %+v", c)
	}
	must(t, first.Close())

	l.write(ended("2", "1"))
	again := h.Open(l.path, 0)
	until(again, 1)
	if c := again.Change(false); c.Revision != 2 || c.Ended != nil {
		t.Errorf("the first change after it was opened again is %+v", c)
	}
	l.write(ask("3", "2") + ended("4", "3"))
	until(again, 2)
	if c := again.Change(false); c.Ended == nil || c.Ended.Turn != 2 {
		t.Errorf("after another answer: %+v", c)
	}
}
