package transcript

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew/usage"
)

const (
	answerLine = `{"parentUuid":"p","isSidechain":false,"message":{"model":"claude-opus-5-5","id":"msg_1","type":"message",` +
		`"content":[{"type":"text","text":"\"usage\":{}"}],"usage":{"input_tokens":3,"cache_creation_input_tokens":20,` +
		`"cache_read_input_tokens":300,"output_tokens":42,"output_tokens_details":{"thinking_tokens":5},` +
		`"server_tool_use":{"web_search_requests":1,"web_fetch_requests":2},"service_tier":"standard",` +
		`"cache_creation":{"ephemeral_1h_input_tokens":12,"ephemeral_5m_input_tokens":8},"iterations":[{"input_tokens":9}],` +
		`"inference_geo":"us","speed":"fast"}},"requestId":"req_1","type":"assistant","uuid":"u","timestamp":"2026-11-15T00:00:07.000Z",` +
		`"sessionId":"s","agentId":"a"}`
	progressLine = `{"type":"progress","isSidechain":false,"uuid":"outer","timestamp":"2026-11-15T00:00:01.000Z","sessionId":"s",` +
		`"requestId":"outer","data":{"type":"agent_progress","agentId":"a7","message":{"type":"assistant","uuid":"inner",` +
		`"timestamp":"2026-11-15T00:00:02.000Z","requestId":"req_2","message":{"id":"msg_2","model":"m","usage":{"output_tokens":6}}}}}`
)

