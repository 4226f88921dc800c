package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/transcript"
)

// tailLimit is the time a test waits for an update at most.
const tailLimit = 5 * time.Minute

// A follower takes the updates of one loop. Between two calls of next, the loop is paused.
type follower struct {
	t     *testing.T
	path  string
	pull  func() (*sessions.Update, error, bool)
	shown map[*transcript.Agent][]string // the chunks of the last update
	main  *transcript.Transcript
}

func follow(t *testing.T, path string, opts *sessions.TailOptions) *follower {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), tailLimit)
	next, stop := iter.Pull2(sessions.TailFile(ctx, path, opts))
	t.Cleanup(func() { stop(); cancel() })
	return &follower{t: t, path: path, pull: next, shown: map[*transcript.Agent][]string{}}
}

// next returns the next update. Chunks before the first new one must not have changed.
func (f *follower) next() *sessions.Update {
	f.t.Helper()
	u, err, ok := f.pull()
	if err != nil || !ok {
		f.t.Fatalf("no update came: %v", err)
	}
	if u.Agent == nil {
		f.main = u.Transcript
	}
	f.check(u)
	return u
}

func (f *follower) check(u *sessions.Update) {
	f.t.Helper()
	if u.Transcript == nil {
		delete(f.shown, u.Agent)
		return
	}
	before, now := f.shown[u.Agent], rendered(u.Transcript.Chunks)
	if u.First < 0 || u.First > len(now) {
		f.t.Fatalf("first is %d of %d chunks", u.First, len(now))
	}
	if !u.Reset {
		same := min(u.First, len(before))
		if diff := cmp.Diff(before[:same], now[:same], cmpopts.EquateEmpty()); diff != "" {
			f.t.Fatalf("changed before chunk %d (-before +now):\n%s", u.First, diff)
		}
	}
	f.shown[u.Agent] = now
}

// rendered returns chunks as texts, without what subagents add to them.
func rendered(chunks []transcript.Chunk) []string {
	var texts []string
	for _, c := range chunks {
		c.Items = slices.Clone(c.Items)
		for i := range c.Items {
			c.Items[i].Agents, c.Items[i].SubagentType, c.Items[i].SubagentDesc = nil, "", ""
		}
		compaction := c.Compaction
		c.Compaction = nil
		texts = append(texts, fmt.Sprintf("%+v %+v", c, compaction))
	}
	return texts
}

// want checks the next update: its agent, and the texts of its chunks from the first new one.
func (f *follower) want(agent string, texts ...string) *sessions.Update {
	f.t.Helper()
	u := f.next()
	if got := agentID(u); got != agent {
		f.t.Fatalf("got an update of %q, want one of %q: %+v", got, agent, u)
	}
	if u.Err != nil {
		f.t.Fatal(u.Err)
	}
	if diff := cmp.Diff(texts, newTexts(u), cmpopts.EquateEmpty()); diff != "" {
		f.t.Fatalf("new chunks (-want +got):\n%s", diff)
	}
	return u
}

func agentID(u *sessions.Update) string {
	if u.Agent == nil {
		return ""
	}
	return u.Agent.ID
}

func newTexts(u *sessions.Update) []string {
	if u.Transcript == nil {
		return nil
	}
	return chunkTexts(u.Transcript.Chunks[u.First:])
}

func chunkTexts(chunks []transcript.Chunk) []string {
	var texts []string
	for _, c := range chunks {
		texts = append(texts, c.Text)
	}
	return texts
}

// described returns a whole transcript as text, with the subagents at its items.
func described(t *transcript.Transcript) []string {
	if t == nil {
		return nil
	}
	lines := []string{fmt.Sprintf("%+v %v %v %+v", t.Info, t.Noise, t.TaskCalls, t.Drift)}
	for _, bad := range t.Invalid {
		lines = append(lines, fmt.Sprintf("invalid %+v", bad))
	}
	lines = append(lines, describedChunks(t.Chunks)...)
	for _, branch := range t.Branches {
		lines = append(lines, fmt.Sprint("branch from ", branch.FromLine))
		lines = append(lines, describedChunks(branch.Chunks)...)
	}
	for _, side := range t.Sidechains {
		lines = append(lines, "sidechain")
		lines = append(lines, described(side)...)
	}
	return append(lines, describedAgents("unlinked", t.Unlinked)...)
}

