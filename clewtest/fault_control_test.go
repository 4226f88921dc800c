package clewtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/clewdev/clew/clewtest"
	"github.com/clewdev/clew/wire"
)

func ask(id string) string {
	return fmt.Sprintf(`{"type":"control_request","request_id":%q,"request":{"subtype":"mcp_status"}}`, id)
}

func success(id string) string {
	return fmt.Sprintf(`{"response":{"request_id":%q,"response":{},"subtype":"success"},"type":"control_response"}`, id)
}

func TestRespondOutOfOrder(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Expect(ask("b")).Expect(ask("c")).
		Do(clewtest.RespondOutOfOrder("a", "b", "c"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"), ask("2"), ask("3"))
		h.expect(success("3"), success("2"), success("1"))
		h.close()
		h.ends("")
	})
}

func TestRespondTwice(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Do(clewtest.RespondTwice("a"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"))
		h.expect(success("1"), success("1"))
		h.close()
		h.ends("")
	})
}

func TestRespondNever(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Do(clewtest.RespondNever("a")).Expect(prompt).Send(answer)
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"), prompt)
		h.expect(answer)
		h.close()
		h.ends("")
	})
}

func TestRespondUnknown(t *testing.T) {
	s := new(clewtest.Scenario).Expect(ask("a")).Do(clewtest.RespondUnknown("nobody")).Do(clewtest.RespondTwice("a"))
	inBothForms(t, s, func(h *host) {
		h.say(ask("1"))
		h.expect(success("nobody"), success("1"), success("1"))
		h.close()
		h.ends("")
	})
}

func TestRespondNeedsARequest(t *testing.T) {
	fake := &fakeTB{TB: t}
	c := clewtest.NewAgent(fake, new(clewtest.Scenario).Do(clewtest.RespondTwice("a"))).Conn()
	if code := exitCode(c.Wait()); code != 70 {
		t.Errorf("exit %d", code)
	}
	if got := fake.end(); !strings.Contains(got, `the fault respond-twice for the request "a", and has not expected it`) {
		t.Errorf("got %s", got)
	}
}

func TestRequestFaults(t *testing.T) {
	refusal := `{"type":"control_response","response":{"subtype":"error","request_id":"r2","error":"<any>"}}`
	s := new(clewtest.Scenario).Do(clewtest.RequestWithoutID()).Do(clewtest.RequestWithoutBody("r1")).
		Do(clewtest.RequestUnknown("r2", "sing")).Expect(refusal)
	inBothForms(t, s, func(h *host) {
		withoutID := h.hear()
		if strings.Contains(withoutID, "request_id") || !strings.Contains(withoutID, `"request":{`) {
			h.t.Errorf("got %s", withoutID)
		}
		h.expect(`{"request_id":"r1","type":"control_request"}`)
		unknown, ok := wire.Decode([]byte(h.hear())).(*wire.ControlRequestMessage)
		if !ok || unknown.RequestID != "r2" {
			h.t.Fatalf("got %v", unknown)
		}
		h.say(strings.Replace(refusal, clewtest.Any, "no such subtype", 1))
		h.close()
		h.ends("")
	})
}