func TestCallOf(t *testing.T) {
	t.Parallel()
	full := usage.Call{
		MessageID: "msg_1", RequestID: "req_1", Model: "claude-opus-5-5", Time: at(7), SessionID: "s", AgentID: "a",
		Usage: usage.Usage{InputTokens: 3, OutputTokens: 42, CacheReadTokens: 300, CacheCreationTokens: 20,
			CacheCreation5mTokens: 8,
			CacheCreation1hTokens: 12, ThinkingTokens: 5, WebSearches: 1, WebFetches: 2, Fast: true,
			InferenceUS: true, ServiceTier: "standard"},
	}
	six := usage.Usage{OutputTokens: 6}
	tests := []struct {
		name, line string
		want       *usage.Call
	}{
		{"an answer", answerLine, &full},
		{"the progress of a subagent", progressLine,
			&usage.Call{MessageID: "msg_2", RequestID: "req_2", Model: "m", Time: at(2), Usage: six, Sidechain: true, Forked: true,
				SessionID: "s", AgentID: "a7"}},
		{"progress without a time of its own",
			`{"type":"progress","timestamp":"2026-11-15T00:00:01Z","data":{"message":{"message":{"id":"m","usage":{"output_tokens":6}}}}}`,
			&usage.Call{MessageID: "m", Time: at(1), Usage: six, Sidechain: true, Forked: true}},
		{"progress of another kind", `{"type":"progress","message":{"usage":{}},"data":{"output":"x"}}`, nil},
		{"a sidechain", `{"type":"assistant","isSidechain":true,"message":{"id":"m","usage":{"output_tokens":6}}}`,
			&usage.Call{MessageID: "m", Usage: six, Sidechain: true}},
		{"no ID", `{"type":"assistant","uuid":"u","message":{"usage":{"output_tokens":6}}}`, &usage.Call{UUID: "u", Usage: six}},
		{"a fork", `{"type":"assistant","forkedFrom":{"sessionId":"o"},"message":{"id":"m","usage":{"output_tokens":6}}}`,
			&usage.Call{MessageID: "m", Usage: six, Forked: true}},
		{"a fork in the background",
			`{"type":"assistant","sessionKind":"bg","message":{"id":"m","usage":{"output_tokens":6}}}`,
			&usage.Call{MessageID: "m", Usage: six, Forked: true}},
		{"an old agent's own cost", `{"type":"assistant","costUSD":0.25,"message":{"id":"m","usage":{"output_tokens":6}}}`,
			&usage.Call{MessageID: "m", Usage: six, CostUSD: 0.25}},
		{"absurd counts", `{"type":"assistant","message":{"id":"m","usage":{"output_tokens":6,"input_tokens":-7,"cache_read_input_tokens":9e18,"cache_creation_input_tokens":"x"}}}`,
			&usage.Call{MessageID: "m", Usage: six}},
		{"a count with a point", `{"type":"assistant","message":{"id":"m","usage":{"output_tokens":6.0}}}`,
			&usage.Call{MessageID: "m", Usage: six}},
		{"escaped names", `{"type":"assist\u0061nt","mess\u0061ge":{"id":"m","us\u0061ge":{"output_tokens":6}}}`,
			&usage.Call{MessageID: "m", Usage: six}},
		{"made up by the agent",
			`{"type":"assistant","message":{"id":"m","model":"<synthetic>","usage":{"output_tokens":6}}}`, nil},
		{"no usage", `{"type":"assistant","message":{"id":"m"}}`, nil},
		{"usage of another type", `{"type":"assistant","message":{"id":"m","usage":null}}`, nil},
		{"searches of a tool",
			`{"type":"user","sessionId":"s","agentId":"a","isSidechain":true,"timestamp":"2026-11-15T00:00:01Z",` +
				`"message":{"content":[{"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t"}]},"toolUseResult":{"query":"go","results":[],"searchCount":3}}`,
			&usage.Call{ToolUseID: "t", Time: at(1), Usage: usage.Usage{WebSearches: 3}, Sidechain: true, SessionID: "s", AgentID: "a"}},
		{
			"a number of searches in the result of another tool",
			`{"type":"user","message":{"content":[{"tool_use_id":"t"}]},"toolUseResult":{"searchCount":3,"results":[]}}`, nil,
		},
		{"searches of nobody", `{"type":"user","message":{"content":[]},"toolUseResult":{"searchCount":3}}`, nil},
		{"no searches", `{"type":"user","message":{"content":[{"tool_use_id":"t"}]},"toolUseResult":{"query":"go","results":[],"searchCount":0}}`, nil},
		{"a result of a tool", `{"type":"user","message":{"id":"m","usage":{"output_tokens":6}}}`, nil},
	}
	for _, tt := range tests {
		c, ok, err := new(usage.CallDecoder).Decode([]byte(tt.line))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got *usage.Call
		if ok {
			got = &c
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
		checkScan(t, []byte(tt.line))
	}
}

// checkScan fails unless a line counts for the same when it is decoded in full. It uses a decoder
// that saw others.
func checkScan(t *testing.T, line []byte) {
	t.Helper()
	e, wantErr := DecodeEntry(line)
	var want usage.Call
	wantOK := false
	if wantErr == nil {
		want, wantOK = CallOf(&e)
	}
	var d usage.CallDecoder
	for _, other := range []string{answerLine, progressLine} {
		if _, ok, err := d.Decode([]byte(other)); !ok || err != nil {
			t.Fatal("no call", err)
		}
	}
	got, ok, err := d.Decode(line)
	if (err == nil) != (wantErr == nil) || ok != wantOK {
		t.Fatalf("%q: got %v, %v, want %v, %v", line, ok, err, wantOK, wantErr)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q (-want +got)\n%s", line, diff)
	}
}

func FuzzScanEqualsDecode(f *testing.F) {
	for _, line := range []string{
		answerLine, progressLine, "", "null", "{", `{"type":"assistant","message":{"usage":{}}}x`,
		`{"type":"assistant","message":{"usage":{"input_tokens":1,"input_tokens":2.0,"input_tokens":[]}},"message":7}`,
		`{"type":"progress","data":{"message":{"message":{"usage":{}}},"message":3},"data":{"message":{"uuid":"x"}},"timestamp":4}`,
		`{"type":"progress","data":{"message":{"message":{"usage":{}}}},"data":null}`,
		`{"type":"assistant","isSidechain":true,"isSidechain":1,"message":{"usage":{"input_tokens":1,"input_tokens":[]}}}`,
		`{"timestamp":"2026-11-15T00:00:00","timestamp":null,"type":"assistant","message":{"model":"\ud800","usage":{"speed":"f\u0061st","speed":1}}}`,
		`{"forkedFrom":null,"sessionKind":"b\u0067","costUSD":-1,"costUSD":"x","type":"assistant","message":{"usage":{"cache_creation":[1]}}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) { checkScan(t, line) })
}

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

func TestCostState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       usage.CostState
		ok         bool
	}{
		{"another type", `{"type":"user","totalCostUSD":1}`, usage.CostState{}, false},
		{"cost that is no number", `{"type":"cost-state","totalCostUSD":"1"}`, usage.CostState{}, false},
		{"tokens that are no numbers", `{"type":"cost-state","modelUsage":{"m":{"inputTokens":{}}}}`, usage.CostState{}, false},
		{"empty", `{"type":"cost-state"}`, usage.CostState{Models: map[string]usage.ModelState{}}, true},
		{
			"all counts", `{"type":"cost-state","modelUsage":{"m":{"inputTokens":1,"outputTokens":2,"thinkingTokens":3,
			"cacheReadInputTokens":4,"cacheCreationInputTokens":5,"cacheCreationEphemeral5mInputTokens":6,
			"cacheCreationEphemeral1hInputTokens":7,"webSearchRequests":8,"costUSD":1e-7}},"hasUnknownModelCost":true}`,
			usage.CostState{
				Models: map[string]usage.ModelState{"m": {
					Usage: usage.Sum{
						InputTokens: 1, OutputTokens: 2, CacheReadTokens: 4, CacheCreationTokens: 5, CacheCreation5mTokens: 6,
						CacheCreation1hTokens: 7, ThinkingTokens: 3, WebSearches: 8,
					},
					Cost: usage.Dollar / 10_000_000,
				}},
				HasUnknownModelCost: true,
			}, true,
		},
		{
			"fractions of milliseconds", `{"type":"cost-state","totalDuration":1.5,"totalCostUSD":0.30000000000000004}`,
			usage.CostState{TotalCost: usage.Dollar * 3 / 10, Models: map[string]usage.ModelState{}, Duration: 1500 * time.Microsecond}, true,
		},
		{
			"times that cannot be", `{"type":"cost-state","totalDuration":-1,"totalToolDuration":1e300,"startTime":1e300}`,
			usage.CostState{Models: map[string]usage.ModelState{}}, true,
		},
	}
	for _, tt := range tests {
		e, err := DecodeEntry([]byte(tt.line))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := CostStateOf(&e)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, ok, diff)
		}
	}
}

// at returns a time on the day on which the tests take place.
func at(second int) time.Time { return time.Date(2026, 11, 15, 0, 0, second, 0, time.UTC) }