func describedChunks(chunks []transcript.Chunk) []string {
	lines := rendered(chunks)
	for i, c := range chunks {
		for k, item := range c.Items {
			place := fmt.Sprintf("under item %d of chunk %d, %q, %q", k, i, item.SubagentType, item.SubagentDesc)
			lines = append(lines, describedAgents(place, item.Agents)...)
		}
	}
	return lines
}

func describedAgents(place string, agents []*transcript.Agent) []string {
	var lines []string
	for _, a := range agents {
		lines = append(lines, fmt.Sprint(place, " ", a.ID, a.Meta, a.Workflow, a.LinkedBy, a.CallID, a.ParentID, a.Kind(),
			a.Type(), a.Description(), a.Teammate(), a.Start()))
		lines = append(lines, described(a.Transcript)...)
	}
	return lines
}

// settle takes updates until the session equals what Read returns. Nobody writes during that time.
func (f *follower) settle() {
	f.t.Helper()
	whole, err := sessions.ReadFile(f.t.Context(), f.path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	want := described(whole)
	for {
		got := described(f.main)
		if slices.Equal(want, got) {
			return
		}
		u, err, _ := f.pull()
		if err != nil {
			f.t.Fatalf("%v (-read +followed):\n%s", err, cmp.Diff(want, got))
		}
		if u.Agent == nil {
			f.main = u.Transcript
		}
		f.check(u)
	}
}

// modes are the ways to notice changes.
var modes = map[string]*sessions.TailOptions{"told": nil, "polling": {PollInterval: time.Millisecond}}

// inModes runs a test in a new directory for each of the modes. file is the path of a session that
// does not exist yet.
func inModes(t *testing.T, test func(t *testing.T, file string, opts *sessions.TailOptions)) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, filepath.Join(t.TempDir(), idA+".jsonl"), opts)
		})
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	write(t, filepath.Dir(path), filepath.Base(path), content)
}

// ask is a prompt, and reply what the model says.
func ask(uuid, parent string) string   { return said("user", uuid, parent, `"ask `+uuid+`"`, "") }
func reply(uuid, parent string) string { return said("assistant", uuid, parent, `"say `+uuid+`"`, "") }

func agentPath(file, id string) string {
	return filepath.Join(strings.TrimSuffix(file, ".jsonl"), "subagents", "agent-"+id+".jsonl")
}

// agentLine is a line of a subagent.
func agentLine(uuid, parent string) string {
	return said("user", uuid, parent, `"ask `+uuid+`"`, `,"isSidechain":true`)
}

func TestTailGrowth(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("1", "")+reply("2", "1"))
		f := follow(t, file, opts)
		f.want("", "ask 1", "say 2")
		appendTo(t, file, ask("3", "2"))
		f.want("", "ask 3")
		appendTo(t, file, reply("4", "3"))
		f.want("", "say 4")
		appendTo(t, file, reply("5", "4"))
		f.want("", "say 4\nsay 5") // it has joined the last chunk
		appendTo(t, file, `{"type":"custom-title","customTitle":"A title"}`+"\n")
		if u := f.want(""); u.Transcript.Title != "A title" {
			t.Errorf("got the title %q", u.Transcript.Title)
		}
		f.settle()
	})
}

// A line appears when it is complete, and only once, however it is cut.
func TestTailHalfLines(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("1", ""))
		f := follow(t, file, opts)
		f.want("", "ask 1")
		parent := "1"
		for i := range 30 {
			uuid := fmt.Sprint("r", i)
			line := ask(uuid, parent)
			parent = uuid
			cut := 1 + i*(len(line)-1)/30
			appendTo(t, file, line[:cut])
			put(t, agentPath(file, uuid), agentLine(uuid, "")) // so that an update comes though the line waits
			if u := f.next(); agentID(u) != uuid && cut < len(line) {
				t.Fatalf("a half line of %q has given %q", line[:cut], newTexts(u))
			}
			appendTo(t, file, line[cut:])
			f.want("", "ask "+uuid)
		}
		f.settle()
	})
}

// A session that is written byte by byte and read at the same time is complete in the end.
func TestTailEveryByte(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		text := ask("1", "") + reply("2", "1") + "\n" + `{"broken` + "\n" + ask("3", "2")
		put(t, file, "")
		f := follow(t, file, opts)
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range len(text) {
				appendTo(t, file, text[i:i+1])
			}
		})
		for f.next(); len(f.main.Chunks) < 3; f.next() {
		}
		wg.Wait()
		f.settle()
	})
}

