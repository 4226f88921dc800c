package transcript

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/usage"
)

// treeLine is a line of a conversation. All of them have the same time, so that only their places
// tell them apart.
func treeLine(kind, uuid, parent, message string) string {
	parent = fmt.Sprintf("%q", parent)
	if parent == `""` {
		parent = "null"
	}
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"timestamp":"2026-11-15T00:00:00Z","message":%s}`+"\n",
		kind, uuid, parent, message)
}

func treePrompt(uuid, parent string) string {
	return treeLine("user", uuid, parent, fmt.Sprintf(`{"role":"user","content":"prompt %s"}`, uuid))
}

// treeAnswer is a line of the answer id, which has cost some output and may start a subagent.
func treeAnswer(uuid, parent, id string, output int, call string) string {
	block := `{"type":"text","text":"said ` + uuid + `"}`
	if call != "" {
		block = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"Agent","input":{}}`, call)
	}
	return treeLine("assistant", uuid, parent, fmt.Sprintf(
		`{"id":%q,"role":"assistant","model":"m","content":[%s],"usage":{"output_tokens":%d}}`, id, block, output))
}

func readTree(t *testing.T, text string) *Transcript {
	t.Helper()
	tr, err := Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// outputOf returns the output tokens of calls, added up.
func outputOf(calls []usage.Call) (sum int) {
	for _, c := range calls {
		sum += c.Usage.OutputTokens
	}
	return sum
}

// sessionTree returns a session of two turns with a rewound one between them, and with subagents.
func sessionTree(t *testing.T) *Transcript {
	t.Helper()
	inline := treeAnswer("s1", "", "i1", 64, "") // a subagent in the same file
	inline = strings.Replace(inline, `"uuid"`, `"isSidechain":true,"uuid"`, 1)
	session := readTree(t, treeAnswer("a0", "", "m0", 1000, "")+
		treePrompt("p1", "a0")+treeAnswer("a1", "p1", "m1", 1, "")+treeAnswer("a2", "a1", "m1", 2, "call 1")+
		treePrompt("p2", "a2")+treeAnswer("a3", "p2", "m2", 4, "call 2")+ // a branch
		inline+
		treePrompt("p3", "a2")+treeAnswer("a4", "p3", "m3", 8, "")+treeAnswer("a5", "a4", "m4", 16, "call 3"))
	agent := func(id, call string, output int) *Agent {
		text := treePrompt("p", "") + treeAnswer("a", "p", "of "+id, output, "from "+id)
		return &Agent{ID: id, Meta: AgentMeta{ToolUseID: call}, Transcript: readTree(t, text)}
	}
	chain := InlineAgents(session)
	chain[0].Meta.ToolUseID = "call 3"
	agents := slices.Concat(chain, []*Agent{agent("one", "call 1", 32), agent("deep", "from one", 128), agent("rewound", "call 2", 256),
		agent("lost", "no call", 512), &Agent{ID: "silent", Meta: AgentMeta{ToolUseID: "call 1"}}})
	session.Unlinked = Link(session, agents)
	return session
}

func TestTurns(t *testing.T) {
	t.Parallel()
	turns, others := sessionTree(t).Turns()
	got := map[int]int{-1: outputOf(others)}
	for _, turn := range turns {
		got[turn.Number] = outputOf(turn.Calls)
	}
	want := map[int]int{0: 1000, 1: 2 + 32 + 128, 2: 8 + 16 + 64, -1: 4 + 256 + 512}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("output by turn (-want +got):\n%s", diff)
	}
	if first := turns[1].Chunks[0]; first.Type != UserChunk || first.Text != "prompt p1" || len(turns[1].Chunks) != 2 {
		t.Errorf("the first turn is %+v", turns[1].Chunks)
	}
}

