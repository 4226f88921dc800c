package transcript

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
