package transcript

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// linkage describes where each agent is: "call of parent by rule", or "-" if it was returned as not
// linked. It fails if one is in two places, or in none.
func linkage(t *testing.T, main *Transcript, agents, unlinked []*Agent) map[string]string {
	t.Helper()
	places := map[*Agent][]string{}
	look := func(owner string, chunks []Chunk) {
		for _, chunk := range chunks {
			for _, item := range chunk.Items {
				for _, a := range item.Agents {
					places[a] = append(places[a], item.ToolID+" of "+owner+" by "+string(a.LinkedBy))
					if a.CallID != item.ToolID || a.ParentID != owner {
						t.Errorf("agent %s says it is under %q of %q", a.ID, a.CallID, a.ParentID)
					}
				}
			}
		}
	}
	lookIn := func(owner string, tr *Transcript) {
		look(owner, tr.Chunks)
		for _, branch := range tr.Branches {
			look(owner, branch.Chunks)
		}
	}
	lookIn("", main)
	for _, a := range agents {
		if a.Transcript != nil {
			lookIn(a.ID, a.Transcript)
		}
	}
	for _, a := range unlinked {
		places[a] = append(places[a], "-")
	}
	got := map[string]string{}
	for _, a := range agents {
		if len(places[a]) != 1 {
			t.Errorf("agent %s is in %d places: %q", a.ID, len(places[a]), places[a])
			continue
		}
		got[a.ID] = places[a][0]
	}
	return got
}

// everyField makes a comparison look at unexported fields too.
var everyField = cmp.Exporter(func(reflect.Type) bool { return true })

func withResult(item DisplayItem, agentID string) DisplayItem {
	item.HasResult, item.AgentID = true, agentID
	return item
}

func workflow(id, structured, text string) DisplayItem {
	return DisplayItem{
		Type: ItemToolCall, ToolName: "Workflow", ToolID: id,
		HasResult: true, Structured: wire.JSON(structured), ToolResult: text,
	}
}

func sidecar(call, parent string) AgentMeta { return AgentMeta{ToolUseID: call, ParentAgentID: parent} }

const teamCall = `{"description":"Fix the tests","team_name":"red","name":"scout"}`

