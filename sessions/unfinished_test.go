package sessions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
	"github.com/google/go-cmp/cmp"
)

// answer is an entry with blocks of the model, and a stop reason.
func answer(stop string, blocks ...string) wire.JSON {
	return wire.JSON(fmt.Sprintf(`{"type":"assistant","message":{"model":"m","stop_reason":%q,"content":[%s]}}`,
		stop, strings.Join(blocks, ",")))
}

func text(t string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, t) }

func toolUse(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}

func toolResult(id, structured string) wire.JSON {
	return wire.JSON(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"` + id + `"}]},"toolUseResult":` +
		structured + `}`)
}

func TestSummaryWorking(t *testing.T) {
	t.Parallel()
	ask := prompt(`"Ask"`)
	bash := toolUse("t1", "Bash", "{}")
	thinking := `{"type":"thinking","thinking":""}`
	approve := toolUse("t2", "SendMessage", `{"type":"shutdown_response","approve":true}`)
	newApprove := toolUse("t2", "SendMessage", `{"to":"lead","message":{"type":"shutdown_response","approve":true}}`)
	refuse := toolUse("t2", "SendMessage", `{"to":"lead","message":{"type":"shutdown_response","approve":false}}`)
	structured := toolUse("t1", "StructuredOutput", "{}")
	tests := map[string]struct {
		entries []wire.JSON
		want    bool
	}{
		"nothing":                        {nil, false},
		"a prompt":                       {[]wire.JSON{ask}, true},
		"thinking":                       {[]wire.JSON{ask, answer("", thinking)}, true},
		"an answer":                      {[]wire.JSON{ask, answer("end_turn", text("Done."))}, false},
		"an answer of older agents":      {[]wire.JSON{ask, answer("", text("Done."))}, false},
		"a blank answer":                 {[]wire.JSON{ask, answer("", text(" \n"))}, true},
		"a text before a call":           {[]wire.JSON{ask, answer("tool_use", text("I look."))}, true},
		"a call":                         {[]wire.JSON{ask, answer("tool_use", bash)}, true},
		"a result":                       {[]wire.JSON{ask, answer("tool_use", bash), toolResult("t1", "{}")}, true},
		"an answer after it":             {[]wire.JSON{ask, answer("tool_use", bash), toolResult("t1", "{}"), answer("", text("So."))}, false},
		"a call before a text":           {[]wire.JSON{ask, answer("end_turn", bash, text("Meanwhile."))}, true},
		"another call without result":    {[]wire.JSON{answer("", bash, toolUse("t2", "Agent", "{}")), toolResult("t2", "{}"), answer("", text("x"))}, true},
		"a call of a turn that was left": {[]wire.JSON{ask, answer("tool_use", bash), ask, answer("end_turn", text("So."))}, false},
		"a call before a task's end": {[]wire.JSON{
			ask, answer("tool_use", bash), prompt(`"<task-notification>x</task-notification>"`), answer("", text("x")),
		}, true},
		"a call before a teammate's mail": {[]wire.JSON{
			ask, answer("tool_use", bash), prompt(`"<teammate-message teammate_id=\"x\">y</teammate-message>"`), answer("", text("x")),
		}, true},
		"a rejected call":              {[]wire.JSON{ask, answer("tool_use", bash), toolResult("t1", `"User rejected tool use"`)}, false},
		"an interruption":              {[]wire.JSON{ask, answer("tool_use", bash), prompt(`"[Request interrupted by user for tool use]"`)}, false},
		"an interruption in blocks":    {[]wire.JSON{ask, answer("", bash), prompt(`[{"type":"text","text":"[Request interrupted by user]"}]`)}, false},
		"a plan":                       {[]wire.JSON{ask, answer("tool_use", toolUse("t1", "ExitPlanMode", "{}"))}, false},
		"a plan and its result":        {[]wire.JSON{ask, answer("tool_use", toolUse("t1", "ExitPlanMode", "{}")), toolResult("t1", "{}")}, false},
		"work on a plan":               {[]wire.JSON{answer("", toolUse("t1", "ExitPlanMode", "{}")), toolResult("t1", "{}"), answer("", bash)}, true},
		"a shutdown":                   {[]wire.JSON{ask, answer("tool_use", approve), toolResult("t2", "{}")}, false},
		"a shutdown in a member":       {[]wire.JSON{ask, answer("tool_use", newApprove), toolResult("t2", "{}")}, false},
		"a shutdown that is refused":   {[]wire.JSON{ask, answer("tool_use", refuse), toolResult("t2", "{}")}, true},
		"structured output":            {[]wire.JSON{ask, answer("tool_use", structured), toolResult("t1", `"Structured output provided successfully"`)}, false},
		"structured output to check":   {[]wire.JSON{ask, answer("tool_use", structured)}, true},
		"structured output, no fit":    {[]wire.JSON{ask, answer("tool_use", structured), toolResult("t1", `"Error: no fit"`)}, true},
		"another message":              {[]wire.JSON{ask, answer("tool_use", toolUse("t2", "SendMessage", `{"type":"message"}`))}, true},
		"the end of a task":            {[]wire.JSON{answer("", text("x")), prompt(`"<task-notification>x</task-notification>"`)}, true},
		"a command":                    {[]wire.JSON{prompt(`"<command-name>/cost</command-name>"`)}, false},
		"output of a command":          {[]wire.JSON{prompt(`"<local-command-stdout>x</local-command-stdout>"`)}, false},
		"what is for the model alone":  {[]wire.JSON{`{"type":"user","isMeta":true,"message":{"content":"x"}}`}, false},
		"the summary of a compaction":  {[]wire.JSON{`{"type":"user","isCompactSummary":true,"message":{"content":"x"}}`}, false},
		"what a subagent does":         {[]wire.JSON{`{"type":"mode","timestamp":"2026-01-01T00:00:00Z"}`, `{"type":"user","isSidechain":true,"message":{"content":"x"}}`}, false},
		"the time of a turn":           {[]wire.JSON{ask, `{"type":"system","subtype":"turn_duration"}`}, false},
		"the end of the agent":         {[]wire.JSON{ask, answer("tool_use", bash), `{"type":"cost-state"}`}, false},
		"bookkeeping after a prompt":   {[]wire.JSON{ask, `{"type":"last-prompt"}`, `{"type":"attachment","uuid":"1"}`}, true},
		"an error of the API":          {[]wire.JSON{ask, `{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"E"}]}}`}, false},
		"a result of an unknown call":  {[]wire.JSON{toolResult("t9", "{}")}, true},
		"a call with an ID of no word": {[]wire.JSON{answer("", toolUse("a b", "Bash", "{}"), text("x"))}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s := summaryOf(tt.entries...); s.Working() != tt.want {
				t.Errorf("got %v with %q, want %v", s.Working(), s.Unfinished, tt.want)
			}
		})
	}
}

// However many calls there are, a summary stays short.
func TestSummaryManyCalls(t *testing.T) {
	t.Parallel()
	var s sessions.Summary
	for i := range 1_000 {
		s.Add(answer("", toolUse(fmt.Sprintf("toolu_%024d", i), "Bash", "{}")))
	}
	if len(s.Unfinished) > 64*31 || !s.Working() || !strings.Contains(s.Unfinished, "999") {
		t.Errorf("got %q", s.Unfinished)
	}
	s.Add(`{"type":"cost-state"}`)
	checkJSON(t, s)
}

func TestSummaryIdentity(t *testing.T) {
	t.Parallel()
	got := summaryOf(
		`{"type":"user","timestamp":"2026-01-01T00:00:00Z","version":"2.1.1","permissionMode":"plan","teamName":"red","agentName":"scout","cwd":"/x"}`,
		answer("end_turn", text("x")),
		`{"type":"assistant","version":"2.1.325","message":{"model":"claude-opus-5-5"}}`,
		`{"type":"assistant","isSidechain":true,"message":{"model":"claude-haiku"}}`,
		`{"type":"assistant","message":{"model":"<synthetic>"}}`,
		`{"type":"permission-mode","permissionMode":"acceptEdits"}`,
	)
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := sessions.Summary{
		Created: first, LastTime: first, CWD: "/x", Model: "claude-opus-5-5", PermissionMode: "acceptEdits", Version: "2.1.325",
		TeamName: "red", AgentName: "scout",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	checkJSON(t, got)
}

// What was left open before a part that is not read does not count.
func TestListLargeFileWorking(t *testing.T) {
	t.Parallel()
	noise := strings.Repeat(`{"type":"progress","text":"`+strings.Repeat("x", 1000)+`"}`+"\n", 300)
	start := string(prompt(`"Ask"`)) + "\n" + string(answer("", toolUse("early", "Bash", "{}"))) + "\n"
	for last, want := range map[wire.JSON]string{
		answer("end_turn", text("Done.")):               "",
		answer("tool_use", toolUse("t1", "Bash", "{}")): "turn t1",
	} {
		dir := t.TempDir()
		write(t, dir, "p/"+idA+".jsonl", start+noise+string(last)+"\n")
		info, err := sessions.Get(t.Context(), idA, &sessions.Options{Store: sessions.NewFolder(dir)})
		if err != nil || info.Unfinished != want || info.Ongoing != (want != "") {
			t.Errorf("got %q, %v, %v, want %q", info.Unfinished, info.Ongoing, err, want)
		}
	}
}

// Recorded sessions have ended, all of them.
func TestRecordedAreNotWorking(t *testing.T) {
	t.Parallel()
	infos, err := sessions.List(t.Context(), &sessions.ListOptions{Store: sessions.NewFolder("testdata/projects")})
	if err != nil || len(infos) == 0 {
		t.Fatalf("got %d, %v", len(infos), err)
	}
	for _, info := range infos {
		if info.Working() || info.Model == "" || info.Version == "" || info.LastTime.Before(info.Created) {
			t.Errorf("got %+v", info)
		}
	}
}
