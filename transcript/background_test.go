package transcript

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// launch returns the lines of two calls that start subagents in the background.
func launch() string {
	var b strings.Builder
	for i, id := range []string{"a1", "a2"} {
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"c%d","timestamp":"2026-11-15T00:00:0%d.000Z","message":{"id":"m%d",`+
			`"role":"assistant","content":[{"type":"tool_use","id":"toolu_%s","name":"Agent","input":{"description":"d","prompt":"p"}}],`+
			`"stop_reason":"tool_use"}}`+"\n", i, i, i, id)
		fmt.Fprintf(&b, `{"type":"user","uuid":"r%d","timestamp":"2026-11-15T00:00:0%d.500Z","message":{"role":"user","content":[{`+
			`"type":"tool_result","tool_use_id":"toolu_%s","content":"Async agent launched successfully. (internal)"}]},`+
			`"toolUseResult":{"status":"async_launched","agentId":%q}}`+"\n", i, i, id, id)
	}
	return b.String() + `{"type":"assistant","uuid":"c9","timestamp":"2026-11-15T00:00:03.000Z","message":{"id":"m9",` +
		`"role":"assistant","content":[{"type":"text","text":"Waiting."}],"stop_reason":"end_turn"}}` + "\n"
}

// reportLine returns the line of a prompt that has the reports of tasks.
func reportLine(second int, notes ...string) string {
	text := ""
	for _, note := range notes {
		text += "<task-notification>" + note + "</task-notification>\n"
	}
	return fmt.Sprintf(`{"type":"user","uuid":"n%d","timestamp":"2026-11-15T00:00:%02d.000Z","message":{"role":"user","content":%s}}`+"\n",
		second, second, quoteText(text))
}

// TestBackgroundReports checks that the report of a subagent in the background belongs to the call
// that started it, and nothing else shows it.
func TestBackgroundReports(t *testing.T) {
	t.Parallel()
	const (
		first  = `<task-id>a1</task-id><status>completed</status><summary>Agent "d" finished</summary><result>One.</result>`
		again  = `<task-id>a1</task-id><tool-use-id>toolu_x</tool-use-id><status>completed</status><result>More.</result>`
		byCall = `<task-id>z</task-id><tool-use-id>toolu_a2</tool-use-id><status>killed</status><summary>Agent "d" was stopped</summary>`
		shell  = `<task-id>b7</task-id><tool-use-id>toolu_sh</tool-use-id><status>completed</status><summary>Command done</summary>`
	)
	const answer = `{"type":"assistant","uuid":"e","timestamp":"2026-11-15T00:00:59.000Z","message":{"id":"m10",` +
		`"role":"assistant","content":[{"type":"text","text":"Ready."}],"stop_reason":"end_turn"}}` + "\n"
	tests := []struct {
		name  string
		lines string
		want  []string // chunks, and what is shown of each subagent
	}{
		{"running", "", []string{"ai Waiting.", "a1 0 ", "a2 0 "}},
		{"one", reportLine(10, first) + answer, []string{"ai Waiting.", "ai Ready.", "a1 10000 One.", "a2 0 "}},
		{"with its own time", reportLine(10, first+"<usage><duration_ms>77</duration_ms></usage>"), []string{"ai Waiting.", "a1 77 One.", "a2 0 "}},
		{"resumed", reportLine(10, first) + reportLine(20, again), []string{"ai Waiting.", "a1 20000 More.", "a2 0 "}},
		{
			"another task as well", reportLine(10, first, shell, byCall),
			[]string{"ai Waiting.", "system Command done", "a1 10000 One.", `a2 9000 Agent "d" was stopped`},
		},
		{"only another task", reportLine(10, shell), []string{"ai Waiting.", "system Command done", "a1 0 ", "a2 0 "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			parsed, err := Read(strings.NewReader(launch()+tt.lines), nil)
			if err != nil {
				t.Fatal(err)
			}
			var got, items []string
			for i := range parsed.Chunks {
				c := &parsed.Chunks[i]
				got = append(got, c.Type.String()+" "+c.Text)
				for k := range c.Items {
					if item := &c.Items[k]; item.Type == ItemSubagent {
						items = append(items, fmt.Sprint(item.AgentID, " ", item.DurationMs, " ", item.ShownResult()))
					}
				}
			}
			if diff := cmp.Diff(tt.want, append(got, items...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			seen := 0
			for i := range parsed.Chunks {
				seen += len(parsed.Chunks[i].Lines)
			}
			if lines := strings.Count(launch()+tt.lines, "\n"); seen != lines {
				t.Errorf("%d of %d lines are in chunks", seen, lines)
			}
		})
	}
}

// TestBackgroundAnswer checks that the answer of a subagent whose end is not reported yet comes from
// its transcript.
func TestBackgroundAnswer(t *testing.T) {
	t.Parallel()
	call := DisplayItem{Type: ItemSubagent, HasResult: true, Status: "async_launched", Agents: []*Agent{{ID: "a1"}}}
	if got := call.ShownResult(); got != "" {
		t.Errorf("without a transcript: %q", got)
	}
	made := BuildChunks([]ClassifiedMsg{
		&UserMsg{Text: "p"}, &AIMsg{Text: "Four.", StopReason: "end_turn"},
	})
	if len(made[1].Items) == 0 {
		made[1].Items = []DisplayItem{{Type: ItemOutput, Text: "Four."}}
	}
	call.Agents[0].Transcript = &Transcript{Chunks: made}
	if got := call.ShownResult(); got != "Four." {
		t.Errorf("%q", got)
	}
	call.Report = &TaskReport{Status: "failed", Summary: "It failed."}
	if got := call.ShownResult(); got != "It failed.\nFour." {
		t.Errorf("%q", got)
	}
}
