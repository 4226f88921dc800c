package transcript

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/internal/soak"
	"github.com/clewdev/clew/wire"
)

// minute returns a time that many minutes into a day.
func minute(n int) time.Time { return time.Date(2026, 11, 15, 10, n, 0, 0, time.UTC) }

// told returns a transcript with a prompt at that minute, and an answer that has the items.
func told(at int, prompt string, items ...DisplayItem) *Transcript {
	for i := range items {
		if items[i].Timestamp.IsZero() {
			items[i].Timestamp = minute(at)
		}
	}
	return &Transcript{Chunks: []Chunk{
		{Type: UserChunk, Timestamp: minute(at), Text: prompt},
		{Type: AIChunk, Timestamp: minute(at), Items: items, StopReason: "end_turn"},
	}}
}

// spawn returns the tool call that starts an agent.
func spawn(id, input string) DisplayItem {
	item := DisplayItem{Type: ItemSubagent, ToolName: "Agent", ToolID: id, ToolInput: wire.JSON(input)}
	var in spawnInput
	_ = item.ToolInput.Decode(&in)
	item.SubagentType, item.SubagentDesc = in.SubagentType, in.Description
	return item
}

// greeted returns the transcript of a teammate, which starts with a message of the leader.
func greeted(at int, summary, color string) *Transcript {
	return &Transcript{Chunks: []Chunk{{
		Type: AIChunk, Timestamp: minute(at), StopReason: "end_turn",
		Items: []DisplayItem{{
			Type: ItemTeammateMessage, Text: "Do it.", TeammateID: "team-lead", TeammateColor: color, TeammateSummary: summary,
		}},
	}}}
}

func TestAgentKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		agent Agent
		want  AgentKind
	}{
		{"an ID as usual", Agent{ID: "ab45c76475627f755"}, AgentWork},
		{"no transcript", Agent{}, AgentWork},
		{"a compaction", Agent{ID: "acompact-7aad72"}, AgentCompaction},
		{"a question aside", Agent{ID: "aside_question-c5e5c961"}, AgentAside},
		{"a question aside by its type", Agent{ID: "a1", Meta: AgentMeta{AgentType: "aside_question"}}, AgentAside},
		{"a suggestion", Agent{ID: "aprompt_suggestion-33a4cf"}, AgentSuggestion},
		{"a warm-up", Agent{ID: "a1", Transcript: told(1, "Warmup")}, AgentWarmup},
		{"a prompt that only begins like it", Agent{ID: "a1", Transcript: told(1, "Warmup the cache")}, AgentWork},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.agent.Kind(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAgentStart(t *testing.T) {
	t.Parallel()
	created := told(5, "p")
	created.Created = minute(4)
	late := told(5, "p")
	late.Chunks[0].Timestamp = time.Time{}
	tests := []struct {
		name       string
		transcript *Transcript
		want       time.Time
	}{
		{"no transcript", nil, time.Time{}},
		{"no chunks", &Transcript{}, time.Time{}},
		{"the first chunk", told(5, "p"), minute(5)},
		{"the first chunk with a time", late, minute(5)},
		{"the first entry", created, minute(4)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := (&Agent{Transcript: tt.transcript}).Start(); !got.Equal(tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAgentOngoing(t *testing.T) {
	t.Parallel()
	waiting := &Transcript{Chunks: []Chunk{{Type: UserChunk, Text: "p"}}}
	tests := []struct {
		name  string
		agent Agent
		want  bool
	}{
		{"no transcript", Agent{}, false},
		{"no chunks", Agent{Transcript: &Transcript{}}, false},
		{"a prompt without an answer", Agent{Transcript: waiting}, true},
		{"it has finished", Agent{Transcript: waiting, Meta: AgentMeta{Finished: true}}, false},
		{"it has answered", Agent{Transcript: told(1, "p", DisplayItem{Type: ItemOutput, Text: "Done."})}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.agent.Ongoing(); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestInlineAgents(t *testing.T) {
	t.Parallel()
	named := told(2, "second")
	named.AgentID = "a7"
	main := told(0, "p", spawn("t1", `{"prompt":"second"}`), spawn("t2", `{"prompt":"first"}`))
	main.Sidechains = []*Transcript{told(1, "first"), named}
	agents := InlineAgents(main)
	if unlinked := Link(main, agents); len(unlinked) != 0 {
		t.Fatalf("%d agents are not linked", len(unlinked))
	}
	items := main.Chunks[1].Items
	if got := items[0].Agents[0]; got.ID != "a7" || got.Transcript != named {
		t.Errorf("the first call has %q", got.ID)
	}
	if got := items[1].Agents[0]; got.ID != "inline-1" || got.LinkedBy != LinkedByPrompt {
		t.Errorf("the second call has %q by %q", got.ID, got.LinkedBy)
	}
}

// A teammate that runs as a subagent is greeted in the first line of its transcript.
func TestAgentGreeting(t *testing.T) {
	t.Parallel()
	line := `{"type":"user","uuid":"u1","isSidechain":true,"message":{"content":"<teammate-message ` +
		`teammate_id=\"team-lead\" color=\"blue\" summary=\"Fix the tests\">Do it.</teammate-message>"}}`
	tr, err := Read(strings.NewReader(line+"\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	main := told(0, "p",
		spawn("t1", `{"description":"Fix the docs","team_name":"red","name":"cook"}`), spawn("t2", teamCall))
	a := &Agent{ID: "a", Transcript: tr}
	if unlinked := Link(main, []*Agent{a}); len(unlinked) != 0 {
		t.Fatal("not linked")
	}
	if a.CallID != "t2" || a.LinkedBy != LinkedByTeam || a.Color() != "blue" || a.Teammate() != "scout@red" {
		t.Errorf("%s by %s, %s, %s", a.CallID, a.LinkedBy, a.Color(), a.Teammate())
	}
}

func TestDecodeAgentMeta(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       AgentMeta
	}{
		{"nothing in it", `{}`, AgentMeta{}},
		{"the oldest", `{"agentType":"Explore"}`, AgentMeta{AgentType: "Explore"}},
		{
			"every field",
			`{"agentType":"Plan","description":"Look around","name":"scout","toolUseId":"toolu_1","parentAgentId":"a1",
			"parentSessionId":"s1","spawnDepth":2,"model":"claude-opus-5-5","pickedEffortModel":"opus",
			"requestShape":"background","taskKind":"in_process_teammate","teamName":"red","color":"blue",
			"permissionMode":"plan","cwd":"/w","worktreePath":"/w/t","worktreeBranch":"b",
			"isFork":true,"isBuiltIn":true,"launchedWithDefaults":true,
			"requestNonInteractive":true,"finished":true}`,
			AgentMeta{
				AgentType: "Plan", Description: "Look around", Name: "scout", ToolUseID: "toolu_1", ParentAgentID: "a1",
				ParentSessionID: "s1", SpawnDepth: 2, Model: "claude-opus-5-5", PickedEffortModel: "opus",
				RequestShape: "background", TaskKind: "in_process_teammate", TeamName: "red", Color: "blue",
				PermissionMode: "plan", CWD: "/w", WorktreePath: "/w/t", WorktreeBranch: "b",
				IsFork: true, IsBuiltIn: true, LaunchedWithDefaults: true,
				RequestNonInteractive: true, Finished: true,
			},
		},
		{
			"other types than expected count as absent",
			`{"agentType":7,"description":null,"toolUseId":["x"],"isFork":"yes","spawnDepth":"deep","name":"n"}`,
			AgentMeta{Name: "n"},
		},
		{"an integer with a point", `{"spawnDepth":3.0}`, AgentMeta{SpawnDepth: 3}},
		{"a number that is none", `{"spawnDepth":1.5}`, AgentMeta{}},
		{"unknown fields are in the raw text", `{"agentType":"x","brandNew":{"a":1}}`, AgentMeta{AgentType: "x"}},
		{"of two members the last one counts", `{"name":"a","name":"b"}`, AgentMeta{Name: "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := DecodeAgentMeta([]byte(tt.text))
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Raw) != tt.text {
				t.Errorf("Raw = %q, want the whole text", got.Raw)
			}
			got.Raw = ""
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDecodeAgentMetaRefusesWhatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "[]", `"x"`, `{"a":`, `{"a":1} {}`, `{"agentType":"x"`} {
		got, err := DecodeAgentMeta([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "transcript: ") {
			t.Errorf("%q: error %v, want one of this package", text, err)
		}
		if got != (AgentMeta{}) {
			t.Errorf("%q: %+v, want nothing beside the error", text, got)
		}
	}
}

func TestDecodeAgentMetaRecorded(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/recorded/subagent_background/subagents/agent-ab45c76475627f755.meta.json")
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeAgentMeta(data)
	if err != nil {
		t.Fatal(err)
	}
	got.Raw = ""
	want := AgentMeta{
		AgentType: "general-purpose", Description: "Count files", ToolUseID: "toolu_13ceeed2d9dc4875a0c147", SpawnDepth: 1,
		PickedEffortModel: "claude-opus-5-5", RequestShape: "background",
		IsBuiltIn: true, LaunchedWithDefaults: true, RequestNonInteractive: true, Finished: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func FuzzDecodeAgentMeta(f *testing.F) {
	f.Add(`{"agentType":"x","spawnDepth":1}`)
	f.Add(`{"spawnDepth":1e400,"finished":tru`)
	f.Fuzz(func(t *testing.T, text string) {
		meta, err := DecodeAgentMeta([]byte(text))
		if err == nil && string(meta.Raw) != text {
			t.Errorf("Raw = %q, want %q", meta.Raw, text)
		}
	})
}

func TestTaskCall(t *testing.T) {
	t.Parallel()
	const notice = `<task-notification>\n<task-id>a1</task-id>\n<tool-use-id>t1</tool-use-id>\n<status>completed</status>`
	tests := []struct {
		name, line, task, call string
	}{
		{"a notice in the queue", `{"type":"queue-operation","operation":"enqueue","content":"` + notice + `"}`, "a1", "t1"},
		{"a notice as a prompt", `{"type":"user","message":{"role":"user","content":"` + notice + `"}}`, "a1", "t1"},
		{
			"a notice in JSON",
			`{"type":"queue-operation","content":"{\"task_id\":\"a1\",\"tool_use_id\":\"t1\"}"}`, "a1", "t1",
		},
		{"an object", `{"type":"queue-operation","content":{"task_id":"a1","tool_use_id":"t1"}}`, "a1", "t1"},
		{"no call", `{"type":"queue-operation","content":"<task-notification><task-id>a1</task-id>"}`, "", ""},
		{"no task", `{"type":"queue-operation","content":"<task-notification><tool-use-id>t1</tool-use-id>"}`, "", ""},
		{"a tag without an end", `{"type":"queue-operation","content":"<task-id>a1</task-id><tool-use-id>t1"}`, "", ""},
		{"a prompt in the queue", `{"type":"queue-operation","content":"Mind the task"}`, "", ""},
		{"blocks in the queue", `{"type":"queue-operation","content":[{"type":"text","text":"task"}]}`, "", ""},
		{"no content", `{"type":"queue-operation","operation":"dequeue"}`, "", ""},
		{"a prompt that quotes a notice", `{"type":"user","message":{"content":"Why ` + notice + `?"}}`, "", ""},
		{"no message", `{"type":"user"}`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := DecodeEntry([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			task, call, ok := taskCall(&e)
			if !ok {
				task, call = "", ""
			}
			if task != tt.task || call != tt.call || ok != (tt.task != "") {
				t.Errorf("got %q, %q, %v", task, call, ok)
			}
		})
	}
}

// recorded returns the entries of a recorded transcript.
func recorded(t testing.TB, name string) []Entry {
	t.Helper()
	data, err := os.ReadFile("testdata/recorded/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		e, err := DecodeEntry([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		e.Position.Line = i + 1
		entries = append(entries, e)
	}
	return entries
}

func TestTaskCallRecorded(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range recorded(t, "subagent_background/transcript.jsonl") {
		if task, call, ok := taskCall(&e); ok {
			got = append(got, e.Type+" "+task+" "+call)
		}
	}
	want := []string{
		"queue-operation ab45c76475627f755 toolu_13ceeed2d9dc4875a0c147",
		"user ab45c76475627f755 toolu_13ceeed2d9dc4875a0c147",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A forest is a session with agents of any depth, of which some know more about their calls than
// others.
type forest struct {
	main   *Transcript
	agents []*Agent
	// truth is the call of each agent.
	truth map[*Agent]string
	// results holds the statements of the items about their agents, by call.
	results map[string]string
}

// plant makes a forest. With complete evidence each agent has a full sidecar.
func plant(r *rand.Rand, complete bool) *forest {
	f := &forest{main: told(0, "p"), truth: map[*Agent]string{}, results: map[string]string{}}
	for i := range r.IntN(12) {
		f.grow(r, i, complete)
	}
	r.Shuffle(len(f.agents), func(i, j int) { f.agents[i], f.agents[j] = f.agents[j], f.agents[i] })
	return f
}

func (f *forest) grow(r *rand.Rand, i int, complete bool) {
	a := &Agent{ID: fmt.Sprintf("a%d", i), Transcript: told(r.IntN(50), fmt.Sprintf("prompt %d", r.IntN(4)))}
	owner, parent := f.main, ""
	if len(f.agents) > 0 && r.IntN(2) == 0 {
		p := f.agents[r.IntN(len(f.agents))]
		owner, parent = p.Transcript, p.ID
	}
	call := spawn(fmt.Sprintf("t%d", i), fmt.Sprintf(`{"prompt":"prompt %d"}`, r.IntN(4)))
	call.At.Line = r.IntN(20)
	a.Meta = sidecar(call.ToolID, parent)
	if !complete {
		f.forget(r, a, &call)
	}
	f.truth[a] = call.ToolID
	f.results[call.ToolID] = call.AgentID
	f.agents = append(f.agents, a)
	if r.IntN(4) == 0 {
		owner.Branches = append(owner.Branches, Branch{Chunks: []Chunk{{Type: AIChunk, Items: []DisplayItem{call}}}})
		return
	}
	owner.Chunks[1].Items = append(owner.Chunks[1].Items, call)
}

// forget removes what an agent and its call know of each other, or makes it wrong.
func (f *forest) forget(r *rand.Rand, a *Agent, call *DisplayItem) {
	someone := func() string { return fmt.Sprintf("a%d", r.IntN(14)) }
	switch r.IntN(7) {
	case 0:
		a.Meta = AgentMeta{AgentType: "Explore"}
	case 1:
		a.Meta = AgentMeta{}
		call.AgentID = a.ID
	case 2:
		a.Meta.ParentAgentID = someone() // itself, a child or nobody included
	case 3:
		a.Meta = sidecar("", someone())
	case 4:
		a.Meta.ToolUseID = fmt.Sprintf("t%d", r.IntN(14))
	case 5:
		a.Meta, call.AgentID = AgentMeta{}, someone()
	}
	switch r.IntN(8) {
	case 0:
		a.ID = "acompact-" + a.ID
	case 1:
		a.Transcript.Chunks[1].Items = append(a.Transcript.Chunks[1].Items, *call) // a copy of its own call
	}
}

// setResults gives the items their results, or takes them away.
func (f *forest) setResults(there bool) {
	set := func(chunks []Chunk) {
		for i := range chunks {
			for j := range chunks[i].Items {
				item := &chunks[i].Items[j]
				item.AgentID = ""
				if there {
					item.AgentID = f.results[item.ToolID]
				}
			}
		}
	}
	transcripts := []*Transcript{f.main}
	for _, a := range f.agents {
		transcripts = append(transcripts, a.Transcript)
	}
	for _, t := range transcripts {
		set(t.Chunks)
		for _, branch := range t.Branches {
			set(branch.Chunks)
		}
	}
}

// checkNoLoops fails if an agent is its own parent, by way of others.
func (f *forest) checkNoLoops(t *testing.T) {
	t.Helper()
	parents := map[string]string{}
	for _, a := range f.agents {
		parents[a.ID] = a.ParentID
	}
	for _, a := range f.agents {
		id := a.ID
		for range len(f.agents) + 1 {
			id = parents[id]
		}
		if id != "" {
			t.Errorf("agent %s is in a loop: %v", a.ID, parents)
		}
	}
}

func TestLinkForests(t *testing.T) {
	t.Parallel()
	for seed := range uint64(soak.Size(500, 20_000)) {
		f := plant(rand.New(rand.NewPCG(seed, 6)), false)
		want := linkage(t, f.main, f.agents, Link(f.main, f.agents))
		f.checkNoLoops(t)

		others := slices.Clone(f.agents)
		slices.Reverse(others)
		if diff := cmp.Diff(want, linkage(t, f.main, others, Link(f.main, others))); diff != "" {
			t.Errorf("in another order (-want +got)\n%s", diff)
		}
		f.setResults(false)
		Link(f.main, f.agents[:len(f.agents)/2])
		Link(f.main, f.agents)
		f.setResults(true)
		if diff := cmp.Diff(want, linkage(t, f.main, f.agents, Link(f.main, f.agents))); diff != "" {
			t.Errorf("after growth (-want +got)\n%s", diff)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func TestLinkForestsWithSidecars(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		f := plant(rand.New(rand.NewPCG(seed, 7)), true)
		if unlinked := Link(f.main, f.agents); len(unlinked) > 0 {
			t.Fatalf("seed %d: %s and others are not linked", seed, unlinked[0].ID)
		}
		for a, call := range f.truth {
			if a.CallID != call || a.ParentID != a.Meta.ParentAgentID || a.LinkedBy != LinkedBySidecar {
				t.Fatalf("seed %d: agent %s is under %s of %q by %s, want %s", seed, a.ID, a.CallID, a.ParentID, a.LinkedBy, call)
			}
		}
	}
}

// However agents are found, thousands of them don't take long: each looks at few calls.
func TestLinkThousands(t *testing.T) {
	t.Parallel()
	n := soak.Size(2_000, 4_000)
	for by, name := range map[LinkedBy]func(a *Agent, i int){
		LinkedBySidecar: func(a *Agent, i int) { a.Meta.ToolUseID = fmt.Sprint("call-", i) },
		"":              func(a *Agent, i int) { a.Meta.ToolUseID = fmt.Sprint("lost-", i) },
		LinkedByPrompt:  func(a *Agent, i int) { a.Transcript.Chunks[0].Text = fmt.Sprint("prompt ", i) },
		LinkedByOrder:   func(*Agent, int) {},
	} {
		calls := Chunk{Type: AIChunk}
		agents := make([]*Agent, n)
		for i := range agents {
			calls.Items = append(calls.Items, DisplayItem{
				Type: ItemSubagent, ToolID: fmt.Sprint("call-", i), ToolInput: wire.JSON(fmt.Sprintf(`{"prompt":"prompt %d"}`, i)),
			})
			started := []Chunk{{Type: UserChunk, Text: "?", Timestamp: at(i)}}
			agents[i] = &Agent{ID: fmt.Sprint("a", i), Transcript: &Transcript{Chunks: started}}
			name(agents[i], i)
		}
		Link(&Transcript{Chunks: []Chunk{calls}}, agents)
		for i, a := range agents {
			if a.LinkedBy != by || by != "" && a.CallID != fmt.Sprint("call-", i) {
				t.Fatalf("agent %d is linked by %q to %s, want %q", i, a.LinkedBy, a.CallID, by)
			}
		}
	}
}
