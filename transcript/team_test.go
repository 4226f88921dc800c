package transcript

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/wire"
)

// onMinute returns the item at that minute.
func onMinute(n int, item DisplayItem) DisplayItem {
	item.Timestamp = minute(n)
	return item
}

func toolCall(name, input string) DisplayItem {
	return DisplayItem{Type: ItemToolCall, ToolName: name, ToolInput: wire.JSON(input), HasResult: true}
}

func failedCall(item DisplayItem) DisplayItem {
	item.ToolError = true
	return item
}

func structured(item DisplayItem, result string) DisplayItem {
	item.Structured = wire.JSON(result)
	return item
}

func TestTeams(t *testing.T) {
	t.Parallel()
	create := onMinute(1, toolCall("TeamCreate", `{"team_name":"red","description":"Fix all"}`))
	tests := []struct {
		name   string
		main   *Transcript
		agents []*Agent
		want   []*Team
	}{
		{"no team", told(0, "p", toolCall("TaskCreate", `{"subject":"mine"}`)), nil, nil},
		{
			"tasks are counted from 1, and are pending",
			told(0, "p", create,
				onMinute(2, toolCall("TaskCreate", `{"subject":"one","description":"first"}`)),
				onMinute(3, toolCall("TaskCreate", `{"subject":"two"}`))),
			nil,
			[]*Team{{Name: "red", Description: "Fix all", Tasks: []Task{
				{ID: "1", Subject: "one", Description: "first", Status: "pending"},
				{ID: "2", Subject: "two", Status: "pending"},
			}}},
		},
		{
			"a task without a team is ignored",
			told(0, "p", onMinute(0, toolCall("TaskCreate", `{"subject":"mine"}`)), create,
				onMinute(2, toolCall("TaskCreate", `{"subject":"ours"}`))),
			nil,
			[]*Team{{Name: "red", Description: "Fix all", Tasks: []Task{{ID: "1", Subject: "ours", Status: "pending"}}}},
		},
		{
			"the result tells the ID",
			told(0, "p", create,
				onMinute(2, structured(toolCall("TaskCreate", `{"subject":"x"}`), `{"task":{"id":"7","subject":"x"}}`)),
				onMinute(3, toolCall("TaskUpdate", `{"taskId":7,"status":"in_progress"}`))),
			nil,
			[]*Team{{Name: "red", Description: "Fix all", Tasks: []Task{{ID: "7", Subject: "x", Status: "in_progress"}}}},
		},
		{
			"updates change what they tell",
			told(0, "p", create, onMinute(2, toolCall("TaskCreate", `{"subject":"x"}`)),
				onMinute(3, toolCall("TaskUpdate", `{"taskId":"1","owner":"scout"}`)),
				onMinute(4, toolCall("TaskUpdate", `{"taskId":"1","status":"completed","subject":"y"}`)),
				onMinute(5, toolCall("TaskUpdate", `{"taskId":"9","status":"completed"}`)),
				onMinute(6, toolCall("TaskUpdate", `not JSON`))),
			nil,
			[]*Team{{Name: "red", Description: "Fix all", Tasks: []Task{
				{ID: "1", Subject: "y", Status: "completed", Owner: "scout"},
			}}},
		},
		{
			"a call that failed changes nothing",
			told(0, "p", create, onMinute(2, failedCall(toolCall("TaskCreate", `{"subject":"x"}`))),
				onMinute(3, failedCall(toolCall("TeamDelete", `{}`)))),
			nil,
			[]*Team{{Name: "red", Description: "Fix all"}},
		},
		{
			"what comes after the end is ignored",
			told(0, "p", create,
				onMinute(2, toolCall("TaskCreate", `{"subject":"x"}`)), onMinute(3, toolCall("TeamDelete", `{}`)),
				onMinute(4, toolCall("TaskUpdate", `{"taskId":"1","status":"completed"}`)),
				onMinute(5, toolCall("TaskCreate", `{"subject":"y"}`)),
				onMinute(6, spawn("t1", teamCall)), onMinute(7, toolCall("TeamDelete", `{}`))),
			nil,
			[]*Team{{
				Name: "red", Description: "Fix all", Closed: true, Tasks: []Task{{ID: "1", Subject: "x", Status: "pending"}},
			}},
		},
		{
			"each team counts its own",
			told(0, "p", create,
				onMinute(2, toolCall("TaskCreate", `{"subject":"x"}`)), onMinute(3, toolCall("TeamDelete", `{}`)),
				onMinute(4, toolCall("TeamCreate", `{"team_name":"blue"}`)),
				onMinute(5, toolCall("TaskCreate", `{"subject":"y"}`))),
			nil,
			[]*Team{
				{Name: "red", Description: "Fix all", Closed: true, Tasks: []Task{{ID: "1", Subject: "x", Status: "pending"}}},
				{Name: "blue", Tasks: []Task{{ID: "1", Subject: "y", Status: "pending"}}},
			},
		},
		{
			"a team that was given another name",
			told(0, "p", structured(create, `{"team_name":"red-2"}`)), nil, []*Team{{Name: "red-2", Description: "Fix all"}},
		},
		{
			"a member joins once, with the color of the result",
			told(0, "p", create,
				onMinute(2, structured(
					spawn("t1", `{"team_name":"red","name":"scout","subagent_type":"Explore"}`), `{"color":"green"}`)),
				onMinute(3, spawn("t2", `{"team_name":"red","name":"scout"}`)),
				onMinute(4, spawn("t3", `{"team_name":"red","name":"cook"}`)),
				onMinute(5, spawn("t4", `{"description":"no teammate"}`)),
				onMinute(6, spawn("t5", `{"team_name":"unknown","name":"x"}`))),
			nil,
			[]*Team{{Name: "red", Description: "Fix all", Members: []Member{
				{Name: "scout", Type: "Explore", Color: "green"}, {Name: "cook"},
			}}},
		},
		{
			"a team that nobody has made",
			told(0, "p", onMinute(2, withResult(spawn("t1", `{"name":"scout"}`), "scout@default"))),
			nil,
			[]*Team{{Name: "default", Members: []Member{{Name: "scout"}}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Teams(tt.main, tt.agents)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestTeamsWithWorkers(t *testing.T) {
	t.Parallel()
	main := told(0, "p",
		onMinute(1, toolCall("TeamCreate", `{"team_name":"red"}`)),
		onMinute(2, toolCall("TaskCreate", `{"subject":"one"}`)),
		onMinute(2, toolCall("TaskCreate", `{"subject":"two"}`)),
		onMinute(3, spawn("t1", teamCall)),
		onMinute(3, spawn("t2", `{"team_name":"red","name":"cook","description":"Cook"}`)),
		onMinute(8, toolCall("TaskUpdate", `{"taskId":"2","status":"in_progress"}`)),
		onMinute(9, toolCall("TeamDelete", `{}`)),
	)
	scout := &Agent{ID: "a", Transcript: greeted(4, "Fix the tests", "blue")}
	work := Chunk{Type: AIChunk, StopReason: "tool_use", Items: []DisplayItem{
		onMinute(5, toolCall("TaskUpdate", `{"taskId":"1","status":"in_progress"}`)),
		onMinute(6, toolCall("TaskUpdate", `{"taskId":"2","status":"completed","owner":"cook"}`)),
		onMinute(7, toolCall("TaskCreate", `{"subject":"three"}`)),
		onMinute(7, toolCall("TeamDelete", `{}`)),
		onMinute(10, toolCall("TaskUpdate", `{"taskId":"1","status":"completed"}`)),
	}}
	scout.Transcript.Chunks = append(scout.Transcript.Chunks, work)
	rename := onMinute(7, toolCall("TaskUpdate", `{"taskId":"1","subject":"uno"}`))
	cook := &Agent{ID: "cook@red", Transcript: told(4, "x", rename, DisplayItem{Type: ItemOutput, Text: "Done."})}
	remove := onMinute(7, toolCall("TaskUpdate", `{"taskId":"1","status":"deleted"}`))
	stranger := &Agent{ID: "s", Transcript: told(4, "y", remove)}
	agents := []*Agent{stranger, scout, cook, nil}
	Link(main, agents)

	want := []*Team{{
		Name: "red", Closed: true,
		Members: []Member{{Name: "scout", Color: "blue", Agent: scout, Ongoing: true}, {Name: "cook", Agent: cook}},
		Tasks: []Task{
			{ID: "1", Subject: "uno", Status: "in_progress", Owner: "scout"},
			{ID: "2", Subject: "two", Status: "in_progress", Owner: "cook"},
			{ID: "3", Subject: "three", Status: "pending"},
		},
	}}
	if diff := cmp.Diff(want, Teams(main, agents), everyField); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTeamAgent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		t    *Transcript
		want string
	}{
		{"nothing", nil, ""},
		{"a name alone", &Transcript{Info: Info{AgentName: "scout"}}, ""},
		{"a team alone", &Transcript{Info: Info{TeamName: "red"}}, ""},
		{"both", &Transcript{Info: Info{TeamName: "red", AgentName: "scout"}}, "scout@red"},
	}
	for _, tt := range tests {
		if got, ok := TeamAgent(tt.t); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: got %q, %v", tt.name, got, ok)
		}
	}
}

func TestTeammates(t *testing.T) {
	t.Parallel()
	main := told(0, "p", spawn("t1", teamCall), spawn("t2", teamCall), spawn("t3", `{"name":"x"}`),
		withResult(spawn("t4", `{}`), "cook@blue"))
	main.Branches = []Branch{{Chunks: told(0, "p", spawn("t5", `{"team_name":"red","name":"smith"}`)).Chunks}}
	main.Chunks[1].Items[0].Agents = []*Agent{{ID: "linked"}}
	got := Teammates(main)
	if diff := cmp.Diff([]string{"scout@red", "cook@blue", "smith@red"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(main.Chunks[1].Items[0].Agents) != 1 {
		t.Error("looking for teammates has unlinked an agent")
	}
}
