package rows

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/transcript"
)

// recorded returns the recorded transcripts and the hostile one, by their paths.
func recorded(t testing.TB) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, pattern := range []string{
		"../../transcript/testdata/recorded/*/transcript.jsonl", "../../cmd/clew/internal/cli/testdata/hostile/*.jsonl", "../../cmd/clew/internal/demo/recording/*/*.jsonl",
		"../../transcript/testdata/*.jsonl",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no transcripts match %s: %v", pattern, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files[path] = data
		}
	}
	return files
}

// random returns the lines of a transcript with everything that rows are made of: rewinds, subagents
// in the same file, lost results, compactions, queued prompts, interruptions and lines that are not
// entries.
func random(r *rand.Rand, n int) []string {
	var lines, uuids, open []string
	parent, chain := "", "" // the last entries of the session and of its subagent
	at := 0
	entry := func(kind, rest string) string {
		at++
		uuid := fmt.Sprintf("u%d", at)
		line := fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"timestamp":"2026-11-17T10:%02d:%02dZ",%s}`,
			kind, uuid, parent, at/60%60, at%60, rest)
		if parent == "" {
			line = strings.Replace(line, `"parentUuid":""`, `"parentUuid":null`, 1)
		}
		parent = uuid
		uuids = append(uuids, uuid)
		return line
	}
	answer := func(blocks string) string {
		return entry("assistant", fmt.Sprintf(`"message":{"id":"m%d","role":"assistant","model":"claude-opus-5-5","content":[%s]}`,
			at/3, blocks))
	}
	for len(lines) < n {
		line := ""
		switch r.IntN(14) {
		case 0:
			line = entry("user", fmt.Sprintf(`"message":{"role":"user","content":"prompt %d"}`, at))
		case 1, 2:
			line = answer(fmt.Sprintf(`{"type":"text","text":"words %d."}`, at))
		case 3:
			line = answer(fmt.Sprintf(`{"type":"thinking","thinking":"hm %d."},{"type":"text","text":"%*s"}`, at, r.IntN(2), ""))
		case 4, 5, 6:
			name := []string{"Bash", "Task", "Read"}[r.IntN(3)]
			open = append(open, fmt.Sprintf("t%d", at))
			line = answer(fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":%q,"input":{"description":"d","prompt":"p"}}`, at, name))
		case 7, 8:
			id := "lost"
			if len(open) > 0 {
				k := r.IntN(len(open))
				id = open[k]
				open = slices.Delete(open, k, k+1)
			}
			line = entry("user", fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"is_error":%v,`+
				`"content":"result"}]},"toolUseResult":"x"`, id, r.IntN(3) == 0))
		case 9: // a rewind
			if len(uuids) > 0 {
				parent = uuids[r.IntN(len(uuids))]
			}
			continue
		case 10:
			line = entry("system", `"subtype":"compact_boundary","content":"Compacted","compactMetadata":{"trigger":"auto","preTokens":9}`)
		case 11:
			line = entry("user", `"message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]}`)
		case 12:
			line = "not an entry"
		case 13: // a subagent of an older agent
			at++
			line = fmt.Sprintf(`{"type":"user","isSidechain":true,"uuid":"s%d","parentUuid":%s,"timestamp":"2026-11-17T10:00:00Z",`+
				`"message":{"role":"user","content":"p"}}`, at, chainParent(chain, r))
			chain = fmt.Sprintf("s%d", at)
		}
		lines = append(lines, line)
	}
	return lines
}

// chainParent returns the parent of an entry of a subagent: mostly the last one.
func chainParent(last string, r *rand.Rand) string {
	if last == "" || r.IntN(4) == 0 {
		return "null"
	}
	return fmt.Sprintf("%q", last)
}

// all returns the rows of a list, without what they point to.
func all(l *List) []Row {
	rows := make([]Row, l.Len())
	for i := range rows {
		rows[i] = *l.At(i)
		rows[i].Chunk, rows[i].Item, rows[i].AgentRef, rows[i].Transcript = nil, nil, nil, nil
	}
	return rows
}

// A growing is a transcript that comes line by line, and its list.
type growing struct {
	*transcript.Builder
	last *transcript.Transcript // the last snapshot
	list List
}

// link links the subagents of the transcript, and returns the first chunk that has one.
func (g *growing) link() (tr *transcript.Transcript, first int) {
	tr = g.Transcript()
	tr.Unlinked = transcript.Link(tr, transcript.InlineAgents(tr))
	for i := range tr.Chunks {
		for k := range tr.Chunks[i].Items {
			if len(tr.Chunks[i].Items[k].Agents) > 0 {
				return tr, i
			}
		}
	}
	return tr, len(tr.Chunks)
}

