package transcript

import (
	"strings"
	"testing"
	"time"

	"github.com/clewdev/clew/wire"
)

// liveKinds feeds frames and returns types and UUIDs of the entries, in one text for each frame that has some.
func liveKinds(frames ...string) string {
	var s liveState
	var all []string
	for _, frame := range frames {
		for _, e := range s.entries(wire.Decode([]byte(frame)), time.Time{}) {
			text := e.Type + " " + e.UUID
			if e.SourceToolUseID != "" {
				text += " of " + e.SourceToolUseID
			}
			for _, uuid := range e.Supersedes {
				text += " without " + uuid
			}
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

const (
	ask1    = `{"type":"user","message":{"role":"user","content":"one"},"uuid":"1"}`
	ask2    = `{"type":"user","message":{"role":"user","content":"two"},"uuid":"2"}`
	replied = `{"type":"assistant","message":{"id":"m","role":"assistant","content":[]},"uuid":"a","session_id":"s"}`
	over    = `{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"num_turns":1,"session_id":"s","uuid":"r"}`
)

func lifecycle(state string) string {
	return `{"type":"command_lifecycle","command_uuid":"2","state":"` + state + `","uuid":"l","session_id":"s"}`
}

// A prompt stands where the agent takes it up.
func TestLiveQueue(t *testing.T) {
	t.Parallel()
	queued := lifecycle("queued")
	for _, test := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"behind the turn", []string{ask1, replied, over, ask2, replied}, "user 1, assistant a, user 2, assistant a"},
		{"in the queue", []string{ask1, ask2, queued, replied, over}, "user 1, assistant a"},
		{"after the turn", []string{ask1, ask2, queued, replied, over, lifecycle("started")}, "user 1, assistant a, user 2"},
		{"before the answer", []string{ask1, ask2, lifecycle("started"), replied}, "user 1, user 2, assistant a"},
		{"in the turn", []string{ask1, replied, ask2, queued, lifecycle("started"), replied}, "user 1, assistant a, attachment 2, assistant a"},
		{"cancelled", []string{ask1, replied, ask2, lifecycle("cancelled"), over, lifecycle("started")}, "user 1, assistant a"},
		{"not told", []string{ask1, ask2, replied, over, replied}, "user 1, assistant a, user 2, assistant a"},
		{"repeated", []string{ask1, ask2, replied, strings.Replace(ask2, `"uuid"`, `"isReplay":true,"uuid"`, 1)}, "user 1, assistant a, attachment 2"},
		{"without an ID", []string{ask1, `{"type":"user","message":{"content":"two"}}`, replied}, "user 1, user live-1, assistant a"},
		{"of the agent", []string{ask1, replied, `{"type":"user","message":{"content":"[Request interrupted by user]"},"uuid":"i","timestamp":"2026-11-15T00:00:00Z"}`}, "user 1, assistant a, user i"},
		{"a command", []string{ask1, replied, strings.Replace(ask2, "two", "/compact", 1), queued, over, lifecycle("started"), over}, "user 1, assistant a, user 2"},
	} {
		if got := liveKinds(test.frames...); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// The text of a skill belongs to its call.
func TestLiveSkills(t *testing.T) {
	t.Parallel()
	const (
		calls  = `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"x","name":"Skill","input":{}},{"type":"tool_use","id":"y","name":"Skill","input":{}},{"type":"tool_use","id":"z","name":"Bash","input":{}}]},"uuid":"c"}`
		result = `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"ID","content":"k"}]},"uuid":"rID"}`
		text   = `{"type":"user","message":{"content":"text"},"isSynthetic":true,"uuid":"t"}`
	)
	of := func(id string) string { return strings.ReplaceAll(result, "ID", id) }
	failed := strings.Replace(of("x"), `"content":"k"`, `"content":"k","is_error":true`, 1)
	for _, test := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"one", []string{calls, of("x"), text, text}, "assistant c, user rx, user t of x, user t"},
		{"both", []string{calls, of("y"), of("x"), text, text}, "assistant c, user ry, user rx, user t of y, user t of x"},
		{"another tool", []string{calls, of("z"), text}, "assistant c, user rz, user t"},
		{"failed", []string{calls, failed, text}, "assistant c, user rx, user t"},
		{"behind an answer", []string{calls, of("x"), replied, text}, "assistant c, user rx, assistant a, user t"},
	} {
		if got := liveKinds(test.frames...); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestLiveCommands(t *testing.T) {
	t.Parallel()
	const (
		command = `{"type":"user","message":{"content":"/cost"},"uuid":"1"}`
		printed = `{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"$1"}]},"uuid":"p"}`
		refused = `{"type":"system","subtype":"informational","content":"no","level":"warning","prompt_submit_outcome":{"prompt_kept":KEPT},"uuid":"n","session_id":"s"}`
	)
	for _, test := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"printed", []string{command, printed}, "user 1, system p"},
		{"failed", []string{command, strings.Replace(printed, `"uuid"`, `"is_api_error_message":true,"uuid"`, 1)}, "user 1, assistant p"},
		{"said by the model", []string{command, replied}, "user 1, assistant a"},
		{"no command", []string{ask1, printed}, "user 1, assistant p"},
		{"refused", []string{ask1, strings.Replace(refused, "KEPT", "false", 1)}, "user 1, system n without 1"},
		{"kept", []string{ask1, strings.Replace(refused, "KEPT", "true", 1)}, "user 1, system n"},
		{"refused before anything was asked", []string{strings.Replace(refused, "KEPT", "false", 1)}, "system n"},
	} {
		if got := liveKinds(test.frames...); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
