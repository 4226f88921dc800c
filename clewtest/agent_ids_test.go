package clewtest_test

import (
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
)

// The agent's requests keep their ids, even where the host uses the same ones.
func TestRequestIDsOfBothSides(t *testing.T) {
	request := `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool"}}`
	reply := `{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}`
	s := new(clewtest.Scenario).Expect(ask("r1")).Send(request).Expect(reply).Send(success("r1"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("x"))
		h.expect(request)
		h.say(reply)
		h.expect(success("x"))
		h.close()
		h.ends("")
	})
}

// The agent's own session stays its own, whatever the host calls it.
func TestSessionIDIsTheAgents(t *testing.T) {
	named := strings.Replace(prompt, "{", `{"session_id":"s","uuid":"u",`, 1)
	s := new(clewtest.Scenario).Expect(named).Send(answer)
	inBothForms(t, s, func(h *host) {
		h.say(strings.Replace(strings.Replace(named, `"s"`, `""`, 1), `"u"`, `"mine"`, 1))
		h.expect(answer)
		h.close()
		h.ends("")
	})
}

// Answers to requests without a name go to them in their order.
func TestAnyRequestID(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask(clewtest.Any)).Expect(ask("b")).Expect(ask(clewtest.Any)).Expect(ask(clewtest.Any)).
		Send(success(clewtest.Any), success("b"), map[string]any{
			"response": map[string]any{"request_id": clewtest.Any, "response": struct{}{}, "subtype": "success"},
			"type":     "control_response",
		}).Do(clewtest.RespondTwice(clewtest.Any))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"), ask("2"), ask("3"), ask("4"))
		h.expect(success("1"), success("2"), success("3"), success("4"), success("4"))
		h.close()
		h.ends("")
	})
}

func TestHookCallbackIDs(t *testing.T) {
	initialize := `{"type":"control_request","request_id":"i","request":{"subtype":"initialize","hooks":{` +
		`"PreToolUse":[{"matcher":"*","hookCallbackIds":["hook_0","hook_1"]}],"Stop":[{"hookCallbackIds":["hook_2"]}]}}}`
	call := func(id string) string {
		return `{"type":"control_request","request_id":"c","request":{"subtype":"hook_callback","callback_id":"` + id + `","input":{}}}`
	}
	s := new(clewtest.Scenario).Expect(initialize).Send(call("hook_2"), call("hook_0"), call("other"))
	inBothForms(t, s, func(h *host) {
		h.say(strings.NewReplacer("hook_0", "one", "hook_1", "two", "hook_2", "three").Replace(initialize))
		h.expect(call("three"), call("one"), call("other"))
		h.close()
		h.ends("")
	})
}
