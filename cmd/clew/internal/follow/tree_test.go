package follow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/cmd/clew/internal/follow"
	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// described returns a transcript as texts: one for each chunk, with the subagents under its items,
// and then the rest.
func described(t *transcript.Transcript) (chunks, rest []string) {
	if t == nil {
		return nil, nil
	}
	for i := range t.Chunks {
		chunks = append(chunks, describedChunk(&t.Chunks[i]))
	}
	rest = append(rest, fmt.Sprintf("%+v %v %v %+v", t.Info, t.Noise, t.TaskCalls, t.Invalid), fmt.Sprint(t.Calls(), t.Context()))
	for _, b := range t.Branches {
		rest = append(rest, fmt.Sprint("branch from ", b.FromLine))
		for i := range b.Chunks {
			rest = append(rest, describedChunk(&b.Chunks[i]))
		}
	}
	for _, chain := range t.Sidechains {
		rest = append(rest, "sidechain", whole(chain))
	}
	for _, a := range t.Unlinked {
		rest = append(rest, "unlinked "+describedAgent(a))
	}
	count := 0
	for range t.AllChunks() { // each once
		count++
	}
	rest = append(rest, fmt.Sprint(count, " chunks"))
	return chunks, rest
}

func whole(t *transcript.Transcript) string {
	chunks, rest := described(t)
	return strings.Join(append(chunks, rest...), "\n")
}

func describedChunk(c *transcript.Chunk) string {
	shown := *c
	shown.Items, shown.Compaction = slices.Clone(c.Items), nil
	var agents []string
	for i := range shown.Items {
		for _, a := range shown.Items[i].Agents {
			agents = append(agents, fmt.Sprintf("under item %d: %s", i, describedAgent(a)))
		}
		shown.Items[i].Agents = nil
	}
	return fmt.Sprintf("%+v %+v\n%s", shown, c.Compaction, strings.Join(agents, "\n"))
}

func describedAgent(a *transcript.Agent) string {
	return fmt.Sprint(a.ID, a.Meta, a.Workflow, a.LinkedBy, a.CallID, a.ParentID, a.Kind(), a.Type(), a.Description(),
		a.Teammate(), a.Start(), "\n", whole(a.Transcript))
}

// A troupe is a session with subagents of several depths, which is written at random: also rewinds,
// metadata that comes late, subagents in the file of the session, and broken lines.
type troupe struct {
	rng   *rand.Rand
	log   log
	texts map[string]string
	count int
}

func newTroupe(l log, seed uint64) *troupe {
	tr := &troupe{rng: rand.New(rand.NewPCG(seed, 18)), log: l, texts: map[string]string{}}
	tr.perform(l, "", 0)
	return tr
}

func (tr *troupe) number() string {
	tr.count++
	return fmt.Sprint(tr.count)
}

// perform makes the text of one transcript.
func (tr *troupe) perform(l log, agent string, depth int) {
	var text strings.Builder
	uuids := []string{""}
	say := func(kind, content string) {
		uuid, parent := "u"+tr.number(), uuids[len(uuids)-1]
		if tr.rng.IntN(7) == 0 {
			parent = uuids[tr.rng.IntN(len(uuids))]
		}
		text.WriteString(line(kind, uuid, parent, content))
		uuids = append(uuids, uuid)
	}
	say("user", `"begin `+agent+`"`)
	for range 4 + tr.rng.IntN(12) {
		switch n := tr.rng.IntN(10); {
		case n < 3:
			say("user", `"ask `+tr.number()+`"`)
		case n < 5:
			say("assistant", `[{"type":"text","text":"say `+tr.number()+`"}]`)
		case n < 7:
			id := "t" + tr.number()
			say("assistant", `[{"type":"tool_use","id":"`+id+`","name":"Bash","input":{"command":"ls"}}]`)
			say("user", `[{"type":"tool_result","tool_use_id":"`+id+`","content":"out"}]`)
		case n < 9 && depth < 3 && tr.count < 200:
			tr.spawn(agent, depth, say)
		case n == 9 && depth == 0:
			uuid := "s" + tr.number()
			text.WriteString(strings.Replace(ask(uuid, ""), `{`, `{"isSidechain":true,"agentId":"inline`+uuid+`",`, 1))
		default:
			text.WriteString("{broken\n")
		}
	}
	tr.texts[l.path] = text.String()
}

