package clewotel_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/clewdev/clew"
	"github.com/clewdev/clew/clewotel"
	"github.com/clewdev/clew/wire"
)

// randomFrame returns a frame for two bytes. There are few IDs and models, so that frames are about
// the same agents and calls.
func randomFrame(kind, arg byte) string {
	call := string('a' + rune(arg>>2&3))         // that starts a subagent
	parent := []string{"", "a", "b", "c"}[arg&3] // who speaks
	id := fmt.Sprintf("m%s%d", parent, arg>>4)   // of an answer
	model := []string{"claude-opus-5-5", "claude-haiku-5-5", "m", "n"}[arg>>4&3]
	switch kind % 10 {
	case 0:
		return answer(parent, id, model, int(arg))
	case 1:
		return toolUse(parent, id, "Agent", call)
	case 2:
		return toolUse(parent, id, "Bash", "t"+call)
	case 3:
		return toolResult(parent, []string{call, "t" + call}[arg>>6&1])
	case 4:
		return taskStarted("task"+call, call, "kind")
	case 5:
		return taskEnded("task"+call, call)
	case 6:
		return fmt.Sprintf(`{"type":"system","subtype":"task_updated","task_id":"task%s","patch":{"is_backgrounded":true,"status":%q}}`,
			call, []string{"", "failed"}[arg&1])
	case 7:
		return fmt.Sprintf(`{"type":"stream_event","parent_tool_use_id":%q,"event":{"type":"message_start","message":{"id":%q,"model":%q,`+
			`"role":"assistant","content":[],"usage":{"input_tokens":%d}}},"session_id":"s"}`, parent, id, model, arg)
	case 8:
		return fmt.Sprintf(`{"type":"stream_event","parent_tool_use_id":%q,"event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},`+
			`"usage":{"output_tokens":%d}},"session_id":"s"}`, parent, arg)
	}
	return fmt.Sprintf(`{"type":"system","subtype":"api_retry","attempt":%d,"error":"overloaded","retry_delay_ms":1}`, arg)
}

// randomResult returns a result, and how many tokens its accounts have in addition to the agent's
// own tokens.
func randomResult(arg byte) (frame string, input, output int64) {
	own, first, second := int(arg), int(arg>>4), int(arg&15)
	frame = fmt.Sprintf(`{"type":"result","subtype":"success","result":"done","user_message_uuids":["p%d"],"session_id":"s",`+
		`"usage":{"input_tokens":%d,"output_tokens":%d},"model_usage_since_last_result":{`+
		`"claude-opus-5-5[1m]":{"inputTokens":%d,"outputTokens":%d},%q:{"inputTokens":%d,"outputTokens":%d}}}`,
		arg&1, own, own, own+first, own, []string{"claude-haiku-5-5", "m"}[arg>>1&1], second, first)
	return frame, int64(own + first + second), int64(own + first)
}

// FuzzSpans plays frames in any order. A result gives the spans exactly the tokens of its accounts,
// and no span is open at the end.
func FuzzSpans(f *testing.F) {
	f.Add([]byte{1, 0, 4, 0, 0, 1, 2, 1, 3, 65, 5, 0, 2, 1, 20, 9})
	f.Add([]byte{0, 16, 4, 4, 0, 34, 0, 50, 20, 9, 20, 0, 21, 1, 22, 0, 23, 4, 24, 0, 0, 0})
	f.Add([]byte{7, 0, 9, 1, 7, 16, 8, 7, 20, 200, 22, 1, 20, 200})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newScene(t)
		var steps []step
		for ; len(data) >= 2 && len(steps) < 100; data = data[2:] {
			steps = append(steps, s.randomStep(data[0], data[1]))
		}
		s.follow(clewotel.Options{}, steps...)
	})
}

// randomStep returns a step for two bytes.
func (s *scene) randomStep(kind, arg byte) step {
	prompts := []string{"p", "p0", "p1"}
	switch kind % 25 {
	case 20, 21:
		frame, input, output := randomResult(arg)
		return func(ctx context.Context, trace *clew.Trace) {
			before := s.chatTokens()
			frames(frame)(ctx, trace)
			after := s.chatTokens()
			if got := after.Input - before.Input; got != input {
				s.t.Errorf("a result gave %d input tokens, want %d:\n%s", got, input, s.tree())
			}
			if got := after.Output - before.Output; got != output {
				s.t.Errorf("a result gave %d output tokens, want %d:\n%s", got, output, s.tree())
			}
		}
	case 22:
		return prompt(prompts[int(arg)%len(prompts)])
	case 23:
		return settled(prompts[int(arg)%len(prompts)])
	case 24:
		return func(ctx context.Context, trace *clew.Trace) {
			trace.Message(ctx, &wire.SessionReconnectedMessage{})
			question(clew.TraceRequest{Subtype: "can_use_tool", ToolUseID: "ta"})(ctx, trace)
		}
	}
	return frames(randomFrame(kind, arg))
}