// Every call is in one turn or in others, and every chunk in one turn.
func TestTurnsAddUp(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/recorded/*/transcript.jsonl")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d transcripts, %v", len(paths), err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tr := readTree(t, string(text))
		turns, others := tr.Turns()
		chunks := 0
		all := slices.Clone(others)
		for i, turn := range turns {
			if i > 0 && turn.Number != turns[i-1].Number+1 {
				t.Errorf("%s: turn %d follows turn %d", path, turn.Number, turns[i-1].Number)
			}
			chunks += len(turn.Chunks)
			all = append(all, turn.Calls...)
		}
		if chunks != len(tr.Chunks) || len(all) != len(tr.Calls()) || outputOf(all) != outputOf(tr.Calls()) {
			t.Errorf("%s: %d chunks of %d, %d calls of %d", path, chunks, len(tr.Chunks), len(all), len(tr.Calls()))
		}
		if len(others) > 0 {
			t.Errorf("%s: the calls of no turn are %+v", path, others)
		}
	}
}

// Answers without an ID, and answers of a gateway without requests, are found as well.
func TestTurnsOfUnnamedAnswers(t *testing.T) {
	t.Parallel()
	turns, others := readTree(t, treePrompt("p1", "")+treeAnswer("a1", "p1", "", 1, "")+
		treePrompt("p2", "a1")+treeAnswer("a2", "p2", "", 2, "")).Turns()
	if len(turns) != 2 || len(others) != 0 || outputOf(turns[0].Calls) != 1 || outputOf(turns[1].Calls) != 2 {
		t.Errorf("turns %+v, others %+v", turns, others)
	}
	if turns, others := (&Transcript{Chunks: []Chunk{{Type: UserChunk}}}).Turns(); len(turns) != 1 || others != nil {
		t.Errorf("made by hand: %+v, %+v", turns, others)
	}
	if turns, others := new(Transcript).Turns(); turns != nil || others != nil {
		t.Errorf("empty: %+v, %+v", turns, others)
	}
}

// An item is visited once, with its agent and branch, before the items of the subagents that it
// started.
func TestAll(t *testing.T) {
	t.Parallel()
	session := sessionTree(t)
	var got []string
	for place, item := range session.All() {
		agent, branch := "-", ""
		if place.Agent != nil {
			agent = place.Agent.ID
		}
		if place.Branch != nil {
			branch = " branch"
		}
		got = append(got, fmt.Sprintf("%d %s %s%s%s", place.Depth, agent, item.Text, item.ToolID, branch))
		if place.Chunk == nil || !slices.ContainsFunc(place.Chunk.Items, func(i DisplayItem) bool { return i.ToolID == item.ToolID }) {
			t.Errorf("the item %q is not in its chunk", item.ToolID)
		}
	}
	want := []string{
		"0 - said a0", "0 - said a1", "0 - call 1", "1 one from one", "2 deep from deep",
		"0 - said a4", "0 - call 3", "1 inline-1 said s1", "0 - call 2 branch", "1 rewound from rewound", "1 lost from lost",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAllChunks(t *testing.T) {
	t.Parallel()
	session := sessionTree(t)
	lines, branches := 0, 0
	for place, chunk := range session.AllChunks() {
		if place.Chunk != chunk {
			t.Errorf("the place of %q has another chunk", chunk.Text)
		}
		if place.Transcript == session {
			lines += len(chunk.Lines)
		}
		if place.Branch != nil {
			branches++
		}
	}
	if lines != 9 || branches != 2 {
		t.Errorf("%d lines of the session, %d chunks of branches", lines, branches)
	}
	for range session.AllChunks() {
		break // it ends there
	}
	for range session.All() {
		break
	}
}

// Transcripts that refer to each other end, and subagents in the same file count without Link.
func TestAllOfOddTranscripts(t *testing.T) {
	t.Parallel()
	loop := readTree(t, treeAnswer("a", "", "m", 1, "call"))
	loop.Chunks[0].Items[0].Agents = []*Agent{nil, {ID: "self", Transcript: loop}, {ID: "empty"}}
	n := 0
	for range loop.All() {
		n++
	}
	side := readTree(t, treePrompt("p", "")+strings.Replace(treeAnswer("s", "", "m", 1, ""), `"uuid"`, `"isSidechain":true,"uuid"`, 1))
	depth := 0
	for place := range side.All() {
		depth = place.Depth
	}
	if n != 1 || depth != 1 {
		t.Errorf("%d items in a loop, the subagent in depth %d", n, depth)
	}
}