// Everything written between two updates comes in one update.
func TestTailCoalesces(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("0", ""))
		f := follow(t, file, opts)
		f.want("", "ask 0")
		var want []string
		for i := range 500 {
			appendTo(t, file, ask(fmt.Sprint(i+1), fmt.Sprint(i)))
			want = append(want, fmt.Sprint("ask ", i+1))
		}
		f.want("", want...)
		put(t, agentPath(file, "a"), agentLine("a", ""))
		f.want("a", "ask a") // and nothing came in between
	})
}

// The first update is the session's, before its subagents are read. In later updates they are under
// their items.
func TestTailFamily(t *testing.T) {
	t.Parallel()
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := follow(t, filepath.Join(makeAgents(t), "p", idA+".jsonl"), opts)
			u := f.next()
			if u.Agent != nil || !u.Loading || u.More || u.Relinked || u.First != 0 || len(u.Transcript.Chunks) == 0 {
				t.Fatalf("the first update is %+v", u)
			}
			if linked, unlinked := agentsOf(f.main); linked != nil || unlinked != nil {
				t.Errorf("agents were read before: %q, %q", linked, unlinked)
			}
			var agents []string
			for i := range 5 {
				u := f.next()
				if u.Loading != (i < 4) || u.More != (i < 4) || u.Relinked != (i == 0) {
					t.Errorf("update %d: loading %t, more %t, linked %t", i, u.Loading, u.More, u.Relinked)
				}
				agents = append(agents, agentID(u))
				linked, unlinked := agentsOf(f.main)
				if diff := cmp.Diff([]string{"old()", "one(nested())", "scout@red()"}, linked); diff != "" {
					t.Errorf("update %d: linked (-want +got):\n%s", i, diff)
				}
				if diff := cmp.Diff([]string{"flow"}, unlinked); diff != "" {
					t.Errorf("update %d: unlinked (-want +got):\n%s", i, diff)
				}
			}
			slices.Sort(agents)
			if diff := cmp.Diff([]string{"flow", "nested", "old", "one", "scout@red"}, agents); diff != "" {
				t.Errorf("updates (-want +got):\n%s", diff)
			}
			whole, err := sessions.ReadFile(t.Context(), f.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(described(whole), described(f.main)); diff != "" {
				t.Errorf("after the first updates (-read +followed):\n%s", diff)
			}
		})
	}
}

// The last of the first updates is marked, whether there are subagents or not.
func TestTailLoading(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		make func(t *testing.T, file string)
		opts *sessions.TailOptions
		want []bool
	}{
		"alone": {func(*testing.T, string) {}, nil, []bool{false}},
		"agents of others beside": {func(t *testing.T, file string) {
			put(t, filepath.Join(filepath.Dir(file), "agent-x.jsonl"), agentLine("x", ""))
		}, nil, []bool{true, false}},
		"a directory without agents": {func(t *testing.T, file string) {
			put(t, filepath.Join(filepath.Dir(agentPath(file, "")), "notes.txt"), "")
		}, nil, []bool{true, false}},
		"two agents": {func(t *testing.T, file string) {
			put(t, agentPath(file, "a"), agentLine("a", ""))
			put(t, agentPath(file, "b"), agentLine("b", ""))
		}, nil, []bool{true, true, false}},
		"only the session": {func(t *testing.T, file string) {
			put(t, agentPath(file, "a"), agentLine("a", ""))
		}, &sessions.TailOptions{OnlyMain: true}, []bool{false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), idA+".jsonl")
			put(t, file, ask("1", ""))
			test.make(t, file)
			f := follow(t, file, test.opts)
			var got []bool
			for range test.want {
				got = append(got, f.next().Loading)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("loading (-want +got):\n%s", diff)
			}
			appendTo(t, file, ask("2", "1"))
			if u := f.want("", "ask 2"); u.Loading {
				t.Error("loading again")
			}
		})
	}
}