func (tr *troupe) spawn(parent string, depth int, say func(kind, content string)) {
	id, agent := "t"+tr.number(), "a"+tr.number()
	prompt := "begin " + agent
	if tr.rng.IntN(2) > 0 {
		prompt = "another" // so that the agent is under a wrong call until more is known
	}
	say("assistant", `[{"type":"tool_use","id":"`+id+`","name":"Agent","input":{"prompt":"`+prompt+`"}}]`)
	l := tr.log.agent(agent)
	tr.perform(l, agent, depth+1)
	if tr.rng.IntN(3) > 0 {
		tr.texts[strings.TrimSuffix(l.path, ".jsonl")+".meta.json"] =
			fmt.Sprintf(`{"toolUseId":%q,"parentAgentId":%q,"agentType":"Explore"}`, id, parent)
	}
	if tr.rng.IntN(2) > 0 {
		say("user", `[{"type":"tool_result","tool_use_id":"`+id+`","content":"done"}]`)
	}
}

// write writes all files in pieces, in turns.
func (tr *troupe) write() {
	for len(tr.texts) > 0 {
		paths := slices.Sorted(func(yield func(string) bool) {
			for path := range tr.texts {
				if !yield(path) {
					return
				}
			}
		})
		path := paths[tr.rng.IntN(len(paths))]
		rest := tr.texts[path]
		n := min(1+tr.rng.IntN(600), len(rest))
		log{tr.log.t, path}.write(rest[:n])
		if tr.texts[path] = rest[n:]; n == len(rest) {
			delete(tr.texts, path)
		}
	}
}

// A witness keeps what a reader was given.
type witness struct {
	t      *testing.T
	reader *follow.Reader
	chunks []string // of the last snapshot
	kept   []*follow.Snapshot
	texts  []string
}

// next takes a snapshot. Chunks before the first changed one are the same as before.
func (w *witness) next(ctx context.Context) *follow.Snapshot {
	s, err := w.reader.Next(ctx)
	if err != nil {
		w.t.Errorf("no snapshot: %v", err)
		return nil
	}
	return w.take(s)
}

// take checks a snapshot and keeps it.
func (w *witness) take(s *follow.Snapshot) *follow.Snapshot {
	chunks, _ := described(s.Transcript)
	if s.First > len(chunks) || s.First > len(w.chunks) {
		w.t.Errorf("first is %d, of %d chunks after %d", s.First, len(chunks), len(w.chunks))
		return nil
	}
	if diff := cmp.Diff(w.chunks[:s.First], chunks[:s.First], cmpopts.EquateEmpty()); diff != "" {
		w.t.Errorf("changed before chunk %d (-before +now):\n%s", s.First, diff)
	}
	w.chunks = chunks
	w.kept, w.texts = append(w.kept, s), append(w.texts, whole(s.Transcript))
	return s
}

// Each snapshot is consistent with the one before, none changes later, and the last one is what
// Read returns.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newLog(t)
			l.write("")
			h := newHub(t, &follow.Options{PollInterval: time.Duration(seed%2) * time.Millisecond})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var all sync.WaitGroup
			written := make(chan struct{})
			for range 3 {
				w := &witness{t: t, reader: h.Open(l.path, 0)}
				all.Go(func() { w.watch(ctx, l.path, written) })
			}
			newTroupe(l, seed).write()
			close(written)
			all.Wait()
		})
	}
}

