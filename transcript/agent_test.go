package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
)

// minute returns a time that many minutes into a day.
func minute(n int) time.Time { return time.Date(2026, 11, 15, 10, n, 0, 0, time.UTC) }

// told returns a transcript that begins with a prompt at that minute, and goes on with an answer that has the items.
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

// spawn returns the call of a tool that starts an agent.
func spawn(id, input string) DisplayItem {
	item := DisplayItem{Type: ItemSubagent, ToolName: "Agent", ToolID: id, ToolInput: wire.JSON(input)}
	var in spawnInput
	_ = item.ToolInput.Decode(&in)
	item.SubagentType, item.SubagentDesc = in.SubagentType, in.Description
	return item
}

// greeted returns the transcript of a teammate, which begins with a message of the leader.
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