// Progress counts the bytes of the session's own transcript, each time that it is read from its
// start.
func TestTailProgress(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]int{"small": 1, "read ahead": 3000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), idA+".jsonl")
			text := strings.Repeat(`{"type":"mode","text":"`+strings.Repeat("x", 1000)+`"}`+"\n", lines) + ask("1", "")
			put(t, file, text)
			put(t, agentPath(file, "a"), agentLine("a", ""))
			var last, calls, total int64
			f := follow(t, file, &sessions.TailOptions{Progress: func(done, all int64) {
				if done <= last || done > all {
					t.Errorf("%d of %d bytes after %d", done, all, last)
				}
				calls++
				last, total = done, all
			}})
			f.want("", "ask 1")
			if size := int64(len(text)); last != size || total != size || calls < size>>20 {
				t.Errorf("%d of %d bytes in %d calls, want %d", last, total, calls, size)
			}
			f.want("a", "ask a")
			before := calls
			appendTo(t, file, ask("2", "1"))
			f.want("", "ask 2")
			if calls != before {
				t.Error("an append is not progress")
			}
		})
	}
}

func TestTailByID(t *testing.T) {
	t.Parallel()
	dir := makeAgents(t)
	opts := &sessions.TailOptions{Store: sessions.NewFolder(dir), OnlyMain: true}
	for u, err := range sessions.Tail(t.Context(), idA, opts) {
		if err != nil || u.Agent != nil || len(u.Transcript.Chunks) != 2 {
			t.Errorf("got %+v, %v", u, err)
		}
		break
	}
	for name, test := range map[string]struct {
		id   string
		opts *sessions.TailOptions
		want error
	}{
		"not there":    {id(7), opts, sessions.ErrNotFound},
		"not in files": {idA, &sessions.TailOptions{Store: memoryWith(t, idA)}, nil},
		"no ID":        {"x", nil, nil},
	} {
		count := 0
		for u, err := range sessions.Tail(t.Context(), test.id, test.opts) {
			if count++; err == nil || u != nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("%s: got %+v, %v", name, u, err)
			}
		}
		if count != 1 {
			t.Errorf("%s: %d pairs", name, count)
		}
	}
}

func memoryWith(t *testing.T, id string) sessions.Store {
	memory := sessions.NewMemory()
	key := keyA
	key.SessionID = id
	mustAppend(t, memory, key, user("1", ""))
	return memory
}

func TestTailOnlyMain(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		only := sessions.TailOptions{OnlyMain: true}
		if opts != nil {
			only.PollInterval = opts.PollInterval
		}
		put(t, file, ask("1", ""))
		put(t, agentPath(file, "a"), agentLine("a", ""))
		f := follow(t, file, &only)
		f.want("", "ask 1")
		appendTo(t, agentPath(file, "a"), agentLine("b", "a"))
		appendTo(t, file, ask("2", "1"))
		f.want("", "ask 2")
	})
}

// Two loops at the same time yield the same updates.
func TestTailTwice(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("0", ""))
		one, two := follow(t, file, opts), follow(t, file, opts)
		one.want("", "ask 0")
		two.want("", "ask 0")
		for i := range 20 {
			appendTo(t, file, ask(fmt.Sprint(i+1), fmt.Sprint(i)))
			one.want("", fmt.Sprint("ask ", i+1))
			two.want("", fmt.Sprint("ask ", i+1))
		}
	})
}

func TestTailCancel(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		put(t, file, ask("1", ""))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		count := 0
		for u, err := range sessions.TailFile(ctx, file, opts) {
			if count++; count == 2 {
				if u != nil || !errors.Is(err, context.Canceled) {
					t.Errorf("got %+v, %v", u, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			appendTo(t, file, ask("2", "1"))
			cancel()
		}
		if count != 2 {
			t.Errorf("%d pairs", count)
		}
		for u, err := range sessions.TailFile(ctx, file, opts) { // with a context that has ended
			if u != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("got %+v, %v", u, err)
			}
		}
	})
}

// A canceled context ends a loop that waits.
func TestTailCancelWaiting(t *testing.T) {
	inModes(t, func(t *testing.T, file string, opts *sessions.TailOptions) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		for u, err := range sessions.TailFile(ctx, file, opts) {
			if u != nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %+v, %v", u, err)
			}
		}
	})
}

func TestTailBadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder.jsonl"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes.txt", "folder.jsonl"} {
		count := 0
		for u, err := range sessions.TailFile(t.Context(), filepath.Join(dir, name), nil) {
			if count++; u != nil || err == nil || !strings.HasPrefix(err.Error(), "sessions: follow ") {
				t.Errorf("%s: got %+v, %v", name, u, err)
			}
		}
		if count != 1 {
			t.Errorf("%s: %d pairs", name, count)
		}
	}
}