// watch takes snapshots until one is what Read returns, after everything was written. The last
// snapshot may be whole already when the last piece is known to be written: then no other follows.
func (w *witness) watch(ctx context.Context, path string, written chan struct{}) {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		<-written
		stop()
	}()
	last := ""
	for {
		s, err := w.reader.Next(writing)
		if err != nil && writing.Err() != nil {
			break
		}
		if err != nil {
			w.t.Errorf("no snapshot: %v", err)
			return
		}
		if w.take(s) == nil {
			return
		}
		last = whole(s.Transcript)
	}
	read, err := sessions.ReadFile(ctx, path, nil)
	if err != nil {
		w.t.Error(err)
		return
	}
	for want := whole(read); last != want; {
		s := w.next(ctx)
		if s == nil {
			_, rest, _ := strings.Cut(want, "\n")
			w.t.Errorf("(-want +got):\n%s", cmp.Diff(rest, strings.Join(w.chunks, "\n")))
			return
		}
		last = whole(s.Transcript)
	}
	for i, s := range w.kept {
		if got := whole(s.Transcript); got != w.texts[i] {
			w.t.Errorf("snapshot %d has changed (-then +now):\n%s", i, cmp.Diff(w.texts[i], got))
		}
	}
}

// The snapshots have an error for an unreadable subagent until it can be read.
func TestUnreadableAgent(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", ""))
	must(t, os.MkdirAll(l.agent("a").path+"/x", 0o700)) // a directory in place of the file
	l.agent("b").write(ask("b", ""))
	must(t, os.Symlink(filepath.Join(t.TempDir(), "nowhere"), l.agent("c").path))
	r := newHub(t, nil).Open(l.path, 0)
	s := loaded(t, r)
	if len(s.Transcript.Unlinked) != 1 {
		t.Errorf("got %d agents, %v", len(s.Transcript.Unlinked), s.Err)
	}
	must(t, errors.Join(os.Remove(l.agent("c").path), os.RemoveAll(l.agent("a").path)))
	l.agent("a").write(ask("a", ""))
	for s = next(t, r); len(s.Transcript.Unlinked) != 2; s = next(t, r) {
	}
	if s.Err != nil {
		t.Error(s.Err)
	}
}

// The transcript of a subagent may go and come back.
func TestAgentGone(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", "") + call("2", "1", "t1") + ask("3", "2"))
	l.agent("a").write(ask("a1", ""))
	l.agent("acompact-b").write(ask("b1", ""))
	r := newHub(t, nil).Open(l.path, 0)
	w := &witness{t: t, reader: r}
	want := func(linked, unlinked int) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		for {
			s := w.next(ctx)
			if s == nil {
				t.FailNow()
			}
			if s.Transcript == nil { // it reports how much was read
				continue
			}
			if len(s.Transcript.Chunks[1].Items[0].Agents) == linked && len(s.Transcript.Unlinked) == unlinked {
				return
			}
		}
	}
	want(1, 1)
	must(t, os.Remove(l.agent("acompact-b").path))
	want(1, 0)
	must(t, os.Remove(l.agent("a").path))
	want(0, 0)
	l.agent("a").write(ask("a2", ""))
	want(1, 0)
}

// A subagent of a branch may continue.
func TestBranchAgent(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	l.write(ask("1", "") + call("2", "1", "t1") + ask("3", "1") + ask("4", "3"))
	l.agent("a").write(ask("a1", ""))
	log{t, strings.TrimSuffix(l.agent("a").path, ".jsonl") + ".meta.json"}.write(`{"toolUseId":"t1"}`)
	r := newHub(t, nil).Open(l.path, 0)
	before := loaded(t, r)
	l.agent("a").write(ask("a2", "a1"))
	after := next(t, r)
	for i, s := range []*follow.Snapshot{before, after} {
		agent := s.Transcript.Branches[0].Chunks[0].Items[0].Agents[0]
		if n := len(agent.Transcript.Chunks); n != i+1 || s.First != 0 {
			t.Errorf("snapshot %d: the agent has %d chunks, and first is %d", i, n, s.First)
		}
	}
	l.write(ask("5", "4"))
	if last := next(t, r); last.First != 3 || &last.Transcript.Branches[0] != &after.Transcript.Branches[0] {
		t.Errorf("first is %d, and branches were copied", last.First)
	}
}
