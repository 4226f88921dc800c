package sessions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/sessions"
	"github.com/clewdev/clew/wire"
)

func summaryOf(entries ...wire.JSON) sessions.Summary {
	var s sessions.Summary
	for _, entry := range entries {
		s.Add(entry)
	}
	return s
}

// prompt is an entry with a text of the user.
func prompt(content string) wire.JSON {
	return wire.JSON(`{"type":"user","message":{"role":"user","content":` + content + `}}`)
}

func TestSummaryTitle(t *testing.T) {
	t.Parallel()
	first := prompt(`"The first prompt"`)
	recap := wire.JSON(`{"type":"summary","summary":"A recap","leafUuid":"x"}`)
	last := wire.JSON(`{"type":"last-prompt","lastPrompt":"The last prompt"}`)
	ai := wire.JSON(`{"type":"ai-title","aiTitle":"By the agent"}`)
	custom := wire.JSON(`{"type":"custom-title","customTitle":"By the user"}`)
	tool := wire.JSON(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"X","input":` +
		`{"customTitle":"no","aiTitle":"no","lastPrompt":"no","summary":"no","tag":"no","type":"custom-title"}}]}}`)
	result := wire.JSON(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"no"}]},` +
		`"toolUseResult":{"customTitle":"no","summary":"no"}}`)
	misplaced := wire.JSON(`{"type":"system","customTitle":"no","aiTitle":"no","lastPrompt":"no","summary":"no","tag":"no"}`)
	tests := map[string]struct {
		entries []wire.JSON
		want    string
	}{
		"nothing":                       {nil, ""},
		"a command":                     {[]wire.JSON{prompt(`"<command-name>/clear</command-name>"`)}, "/clear"},
		"a prompt before a command":     {[]wire.JSON{prompt(`"<command-name>/clear</command-name>"`), first}, "The first prompt"},
		"a recap before a prompt":       {[]wire.JSON{recap, first}, "A recap"},
		"the last prompt before that":   {[]wire.JSON{last, recap, first}, "The last prompt"},
		"the agent's before that":       {[]wire.JSON{ai, last, recap, first}, "By the agent"},
		"the user's before all":         {[]wire.JSON{custom, ai, last, recap, first}, "By the user"},
		"the last of each":              {[]wire.JSON{custom, `{"type":"custom-title","customTitle":"Renamed"}`, ai}, "Renamed"},
		"an empty title is none":        {[]wire.JSON{custom, ai, `{"type":"custom-title","customTitle":""}`}, "By the agent"},
		"not what a tool was given":     {[]wire.JSON{first, tool, result}, "The first prompt"},
		"not members of other entries":  {[]wire.JSON{misplaced, first}, "The first prompt"},
		"not what is of another type":   {[]wire.JSON{first, `{"type":"custom-title","customTitle":["x"]}`}, "The first prompt"},
		"not what is not JSON":          {[]wire.JSON{first, `{"type":"custom-title"`, "", "null"}, "The first prompt"},
		"a title with escapes":          {[]wire.JSON{`{"customTitle":"\u0041 \"b\"","type":"custom-title"}`}, `A "b"`},
		"a last prompt is on one line ": {[]wire.JSON{`{"type":"last-prompt","lastPrompt":"a\nb"}`}, "a b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := summaryOf(tt.entries...)
			if got := s.Title(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSummaryFirstPrompt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content string
		want    string
	}{
		"a text":                 {`"Hello"`, "Hello"},
		"several lines":          {`" one\r\ntwo\nthree "`, "one two three"},
		"blocks":                 {`[{"type":"image"},{"type":"text","text":"Look"}]`, "Look"},
		"bare strings as blocks": {`["Look"]`, "Look"},
		"a result of a tool":     {`[{"tool_use_id":"t","type":"tool_result"},{"type":"text","text":"x"}]`, ""},
		"output of a command":    {`"<local-command-stdout>x</local-command-stdout>"`, ""},
		"a hook":                 {`"<session-start-hook>x</session-start-hook>"`, ""},
		"a tick":                 {`"<tick>x</tick>"`, ""},
		"a goal":                 {`"<goal>x</goal>"`, ""},
		"a finished task":        {`"<task-notification>x</task-notification>"`, ""},
		"an interruption":        {`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`, ""},
		"an opened file":         {`"<ide_opened_file>a.go</ide_opened_file>"`, ""},
		"a file before a prompt": {`["<ide_opened_file>a</ide_opened_file>",{"type":"text","text":"Fix it"}]`, "Fix it"},
		"a file and a prompt":    {`"<ide_selection>a</ide_selection> Fix it"`, "Fix it"},
		"a reminder at the end":  {`"Fix it\n\n<system-reminder>a</system-reminder>"`, "Fix it"},
		"tags of the user":       {`"Strip <system-reminder>a</system-reminder> here"`, "Strip <system-reminder>a</system-reminder> here"},
		"a shell command":        {`"<bash-input>git status</bash-input>"`, "git status"},
		"a teammate's message":   {`"<teammate-message teammate_id=\"ada\">Look at a.go</teammate-message>"`, "Look at a.go"},
		"a teammate's notice":    {`"<teammate-message teammate_id=\"ada\">{\"type\":\"idle_notification\"}</teammate-message>"`, ""},
		"a compaction": {
			`"This session is being continued from a previous conversation that ran out of context. Summary: x"`, "",
		},
		"empty":          {`"  "`, ""},
		"not a text":     {`7`, ""},
		"200 characters": {`"` + strings.Repeat("é", 200) + `"`, strings.Repeat("é", 200)},
		"more than that": {`"` + strings.Repeat("é", 201) + `"`, strings.Repeat("é", 200) + "…"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := summaryOf(prompt(tt.content), prompt(`""`)).FirstPrompt; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			want := tt.want
			if want == "" {
				want = "The next"
			}
			if got := summaryOf(prompt(tt.content), prompt(`"The next"`)).FirstPrompt; got != want {
				t.Errorf("with another prompt: got %q, want %q", got, want)
			}
		})
	}
	for _, mark := range []string{"isMeta", "isCompactSummary", "isSidechain"} {
		marked := wire.JSON(`{"type":"user","` + mark + `":true,"message":{"content":"x"}}`)
		entries := []wire.JSON{`{"type":"system","timestamp":"2026-01-01T00:00:00Z"}`, marked}
		if got := summaryOf(entries...).FirstPrompt; got != "" {
			t.Errorf("%s: got %q", mark, got)
		}
	}
}