// check adds the lines one by one. After each of them the list must equal a list that is made at
// once, and rows keep their IDs.
func check(t *testing.T, lines []string, isLive func(line int) bool) {
	t.Helper()
	g := growing{Builder: transcript.NewBuilder(nil)}
	before := []Row{}
	for n, line := range lines {
		_, _ = g.Write([]byte(strings.TrimSuffix(line, "\n") + "\n"))
		first := g.Changed()
		tr, linked := g.link()
		first = min(first, linked)
		if len(tr.Sidechains) > 0 { // all are linked again
			g.last = nil
		}
		g.last = tr.Snapshot(g.last, first)
		g.last.Sidechains = tr.Sidechains // the linked ones
		tr = g.last
		g.list.Live = isLive(n)
		changed := g.list.Update(tr, first)
		made := List{Live: g.list.Live}
		made.Update(tr, 0)
		after := all(&g.list)
		if diff := cmp.Diff(all(&made), after); diff != "" {
			t.Fatalf("line %d (-new +updated):\n%s", n+1, diff)
		}
		if changed < len(before) && changed < len(after) && cmp.Equal(before[changed], after[changed]) &&
			!hasPointers(&g.list.rows[changed]) {
			t.Errorf("line %d: row %d of %d has not changed", n+1, changed, len(after))
		}
		if diff := cmp.Diff(before[:min(changed, len(before))], after[:min(changed, len(before))]); diff != "" {
			t.Fatalf("line %d: rows before %d have changed (-before +after):\n%s", n+1, changed, diff)
		}
		checkRows(t, &g.list, tr)
		checkIDs(t, before, &g.list)
		if t.Failed() {
			t.Fatalf("after line %d:\n%s", n+1, strings.Join(lines[:n+1], "\n"))
		}
		before = after
	}
}

// hasPointers reports whether a row may change through its pointers.
func hasPointers(r *Row) bool { return r.Item != nil || r.AgentRef != nil || r.Chunk != nil }

// checkIDs fails if the ID of an entry changed. Subagents and their rows may go, since they are
// linked again, and later entries may take back an interruption.
func checkIDs(t *testing.T, before []Row, l *List) {
	t.Helper()
	for i := range before {
		r := &before[i]
		if _, ok := l.Index(r.ID); !ok && r.Agent == "" && r.Kind < Agent {
			t.Errorf("%s %s is gone", r.Kind, r.ID)
		}
	}
}

// checkRows checks that rows form a tree, and that everything that is shown has one row.
func checkRows(t *testing.T, l *List, tr *transcript.Transcript) {
	t.Helper()
	items := 0
	lines := map[string]int{}
	ids := map[ID]bool{}
	for i := range l.Len() {
		r := l.At(i)
		if at, ok := l.Index(r.ID); !ok || at != i || ids[r.ID] {
			t.Errorf("row %d: the ID %s is that of row %d", i, r.ID, at)
		}
		ids[r.ID] = true
		checkPlace(t, l, i)
		switch {
		case r.Item != nil:
			items++
		case r.Chunk != nil && r.Kind != Branch && r.Kind != Interruption:
			lines[fmt.Sprint(r.Agent, r.Chunk.At)]++
		}
	}
	found := map[int]bool{}
	for place, item := range tr.All() {
		if item.Type == transcript.ItemOutput && strings.TrimSpace(item.Text) == "" && item.ToolID == "" {
			continue
		}
		i, ok := l.Find(place)
		if !ok || found[i] || l.At(i).Item == nil || l.At(i).Item.At != item.At || !sameItem(l.At(i).Item, item) {
			t.Errorf("%s %q is found at row %d", item.Type, item.Text+item.ToolID, i)
		}
		found[i] = true
	}
	if len(found) != items {
		t.Errorf("%d rows show %d items", items, len(found))
	}
	for place, chunk := range tr.AllChunks() {
		if chunk.Type == transcript.AIChunk {
			continue
		}
		agent := ""
		if place.Agent != nil {
			agent = place.Agent.ID
		}
		if n := lines[fmt.Sprint(agent, chunk.At)]; n != 1 {
			t.Errorf("%d rows show %s %q", n, chunk.Type, chunk.Text)
		}
	}
}

// checkPlace checks depth, parent and the number of rows below a row.
func checkPlace(t *testing.T, l *List, i int) {
	t.Helper()
	r := l.At(i)
	below := 0
	for k := i + 1; k < l.Len() && l.At(k).Depth > r.Depth; k++ {
		below++
	}
	parent := -1
	for k := i - 1; k >= 0 && parent < 0; k-- {
		if l.At(k).Depth < r.Depth {
			parent = k
		}
	}
	if r.Below != below || r.Parent != parent || parent >= 0 && r.Turn != l.At(parent).Turn {
		t.Errorf("row %d: %d below and parent %d in turn %d, want %d and %d", i, r.Below, r.Parent, r.Turn, below, parent)
	}
}

func TestUpdateRecorded(t *testing.T) {
	t.Parallel()
	for path, data := range recorded(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			var lines []string
			for line := range bytes.Lines(data) {
				lines = append(lines, string(line))
			}
			check(t, lines, func(int) bool { return false })
			check(t, lines, func(int) bool { return true })
		})
	}
}

func TestUpdateRandom(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Size(40, 1000)) {
		r := rand.New(rand.NewPCG(seed, 1))
		check(t, random(r, 40), func(line int) bool { return line/7%2 == int(seed%2) })
	}
}

func FuzzUpdate(f *testing.F) {
	for _, data := range recorded(f) {
		f.Add(data, uint8(3))
	}
	for seed := range uint64(8) {
		f.Add([]byte(strings.Join(random(rand.New(rand.NewPCG(seed, 2)), 30), "\n")), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte, period uint8) {
		lines := strings.Split(string(data), "\n")
		g := growing{Builder: transcript.NewBuilder(nil)}
		for n, line := range lines[:min(len(lines), 100)] {
			_, _ = g.Write([]byte(line + "\n"))
			if n%(int(period)+1) != 0 {
				continue
			}
			first := g.Changed()
			tr, linked := g.link()
			g.list.Update(tr, min(first, linked))
			var made List
			made.Update(tr, 0)
			if diff := cmp.Diff(all(&made), all(&g.list)); diff != "" {
				t.Fatalf("line %d (-new +updated):\n%s", n+1, diff)
			}
		}
	})
}
