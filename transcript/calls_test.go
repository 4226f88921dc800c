package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// callingLine is a line of an answer that may call for a subagent.
func callingLine(id, call, more string) string {
	return fmt.Sprintf(`{"type":"assistant","uuid":"u-%s","timestamp":"2026-11-15T00:00:00Z",`+
		`"message":{"id":%[1]q,"role":"assistant","content":[{"type":"tool_use","id":%q,"name":"Agent","input":{}}],`+
		`"usage":{"output_tokens":1}}%s}`+"\n", id, call, more)
}

func TestCallsOfSubagents(t *testing.T) {
	t.Parallel()
	read := func(text string) *Transcript {
		tr, err := Read(strings.NewReader(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	agent := func(id, call string) *Agent {
		return &Agent{ID: id, Meta: AgentMeta{ToolUseID: call}, Transcript: read(callingLine("of "+id, "call of "+id, ""))}
	}
	session := read(callingLine("main", "t1", "") + callingLine("inline", "t2", `,"isSidechain":true,"parentUuid":null`))
	agents := append(InlineAgents(session), agent("one", "t1"), agent("nested", "call of one"), agent("lost", "?"),
		agent("acompact-1", "t1"), agent("mate@team", "t1"), &Agent{ID: "none", Meta: AgentMeta{ToolUseID: "t1"}})
	ids := func() []string {
		var ids []string
		for _, c := range session.Calls() {
			ids = append(ids, c.MessageID)
		}
		return ids
	}
	if diff := cmp.Diff([]string{"inline", "main"}, ids()); diff != "" {
		t.Errorf("before they were linked (-want +got):\n%s", diff)
	}
	session.Unlinked = Link(session, agents)
	if diff := cmp.Diff([]string{"inline", "main", "of lost", "of nested", "of one"}, ids()); diff != "" {
		t.Errorf("linked (-want +got):\n%s", diff)
	}
}