// The agent records the last prompt with its own additions, and cuts it.
func TestSummaryLastPrompt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "before",
		"Hello":                                  "Hello",
		"<ide_selection>a</ide_selection>Fix it": "Fix it",
		"<ide_selection>a long text that was c…":                                "before",
		"<system-reminder>a</system-reminder>":                                  "before",
		"<bash-input>ls</bash-input>":                                           "ls",
		"<command-name>/review</command-name>\n<command-args>it</command-args>": "/review it",
		"Is <tick>a</tick> odd?":                                                "Is <tick>a</tick> odd?",
	} {
		entry, err := json.Marshal(map[string]string{"type": "last-prompt", "lastPrompt": text})
		if err != nil {
			t.Fatal(err)
		}
		s := summaryOf(`{"type":"last-prompt","lastPrompt":"before"}`, wire.JSON(entry))
		if s.LastPrompt != want || s.Title() != want {
			t.Errorf("%q: the last prompt is %q and the title %q, want %q", text, s.LastPrompt, s.Title(), want)
		}
	}
}

func TestSummaryFields(t *testing.T) {
	t.Parallel()
	got := summaryOf(
		`{"type":"queue-operation","timestamp":"2026-11-15T00:44:52.918Z"}`,
		`{"type":"user","timestamp":"2026-11-15T00:45:00Z","cwd":"/first","gitBranch":"main","isSidechain":false}`,
		`{"type":"user","cwd":"/second","gitBranch":"feature","isSidechain":true}`,
		`{"type":"user","gitBranch":""}`,
		`{"type":"tag","tag":"one"}`,
		`{"type":"tag","tag":"two"}`,
	)
	want := sessions.Summary{
		Created:  time.Date(2026, 11, 15, 0, 44, 52, 918e6, time.UTC),
		LastTime: time.Date(2026, 11, 15, 0, 45, 0, 0, time.UTC),
		CWD:      "/first", GitBranch: "feature", Tag: "two",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	got.Add(`{"type":"tag","tag":""}`)
	if got.Tag != "" {
		t.Errorf("an empty tag leaves %q", got.Tag)
	}
	if !summaryOf(`{"type":"user","isSidechain":true,"timestamp":"2026-11-15T00:45:00Z"}`).Sidechain {
		t.Error("the transcript of a subagent is not marked")
	}
	checkJSON(t, want)
}

// checkJSON checks that a summary is the same after marshaling it.
func checkJSON(t *testing.T, s sessions.Summary) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back sessions.Summary
	if err := json.Unmarshal(text, &back); err != nil || !cmp.Equal(s, back) {
		t.Errorf("JSON gives back %+v for %+v, %v", back, s, err)
	}
}

func TestSummaryStaysShort(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<20)
	s := summaryOf(
		wire.JSON(`{"type":"custom-title","customTitle":"`+long+`","cwd":"`+long+`","gitBranch":"`+long+`"}`),
		wire.JSON(`{"type":"ai-title","aiTitle":"x`+long+`"}`), wire.JSON(`{"type":"tag","tag":"`+long+`"}`),
		wire.JSON(`{"type":"summary","summary":"`+long+`"}`), wire.JSON(`{"type":"last-prompt","lastPrompt":"`+long+`"}`),
		prompt(`"`+long+`"`),
	)
	text, err := json.Marshal(s)
	if err != nil || len(text) > 32<<10 || len(s.CustomTitle) < 4000 {
		t.Errorf("a summary of %d bytes, with a title of %d, %v", len(text), len(s.CustomTitle), err)
	}
	checkJSON(t, s)
}

func FuzzSummaryAdd(f *testing.F) {
	f.Add(`{"type":"user","message":{"content":[{"type":"text","text":"<command-name>/x</command-name>"}]}}`, "")
	f.Add(`{"type":"custom-title","customTitle":"x"}`, `{"type":"user","message":{"content":["\ud800"]}}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		s := summaryOf(wire.JSON(a), wire.JSON(b))
		if len([]rune(s.FirstPrompt)) > 201 {
			t.Errorf("a first prompt of %d characters", len([]rune(s.FirstPrompt)))
		}
		checkJSON(t, s)
		if json.Valid([]byte(a)) || json.Valid([]byte(b)) {
			return
		}
		if s != (sessions.Summary{}) {
			t.Errorf("what is not JSON gives %+v", s)
		}
	})
}

func BenchmarkSummaryAdd(b *testing.B) {
	entries := map[string]wire.JSON{
		"prompt": prompt(`"Hello"`),
		"10MB":   prompt(`[{"type":"tool_result","content":"` + strings.Repeat("0123456789abcdef", 10<<16) + `"}]`),
	}
	for name, entry := range entries {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(entry)))
			b.ReportAllocs()
			for b.Loop() {
				var s sessions.Summary
				s.Add(entry)
			}
		})
	}
}

// answer is an entry with blocks of the model and a stop reason.
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

// A summary stays short, however many calls there are.
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

// Calls that were open before a part that is not read don't count.
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

// All recorded sessions ended.
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