func TestLink(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		main   *Transcript
		agents []*Agent
		want   map[string]string
	}{
		{
			"the sidecar names the call, whatever the order",
			told(0, "p", spawn("t1", `{}`), spawn("t2", `{}`)),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x"), Meta: sidecar("t2", "")},
				{ID: "b", Transcript: told(2, "y"), Meta: sidecar("t1", "")},
			},
			map[string]string{"a": "t2 of  by sidecar", "b": "t1 of  by sidecar"},
		},
		{
			"the sidecar beats the result",
			told(0, "p", withResult(spawn("t1", `{}`), "a"), spawn("t2", `{}`)),
			[]*Agent{{ID: "a", Transcript: told(1, "x"), Meta: sidecar("t2", "")}},
			map[string]string{"a": "t2 of  by sidecar"},
		},
		{
			"an agent of an agent of an agent",
			told(0, "p", spawn("t1", `{}`)),
			[]*Agent{
				{ID: "c", Transcript: told(3, "z"), Meta: sidecar("t3", "b")},
				{ID: "b", Transcript: told(2, "y", spawn("t3", `{}`)), Meta: sidecar("t2", "a")},
				{ID: "a", Transcript: told(1, "x", spawn("t2", `{}`)), Meta: sidecar("t1", "")},
			},
			map[string]string{"a": "t1 of  by sidecar", "b": "t2 of a by sidecar", "c": "t3 of b by sidecar"},
		},
		{
			"the call is in another agent that the sidecar does not name",
			told(0, "p", spawn("t1", `{}`)),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x", spawn("t2", `{}`)), Meta: sidecar("t1", "")},
				{ID: "b", Transcript: told(2, "y"), Meta: sidecar("t2", "")},
			},
			map[string]string{"a": "t1 of  by sidecar", "b": "t2 of a by sidecar"},
		},
		{
			"of two copies of a call that of the parent counts",
			told(0, "p", spawn("t1", `{}`), spawn("t2", `{}`)),
			[]*Agent{
				{ID: "fork", Transcript: told(1, "x", spawn("t2", `{}`)), Meta: sidecar("t1", "")},
				{ID: "b", Transcript: told(2, "y"), Meta: sidecar("t2", "fork")},
				{ID: "c", Transcript: told(3, "z"), Meta: sidecar("t2", "")},
			},
			map[string]string{"fork": "t1 of  by sidecar", "b": "t2 of fork by sidecar", "c": "t2 of  by sidecar"},
		},
		{
			"a fork that repeats the call it was started by",
			told(0, "p"),
			[]*Agent{{ID: "fork", Transcript: told(1, "x", spawn("t1", `{}`)), Meta: sidecar("t1", "fork")}},
			map[string]string{"fork": "-"},
		},
		{
			"a call of any tool, if the sidecar says so",
			told(0, "p", DisplayItem{Type: ItemToolCall, ToolName: "Skill", ToolID: "t1"}),
			[]*Agent{{ID: "a", Transcript: told(1, "x"), Meta: sidecar("t1", "")}},
			map[string]string{"a": "t1 of  by sidecar"},
		},
		{
			"two sidecars name one call",
			told(0, "p", spawn("t1", `{}`), spawn("t2", `{}`)),
			[]*Agent{
				{ID: "a", Transcript: told(2, "x"), Meta: sidecar("t1", "")},
				{ID: "b", Transcript: told(1, "y"), Meta: sidecar("t1", "")},
			},
			map[string]string{"a": "t1 of  by sidecar", "b": "t1 of  by sidecar"},
		},
		{
			"a call that is not there is not replaced by another",
			told(0, "p", spawn("t1", `{"prompt":"x"}`)),
			[]*Agent{{ID: "a", Transcript: told(1, "x"), Meta: sidecar("gone", "")}},
			map[string]string{"a": "-"},
		},
		{
			"a parent that is not there",
			told(0, "p", spawn("t1", `{}`)),
			[]*Agent{{ID: "a", Transcript: told(1, "x"), Meta: sidecar("", "gone")}},
			map[string]string{"a": "-"},
		},
		{
			"a parent that is not there, but the call is",
			told(0, "p", spawn("t1", `{}`)),
			[]*Agent{{ID: "a", Transcript: told(1, "x"), Meta: sidecar("t1", "gone")}},
			map[string]string{"a": "t1 of  by sidecar"},
		},
		{
			"agents that have started each other",
			told(0, "p"),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x", spawn("t2", `{}`)), Meta: sidecar("t1", "b")},
				{ID: "b", Transcript: told(2, "y", spawn("t1", `{}`)), Meta: sidecar("t2", "a")},
			},
			map[string]string{"a": "t1 of b by sidecar", "b": "-"},
		},
		{
			"an agent without a transcript",
			told(0, "p", spawn("t1", `{}`)),
			[]*Agent{{ID: "a", Meta: sidecar("t1", "")}},
			map[string]string{"a": "t1 of  by sidecar"},
		},
		{
			"the result names the agent",
			told(0, "p", spawn("t1", `{}`), withResult(spawn("t2", `{}`), "a")),
			[]*Agent{{ID: "a", Transcript: told(1, "x")}},
			map[string]string{"a": "t2 of  by result"},
		},
		{
			"a message to an agent did not start it",
			told(0, "p",
				withResult(DisplayItem{ToolName: "SendMessage", ToolID: "t0"}, "a"), withResult(spawn("t1", `{}`), "a")),
			[]*Agent{{ID: "a", Transcript: told(1, "x")}},
			map[string]string{"a": "t1 of  by result"},
		},
		{
			"an agent that went on was started by the first call",
			told(0, "p", withResult(spawn("t1", `{}`), "a"), withResult(spawn("t2", `{}`), "a")),
			[]*Agent{{ID: "a", Transcript: told(1, "x")}},
			map[string]string{"a": "t1 of  by result"},
		},
		{
			"the result in another agent names the agent",
			told(0, "p", withResult(spawn("t1", `{}`), "a")),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x", withResult(spawn("t2", `{}`), "b"))},
				{ID: "b", Transcript: told(2, "y")},
			},
			map[string]string{"a": "t1 of  by result", "b": "t2 of a by result"},
		},
		{
			"the result names a teammate",
			told(0, "p", withResult(spawn("t1", `{}`), "scout@red")),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x"), Meta: AgentMeta{Name: "scout", TeamName: "red"}},
			},
			map[string]string{"a": "t1 of  by result"},
		},
		{
			"agents of a workflow",
			told(0, "p", workflow("t1", `{"runId":"wf_1"}`, ""), workflow("t2", `{"taskId":"wf_2"}`, "")),
			[]*Agent{
				{ID: "a", Transcript: told(2, "x"), Workflow: "wf_2"},
				{ID: "b", Transcript: told(1, "y"), Workflow: "wf_2"},
				{ID: "c", Transcript: told(1, "z"), Workflow: "wf_1"},
				{ID: "d", Transcript: told(1, "z"), Workflow: "wf_3"},
			},
			map[string]string{"a": "t2 of  by workflow", "b": "t2 of  by workflow", "c": "t1 of  by workflow", "d": "-"},
		},
		{
			"a workflow by its folder, or by the text of the result",
			told(0, "p", workflow("t1", `{"transcriptDir":"/x/workflows/wf_1"}`, ""), workflow("t2", "", "Run wf_2 has begun.")),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x"), Workflow: "wf_1"},
				{ID: "b", Transcript: told(1, "y"), Workflow: "wf_2"},
			},
			map[string]string{"a": "t1 of  by workflow", "b": "t2 of  by workflow"},
		},
		{
			"an agent of a workflow is not taken for another",
			told(0, "p", spawn("t1", `{"prompt":"x"}`)),
			[]*Agent{{ID: "a", Transcript: told(1, "x"), Workflow: "wf_1"}},
			map[string]string{"a": "-"},
		},
		{
			"a notice names the call",
			&Transcript{
				Chunks:    told(0, "p", spawn("t1", `{}`), spawn("t2", `{}`)).Chunks,
				TaskCalls: map[string]string{"a": "t2"},
			},
			[]*Agent{{ID: "a", Transcript: told(1, "x")}},
			map[string]string{"a": "t2 of  by notice"},
		},
		{
			"a teammate by its name",
			told(0, "p", spawn("t1", `{"team_name":"red","name":"cook"}`), spawn("t2", teamCall)),
			[]*Agent{{ID: "scout@red", Transcript: told(1, "x")}},
			map[string]string{"scout@red": "t2 of  by team"},
		},
		{
			"a teammate by its session",
			told(0, "p", spawn("t2", teamCall)),
			[]*Agent{{ID: "s1", Transcript: &Transcript{
				Chunks: told(1, "x").Chunks, Info: Info{TeamName: "red", AgentName: "scout"},
			}}},
			map[string]string{"s1": "t2 of  by team"},
		},
		{
			"a teammate by the words of its greeting: the earliest one",
			told(0, "p", spawn("t1", teamCall)),
			[]*Agent{
				{ID: "late", Transcript: greeted(2, "Fix the tests", "blue")},
				{ID: "early", Transcript: greeted(1, "Fix the tests", "blue")},
				{ID: "other", Transcript: greeted(0, "Fix the docs", "red")},
			},
			map[string]string{"early": "t1 of  by team", "late": "-", "other": "-"},
		},
		{
			"a greeting, although the result names the teammate",
			told(0, "p", withResult(spawn("t1", teamCall), "scout@red")),
			[]*Agent{{ID: "a", Transcript: greeted(1, "Fix the tests", "blue")}},
			map[string]string{"a": "t1 of  by team"},
		},
		{
			"two calls for the same teammate",
			told(0, "p", spawn("t1", teamCall), spawn("t2", teamCall)),
			[]*Agent{
				{ID: "b", Transcript: greeted(2, "Fix the tests", "blue")},
				{ID: "a", Transcript: greeted(1, "Fix the tests", "blue")},
			},
			map[string]string{"a": "t1 of  by team", "b": "t2 of  by team"},
		},
		{
			"the prompt",
			told(0, "p", spawn("t1", `{"prompt":"one"}`), spawn("t2", `{"prompt":"two\n"}`)),
			[]*Agent{
				{ID: "a", Transcript: told(1, "two")},
				{ID: "b", Transcript: told(2, "one")},
			},
			map[string]string{"a": "t2 of  by prompt", "b": "t1 of  by prompt"},
		},
		{
			"leftovers in their order",
			told(0, "p", spawn("t1", `{}`), spawn("t2", `{}`), spawn("t3", `{}`)),
			[]*Agent{
				{ID: "c", Transcript: told(3, "z")},
				{ID: "a", Transcript: told(1, "x")},
				{ID: "b", Transcript: told(2, "y"), Meta: sidecar("t2", "")},
			},
			map[string]string{"a": "t1 of  by order", "b": "t2 of  by sidecar", "c": "t3 of  by order"},
		},
		{
			"more leftovers than calls: none is used twice",
			told(0, "p", spawn("t1", `{}`)),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x")},
				{ID: "b", Transcript: told(2, "y")},
			},
			map[string]string{"a": "t1 of  by order", "b": "-"},
		},
		{
			"leftovers have no calls of teams",
			told(0, "p", spawn("t1", teamCall)),
			[]*Agent{{ID: "a", Transcript: told(1, "x")}},
			map[string]string{"a": "-"},
		},
		{
			"teammates are no leftovers",
			told(0, "p", spawn("t1", `{}`)),
			[]*Agent{
				{ID: "a", Transcript: greeted(1, "", "")},
				{ID: "scout@red", Transcript: told(1, "x")},
			},
			map[string]string{"a": "-", "scout@red": "-"},
		},
		{
			"a call whose result names another agent is not for leftovers",
			told(0, "p", withResult(spawn("t1", `{}`), "gone"), spawn("t2", `{}`)),
			[]*Agent{{ID: "a", Transcript: told(1, "x")}},
			map[string]string{"a": "t2 of  by order"},
		},
		{
			"an agent that has not begun is no leftover",
			told(0, "p", spawn("t1", `{}`), spawn("t2", `{}`)),
			[]*Agent{
				{ID: "a", Transcript: &Transcript{}},
				{ID: "b", Transcript: told(1, "x")},
			},
			map[string]string{"a": "-", "b": "t1 of  by order"},
		},
		{
			"leftovers of an agent whose sidecar names only the parent",
			told(0, "p", spawn("t1", `{}`), spawn("t9", `{}`)),
			[]*Agent{
				{ID: "a", Transcript: told(1, "x", spawn("t2", `{}`)), Meta: sidecar("t1", "")},
				{ID: "b", Transcript: told(2, "y"), Meta: sidecar("", "a")},
			},
			map[string]string{"a": "t1 of  by sidecar", "b": "t2 of a by order"},
		},
		{
			"the agent's own work is not linked",
			told(0, "p", spawn("t1", `{}`), withResult(spawn("t2", `{}`), "aside_question-1")),
			[]*Agent{
				{ID: "acompact-1", Transcript: told(1, "x", spawn("t1", `{}`)), Meta: sidecar("t1", "")},
				{ID: "aside_question-1", Transcript: told(1, "x")},
				{ID: "aprompt_suggestion-1", Transcript: told(1, "x")},
				{ID: "w", Transcript: told(1, "Warmup")},
				{ID: "a", Transcript: told(2, "y"), Meta: sidecar("t1", "acompact-1")},
			},
			map[string]string{
				"acompact-1": "-", "aside_question-1": "-", "aprompt_suggestion-1": "-", "w": "-", "a": "t1 of  by sidecar",
			},
		},
		{"no agents", told(0, "p", spawn("t1", `{}`)), nil, map[string]string{}},
		{"nothing at all", &Transcript{}, []*Agent{{ID: "a"}}, map[string]string{"a": "-"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, again := range []string{"at first", "once more"} {
				unlinked := Link(tt.main, tt.agents)
				if diff := cmp.Diff(tt.want, linkage(t, tt.main, tt.agents, unlinked)); diff != "" {
					t.Errorf("%s (-want +got)\n%s", again, diff)
				}
			}
		})
	}
}

