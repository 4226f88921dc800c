package clewotel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
)

// question returns the step in which the agent asks something and gets an answer.
func question(req clew.TraceRequest) step {
	return func(ctx context.Context, trace *clew.Trace) {
		trace.Answered(trace.Asked(ctx, &req), &req, "", nil)
	}
}

// events returns the events of all spans with a name.
func (s *scene) events(span string) []string {
	var events []string
	for _, stub := range s.spans.GetSpans() {
		if stub.Name != span {
			continue
		}
		for _, event := range stub.Events {
			events = append(events, event.Name+list(event.Attributes))
		}
	}
	return events
}

// A question that is about no call is an event of the turn, or of the session if there is none. The
// agent's requests to an MCP server at its start are not questions.
func TestQuestionsWithoutACall(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.follow(clewotel.Options{},
		question(clew.TraceRequest{Subtype: "hook_callback", Method: "UserPromptSubmit"}),
		question(clew.TraceRequest{Subtype: "mcp_message", Method: "tools/list"}),
		frames(text("", "m1", "one")),
		question(clew.TraceRequest{Subtype: "elicitation"}),
		frames(result("p", 10, 10)), settled("p"),
		question(clew.TraceRequest{Subtype: "request_user_dialog"}))
	want := []string{
		"clew.asked clew.method=UserPromptSubmit clew.request=hook_callback",
		"clew.answered clew.method=UserPromptSubmit clew.request=hook_callback",
		"clew.asked clew.request=elicitation", "clew.answered clew.request=elicitation",
	}
	if diff := cmp.Diff(want, s.events("invoke_agent claude-code")); diff != "" {
		t.Errorf("events of the turn (-want +got):\n%s", diff)
	}
	want = []string{"clew.asked clew.request=request_user_dialog", "clew.answered clew.request=request_user_dialog"}
	if diff := cmp.Diff(want, s.events("clew.session")); diff != "" {
		t.Errorf("events of the session (-want +got):\n%s", diff)
	}
}

// Two providers get each event once: each answer is at its own question.
func TestQuestionOfTwoProviders(t *testing.T) {
	t.Parallel()
	scenes := []*scene{newScene(t), newScene(t)}
	opts := new(clew.Options)
	for _, s := range scenes {
		opts = clewotel.Instrument(opts, s.telemetry(clewotel.Options{}))
	}
	traced := opts.Trace.Start(t.Context(), opts)
	question(clew.TraceRequest{Subtype: "elicitation"})(t.Context(), traced)
	traced.End(t.Context(), nil)
	for _, s := range scenes {
		s.wantNoneOpen()
		want := []string{"clew.asked clew.request=elicitation", "clew.answered clew.request=elicitation"}
		if diff := cmp.Diff(want, s.events("clew.session")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
}

// A retry of a subagent is an event of that subagent, and does not touch the answer of another agent.
func TestRetryOfASubagent(t *testing.T) {
	t.Parallel()
	const start = `{"type":"stream_event","parent_tool_use_id":%q,"event":{"type":"message_start",` +
		`"message":{"id":%q,"model":%q,"role":"assistant","content":[]}},"session_id":"s"}`
	const retry = `{"type":"tool_progress","tool_use_id":"x","tool_name":"Agent","parent_tool_use_id":"a","elapsed_time_seconds":0,` +
		`"subagent_retry":{"agent_id":"ta","attempt":1,"max_retries":10,"retry_delay_ms":584,"error_status":529,"error_category":"overloaded"}}`
	s := newScene(t)
	s.follow(clewotel.Options{}, frames(
		toolUse("", "m1", "Agent", "a"), taskStarted("ta", "a", "first"),
		fmt.Sprintf(start, "", "m2", "own"), fmt.Sprintf(start, "a", "ma", "inner"), retry, result("p", 10, 10)))
	want := []string{"clew.retry clew.attempt=1 clew.delay_ms=584 http.response.status_code=529"}
	if diff := cmp.Diff(want, s.events("invoke_agent first")); diff != "" {
		t.Errorf("events of the subagent (-want +got):\n%s", diff)
	}
	if got := s.events("invoke_agent claude-code"); len(got) > 0 {
		t.Errorf("events of the turn: %q", got)
	}
	if got := s.find("chat inner").Status.Description; got != "overloaded" {
		t.Errorf("the answer that was cut failed with %q", got)
	}
	if got := s.find("chat own").Status.Description; got != "" {
		t.Errorf("the other answer failed with %q", got)
	}
}

// The metric has a tool by name if it exists: it is listed, or a call of it succeeded.
func TestToolsInTheMetric(t *testing.T) {
	t.Parallel()
	call := func(tool, id string, failed bool) step {
		end := toolResult("", id)
		if failed {
			end = strings.Replace(end, `"content":"ok"`, `"content":"no","is_error":true`, 1)
		}
		return frames(toolUse("", "m"+id, tool, id), end)
	}
	s := newScene(t)
	s.follow(clewotel.Options{}, frames(`{"type":"system","subtype":"init","session_id":"s","tools":["Task","Bash"]}`),
		call("Bash", "1", true), call("Agent", "2", true), call("made_up", "3", true), call("made_up_again", "4", true),
		call("mcp__late__tool", "5", false), call("mcp__late__tool", "6", true))
	got := make(map[string]float64)
	for attrs, n := range s.metric("gen_ai.execute_tool.duration") {
		_, name, _ := strings.Cut(attrs, "gen_ai.tool.name=")
		got[name] += n
	}
	if diff := cmp.Diff(map[string]float64{"Bash": 1, "Agent": 1, "_OTHER": 2, "mcp__late__tool": 2}, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	s.find("execute_tool made_up") // spans have the name
}