func TestLinkInBranches(t *testing.T) {
	t.Parallel()
	item := func(id string, line int) DisplayItem {
		call := spawn(id, `{}`)
		call.At.Line = line
		return call
	}
	main := told(0, "p", item("t1", 3), item("t3", 9))
	main.Branches = []Branch{{Chunks: told(0, "p", item("t2", 5), item("t4", 11)).Chunks}}
	agents := []*Agent{
		{ID: "a", Transcript: told(1, "x")},
		{ID: "b", Transcript: told(2, "y")},
		{ID: "c", Transcript: told(3, "z")},
		{ID: "d", Transcript: told(0, "z"), Meta: sidecar("t4", "")},
	}
	unlinked := Link(main, agents)
	want := map[string]string{
		"a": "t1 of  by order", "b": "t2 of  by order", "c": "t3 of  by order", "d": "t4 of  by sidecar",
	}
	if diff := cmp.Diff(want, linkage(t, main, agents, unlinked)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLinkOrdersByStart(t *testing.T) {
	t.Parallel()
	main := told(0, "p", workflow("t1", `{"runId":"wf_1"}`, ""))
	agents := []*Agent{
		{ID: "none", Workflow: "wf_1"},
		{ID: "late", Transcript: told(9, "x"), Workflow: "wf_1"},
		{ID: "b", Transcript: told(4, "x"), Meta: sidecar("t1", "")},
		{ID: "a", Transcript: told(4, "x"), Workflow: "wf_1"},
		nil,
	}
	agents = append(agents, agents[1])
	if unlinked := Link(main, agents); len(unlinked) != 0 {
		t.Errorf("%d are not linked", len(unlinked))
	}
	var got []string
	for _, a := range main.Chunks[1].Items[0].Agents {
		got = append(got, a.ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "late", "none"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLinkFillsIn(t *testing.T) {
	t.Parallel()
	call := withResult(spawn("t2", teamCall), "scout@red")
	call.Structured = `{"agent_id":"scout@red","color":"green"}`
	run := workflow("t3", `{"runId":"wf_1"}`, "")
	run.ToolInput = `{"name":"sweep","description":"Sweep the floor"}`
	main := told(0, "p", spawn("t1", `{"prompt":"x"}`), call, run)
	known := &Agent{ID: "a", Transcript: told(1, "x"), Meta: AgentMeta{
		AgentType: "Explore", Description: "Look around", ToolUseID: "t1",
	}}
	teammate := &Agent{ID: "b", Transcript: greeted(2, "Fix the tests", "")}
	worker := &Agent{ID: "c", Transcript: told(3, "x"), Workflow: "wf_1", Meta: AgentMeta{AgentType: "Plan"}}
	Link(main, []*Agent{known, teammate, worker})
	Link(main, []*Agent{known, teammate, worker})

	items := main.Chunks[1].Items
	if got := items[0]; got.SubagentType != "Explore" || got.SubagentDesc != "Look around" {
		t.Errorf("the item says %q, %q: want what the sidecar says", got.SubagentType, got.SubagentDesc)
	}
	if got := items[2]; got.SubagentType != "" || got.SubagentDesc != "" {
		t.Errorf("a workflow is taken for one agent: %q, %q", got.SubagentType, got.SubagentDesc)
	}
	got := fmt.Sprint(teammate.Description(), "|", teammate.Color(), "|", teammate.Teammate(), "|", teammate.ID)
	if want := "Fix the tests|green|scout@red|b"; got != want {
		t.Errorf("the teammate is %s, want %s", got, want)
	}
	if got := known.Type() + "|" + known.Teammate() + "|" + known.Color(); got != "Explore||" {
		t.Errorf("the agent is %s", got)
	}
}

// Fields that a guess filled in are reset when the agent turns out to belong to another call.
func TestLinkAgainAfterGrowth(t *testing.T) {
	t.Parallel()
	build := func() (*Transcript, []*Agent) {
		return told(0, "p", spawn("t1", `{}`), spawn("t2", `{}`)), []*Agent{
			{ID: "a", Transcript: told(1, "x"), Meta: AgentMeta{AgentType: "Explore", Description: "Look"}},
		}
	}
	grow := func(main *Transcript) { main.Chunks[1].Items[1].AgentID = "a" }

	grown, agents := build()
	Link(grown, agents)
	if got := grown.Chunks[1].Items[0].SubagentType; got != "Explore" {
		t.Fatalf("the first call is of type %q, want the guess", got)
	}
	grow(grown)
	Link(grown, agents)

	atOnce, others := build()
	grow(atOnce)
	Link(atOnce, others)
	if diff := cmp.Diff(atOnce, grown, everyField); diff != "" {
		t.Errorf("at once and later differ (-once +later)\n%s", diff)
	}
	if got := grown.Chunks[1].Items[0].SubagentType; got != "" {
		t.Errorf("the first call is still of type %q", got)
	}
}

// The progress of a subagent names the call that started it, where nothing else does.
func TestLinkByProgress(t *testing.T) {
	t.Parallel()
	call := func(n int) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":"a%[1]d","message":{"id":"m","content":[{"type":"tool_use","id":"t%[1]d","name":"Task",`+
			`"input":{"prompt":"Look","description":"Look"}}]}}`+"\n", n)
	}
	progress := func(agent string, n int) string {
		return fmt.Sprintf(`{"type":"progress","uuid":"p%d","toolUseID":"agent_msg_%[1]d","parentToolUseID":"t%[1]d","data":`+
			`{"message":{"type":"user"},"normalizedMessages":[],"type":"agent_progress","agentId":%[2]q}}`+"\n", n, agent)
	}
	main, err := Read(strings.NewReader(call(1)+call(2)+progress("second", 2)+progress("first", 1)+progress("other", 1)), nil)
	if err != nil {
		t.Fatal(err)
	}
	var agents []*Agent
	for i, id := range []string{"second", "first"} { // the order of their start is not that of the calls
		line := fmt.Sprintf(`{"type":"user","uuid":"s","isSidechain":true,"agentId":%q,"timestamp":"2026-11-16T08:00:0%dZ",`+
			`"message":{"role":"user","content":"Look"}}`+"\n", id, i)
		own, err := Read(strings.NewReader(line), nil)
		if err != nil {
			t.Fatal(err)
		}
		agents = append(agents, &Agent{ID: id, Transcript: own})
	}
	if left := Link(main, agents); len(left) > 0 {
		t.Errorf("not linked: %v", left)
	}
	for i, want := range []string{"t2", "t1"} {
		if a := agents[i]; a.CallID != want || a.LinkedBy != LinkedByNotice {
			t.Errorf("%s was started by %s (%s), want %s", a.ID, a.CallID, a.LinkedBy, want)
		}
	}
}

// Each subagent whose progress names a call is known by it, also where several name the same one.
func TestProgressOfSeveralAgents(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	for i, report := range [][2]string{{"first", "t1"}, {"second", "t1"}, {"first", "t1"}, {"third", "t2"}} {
		fmt.Fprintf(&lines, `{"type":"progress","uuid":"p%d","toolUseID":"agent_msg","parentToolUseID":%q,"data":`+
			`{"message":{"type":"user"},"type":"agent_progress","agentId":%q}}`+"\n", i, report[1], report[0])
	}
	read, err := Read(strings.NewReader(lines.String()), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"first": "t1", "second": "t1", "third": "t2"}
	if diff := cmp.Diff(want, read.TaskCalls); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
